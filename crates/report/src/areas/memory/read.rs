//! Reading the area's series back out of a record.

use model::CpuSet;
use model::page::tally;
use model::record::{Record, Series, Topology};
use model::stats::modes::{APART, GAP, Group, groups};

use super::AREA;
pub(super) use crate::cells::Cell;
use model::areas::memory::{BESIDE_ELEMENTS, BESIDE_FOOTPRINT, QUESTION};
pub(super) use model::in_order;

/// What a page says of a series.
#[derive(Debug, Clone)]
pub(super) struct Numbers {
    /// Of the largest group.
    pub(super) median: f64,
    /// The tenth and the ninetieth hundredth of the largest group; none of a few samples.
    pub(super) spread: Option<[f64; 2]>,
    /// Of all samples.
    pub(super) max: f64,
    /// The farther end of the median's interval between blocks, relative to it; none of several modes.
    pub(super) uncertainty: Option<f64>,
    /// The groups that samples fall into, ascending: modes, and what is too little for one.
    groups: Vec<Group>,
}

impl Numbers {
    /// The modes, where there are several: together they have no middle.
    pub(super) fn modes(&self) -> Option<Vec<Group>> {
        let modes: Vec<Group> = self.groups.iter().copied().filter(Group::is_mode).collect();
        (modes.len() > 1).then_some(modes)
    }

    /// Groups that are too small for a mode: what was disturbed.
    pub(super) fn strays(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(|group| !group.is_mode())
    }

    /// Samples of all groups.
    pub(super) fn count(&self) -> usize {
        self.groups.iter().map(|group| group.count).sum()
    }
}

/// What memory controllers counted: in bytes per second, or for each byte that was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) read: f64,
    pub(super) written: f64,
}

impl Measured {
    /// Both ways together.
    pub(super) fn bytes(self) -> f64 {
        self.read + self.written
    }
}

/// Of fewer samples a tenth is none of them.
const SAMPLES_FOR_SPREAD: usize = 5;

impl<'a> Cell<'a> {
    /// What its size was limited by, to stand behind that size; nothing where there was room.
    pub(super) fn limited(&self) -> String {
        self.text("limited_by").map_or(String::new(), |by| format!("; limited by {by}"))
    }

    /// Bytes of each of its arrays, over all threads that move data.
    pub(super) fn array_bytes(&self) -> Option<u64> {
        let elements = self.number(BESIDE_ELEMENTS).or_else(|| self.number("elements"));
        elements.map(|elements| elements.saturating_mul(8))
    }

    /// Bytes of all that it goes over: of what moves data, where somebody follows pointers beside it.
    pub(super) fn footprint(&self) -> Option<u64> {
        self.number(BESIDE_FOOTPRINT).or_else(|| self.number("footprint"))
    }

    /// The series of that quantity. Classes of placement are not mixed either: all quantities are those of the class in
    /// which the cell has most samples.
    pub(super) fn shown(&self, quantity: &str) -> Option<&'a Series> {
        let count = |series: &Series| series.summary().map_or(0, |summary| summary.count);
        // The first one of equals.
        let most = self.series.iter().rev().max_by_key(|series| count(series));
        let shown = most.and_then(|series| series.placement_class.as_deref());
        self.all(quantity).min_by_key(|series| series.placement_class.as_deref() != shown)
    }

    /// The classes of placement in which that quantity was measured, the one that is shown first.
    pub(super) fn classes(&self, quantity: &str) -> Vec<&'a str> {
        let shown = self.shown(quantity).and_then(|series| series.placement_class.as_deref());
        let others = self.all(quantity).filter_map(|series| series.placement_class.as_deref());
        shown.into_iter().chain(others.filter(|class| Some(*class) != shown)).collect()
    }

    /// The numbers of that quantity.
    pub(super) fn numbers(&self, quantity: &str) -> Option<Numbers> {
        let series = self.shown(quantity)?;
        let (summary, samples) = (series.summary()?, series.samples()?.all());
        let groups = groups(&samples, GAP, APART);
        let main = groups.iter().copied().rev().max_by_key(|group| group.count)?;
        let numbers = Numbers {
            median: main.median,
            spread: (main.count >= SAMPLES_FOR_SPREAD).then_some([main.p10, main.p90]),
            max: summary.max,
            uncertainty: None,
            groups,
        };
        let uncertainty = summary.relative_uncertainty().filter(|_| numbers.modes().is_none());
        Some(Numbers { uncertainty, ..numbers })
    }

    /// Bytes per second that the memory controllers read and wrote meanwhile, where that was measured.
    pub(super) fn measured(&self) -> Option<Measured> {
        self.both_ways(["measured_read", "measured_write"])
    }

    /// The same for each byte that the program asked for.
    pub(super) fn measured_per_asked(&self) -> Option<Measured> {
        self.both_ways(["measured_read_per_asked", "measured_write_per_asked"])
    }

    fn both_ways(&self, quantities: [&str; 2]) -> Option<Measured> {
        let [read, written] = quantities.map(|id| Some(self.numbers(id)?.median));
        Some(Measured { read: read?, written: written? })
    }

    /// The median of the largest group of that quantity, where it can be calculated with: times and
    /// rates are positive.
    pub(in crate::areas) fn main_median(&self, quantity: &str) -> Option<f64> {
        Some(self.numbers(quantity)?.median).filter(|median| *median > 0.0)
    }
}

