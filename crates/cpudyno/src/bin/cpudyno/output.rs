//! Where text goes: data to standard output, everything else to standard error, files under their
//! final name only when they are whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cpudyno::files::{folder_of, temporary, write_whole};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

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
    /// Written under another name, and renamed when complete.
    Named,
    /// A pipe or device that is there already.
    Open(File),
    /// A folder: the file gets a name of its own there, by the name of this host.
    In(String),
}

/// Whether files get names of their own there: it is a folder, or is written like one.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/") || path.is_dir()
}

impl Sink {
    /// Makes sure that the file can be written, before anything is measured. Nothing stays if the process is killed
    /// before it writes.
    pub(crate) fn open(path: &Path) -> Result<Sink, Failure> {
        let fail =
            |error| not_opened(path, &error, "name a file in a folder that you may write to");
        let special = path.metadata().is_ok_and(|meta| !meta.is_file());
        let target = if path.is_dir() {
            return Err(fail(io::Error::from(io::ErrorKind::IsADirectory)));
        } else if special {
            Target::Open(OpenOptions::new().write(true).open(path).map_err(fail)?)
        } else {
            let folder = folder_of(path);
            if path.exists() && OpenOptions::new().write(true).open(path).is_err() {
                return Err(fail(io::Error::from(io::ErrorKind::PermissionDenied)));
            }
            temporary(folder).map_err(fail)?;
            Target::Named
        };
        Ok(Sink { path: path.to_owned(), target })
    }

    /// Makes sure that files can be written there. Nothing stays if the process is killed before it writes.
    pub(crate) fn open_in(folder: &Path, host: String) -> Result<Sink, Failure> {
        let hint = "make the folder first, where you may write to it: mkdir -p DIR";
        temporary(folder).map_err(|error| not_opened(folder, &error, hint))?;
        Ok(Sink { path: folder.to_owned(), target: Target::In(host) })
    }

    /// Writes everything, then gives the file its name.
    pub(crate) fn write(self, text: &str) -> Result<(), Failure> {
        let Sink { mut path, target } = self;
        let written = match target {
            Target::In(host) => write_in(&mut path, &host, text),
            Target::Open(mut file) => file.write_all(text.as_bytes()),
            Target::Named => write_whole(&path, text),
        };
        written.map_err(|error| {
            Failure::new(code::NOT_HERE, format!("cannot write `{}`: {error}", path.display()))
                .hint(FULL)
        })
    }
}

fn not_opened(path: &Path, error: &io::Error, hint: &str) -> Failure {
    let code = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => code::REFUSED,
        _ => code::USAGE,
    };
    let why = sys::errno::words(error);
    Failure::new(code, format!("cannot write `{}`: {why}", path.display())).hint(hint)
}

/// Writes all of it into the folder that is the path, under a hidden name; then gives it one that nobody
/// has, which the path becomes: a file that is there is never replaced.
fn write_in(path: &mut PathBuf, host: &str, text: &str) -> io::Result<()> {
    let (folder, now) = (path.clone(), SystemTime::now());
    *path = folder.join(name_of(host, now, 1));
    let mut file = temporary(&folder)?;
    file.as_file_mut().write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    for attempt in 1..=ATTEMPTS {
        *path = folder.join(name_of(host, now, attempt));
        match file.persist_noclobber(&*path) {
            Ok(_) => {
                // So that the name outlives a crash, too; some file systems do not know how.
                drop(File::open(&folder).and_then(|folder| folder.sync_all()));
                return Ok(());
            }
            Err(taken) if taken.error.kind() == io::ErrorKind::AlreadyExists => file = taken.file,
            // Some file systems have neither such a rename nor links: the name is then there before it is whole.
            Err(refused) => match written_there(path, text) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => file = refused.file,
                written => return written,
            },
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

/// Writes a new file; half of it does not stay.
fn written_there(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        drop(fs::remove_file(path));
    }
    written
}

/// More records of one host in one second are no accident.
const ATTEMPTS: u32 = 1000;

/// The name of a record, which `fleet` reads: host, `_`, time in UTC; a number where there are several.
fn name_of(host: &str, time: SystemTime, attempt: u32) -> String {
    let time = humantime::format_rfc3339_seconds(time).to_string().replace(['-', ':'], "");
    let number = if attempt > 1 { format!("-{attempt}") } else { String::new() };
    format!("{host}_{time}{number}.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_one_second_have_names_of_their_own_and_replace_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let write = |text: &str| {
            Sink::open_in(folder.path(), "n_1.example".to_owned()).unwrap().write(text).unwrap();
        };
        let texts: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        for text in &texts {
            write(text);
        }
        let files = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
        let mut kept: Vec<u32> = files
            .map(|file| {
                let name = file.file_name().unwrap().to_string_lossy().into_owned();
                assert!(name.starts_with("n_1.example_2"), "{name}");
                std::fs::read_to_string(file).unwrap().parse().unwrap()
            })
            .collect();
        kept.sort_unstable();
        assert_eq!(kept, (0..20).collect::<Vec<u32>>());
        let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        assert_eq!(name_of("n1", time, 1), "n1_20231114T221320Z.json");
        assert_eq!(name_of("n1", time, 2), "n1_20231114T221320Z-2.json");
    }

    #[test]
    fn a_folder_that_is_not_there_is_no_file_to_be() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing/");
        assert!(is_folder(&missing) && is_folder(folder.path()));
        assert!(!is_folder(&folder.path().join("run.json")));
        let failure = Sink::open_in(&missing, "n1".to_owned()).err().unwrap();
        assert_eq!(failure.code, code::USAGE);
        assert!(failure.message.contains("there is no such"), "{}", failure.message);
    }
}
