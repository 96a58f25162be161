//! Records of many machines, held against each other.
//!
//! ```no_run
//! let fleet = cpudyno::fleet::read("records")?;
//! for group in &fleet.survey().suspects {
//!     println!("{group:?}");
//! }
//! # Ok::<(), cpudyno::Error>(())
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub use ::fleet::compare::{Comparison, Named};
pub use ::fleet::survey::Survey;
use ::fleet::survey::{self, Host, Rows};
use ::fleet::threads::each_with;
use model::record::{Digest, PageKind, Presentation, Record};
use views::text::Layout;

use crate::{Error, record};

/// What is known of a fleet.
#[derive(Debug, Clone)]
pub struct Fleet {
    /// The newest record of each machine, by its name: that of its file, up to `_` and a time.
    pub machines: BTreeMap<String, Digest>,
    /// Files that hold no record of measurements, and why.
    pub left_out: Vec<(PathBuf, String)>,
}

/// Reads the records of a folder: its files that end in `.json` or `.html`.
///
/// # Errors
/// Where the folder cannot be read.
pub fn read(folder: impl AsRef<Path>) -> Result<Fleet, Error> {
    let folder = folder.as_ref();
    let files = files(folder).map_err(|error| {
        let why = sys::errno::words(&error);
        Error::File { verb: "read", path: folder.to_owned(), why }
    })?;
    let digests = each_with(files.len(), || (), |place, ()| digest(&files[place]));
    let mut fleet = Fleet { machines: BTreeMap::new(), left_out: Vec::new() };
    for (file, digest) in files.into_iter().zip(digests) {
        match digest {
            Ok(digest) if digest.results.is_empty() => {
                fleet.left_out.push((file, "it holds no results".to_owned()));
            }
            Ok(digest) => fleet.add(host_name(&file), digest),
            Err(error) => fleet.left_out.push((file, error.to_string())),
        }
    }
    Ok(fleet)
}

impl Fleet {
    /// Keeps the newer of two runs of a machine.
    fn add(&mut self, host: String, digest: Digest) {
        let is_newer = |known: &Digest| digest.run.started > known.run.started;
        if self.machines.get(&host).is_none_or(is_newer) {
            self.machines.insert(host, digest);
        }
    }

    /// Kinds of machines, what is usual of each, and which machines are not.
    pub fn survey(&self) -> Survey {
        let rows = Rows::default();
        let row = |(host, digest): (&String, &Digest)| rows.row_of(host, host, digest);
        let mut hosts: Vec<Host> = self.machines.iter().filter_map(row).collect();
        let names = rows.names_in_order(&mut hosts);
        survey::survey(&hosts, &names)
    }

    /// The survey as the command prints it.
    pub fn text(&self) -> String {
        let page = survey::page(&self.survey(), 0).top().without_notes();
        let Presentation { width, colour, .. } = Presentation::of(PageKind::Sheet);
        views::text::render(&page, Layout { width, colour })
    }
}

/// Two records or more side by side: what differs, and whether it is more than noise.
pub fn compare<'a>(records: impl IntoIterator<Item = (&'a str, &'a Record)>) -> Comparison {
    let named = |(name, record): (&str, &Record)| Named {
        name: name.to_owned(),
        digest: ::fleet::digest::at_hand(record).into_owned(),
    };
    let records: Vec<Named> = records.into_iter().map(named).collect();
    ::fleet::compare::compare(&records)
}

/// A comparison as the command prints it.
pub fn comparison_text(comparison: &Comparison) -> String {
    let page = ::fleet::compare::page(comparison, 0).top().without_notes();
    let Presentation { width, colour, .. } = Presentation::of(PageKind::Sheet);
    views::text::render(&page, Layout { width, colour })
}

/// What stands at the beginning of a record, or is made of it.
fn digest(file: &Path) -> Result<Digest, Error> {
    Ok(::fleet::digest::at_hand(&record::open(file)?).into_owned())
}

/// The files of a folder that are to be read as records, in order.
#[doc(hidden)]
pub fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files: Vec<PathBuf> = entries.collect::<Result<_, _>>()?;
    files.retain(|file| is_record(file));
    files.sort();
    Ok(files)
}

/// Whether a file of a folder is to be read as a record.
fn is_record(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().as_encoded_bytes();
    let ends = file.extension().is_some_and(|end| end == "json" || end == "html");
    ends && !name.starts_with(b".") && file.is_file()
}

/// The machine that a record is of: the name of its file, up to `_` and a time.
#[doc(hidden)]
pub fn host_name(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    // As in 20261128T101112Z, or a date alone.
    let is_time = |text: &str| {
        let (date, time) = text.split_at_checked(8).unwrap_or((text, ""));
        let is_date = date.len() == 8 && date.bytes().all(|it| it.is_ascii_digit());
        is_date && (time.is_empty() || time.starts_with('T'))
    };
    match stem.rsplit_once('_') {
        Some((host, time)) if is_time(time) => host.to_owned(),
        _ => stem.into_owned(),
    }
}