/// The cells of a question, in the order of the record.
pub(super) fn cells<'a>(record: &'a Record, question: &str) -> Vec<Cell<'a>> {
    let asked = |series: &Series| {
        let of = series.parameters.get(QUESTION);
        series.area == AREA && of.is_some_and(|of| of == question)
    };
    crate::cells::cells(record, asked)
}

/// Bytes per second that memory controllers read and wrote before the run or after it: the more.
pub(super) fn idle(record: &Record) -> Option<Measured> {
    let of = |quantity: &str| {
        let mut all = record.series.iter().filter(|s| s.area == "rig" && s.quantity == quantity);
        let medians = all.next()?.samples()?.numbered_medians();
        medians.into_iter().map(|(_, median)| median).reduce(f64::max)
    };
    Some(Measured { read: of("idle_read")?, written: of("idle_write")? })
}

/// How many, and which: `CPU 0`, `2 threads, CPUs 0-1`.
pub(super) fn threads(topology: &Topology, active: &CpuSet) -> String {
    match active.as_slice() {
        [cpu] => format!("Single-threaded, {}", topology.named(*cpu)),
        several => format!("{} threads, CPUs {active}", several.len()),
    }
}

/// The type of a core that is alone, where the machine has several.
pub(super) fn alone<'a>(topology: &'a Topology, active: &CpuSet) -> Option<&'a str> {
    let [cpu] = active.as_slice() else { return None };
    topology.kind(*cpu)
}

/// `8 cores`, `1 core`, `1 E core`.
pub(super) fn cores(topology: &Topology, active: &CpuSet) -> String {
    match alone(topology, active) {
        Some(kind) => format!("1 {kind} core"),
        None => tally(active.len(), "core"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, near, series};

    const ASKED: &[(&str, &str)] = &[(QUESTION, "bandwidth")];

    fn numbers(blocks: &[&[f64]]) -> Numbers {
        let mut record = blank();
        record.series = vec![series([AREA, "copy", "bandwidth"], "0", ASKED, blocks)];
        cells(&record, "bandwidth")[0].numbers("bandwidth").unwrap()
    }

    #[test]
    fn numbers_in_two_modes_are_those_of_the_larger_one_without_an_interval() {
        // 3 of 10 samples lie near 61, 7 near 113; between them 110 is 1.77 times 62.
        let found = numbers(&[
            &[60.0, 113.0],
            &[110.0, 61.0],
            &[111.0, 112.0],
            &[62.0, 114.0],
            &[115.0, 116.0],
        ]);
        near(found.median, 113.0);
        // Of seven, a tenth is 0.6 steps beyond the first, nine tenths 0.4 beyond the sixth.
        let [p10, p90] = found.spread.unwrap();
        near(p10, 110.6);
        near(p90, 115.4);
        near(found.max, 116.0);
        let modes: Vec<(usize, f64)> =
            found.modes().unwrap().iter().map(|mode| (mode.count, mode.median)).collect();
        assert_eq!(modes, [(3, 61.0), (7, 113.0)]);
        assert_eq!((found.uncertainty, found.count()), (None, 10));
    }

    #[test]
    fn numbers_of_five_blocks_are_known_to_the_farther_end_of_them() {
        let found = numbers(&[&[100.0], &[101.0], &[99.0], &[104.0], &[100.0]]);
        near(found.median, 100.0);
        // From 99 to 104: 4 of 100.
        near(found.uncertainty.unwrap(), 0.04);
        // 0.4 steps from 99 to 100, and 0.6 from 101 to 104.
        let [p10, p90] = found.spread.unwrap();
        near(p10, 99.4);
        near(p90, 102.8);
        let few = numbers(&[&[100.0], &[101.0], &[99.0], &[104.0]]);
        assert_eq!((few.uncertainty, few.spread), (None, None));
        near(few.median, 100.5);
    }

    #[test]
    fn a_cell_in_two_classes_shows_all_quantities_in_that_of_most_samples() {
        let mut record = blank();
        let mut put = |class: &str, quantity: &str, blocks: &[&[f64]]| {
            let of = series([AREA, "copy", quantity], "0-1", ASKED, blocks);
            record.series.push(Series { placement_class: Some(class.to_owned()), ..of });
        };
        put("same-core", "bandwidth", &[&[50.0], &[51.0]]);
        put("same-core", "measured_read", &[&[10.0]]);
        put("other", "measured_read", &[&[29.0], &[31.0]]);
        put("other", "bandwidth", &[&[80.0], &[81.0], &[85.0]]);
        let cell = &cells(&record, "bandwidth")[0];
        near(cell.main_median("bandwidth").unwrap(), 81.0);
        near(cell.main_median("measured_read").unwrap(), 30.0);
        assert_eq!(cell.classes("bandwidth"), ["other", "same-core"]);
    }

    #[test]
    fn what_others_move_is_the_more_of_before_and_after() {
        let mut record = blank();
        let mut put = |quantity: &str, ends: [f64; 2]| {
            let blocks: [&[f64]; 2] = [&ends[..1], &ends[1..]];
            record.series.push(series(["rig", "nothing", quantity], "0", &[], &blocks));
        };
        put("idle_read", [1e9, 3e9]);
        put("idle_written", [9e9, 9e9]);
        put("idle_write", [2e9, 5e8]);
        // 3 GB/s read after it, 2 GB/s written before it.
        near(idle(&record).unwrap().bytes(), 5e9);
        record.series.truncate(1);
        assert!(idle(&record).is_none());
    }
}
