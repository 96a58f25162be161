//! Pauses, as people read them.

mod show;

pub use show::page;

use model::areas::pause::{AREA, PAUSE};

use super::Section;

/// What it says.
pub const SECTION: Section = Section {
    findings: show::findings,
    sentences: show::sentences,
    bands: show::bands,
    figures: show::figures,
    ..Section::of(AREA, show::section)
};
