//! Counters of the core, as people read them.

mod show;

use model::Finding;
use model::areas::pmu::{AREA, CYCLES, INSTRUCTIONS};
use model::page::{Block, Text};
use model::record::Record;

use super::Section;

/// The area.
pub struct Pmu;

impl Section for Pmu {
    fn id(&self) -> &'static str {
        AREA
    }

    fn findings(&self, record: &Record) -> Vec<Finding> {
        show::findings(record)
    }

    fn sentences(&self, _: &Record) -> Vec<Text> {
        Vec::new()
    }

    fn section(&self, record: &Record) -> Vec<Block> {
        show::section(record)
    }
}
