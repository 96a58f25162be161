//! What was there before, on disk before anything is written.
//!
//! One line of JSON each: first whose journal it is, then one line for each object that is about to be
//! changed and for each value that is about to be written there. A line is on disk (fsync) before its
//! write is done, so that whatever happens in between, the journal knows more than was done, never less.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use machine::Machine;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::object::Object;
use crate::session::{Changed, differing};

/// The version of the format.
const VERSION: u32 = 1;
const PREFIX: &str = "journal-";
const SUFFIX: &str = ".jsonl";

/// Whose journal it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The version of the format.
    pub cpudyno_journal: u32,
    /// The machine: the id that its system gave it, or the name of a simulated one.
    pub machine: String,
    /// The boot that the values belong to; none: the kernel does not say.
    pub boot: Option<String>,
}

/// An object that was, or was about to be, changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// What it is.
    pub object: Object,
    /// The setting it belongs to, as it was asked for.
    pub setting: String,
    /// What was there before.
    pub former: String,
    /// What we wrote, or were about to write.
    pub ours: Vec<String>,
    /// The object whose writes change this one, too.
    pub follows: Option<Object>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    /// This is there, and will be changed.
    Keeps {
        object: Object,
        setting: String,
        former: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follows: Option<Object>,
    },
    /// This will be written; or, of what follows, was found after a write.
    Writes { object: Object, text: String },
    /// From here on things are put back: what follows something that has its former value again may
    /// hold anything.
    Undoing,
}

/// Where journals are kept.
#[derive(Debug, Clone)]
pub struct Shelf {
    folder: PathBuf,
    machine: String,
    boot: Option<String>,
}

impl Shelf {
    /// The journals of a machine in a folder, which several machines may share.
    pub fn new(folder: impl Into<PathBuf>, machine: &Machine) -> Shelf {
        if let Some(model) = &machine.simulated {
            // A simulated machine never starts again.
            let machine = format!("sim:{}", model.name);
            return Shelf { folder: folder.into(), machine, boot: None };
        }
        let read = |path| machine.tree.read(path).ok().map(|text| text.trim().to_owned());
        let boot = read("/proc/sys/kernel/random/boot_id");
        let machine = read("/etc/machine-id").unwrap_or_else(|| "unnamed".to_owned());
        Shelf { folder: folder.into(), machine, boot }
    }

    /// The file of the journal.
    pub fn path(&self) -> PathBuf {
        self.folder.join(format!("{PREFIX}{}{SUFFIX}", self.name()))
    }

    /// What tells its files from those of other machines and boots.
    fn name(&self) -> String {
        let name = self.boot.as_ref().unwrap_or(&self.machine);
        name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-")
    }

    fn lock_path(&self) -> PathBuf {
        self.folder.join(format!("lock-{}", self.name()))
    }

    /// What is still as a process left it that has ended; nothing where one is at work.
    pub fn left(&self, machine: &Machine) -> Result<Vec<Changed>, Error> {
        let Some(pending) = self.pending()? else { return Ok(Vec::new()) };
        let free = File::open(self.lock_path()).is_ok_and(|file| file.try_lock_shared().is_ok());
        Ok(if free { differing(machine, &pending.kept) } else { Vec::new() })
    }

    /// The journals of this machine that an earlier boot left, with the number of settings in each:
    /// the kernel has forgotten those when it started again.
    pub fn formers(&self) -> Vec<(PathBuf, usize)> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let paths = entries.flatten().map(|entry| entry.path());
        let is_journal = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with(PREFIX) && name.ends_with(SUFFIX) && *path != self.path()
        };
        let former = |path: PathBuf| {
            let pending = read(&path).ok()??;
            let same = pending.head.machine == self.machine && pending.head.boot != self.boot;
            same.then_some((path, pending.kept.len()))
        };
        paths.filter(is_journal).filter_map(former).collect()
    }

    /// Removes the journals of earlier boots; they were told of.
    pub fn forget_formers(&self) {
        for (path, _) in self.formers() {
            // What stays is told of again.
            drop(fs::remove_file(path));
        }
    }

    fn head(&self) -> Head {
        Head { cpudyno_journal: VERSION, machine: self.machine.clone(), boot: self.boot.clone() }
    }

    fn broken(&self, why: impl Into<String>) -> Error {
        Error::Journal { path: self.path(), why: why.into() }
    }

    /// What is to be put back; none: there is no journal.
    pub fn pending(&self) -> Result<Option<Pending>, Error> {
        let pending = read(&self.path())?;
        match pending {
            Some(pending) if pending.head != self.head() => {
                Err(self.broken("it belongs to another machine"))
            }
            pending => Ok(pending),
        }
    }

    /// Takes the lock, or says who has it.
    pub(crate) fn lock(&self, who: &str) -> Result<Lock, Error> {
        let failed = |error: &io::Error| self.broken(sys::errno::words(error));
        fs::create_dir_all(&self.folder).map_err(|error| failed(&error))?;
        let path = self.lock_path();
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(|error| failed(&error))?;
        match file.try_lock() {
            Ok(()) => {
                file.set_len(0)
                    .and_then(|()| file.write_all(who.as_bytes()))
                    .map_err(|e| failed(&e))?;
                Ok(Lock(file))
            }
            Err(fs::TryLockError::WouldBlock) => {
                let holder = fs::read_to_string(&path).unwrap_or_default();
                let holder = match holder.trim() {
                    "" => "another process".to_owned(),
                    holder => format!("`{holder}`"),
                };
                Err(Error::Locked { holder })
            }
            Err(fs::TryLockError::Error(error)) => Err(failed(&error)),
        }
    }

    /// The journal, to be written on: the one that is there, or a new one.
    pub(crate) fn open(&self) -> Result<Journal, Error> {
        let known = self.pending()?;
        let failed = |error: io::Error| self.broken(sys::errno::words(&error));
        let is_new = known.is_none();
        let pending = known.unwrap_or_else(|| Pending {
            head: self.head(),
            kept: Vec::new(),
            undoing: false,
        });
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).open(self.path()).map_err(failed)?;
        let mut journal = Journal { shelf: self.clone(), file, pending };
        journal.end_line().map_err(failed)?;
        if is_new {
            journal.append(&[serde_json::to_string(&self.head())])?;
        }
        Ok(journal)
    }

    /// Removes the journal: everything was put back, or nothing can be.
    pub fn forget(&self) -> Result<(), Error> {
        match fs::remove_file(self.path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.broken(sys::errno::words(&error)))
            }
            _ => sync(&self.folder).map_err(|error| self.broken(sys::errno::words(&error))),
        }
    }
}

