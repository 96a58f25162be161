//! Where the centre of numbers lies that are symmetric about it, and how well that is known.

use serde::{Deserialize, Serialize};

use crate::stats::normal;
use crate::{Known, Obstacle, Unavailable};

/// Up to so many numbers the null distribution is counted out; beyond, the normal approximation with
/// continuity correction is right to four of 5,050 ranks, on the careful side.
pub const EXACT_MAX: usize = 100;

/// Fewer numbers give no interval: below eight, a level of 1 % cannot be reached at all, and a single
/// disturbed number decides.
pub const COUNT_MIN: usize = 8;

/// An interval of a centre.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The chance that such an interval holds the centre; at least what was asked for, since ranks
    /// come in steps.
    pub confidence: f64,
}

impl Interval {
    /// Whether both ends are on the same side of zero.
    pub fn excludes_zero(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    /// Whether it lies between `-bound` and `bound`.
    pub fn is_within(&self, bound: f64) -> bool {
        self.low >= -bound && self.high <= bound
    }

    /// Whether it holds `value`.
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// A centre with its interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// How many numbers it rests on.
    pub count: u64,
    /// The Hodges-Lehmann estimate: the median of the Walsh averages, which are the means of all pairs
    /// of numbers, each also with itself.
    pub centre: f64,
    /// The interval of the signed-rank test: all centres that it does not reject.
    pub interval: Known<Interval>,
}

impl Estimate {
    /// The centre of numbers, with an interval whose two-sided level is at most `level`, such as 0.05.
    /// Zeros and ties need no care: Walsh averages exist for them too, and a closed interval holds its
    /// centre no less often (it becomes wider in confidence, never narrower). None for no numbers.
    ///
    /// # Source
    /// Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd edition, 3.2 and 3.3.
    pub fn of(numbers: &[f64], level: f64) -> Option<Estimate> {
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let mut averages = Averages::of(sorted);
        let (count, all) = (averages.sorted.len(), averages.count());
        (all > 0).then(|| Estimate {
            count: count as u64,
            centre: f64::midpoint(averages.nth(all.div_ceil(2)), averages.nth(all / 2 + 1)),
            interval: interval(&mut averages, level).into(),
        })
    }

    /// The standard deviation that one number seems to have: that of normal ones with an interval as
    /// wide. None without an interval.
    pub fn spread(&self) -> Option<f64> {
        let interval = self.interval.value()?;
        let z = normal::quantile(f64::midpoint(1.0, interval.confidence));
        Some((interval.high - interval.low) / 2.0 * (self.count as f64).sqrt() / z)
    }
}

fn interval(averages: &mut Averages, level: f64) -> Result<Interval, Unavailable> {
    let count = averages.sorted.len();
    let missing = |why: String| {
        Unavailable::new(Obstacle::Measurement, "interval", why)
            .with_remedy(format!("take {COUNT_MIN} or more"))
    };
    if count < COUNT_MIN {
        return Err(missing(format!(
            "there are {count}, and fewer than {COUNT_MIN} give no interval"
        )));
    }
    let critical = critical(count, level).ok_or_else(|| {
        missing(format!("{count} cannot reach a level of {:.2} %", level * 100.0))
    })?;
    Ok(Interval {
        low: averages.nth(critical.rank_sum + 1),
        high: averages.nth(averages.count() - critical.rank_sum),
        confidence: 1.0 - critical.level,
    })
}

/// Where the signed-rank test begins to reject.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Critical {
    /// The greatest sum of ranks of one sign that is rejected, `T`.
    pub rank_sum: usize,
    /// How often symmetric numbers about zero have a sum as small on one of the two sides.
    pub level: f64,
}

/// The critical value of the two-sided signed-rank test of `count` numbers: the greatest with a level
/// of at most `level`. None where even the most extreme outcome, of level 2 / 2^count, is too likely.
pub fn critical(count: usize, level: f64) -> Option<Critical> {
    if count > EXACT_MAX {
        return approximate(count, level);
    }
    let mut tail = 0.0;
    let mut found = None;
    for (rank_sum, chance) in chances(count).into_iter().enumerate() {
        tail += chance;
        // One part in 10^12 is for rounding: 2 * 0.025 is to reach 0.05.
        if 2.0 * tail > level * (1.0 + 1e-12) {
            break;
        }
        found = Some(Critical { rank_sum, level: 2.0 * tail });
    }
    found
}

