//! Datatypes: what cores multiply and add, of what their units could.

mod rates;
mod roofline;
mod shown;

use model::areas::datatypes::AREA;

use super::Section;
pub use roofline::{plot, rooflines, sentence};
pub(super) use shown::blocks;

/// What it says.
pub const SECTION: Section = Section { sentences: shown::sentences, ..Section::of(AREA, blocks) };
