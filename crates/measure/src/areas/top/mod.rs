//! What the CPUs do while others use them: busy time, clock, idle states, power, temperature.
//!
//! It runs no workload. [`Watch`] turns looks at [`machine::activity`] into series, one block an
//! interval; `cpudyno top` shows each interval as it ends, and the sheet what went on during its run.

mod watch;

use model::areas::Quantity;
pub use model::areas::top::AREA;
use model::areas::top::QUANTITIES;
pub(super) use model::areas::top::{COLUMN, HIDDEN, INTERVAL, WORKLOAD};

use crate::run::area::{Area, Needs};
use crate::run::plan::{Planning, Wishes};
pub use watch::{NOTE, Watch};

/// The area.
pub struct Top;

impl Area for Top {
    fn id(&self) -> &'static str {
        AREA
    }

    fn weight(&self) -> f64 {
        0.0
    }

    fn quantities(&self) -> &'static [Quantity] {
        QUANTITIES
    }

    fn needs(&self) -> Needs {
        Needs { activity: Some(watch::over), ..Needs::default() }
    }

    /// It is read around the whole run, and asks for no time of its own.
    fn wishes(&self, _: &Planning<'_>) -> Wishes {
        Wishes::default()
    }
}
