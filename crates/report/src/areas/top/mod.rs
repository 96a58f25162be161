//! What CPUs did while others used them, as people read it.

mod page;

pub use page::{PLACES, beginning, end, interval, page};

use model::areas::top::{AREA, COLUMN, GROUP, HIDDEN, INTERVAL, SORT, SOURCE};

use super::Section;

/// What it says.
pub const SECTION: Section = Section::of(AREA, page::section);