fn read(path: &Path) -> Result<Option<Pending>, Error> {
    let broken = |why: String| Error::Journal { path: path.to_owned(), why };
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(broken(sys::errno::words(&error))),
    };
    // A line that does not end was being written when the process was killed: what it says was
    // not done.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let mut lines = whole.lines().enumerate();
    let Some((_, first)) = lines.next() else { return Ok(None) };
    let head: Head = serde_json::from_str(first)
        .map_err(|error| broken(format!("line 1 is no head: {error}")))?;
    if head.cpudyno_journal != VERSION {
        let why = format!("it is of version {}, known is {VERSION}", head.cpudyno_journal);
        return Err(broken(why));
    }
    let mut pending = Pending { head, kept: Vec::new(), undoing: false };
    for (index, line) in lines {
        let line: Line = serde_json::from_str(line)
            .map_err(|error| broken(format!("line {}: {error}", index + 1)))?;
        pending.note(line);
    }
    Ok(Some(pending))
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// What a journal says that is to be put back.
#[derive(Debug)]
pub struct Pending {
    /// Whose journal it is.
    pub head: Head,
    /// What was changed, first changed first.
    pub kept: Vec<Kept>,
    /// Whether putting back has begun.
    pub(crate) undoing: bool,
}

impl Pending {
    fn note(&mut self, line: Line) {
        self.undoing = matches!(line, Line::Undoing);
        match line {
            Line::Keeps { object, setting, former, follows } => {
                if !self.kept.iter().any(|kept| kept.object == object) {
                    self.kept.push(Kept { object, setting, former, ours: Vec::new(), follows });
                }
            }
            Line::Writes { object, text } => {
                let kept = self.kept.iter_mut().find(|kept| kept.object == object);
                if let Some(kept) = kept.filter(|kept| !kept.ours.contains(&text)) {
                    kept.ours.push(text);
                }
            }
            Line::Undoing => {}
        }
    }
}

/// The lock of a shelf, for as long as it lives; the kernel gives it up when the process ends.
pub(crate) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // A child that was just forked holds the file, too, until it executes its program.
        drop(self.0.unlock());
    }
}

/// A journal that is being written.
pub(crate) struct Journal {
    shelf: Shelf,
    file: File,
    pending: Pending,
}

impl Journal {
    pub(crate) fn kept(&self) -> &[Kept] {
        &self.pending.kept
    }

    /// Notes that things are put back from here on.
    pub(crate) fn begin_undo(&mut self) -> Result<(), Error> {
        self.append(&[serde_json::to_string(&Line::Undoing)])?;
        self.pending.note(Line::Undoing);
        Ok(())
    }

    /// Notes objects and what will be written to them, all at once; on disk when it returns.
    pub(crate) fn keep(&mut self, news: &[Kept]) -> Result<(), Error> {
        let mut lines = Vec::new();
        for new in news {
            let known = self.kept().iter().find(|kept| kept.object == new.object);
            if known.is_none() {
                let Kept { object, setting, former, follows, .. } = new.clone();
                lines.push(Line::Keeps { object, setting, former, follows });
            }
            let is_known = |text: &String| known.is_some_and(|known| known.ours.contains(text));
            for text in new.ours.iter().filter(|text| !is_known(text)) {
                lines.push(Line::Writes { object: new.object.clone(), text: text.clone() });
            }
        }
        if lines.is_empty() {
            return Ok(());
        }
        let texts: Vec<_> = lines.iter().map(serde_json::to_string).collect();
        self.append(&texts)?;
        for line in lines {
            self.pending.note(line);
        }
        Ok(())
    }

    fn append(&mut self, lines: &[serde_json::Result<String>]) -> Result<(), Error> {
        let mut text = String::new();
        for line in lines {
            match line {
                Ok(line) => text.push_str(line),
                Err(error) => return Err(self.shelf.broken(error.to_string())),
            }
            text.push('\n');
        }
        let written = self
            .file
            .write_all(text.as_bytes())
            .and_then(|()| self.file.sync_all())
            .and_then(|()| sync(&self.shelf.folder));
        written.map_err(|error| self.shelf.broken(sys::errno::words(&error)))
    }

    /// Cuts off the half line of a process that was killed.
    fn end_line(&mut self) -> io::Result<()> {
        let bytes = fs::read(self.shelf.path())?;
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |place| place + 1);
        if whole < bytes.len() { self.file.set_len(whole as u64) } else { Ok(()) }
    }
}
