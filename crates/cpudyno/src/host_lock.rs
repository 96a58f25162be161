//! One measurement at a time on a host: two would measure each other.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The file that somebody chose cannot be locked.
#[derive(Debug, thiserror::Error)]
#[error("cannot lock `{}`: {why}", .path.display())]
pub struct NotLocked {
    path: PathBuf,
    why: String,
}

/// What helps then.
pub const HINT: &str = "name another file: CPUDYNO_LOCK=FILE; or none: CPUDYNO_LOCK=off";

/// Where the lock is, or that there is none.
const VARIABLE: &str = "CPUDYNO_LOCK";

/// A file whose lock is the right to measure.
///
/// It is locked by flock(2): the kernel gives the lock up however the process ends, a lock asks for no right to
/// write, and the file stays empty, so that it may belong to anybody. Its folder is one of this host, never a
/// home, which others may mount as well. Containers with a `/tmp` of their own do not see each other: they share
/// a folder, and name a file there.
pub struct Place {
    path: PathBuf,
    /// Whether somebody chose it: then it has to be had.
    is_asked: bool,
}

/// The lock, until it is dropped.
pub struct Held(File);

impl Drop for Held {
    fn drop(&mut self) {
        // A child that was just forked holds the file, too, until it executes its program.
        drop(self.0.unlock());
    }
}

/// What became of an attempt.
pub enum Taken {
    /// It is ours; `None`: it cannot be had here by anybody like us.
    Held(Option<Held>),
    /// Somebody else has it: in words.
    By(String),
}

/// The place of the lock of what is measured here; of other machines only if somebody chose it. `None`: no lock.
pub fn place(is_here: bool) -> Option<Place> {
    match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        Some(value) if value == "off" => None,
        Some(path) => Some(Place { path: PathBuf::from(path), is_asked: true }),
        None => is_here.then(|| Place { path: folder().join("cpudyno.lock"), is_asked: false }),
    }
}

/// The first folder of this host that everybody may write to, whoever asks: jobs may have a `/tmp` of their own.
fn folder() -> &'static Path {
    const EVERYBODY: u32 = 0o1777;
    let locks = Path::new("/run/lock");
    let is_open = locks.metadata().is_ok_and(|it| it.is_dir() && it.mode() & 0o7777 == EVERYBODY);
    if is_open { locks } else { Path::new("/tmp") }
}

impl Place {
    /// Tries to take it.
    ///
    /// # Errors
    /// Where the file that somebody chose cannot be locked.
    pub fn take(&self) -> Result<Taken, NotLocked> {
        match self.attempt() {
            Ok(taken) => Ok(taken),
            Err(error) if self.is_asked => {
                Err(NotLocked { path: self.path.clone(), why: sys::errno::words(&error) })
            }
            // Measuring needs no rights: where no file can be had, nobody is kept out.
            Err(_) => Ok(Taken::Held(None)),
        }
    }

    fn attempt(&self) -> io::Result<Taken> {
        /// Whoever tidies `/tmp` may take the file away between two steps; not that often.
        const ATTEMPTS: u32 = 5;
        for _ in 0..ATTEMPTS {
            let file = open(&self.path)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => {
                    return Ok(Taken::By(
                        holder(&file).unwrap_or_else(|| "another process".into()),
                    ));
                }
                Err(TryLockError::Error(error)) => return Err(error),
                Ok(()) if is_at(&file, &self.path) => return Ok(Taken::Held(Some(Held(file)))),
                Ok(()) => {}
            }
        }
        Err(io::Error::from(io::ErrorKind::NotFound))
    }
}

