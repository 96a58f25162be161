//! Intel Speed Select: what the firmware offers, in the data sheet of machines that have it.
//!
//! It measures nothing and asks for no time. Where there is none, nothing is said.

use model::areas::Quantity;
use model::areas::sst::AREA;

use crate::run::area::{Area, Needs};
use crate::run::plan::{Planning, Wishes};

/// The area.
pub struct Sst;

impl Area for Sst {
    fn id(&self) -> &'static str {
        AREA
    }

    fn weight(&self) -> f64 {
        0.0
    }

    fn quantities(&self) -> &'static [Quantity] {
        &[]
    }

    fn needs(&self) -> Needs {
        Needs { speed_select: Some(&[]), ..Needs::default() }
    }

    fn wishes(&self, _: &Planning<'_>) -> Wishes {
        Wishes::default()
    }
}
