//! Many records at once: what is needed of each, read by as many threads as there are CPUs.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use model::areas::is_judged;
use model::record::{Brief, ReadError, Record};
use report::reference::Reference;

use super::show::{refused, text};
use crate::failure::{Failure, code};

/// Why a file gives nothing.
enum Unread {
    /// It cannot be read at all.
    File(Failure),
    /// It is no record.
    Text(Failure, ReadError),
}

impl Unread {
    fn failure(self) -> Failure {
        match self {
            Unread::File(failure) | Unread::Text(failure, _) => failure,
        }
    }

    /// In a few words, the same for all files that fail alike.
    fn kind(&self) -> &'static str {
        match self {
            Unread::File(_) => "cannot be read",
            Unread::Text(_, ReadError::OtherMajor(_)) => "of another version of cpudyno",
            Unread::Text(_, ReadError::NoSchema | ReadError::Foreign(_)) => "no record",
            Unread::Text(..) => "cut off or damaged",
        }
    }
}

/// Notes in a record where its results lie among earlier ones, and what of that is to be said.
pub(super) fn place(record: &mut Record, earlier: &Reference) {
    let run = earlier.place(record);
    record.findings.extend(report::reference::findings(&run));
    record.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    record.reference = Some(run);
}

/// Room for a file and what is made of it, which grows to the longest: fresh memory for each would take as long as
/// reading.
#[derive(Default)]
struct Room {
    file: Vec<u8>,
    spare: String,
}

fn brief(file: &Path, room: &mut Room) -> Result<Brief, Unread> {
    let text = text(file, &mut room.file).map_err(Unread::File)?;
    Brief::read(&text, &mut room.spare, &is_judged)
        .map_err(|error| Unread::Text(refused(file, &text, &error), error))
}

/// More threads share them: each takes 64 MiB of addresses.
const ARENAS: u16 = 16;

/// What is made of each file, in their order; what is not needed of one is gone when the next is read.
pub(super) fn each<T: Send>(
    files: &[PathBuf],
    made: impl Fn(&Path, Brief) -> T + Sync,
) -> Vec<Result<T, Failure>> {
    let one =
        |file: &Path, room: &mut Room| Ok(made(file, brief(file, room).map_err(Unread::failure)?));
    // Nothing is measured here, and parsing is mostly allocating.
    sys::memory::arenas(ARENAS);
    by_threads(files, one)
}

/// Each thread has room of its own.
fn by_threads<T: Send>(files: &[PathBuf], one: impl Fn(&Path, &mut Room) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(files.len());
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(files.len())));
    let work = || {
        let mut room = Room::default();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(place) else { break };
            let made = one(file, &mut room);
            done.lock().expect("BUG: nobody panics with the lock").push((place, made));
        }
    };
    std::thread::scope(|scope| {
        // The first is this one: what is read from standard input is nobody else's, and where threads are scarce it reads
        // all.
        for _ in 1..threads {
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut done = done.into_inner().expect("BUG: nobody panics with the lock");
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, made)| made).collect()
}

/// The earlier records of a folder: its files that end in `.json` or `.html`, not those of folders in it.
pub(super) fn reference(folder: &Path) -> Result<Reference, Failure> {
    const HINT: &str = "name a folder of records: `cpudyno sheet --json DIR/FILE.json` writes one";
    let shown = folder.display();
    let fail = |error: &std::io::Error| {
        let why = sys::errno::words(error);
        Failure::new(code::USAGE, format!("cannot read the folder `{shown}`: {why}")).hint(HINT)
    };
    let is_record = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().as_encoded_bytes();
        let ends = file.extension().is_some_and(|end| end == "json" || end == "html");
        ends && !name.starts_with(b".") && file.is_file()
    };
    let entries = std::fs::read_dir(folder).map_err(|error| fail(&error))?;
    let mut files: Vec<PathBuf> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, std::io::Error>>()
        .map_err(|error| fail(&error))?;
    files.retain(is_record);
    files.sort();
    let kind = |unread: Unread| unread.kind().to_owned();
    let briefs = by_threads(&files, |file, room| brief(file, room).map_err(kind));
    let reference = Reference::new(briefs);
    if reference.is_empty() {
        let none = format!("there is no record with measurements in the folder `{shown}`");
        let left_out = reference.left_out();
        let told = left_out.iter().map(report::reference::left_out_in_words);
        let told: Vec<String> = std::iter::once(none).chain(told).collect();
        return Err(Failure::new(code::USAGE, told.join("; ")).hint(HINT));
    }
    Ok(reference)
}
