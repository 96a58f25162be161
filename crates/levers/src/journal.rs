//! What was there before, on disk before anything is written.
//!
//! One line of JSON each: first whose journal it is, then one line for each object that is about to be
//! changed and for each value that is about to be written there. A line is on disk (fsync) before its
//! write is done, so that whatever happens in between, the journal knows more than was done, never less.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::Deref;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use machine::Machine;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::object::Object;
use crate::outcome::Changed;
use crate::rows;
use crate::unlimited::{self, OPEN_KHZ};

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
    /// What we wrote or were about to write, and what our writes were found to make of it.
    pub ours: Vec<String>,
    /// The objects whose writes change this one, too.
    pub follows: Vec<Object>,
    /// Whether it was a limit that was open: the former value is what that came to.
    pub was_open: bool,
    /// Whether a write of ours was begun, and nobody noted what came of it: the process was killed in
    /// between, and the kernel may have made anything of it.
    pub unsettled: bool,
    /// Whether it was seen with its former value when that was put back, and nothing was written since.
    pub is_restored: bool,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum JournalLine {
    /// This is there, and will be changed.
    Keeps {
        object: Object,
        setting: String,
        former: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follows: Option<Object>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        was_open: bool,
    },
    /// This will be written.
    Writes { object: Object, text: String },
    /// This was found after a write, of it or of what it follows, and is not what was written.
    Found { object: Object, text: String },
    /// Values of these settings that are noted will be written again.
    Again { settings: BTreeSet<String> },
    /// This has its former value again. Its CPUs may go next, and nobody could ask then.
    Restored { object: Object },
    /// This was asked for of a limit of the clock, and may not show as that any more; nothing: it shows, or
    /// another was asked for.
    Hidden {
        object: Object,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<String>,
    },
    /// What became of all writes until here is noted.
    Settled,
}

impl Kept {
    /// Whether a value of ours shows as this: a limit of the clock moves with what the CPU does at present.
    pub(crate) fn is_ours(&self, machine: &Machine, now: &str) -> bool {
        self.ours.iter().any(|ours| unlimited::is_wished(machine, &self.object, ours, now))
    }

    /// The limit of ours that shows as this. Without turbo it seems to be none, and is one once turbo is on again.
    pub(crate) fn limit(&self, machine: &Machine, now: &str) -> Option<&str> {
        if !self.follows.is_empty() || self.ours.iter().any(|ours| ours == OPEN_KHZ) {
            return None;
        }
        let mut ours = self.ours.iter();
        ours.find(|ours| unlimited::is_wished(machine, &self.object, ours, now)).map(String::as_str)
    }

    /// Whether something of ours may hold that cannot be seen: a limit shows what is left of it.
    pub(crate) fn may_hide(&self) -> bool {
        unlimited::is_limit(&self.object) && self.ours.iter().any(|ours| self.is_other(ours))
    }

    /// Whether this text does not bring back what was there.
    fn is_other(&self, ours: &str) -> bool {
        ours != self.former && ours != self.back()
    }

    /// Whether this is what was there before, or what that comes to by now, where nothing of ours comes to the
    /// same.
    pub(crate) fn is_as_before(&self, machine: &Machine, now: &str) -> bool {
        let is_ours = || {
            let mut others = self.ours.iter().filter(|ours| self.is_other(ours));
            others.any(|ours| unlimited::is_wished(machine, &self.object, ours, now))
        };
        now == self.former || self.is_back(machine, now) && !is_ours()
    }

    /// Whether this shows that the former value was put back.
    pub(crate) fn is_back(&self, machine: &Machine, now: &str) -> bool {
        unlimited::is_wished(machine, &self.object, self.back(), now)
            || now == self.former
            || self.was_open && unlimited::is_open(machine, &self.object, now)
    }

    /// The text that brings it back.
    pub(crate) fn back(&self) -> &str {
        if self.was_open { OPEN_KHZ } else { &self.former }
    }
}

impl JournalLine {
    /// Whether it must be on disk before anything else is done, with all lines before it. One that
    /// names no value only tells what was in the hands of a process that was killed, or what it had done with;
    /// who forgets it with the whole machine forgets the settings, too.
    fn is_forced(&self) -> bool {
        !matches!(
            self,
            JournalLine::Again { .. }
                | JournalLine::Restored { .. }
                | JournalLine::Hidden { .. }
                | JournalLine::Settled
        )
    }
}

