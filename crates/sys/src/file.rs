//! Files that others may have put there.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a file to read, or to write as well: neither what a link leads to, nor what would be waited for.
///
/// # Errors
/// Those of open(2); ELOOP of a link, and `InvalidInput` of a device or a pipe.
pub fn open_itself(path: &Path, writes: bool) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = File::options().read(true).write(writes).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::from(io::ErrorKind::InvalidInput))
    }
}
