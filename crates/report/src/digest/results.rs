//! The results of a record: the quantities that a machine is judged by, of all that is measured.

use std::collections::BTreeMap;

use model::areas::quantity;
use model::page::si;
use model::record::{DigestResult, Measured, Outcome, Record, ResultKey, Series, Topology};
use model::stats::{block_medians, modes};
use model::{Obstacle, Unavailable, Unit};

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
pub(super) fn of(record: &Record) -> BTreeMap<ResultKey, DigestResult> {
    // What chose the fastest way is no result beside that way's own.
    let is_trial = |series: &Series| {
        series.parameters.get("question").is_some_and(|question| question == "trial")
    };
    let is_judged = |series: &Series| {
        let row = quantity(&series.area, &series.quantity);
        row.is_some_and(|row| row.judged && row.unit == series.unit)
    };
    let wanted = |series: &&Series| is_judged(series) && !is_trial(series);
    let series = record.series.iter().filter(wanted);
    let topology = &record.machine.topology;
    let mut parts: Vec<KeyedSeries<'_>> =
        series.map(|series| (key(topology, series), series.active.to_string(), series)).collect();
    // They come nearly in this order. Within a cell that of the record stays.
    parts.sort_by(|(a, cpus, _), (b, others, _)| (a, cpus).cmp(&(b, others)));
    let mut results = BTreeMap::new();
    for of_what in parts.chunk_by(|(a, ..), (b, ..)| a == b) {
        let cells = || of_what.chunk_by(|(_, cpus, _), (_, others, _)| cpus == others);
        // Which CPUs only where that tells one from another: machines number them differently.
        let several = cells().nth(1).is_some();
        for cell in cells() {
            let [(what, cpus, first), ..] = cell else { continue };
            let cpus = several.then(|| cpus.clone());
            let parts: Vec<&Series> = cell.iter().map(|(.., part)| *part).collect();
            let result = DigestResult {
                unit: first.unit,
                better: quantity(&what.area, &what.quantity).and_then(|row| row.better),
                outcome: outcome(&parts),
            };
            results.insert(ResultKey { cpus, ..what.clone() }, result);
        }
    }
    results
}

/// What a series is a part of, its active CPUs as text, and the series.
type KeyedSeries<'a> = (ResultKey, String, &'a Series);

/// What a series is a part of.
fn key(topology: &Topology, series: &Series) -> ResultKey {
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
    let mut parameters = series.parameters.clone();
    parameters.retain(|name, _| tells(name));
    ResultKey {
        area: series.area.clone(),
        workload: series.workload.clone(),
        quantity: series.quantity.clone(),
        active: series.active.len(),
        cpus: None,
        parameters,
    }
}

/// Those of one class: classes of placement are never pooled, and of several the one with the most samples counts.
fn of_one_class<'a>(cell: &[&'a Series]) -> Vec<&'a Series> {
    let of = |class: &Option<String>| {
        let class = class.clone();
        cell.iter().copied().filter(move |part| part.placement_class == class)
    };
    let count = |class: &Option<String>| -> u64 {
        of(class).filter_map(|part| Some(part.summary()?.count)).sum()
    };
    let most = cell.iter().max_by_key(|part| count(&part.placement_class));
    most.map_or_else(Vec::new, |most| of(&most.placement_class).collect())
}

/// Why a cell has no one number, where samples of a bandwidth fall into several modes. Other quantities are told by
/// their distribution.
fn several(cell: &[&Series]) -> Option<Unavailable> {
    let modes = |part: &&Series| {
        let samples = part.samples().filter(|_| part.unit == Unit::BytePerSecond)?;
        let modes = modes::several(&samples.all())?;
        let modes: Vec<String> =
            modes.iter().map(|mode| si::format(mode.median, part.unit)).collect();
        (!modes.is_empty()).then_some(modes)
    };
    let modes = cell.iter().find_map(modes)?;
    let why = format!(
        "its samples fall into groups around {}, with nothing between: no one number is right for them",
        modes.join(" and ")
    );
    let remedy = "measure on an idle machine, and longer: `cpudyno sheet --budget 60s`";
    Some(Unavailable::new(Obstacle::Measurement, "result", why).with_remedy(remedy))
}

/// What all CPUs of a cell say together.
fn outcome(cell: &[&Series]) -> Result<Measured, Unavailable> {
    let of_class = of_one_class(cell);
    if let Some(reason) = several(&of_class) {
        return Err(reason);
    }
    let medians = of_class.iter().filter_map(|part| Some(part.samples()?.numbered_medians()));
    let blocks = block_medians(medians.flatten());
    // Samples are kept in bins of that width.
    let quantity = cell.first().and_then(|part| quantity(&part.area, &part.quantity));
    let packing = quantity.map_or(0.0, |quantity| quantity.packing);
    Measured::of(&blocks, packing).ok_or_else(|| {
        let absent = cell.iter().find_map(|part| match &part.outcome {
            Outcome::Unavailable { unavailable } => Some(unavailable.clone()),
            Outcome::Measured { .. } => None,
        });
        let none = || Unavailable::new(Obstacle::Measurement, "result", "it has no samples");
        // Many are absent for one reason, which is written once.
        Unavailable { what: "result".to_owned(), ..absent.unwrap_or_else(none) }
    })
}