/// Where journals are kept.
#[derive(Debug, Clone)]
pub struct JournalDir {
    folder: PathBuf,
    machine: String,
    boot: Option<String>,
    /// The lock of the whole machine, whoever keeps his journal where.
    wide: Option<PathBuf>,
}

impl JournalDir {
    /// The journals of a machine in a folder, which several machines may share.
    pub fn new(folder: impl Into<PathBuf>, machine: &Machine) -> JournalDir {
        let folder = folder.into();
        if let Some(model) = &machine.simulated {
            // A simulated machine never starts again.
            let machine = format!("sim:{}", model.name);
            return JournalDir { folder, machine, boot: None, wide: None };
        }
        let read = |path| machine.tree.read(path).ok().map(|text| text.trim().to_owned());
        let boot = read("/proc/sys/kernel/random/boot_id");
        let machine = read("/etc/machine-id").unwrap_or_else(|| "unnamed".to_owned());
        JournalDir { folder, machine, boot, wide: None }
    }

    /// With a lock that is also held for those who keep their journals in other folders.
    #[must_use]
    pub fn with_lock(self, file: impl Into<PathBuf>) -> JournalDir {
        JournalDir { wide: Some(file.into()), ..self }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of the journal.
    pub fn path(&self) -> PathBuf {
        self.folder.join(format!("{PREFIX}{}{SUFFIX}", self.name()))
    }

    /// What tells its files from those of other machines and boots.
    fn name(&self) -> String {
        name(self.boot.as_ref().unwrap_or(&self.machine))
    }

    fn lock_path(&self) -> PathBuf {
        self.lock_of(&self.name())
    }

    fn lock_of(&self, name: &str) -> PathBuf {
        self.folder.join(format!("lock-{name}"))
    }

    /// What is still as a process left it that has ended; nothing where one is at work.
    pub fn left(&self, machine: &Machine) -> Result<Vec<Changed>, Error> {
        let Some(pending) = self.pending()? else { return Ok(Vec::new()) };
        if is_held(&self.lock_path()) {
            return Ok(Vec::new());
        }
        match pending.broken.first() {
            Some(line) => Err(self.broken(line)),
            None => Ok(differing(machine, &pending.kept)),
        }
    }

    /// The journals of this machine that an earlier boot left, with the number of settings in each:
    /// the kernel has forgotten those when it started again. One that somebody is writing on belongs to
    /// another machine of the same name.
    pub fn formers(&self) -> Vec<(PathBuf, usize)> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let paths = entries.flatten().map(|entry| entry.path());
        let is_journal = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with(PREFIX) && name.ends_with(SUFFIX) && *path != self.path()
        };
        let former = |path: PathBuf| {
            let pending = read(&path).ok()??;
            let head = &pending.head;
            let same = head.machine == self.machine && head.boot != self.boot;
            let lock = self.lock_of(&name(head.boot.as_ref().unwrap_or(&head.machine)));
            (same && !is_held(&lock)).then_some((path, pending.kept.len()))
        };
        paths.filter(is_journal).filter_map(former).collect()
    }

    /// Removes journals of earlier boots that were told of.
    pub fn forget_formers(&self, formers: &[(PathBuf, usize)]) {
        for (path, _) in formers {
            // What stays is told of again.
            drop(fs::remove_file(path));
        }
    }

    fn head(&self) -> Head {
        Head { cpudyno_journal: VERSION, machine: self.machine.clone(), boot: self.boot.clone() }
    }

    fn broken(&self, why: impl Into<String>) -> Error {
        Error::Journal { path: self.path(), why: why.into(), is_right: false }
    }

    fn failed(&self, error: &io::Error) -> Error {
        failed(&self.path(), error)
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

    /// Takes the locks, or says who has them.
    pub(crate) fn lock(&self, who: &str) -> Result<Lock, Error> {
        let wide = self.wide.as_deref().map(|path| self.lock_machine(path, who)).transpose()?;
        self.own_folder()?;
        let path = self.lock_path();
        let file = lock_options().open(&path).map_err(|error| failed(&path, &error))?;
        let own = self.hold(file, &path, who)?;
        Ok(Lock([Some(own), wide.flatten()]))
    }

    /// The lock of the machine, where this user may hold it. Who may not still sees who has it.
    fn lock_machine(&self, path: &Path, who: &str) -> Result<Option<File>, Error> {
        match lock_options().open(path) {
            Ok(file) => self.hold(file, path, who).map(Some),
            Err(_) if is_held(path) => Err(Error::Locked { holder: holder(path) }),
            Err(_) => Ok(None),
        }
    }

    fn hold(&self, mut file: File, path: &Path, who: &str) -> Result<File, Error> {
        match file.try_lock() {
            Ok(()) => {
                let told = file.set_len(0).and_then(|()| file.write_all(who.as_bytes()));
                told.map_err(|error| self.failed(&error))?;
                Ok(file)
            }
            Err(fs::TryLockError::WouldBlock) => Err(Error::Locked { holder: holder(path) }),
            Err(fs::TryLockError::Error(error)) => Err(self.failed(&error)),
        }
    }

    /// Makes the folder, or sees to it that nobody else could have written what is in it: what a
    /// journal says is done with our rights.
    fn own_folder(&self) -> Result<(), Error> {
        let mut builder = fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o755).create(&self.folder);
        let known = made.and_then(|()| fs::metadata(&self.folder));
        let known = known.map_err(|error| failed(&self.folder, &error))?;
        let refused = |why: &str| {
            Err(Error::Journal { path: self.folder.clone(), why: why.to_owned(), is_right: true })
        };
        if known.uid() != sys::host::effective_user() {
            return refused("the folder belongs to another user, so its content cannot be trusted");
        }
        if known.mode() & 0o022 != 0 {
            return refused("others may write to the folder (`chmod go-w` forbids it)");
        }
        Ok(())
    }

    /// The journal, to be written on: the one that is there, or a new one.
    pub(crate) fn open(&self) -> Result<Journal, Error> {
        let known = self.pending()?;
        let is_new = known.is_none();
        let pending = known.unwrap_or_else(|| Pending::new(self.head()));
        let mut options = OpenOptions::new();
        let options = options.create(true).append(true).mode(0o644);
        let file = options.open(self.path()).map_err(|error| self.failed(&error))?;
        let mut journal = Journal { shelf: self.clone(), file, pending, heard: Vec::new() };
        journal.end_line().map_err(|error| self.failed(&error))?;
        if is_new {
            journal.append(&[serde_json::to_string(&self.head())], true)?;
            sync(&self.folder).map_err(|error| self.failed(&error))?;
        }
        Ok(journal)
    }

    /// Removes the journal: everything was put back, or nothing can be.
    pub fn forget(&self) -> Result<(), Error> {
        match fs::remove_file(self.path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.failed(&error)),
            _ => sync(&self.folder).map_err(|error| self.failed(&error)),
        }
    }
}

