//! The runs of a machine, one after the other in one file: a line each, which is written once and never changed.
//!
//! A line has three words: the form, when the run began, and its digest as JSON, compressed and in base64. Its checksum is
//! that of zlib (RFC 1950). A line that something cut off, or damaged, costs that run alone.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use model::record::Digest;
use serde::{Deserialize, Serialize};

/// What each line begins with.
const FORM: &str = "cpudyno.history-run/1";

/// The longest line. A sheet of ten seconds on 112 cores has 13 kB.
const LINE_MAX: usize = 32_000;

/// A file that would become longer becomes the former one, whose place it takes: some 400 to 1000 runs each.
const FILE_MAX: u64 = 4 << 20;

/// Nothing longer is read: no file of a history is.
const READ_MAX: u64 = 4 * FILE_MAX;

/// No digest of a line is longer when it is unpacked.
const DIGEST_MAX: u64 = 1 << 20;

/// A lock is waited for so long: a line is written in milliseconds.
const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 10_000 });

/// A run that is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// What tells this start of the system from others, where that is known: runs of one are of one boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// What the run said.
    pub digest: Digest,
}

/// What a history holds.
#[derive(Debug, Default)]
pub struct KeptRuns {
    /// The runs, in their order.
    pub entries: Vec<Entry>,
    /// What is no run.
    pub skipped: Vec<Skipped>,
}

/// A line that is no run, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The file.
    pub file: PathBuf,
    /// Its line, from 1.
    pub line: usize,
    /// Why.
    pub why: &'static str,
}

