//! What firmware offers, in the data sheet of machines that have it.

use model::areas::sst::AREA;

use super::Section;

/// What it says.
pub const SECTION: Section = Section::of(AREA, crate::speed_select::section);