fn read(path: &Path) -> Result<Option<Pending>, Error> {
    let broken = |why: String| Error::Journal { path: path.to_owned(), why, is_right: false };
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(path, &error)),
    };
    // A line that does not end was being written when the process was killed: what it says was
    // not done.
    let Some(end) = bytes.iter().rposition(|&byte| byte == b'\n') else { return Ok(None) };
    let mut lines = bytes[..end].split(|&byte| byte == b'\n').enumerate();
    let Some((_, first)) = lines.next() else { return Ok(None) };
    let head: Head = serde_json::from_slice(first)
        .map_err(|error| broken(format!("line 1 is no head: {}", model::json::refusal(&error))))?;
    if head.cpudyno_journal != VERSION {
        let why = format!("it is of version {}, known is {VERSION}", head.cpudyno_journal);
        return Err(broken(why));
    }
    let mut pending = Pending::new(head);
    for (index, line) in lines {
        // One line that was spoiled is no reason to leave all others as they are.
        match serde_json::from_slice(line) {
            // Whoever wrote it: nothing is written but what levers are for.
            Ok(JournalLine::Keeps { object, .. }) if !rows::knows(&object) => {
                pending.broken.push(format!("line {}: {object} is no setting", index + 1));
            }
            Ok(line) => pending.kept.note(line),
            Err(_) if is_by_cpu(line) => pending.broken.push(format!(
                "line {}: an older version wrote it, with power domains named by a CPU: undo it \
                 with that version",
                index + 1
            )),
            Err(error) => {
                pending.broken.push(format!(
                    "line {}: {}",
                    index + 1,
                    model::json::refusal(&error)
                ));
            }
        }
    }
    Ok(Some(pending))
}