/// How likely each sum of positive ranks is, up to the mean, when a fair coin gives each of the ranks 1
/// to `count` its sign: rank by rank, a sum is reached without it or with it.
fn chances(count: usize) -> Vec<f64> {
    let mut chances = vec![0.0; count * (count + 1) / 4 + 1];
    chances[0] = 1.0;
    for rank in 1..=count {
        let most = (rank * (rank + 1) / 2).min(chances.len() - 1);
        for sum in (0..=most).rev() {
            let with = if sum >= rank { chances[sum - rank] } else { 0.0 };
            chances[sum] = f64::midpoint(chances[sum], with);
        }
    }
    chances
}

/// The same by a normal distribution of equal mean and variance, with continuity correction.
fn approximate(count: usize, level: f64) -> Option<Critical> {
    let n = count as f64;
    let mean = n * (n + 1.0) / 4.0;
    let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    let rank_sum = (mean - normal::quantile(1.0 - level / 2.0) * deviation - 0.5).floor();
    let level = 2.0 * normal::cdf((rank_sum + 0.5 - mean) / deviation);
    (rank_sum >= 0.0).then_some(Critical { rank_sum: rank_sum as usize, level })
}

/// The Walsh averages of numbers: the means of two, each also with itself.
struct Averages {
    sorted: Vec<f64>,
    /// All of them in no order, of few numbers; of many they would fill the memory.
    listed: Option<Vec<f64>>,
}

impl Averages {
    fn of(sorted: Vec<f64>) -> Averages {
        /// Up to here it is faster to list them than to search.
        const LISTED_MAX: usize = 40;
        let listed = (sorted.len() <= LISTED_MAX).then(|| {
            let partners = |first: usize| sorted[first..].iter().map(move |second| (first, second));
            let pairs = (0..sorted.len()).flat_map(partners);
            pairs.map(|(first, second)| f64::midpoint(sorted[first], *second)).collect()
        });
        Averages { sorted, listed }
    }

    fn count(&self) -> usize {
        self.sorted.len() * (self.sorted.len() + 1) / 2
    }

    /// The `k`-th smallest, from 1.
    fn nth(&mut self, k: usize) -> f64 {
        match &mut self.listed {
            Some(listed) => *listed.select_nth_unstable_by(k - 1, f64::total_cmp).1,
            None => searched(&self.sorted, k),
        }
    }
}

/// The `k`-th smallest Walsh average (from 1), by halving the range of floating-point numbers and
/// counting the averages below, so that a million numbers need no more memory than themselves.
fn searched(sorted: &[f64], k: usize) -> f64 {
    let (mut low, mut high) = (key(sorted[0]), key(sorted[sorted.len() - 1]));
    while low < high {
        let middle = u64::midpoint(low, high);
        if averages_up_to(sorted, of_key(middle)) >= k { high = middle } else { low = middle + 1 }
    }
    // The smallest number for which the count suffices may be -0.
    of_key(low) + 0.0
}

/// How many Walsh averages are at most `value`.
fn averages_up_to(sorted: &[f64], value: f64) -> usize {
    let mut end = sorted.len();
    let mut count = 0;
    for (first, number) in sorted.iter().enumerate() {
        while end > first && f64::midpoint(*number, sorted[end - 1]) > value {
            end -= 1;
        }
        count += end - first.min(end);
    }
    count
}

/// A number that grows with the floating-point number.
fn key(value: f64) -> u64 {
    let bits = value.to_bits();
    if value.is_sign_negative() { !bits } else { bits | 1 << 63 }
}

