//! The results of a record: the quantities that a machine is judged by, of all that is measured.

use std::collections::BTreeMap;

use model::areas::is_judged;
use model::page::si;
use model::record::{Blocks, Brief, BriefSeries, Record, Topology};
use model::stats::paired::Better;
use model::stats::{block_medians, median, median_interval};
use model::{Obstacle, Unavailable, Unit};

use super::{Value, What};

/// What a record knows of a result.
#[derive(Debug, Clone)]
pub enum Found {
    /// It was measured.
    Is(Measured),
    /// It was to be measured, and was not.
    Absent(Unavailable),
}

impl Found {
    pub(super) fn measured(&self) -> Option<&Measured> {
        match self {
            Found::Is(measured) => Some(measured),
            Found::Absent(_) => None,
        }
    }

    pub(super) fn absence(&self) -> Option<&Unavailable> {
        match self {
            Found::Is(_) => None,
            Found::Absent(reason) => Some(reason),
        }
    }
}

/// A result.
#[derive(Debug, Clone)]
pub struct Measured {
    /// What its numbers count.
    pub unit: Unit,
    /// Which direction is better, where one is.
    pub better: Option<Better>,
    /// The median, and how sure it is.
    pub value: Value,
    /// The medians of its blocks.
    pub blocks: Vec<f64>,
}

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
pub fn of_record(record: &Record) -> BTreeMap<What, Found> {
    let brief = Brief::of(record, &is_judged);
    of(&brief.machine.topology, brief.series)
}

/// The results of a record by what they are, from the series of a brief one.
pub fn of(topology: &Topology, series: Vec<BriefSeries>) -> BTreeMap<What, Found> {
    // What chose the fastest way is no result beside that way's own.
    let is_trial = |series: &BriefSeries| {
        series.parameters.get("question").is_some_and(|question| question == "trial")
    };
    let wanted =
        |series: &BriefSeries| is_judged(&series.area, &series.quantity) && !is_trial(series);
    let series = series.into_iter().filter(wanted);
    let mut parts: Vec<(What, Part)> = series.map(|series| part(topology, series)).collect();
    // They come nearly in this order. Within a cell that of the record stays.
    parts.sort_by(|(a, part), (b, other)| (a, &part.active).cmp(&(b, &other.active)));
    let mut results = BTreeMap::new();
    for of_what in parts.chunk_by(|(a, _), (b, _)| a == b) {
        let cells = || of_what.chunk_by(|(_, part), (_, other)| part.active == other.active);
        // Which CPUs only where that tells one from another: machines number them differently.
        let several = cells().nth(1).is_some();
        for cell in cells() {
            let [(what, part), ..] = cell else { continue };
            let cpus = several.then(|| part.active.clone());
            let parts: Vec<&Part> = cell.iter().map(|(_, part)| part).collect();
            results.insert(What { cpus, ..what.clone() }, found(what, &parts));
        }
    }
    results
}

/// What a CPU of a cell says.
struct Part {
    unit: Unit,
    active: String,
    class: Option<String>,
    outcome: Result<Blocks, Unavailable>,
}

fn part(topology: &Topology, series: BriefSeries) -> (What, Part) {
    let given = |name: &str| series.parameters.get(name).map(String::as_str);
    let asked = given("choice") == Some("as asked for");
    // Beyond the caches it is memory, however long; what a sweep is about is the length.
    let bytes = given("footprint").filter(|_| given("question") != Some("sweep"));
    let bytes = bytes.and_then(|bytes| bytes.parse::<u64>().ok());
    let is_memory = bytes.is_some_and(|bytes| {
        topology.caches_in_use(&series.active).is_some_and(|caches| bytes > caches.bytes)
    });
    let tells = |name: &str| {
        let follows = DERIVED.contains(&name)
            || !asked && CHOSEN.contains(&name)
            || is_memory && SIZES.contains(&name);
        !follows
    };
    let mut parameters = series.parameters;
    parameters.retain(|name, _| tells(name));
    let what = What {
        area: series.area,
        workload: series.workload,
        quantity: series.quantity,
        active: series.active.len(),
        cpus: None,
        parameters,
    };
    let part = Part {
        unit: series.unit,
        active: series.active.to_string(),
        class: series.placement_class,
        outcome: series.outcome,
    };
    (what, part)
}

/// Classes of placement are never pooled: of several, the one with the most samples counts.
fn class<'a>(cell: &[&'a Part]) -> Option<&'a Option<String>> {
    let count = |class: &Option<String>| -> u64 {
        let of_class = cell.iter().filter(|part| part.class == *class);
        of_class.filter_map(|part| Some(part.outcome.as_ref().ok()?.count)).sum()
    };
    let most = cell.iter().max_by_key(|part| count(&part.class))?;
    Some(&most.class)
}

/// Why a cell has no one number, where its samples fall into several modes.
fn several(cell: &[&Part]) -> Option<Unavailable> {
    let class = class(cell)?;
    let mut of_class = cell.iter().filter(|part| part.class == *class);
    let modes = |part: &&Part| {
        let modes = part.outcome.as_ref().ok()?.modes.iter();
        let modes: Vec<String> = modes.map(|mode| si::format(*mode, part.unit)).collect();
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
fn found(what: &What, cell: &[&Part]) -> Found {
    let absent = |part: &&Part| Some(part.outcome.as_ref().err()?.clone());
    let none = || Unavailable::new(Obstacle::Measurement, "result", "it has no samples");
    let why = || cell.iter().find_map(absent).unwrap_or_else(none);
    let result = || {
        let class = class(cell)?;
        let measured = cell.iter().filter(|part| part.class == *class);
        let medians = measured.filter_map(|part| Some(&part.outcome.as_ref().ok()?.medians));
        let blocks = block_medians(medians.flatten().copied());
        let quantity = model::areas::quantity(&what.area, &what.quantity)?;
        // Samples are kept in bins of that width.
        let bin = quantity.packing;
        let widened = |[low, high]: [f64; 2]| [low * (1.0 - bin), high * (1.0 + bin)];
        let interval = median_interval(&blocks).map(widened);
        let value = Value { median: median(&blocks)?, interval };
        let better = model::areas::quantity(&what.area, &what.quantity)?.better;
        Some(Measured { unit: cell.first()?.unit, better, value, blocks })
    };
    match several(cell) {
        Some(reason) => Found::Absent(reason),
        None => result().map_or_else(|| Found::Absent(why()), Found::Is),
    }
}
