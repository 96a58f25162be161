//! Wake-ups, as people read them.

mod claims;
mod findings;
mod page;
mod read;
mod section;
mod shown;

pub use page::page;

use std::collections::BTreeMap;

use model::Finding;
use model::areas::wake::{
    AREA, DISTANCE, IDLE, LIMIT, PAIR, QUESTION, REST, SIGNALS, STATE, TIMER,
};
use model::page::{Block, Text};
use model::record::Record;

use super::Section;
use crate::sheet::claims::Claim;

/// The area.
pub struct Wake;

impl Section for Wake {
    fn id(&self) -> &'static str {
        AREA
    }

    fn apart(&self, parameters: &BTreeMap<String, String>) -> Option<String> {
        let of = |name: &str| parameters.get(name).map(String::as_str);
        Some(match (of(REST), of(LIMIT), of(PAIR)) {
            (Some(rest), None, _) => format!("after a rest of {rest} us"),
            (Some(rest), Some(limit), _) => {
                format!("after a rest of {rest} us, limited to {limit} us,")
            }
            (None, _, pair) => pair?.to_owned(),
        })
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
