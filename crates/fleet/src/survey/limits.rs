//! How far from the others a machine is too far, where thousands are looked at for hundreds of results each.

use model::stats::paired::BAND;
use model::stats::{mean, median, quantile_sorted};

/// The chances that [`FACTORS`] has columns for, each a tenth of the one before.
const FIRST_CHANCE: f64 = 1e-3;

/// By which factor of the deviation a number lies beyond those of others with a chance of 1e-3, 1e-4 ... 1e-10, of
/// normal numbers, by the count of others. Between rows that of fewer counts, between columns the logarithm is linear.
///
/// # Source
/// Medians and median distances of 6,000 (10,000 others) to 4,000,000 (8 others) draws; the chance is the mean over
/// draws of the normal tail beyond the limit that each gives. Up to 20 others, what is rarer than 1e-5 is continued as
/// the power that it follows up to there. A test draws them again, coarser.
#[rustfmt::skip]
const FACTORS: &[(usize, [f64; 8])] = &[
    (7, [17.9, 39.6, 88.0, 199.0, 446.0, 1000.0, 2240.0, 5020.0]),
    (8, [11.6, 21.4, 38.8, 71.0, 130.0, 238.0, 436.0, 798.0]),
    (10, [8.78, 14.7, 23.9, 39.0, 64.0, 105.0, 172.0, 282.0]),
    (12, [7.38, 11.6, 17.8, 27.3, 42.0, 64.0, 98.0, 150.0]),
    (15, [6.48, 9.75, 14.2, 20.8, 31.0, 46.0, 68.0, 100.0]),
    (20, [5.26, 7.31, 9.8, 12.8, 17.0, 22.6, 30.0, 40.0]),
    (30, [4.47, 5.87, 7.43, 9.18, 11.1, 13.3, 15.5, 17.6]),
    (50, [3.95, 4.96, 6.0, 7.1, 8.27, 9.54, 10.9, 12.3]),
    (100, [3.6, 4.38, 5.13, 5.85, 6.57, 7.27, 7.98, 8.7]),
    (200, [3.44, 4.13, 4.76, 5.35, 5.92, 6.47, 7.01, 7.54]),
    (500, [3.35, 3.98, 4.55, 5.07, 5.55, 6.01, 6.44, 6.86]),
    (1_000, [3.32, 3.94, 4.48, 4.98, 5.44, 5.87, 6.29, 6.66]),
    (3_000, [3.3, 3.91, 4.44, 4.92, 5.36, 5.78, 6.16, 6.53]),
    (10_000, [3.29, 3.9, 4.42, 4.9, 5.34, 5.74, 6.13, 6.49]),
];

/// Fewer machines say nothing of what is usual.
pub(super) const HOSTS_MIN: usize = 8;

/// The factor for a chance of one number, both sides.
fn factor(others: usize, chance: f64) -> Option<f64> {
    let (_, row) = FACTORS.iter().rev().find(|(count, _)| *count <= others)?;
    let place = (FIRST_CHANCE / chance).log10().clamp(0.0, (row.len() - 1) as f64);
    let (at, part) = (place.floor() as usize, place.fract());
    let next = row.get(at + 1).unwrap_or(&row[at]);
    Some((row[at].ln() * (1.0 - part) + next.ln() * part).exp())
}

/// The median distance from the median is that much smaller than the standard deviation of normal numbers.
const NORMAL: f64 = 1.4826;

/// What is usual among numbers, and how far from it on the worse side is too far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Usual {
    pub middle: f64,
    pub reach: f64,
}

/// Numbers and the side of them that is worse.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample<'a> {
    pub numbers: &'a [f64],
    /// Whether greater ones are worse.
    pub worse_above: bool,
    /// How likely one of them is beyond the limit by chance.
    pub chance: f64,
}

/// From so many numbers on, the worse side has a tail that is looked at.
const TAIL_MIN: usize = 30;

/// From so many on it has one of its own.
const OWN_MIN: usize = 100;

/// Shares of a side's distances, and where those of normal numbers end, in deviations; of how many distances.
const TAILS: [(f64, f64, usize); 3] = [(0.8, 1.2816, 15), (0.9, 1.6449, 60), (0.98, 2.3263, 400)];

