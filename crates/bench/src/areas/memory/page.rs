//! The page of `cpudyno memory`, a pure function of the record (invariant I2).

use model::page::Page;
use model::record::Record;

/// What was asked of memory.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let _ = verbosity;
    Page { blocks: super::beside::section(record) }
}
