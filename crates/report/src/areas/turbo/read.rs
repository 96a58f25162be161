//! Reading the area's series back out of a record.

use std::collections::{BTreeMap, BTreeSet};

use model::record::SAME_CORE;
use model::record::{Fact, FactValue, Outcome, Record, Series};
use model::stats::{Summary, block_medians, median};
use model::{CpuId, CpuSet, Obstacle, Unavailable, in_order};

use super::AREA;
use crate::cells::{Cell, cells};
use model::areas::turbo::promise;

/// One stream with so many active cores: the samples of all of them.
pub(in crate::areas) enum Pooled {
    /// Numbers.
    Measured {
        /// Over all samples of all CPUs.
        summary: Summary,
        /// How the host placed the CPUs, where several classes were seen.
        class: Option<String>,
    },
    /// None, for this reason.
    Absent(Unavailable),
}

/// What CPUs are called that the kernel lists as other cores, and that share a core as probed: what the probes say
/// goes before.
pub(in crate::areas) const HIDDEN: &str = "hidden sibling";

/// Whether the probes found CPUs of a series on one core.
pub(in crate::areas) fn is_same_core(series: &Series) -> bool {
    series.placement_class.as_ref().is_some_and(|class| class.contains(SAME_CORE))
}

/// A clock in MHz, the unit that people compare.
pub(in crate::areas) fn mhz(hertz: f64) -> String {
    format!("{:.0}", hertz / 1e6)
}

/// How much a counter of the kernel grew during the run.
pub(in crate::areas) fn grown(record: &Record, id: &str) -> Option<f64> {
    number(record.conditions.after.iter().find(|fact| fact.id == id)?)
}

/// The number that a fact is, where it is one.
pub(in crate::areas) fn number(fact: &Fact) -> Option<f64> {
    match fact.value.value()? {
        FactValue::Number { value, .. } => Some(*value),
        FactValue::Text(_) => None,
    }
}

/// The workloads of the area, in order.
pub(in crate::areas) fn workloads(record: &Record) -> Vec<&str> {
    in_order(record.series_of(AREA, "clock").map(|series| series.workload.as_str()))
}

/// The numbers of active cores that were planned, ascending.
pub(in crate::areas) fn active_counts(record: &Record) -> Vec<usize> {
    let planned = record.run.plan.active_cores.iter().map(|count| *count as usize);
    let has_series =
        |count: &usize| record.series_of(AREA, "clock").any(|series| series.active.len() == *count);
    planned.filter(has_series).collect()
}

/// The types of core that were measured, in the order of their CPUs; none where all are of one.
pub(in crate::areas) fn core_types(record: &Record) -> Vec<&str> {
    let topology = &record.machine.topology;
    let kinds: Vec<&str> =
        in_order(record.run.plan.cpus.iter().filter_map(|cpu| topology.kind(cpu)));
    if kinds.len() > 1 { kinds } else { Vec::new() }
}

/// What tables say that have one number for all cores, where some are of another type.
pub(in crate::areas) fn of_first_type(record: &Record) -> Option<String> {
    let kinds = core_types(record);
    let (first, others) = kinds.split_first()?;
    Some(format!("numbers of {first} cores; those of {} are in `cpudyno turbo`", others.join(", ")))
}

/// All CPUs of one cell together. Types of core are never pooled: of several, the first is shown. Nor are classes of
/// placement: the one with the most samples is shown.
pub(in crate::areas) fn pooled(
    record: &Record,
    quantity: &str,
    workload: &str,
    active: usize,
) -> Option<Pooled> {
    let first = core_types(record).first().copied();
    pooled_of(record, quantity, workload, (active, first))
}

