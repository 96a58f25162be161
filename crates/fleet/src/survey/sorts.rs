//! One result of all machines of a kind: the sorts that it cuts them into, and who is beyond the limit of his.

use std::collections::BTreeMap;
use std::ops::Range;

use model::stats::paired::Better;
use model::stats::{median, quantile_sorted};

use super::limits::{self, Sample, Tail};
use super::modes;
use super::rows::HostNumber;
use super::{Host, Names};
use crate::threads::each;

/// One machine in one result: the place of the machine, what is usual and what is here.
#[derive(Clone, Copy)]
pub(super) struct ApartHost {
    pub host: usize,
    pub result: usize,
    pub usual: f64,
    pub here: f64,
    /// The part of the usual speed that is lost.
    pub lost: f64,
}

/// The numbers of a result, ascending, and where each sort of machines ends. Those of many machines are large: what a
/// machine has of it besides stays with the machine.
pub(super) struct SortedResult {
    pub result: usize,
    better: Better,
    /// The places of the machines.
    pub hosts: Vec<u32>,
    pub values: Vec<f64>,
    ends: Vec<usize>,
}

/// What results of one sort have in common.
pub(super) type QuantityOfArea<'a> = (&'a str, &'a str);

/// The tail on the worse side of each quantity, by the median over its results: of one alone it is uncertain.
pub(super) fn tails<'a>(
    all: &[SortedResult],
    chance: f64,
    names: &'a Names,
) -> BTreeMap<QuantityOfArea<'a>, Tail> {
    let of_result = |place: usize| {
        let result = &all[place];
        let tails = result.sorts().filter_map(|sort| result.sample(sort, chance).tail());
        (result.quantity(names), tails.collect::<Vec<_>>())
    };
    let mut found: BTreeMap<QuantityOfArea<'a>, Vec<Tail>> = BTreeMap::new();
    for (quantity, tails) in each(all.len(), of_result) {
        found.entry(quantity).or_default().extend(tails);
    }
    let pooled = |tails: Vec<Tail>| {
        let middle =
            |of: fn(&Tail) -> f64| median(&tails.iter().map(of).collect::<Vec<_>>()).unwrap_or(0.0);
        Tail { bend: middle(|tail| tail.bend), excess: middle(|tail| tail.excess) }
    };
    found.into_iter().map(|(quantity, tails)| (quantity, pooled(tails))).collect()
}

impl SortedResult {
    pub(super) fn new(result: usize, better: Better, mut cells: Vec<(u32, f64)>) -> SortedResult {
        cells.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        let values: Vec<f64> = cells.iter().map(|cell| cell.1).collect();
        let ends = modes::cuts(&values).into_iter().chain([cells.len()]).collect();
        let hosts = cells.into_iter().map(|cell| cell.0).collect();
        SortedResult { result, better, hosts, values, ends }
    }

    /// The places of machines with their numbers.
    pub(super) fn cells(&self, sort: Range<usize>) -> impl Iterator<Item = (usize, f64)> {
        self.hosts[sort.clone()]
            .iter()
            .zip(&self.values[sort])
            .map(|(host, it)| (*host as usize, *it))
    }

    pub(super) fn quantity<'a>(&self, names: &'a Names) -> QuantityOfArea<'a> {
        let what = &names.results.all()[self.result].what;
        (&what.area, &what.quantity)
    }

    pub(super) fn sorts(&self) -> impl Iterator<Item = Range<usize>> {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| begin..*end)
    }

    fn sample(&self, sort: Range<usize>, chance: f64) -> Sample<'_> {
        Sample { numbers: &self.values[sort], worse_above: self.worse_above(), chance }
    }

    /// Whether greater numbers are worse.
    pub(super) fn worse_above(&self) -> bool {
        self.better == Better::Less
    }

    pub(super) fn apart(&self, (host, here): (usize, f64), usual: f64) -> ApartHost {
        ApartHost { host, result: self.result, usual, here, lost: self.lost(usual, here) }
    }

    /// The part of the usual speed that is lost.
    fn lost(&self, usual: f64, here: f64) -> f64 {
        match self.better {
            Better::More => 1.0 - here / usual,
            Better::Less => 1.0 - usual / here,
        }
    }

    /// Sorts that are worse than the best one.
    pub(super) fn worse_sorts(&self) -> Vec<Vec<ApartHost>> {
        let middle = |sort: Range<usize>| quantile_sorted(&self.values[sort], 0.5);
        let middles = self.sorts().map(middle);
        let best = match self.better {
            Better::More => middles.last(),
            Better::Less => self.sorts().map(middle).next(),
        };
        let Some(usual) = best.filter(|_| self.ends.len() > 1) else { return Vec::new() };
        let told = |sort: Range<usize>| {
            let lost = self.lost(usual, middle(sort.clone()));
            (lost > 0.0).then(|| self.cells(sort).map(|cell| self.apart(cell, usual)).collect())
        };
        self.sorts().filter_map(told).collect()
    }

    /// Machines that are worse than others of their sort by more than chance, with the whole of their interval where they
    /// have one.
    pub(super) fn beyond(&self, hosts: &[&Host], chance: f64, tail: Tail) -> Vec<ApartHost> {
        /// Among more, one machine moves neither median.
        const EACH_MAX: usize = 100;
        let mut found = Vec::new();
        for sort in self.sorts() {
            let sample = self.sample(sort.clone(), chance);
            let of_all = sample.usual(tail);
            for place in sort.clone() {
                let mut usual = of_all;
                if sort.len() <= EACH_MAX {
                    let others =
                        [&self.values[sort.start..place], &self.values[place + 1..sort.end]];
                    usual = Sample { numbers: &others.concat(), ..sample }.usual(tail);
                }
                let host = self.hosts[place] as usize;
                let is_beyond = |usual: &limits::Usual| {
                    hosts[host].result(self.result).is_some_and(|cell| self.is_beyond(cell, *usual))
                };
                if let Some(usual) = usual.filter(is_beyond) {
                    found.push(self.apart((host, self.values[place]), usual.middle));
                }
            }
        }
        found
    }

    fn is_beyond(&self, cell: HostNumber, usual: limits::Usual) -> bool {
        match self.better {
            Better::More => f64::from(cell.high).max(cell.median) < usual.middle - usual.reach,
            Better::Less => f64::from(cell.low).min(cell.median) > usual.middle + usual.reach,
        }
    }
}
