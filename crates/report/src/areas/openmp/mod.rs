//! Parallel regions, as people read them.

mod findings;
mod page;
mod read;
mod section;

pub use page::page;

use model::Finding;
use model::areas::openmp::AREA;
use model::page::{Block, Text};
use model::record::Record;

use super::Section;

/// The area.
pub struct Openmp;

impl Section for Openmp {
    fn id(&self) -> &'static str {
        AREA
    }

    fn findings(&self, record: &Record) -> Vec<Finding> {
        findings::of(record)
    }

    fn sentences(&self, record: &Record) -> Vec<Text> {
        section::sentences(record)
    }

    fn section(&self, record: &Record) -> Vec<Block> {
        section::section(record)
    }
}
