//! Where text goes: data to standard output, everything else to standard error, files under their
//! final name only when they are whole.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tempfile::NamedTempFile;

use crate::failure::{Failure, code};

/// What helps when something could be opened and not be written.
const FULL: &str = "is the disk full? write to another one";

/// Prints data. A reader that has gone away has read enough.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    data_while_read(text).map(drop)
}

/// Writes data to where it was asked for, or prints it.
pub(crate) fn deliver(out: Option<Sink>, text: &str) -> Result<(), Failure> {
    match out {
        Some(out) => out.write(text),
        None => data(text),
    }
}

/// Prints data, and says whether there is still a reader.
pub(crate) fn data_while_read(text: &str) -> Result<bool, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => {
            Err(Failure::new(code::NOT_HERE, format!("cannot write to standard output: {error}"))
                .hint(FULL))
        }
    }
}

/// Makes sure that no two of these options name one file: the second would replace the first.
pub(crate) fn are_apart(files: &[(&str, Option<&Path>)]) -> Result<(), Failure> {
    // However they are written: a file that is not there yet has a folder that is.
    let place = |file: &Path| {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize();
        folder.map_or_else(
            |_| file.to_owned(),
            |folder| folder.join(file.file_name().unwrap_or_default()),
        )
    };
    let named: Vec<(&str, PathBuf)> =
        files.iter().filter_map(|(option, file)| Some((*option, place((*file)?)))).collect();
    for (index, (option, file)) in named.iter().enumerate() {
        if let Some((other, _)) = named[..index].iter().find(|(_, other)| other == file) {
            return Err(Failure::usage(format!("{other} and {option} name the same file"))
                .hint("name two; the page of --html holds the record, too"));
        }
    }
    Ok(())
}

/// Makes sure that none of these options names a file that is read: it would be replaced.
pub(crate) fn spare(read: &[PathBuf], files: &[(&str, Option<&Path>)]) -> Result<(), Failure> {
    // By whatever name; what is no plain file is written to and not replaced.
    let identity = |file: &Path| {
        let found = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some((found.dev(), found.ino()))
    };
    for (option, file) in files {
        let Some(target) = file.and_then(identity) else { continue };
        if let Some(lost) = read.iter().find(|file| identity(file) == Some(target)) {
            let why = format!("`{}` is read, and {option} would replace it", lost.display());
            return Err(Failure::usage(why).hint(format!("name another file: {option} OTHER")));
        }
    }
    Ok(())
}

/// Prints a remark for people.
pub(crate) fn remark(text: &str) {
    // A standard error that cannot be written to leaves nobody to tell.
    drop(writeln!(anstream::stderr(), "{text}"));
}

/// Prints a text on standard error as it is: it may be JSON that others read.
pub(crate) fn beside(text: &str) {
    // As of a remark.
    drop(io::stderr().lock().write_all(text.as_bytes()));
}

/// Prints why the command failed.
pub(crate) fn failure(failure: &Failure) {
    if !failure.message.is_empty() {
        remark(&format!("error: {}", one_line(&failure.message)));
    }
    if let Some(hint) = &failure.hint {
        remark(&format!("hint: {}", one_line(hint)));
    }
}

/// Names of files and arguments may hold line breaks and worse.
fn one_line(text: &str) -> String {
    let escaped =
        |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect()
}

/// A bar on standard error when that is a terminal, nothing otherwise. It is drawn between jobs, by
/// the thread that waits for them, never while something is measured.
pub(crate) fn progress_bar() -> ProgressBar {
    const STYLE: &str = "{bar:30} {percent:>3} %  {wide_msg}";
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(STYLE).expect("BUG: the template is a constant");
    let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr());
    bar.with_style(style)
}

/// A file that appears under its name only when it is complete.
pub(crate) struct Sink {
    path: PathBuf,
    target: Target,
}

enum Target {
    /// Renamed when complete.
    Temporary(NamedTempFile),
    /// A pipe or device that is there already.
    Open(File),
}

impl Sink {
    /// Makes sure that the file can be written, before anything is measured.
    pub(crate) fn open(path: &Path) -> Result<Sink, Failure> {
        let fail = |error: io::Error| {
            let code = match error.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    code::REFUSED
                }
                _ => code::USAGE,
            };
            let why = sys::errno::words(&error);
            Failure::new(code, format!("cannot write `{}`: {why}", path.display()))
                .hint("name a file in a folder that you may write to")
        };
        let special = path.metadata().is_ok_and(|meta| !meta.is_file());
        let target = if path.is_dir() {
            return Err(fail(io::Error::from(io::ErrorKind::IsADirectory)));
        } else if special {
            Target::Open(OpenOptions::new().write(true).open(path).map_err(fail)?)
        } else {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new("."));
            Target::Temporary(temporary(folder, path).map_err(fail)?)
        };
        Ok(Sink { path: path.to_owned(), target })
    }

    /// Writes everything, then gives the file its name.
    pub(crate) fn write(self, text: &str) -> Result<(), Failure> {
        let Sink { path, target } = self;
        let written = match target {
            Target::Open(mut file) => file.write_all(text.as_bytes()),
            Target::Temporary(mut file) => file
                .write_all(text.as_bytes())
                .and_then(|()| file.as_file().sync_all())
                .and_then(|()| file.persist(&path).map(drop).map_err(|error| error.error)),
        };
        written.map_err(|error| {
            Failure::new(code::NOT_HERE, format!("cannot write `{}`: {error}", path.display()))
                .hint(FULL)
        })
    }
}

/// With the rights that a new file would have, not those of a secret.
fn temporary(folder: &Path, path: &Path) -> io::Result<NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    if path.exists() && OpenOptions::new().write(true).open(path).is_err() {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    // What is wrong with the folder, without the random name that the temporary file would have.
    folder.metadata()?;
    tempfile::Builder::new()
        .prefix(".cpudyno-")
        .permissions(std::fs::Permissions::from_mode(0o666))
        .tempfile_in(folder)
        .map_err(|error| io::Error::from(error.kind()))
}
