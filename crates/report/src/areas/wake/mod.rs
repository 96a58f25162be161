//! Wake-ups, as people read them.

mod claims;
mod deep_sleep;
mod figures;
mod findings;
mod page;
mod read;
mod section;
mod shown;

pub use page::page;

use model::areas::wake::{
    AREA, DISTANCE, IDLE, LIMIT, PAIR, QUESTION, REST, SIGNALS, STATE, TIMER,
};

use super::Section;

/// What it says.
pub const SECTION: Section = Section {
    findings: findings::of,
    sentences: section::sentences,
    claims: claims::claims,
    figures: figures::figures,
    ..Section::of(AREA, section::section)
};
