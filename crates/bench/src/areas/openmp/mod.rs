//! What parallel regions cost, with each OpenMP runtime that is installed and each way of waiting.
//!
//! Threads without work spin or sleep. Who spins is there at once and keeps a core busy; who sleeps has
//! to be woken. Which of the two happens is a setting of the runtime, and this is what it costs.

mod findings;
mod found;
mod page;
mod read;
mod request;
mod section;

pub use page::page;
pub(super) use request::to_advise;
pub use request::{Options, names};

use std::collections::BTreeMap;

use model::page::{Block, Text};
use model::record::Record;
use model::{Finding, Unit};

use super::Area;
use crate::rig::collect::Quantity;
use crate::run::plan::{Planning, Wishes};

/// The area.
pub struct Openmp;

pub(super) const AREA: &str = "openmp";

const fn row(id: &'static str, label: &'static str, unit: Unit, doc: &'static str) -> Quantity {
    Quantity::named(id, label, unit, "lower is better", doc)
}

static QUANTITIES: &[Quantity] = &[
    row(
        "loop_time",
        "time per region of the loop",
        Unit::Second,
        "One parallel region with a static loop in it, x = (10 x + 1) / 15 for each number of an \
         array, which all threads have the same code for.",
    ),
    Quantity {
        better: "",
        ..row(
            "loop_regions",
            "regions that were run",
            Unit::Count,
            "How many of them stand behind the times of one block.",
        )
    },
    row(
        "loop_busy",
        "cores busy during the loop",
        Unit::One,
        "CPU time of all threads against time; 1 is one core.",
    ),
    row(
        "region_cost",
        "cost of a region",
        Unit::Second,
        "Regions with a short delay in them, less the delay alone on one thread (EPCC's method).",
    ),
    row(
        "barrier_cost",
        "cost of a barrier",
        Unit::Second,
        "One region with delay and barrier n times against one with 2n times, less the delay.",
    ),
    row(
        "for_cost",
        "cost of a static loop",
        Unit::Second,
        "The same with a static loop that has a delay for each thread, and the barrier at its end.",
    ),
    row(
        "reduction_cost",
        "cost of a region with a reduction",
        Unit::Second,
        "Regions with a delay and a sum over all threads, less the delay.",
    ),
    row(
        "rest_busy",
        "cores busy while the first thread sleeps",
        Unit::One,
        "CPU time of all threads against time, right after a region; 1 is one core.",
    ),
    row(
        "small_time",
        "time of small regions",
        Unit::Second,
        "25 empty regions, each with 200 ms after it in which the first thread sleeps.",
    ),
    row(
        "small_busy",
        "cores busy meanwhile",
        Unit::One,
        "CPU time of all threads against time; 1 is one core.",
    ),
];

impl Area for Openmp {
    fn id(&self) -> &'static str {
        AREA
    }

    fn title(&self) -> &'static str {
        "OpenMP regions"
    }

    fn weight(&self) -> f64 {
        // A child takes a fifth of a second, where others have cells of milliseconds.
        2.0
    }

    fn quantities(&self) -> &'static [Quantity] {
        QUANTITIES
    }

    fn offers(&self, _workload: &str, quantity: &Quantity) -> bool {
        quantity.id == "loop_time"
    }

    fn apart(&self, parameters: &BTreeMap<String, String>) -> Option<String> {
        parameters.get("setting").cloned()
    }

    fn wishes(&self, plan: &Planning<'_>) -> Wishes {
        request::in_brief(plan)
    }

    fn findings(&self, record: &Record) -> Vec<Finding> {
        findings::of(record)
    }

    fn sentences(&self, record: &Record) -> Vec<Text> {
        section::sentences(record)
    }

    fn section(&self, record: &Record) -> Vec<Block> {
        section::section(record)
    }
}
