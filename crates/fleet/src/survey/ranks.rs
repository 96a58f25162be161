//! Facts that go with worse results, though no machine alone is beyond a limit.
//!
//! Of each text of a fact the sum of ranks is asked for each result: whether those that say it are worse than others
//! of their sort. What sorts come from, such as another firmware, is so not told again of what merely stands beside.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use model::stats::{median, normal};

use super::kind::KindOfHost;
use super::limits;
use super::modes::APART_MIN;
use super::separators::{CHANCE_MAX, DifferingFact};
use super::sorts::{ApartHost, SortedResult};
use crate::threads::each;

/// A text of a fact: the place of the fact, and the number of the text.
type FactText = (usize, Option<u32>);

/// Machines that say the same, in the results in which they are worse; the least likely by chance come first.
///
/// # Source
/// H. B. Mann and D. R. Whitney, Ann. Math. Stat. 18, 1947, with the normal limit; sums over sorts as of van Elteren,
/// Bull. Int. Stat. Inst. 37, 1960, each sort with the weight of its machines.
pub(super) fn worse(kind: &KindOfHost<'_>, ill: &BTreeSet<usize>) -> Vec<Vec<ApartHost>> {
    let asked: Vec<Vec<Option<u32>>> = kind.facts.iter().map(|fact| asked(fact.counts())).collect();
    let tried = kind.results.len() * asked.iter().map(Vec::len).sum::<usize>();
    let look = |result: usize| {
        let ranked = Ranked::of(&kind.results[result], ill);
        let of_fact = |(place, fact): (usize, &DifferingFact)| {
            let chances = ranked.chances(&fact.texts, &asked[place]).into_iter();
            let told = chances.filter_map(|(text, chance)| {
                let chance = Some(chance * tried as f64).filter(|it| *it <= CHANCE_MAX)?;
                let worse = ranked.apart(&|host| fact.texts[host] == text)?;
                Some(((place, text), chance, worse))
            });
            told.collect::<Vec<_>>()
        };
        kind.facts.iter().enumerate().flat_map(of_fact).collect::<Vec<_>>()
    };
    let mut found: BTreeMap<FactText, (f64, Vec<ApartHost>)> = BTreeMap::new();
    for (said, chance, worse) in each(kind.results.len(), look).into_iter().flatten() {
        let known = found.entry(said).or_insert((chance, Vec::new()));
        known.0 = known.0.min(chance);
        known.1.extend(worse);
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

/// The machines of a result that are well, with their ranks, by sort.
struct Ranked<'a> {
    result: &'a SortedResult,
    sorts: Vec<Vec<RankedHost>>,
}

struct RankedHost {
    host: usize,
    value: f64,
    /// From the middle one on: worse ones are above 0.
    rank: f64,
}

impl Ranked<'_> {
    fn of<'a>(result: &'a SortedResult, ill: &BTreeSet<usize>) -> Ranked<'a> {
        let sign = if result.worse_above() { 1.0 } else { -1.0 };
        let ranked = |sort: Range<usize>| {
            let well = result.cells(sort).filter(|(host, _)| !ill.contains(host));
            let zero = |(host, value)| RankedHost { host, value, rank: 0.0 };
            let mut well: Vec<RankedHost> = well.map(zero).collect();
            let middle = (well.len() as f64 - 1.0) / 2.0;
            let mut first = 0;
            // What is alike has the middle of its ranks.
            for alike in well.chunk_by_mut(|a, b| a.value.total_cmp(&b.value).is_eq()) {
                let rank = first as f64 + (alike.len() as f64 - 1.0) / 2.0;
                first += alike.len();
                for it in alike {
                    it.rank = sign * (rank - middle);
                }
            }
            well
        };
        Ranked { result, sorts: result.sorts().map(ranked).collect() }
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
            for RankedHost { host, rank, .. } in sort {
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

    /// What machines that say something lose against the others of their sort; nothing where that is nobody's concern.
    fn apart(&self, says: &dyn Fn(usize) -> bool) -> Option<Vec<ApartHost>> {
        let mut found = Vec::new();
        for sort in &self.sorts {
            let (these, others): (Vec<&RankedHost>, Vec<&RankedHost>) =
                sort.iter().partition(|it| says(it.host));
            let others: Vec<f64> = others.iter().map(|it| it.value).collect();
            let Some(usual) = median(&others).filter(|_| others.len() >= limits::HOSTS_MIN) else {
                continue;
            };
            found.extend(these.into_iter().map(|it| self.result.apart((it.host, it.value), usual)));
        }
        let lost = median(&found.iter().map(|it| it.lost).collect::<Vec<_>>())?;
        (lost >= APART_MIN).then_some(found)
    }
}