/// The same of the cores of one type, where there are several.
pub(in crate::areas) fn pooled_of(
    record: &Record,
    quantity: &str,
    workload: &str,
    (active, core_type): (usize, Option<&str>),
) -> Option<Pooled> {
    let topology = &record.machine.topology;
    let cell: Vec<&Series> = record
        .series_of(AREA, quantity)
        .filter(|series| series.workload == workload && series.active.len() == active)
        .filter(|series| core_type.is_none() || topology.kind(series.cpu) == core_type)
        .collect();
    let class = shown_class(&cell)?;
    let of_class = cell.iter().filter(|series| series.placement_class == *class);
    let of_cpus: Vec<_> = of_class.filter_map(|series| series.samples()).collect();
    let samples: Vec<f64> = of_cpus.iter().flat_map(|samples| samples.all()).collect();
    let medians = of_cpus.iter().flat_map(|samples| samples.numbered_medians());
    match Summary::of(&samples, &block_medians(medians)) {
        Some(summary) => Some(Pooled::Measured { summary, class: class.clone() }),
        None => cell.iter().find_map(|series| match &series.outcome {
            Outcome::Unavailable { unavailable } => Some(Pooled::Absent(unavailable.clone())),
            Outcome::Measured { .. } => None,
        }),
    }
}

/// Classes of placement are never pooled: of several, the one with the most samples is shown.
pub(crate) fn shown_class<'a>(cell: &[&'a Series]) -> Option<&'a Option<String>> {
    let count = |class: &Option<String>| -> u64 {
        let of_class = cell.iter().filter(|series| series.placement_class == *class);
        of_class.filter_map(|series| Some(series.summary()?.count)).sum()
    };
    let shown = cell.iter().max_by_key(|series| count(&series.placement_class))?;
    Some(&shown.placement_class)
}

/// The summary of a cell, where it has one to calculate with: clocks and cycles are positive.
pub(in crate::areas) fn summary(
    record: &Record,
    quantity: &str,
    workload: &str,
    active: usize,
) -> Option<Summary> {
    match pooled(record, quantity, workload, active)? {
        Pooled::Measured { summary, .. } => Some(summary).filter(|summary| summary.median > 0.0),
        Pooled::Absent(_) => None,
    }
}

/// Least and greatest block median of the clock without payload, of that of these CPUs whose clock moved most, or of any
/// where none of them has one: cores of one machine may differ.
pub(in crate::areas) fn quiet_drift(record: &Record, of: &CpuSet) -> Option<[f64; 2]> {
    let every = record.series_of("rig", "quiet_clock");
    let has_own = every.clone().any(|series| of.contains(series.cpu));
    let all = every.filter(move |series| !has_own || of.contains(series.cpu));
    let cpus: BTreeSet<CpuId> = all.clone().map(|series| series.cpu).collect();
    let of_cpu = |cpu: CpuId| {
        let mine = all.clone().filter(|series| series.cpu == cpu).filter_map(Series::samples);
        let mut medians: Vec<f64> = mine.flat_map(model::record::Samples::block_medians).collect();
        medians.sort_unstable_by(f64::total_cmp);
        Some([*medians.first()?, *medians.last()?])
    };
    let moved = |[low, high]: &[f64; 2]| high / low;
    cpus.into_iter().filter_map(of_cpu).max_by(|a, b| moved(a).total_cmp(&moved(b)))
}

/// A workload on a set of active CPUs: the series of all threads that execute it.
#[derive(Clone)]
pub(in crate::areas) struct WorkloadRow<'a> {
    pub(in crate::areas) workload: &'a str,
    pub(in crate::areas) active: &'a CpuSet,
    /// Those of them that it is of alone, where others may have other clocks.
    pub(in crate::areas) cpus: Option<CpuSet>,
    /// Their type, where the machine has several, and they are of one.
    kind: Option<&'a str>,
    parameters: &'a BTreeMap<String, String>,
    series: Vec<&'a Series>,
}

