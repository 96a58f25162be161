//! What CPUs did while others used them, as people read it.

mod page;

pub use page::{PLACES, beginning, end, interval, page};

use model::Finding;
use model::areas::top::{AREA, COLUMN, HIDDEN, INTERVAL};
use model::page::{Block, Text};
use model::record::Record;

use super::Section;

/// The area.
pub struct Top;

impl Section for Top {
    fn id(&self) -> &'static str {
        AREA
    }

    fn findings(&self, _: &Record) -> Vec<Finding> {
        Vec::new()
    }

    fn sentences(&self, _: &Record) -> Vec<Text> {
        Vec::new()
    }

    fn section(&self, record: &Record) -> Vec<Block> {
        page::section(record)
    }
}
