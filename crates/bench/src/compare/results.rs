//! The results of a record: the quantities that a machine is judged by, of all that is measured.

use std::collections::BTreeMap;

use model::Unit;
use model::record::{Outcome, Record, Series};
use model::stats::paired::Better;
use model::stats::{median, median_interval};

use super::{Value, What};
use crate::areas;
use crate::areas::turbo::read::{shown_class, together};

/// What a record knows of a result.
#[derive(Debug, Clone)]
pub(super) enum Found {
    Is(Measured),
    /// It was to be measured, and was not.
    Absent(String),
}

/// A result.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    pub(super) unit: Unit,
    pub(super) better: Option<Better>,
    pub(super) value: Value,
}

/// A quantity that machines are judged by.
struct Judged {
    area: &'static str,
    quantity: &'static str,
    better: Option<Better>,
}

const fn more(area: &'static str, quantity: &'static str) -> Judged {
    Judged { area, quantity, better: Some(Better::More) }
}

const fn less(area: &'static str, quantity: &'static str) -> Judged {
    Judged { area, quantity, better: Some(Better::Less) }
}

/// What is compared. The rest is evidence: how well something was measured, or what came of it beside.
const JUDGED: &[Judged] = &[
    more("turbo", "clock"),
    less("turbo", "cycles_per_op"),
    more("memory", "bandwidth"),
    less("memory", "latency"),
    less("cores", "latency"),
    // Programs rely on short ones as well as on long ones.
    Judged { area: "pause", quantity: "cycles_per_op", better: None },
    less("wake", "time_per_signal"),
    less("wake", "round_trip"),
    less("openmp", "loop_time"),
];

/// Parameters that follow from others, or from a machine's size.
const DERIVED: &[&str] = &[
    "formula",
    "moved_per_asked",
    "beside_elements",
    "beside_footprint",
    "limited_by",
    "home_node",
    "default",
    "openmp",
    "data",
    "state",
    "state_name",
];

/// Parameters that the machine chose, unless somebody asked for them.
const CHOSEN: &[&str] = &["variant", "stores"];

/// The size of the data.
const SIZES: &[&str] = &["elements", "footprint"];

/// The results of a record by what they are.
pub(super) fn of(record: &Record) -> BTreeMap<What, Found> {
    let mut cells: BTreeMap<(What, String), Vec<&Series>> = BTreeMap::new();
    for series in record.series.iter().filter(|series| judged(series).is_some()) {
        let key = (what(record, series), series.active.to_string());
        cells.entry(key).or_default().push(series);
    }
    // Which CPUs only where that tells one from another: machines number them differently.
    let mut sets: BTreeMap<What, usize> = BTreeMap::new();
    for (what, _) in cells.keys() {
        *sets.entry(what.clone()).or_default() += 1;
    }
    let named = |((what, active), series): ((What, String), Vec<&Series>)| {
        let several = sets.get(&what).is_some_and(|count| *count > 1);
        let cpus = several.then_some(active);
        (What { cpus, ..what }, found(&series))
    };
    cells.into_iter().map(named).collect()
}

fn judged(series: &Series) -> Option<&'static Judged> {
    JUDGED.iter().find(|row| row.area == series.area && row.quantity == series.quantity)
}

fn what(record: &Record, series: &Series) -> What {
    let given = |name: &str| series.parameters.get(name).map(String::as_str);
    let asked = given("choice") == Some("as asked for");
    // Beyond the caches it is memory, however long; what a sweep is about is the length.
    let bytes = given("footprint").and_then(|bytes| bytes.parse::<u64>().ok());
    let caches = record.machine.topology.caches_in_use(&series.active);
    let is_memory = given("question") != Some("sweep")
        && bytes.zip(caches).is_some_and(|(bytes, caches)| bytes > caches.bytes);
    let tells = |name: &str| {
        let follows = DERIVED.contains(&name)
            || !asked && CHOSEN.contains(&name)
            || is_memory && SIZES.contains(&name);
        !follows
    };
    let parameters = series.parameters.iter().filter(|(name, _)| tells(name));
    What {
        area: series.area.clone(),
        workload: series.workload.clone(),
        quantity: series.quantity.clone(),
        active: series.active.len(),
        cpus: None,
        parameters: parameters.map(|(name, value)| (name.clone(), value.clone())).collect(),
    }
}

/// What all CPUs of a cell say together.
fn found(cell: &[&Series]) -> Found {
    let absent = |series: &&Series| match &series.outcome {
        Outcome::Unavailable { unavailable } => Some(unavailable.why.clone()),
        Outcome::Measured { .. } => None,
    };
    let why = || cell.iter().find_map(absent).unwrap_or_else(|| "it has no samples".to_owned());
    let result = || {
        let first = cell.first()?;
        let class = shown_class(cell)?;
        let measured = cell.iter().filter(|series| series.placement_class == *class);
        let samples = measured.filter_map(|series| series.samples());
        let blocks = together(samples.flat_map(model::record::Samples::numbered_medians));
        let quantity = areas::quantity(areas::area(&first.area)?, &first.quantity)?;
        // Samples are kept in bins of that width.
        let bin = quantity.packing;
        let widened = |[low, high]: [f64; 2]| [low * (1.0 - bin), high * (1.0 + bin)];
        let interval = median_interval(&blocks).map(widened);
        let value = Value { median: median(&blocks)?, interval };
        Some(Measured { unit: first.unit, better: judged(first)?.better, value })
    };
    result().map_or_else(|| Found::Absent(why()), Found::Is)
}
