//! What firmware offers, in the data sheet of machines that have it.

use model::Finding;
use model::areas::sst::AREA;
use model::page::{Block, Text};
use model::record::Record;

use super::Section;

/// The area.
pub struct Sst;

impl Section for Sst {
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
        crate::speed_select::section(record)
    }
}
