//! Packing: new files beside those that there are, and under their names only when all of them are whole.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::mem;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use parquet::basic::{Compression, Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, TypePtr};
use tempfile::NamedTempFile;

use super::ledger::{Ledger, Packable, PackedRun, Remark};
use super::{FACTS, PackError, PackedCounts, RESULTS, read, schema};

mod rows;

/// What the name of a file begins with that is not whole.
const TEMPORARY: &str = ".cpudyno-";

/// The month of a run that does not say when it was.
const NO_MONTH: &str = "unknown";

/// What the folder of a month begins with.
const MONTH: &str = "month=";

/// Adds to a pack.
#[derive(Debug)]
pub struct Packer {
    folder: PathBuf,
    /// Held until the end.
    _lock: File,
    ledger: Ledger,
    /// The number of the new files.
    number: u32,
    /// What was packed just now.
    new: HashSet<(String, String)>,
    months: BTreeMap<String, [Table; 2]>,
    counts: PackedCounts,
}

/// A file that is being written.
#[derive(Debug)]
struct Table {
    target: PathBuf,
    writer: SerializedFileWriter<NamedTempFile>,
}

type RowGroup<'a> = SerializedRowGroupWriter<'a, NamedTempFile>;

impl Packer {
    /// Opens a pack, or makes one.
    pub fn open(folder: &Path) -> Result<Packer, PackError> {
        let fail = |error: io::Error| failed(folder, &error);
        fs::create_dir_all(folder).map_err(fail)?;
        let lock = lock_file(&folder.join(".lock")).map_err(fail)?;
        match lock.try_lock() {
            Ok(()) => remove_leftovers(folder).map_err(fail)?,
            Err(TryLockError::WouldBlock) => return Err(PackError::Busy(folder.to_owned())),
            // Not every file system has locks. Two that write at once pack the same twice.
            Err(TryLockError::Error(_)) => {}
        }
        let files = read::files(folder)?;
        let number = |file: &PathBuf| file.file_stem()?.to_str()?.parse::<u32>().ok();
        let last = files.iter().filter_map(number).max().unwrap_or(0);
        Ok(Packer {
            folder: folder.to_owned(),
            _lock: lock,
            ledger: Ledger::new(read::known(&files)),
            number: last + 1,
            new: HashSet::new(),
            months: BTreeMap::new(),
            counts: PackedCounts::default(),
        })
    }

    /// What makes runs of records.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Adds records, and remarks on files that are none.
    pub fn add(&mut self, records: Vec<Packable>, remarks: &[Remark]) -> Result<(), PackError> {
        let mut by_month: BTreeMap<String, Vec<PackedRun>> = BTreeMap::new();
        self.counts.left_out += remarks.len();
        let remarks = remarks.iter().filter_map(|remark| self.ledger.remark(remark));
        let mut runs: Vec<PackedRun> = remarks.collect();
        for record in records {
            match record {
                Packable::Known => self.counts.known += 1,
                Packable::New(run) if !self.new.insert((run.host.clone(), run.started.clone())) => {
                    self.counts.known += 1;
                }
                Packable::New(run) => {
                    self.counts.runs += 1;
                    self.counts.results += run.results.len();
                    runs.push(*run);
                }
            }
        }
        for run in runs {
            let month = run.time.and_then(|_| run.started.get(..7)).unwrap_or(NO_MONTH);
            by_month.entry(month.to_owned()).or_default().push(run);
        }
        for (month, mut runs) in by_month {
            runs.sort_by(|a, b| (&a.host, &a.started).cmp(&(&b.host, &b.started)));
            self.add_to(&month, &runs)?;
        }
        Ok(())
    }

    fn add_to(&mut self, month: &str, runs: &[PackedRun]) -> Result<(), PackError> {
        if !self.months.contains_key(month) {
            let table = |name: &str, schema: &TypePtr| {
                let folder = self.folder.join(name).join(format!("{MONTH}{month}"));
                Table::new(&folder, self.number, schema).map_err(|why| unwritten(&folder, why))
            };
            let tables = [table(RESULTS, &schema::results())?, table(FACTS, &schema::facts())?];
            self.months.insert(month.to_owned(), tables);
        }
        let tables = self.months.get_mut(month).expect("BUG: it was put there");
        let [results, facts] = tables;
        let names = self.ledger.names();
        let row_group =
            |table: &mut Table, write: &dyn Fn(&mut RowGroup<'_>) -> Result<(), ParquetError>| {
                let fail = |why| unwritten(&table.target, why);
                let mut group = table.writer.next_row_group().map_err(fail)?;
                write(&mut group).map_err(fail)?;
                group.close().map(drop).map_err(fail)
            };
        row_group(results, &|group| rows::results(group, runs, names))?;
        row_group(facts, &|group| rows::facts(group, runs, names))
    }

