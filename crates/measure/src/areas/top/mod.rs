//! What the CPUs do while others use them: busy time, clock, idle states, power, temperature.
//!
//! It runs no workload. [`Watch`] turns looks at [`machine::activity`] into series, one block an
//! interval; `cpudyno top` shows each interval as it ends, and the sheet what went on during its run.

mod beside;
mod watch;

pub use beside::{AddedColumn, HEADERS as COUNTERS};
use model::areas::top::QUANTITIES;
pub use model::areas::top::{AREA, GROUPS};
pub(super) use model::areas::top::{COLUMN, GROUP, HIDDEN, INTERVAL, SORT, SOURCE, WORKLOAD};

use crate::run::area::{Area, Needs};
use crate::run::plan::Proposal;
pub use watch::{NOTE, RowOrder, Watch, Watched};

/// The area: it is read around the whole run, and asks for no time of its own.
pub static TOP: Area = Area {
    needs: Needs { activity: Some(watch::over), ..Needs::NONE },
    ..Area::new(AREA, QUANTITIES, 0.0, |_| Proposal::default())
};
