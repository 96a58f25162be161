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
                outcome: pooled(&parts),
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

/// Those of one class of placement, which alone are pooled: classes of placement are never pooled, and of several the one with the most samples counts.
pub fn of_one_class<'a>(cell: &[&'a Series]) -> Vec<&'a Series> {
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

/// What series say together: those of all CPUs of a cell.
///
/// # Errors
/// Why there is no number, or no one number.
pub fn pooled(cell: &[&Series]) -> Result<Measured, Unavailable> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, cache, near, series};

    #[test]
    fn a_result_is_the_median_over_blocks_of_those_over_cpus() {
        let mut record = blank();
        for (cpu, blocks) in [(0, [1.0, 4.0, 9.0]), (1, [3.0, 8.0, 9.0])] {
            let blocks: [&[f64]; 3] = [&blocks[..1], &blocks[1..2], &blocks[2..]];
            let of = series(["turbo", "it", "clock"], "0-1", &[], &blocks);
            record.series.push(Series { cpu: model::CpuId(cpu), ..of });
        }
        let results = of(&record);
        let measured = results.values().next().unwrap().outcome.as_ref().unwrap();
        // 2, 6 and 9 over both CPUs.
        assert_eq!((results.len(), measured.blocks().len()), (1, 3));
        near(measured.median, 6.0);
    }

    #[test]
    fn a_result_is_of_the_class_of_placement_with_most_samples() {
        let mut record = blank();
        for (class, value, blocks) in [("near", [5.0], 2), ("far", [9.0], 3)] {
            let of = series(["cores", "cas", "latency"], "0-1", &[], &vec![&value[..]; blocks]);
            record.series.push(Series { placement_class: Some(class.to_owned()), ..of });
        }
        let results = of(&record);
        near(results.values().next().unwrap().outcome.as_ref().unwrap().median, 9.0);
    }

    #[test]
    fn a_bandwidth_in_two_modes_is_no_number_and_a_latency_is() {
        // Four near 60, four near 110: 1.8 times as much.
        let samples = [60.0, 61.0, 110.0, 112.0, 60.0, 61.0, 110.0, 112.0];
        let of = |quantity: &str| {
            let mut record = blank();
            record.series = vec![series(["memory", "it", quantity], "0", &[], &[&samples])];
            of(&record).into_values().next().unwrap().outcome
        };
        assert_eq!(of("bandwidth").unwrap_err().obstacle, Obstacle::Measurement);
        // Between 61 and 110.
        near(of("latency").unwrap().median, 85.5);
    }

    #[test]
    fn sizes_tell_results_apart_within_caches_and_in_sweeps_alone() {
        let keys = |question: &str, footprints: &[&str]| {
            let mut record = blank();
            cache(&mut record, 2, 1 << 20, &["0"]);
            for footprint in footprints {
                let parameters =
                    [("question", question), ("footprint", footprint), ("variant", "it")];
                record.series.push(series(
                    ["memory", "copy", "bandwidth"],
                    "0",
                    &parameters,
                    &[&[1.0]],
                ));
            }
            of(&record)
                .into_keys()
                .map(|key| key.parameters.keys().cloned().collect::<Vec<_>>().join(" "))
                .collect::<Vec<_>>()
        };
        // 1 MiB and a byte are beyond the cache.
        assert_eq!(keys("bandwidth", &["1048577", "9999999"]), ["question"]);
        assert_eq!(keys("bandwidth", &["1048576", "9999999"]), ["footprint question", "question"]);
        assert_eq!(keys("sweep", &["1048577", "9999999"]), ["footprint question"; 2]);
        assert_eq!(keys("trial", &["1048576"]), [""; 0]);
    }
}
