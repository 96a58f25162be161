//! Wake-ups, as people read them.

mod claims;
mod findings;
mod page;
mod read;
mod section;
mod shown;

pub use page::page;

use model::Finding;
use model::areas::wake::{
    AREA, DISTANCE, IDLE, LIMIT, PAIR, QUESTION, REST, SIGNALS, STATE, TIMER,
};
use model::page::{Block, Text};
use model::record::Record;

use super::Section;
use crate::claim::Claim;

/// The area.
pub struct Wake;

impl Section for Wake {
    fn id(&self) -> &'static str {
        AREA
    }

    fn findings(&self, record: &Record) -> Vec<Finding> {
        findings::of(record)
    }

    fn sentences(&self, record: &Record) -> Vec<Text> {
        section::sentences(record)
    }

    fn claims(&self, record: &Record) -> Vec<Claim> {
        claims::claims(record)
    }

    fn section(&self, record: &Record) -> Vec<Block> {
        section::section(record)
    }
}
