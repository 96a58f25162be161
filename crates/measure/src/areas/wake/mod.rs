//! What waking a thread costs: by way of signalling, by how two CPUs lie to each other, and by how long
//! the sleeper rested.

mod idle;
mod list;
mod pairs;
mod request;
mod signals;
mod timer;

pub use list::list;
pub use pairs::{CpuPair, PairSpec};
pub use request::{Question, WakeOptions};

use model::areas::Quantity;
use model::areas::wake::{
    AREA, DISTANCE, IDLE, LIMIT, PAIR, QUANTITIES, QUESTION, REST, SIGNALS, STATE, TIMER,
};
use model::{Obstacle, Unavailable};

use crate::run::area::{Area, Names};
use crate::run::plan::{Planning, Run, Wishes};
use rig::executor::RunError;
use rig::reduce::Readings;

/// The area.
pub struct Wake;

impl Area for Wake {
    fn id(&self) -> &'static str {
        AREA
    }

    fn weight(&self) -> f64 {
        1.0
    }

    fn quantities(&self) -> &'static [Quantity] {
        QUANTITIES
    }

    fn offers(&self, workload: &str, quantity: &Quantity) -> bool {
        let is_timer = timer::WAYS.iter().any(|way| way.id == workload);
        quantity.id == if is_timer { "lateness" } else { "round_trip" }
    }

    fn names(&self) -> Names {
        Names {
            workloads: rig::signals::TABLE.iter().map(|method| method.id).collect(),
            // What most programs sleep on.
            short: &[("latency", "futex", "time_per_signal")],
            ..Names::default()
        }
    }

    fn wishes(&self, plan: &Planning<'_>) -> Wishes {
        request::in_brief(plan)
    }
}

/// A method that the kernel refuses is a reason and ends no run.
fn or_reason(run: Result<Run, RunError>, ids: &[&'static str]) -> Result<Run, RunError> {
    match run {
        Err(error @ RunError::Signal { .. }) => {
            let reason = Unavailable::new(Obstacle::Permission, "signals", error.to_string());
            let readings: Readings = ids.iter().map(|id| (*id, Err(reason.clone()))).collect();
            Ok(Run { readings, ..Run::default() })
        }
        other => other,
    }
}