/// Opens the file, or makes it. Not in one call: in a folder of everybody the kernel refuses that for files of
/// others (`fs.protected_regular`).
fn open(path: &Path) -> io::Result<File> {
    match path.symlink_metadata() {
        // Opening something else may block, or lead elsewhere.
        Ok(known) if !known.is_file() => return Err(io::Error::from(io::ErrorKind::InvalidInput)),
        Ok(_) => {
            // NFS asks for the right to write, and gives the lock to nobody without it.
            return sys::file::open_itself(path, true)
                .or_else(|_| sys::file::open_itself(path, false));
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Err(_) => {}
    }
    match File::options().read(true).write(true).create_new(true).open(path) {
        Ok(file) => {
            // Whatever the mask of who came first, others must be able to open it.
            drop(file.set_permissions(fs::Permissions::from_mode(0o644)));
            Ok(file)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            sys::file::open_itself(path, false)
        }
        Err(error) => Err(error),
    }
}

/// Whether the file is still what the path leads to.
fn is_at(file: &File, path: &Path) -> bool {
    let same = |a: &fs::Metadata, b: &fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    matches!((file.metadata(), path.symlink_metadata()), (Ok(a), Ok(b)) if same(&a, &b))
}

/// Who holds the lock: the process, its command, since when. `None` where the kernel does not say it, as of
/// processes in other containers.
///
/// # Source
/// proc_locks(5): the process and the inode; the device there is not always that of stat(2), as on overlayfs.
fn holder(file: &File) -> Option<String> {
    /// Anybody may hold it, under a name of any length.
    const SHOWN: usize = 80;
    let inode = file.metadata().ok()?.ino();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let process = |line: &str| -> Option<u32> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[_, "FLOCK", _, _, process, place, ..] = words.as_slice() else { return None };
        let is_it = place.rsplit_once(':')?.1.parse() == Ok(inode);
        process.parse().ok().filter(|&process| is_it && process > 0)
    };
    let mut found = locks.lines().filter_map(process);
    let process = found.next().filter(|_| found.next().is_none())?;
    let command = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let words: Vec<_> = command.split(|it| *it == 0).map(String::from_utf8_lossy).collect();
    // What he calls himself moves no cursor.
    let command = words.join(" ");
    let command: String = command.chars().filter(|it| !it.is_control()).take(SHOWN).collect();
    let command = match command.trim() {
        "" => String::new(),
        command => format!(", `{command}`"),
    };
    let since = begun(process).map(|begun| format!(", since {begun}")).unwrap_or_default();
    Some(format!("process {process}{command}{since}"))
}

/// When a process began, in UTC.
///
/// # Source
/// `proc_pid_stat(5)`: field 22, in ticks, of which all our architectures have 100 in a second for programs.
fn begun(process: u32) -> Option<String> {
    const TICKS: f64 = 100.0;
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // A name in brackets may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let begun: f64 = fields.split_whitespace().nth(19)?.parse().ok()?;
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let uptime: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    let ago = Duration::try_from_secs_f64(uptime - begun / TICKS).ok()?;
    let begun = SystemTime::now().checked_sub(ago)?;
    Some(humantime::format_rfc3339_seconds(begun).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: PathBuf) -> Place {
        Place { path, is_asked: true }
    }

    #[test]
    fn a_lock_that_is_held_names_its_process_and_is_free_when_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path().join("lock"));
        let Taken::Held(Some(held)) = place.take().unwrap() else { panic!("it is free") };
        let Taken::By(holder) = place.take().unwrap() else { panic!("it is held") };
        let process = std::process::id();
        assert!(holder.starts_with(&format!("process {process}, `")), "{holder}");
        assert!(holder.contains("`, since 2"), "{holder}");
        drop(held);
        assert!(matches!(place.take().unwrap(), Taken::Held(Some(_))));
        // Others may open it, whatever the mask was.
        assert_eq!(place.path.metadata().unwrap().mode() & 0o777, 0o644);
    }

    #[test]
    fn a_file_that_was_taken_away_is_no_lock_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path().join("lock"));
        let Taken::Held(Some(held)) = place.take().unwrap() else { panic!("it is free") };
        fs::remove_file(&place.path).unwrap();
        assert!(!is_at(&held.0, &place.path));
        assert!(matches!(place.take().unwrap(), Taken::Held(Some(_))));
    }

    #[test]
    fn what_is_no_plain_file_is_refused_if_it_was_asked_for_and_else_does_not_matter() {
        let folder = tempfile::tempdir().unwrap();
        let refused = place(folder.path().to_owned()).take().err().unwrap();
        assert!(refused.to_string().starts_with("cannot lock `"), "{refused}");
        let usual = Place { path: folder.path().to_owned(), is_asked: false };
        assert!(matches!(usual.take().unwrap(), Taken::Held(None)));
    }
}
