//! Pauses, as people read them.

mod show;

pub use show::page;

use model::Finding;
use model::areas::pause::{AREA, PAUSE};
use model::page::{Block, Text};
use model::record::Record;

use super::Section;
use crate::band::Band;

/// The area.
pub struct Pause;

impl Section for Pause {
    fn id(&self) -> &'static str {
        AREA
    }

    fn findings(&self, record: &Record) -> Vec<Finding> {
        show::findings(record)
    }

    fn sentences(&self, record: &Record) -> Vec<Text> {
        show::sentences(record)
    }

    fn bands(&self, record: &Record) -> Vec<Band> {
        show::bands(record)
    }

    fn section(&self, record: &Record) -> Vec<Block> {
        show::section(record)
    }
}
