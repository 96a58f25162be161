//! The results of a record: the quantities that a machine is judged by, of all that is measured.

use std::collections::{BTreeMap, HashMap};

use model::page::si;
use model::record::{Brief, BriefSeries};
use model::stats::paired::Better;
use model::stats::{median, median_interval};
use model::{Obstacle, Unavailable, Unit};

use super::{Value, What};
use crate::areas;
use crate::areas::turbo::read::together;

/// What a record knows of a result.
#[derive(Debug, Clone)]
pub(crate) enum Found {
    Is(Measured),
    /// It was to be measured, and was not.
    Absent(Unavailable),
}

/// A result.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) unit: Unit,
    pub(crate) better: Option<Better>,
    pub(crate) value: Value,
    /// The medians of its blocks.
    pub(crate) blocks: Vec<f64>,
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

/// Whether machines are judged by that quantity of that area.
pub fn is_judged(area: &str, quantity: &str) -> bool {
    judged(area, quantity).is_some()
}

/// The results of a record by what they are.
pub(crate) fn of(record: &Brief) -> BTreeMap<What, Found> {
    let mut cells: HashMap<(What, String), Vec<&BriefSeries>> = HashMap::new();
    // What chose the fastest way is no result beside that way's own.
    let is_trial = |series: &BriefSeries| {
        series.parameters.get("question").is_some_and(|question| question == "trial")
    };
    let wanted =
        |series: &&BriefSeries| is_judged(&series.area, &series.quantity) && !is_trial(series);
    for series in record.series.iter().filter(wanted) {
        let key = (what(record, series), series.active.to_string());
        cells.entry(key).or_default().push(series);
    }
    // Which CPUs only where that tells one from another: machines number them differently.
    let mut sets: HashMap<What, usize> = HashMap::new();
    for (what, _) in cells.keys() {
        *sets.entry(what.clone()).or_default() += 1;
    }
    let named = |((what, active), series): ((What, String), Vec<&BriefSeries>)| {
        let several = sets.get(&what).is_some_and(|count| *count > 1);
        let cpus = several.then_some(active);
        (What { cpus, ..what }, found(&series))
    };
    cells.into_iter().map(named).collect()
}

fn judged(area: &str, quantity: &str) -> Option<&'static Judged> {
    JUDGED.iter().find(|row| row.area == area && row.quantity == quantity)
}

fn what(record: &Brief, series: &BriefSeries) -> What {
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

/// Classes of placement are never pooled: of several, the one with the most samples counts.
fn class<'a>(cell: &[&'a BriefSeries]) -> Option<&'a Option<String>> {
    let count = |class: &Option<String>| -> u64 {
        let of_class = cell.iter().filter(|series| series.placement_class == *class);
        of_class.filter_map(|series| Some(series.outcome.as_ref().ok()?.count)).sum()
    };
    let most = cell.iter().max_by_key(|series| count(&series.placement_class))?;
    Some(&most.placement_class)
}

/// Why a cell has no one number, where its samples fall into several modes.
fn several(cell: &[&BriefSeries]) -> Option<Unavailable> {
    let class = class(cell)?;
    let mut of_class = cell.iter().filter(|series| series.placement_class == *class);
    let modes = |series: &&BriefSeries| {
        let modes = series.outcome.as_ref().ok()?.modes.iter();
        let modes: Vec<String> = modes.map(|mode| si::format(*mode, series.unit)).collect();
        (!modes.is_empty()).then_some(modes)
    };
    let modes = of_class.find_map(modes)?;
    let why = format!(
        "its samples fall into groups around {}, with nothing between: no one number is right for them",
        modes.join(" and ")
    );
    let remedy = "measure on an idle machine, and longer: `cpudyno sheet --budget 60s`";
    Some(Unavailable::new(Obstacle::Measurement, "result", why).with_remedy(remedy))
}

/// What all CPUs of a cell say together.
fn found(cell: &[&BriefSeries]) -> Found {
    let absent = |series: &&BriefSeries| Some(series.outcome.as_ref().err()?.clone());
    let none = || Unavailable::new(Obstacle::Measurement, "result", "it has no samples");
    let why = || cell.iter().find_map(absent).unwrap_or_else(none);
    let result = || {
        let first = cell.first()?;
        let class = class(cell)?;
        let measured = cell.iter().filter(|series| series.placement_class == *class);
        let medians = measured.filter_map(|series| Some(&series.outcome.as_ref().ok()?.medians));
        let blocks = together(medians.flatten().copied());
        let quantity = areas::quantity(areas::area(&first.area)?, &first.quantity)?;
        // Samples are kept in bins of that width.
        let bin = quantity.packing;
        let widened = |[low, high]: [f64; 2]| [low * (1.0 - bin), high * (1.0 + bin)];
        let interval = median_interval(&blocks).map(widened);
        let value = Value { median: median(&blocks)?, interval };
        let better = judged(&first.area, &first.quantity)?.better;
        Some(Measured { unit: first.unit, better, value, blocks })
    };
    match several(cell) {
        Some(reason) => Found::Absent(reason),
        None => result().map_or_else(|| Found::Absent(why()), Found::Is),
    }
}