    /// Gives all files their names.
    pub fn finish(mut self) -> Result<PackedCounts, PackError> {
        let mut whole: [Vec<(PathBuf, NamedTempFile)>; 2] = Default::default();
        for (_, tables) in mem::take(&mut self.months) {
            for (all, Table { target, writer }) in whole.iter_mut().zip(tables) {
                let file = writer.into_inner().map_err(|why| unwritten(&target, why))?;
                file.as_file().sync_all().map_err(|error| failed(&target, &error))?;
                all.push((target, file));
            }
        }
        // Facts last: with them a run is there.
        for (target, file) in whole.into_iter().flatten() {
            let folder = target.parent().and_then(|folder| File::open(folder).ok());
            let kept = file.persist_noclobber(&target).map_err(|error| error.error);
            kept.map_err(|error| failed(&target, &error))?;
            // A folder that cannot be synchronised has the file all the same, unless power fails now.
            let _ = folder.map(|folder| folder.sync_all());
        }
        Ok(self.counts)
    }
}

impl Table {
    fn new(folder: &Path, number: u32, schema: &TypePtr) -> Result<Table, Error> {
        fs::create_dir_all(folder)?;
        let file = tempfile::Builder::new()
            .prefix(TEMPORARY)
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)?;
        let writer = SerializedFileWriter::new(file, schema.clone(), properties(schema).into())?;
        Ok(Table { target: folder.join(format!("{number:06}.parquet")), writer })
    }
}

/// Numbers that hardly repeat are written as they are, all else as numbers of a dictionary.
fn properties(schema: &TypePtr) -> WriterProperties {
    /// Any dictionary fits: readers count on one.
    const DICTIONARY_MAX: usize = 256 << 20;
    let properties = WriterProperties::builder()
        .set_created_by(format!("cpudyno {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::SNAPPY)
        .set_dictionary_page_size_limit(DICTIONARY_MAX)
        .set_data_page_row_count_limit(1 << 18)
        .set_statistics_enabled(EnabledStatistics::Chunk);
    let is_number = |it: &&TypePtr| matches!(it.get_physical_type(), Type::DOUBLE | Type::FLOAT);
    let numbers = schema.get_fields().iter().filter(is_number);
    let plain = |all: WriterPropertiesBuilder, number: &TypePtr| {
        let column = ColumnPath::from(number.name());
        all.set_column_dictionary_enabled(column.clone(), false)
            .set_column_compression(column, Compression::UNCOMPRESSED)
    };
    numbers.fold(properties, plain).build()
}

/// Opens the file that is locked, or makes it; where it is a link to another one, neither.
fn lock_file(path: &Path) -> io::Result<File> {
    if path.symlink_metadata().is_ok_and(|it| !it.is_file()) {
        return Err(io::Error::other("`.lock` is no file"));
    }
    File::options().read(true).write(true).create(true).truncate(false).open(path)
}

/// Removes what an interrupted packing left, which nobody reads: files that only a pack calls so, in its own folders.
fn remove_leftovers(folder: &Path) -> io::Result<()> {
    for table in [RESULTS, FACTS] {
        for month in entries(&folder.join(table))? {
            let month_name = month.file_name().unwrap_or_default();
            if !month_name.as_encoded_bytes().starts_with(MONTH.as_bytes()) {
                continue;
            }
            for file in entries(&month)? {
                let name = file.file_name().unwrap_or_default();
                let is_temporary = name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes());
                let is_alone =
                    is_numbered(&file) && !folder.join(FACTS).join(month_name).join(name).exists();
                if is_temporary || is_alone {
                    fs::remove_file(&file)?;
                }
            }
        }
    }
    Ok(())
}

/// Whether a file is called as packs call theirs.
fn is_numbered(file: &Path) -> bool {
    let stem = file.file_stem().unwrap_or_default().as_encoded_bytes();
    let is_number = stem.len() >= 6 && stem.iter().all(u8::is_ascii_digit);
    is_number && file.extension().is_some_and(|end| end == "parquet")
}

/// What is in a folder; nothing where there is none, or where a link leads to one.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if !folder.symlink_metadata().is_ok_and(|it| it.is_dir()) {
        return Ok(Vec::new());
    }
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

type Error = Box<dyn std::error::Error>;

fn unwritten(file: &Path, why: impl Into<Error>) -> PackError {
    PackError::Write { file: file.to_owned(), why: why.into().to_string() }
}

fn failed(file: &Path, error: &io::Error) -> PackError {
    unwritten(file, error.to_string())
}