/// Whether a line has a value of firmware as it was named once: by a CPU through which it is reached.
fn is_by_cpu(line: &[u8]) -> bool {
    let Ok(line) = serde_json::from_slice::<serde_json::Value>(line) else { return false };
    let of = |kind: &str| {
        let at = &line[kind]["object"]["speed-select"]["at"];
        ["registers", "mailbox"].iter().any(|way| at[way].is_number())
    };
    ["keeps", "writes", "found"].into_iter().any(of)
}

fn failed(path: &Path, error: &io::Error) -> Error {
    let is_right = error.kind() == io::ErrorKind::PermissionDenied;
    Error::Journal { path: path.to_owned(), why: sys::errno::words(error), is_right }
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
    pub kept: Ledger,
    /// The lines that cannot be used, and why: what they say is not put back.
    pub broken: Vec<String>,
}

impl Pending {
    fn new(head: Head) -> Pending {
        Pending { head, kept: Ledger::default(), broken: Vec::new() }
    }
}

/// Objects, each once, first changed first.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    kept: Vec<Kept>,
    places: HashMap<Object, usize>,
    /// What was asked for of limits of the clock that may not show as that, seen before they could not.
    hidden: HashMap<Object, String>,
}

impl Deref for Ledger {
    type Target = [Kept];

    fn deref(&self) -> &[Kept] {
        &self.kept
    }
}

impl Ledger {
    pub(crate) fn of(&self, object: &Object) -> Option<&Kept> {
        self.places.get(object).map(|&place| &self.kept[place])
    }

    fn get_mut(&mut self, object: &Object) -> Option<&mut Kept> {
        self.places.get(object).map(|&place| &mut self.kept[place])
    }

    /// Notes what is there; the first value of an object counts.
    pub(crate) fn keep(&mut self, new: &New) {
        let next = self.kept.len();
        let place = *self.places.entry(new.object.clone()).or_insert(next);
        if place == next {
            self.kept.push(Kept {
                object: new.object.clone(),
                setting: new.setting.clone(),
                former: new.former.clone(),
                ours: Vec::new(),
                follows: Vec::new(),
                was_open: new.was_open,
                unsettled: false,
                is_restored: false,
            });
        }
        let follows = &mut self.kept[place].follows;
        follows.extend(new.follows.clone().filter(|leader| !follows.contains(leader)));
    }

    /// The limit that was asked for, of which this shows, where more is known than that: it was seen before it was
    /// hidden, or is ours. Whether somebody asked for another since, that shows as the same, nobody can see.
    pub(crate) fn asked(&self, machine: &Machine, object: &Object, shown: &str) -> Option<&str> {
        let is_wished = |wish: &&str| unlimited::is_wished(machine, object, wish, shown);
        let hidden = self.hidden.get(object).map(String::as_str).filter(is_wished);
        hidden.or_else(|| self.of(object)?.limit(machine, shown))
    }

    fn note(&mut self, line: JournalLine) {
        match line {
            JournalLine::Keeps { object, setting, former, follows, was_open } => {
                self.keep(&New { object, setting, former, follows, writes: None, was_open });
            }
            JournalLine::Writes { object, text } => self.add(&object, text, true),
            JournalLine::Found { object, text } => self.add(&object, text, false),
            JournalLine::Again { settings } => {
                let again = self.kept.iter_mut().filter(|kept| settings.contains(&kept.setting));
                for kept in again {
                    kept.unsettled |= !kept.ours.is_empty();
                    kept.is_restored = false;
                }
            }
            JournalLine::Restored { object } => {
                if let Some(kept) = self.get_mut(&object) {
                    kept.is_restored = true;
                }
            }
            JournalLine::Hidden { object, limit: Some(limit) } => {
                self.hidden.insert(object, limit);
            }
            JournalLine::Hidden { object, limit: None } => {
                self.hidden.remove(&object);
            }
            JournalLine::Settled => self.kept.iter_mut().for_each(|kept| kept.unsettled = false),
        }
    }

    fn add(&mut self, object: &Object, text: String, is_begun: bool) {
        if is_begun && matches!(object, Object::SpeedSelect(_)) {
            // What follows it changes along with it.
            let moves = |it: &&mut Kept| it.object == *object || it.follows.contains(object);
            self.kept.iter_mut().filter(moves).for_each(|it| it.is_restored = false);
        }
        let Some(kept) = self.get_mut(object) else { return };
        kept.unsettled |= is_begun;
        if !kept.ours.contains(&text) {
            kept.ours.push(text);
        }
    }
}

