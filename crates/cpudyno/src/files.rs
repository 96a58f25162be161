//! Files that appear when they are complete.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// Writes all of it: into the file that a link leads to; into what is no plain file (a pipe, a device) at once; else so
/// that the file is whole, or is not changed.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    match path.metadata() {
        Ok(known) if known.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        Ok(known) if !known.is_file() => {
            File::options().write(true).open(path)?.write_all(text.as_bytes())
        }
        Ok(_) => write_whole(&path.canonicalize()?, text),
        Err(_) => write_whole(path, text),
    }
}

/// Writes all of it under a hidden name, which becomes the file's.
pub fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let mut file = temporary(folder_of(path))?;
    // The file itself: errors of its wrapper name what it is called until then.
    file.as_file_mut().write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// The folder that a file is in.
pub fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// A file under a hidden name, with the rights that a new file would have, not those of a secret.
pub fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    // What is wrong with the folder, without the random name that the temporary file would have.
    if !folder.metadata()?.is_dir() {
        return Err(io::Error::from(io::ErrorKind::NotADirectory));
    }
    tempfile::Builder::new()
        .prefix(".cpudyno-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
        .map_err(|error| io::Error::from(error.kind()))
}
