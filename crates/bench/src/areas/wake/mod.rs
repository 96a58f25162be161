//! What waking a thread costs: by way of signalling, by how two CPUs lie to each other, and by how long
//! the sleeper rested.

mod claims;
mod findings;
mod idle;
mod list;
mod page;
mod pairs;
mod read;
mod request;
mod section;
mod shown;
mod signals;
mod timer;

pub use list::list;
pub use page::page;
pub use pairs::{Asked, Pair};
pub use request::{Options, Question};

use std::collections::BTreeMap;

use model::page::{Block, Text};
use model::record::Record;
use model::{Finding, Obstacle, Unavailable, Unit};

use super::Area;
use crate::rig::collect::Quantity;
use crate::rig::executor::RunError;
use crate::rig::reduce::Readings;
use crate::run::plan::{Planning, Run, Wishes};
use crate::sheet::claims::Claim;

/// The area.
pub struct Wake;

const AREA: &str = "wake";

/// What a number was measured for: this parameter, and its values.
const QUESTION: &str = "question";
const SIGNALS: &str = "signals";
const IDLE: &str = "idle";
const TIMER: &str = "timer";

/// How the two CPUs lie to each other.
const PAIR: &str = "pair";
/// Microseconds that the sleeper rested.
const REST: &str = "rest_us";
/// Microseconds that idle states may take to be left, where that was limited.
const LIMIT: &str = "limit_us";
/// The number of the idle state that was left.
const STATE: &str = "state";
/// How far alarms were away.
const DISTANCE: &str = "distance";

const fn row(id: &'static str, label: &'static str, unit: Unit, doc: &'static str) -> Quantity {
    let better = match unit {
        Unit::Second => "lower is better",
        _ => "",
    };
    Quantity { packing: 5e-4, ..Quantity::named(id, label, unit, better, doc) }
}

static QUANTITIES: &[Quantity] = &[
    row(
        "time_per_signal",
        "time per signal",
        Unit::Second,
        "Half of a round trip, the mean over each stretch of signals there and back without a stamp \
         between them.",
    ),
    row(
        "round_trip",
        "round trip",
        Unit::Second,
        "From a signal until its answer is there. Of threads that signal each other, both ways by the \
         same method; of a sleeper that rested, the answer is a cache line that is polled.",
    ),
    row(
        "one_way",
        "one way",
        Unit::Second,
        "From right before the signal until the other thread goes on, by the clocks of both CPUs, where \
         these were seen to agree; only of ways of 1 us and more.",
    ),
    row(
        "slept",
        "waits that slept",
        Unit::One,
        "Times that the kernel took a waiting thread off its CPU (voluntary switches), per wait.",
    ),
    row(
        "clock_offset_low",
        "clock ahead, at least",
        Unit::Second,
        "How far the second CPU's clock is ahead of the first one's at least: the latest time at which \
         its stamp was behind the return of a cache line.",
    ),
    row(
        "clock_offset_high",
        "clock ahead, at most",
        Unit::Second,
        "The same at most: the earliest time at which its stamp was after a cache line was sent.",
    ),
    row(
        "ambiguous",
        "wake-ups without one state",
        Unit::One,
        "The share of wake-ups between which the sleeper's CPU left no idle state or several.",
    ),
    row(
        "entries",
        "entries per wake-up",
        Unit::One,
        "How often the sleeper's CPU left this idle state, per wake-up, by the kernel's count.",
    ),
    row(
        "residence",
        "time in the state",
        Unit::Second,
        "How long it was in that state each time, by the kernel's count.",
    ),
    row(
        "lateness",
        "lateness",
        Unit::Second,
        "How much later than the time that it asked for a thread runs again; with a timer slack of 1 ns.",
    ),
];

impl Area for Wake {
    fn id(&self) -> &'static str {
        AREA
    }

    fn title(&self) -> &'static str {
        "Wake-ups"
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

    fn apart(&self, parameters: &BTreeMap<String, String>) -> Option<String> {
        let of = |name: &str| parameters.get(name).map(String::as_str);
        Some(match (of(REST), of(LIMIT), of(PAIR)) {
            (Some(rest), None, _) => format!("after a rest of {rest} us"),
            (Some(rest), Some(limit), _) => {
                format!("after a rest of {rest} us, limited to {limit} us,")
            }
            (None, _, pair) => pair?.to_owned(),
        })
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

    fn claims(&self, record: &Record) -> Vec<Claim> {
        claims::claims(record)
    }

    fn section(&self, record: &Record) -> Vec<Block> {
        section::section(record)
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
