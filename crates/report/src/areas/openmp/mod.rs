//! Parallel regions, as people read them.

mod figures;
mod findings;
mod page;
mod read;
mod section;

pub use page::page;

use model::areas::openmp::AREA;

use super::Section;

/// What it says.
pub const SECTION: Section = Section {
    findings: findings::of,
    sentences: section::sentences,
    figures: figures::figures,
    ..Section::of(AREA, section::section)
};