/// The inverse of [`key`].
fn of_key(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn critical_values_are_those_of_the_tables() {
        // Hollander and Wolfe, table A.4, and every other one; two-sided.
        let of = |count, level| critical(count, level).map(|found| found.rank_sum);
        let five =
            [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (12, 13), (15, 25), (20, 52), (50, 434)];
        for (count, expected) in five {
            assert_eq!(of(count, 0.05), Some(expected), "{count} at 5 %");
        }
        for (count, expected) in [(8, 0), (10, 3), (15, 15), (20, 37), (30, 109)] {
            assert_eq!(of(count, 0.01), Some(expected), "{count} at 1 %");
        }
        assert_eq!(of(8, 0.0158), Some(1));
        assert_eq!((of(5, 0.05), of(7, 0.01), of(0, 0.05)), (None, None, None));
    }

    #[test]
    fn levels_are_counted_out() {
        // Of 256 ways to sign eight ranks 1, 1, 1, 2 have the sums 0, 1, 2, 3.
        let five = Critical { rank_sum: 3, level: 10.0 / 256.0 };
        assert_eq!(critical(8, 0.05), Some(five));
        assert_eq!(critical(8, 0.01), Some(Critical { rank_sum: 0, level: 2.0 / 256.0 }));
        // The distribution is symmetric; 60 ranks have a mean sum of 915, which is counted here.
        let chances = chances(60);
        let below: f64 = chances[..915].iter().sum();
        assert!((2.0 * below + chances[915] - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_approximation_goes_on_where_counting_ends() {
        for level in [0.05, 0.0158, 0.01] {
            let (exact, near) =
                (critical(EXACT_MAX, level).unwrap(), approximate(EXACT_MAX, level).unwrap());
            assert!((0..=4).contains(&(exact.rank_sum - near.rank_sum)), "{exact:?} {near:?}");
            assert!((exact.level - near.level).abs() < 2e-4, "{level}: {exact:?} {near:?}");
        }
        assert!(critical(100_000, 0.05).is_some());
    }

    #[test]
    fn a_centre_by_hand() {
        // Walsh averages of 1, 2, 6: 1, 1.5, 2, 3.5, 4, 6.
        let estimate = Estimate::of(&[6.0, 1.0, 2.0], 0.05).unwrap();
        assert_eq!((estimate.count, estimate.centre), (3, 2.75));
        let Known::No { unavailable } = estimate.interval else { panic!("an interval of three") };
        assert!(unavailable.why.contains("fewer than 8"), "{unavailable:?}");
        assert_eq!(Estimate::of(&[], 0.05), None);
    }

    #[test]
    fn an_interval_by_hand() {
        // The smallest Walsh averages of 1, 2, 4, 8, ... are 1, 1.5, 2, 2.5; the greatest 128, 96, 80, 72.
        let numbers: Vec<f64> = (0..8).map(|i| f64::from(1 << i)).collect();
        let interval = Estimate::of(&numbers, 0.05).unwrap().interval;
        let confidence = 1.0 - 10.0 / 256.0;
        assert_eq!(interval, Known::Yes(Interval { low: 2.5, high: 72.0, confidence }));
    }

    #[test]
    fn ties_and_zeros_have_an_interval() {
        let zeros = Estimate::of(&[0.0; 12], 0.05).unwrap();
        let interval = *zeros.interval.value().unwrap();
        assert_eq!((zeros.centre, interval.low, interval.high), (0.0, 0.0, 0.0));
        assert!(!interval.excludes_zero() && interval.is_within(0.0));
        assert_eq!(zeros.spread(), Some(0.0));
    }

    proptest! {
        #[test]
        fn searching_finds_what_is_in_the_list(
            numbers in proptest::collection::vec(-3i32..3, 1..40), scale in 1e-3f64..1e3
        ) {
            let mut sorted: Vec<f64> = numbers.iter().map(|n| f64::from(*n) * scale).collect();
            sorted.sort_unstable_by(f64::total_cmp);
            let mut listed = Averages::of(sorted.clone());
            let ranks = 1..=listed.count();
            let found: Vec<f64> = ranks.clone().map(|k| searched(&sorted, k)).collect();
            prop_assert!(found.is_sorted());
            prop_assert_eq!(found, ranks.map(|k| listed.nth(k)).collect::<Vec<f64>>());
        }

        #[test]
        fn an_estimate_moves_with_its_numbers(
            numbers in proptest::collection::vec(-1e3f64..1e3, 8..40), shift in -1e3f64..1e3
        ) {
            let moved: Vec<f64> = numbers.iter().map(|number| number + shift).collect();
            let (one, other) =
                (Estimate::of(&numbers, 0.05).unwrap(), Estimate::of(&moved, 0.05).unwrap());
            prop_assert!((one.centre + shift - other.centre).abs() < 1e-9);
            let (one, other) = (one.interval.value().unwrap(), other.interval.value().unwrap());
            prop_assert!((one.low + shift - other.low).abs() < 1e-9);
            prop_assert!(one.low <= one.high && other.confidence >= 0.95);
        }
    }
}
