//! Order statistics over samples. Nothing here assumes a distribution.

pub mod modes;
pub mod normal;
pub mod paired;
pub mod steps;
pub mod welch;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The `q`-quantile of sorted, non-empty values, linearly interpolated (Hyndman and Fan, type 7).
///
/// # Panics
/// When there are no values: a summary of nothing is `unavailable`, never a number.
pub fn quantile_sorted(sorted: &[f64], q: f64) -> f64 {
    assert!(!sorted.is_empty(), "BUG: quantile of nothing");
    let position = q.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64)
}

/// The `q`-quantile of values in any order; `None` when there are none.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    (!sorted.is_empty()).then(|| quantile_sorted(&sorted, q))
}

/// The median; `None` when there are no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let is_even = values.len().is_multiple_of(2);
    let middle = values.len().checked_sub(1)? / 2;
    // Of many records there are many: most of an order is not needed.
    let mut values = values.to_vec();
    let (_, &mut low, above) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let next = above.iter().copied().min_by(f64::total_cmp).filter(|_| is_even);
    Some(next.map_or(low, |next| low + (next - low) * 0.5))
}

/// The median over CPUs of each block, where `medians` has the block's number and the median of one CPU: CPUs that
/// were measured together are no independent blocks.
pub fn block_medians(medians: impl Iterator<Item = (u64, f64)>) -> Vec<f64> {
    let mut blocks: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (block, of_cpu) in medians {
        blocks.entry(block).or_default().push(of_cpu);
    }
    blocks.values().filter_map(|over_cpus| median(over_cpus)).collect()
}

/// The mean; `None` when there are no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// A number to so many significant digits, one at least.
///
/// # Caveats
/// What lies in the middle of two such numbers, as near as doubles tell, goes to either.
pub fn to_digits(value: f64, digits: usize) -> f64 {
    /// Powers of ten up to here are exact, and so are integers with fewer digits than doubles have.
    const EXACT: f64 = 22.0;
    let after_point = digits.saturating_sub(1);
    let shift = after_point as f64 - value.abs().log10().floor();
    if shift.abs() > EXACT || after_point >= f64::DIGITS as usize {
        return format!("{value:.after_point$e}").parse().unwrap_or(value);
    }
    // One rounding: the quotient, or the product, of two exact numbers is the double next to the decimal.
    let power = 10f64.powi(shift.abs() as i32);
    let (up, down) = if shift < 0.0 { (1.0, power) } else { (power, 1.0) };
    (value * up / down).round_ties_even() / up * down
}

/// The same, but never more than the number itself, which is above zero.
pub fn cut_to_digits(value: f64, digits: usize) -> f64 {
    let text = format!("{value:e}");
    let with_point = digits + 1;
    let cut = |(all, exponent): (&str, &str)| format!("{all:.with_point$}e{exponent}").parse().ok();
    text.split_once('e').and_then(cut).unwrap_or(value)
}

/// Fewer blocks than this give no interval: the spread of a few is no spread.
pub const BLOCKS_FOR_INTERVAL: usize = 5;

/// The interval that holds the true median with a confidence of 95 %, whatever the distribution: from
/// the k-th smallest to the k-th largest block median, where k is the largest for which the chance
/// that a fair coin falls fewer than k times on one of its sides is at most 5 %. With five blocks, from
/// the smallest to the largest (94 %); with fewer there is none.
///
/// # Source
/// Order-statistic interval for a quantile; e.g. David and Nagaraja, Order Statistics, 7.1.
pub fn median_interval(block_medians: &[f64]) -> Option<[f64; 2]> {
    let ends = interval_places(block_medians.len())?;
    let mut sorted = block_medians.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(ends.map(|place| sorted[place]))
}

/// Where the ends of that interval stand among so many numbers, ascending.
pub fn interval_places(count: usize) -> Option<[usize; 2]> {
    let k = interval_rank(count).max(1);
    (count >= BLOCKS_FOR_INTERVAL).then(|| [k - 1, count - k])
}

/// The largest k for which a fair coin, thrown `count` times, falls fewer than k times on one of its
/// sides with a chance of at most 5 %.
fn interval_rank(count: usize) -> usize {
    /// From here on the normal approximation is right to one rank, and 0.5^count is not yet zero.
    const EXACT_MAX: usize = 100;
    if count > EXACT_MAX {
        let count = count as f64;
        return ((count - 1.96 * count.sqrt()) / 2.0).floor() as usize;
    }
    let mut term = 0.5f64.powi(count as i32);
    let mut tail = term;
    let mut rank = 0;
    while 2.0 * tail <= 0.05 {
        term *= (count - rank) as f64 / (rank + 1) as f64;
        tail += term;
        rank += 1;
    }
    rank
}

