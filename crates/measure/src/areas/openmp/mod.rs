//! What parallel regions cost, with each OpenMP runtime that is installed and each way of waiting.
//!
//! Threads without work spin or sleep. Who spins is there at once and keeps a core busy; who sleeps has
//! to be woken. Which of the two happens is a setting of the runtime, and this is what it costs.

mod found;
mod request;

pub(crate) use request::of_teams;
pub(super) use request::to_advise;
pub use request::{OpenmpOptions, names};

use model::areas::Quantity;
pub(super) use model::areas::openmp::AREA;
use model::areas::openmp::QUANTITIES;

use crate::run::area::{Area, Names};
use crate::run::plan::{Planning, Proposal};

/// The area.
// A child takes a fifth of a second, where others have cells of milliseconds.
pub static OPENMP: Area =
    Area { offers, names: bounded, ..Area::new(AREA, QUANTITIES, 2.0, proposal) };

fn offers(_workload: &str, quantity: &Quantity) -> bool {
    quantity.id == "loop_time"
}

fn bounded() -> Names {
    Names { workloads: vec!["libgomp", "libomp", "libiomp5"], ..Names::default() }
}

fn proposal(plan: &Planning<'_>) -> Proposal {
    request::in_brief(plan)
}
