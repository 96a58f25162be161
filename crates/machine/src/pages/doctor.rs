//! What can be measured here, what not, why, and what helps.

use model::page::{Block, Page};
use model::record::Record;

/// The capabilities of the machine. A verbosity of 1 and more adds how each was found out.
pub fn doctor(record: &Record, verbosity: u8) -> Page {
    let _ = verbosity;
    let subtitle = format!("{} {}", record.tool.name, record.tool.version);
    Page { blocks: vec![Block::Title { text: "Doctor".to_owned(), subtitle }] }
}
