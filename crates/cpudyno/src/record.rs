//! Records: read, shown and written. Nothing here reads a machine.
//!
//! ```no_run
//! let record = cpudyno::record::open("run.json")?;
//! println!("{}", cpudyno::record::text(&record));
//! for row in cpudyno::record::rows(&record) {
//!     if let Ok(value) = row.value {
//!         println!("{} {} on {} CPUs: {value}", row.workload, row.quantity, row.cpus.len());
//!     }
//! }
//! # Ok::<(), cpudyno::Error>(())
//! ```

use std::fs;
use std::path::Path;

use model::page::Page;
pub use model::record::*;
use views::text::Layout;

use crate::Error;
pub use crate::value::{Row, Value};

/// The record of a text.
///
/// # Errors
/// Where it is none.
pub fn from_json(text: &str) -> Result<Record, Error> {
    model::record::read(text).map_err(|error| Error::NoRecord { why: error.to_string() })
}

/// The record in a file, or on a page that `--html` wrote.
///
/// # Errors
/// Where there is none.
pub fn open(path: impl AsRef<Path>) -> Result<Record, Error> {
    let path = path.as_ref();
    let unread = |why: String| Error::File { verb: "read", path: path.to_owned(), why };
    let bytes = fs::read(path).map_err(|error| unread(words(&error)))?;
    let text = views::html::unpacked(&bytes).map_err(|why| unread(why.to_string()))?;
    let record = views::html::attached(&text);
    model::record::read(record.as_deref().unwrap_or(&text))
        .map_err(|error| unread(error.to_string()))
}

/// Writes a record as JSON, or as its page where the name ends in `.html`. The file is whole, or is not changed.
///
/// # Errors
/// Where it cannot be written.
pub fn save(record: &Record, path: impl AsRef<Path>) -> Result<(), Error> {
    let path = path.as_ref();
    let is_page = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("html") || end.eq_ignore_ascii_case("htm"));
    let text = if is_page { html(record)? } else { json(record)? };
    crate::files::write(path, &text).map_err(|error| Error::File {
        verb: "write",
        path: path.to_owned(),
        why: words(&error),
    })
}

/// Every result, each of all its CPUs together, in the order of the record. Series of each CPU, with their samples,
/// stand in [`Record::series`].
pub fn rows(record: &Record) -> Vec<Row> {
    crate::value::rows(record)
}

/// What the command prints of it.
pub fn text(record: &Record) -> String {
    let Presentation { width, colour, .. } = record.run.presentation;
    let page = page(record, record.run.presentation).top().without_notes();
    views::text::render(&page, Layout { width, colour })
}

/// The same in Markdown.
pub fn markdown(record: &Record) -> String {
    views::markdown::render(&page(record, record.run.presentation).top().without_notes())
}

/// The whole page with plots, as one file that holds the record, too.
///
/// # Errors
/// Where JSON cannot say what the record holds.
pub fn html(record: &Record) -> Result<String, Error> {
    Ok(views::html::render(|| page(record, record.run.presentation), Some(record))?)
}

/// The record itself.
///
/// # Errors
/// Where JSON cannot say it.
pub fn json(record: &Record) -> Result<String, Error> {
    Ok(views::json::render(record)?)
}

/// Every sample, a line each.
///
/// # Errors
/// Where CSV cannot say it.
pub fn csv(record: &Record) -> Result<String, Error> {
    Ok(views::csv::render(record)?)
}

/// The page of a record, as it was asked for.
pub fn page(record: &Record, presentation: Presentation) -> Page {
    let Presentation { page, verbosity, width, .. } = presentation;
    match page {
        PageKind::Sheet => report::sheet::page(record, verbosity),
        PageKind::Turbo => report::areas::turbo::page(record, verbosity, width),
        PageKind::Memory => report::areas::memory::page(record, verbosity),
        PageKind::Cores => report::areas::cores::page(record, verbosity),
        PageKind::Pause => report::areas::pause::page(record, verbosity),
        PageKind::Wake => report::areas::wake::page(record, verbosity),
        PageKind::Jitter => report::areas::jitter::page(record, verbosity),
        PageKind::Openmp => report::areas::openmp::page(record, verbosity),
        PageKind::Wait => report::areas::wait::page(record, verbosity),
        PageKind::Threads => advice::threads::page(record, verbosity),
        PageKind::Settings => report::settings::settings(record, verbosity),
        PageKind::Ab => advice::ab::page(record, verbosity),
        PageKind::Sweep => advice::sweep::page(record, verbosity),
        PageKind::Verify => advice::verify::page(record, verbosity),
        PageKind::Quiet => advice::quiet::page(record, verbosity),
        PageKind::Gate => fleet::gate::page(record, verbosity),
        PageKind::Key => fleet::key::page::page(record, verbosity),
        PageKind::Top => report::areas::top::page(record, verbosity),
        PageKind::Changes => report::settings::changes(record),
        PageKind::Pmu => advice::counts::page(record, verbosity),
        PageKind::Sst => report::speed_select::page(record, verbosity),
        PageKind::Info => report::info(record, verbosity),
        PageKind::Doctor => report::doctor(record, verbosity),
    }
}

/// An error of the system without its number.
fn words(error: &std::io::Error) -> String {
    sys::errno::words(error)
}
