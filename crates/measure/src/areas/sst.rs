//! Intel Speed Select: what the firmware offers, in the data sheet of machines that have it.
//!
//! It measures nothing and asks for no time. Where there is none, nothing is said.

use model::areas::sst::AREA;

use crate::run::area::{Area, Needs};
use crate::run::plan::Proposal;

/// The area.
pub static SST: Area = Area {
    needs: Needs { speed_select: Some(&[]), ..Needs::NONE },
    ..Area::new(AREA, &[], 0.0, |_| Proposal::default())
};