/// The chance that as many of these numbers lie on one side of a value, or more, where that is their median: the
/// sign test, of both sides. What is equal to it says nothing.
///
/// # Source
/// Arbuthnott, 1710; e.g. Conover, Practical Nonparametric Statistics, 3.4.
pub fn chance_of_sides(numbers: &[f64], value: f64) -> f64 {
    let above = numbers.iter().filter(|number| **number > value).count();
    let below = numbers.iter().filter(|number| **number < value).count();
    let (count, fewer) = (above + below, above.min(below));
    let mut term = 0.5f64.powi(count as i32);
    let mut sum = term;
    for taken in 0..fewer {
        term *= (count - taken) as f64 / (taken + 1) as f64;
        sum += term;
    }
    (2.0 * sum).min(1.0)
}

/// Which of several hypotheses are discoveries, by their chances of being none, so that of all discoveries no
/// greater share than `rate` is false on the average.
///
/// # Source
/// Benjamini and Hochberg, Controlling the false discovery rate, Journal of the Royal Statistical Society B 57, 1995.
pub fn discoveries(chances: &[f64], rate: f64) -> Vec<bool> {
    let mut sorted = chances.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let is_below = |(place, chance): &(usize, f64)| *chance <= rate * (place + 1) as f64 / count;
    let last = sorted.into_iter().enumerate().rfind(is_below);
    let most = last.map_or(f64::NEG_INFINITY, |(_, chance)| chance);
    chances.iter().map(|chance| *chance <= most).collect()
}

/// The share that is not exceeded with a confidence of 95 %, when `hits` of `trials` were seen: the
/// greatest with which as few hits still come in one of twenty series.
///
/// # Source
/// Clopper and Pearson, The use of confidence or fiducial limits illustrated in the case of the
/// binomial, Biometrika 26, 1934; one-sided.
pub fn share_at_most(hits: u64, trials: u64) -> f64 {
    if hits >= trials {
        return 1.0;
    }
    // The chance of at most so many hits; in logarithms, because its terms begin below what a number
    // can hold.
    let chance = |share: f64| {
        let odds = (share / (1.0 - share)).ln();
        let mut term = trials as f64 * (1.0 - share).ln();
        let mut sum = term.exp();
        for hit in 1..=hits {
            term += ((trials - hit + 1) as f64 / hit as f64).ln() + odds;
            sum += term.exp();
        }
        sum
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if chance(middle) > 0.05 { low = middle } else { high = middle }
    }
    high
}

/// What a reader needs of a series. Every field can be computed again from the samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// Number of samples that the summary rests on.
    pub count: u64,
    /// Number of blocks that the summary rests on.
    pub blocks: u64,
    /// Smallest sample.
    pub min: f64,
    /// 5th percentile.
    pub p5: f64,
    /// Median of all samples.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Largest sample.
    pub max: f64,
    /// Interval of the median, from the spread between blocks taken over the whole run (see
    /// [`median_interval`]), and as far as to the median itself. Absent with fewer than five blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_blocks: Option<[f64; 2]>,
}

impl Summary {
    /// Summarises samples and the medians of their blocks; `None` when there are no samples.
    pub fn of(samples: &[f64], block_medians: &[f64]) -> Option<Summary> {
        let mut all = samples.to_vec();
        all.sort_unstable_by(f64::total_cmp);
        let (&min, &max) = (all.first()?, all.last()?);
        let median = quantile_sorted(&all, 0.5);
        // That of the blocks may be another: samples are kept in bins, and not each block has as many.
        let with_median = |[low, high]: [f64; 2]| [low.min(median), high.max(median)];
        Some(Summary {
            count: all.len() as u64,
            blocks: block_medians.len() as u64,
            min,
            p5: quantile_sorted(&all, 0.05),
            median,
            p95: quantile_sorted(&all, 0.95),
            max,
            between_blocks: median_interval(block_medians).map(with_median),
        })
    }

