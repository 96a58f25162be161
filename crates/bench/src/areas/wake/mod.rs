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

use model::areas::Quantity;
use model::areas::wake::{
    AREA, DISTANCE, IDLE, LIMIT, PAIR, QUANTITIES, QUESTION, REST, SIGNALS, STATE, TIMER,
};
use model::page::{Block, Text};
use model::record::Record;
use model::{Finding, Obstacle, Unavailable};

use super::Area;
use crate::rig::executor::RunError;
use crate::rig::reduce::Readings;
use crate::run::plan::{Planning, Run, Wishes};
use crate::sheet::claims::Claim;

/// The area.
pub struct Wake;

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
