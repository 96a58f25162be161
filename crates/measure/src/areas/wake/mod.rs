//! What waking a thread costs: by way of signalling, by how two CPUs lie to each other, and by how long
//! the sleeper rested.

mod idle;
mod pairs;
mod request;
mod signals;
mod timer;

pub use pairs::{CpuPair, PairSpec};
pub use request::{Question, WakeOptions};

use std::io;

use model::areas::Quantity;
use model::areas::wake::{
    AREA, DISTANCE, IDLE, LIMIT, PAIR, QUANTITIES, QUESTION, REST, SIGNALS, STATE, TIMER,
};
use model::{CpuId, Obstacle, Unavailable};

use crate::run::area::{Area, Names};
use crate::run::plan::{JobTarget, Planning, Proposal, Run};
use rig::exchange::Channel;
use rig::executor::RunError;
use rig::line::Line;
use rig::reduce::Readings;
use rig::signals::Method;

/// The area.
pub static WAKE: Area = Area { offers, names, ..Area::new(AREA, QUANTITIES, 1.0, proposal) };

fn offers(workload: &str, quantity: &Quantity) -> bool {
    let is_timer = timer::WAYS.iter().any(|way| way.id == workload);
    quantity.id == if is_timer { "lateness" } else { "round_trip" }
}

fn names() -> Names {
    Names {
        workloads: rig::signals::TABLE.iter().map(|method| method.id).collect(),
        // What most programs sleep on.
        short: &[("latency", "futex", "time_per_signal")],
        ..Names::default()
    }
}

fn proposal(plan: &Planning<'_>) -> Proposal {
    request::in_brief(plan)
}

/// A method between two CPUs, as what a custom job measures.
fn aim(method: &Method, pair: CpuPair) -> JobTarget {
    JobTarget { order: method.order(), workload: method.id, cpus: pair.cpus() }
}

/// What a method signals through; the first CPU is who begins.
fn channel(method: &Method, first: CpuId) -> Result<Box<dyn Channel>, RunError> {
    (method.open)().or_else(|source| match source.kind() {
        // A model needs none, and this machine may lack what the simulated one has.
        io::ErrorKind::Unsupported => Ok(Box::new(Line::default()) as Box<dyn Channel>),
        _ => Err(RunError::Signal { method: method.id, cpu: first, source }),
    })
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
