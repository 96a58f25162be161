//! What moves between cores, caches and memory: how much a second, and how long one pointer takes.

mod beside;
mod cells;
mod questions;
mod request;
mod size;

pub use beside::{Extent, extent, kept, planned};
pub use request::{MemoryOptions, Question};
pub use size::Length;

use kernels::memory::{MemoryKernel, find};
use model::areas::Quantity;
pub(super) use model::areas::memory::{ALONE, CHASE, TEAMS};
use model::areas::memory::{AREA, QUANTITIES};

use model::{CpuId, Obstacle, Unavailable};

use crate::run::Error;
use crate::run::area::{Area, Names};
use crate::run::plan::{Planning, Proposal};
use rig::collect::{Take, Taken};

/// The kernels of STREAM, in its order.
pub fn classic() -> Vec<&'static MemoryKernel> {
    ["copy", "scale", "add", "triad"].into_iter().filter_map(find).collect()
}

/// The area.
pub static MEMORY: Area =
    Area { taken, offers, names, ..Area::new(AREA, QUANTITIES, 3.0, proposal) };

fn taken(quantity: &str) -> Taken {
    match quantity {
        "bandwidth" => Taken::by(Take::MemorySamples(|haul| &haul.bandwidth)),
        "latency" => Taken::by(Take::MemorySamples(|haul| &haul.latency)),
        "latency_cycles" => Taken::by(Take::MemorySamples(|haul| &haul.cycles)),
        "background" => Taken::by(Take::MemorySamples(|haul| &haul.background)),
        "skew" => Taken::by(Take::MemorySamples(|haul| &haul.skew)),
        "measured_read" => Taken::by(Take::Counted(|counted| &counted.read)),
        "measured_write" => Taken::by(Take::Counted(|counted| &counted.written)),
        "measured_beyond" => Taken::by(Take::Counted(|counted| &counted.beyond)),
        "measured_read_per_asked" => Taken::by(Take::Counted(|counted| &counted.read_per_asked)),
        "measured_write_per_asked" => {
            Taken::by(Take::Counted(|counted| &counted.written_per_asked))
        }
        "measured_left_out" => Taken::by(Take::MemorySamples(|haul| &haul.uncounted)),
        "answer_error" => Taken::by(Take::MemorySamples(|haul| &haul.error)),
        _ => Taken::NAMED,
    }
}

fn offers(workload: &str, quantity: &Quantity) -> bool {
    quantity.id == if workload == CHASE { "latency" } else { "bandwidth" }
}

fn names() -> Names {
    let kernels = kernels::memory::TABLE.iter().map(|kernel| kernel.id);
    Names {
        workloads: kernels.chain([CHASE]).collect(),
        meant: &[(CHASE, "latency")],
        ..Names::default()
    }
}

fn proposal(plan: &Planning<'_>) -> Proposal {
    request::in_brief(plan)
}

/// What a roofline asks.
pub(super) fn under_roof(plan: &Planning<'_>) -> Proposal {
    request::under_roof(plan)
}

/// How much these teams of threads move, each with one kernel.
pub(crate) fn of_teams(plan: &Planning<'_>, teams: &[Vec<CpuId>]) -> Proposal {
    let options = MemoryOptions::about(Question::Scaling);
    let asked = options.scope(plan, 1.0).and_then(|scope| scope.of_teams(teams));
    match asked {
        Ok(mut proposal) => {
            cells::asked(&mut proposal.cells, Question::Scaling.word());
            proposal
        }
        Err(Error::Unavailable(reason) | Error::Asked(reason)) => Proposal::without(TEAMS, reason),
        Err(other) => {
            let why = other.to_string();
            Proposal::without(TEAMS, Unavailable::new(Obstacle::Measurement, TEAMS, why))
        }
    }
}

/// What the key of a machine asks.
pub(crate) fn in_key(plan: &Planning<'_>) -> Proposal {
    request::in_key(plan)
}
