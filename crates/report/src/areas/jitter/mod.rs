//! What interrupts busy CPUs, as people read it.

mod show;

pub use show::page;

use model::areas::jitter::AREA;

use super::Section;

/// What it says.
pub const SECTION: Section = Section {
    findings: show::findings,
    sentences: show::sentences,
    ..Section::of(AREA, show::section)
};