impl<'a> WorkloadRow<'a> {
    /// The type of its cores, where the machine has several.
    pub(in crate::areas) fn core_type(&self) -> Option<&'a str> {
        self.kind.or_else(|| self.parameters.get("core_type").map(String::as_str))
    }

    /// The CPUs that it is of.
    pub(in crate::areas) fn own(&self) -> &CpuSet {
        self.cpus.as_ref().unwrap_or(self.active)
    }

    /// Itself in parts, each of cores of one type that are allowed as much: a median over CPUs of different limits is no
    /// clock of any.
    fn alike(self, record: &'a Record) -> Vec<WorkloadRow<'a>> {
        let topology = &record.machine.topology;
        let kinds = in_order(self.own().iter().filter_map(|cpu| topology.kind(cpu)));
        if kinds.len() > 1 {
            let of_type = |kind| self.on_type(record, kind).alike(record);
            return kinds.into_iter().flat_map(of_type).collect();
        }
        let groups =
            promise::alike(record.clock.as_ref(), record.speed_select.as_ref(), self.own());
        if groups.len() < 2 {
            return vec![self];
        }
        let part = |cpus: CpuSet| {
            let mine = self.series.iter().filter(|series| cpus.contains(series.cpu));
            WorkloadRow { series: mine.copied().collect(), cpus: Some(cpus), ..self.clone() }
        };
        groups.into_iter().map(part).filter(|row| !row.series.is_empty()).collect()
    }

    /// Itself on its cores of one type, where other types are active, too.
    pub(in crate::areas) fn on_type(&self, record: &Record, kind: &'a str) -> WorkloadRow<'a> {
        let topology = &record.machine.topology;
        let is_its = |cpu: &CpuId| topology.kind(*cpu) == Some(kind);
        let mine = self.series.iter().filter(|series| is_its(&series.cpu)).copied();
        let cpus = self.own().iter().filter(is_its).collect();
        WorkloadRow { series: mine.collect(), cpus: Some(cpus), kind: Some(kind), ..self.clone() }
    }

    /// Whether several streams share the cores.
    pub(in crate::areas) fn is_mix(&self) -> bool {
        self.parameters.contains_key("spec")
    }

    /// The series of that quantity, one for each thread, by CPU.
    pub(in crate::areas) fn of(&self, quantity: &str) -> Vec<&'a Series> {
        let mut all: Vec<&Series> =
            self.series.iter().filter(|series| series.quantity == quantity).copied().collect();
        if let Some(class) = shown_class(&all) {
            all.retain(|series| series.placement_class == *class);
        }
        all
    }

    /// The median over threads of the medians of that quantity.
    pub(in crate::areas) fn median(&self, quantity: &str) -> Option<f64> {
        let of = self.of(quantity);
        median(&of.iter().filter_map(|s| Some(s.summary()?.median)).collect::<Vec<_>>())
    }

    /// How far that may be off as a share of it, of the thread of which it is known least; nothing where no thread has
    /// an interval.
    pub(in crate::areas) fn uncertainty(&self, quantity: &str) -> f64 {
        let of = self.of(quantity);
        of.iter().filter_map(|s| s.summary()?.relative_uncertainty()).fold(0.0, f64::max)
    }

    /// The same median of its first blocks alone.
    pub(in crate::areas) fn median_of_first(&self, quantity: &str, blocks: u64) -> Option<f64> {
        let first = |series: &&Series| -> Option<f64> {
            let mut medians = series.samples()?.numbered_medians();
            medians.sort_unstable_by_key(|(block, _)| *block);
            let first = medians.iter().take(blocks as usize).map(|(_, median)| *median);
            median(&first.collect::<Vec<_>>())
        };
        median(&self.of(quantity).iter().filter_map(first).collect::<Vec<_>>())
    }

    /// Why there is no number of that quantity, on the first thread that has none.
    pub(in crate::areas) fn reason(&self, quantity: &str) -> Option<&'a Unavailable> {
        self.of(quantity).into_iter().find_map(|series| match &series.outcome {
            Outcome::Unavailable { unavailable } => Some(unavailable),
            Outcome::Measured { .. } => None,
        })
    }
}

/// All rows that this machine can execute, by number of active cores.
pub(in crate::areas) fn rows(record: &Record) -> Vec<WorkloadRow<'_>> {
    let topology = &record.machine.topology;
    let is_stream = |series: &Series| model::areas::is_of(series, AREA);
    let of = |Cell { workload, active, parameters, series }| {
        let kind = topology.one_type(active);
        WorkloadRow { workload, active, cpus: None, kind, parameters, series }
    };
    let mut rows: Vec<WorkloadRow<'_>> = cells(record, is_stream).into_iter().map(of).collect();
    rows.retain(|row| !row.series.iter().all(|series| lacks_hardware(series)));
    in_order_of_types(record, &mut rows);
    rows
}