    /// The farther end of the interval from the median, relative to it: the `± x %` of a number.
    pub fn relative_uncertainty(&self) -> Option<f64> {
        let [low, high] = self.between_blocks?;
        let farther = (high - self.median).max(self.median - low).max(0.0);
        (self.median > 0.0).then(|| farther / self.median)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_rounded_or_cut() {
        let found = [
            to_digits(3.6556e-9, 2),
            cut_to_digits(3.6556e-9, 2),
            cut_to_digits(19.999, 2),
            cut_to_digits(3e-9, 2),
            cut_to_digits(0.0996, 1),
        ];
        let found = found.map(|it| format!("{it:e}"));
        assert_eq!(found, ["3.7e-9", "3.6e-9", "1.9e1", "3e-9", "9e-2"]);
    }

    #[test]
    fn the_median_is_the_half_quantile() {
        let mut values = Vec::new();
        assert_eq!(median(&values), None);
        for number in 0..40u32 {
            values.push(f64::from(number * 17 % 23) / 7.0);
            assert_eq!(median(&values), quantile(&values, 0.5), "{values:?}");
        }
    }
    use proptest::prelude::*;

    #[test]
    fn chances_of_sides_are_those_of_a_coin() {
        let all = [1.1; 12];
        assert!((chance_of_sides(&all, 1.0) - 2.0 / 4096.0).abs() < 1e-12);
        let mut but_one = all;
        but_one[3] = 0.9;
        assert!((chance_of_sides(&but_one, 1.0) - 26.0 / 4096.0).abs() < 1e-12);
        assert!((chance_of_sides(&[0.9, 1.1], 1.0) - 1.0).abs() < 1e-12);
        assert!(
            (chance_of_sides(&[1.0; 9], 1.0) - 1.0).abs() < 1e-12,
            "what is equal says nothing"
        );
    }

    /// The example of the paper: of fifteen, four are discoveries at a rate of 5 %.
    #[test]
    fn discoveries_are_those_of_benjamini_and_hochberg() {
        let chances = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let found = discoveries(&chances, 0.05);
        assert_eq!(found.iter().filter(|it| **it).count(), 4);
        assert!(found[..4].iter().all(|it| *it));
        assert!(discoveries(&[], 0.05).is_empty());
        assert_eq!(discoveries(&[0.2, 0.04], 0.05), [false, false]);
        // One of seventy is believed where all of twelve blocks agree.
        let mut one = vec![0.9; 70];
        one[7] = 2.0 / 4096.0;
        assert!(discoveries(&one, 0.05)[7]);
    }

    #[test]
    fn quantiles_interpolate() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), Some(2.5));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn fewer_than_five_blocks_have_no_interval() {
        let of = |medians: &[f64]| Summary::of(medians, medians).unwrap().between_blocks;
        assert_eq!(of(&[1.0, 2.0, 3.0, 4.0]), None);
        assert_eq!(of(&[1.0, 2.0, 3.0, 4.0, 5.0]), Some([1.0, 5.0]));
        assert_eq!(Summary::of(&[], &[]), None);
    }

    #[test]
    fn intervals_are_those_of_the_tables() {
        let interval = |count: usize| {
            let medians: Vec<f64> = (1..=count).map(|i| i as f64).collect();
            median_interval(&medians)
        };
        // Ranks as published for the sign test at 95 %.
        assert_eq!(interval(6), Some([1.0, 6.0]));
        assert_eq!(interval(9), Some([2.0, 8.0]));
        assert_eq!(interval(20), Some([6.0, 15.0]));
        assert_eq!(interval(30), Some([10.0, 21.0]));
        assert_eq!(interval(100), Some([40.0, 61.0]));
        // Beyond a hundred by the normal approximation; 0.5^1200 is not even a number.
        assert_eq!(interval(101), Some([40.0, 62.0]));
        assert_eq!(interval(1200), Some([566.0, 635.0]));
    }

    #[test]
    fn shares_are_bounded_as_in_the_tables() {
        // Without a hit: 1 - 0.05^(1/n). Published: 5 of 10 are at most 77.7 %, 95 of 2,000 at most 5.6 %.
        for (hits, trials, bound) in [(0, 20, 0.1391), (5, 10, 0.7776), (20, 20, 1.0)] {
            assert!((share_at_most(hits, trials) - bound).abs() < 1e-4, "{hits} of {trials}");
        }
        assert!((share_at_most(95, 2000) - 0.0561).abs() < 5e-4);
    }

    proptest! {
        #[test]
        fn digits_are_those_of_the_decimal(
            mantissa in prop_oneof![Just(0.0), -10.0f64..10.0], exponent in -30i32..30,
            digits in 1usize..9
        ) {
            let value = mantissa * 10f64.powi(exponent);
            let after_point = digits - 1;
            let (kept, text) = (to_digits(value, digits), format!("{value:.after_point$e}"));
            let decimal: f64 = text.parse().unwrap();
            // In the middle of two, either: nothing else may differ, not even by the last bit.
            let further = |number: f64| (number - value).abs();
            prop_assert!(
                kept.to_bits() == decimal.to_bits() || further(kept) <= further(decimal) * (1.0 + 1e-6),
                "{} {} {}", value, kept, decimal
            );
            let again: f64 = format!("{kept:.after_point$e}").parse().unwrap();
            prop_assert_eq!(again.to_bits(), kept.to_bits());
        }

        #[test]
        fn a_summary_is_ordered_and_ignores_the_order_of_samples(
            mut values in proptest::collection::vec(-1e9f64..1e9, 1..200)
        ) {
            let forward = Summary::of(&values, &[]).unwrap();
            values.reverse();
            prop_assert_eq!(forward, Summary::of(&values, &[]).unwrap());
            let steps = [forward.min, forward.p5, forward.median, forward.p95, forward.max];
            prop_assert!(steps.windows(2).all(|pair| pair[0] <= pair[1]));
        }

        #[test]
        fn an_interval_holds_its_median(
            values in proptest::collection::vec(-1e9f64..1e9, 1..50),
            medians in proptest::collection::vec(-1e9f64..1e9, 5..20)
        ) {
            let summary = Summary::of(&values, &medians).unwrap();
            let [low, high] = summary.between_blocks.unwrap();
            prop_assert!((low..=high).contains(&summary.median));
        }
    }
}
