//! From core to core, as people read it.

mod page;
mod show;

pub use page::page;

use model::areas::cores::AREA;

use super::Section;

/// What it says.
pub const SECTION: Section = Section {
    findings: show::findings,
    sentences: show::sentences,
    claims: show::claims,
    figures: show::figures,
    ..Section::of(AREA, show::section)
};