/// Types in the order of their CPUs, and of each the fewest cores first.
fn in_order_of_types(record: &Record, rows: &mut [WorkloadRow<'_>]) {
    let kinds = core_types(record);
    let place = |kind: Option<&str>| kinds.iter().position(|known| Some(*known) == kind);
    rows.sort_by_key(|row| (place(row.core_type()), row.active.len()));
}

/// Rows of the same CPUs together, in order.
pub(in crate::areas) fn by_cpus<'r, 'a>(
    rows: &'r [WorkloadRow<'a>],
) -> Vec<Vec<&'r WorkloadRow<'a>>> {
    let cpus = |row: &&'r WorkloadRow<'a>| (row.core_type(), row.active, row.cpus.as_ref());
    let all = in_order(rows.iter().map(|row| cpus(&row)));
    all.into_iter().map(|of| rows.iter().filter(|row| cpus(row) == of).collect()).collect()
}

/// The same, each in parts of CPUs that are allowed as much.
pub(in crate::areas) fn rows_alike(record: &Record) -> Vec<WorkloadRow<'_>> {
    let mut rows: Vec<WorkloadRow<'_>> =
        rows(record).into_iter().flat_map(|row| row.alike(record)).collect();
    in_order_of_types(record, &mut rows);
    rows
}

/// The same as a page shows them, with a word on the parts that it leaves out.
pub(in crate::areas) fn rows_shown(record: &Record) -> (Vec<WorkloadRow<'_>>, Option<String>) {
    let mut most = 0;
    let mut shown = Vec::new();
    for row in rows(record) {
        let parts = row.alike(record);
        most = most.max(parts.len());
        shown.extend(parts.into_iter().take(promise::GROUPS_MAX));
    }
    in_order_of_types(record, &mut shown);
    let more = most.saturating_sub(promise::GROUPS_MAX);
    let word = || format!("{more} more groups of CPUs with limits of their own are in the record");
    (shown, (more > 0).then(word))
}