/// The locks of a shelf, for as long as it lives; the kernel gives them up when the process ends.
pub(crate) struct Lock([Option<File>; 2]);

impl Drop for Lock {
    fn drop(&mut self) {
        for file in self.0.iter().flatten() {
            // A child that was just forked holds the file, too, until it executes its program.
            drop(file.unlock());
        }
    }
}

fn lock_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o644);
    options
}

/// Whether a process holds that lock.
fn is_held(path: &Path) -> bool {
    let tried = File::open(path).map(|file| file.try_lock_shared());
    matches!(tried, Ok(Err(fs::TryLockError::WouldBlock)))
}

/// Who holds it, as he said.
fn holder(path: &Path) -> String {
    match fs::read_to_string(path).unwrap_or_default().trim() {
        "" => "another process".to_owned(),
        holder => format!("`{holder}`"),
    }
}

fn name(of: &str) -> String {
    of.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-")
}

/// A journal that is being written.
pub(crate) struct Journal {
    shelf: JournalDir,
    file: File,
    pending: Pending,
    /// What is to be noted when writes are settled.
    heard: Vec<JournalLine>,
}

/// An object that is about to be changed.
#[derive(Debug, Clone)]
pub(crate) struct New {
    pub(crate) object: Object,
    pub(crate) setting: String,
    /// What is there.
    pub(crate) former: String,
    /// The object whose write changes this one, too.
    pub(crate) follows: Option<Object>,
    /// What will be written to it; none: it follows.
    pub(crate) writes: Option<String>,
    /// Whether it is a limit that is open.
    pub(crate) was_open: bool,
}

impl Journal {
    pub(crate) fn pending(&self) -> &Pending {
        &self.pending
    }

    /// Notes objects with what is there, all at once, and what will be written to them; on disk when it
    /// returns, but for what was written before. What lasts only as long as this process is not noted.
    pub(crate) fn keep(&mut self, news: &[New]) -> Result<(), Error> {
        let mut lines = Vec::new();
        let mut again = BTreeSet::new();
        for new in news.iter().filter(|new| !new.object.is_held()) {
            let known = self.pending.kept.of(&new.object);
            let follows = |leader: &&Object| !known.is_some_and(|k| k.follows.contains(leader));
            let leader = new.follows.as_ref().filter(follows);
            if known.is_none() || leader.is_some() {
                lines.push(JournalLine::Keeps {
                    object: new.object.clone(),
                    setting: new.setting.clone(),
                    former: new.former.clone(),
                    follows: leader.cloned(),
                    was_open: new.was_open,
                });
            }
            let is_known = |text: &String| known.is_some_and(|known| known.ours.contains(text));
            match &new.writes {
                // Under the name by which it was noted: it may have followed another setting then.
                Some(text) if is_known(text) => again.extend(known.map(|k| k.setting.clone())),
                Some(text) => {
                    lines.push(JournalLine::Writes {
                        object: new.object.clone(),
                        text: text.clone(),
                    });
                }
                None => {}
            }
        }
        if !again.is_empty() {
            lines.push(JournalLine::Again { settings: again });
        }
        self.note(lines)
    }

    /// Notes what was asked for of these limits, which may not show as that soon.
    pub(crate) fn hide(&mut self, machine: &Machine, limits: Vec<Object>) {
        let known = &self.pending.kept;
        let news = |object: Object| {
            // That of a CPU that is off stays as it is.
            let shown = object.read(machine).ok()?;
            let limit = match known.asked(machine, &object, &shown) {
                Some(asked) => Some(asked.to_owned()),
                None => unlimited::is_set(machine, &object, &shown).then_some(shown),
            };
            (known.hidden.get(&object) != limit.as_ref())
                .then_some(JournalLine::Hidden { object, limit })
        };
        let lines = limits.into_iter().filter_map(news).collect();
        self.note_anyway(lines);
    }

    /// Notes which limits show as what they are: somebody else may change them, and that will be seen.
    pub(crate) fn show(&mut self, machine: &Machine) {
        let is_shown = |(object, limit): &(&Object, &String)| {
            let shows =
                |shown: String| shown == **limit && unlimited::is_set(machine, object, &shown);
            object.read(machine).is_ok_and(shows)
        };
        let shown = self.pending.kept.hidden.iter().filter(is_shown);
        let over =
            |(object, _): (&Object, _)| JournalLine::Hidden { object: object.clone(), limit: None };
        let lines = shown.map(over).collect();
        self.note_anyway(lines);
    }

