//! Many records at once: what is needed of each, read by as many threads as there are CPUs.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use cpudyno::fleet::host_name;
use fleet::pack::{Ledger, Packable, Remark};
use fleet::reference::Reference;
use fleet::survey::{Host, Rows};
use fleet::threads::each_with;
use model::record::{Digest, ReadError, Record};

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

/// What is needed of a record: its digest, or that which is made of it. The buffer may have held another file before:
/// fresh memory for each would take as long as reading.
fn digest(file: &Path, buffer: &mut Vec<u8>) -> Result<Digest, Unread> {
    if let Some(digest) = at_beginning(file, buffer, Digest::read) {
        return Ok(digest);
    }
    let text = text(file, buffer).map_err(Unread::File)?;
    // Of a page, or from a pipe.
    if let Some(digest) = Digest::read(&text).filter(|_| ends_as_records_do(text.as_bytes())) {
        return Ok(digest);
    }
    let record = model::record::read(&text)
        .map_err(|error| Unread::Text(refused(file, &text, &error), error))?;
    Ok(fleet::digest::of(&record))
}

/// What is made of the beginning of a file, where it is a record that is written to its end; the rest is not read.
fn at_beginning<T>(
    file: &Path,
    buffer: &mut Vec<u8>,
    made: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    /// A digest of 112 cores has 45 KB. Of a longer one the whole file is read.
    const LONGEST: u64 = 64 << 10;
    let mut file = File::open(file).ok().filter(|_| file != Path::new("-"))?;
    // What is no file gives what it has only once.
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    buffer.clear();
    (&mut file).take(LONGEST).read_to_end(buffer).ok()?;
    // What is cut off in the middle of a letter ends before it.
    let valid = str::from_utf8(buffer).map_or_else(|error| error.valid_up_to(), str::len);
    let made = made(str::from_utf8(&buffer[..valid]).ok()?)?;
    file.seek(SeekFrom::End(-2)).ok()?;
    buffer.clear();
    file.read_to_end(buffer).ok()?;
    ends_as_records_do(buffer).then_some(made)
}

fn ends_as_records_do(text: &[u8]) -> bool {
    text.trim_ascii_end().ends_with(b"}")
}

/// More threads share them: each takes 64 MiB of addresses.
const ARENAS: u16 = 16;

/// What is made of each file, in their order; what is not needed of one is gone when the next is read.
pub(super) fn each<T: Send>(
    files: &[PathBuf],
    made: impl Fn(&Path, Digest) -> T + Sync,
) -> Vec<Result<T, Failure>> {
    let one = |file: &Path, buffer: &mut Vec<u8>| {
        Ok(made(file, digest(file, buffer).map_err(Unread::failure)?))
    };
    // Nothing is measured here, and parsing is mostly allocating.
    sys::memory::arenas(ARENAS);
    by_threads(files, one)
}

/// Each thread has a buffer of its own, which grows to what is longest.
fn by_threads<T: Send>(files: &[PathBuf], one: impl Fn(&Path, &mut Vec<u8>) -> T + Sync) -> Vec<T> {
    each_with(files.len(), Vec::new, |place, buffer| one(&files[place], buffer))
}

/// The files that are named, and those of the folders that are, in order: files that end in `.json` or `.html`, not those
/// of folders in them.
pub(super) fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::new();
    for place in named {
        if place.is_dir() { all.extend(in_folder(place)?) } else { all.push(place.clone()) }
    }
    Ok(all)
}

pub(super) const HINT: &str =
    "name a folder of records: `cpudyno sheet --json DIR/FILE.json` writes one";

fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let fail = |error: &std::io::Error| {
        let why = sys::errno::words(error);
        let text = format!("cannot read the folder `{}`: {why}", folder.display());
        Failure::new(code::USAGE, text).hint(HINT)
    };
    cpudyno::fleet::files(folder).map_err(|error| fail(&error))
}

/// The row of each record, or why there is none.
pub(super) fn rows(files: &[PathBuf], rows: &Rows) -> Vec<Result<Host, &'static str>> {
    let of_beginning =
        |file: &Path, text: &str| rows.row(&host_name(file), &file.display().to_string(), text);
    let of_digest = |file: &Path, digest: &Digest| {
        rows.row_of(&host_name(file), &file.display().to_string(), digest)
    };
    of_each(files, of_beginning, of_digest)
}

/// What a pack takes of each record, or what it says of a file that is none.
pub(super) fn packable(files: &[PathBuf], ledger: &Ledger) -> Vec<Result<Packable, Remark>> {
    let of_beginning = |file: &Path, text: &str| ledger.run(&host_name(file), text);
    let of_digest = |file: &Path, digest: &Digest| ledger.run_of(&host_name(file), digest);
    let all = of_each(files, of_beginning, of_digest).into_iter().zip(files);
    let remark = |file: &Path, why: &str| Remark {
        host: host_name(file),
        file: file.display().to_string(),
        time: written(file).unwrap_or_default(),
        why: why.to_owned(),
    };
    all.map(|(packable, file)| packable.map_err(|why| remark(file, why))).collect()
}

/// When a file was written.
fn written(file: &Path) -> Option<String> {
    let time = file.metadata().ok()?.modified().ok()?;
    time.duration_since(UNIX_EPOCH).ok()?;
    Some(humantime::format_rfc3339_seconds(time).to_string())
}

/// What is made of the beginning of each record, or of its digest; or why it is none.
fn of_each<T: Send>(
    files: &[PathBuf],
    of_beginning: impl Fn(&Path, &str) -> Option<T> + Sync,
    of_digest: impl Fn(&Path, &Digest) -> Option<T> + Sync,
) -> Vec<Result<T, &'static str>> {
    sys::memory::arenas(ARENAS);
    by_threads(files, |file, buffer| {
        if let Some(made) = at_beginning(file, buffer, |text| of_beginning(file, text)) {
            return Ok(made);
        }
        let digest = digest(file, buffer).map_err(|unread| unread.kind())?;
        of_digest(file, &digest).ok_or("no record")
    })
}

/// The digests of a folder's records; files that are none are left out.
pub(super) fn digests(folder: &Path) -> Result<Vec<Digest>, Failure> {
    let files = in_folder(folder)?;
    Ok(by_threads(&files, |file, buffer| digest(file, buffer).ok()).into_iter().flatten().collect())
}

/// The earlier records of a folder: its files that end in `.json` or `.html`, not those of folders in it.
pub(super) fn reference(folder: &Path) -> Result<Reference, Failure> {
    let files = in_folder(folder)?;
    let kind = |unread: Unread| unread.kind().to_owned();
    let digests = by_threads(&files, |file, buffer| digest(file, buffer).map_err(kind));
    let reference = Reference::new(digests);
    if reference.is_empty() {
        let none =
            format!("there is no record with measurements in the folder `{}`", folder.display());
        let left_out = reference.left_out();
        let told = left_out.iter().map(report::reference::left_out_in_words);
        let told: Vec<String> = std::iter::once(none).chain(told).collect();
        return Err(Failure::new(code::USAGE, told.join("; ")).hint(HINT));
    }
    Ok(reference)
}
