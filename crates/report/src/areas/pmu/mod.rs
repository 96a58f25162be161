//! Counters of the core, as people read them.

mod show;

use model::areas::pmu::{AREA, CYCLES, INSTRUCTIONS, KNOWN_INSTRUCTIONS};

use super::Section;

/// What it says.
pub const SECTION: Section =
    Section { findings: show::findings, claims: show::claims, ..Section::of(AREA, show::section) };