fn lacks_hardware(series: &Series) -> bool {
    match &series.outcome {
        Outcome::Unavailable { unavailable } => unavailable.obstacle == Obstacle::Hardware,
        Outcome::Measured { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use model::record::{AllowedClock, ClockRecord};

    use super::*;
    use crate::testing::{blank, near, on, series, turbo};

    const CLOCK: [&str; 3] = [AREA, "scalar_iadd", "clock"];

    fn record(series: Vec<Series>) -> Record {
        Record { series, ..blank() }
    }

    fn pooled_of_two(record: &Record) -> (Summary, Option<String>) {
        match pooled(record, "clock", "scalar_iadd", 2) {
            Some(Pooled::Measured { summary, class }) => (summary, class),
            Some(Pooled::Absent(_)) | None => panic!("there are numbers"),
        }
    }

    #[test]
    fn pooled_of_cpus_measured_together_has_one_median_for_each_block() {
        let record = record(vec![
            series(CLOCK, "0-1", &[], &[&[3.0], &[3.1], &[3.2], &[3.3], &[3.4]]),
            on(1, series(CLOCK, "0-1", &[], &[&[3.4], &[3.5], &[3.6], &[3.7], &[3.8]])),
        ]);
        let (summary, _) = pooled_of_two(&record);
        // Ten samples: 3.0 3.1 3.2 3.3 3.4 | 3.4 3.5 3.6 3.7 3.8.
        near(summary.median, 3.4);
        // Five blocks, each the middle of both CPUs: 3.2 3.3 3.4 3.5 3.6, and the interval of five is all of them. Ten
        // blocks would have 3.1 to 3.7.
        let [low, high] = summary.between_blocks.unwrap();
        near(low, 3.2);
        near(high, 3.6);
        assert_eq!((summary.count, summary.blocks), (10, 5));
        // 0.2 of 3.4.
        near(summary.relative_uncertainty().unwrap(), 1.0 / 17.0);
    }

    #[test]
    fn pooled_of_four_blocks_has_no_interval() {
        let of_cpu = |cpu| on(cpu, series(CLOCK, "0-1", &[], &[&[3.0], &[3.1], &[3.2], &[3.3]]));
        let (summary, _) = pooled_of_two(&record(vec![of_cpu(0), of_cpu(1)]));
        assert_eq!((summary.blocks, summary.between_blocks), (4, None));
    }

    #[test]
    fn pooled_of_two_classes_is_of_the_one_with_most_samples_of_all_cpus() {
        let class = |name: &str, series: Series| Series {
            placement_class: Some(name.to_owned()),
            ..series
        };
        let record = record(vec![
            class("same-core", series(CLOCK, "0-1", &[], &[&[2.0, 2.2]])),
            class("same-core", on(1, series(CLOCK, "0-1", &[], &[&[2.0, 2.2]]))),
            class("apart", series(CLOCK, "0-1", &[], &[&[3.0, 3.0, 3.0]])),
        ]);
        // 2 + 2 samples against 3.
        let (summary, class) = pooled_of_two(&record);
        near(summary.median, 2.1);
        assert_eq!(class.as_deref(), Some("same-core"));
    }

    #[test]
    fn active_counts_without_a_clock_are_left_out() {
        let mut record = turbo(&[("scalar_iadd", "0", 3500.0), ("scalar_iadd", "0-3", 3000.0)]);
        record.run.plan.active_cores = vec![1, 2, 4];
        assert_eq!(active_counts(&record), [1, 4]);
    }

    #[test]
    fn quiet_drift_is_that_of_the_cpu_whose_clock_moved_most() {
        let quiet = ["rig", "quiet_clock", "quiet_clock"];
        let record = record(vec![
            series(quiet, "0", &[], &[&[3.03], &[3.0], &[3.01]]),
            series(quiet, "1", &[], &[&[2.0], &[2.1]]),
        ]);
        let of = |cpus: &str| quiet_drift(&record, &cpus.parse().unwrap());
        // 5 % against 1 %, though the other clock is the higher one.
        assert_eq!(of("0-1"), Some([2.0, 2.1]));
        assert_eq!(of("0"), Some([3.0, 3.03]));
        assert_eq!(of("7"), Some([2.0, 2.1]), "of any, where none of them has one");
    }

    #[test]
    fn row_of_threads_has_the_median_of_their_medians() {
        let record = record(vec![
            series(CLOCK, "0-2", &[], &[&[3.0]]),
            on(1, series(CLOCK, "0-2", &[], &[&[3.1, 3.3]])),
            on(2, series(CLOCK, "0-2", &[], &[&[3.5], &[3.6], &[3.6], &[3.6], &[3.78]])),
        ]);
        let [row] = &rows(&record)[..] else { panic!("one stream on three CPUs") };
        // 3.0, 3.2 and 3.6, however many samples each has: all eight together have 3.55.
        near(row.median("clock").unwrap(), 3.2);
        // The only thread with an interval: 3.6 (3.5 to 3.78), of which 0.18 are 5 %.
        near(row.uncertainty("clock"), 0.05);
    }

    #[test]
    fn row_of_first_blocks_skips_those_without_samples() {
        let blocks: [&[f64]; 6] = [&[], &[3.5], &[3.4], &[3.0], &[3.0], &[3.0]];
        let record = record(vec![series(CLOCK, "0", &[], &blocks)]);
        let row = &rows(&record)[0];
        // The middle of 3.5 and 3.4.
        near(row.median_of_first("clock", 2).unwrap(), 3.45);
        near(row.median("clock").unwrap(), 3.0);
    }

    #[test]
    fn rows_of_cpus_with_limits_of_their_own_are_apart() {
        let clocks = [2.0, 2.0, 3.0, 3.2];
        let of_cpu = |(cpu, clock)| on(cpu, series(CLOCK, "0-3", &[], &[&[clock]]));
        let mut record = record((0..).zip(clocks).map(of_cpu).collect());
        let source = promise::BY_KERNEL.to_owned();
        let limit = AllowedClock { cpus: "0-1".parse().unwrap(), hertz: 2.0, source };
        record.clock = Some(ClockRecord { allowed: vec![limit], ..ClockRecord::default() });
        let medians = |rows: Vec<WorkloadRow<'_>>| -> Vec<(String, f64)> {
            rows.iter().map(|row| (row.own().to_string(), row.median("clock").unwrap())).collect()
        };
        // All four have 2.5, which is the clock of none.
        assert_eq!(medians(rows(&record)), [("0-3".to_owned(), 2.5)]);
        let parts = [("2-3".to_owned(), 3.1), ("0-1".to_owned(), 2.0)];
        assert_eq!(medians(rows_alike(&record)), parts);
    }
}
