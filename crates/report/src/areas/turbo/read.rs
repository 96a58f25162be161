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
pub(super) enum Pooled {
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
pub(super) const HIDDEN: &str = "hidden sibling";

/// Whether the probes found CPUs of a series on one core.
pub(super) fn is_same_core(series: &Series) -> bool {
    series.placement_class.as_ref().is_some_and(|class| class.contains(SAME_CORE))
}

/// A clock in MHz, the unit that people compare.
pub(super) fn mhz(hertz: f64) -> String {
    format!("{:.0}", hertz / 1e6)
}

/// How much a counter of the kernel grew during the run.
pub(super) fn grown(record: &Record, id: &str) -> Option<f64> {
    number(record.conditions.after.iter().find(|fact| fact.id == id)?)
}

/// The number that a fact is, where it is one.
pub(super) fn number(fact: &Fact) -> Option<f64> {
    match fact.value.value()? {
        FactValue::Number { value, .. } => Some(*value),
        FactValue::Text(_) => None,
    }
}

/// The workloads of the area, in order.
pub(super) fn workloads(record: &Record) -> Vec<&str> {
    in_order(record.series_of(AREA, "clock").map(|series| series.workload.as_str()))
}

/// The numbers of active cores that were planned, ascending.
pub(super) fn active_counts(record: &Record) -> Vec<usize> {
    let planned = record.run.plan.active_cores.iter().map(|count| *count as usize);
    let has_series =
        |count: &usize| record.series_of(AREA, "clock").any(|series| series.active.len() == *count);
    planned.filter(has_series).collect()
}

/// All CPUs of one cell together. Classes of placement are never pooled: of several, the one with the
/// most samples is shown.
pub(super) fn pooled(
    record: &Record,
    quantity: &str,
    workload: &str,
    active: usize,
) -> Option<Pooled> {
    let cell: Vec<&Series> = record
        .series_of(AREA, quantity)
        .filter(|series| series.workload == workload && series.active.len() == active)
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
pub(super) fn summary(
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
pub(super) fn quiet_drift(record: &Record, of: &CpuSet) -> Option<[f64; 2]> {
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
pub(super) struct WorkloadRow<'a> {
    pub(super) workload: &'a str,
    pub(super) active: &'a CpuSet,
    /// Those of them that it is of alone, where others may have other clocks.
    pub(super) cpus: Option<CpuSet>,
    parameters: &'a BTreeMap<String, String>,
    series: Vec<&'a Series>,
}

impl<'a> WorkloadRow<'a> {
    /// The type of its cores, where the machine has several.
    pub(super) fn core_type(&self) -> Option<&'a str> {
        self.parameters.get("core_type").map(String::as_str)
    }

    /// The CPUs that it is of.
    pub(super) fn own(&self) -> &CpuSet {
        self.cpus.as_ref().unwrap_or(self.active)
    }

    /// Itself in parts, each of CPUs that are allowed as much: a median over CPUs of different limits is no clock of
    /// any.
    fn alike(self, record: &Record) -> Vec<WorkloadRow<'a>> {
        let groups =
            promise::alike(record.clock.as_ref(), record.speed_select.as_ref(), self.active);
        if groups.len() < 2 {
            return vec![self];
        }
        let part = |cpus: CpuSet| {
            let mine = self.series.iter().filter(|series| cpus.contains(series.cpu));
            WorkloadRow { series: mine.copied().collect(), cpus: Some(cpus), ..self.clone() }
        };
        groups.into_iter().map(part).filter(|row| !row.series.is_empty()).collect()
    }

    /// Whether several streams share the cores.
    pub(super) fn is_mix(&self) -> bool {
        self.parameters.contains_key("spec")
    }

    /// The series of that quantity, one for each thread, by CPU.
    pub(super) fn of(&self, quantity: &str) -> Vec<&'a Series> {
        let mut all: Vec<&Series> =
            self.series.iter().filter(|series| series.quantity == quantity).copied().collect();
        if let Some(class) = shown_class(&all) {
            all.retain(|series| series.placement_class == *class);
        }
        all
    }

    /// The median over threads of the medians of that quantity.
    pub(super) fn median(&self, quantity: &str) -> Option<f64> {
        let of = self.of(quantity);
        median(&of.iter().filter_map(|s| Some(s.summary()?.median)).collect::<Vec<_>>())
    }

    /// How far that may be off as a share of it, of the thread of which it is known least; nothing where no thread has
    /// an interval.
    pub(super) fn uncertainty(&self, quantity: &str) -> f64 {
        let of = self.of(quantity);
        of.iter().filter_map(|s| s.summary()?.relative_uncertainty()).fold(0.0, f64::max)
    }

    /// The same median of its first blocks alone.
    pub(super) fn median_of_first(&self, quantity: &str, blocks: u64) -> Option<f64> {
        let first = |series: &&Series| -> Option<f64> {
            let mut medians = series.samples()?.numbered_medians();
            medians.sort_unstable_by_key(|(block, _)| *block);
            let first = medians.iter().take(blocks as usize).map(|(_, median)| *median);
            median(&first.collect::<Vec<_>>())
        };
        median(&self.of(quantity).iter().filter_map(first).collect::<Vec<_>>())
    }

    /// Why there is no number of that quantity, on the first thread that has none.
    pub(super) fn reason(&self, quantity: &str) -> Option<&'a Unavailable> {
        self.of(quantity).into_iter().find_map(|series| match &series.outcome {
            Outcome::Unavailable { unavailable } => Some(unavailable),
            Outcome::Measured { .. } => None,
        })
    }
}

/// All rows that this machine can execute, by number of active cores.
pub(super) fn rows(record: &Record) -> Vec<WorkloadRow<'_>> {
    let is_stream = |series: &Series| series.area == AREA && !super::is_question(&series.workload);
    let of = |Cell { workload, active, parameters, series }| WorkloadRow {
        workload,
        active,
        cpus: None,
        parameters,
        series,
    };
    let mut rows: Vec<WorkloadRow<'_>> = cells(record, is_stream).into_iter().map(of).collect();
    rows.retain(|row| !row.series.iter().all(|series| lacks_hardware(series)));
    rows.sort_by_key(|row| (row.core_type(), row.active.len()));
    rows
}

/// Rows of the same CPUs together, in order.
pub(super) fn by_cpus<'r, 'a>(rows: &'r [WorkloadRow<'a>]) -> Vec<Vec<&'r WorkloadRow<'a>>> {
    let cpus = |row: &&'r WorkloadRow<'a>| (row.core_type(), row.active, row.cpus.as_ref());
    let all = in_order(rows.iter().map(|row| cpus(&row)));
    all.into_iter().map(|of| rows.iter().filter(|row| cpus(row) == of).collect()).collect()
}

/// The same, each in parts of CPUs that are allowed as much.
pub(super) fn rows_alike(record: &Record) -> Vec<WorkloadRow<'_>> {
    rows(record).into_iter().flat_map(|row| row.alike(record)).collect()
}

/// The same as a page shows them, with a word on the parts that it leaves out.
pub(super) fn rows_shown(record: &Record) -> (Vec<WorkloadRow<'_>>, Option<String>) {
    let mut most = 0;
    let mut shown = Vec::new();
    for row in rows(record) {
        let parts = row.alike(record);
        most = most.max(parts.len());
        shown.extend(parts.into_iter().take(promise::GROUPS_MAX));
    }
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