/// Why a history cannot be read, or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file of it cannot be read.
    #[error("cannot read the history `{}`: {}", file.display(), why)]
    Read {
        /// Which.
        file: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// A file of it cannot be written.
    #[error("cannot write the history `{}`: {}", file.display(), why)]
    Write {
        /// Which.
        file: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// Too much is said of a run.
    #[error("cannot keep a run whose digest has {0} bytes: a history keeps {LINE_MAX} of each")]
    TooLong(usize),
}

/// Where a history is kept.
#[derive(Debug, Clone)]
pub struct Store {
    file: PathBuf,
}

impl Store {
    /// That file, and the former one beside it.
    pub fn new(file: PathBuf) -> Store {
        Store { file }
    }

    /// The file that runs are appended to.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The runs that are kept. There is none where there is no file.
    pub fn read(&self) -> Result<KeptRuns, StoreError> {
        let mut kept = KeptRuns::default();
        // The former one last: what moves there meanwhile is read twice, and not missed.
        let read = |file: PathBuf| match content(&file) {
            Ok(bytes) => Ok((file, bytes)),
            Err(why) => Err(StoreError::Read { file, why }),
        };
        let newest = read(self.file.clone())?;
        for (file, bytes) in [read(self.former())?, newest] {
            let lines = bytes.split(|byte| *byte == b'\n').enumerate();
            for (place, line) in lines.filter(|(_, line)| !line.is_empty()) {
                match entry(line) {
                    Ok(entry) => kept.entries.push(entry),
                    Err(why) => {
                        kept.skipped.push(Skipped { file: file.clone(), line: place + 1, why });
                    }
                }
            }
        }
        let mut seen = HashSet::new();
        kept.entries.retain(|entry| entry.run().is_none_or(|run| seen.insert(run)));
        kept.entries = in_order(kept.entries);
        Ok(kept)
    }

    /// Both files.
    pub fn files(&self) -> [PathBuf; 2] {
        [self.file.clone(), self.former()]
    }

    /// Whether a run can be appended, before it is measured.
    pub fn is_writable(&self) -> Result<(), StoreError> {
        self.locked().map(drop).map_err(|why| self.unwritten(why))
    }

    /// Appends runs that are not there yet; on the disk when this returns. How many were appended.
    pub fn append(&self, entries: &[Entry]) -> Result<usize, StoreError> {
        let mut known: HashSet<_> = self.read()?.entries.iter().filter_map(Entry::run).collect();
        let is_new = |entry: &&Entry| entry.run().is_none_or(|run| known.insert(run));
        let lines: Vec<String> =
            entries.iter().filter(is_new).map(line).collect::<Result<_, _>>()?;
        lines.iter().try_for_each(|line| self.written(line)).map_err(|why| self.unwritten(why))?;
        Ok(lines.len())
    }

    fn unwritten(&self, why: io::Error) -> StoreError {
        StoreError::Write { file: self.file.clone(), why }
    }

    fn written(&self, line: &str) -> io::Result<()> {
        let mut file = self.locked()?;
        if file.metadata()?.len() + line.len() as u64 > FILE_MAX {
            // Those who wait for the lock of this file see that it has another name then.
            fs::rename(&self.file, self.former())?;
            file = self.locked()?;
        }
        // What was cut off ends where this begins.
        let joint = if ends_a_line(&mut file)? { "" } else { "\n" };
        file.write_all(format!("{joint}{line}\n").as_bytes())?;
        file.sync_all()?;
        self.folder().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }

    /// The file that has the name now, which nobody else writes to.
    fn locked(&self) -> io::Result<File> {
        if let Some(folder) = self.folder() {
            fs::create_dir_all(folder)?;
        }
        // Whoever may read it may hold its lock.
        let end = Instant::now() + PATIENCE;
        loop {
            let file = OpenOptions::new().read(true).append(true).create(true).open(&self.file)?;
            match file.try_lock() {
                Ok(()) if is_of(&file, &self.file)? => return Ok(file),
                Ok(()) | Err(TryLockError::WouldBlock) if Instant::now() < end => {
                    thread::sleep(Duration::from_millis(20));
                }
                Ok(()) | Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "another program holds its lock",
                    ));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    fn former(&self) -> PathBuf {
        self.file.with_added_extension("former")
    }

    fn folder(&self) -> Option<&Path> {
        self.file
            .parent()
            .map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
    }
}

/// Whether a name is that of an open file.
fn is_of(file: &File, name: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    match fs::metadata(name) {
        Ok(its) => Ok((its.dev(), its.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn ends_a_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// The bytes of a file; none where there is none.
fn content(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match File::open(file) {
        Ok(file) => file.take(READ_MAX).read_to_end(&mut bytes).map(|_| bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(bytes),
        Err(error) => Err(error),
    }
}

impl Entry {
    /// Which run it is. Simulated ones are told apart by nothing.
    fn run(&self) -> Option<(String, String)> {
        let run = &self.digest.run;
        run.simulated.is_none().then(|| (run.id.clone(), run.started.clone()))
    }
}

/// Runs that were measured stay in the order in which they were: a clock may be wrong until somebody sets it. Those that
/// were taken from elsewhere come where their time is.
fn in_order(entries: Vec<Entry>) -> Vec<Entry> {
    let is_here = |entry: &Entry| entry.boot.is_some() || entry.digest.run.simulated.is_some();
    let (mut all, mut others): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(is_here);
    others.sort_by(|a, b| a.digest.run.started.cmp(&b.digest.run.started));
    for other in others {
        let is_later = |entry: &Entry| entry.digest.run.started > other.digest.run.started;
        let at = all.iter().position(is_later).unwrap_or(all.len());
        all.insert(at, other);
    }
    all
}

/// A run as a line, without its end.
fn line(entry: &Entry) -> Result<String, StoreError> {
    let text = serde_json::to_vec(entry).expect("BUG: a digest can be written");
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    let packed = packed.write_all(&text).and_then(|()| packed.finish());
    let packed = packed.expect("BUG: memory refuses to be written");
    let line = format!("{FORM} {} {}", entry.digest.run.started, STANDARD_NO_PAD.encode(packed));
    if line.len() > LINE_MAX || text.len() as u64 > DIGEST_MAX {
        return Err(StoreError::TooLong(line.len()));
    }
    Ok(line)
}

/// The run of a line, or why there is none.
fn entry(line: &[u8]) -> Result<Entry, &'static str> {
    const DAMAGED: &str = "it is cut off or damaged";
    let words = str::from_utf8(line).map_err(|_| DAMAGED)?;
    let mut words = words.split(' ');
    if words.next() != Some(FORM) {
        return Err("it is of no history, or one of another version of cpudyno");
    }
    let packed = words.nth(1).and_then(|packed| STANDARD_NO_PAD.decode(packed).ok());
    let mut text = Vec::new();
    let unpacked =
        ZlibDecoder::new(&*packed.ok_or(DAMAGED)?).take(DIGEST_MAX).read_to_end(&mut text);
    unpacked.map_err(|_| DAMAGED)?;
    serde_json::from_slice(&text).map_err(|_| DAMAGED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::tests::base;

    fn run(day: u32) -> Entry {
        let mut digest = base();
        digest.run.simulated = None;
        digest.run.id = format!("run{day}");
        digest.run.started = format!("2026-01-{day:02}T00:00:00Z");
        Entry { boot: Some(format!("boot{day}")), digest }
    }

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("deep/history"));
        (folder, store)
    }

    #[test]
    fn what_was_appended_is_read_in_its_order_and_once() {
        let (_folder, store) = store();
        assert_eq!(store.read().unwrap().entries, []);
        let appended = [2, 1, 3, 3].map(|day| store.append(&[run(day)]).unwrap());
        assert_eq!(appended, [1, 1, 1, 0]);
        let other = |day| Entry { boot: None, ..run(day) };
        store.append(&[other(5)]).unwrap();
        store.append(&[other(4)]).unwrap();
        store.append(&[run(6)]).unwrap();
        let kept = store.read().unwrap();
        // The clock was wrong at the first one.
        assert_eq!(kept.entries, [run(2), run(1), run(3), other(4), other(5), run(6)]);
        assert_eq!(kept.skipped, []);
    }

    #[test]
    fn a_lock_that_somebody_holds_is_an_error_in_the_end() {
        let (_folder, store) = store();
        store.append(&[run(1)]).unwrap();
        let held = File::open(store.file()).unwrap();
        held.lock().unwrap();
        let error = store.append(&[run(2)]).unwrap_err().to_string();
        assert!(error.contains("another program holds its lock"), "{error}");
        held.unlock().unwrap();
        assert_eq!(store.append(&[run(2)]).unwrap(), 1);
    }

    #[test]
    fn a_line_that_was_cut_off_anywhere_costs_that_run_alone() {
        let (_folder, store) = store();
        store.append(&[run(1)]).unwrap();
        store.append(&[run(2)]).unwrap();
        let whole = fs::read(store.file()).unwrap();
        let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for cut in (first + 1..whole.len() - 1).step_by(97) {
            fs::write(store.file(), &whole[..cut]).unwrap();
            store.append(&[run(3)]).unwrap();
            let kept = store.read().unwrap();
            assert_eq!(kept.entries, [run(1), run(3)], "cut at {cut}");
            assert_eq!(kept.skipped.iter().map(|it| it.line).collect::<Vec<_>>(), [2]);
        }
        // Without the end of its line it is whole.
        fs::write(store.file(), &whole[..whole.len() - 1]).unwrap();
        store.append(&[run(3)]).unwrap();
        assert_eq!(store.read().unwrap().entries.len(), 3);
    }

    #[test]
    fn bytes_that_somebody_changed_are_no_run() {
        let (_folder, store) = store();
        store.append(&[run(1)]).unwrap();
        let whole = fs::read(store.file()).unwrap();
        let packed = whole.iter().rposition(|byte| *byte == b' ').unwrap() + 1;
        for at in (packed..whole.len() - 1).step_by(61) {
            let mut bytes = whole.clone();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            fs::write(store.file(), &bytes).unwrap();
            let kept = store.read().unwrap();
            assert_eq!((kept.entries.len(), kept.skipped.len()), (0, 1), "byte {at}");
        }
        fs::write(store.file(), b"\xff\xfe\ncpudyno.history-run/2 x y\n\n{}").unwrap();
        assert_eq!(store.read().unwrap().skipped.len(), 3);
    }

    #[test]
    fn a_full_file_becomes_the_former_one() {
        let (_folder, store) = store();
        store.append(&[run(1)]).unwrap();
        let mut filled = fs::read(store.file()).unwrap();
        filled.resize(FILE_MAX as usize, b'\n');
        fs::write(store.file(), filled).unwrap();
        store.append(&[run(2)]).unwrap();
        assert!(fs::metadata(store.file()).unwrap().len() < FILE_MAX / 2);
        assert_eq!(store.read().unwrap().entries, [run(1), run(2)]);
    }

    #[test]
    fn many_append_at_once_and_none_is_lost() {
        let (_folder, store) = store();
        std::thread::scope(|scope| {
            for day in 1..9 {
                let store = &store;
                scope.spawn(move || store.append(&[run(day)]).unwrap());
            }
        });
        assert_eq!(store.read().unwrap().entries.len(), 8);
    }

    #[test]
    fn a_digest_that_is_too_long_is_refused() {
        let (_folder, store) = store();
        let mut entry = run(1);
        let mut random = fastrand::Rng::with_seed(1);
        let noise: String = (0..60_000).map(|_| random.alphanumeric()).collect();
        entry.digest.facts[0].text = Some(noise);
        assert!(matches!(store.append(&[entry]), Err(StoreError::TooLong(_))));
        assert!(!store.file().exists());
    }
}
