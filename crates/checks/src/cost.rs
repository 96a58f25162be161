//! What a difference costs, by the numbers of the record.

use model::record::Record;
use model::{Known, Obstacle, Unavailable};

use crate::expectation::numbers;
use crate::readings;
use crate::table::Check;

/// What the numbers of a record say of a cost; `None`: nothing.
type Cost = fn(&Record) -> Option<String>;

/// By the name that rows use.
#[rustfmt::skip]
const COSTS: &[(&str, Cost)] = &[
    ("clock_limit", clock_limit),
];

/// As measured in the record, where it was.
pub(crate) fn of(check: &Check, record: &Record) -> Known<String> {
    let name = check.cost.as_deref();
    let row = COSTS.iter().find(|(known, _)| Some(*known) == name);
    row.and_then(|(_, cost)| cost(record)).map_or_else(|| unknown(check), Known::Yes)
}

/// Not measured, and what would measure it.
pub(crate) fn unknown(check: &Check) -> Known<String> {
    let what = format!("cost of {}", check.id);
    let reason = Unavailable::new(Obstacle::Measurement, what, "it was not measured here");
    Known::No { unavailable: reason.with_remedy(check.measure.clone()) }
}

/// The share of the highest clock that a limit takes.
fn clock_limit(record: &Record) -> Option<String> {
    let largest = |id: &str| {
        let numbers = numbers(&readings::read(record, id).ok()?)?;
        numbers.into_iter().reduce(f64::max)
    };
    let (limit, highest) = (largest("cpufreq.limits")?, largest("cpu.max_frequency")?);
    let share = 1.0 - limit / highest;
    (share > 0.0).then(|| format!("{:.0} % of the highest clock", share * 100.0))
}
