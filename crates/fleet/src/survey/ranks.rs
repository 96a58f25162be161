//! Facts that go with worse results, though no machine alone is beyond a limit.
//!
//! Of each text of a fact the sum of ranks is asked for each result: whether those that say it are worse than others
//! of their sort. What sorts come from, such as another firmware, is so not told again of what merely stands beside.

use std::collections::BTreeMap;

use model::stats::{median, normal};

use super::kind::KindOfHost;
use super::limits;
use super::modes::APART_MIN;
use super::separators::CHANCE_MAX;
use super::sorts::{ApartHost, HostCell, SortedResult};

/// A text of a fact: the place of the fact, and the number of the text.
type FactText = (usize, Option<u32>);

/// Machines that say the same, in the results in which they are worse; the least likely by chance come first.
///
/// # Source
/// H. B. Mann and D. R. Whitney, Ann. Math. Stat. 18, 1947, with the normal limit; sums over sorts as of van Elteren,
/// Bull. Int. Stat. Inst. 37, 1960, each sort with the weight of its machines.
pub(super) fn worse(kind: &KindOfHost<'_>, all: &[SortedResult]) -> Vec<Vec<ApartHost>> {
    let asked: Vec<Vec<Option<u32>>> = kind.facts.iter().map(|fact| asked(fact.counts())).collect();
    let tried = all.len() * asked.iter().map(Vec::len).sum::<usize>();
    let mut found: BTreeMap<FactText, (f64, Vec<ApartHost>)> = BTreeMap::new();
    for result in all {
        let ranked = Ranked::of(result);
        for (place, fact) in kind.facts.iter().enumerate() {
            for (text, chance) in ranked.chances(&fact.texts, &asked[place]) {
                let chance = chance * tried as f64;
                let worse = if chance <= CHANCE_MAX {
                    apart(result, &|host| fact.texts[host] == text)
                } else {
                    None
                };
                if let Some(worse) = worse {
                    let known = found.entry((place, text)).or_insert((chance, Vec::new()));
                    known.0 = known.0.min(chance);
                    known.1.extend(worse);
                }
            }
        }
    }
    let mut found: Vec<(f64, Vec<ApartHost>)> = found.into_values().collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.into_iter().map(|(_, group)| group).collect()
}

/// The texts that enough machines say, and not most of them.
fn asked(counts: Vec<(Option<u32>, usize)>) -> Vec<Option<u32>> {
    let all: usize = counts.iter().map(|it| it.1).sum();
    let is_asked = |count: usize| count >= limits::HOSTS_MIN && count * 2 <= all;
    counts.into_iter().filter(|it| is_asked(it.1)).map(|it| it.0).collect()
}

/// The machines of a result with their ranks, by sort.
struct Ranked {
    /// The place of a machine and its rank, from the middle one on: worse ones are above 0.
    sorts: Vec<Vec<(usize, f64)>>,
}

impl Ranked {
    fn of(result: &SortedResult) -> Ranked {
        let sign = if result.worse_above() { 1.0 } else { -1.0 };
        let ranked = |sort: std::ops::Range<usize>| {
            let (values, cells) = (&result.values[sort.clone()], &result.cells[sort]);
            let middle = (values.len() as f64 - 1.0) / 2.0;
            let rank = |value: f64| {
                let below = values.partition_point(|it| *it < value);
                let alike = values.partition_point(|it| *it <= value) - below;
                sign * (below as f64 + (alike as f64 - 1.0) / 2.0 - middle)
            };
            cells.iter().map(|(host, cell)| (*host, rank(cell.median))).collect()
        };
        Ranked { sorts: result.sorts().map(ranked).collect() }
    }

    /// How likely machines that say each of these texts are as bad by chance.
    fn chances(&self, texts: &[Option<u32>], asked: &[Option<u32>]) -> Vec<(Option<u32>, f64)> {
        // Few texts are asked of a fact, except where each group of machines says another one.
        let mut numbers: Vec<(Option<u32>, usize)> =
            asked.iter().enumerate().map(|(number, text)| (*text, number)).collect();
        numbers.sort_unstable();
        let number = |text: &Option<u32>| {
            numbers.binary_search_by_key(text, |it| it.0).ok().map(|at| numbers[at].1)
        };
        let mut sums = vec![(0.0, 0.0); asked.len()];
        let mut of_sort = vec![(0.0, 0.0); asked.len()];
        for sort in &self.sorts {
            of_sort.fill((0.0, 0.0));
            for (host, rank) in sort {
                if let Some(number) = number(&texts[*host]) {
                    of_sort[number].0 += rank;
                    of_sort[number].1 += 1.0;
                }
            }
            let all = sort.len() as f64;
            for ((sum, variance), (ranks, count)) in sums.iter_mut().zip(&of_sort) {
                *sum += ranks;
                *variance += count * (all - count) * (all + 1.0) / 12.0;
            }
        }
        let chance = |(sum, variance): &(f64, f64)| {
            if *variance > 0.0 { normal::cdf(-sum / variance.sqrt()) } else { 1.0 }
        };
        asked.iter().copied().zip(sums.iter().map(chance)).collect()
    }
}

/// What machines that say something lose against the others of their sort; nothing where that is nobody's concern.
fn apart(result: &SortedResult, says: &dyn Fn(usize) -> bool) -> Option<Vec<ApartHost>> {
    let mut found = Vec::new();
    for sort in result.sorts() {
        let (these, others): (Vec<&HostCell>, Vec<&HostCell>) =
            result.cells[sort].iter().partition(|(host, _)| says(*host));
        let others: Vec<f64> = others.iter().map(|it| it.1.median).collect();
        let Some(usual) = median(&others).filter(|_| others.len() >= limits::HOSTS_MIN) else {
            continue;
        };
        found.extend(these.into_iter().map(|(host, cell)| result.apart(*host, *cell, usual)));
    }
    let lost = median(&found.iter().map(|it| it.lost).collect::<Vec<_>>())?;
    (lost >= APART_MIN).then_some(found)
}