/// Half of normal distances end here, in deviations.
const HALF: f64 = 0.674_49;

/// How distances on the worse side grow.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Tail {
    /// How much faster than normal ones: b of z + b z², relative to their deviation z.
    pub bend: f64,
    /// How far those beyond the last share that is known lie beyond it in the mean, in median distances: what is
    /// rarer is continued as an exponential tail, which normal ones are within.
    ///
    /// # Source
    /// J. Pickands, Ann. Statist. 3, 1975: excesses over a high threshold, here with shape 0. Where the bend alone was
    /// continued, 23 of 200 simulated fleets of 1,000 machines without a fault showed a suspect (`examples/alarms.rs`).
    pub excess: f64,
}

/// The share of so many distances up to which their growth is known, and where it ends in normal deviations.
fn known(distances: &[f64]) -> Option<(f64, f64)> {
    let tail = TAILS.iter().rev().find(|(_, _, least)| distances.len() >= *least)?;
    Some((tail.0, tail.1))
}

impl Sample<'_> {
    /// How the distances on the worse side grow; `None` where there are too few.
    ///
    /// What is beyond the limit of normal numbers says nothing of tails: of these machines one in five may be ill.
    pub(super) fn tail(&self) -> Option<Tail> {
        let (middle, plain) = self.plain()?;
        self.tail_of(&self.side(middle, plain))
    }

    /// The same of the distances of [`Sample::side`].
    fn tail_of(&self, distances: &[f64]) -> Option<Tail> {
        let (share, end) = known(distances)?;
        let (half, last) = (quantile_sorted(distances, 0.5), quantile_sorted(distances, share));
        let ratio = (last / end) / (half / HALF);
        // Nothing that grows faster still could be told from machines that are ill.
        let bend = (ratio - 1.0) / (end - ratio * HALF).max(end / 10.0);
        let beyond = &distances[distances.partition_point(|it| *it <= last)..];
        let excess = mean(beyond).map_or(0.0, |mean| (mean - last) / half);
        let is_known = self.numbers.len() >= TAIL_MIN && bend.is_finite() && excess.is_finite();
        is_known.then_some(Tail { bend, excess })
    }

    /// What is usual among these numbers, where results of this sort have that tail; `None` where they are too few.
    pub(super) fn usual(&self, tail: Tail) -> Option<Usual> {
        let (middle, plain) = self.plain()?;
        let factor = factor(self.numbers.len(), self.chance)?;
        let reach = |half: f64, bend: f64| half * (factor + bend * factor * factor);
        let reach = if self.numbers.len() >= OWN_MIN {
            let side = self.side(middle, plain);
            let own = self.tail_of(&side).unwrap_or_default();
            let (bend, excess) = (tail.bend.max(own.bend).max(0.0), tail.excess.max(own.excess));
            let half = quantile_sorted(&side, 0.5);
            // From where the tail is known on, exponentially: both are parts of one side.
            let last = known(&side).map_or(0.0, |(share, _)| {
                let times = ((1.0 - share) / self.chance).max(1.0);
                quantile_sorted(&side, share) + excess * half * times.ln()
            });
            reach(half / (HALF + bend * HALF * HALF), bend).max(last)
        } else {
            reach(plain / factor, tail.bend.max(0.0))
        };
        Some(Usual { middle, reach: reach.max(BAND * middle.abs()) })
    }

    /// The median, and how far normal numbers reach from it.
    fn plain(&self) -> Option<(f64, f64)> {
        let middle = median(self.numbers)?;
        let distances: Vec<f64> = self.numbers.iter().map(|it| (it - middle).abs()).collect();
        let factor = factor(self.numbers.len(), self.chance)?;
        Some((middle, median(&distances)? * NORMAL * factor))
    }

    /// How far worse numbers are from the middle, ascending, up to where normal ones end.
    fn side(&self, middle: f64, plain: f64) -> Vec<f64> {
        let sign = if self.worse_above { 1.0 } else { -1.0 };
        let distances = self.numbers.iter().map(|it| (it - middle) * sign);
        let mut side: Vec<f64> = distances.filter(|it| (0.0..=plain).contains(it)).collect();
        side.sort_unstable_by(f64::total_cmp);
        side
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::normal;

    fn of(numbers: &[f64], chance: f64) -> Sample<'_> {
        Sample { numbers, worse_above: true, chance }
    }

    #[test]
    fn as_many_normal_numbers_are_beyond_as_the_chance_says() {
        for (others, chance) in [(7, 1e-3), (12, 1e-3), (30, 1e-3), (50, 3e-4), (200, 1e-3)] {
            let mut random = fastrand::Rng::with_seed(others as u64);
            let trials = 40_000;
            // Far from 1 %, so that the band does not help.
            let beyond = (0..trials).filter(|_| {
                let mut number = || 100.0 + 10.0 * normal(&mut random);
                let all: Vec<f64> = (0..others).map(|_| number()).collect();
                let usual = of(&all, chance).usual(Tail::default()).unwrap();
                number() > usual.middle + usual.reach
            });
            // The other side is no fault.
            let expected = f64::from(trials) * chance / 2.0;
            let beyond = beyond.count() as f64;
            // What bends by chance moves limits of 100 and more out.
            let least = if others < OWN_MIN { expected * 0.4 } else { 0.0 };
            assert!((least..expected * 1.9).contains(&beyond), "{beyond} of {expected}, {others}");
        }
    }

    #[test]
    fn tails_that_are_exponential_are_continued_so() {
        // Of four million draws of these one in 100,000 is 6.33 above the median, and 5.4 if their bend is continued.
        const RARE: f64 = 6.33;
        let mut random = fastrand::Rng::with_seed(7);
        let mut number = || normal(&mut random) + 0.3 * normal(&mut random).powi(2);
        let mut reach = || {
            let all: Vec<f64> = (0..1_000).map(|_| 100.0 + 10.0 * number()).collect();
            of(&all, 2e-5).usual(Tail::default()).unwrap().reach / 10.0
        };
        let reaches: Vec<f64> = (0..40).map(|_| reach()).collect();
        let ratio = median(&reaches).unwrap() / RARE;
        assert!((0.95..1.15).contains(&ratio), "{ratio}");
    }

    #[test]
    fn rarer_chances_and_fewer_others_reach_farther() {
        let of = |others, chance| factor(others, chance).unwrap();
        assert!(of(20, 1e-5) > of(20, 1e-4) && of(20, 1e-4) > of(100, 1e-4));
        // Between columns: the geometric middle of 3.6 and 4.38.
        assert!((of(150, 10f64.powf(-3.5)) - 3.97).abs() < 0.01);
        assert_eq!(factor(6, 1e-3), None);
        assert!((of(20_000, 1e-20) - 6.49).abs() < 1e-9);
    }

    #[test]
    fn a_heavy_side_moves_its_limit_out_and_ill_machines_do_not() {
        let mut random = fastrand::Rng::with_seed(1);
        let numbers: Vec<f64> = (0..2_000).map(|_| normal(&mut random)).collect();
        let usual = |bend: f64, ill: usize| {
            let skewed = |x: &f64| 100.0 + if *x > 0.0 { x + bend * x * x } else { *x };
            let mut all: Vec<f64> = numbers.iter().map(skewed).collect();
            all.truncate(2_000 - ill);
            all.extend(vec![140.0; ill]);
            of(&all, 1e-6).usual(Tail::default()).unwrap().reach
        };
        let (plain, skewed, ill) = (usual(0.0, 0), usual(0.3, 0), usual(0.0, 100));
        // One in a million of both sides is 4.9 deviations: 4.9 and 0.3 x 24 are 12.1.
        assert!((4.7..6.5).contains(&plain), "{plain}");
        assert!((10.0..15.0).contains(&skewed), "{skewed}");
        assert!(ill < 8.0, "{ill}");
        // What others of its sort show holds for few, too.
        let few = of(&[99.0, 99.5, 99.8, 100.0, 100.1, 100.3, 100.4, 101.0, 102.0], 1e-4);
        let of = |bend: f64| few.usual(Tail { bend, excess: 0.0 }).unwrap().reach;
        assert!(of(0.3) > 3.0 * of(0.0));
        assert_eq!(few.tail(), None);
    }
}
