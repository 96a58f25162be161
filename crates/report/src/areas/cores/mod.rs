//! From core to core, as people read it.

mod page;
mod show;

pub use page::page;

use model::Finding;
use model::areas::cores::AREA;
use model::page::{Block, Text};
use model::record::Record;

use super::Section;
use crate::claim::Claim;

/// The area.
pub struct Cores;

impl Section for Cores {
    fn id(&self) -> &'static str {
        AREA
    }

    fn findings(&self, record: &Record) -> Vec<Finding> {
        show::findings(record)
    }

    fn sentences(&self, record: &Record) -> Vec<Text> {
        show::sentences(record)
    }

    fn claims(&self, record: &Record) -> Vec<Claim> {
        show::claims(record)
    }

    fn section(&self, record: &Record) -> Vec<Block> {
        show::section(record)
    }
}