    /// Notes that another limit was asked for, where this is one.
    pub(crate) fn replaced(&mut self, object: &Object) {
        if self.pending.kept.hidden.contains_key(object) {
            self.note_anyway(vec![JournalLine::Hidden { object: object.clone(), limit: None }]);
        }
    }

    /// Notes that former values will be written; on disk when it returns.
    pub(crate) fn begin(&mut self, writes: Vec<(Object, String)>) {
        let line = |(object, text)| JournalLine::Writes { object, text };
        self.note_anyway(writes.into_iter().map(line).collect());
    }

    /// Notes what has its former value again, where it hangs on CPUs whether it can be read. Where it cannot be
    /// written, it is known all the same: then the next process must have its CPUs.
    pub(crate) fn restored(&mut self, kept: &Kept) {
        // Who puts back one command of several does not put back what was there first.
        let is_news = |first: &Kept| !first.is_restored && first.former == kept.former;
        let is_news = self.pending.kept.of(&kept.object).is_some_and(is_news);
        if !is_news || !matches!(kept.object, Object::SpeedSelect(_)) {
            return;
        }
        self.note_anyway(vec![JournalLine::Restored { object: kept.object.clone() }]);
    }

    /// What was found after a write and is not what was written; on disk with [`Journal::settle`].
    pub(crate) fn hear(&mut self, object: &Object, found: String) {
        if self.pending.kept.of(object).is_some_and(|kept| !kept.ours.contains(&found)) {
            let line = JournalLine::Found { object: object.clone(), text: found };
            self.pending.kept.note(line.clone());
            self.heard.push(line);
        }
    }

    /// Notes what came of all writes until here; on disk when it returns, where it names values.
    pub(crate) fn settle(&mut self) -> Result<(), Error> {
        let mut lines = std::mem::take(&mut self.heard);
        if !lines.is_empty() || self.pending.kept.iter().any(|kept| kept.unsettled) {
            lines.push(JournalLine::Settled);
        }
        self.note(lines)
    }

    /// Notes what must not stop anybody. Where it cannot be written on disk, it is known all the same: then only a
    /// kill in the middle is harder to mend.
    fn note_anyway(&mut self, lines: Vec<JournalLine>) {
        if self.note(lines.clone()).is_err() {
            for line in lines {
                self.pending.kept.note(line);
            }
        }
    }

    fn note(&mut self, lines: Vec<JournalLine>) -> Result<(), Error> {
        if lines.is_empty() {
            return Ok(());
        }
        let texts: Vec<_> = lines.iter().map(serde_json::to_string).collect();
        self.append(&texts, lines.iter().any(JournalLine::is_forced))?;
        for line in lines {
            self.pending.kept.note(line);
        }
        Ok(())
    }

    fn append(
        &mut self,
        lines: &[serde_json::Result<String>],
        is_forced: bool,
    ) -> Result<(), Error> {
        let mut text = String::new();
        for line in lines {
            match line {
                Ok(line) => text.push_str(line),
                Err(error) => return Err(self.shelf.broken(error.to_string())),
            }
            text.push('\n');
        }
        let length = self.file.metadata().map_err(|error| self.shelf.failed(&error))?.len();
        let force = || if is_forced { self.file.sync_all() } else { Ok(()) };
        (&self.file).write_all(text.as_bytes()).and_then(|()| force()).map_err(|error| {
            // Half a line would spoil the next one. Where that fails, too, it is read past.
            drop(self.file.set_len(length));
            self.shelf.failed(&error)
        })
    }

    /// Cuts off the half line of a process that was killed.
    fn end_line(&mut self) -> io::Result<()> {
        let bytes = fs::read(self.shelf.path())?;
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |place| place + 1);
        if whole < bytes.len() { self.file.set_len(whole as u64) } else { Ok(()) }
    }
}

/// What differs from its former value, of what a journal holds.
fn differing(machine: &Machine, kept: &[Kept]) -> Vec<Changed> {
    let differs = |kept: &Kept| {
        let now = kept.object.read(machine).ok()?;
        let changed = Changed {
            setting: kept.setting.clone(),
            object: kept.object.clone(),
            former: kept.former.clone(),
            now,
        };
        (!kept.is_as_before(machine, &changed.now)).then_some(changed)
    };
    kept.iter().filter_map(differs).collect()
}
