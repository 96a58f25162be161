//! More than two arms: which is best, and which are as good?
//!
//! A *block* measures every arm twice: all of them in an order of chance, and then in that order backwards. Any two arms
//! of it are a quad, A B B A or B A A B as a fair coin says, so that all that [`super`] promises of quads holds for each
//! pair. One seat more has the first arm again: the control.

use serde::{Deserialize, Serialize};

use super::signed_rank::critical;
use super::{Better, COUNT_MIN, Draw, EXACT_MAX, Estimate, Kind, Order, Quad, Rules, Slot};
use crate::{Obstacle, Unavailable};

/// The level at which the control is called different; see [`super::compare`].
const CONTROL_LEVEL: f64 = 0.01;

/// All arms, twice each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepBlock {
    /// Whose turn it was in the first half; the second half is the same backwards. The number after the last arm is
    /// the control: the first arm again.
    pub order: Vec<usize>,
    /// The measurements as they were taken, in the unit of their quantity: twice as many.
    pub values: Vec<f64>,
    /// The power that the packages drew meanwhile, in watts; empty where nobody asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watts: Vec<f64>,
}

/// What a measurement is related to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// To the power: who is best takes the least energy for its work.
    Watt,
    /// To the energy of the work: who is best has the least product of energy and time.
    Joule,
}

impl Per {
    /// How often the measurement itself, and the power, are factors of what is ranked.
    fn powers(self) -> (i32, i32) {
        match self {
            Per::Watt => (1, 1),
            Per::Joule => (2, 1),
        }
    }
}

impl SweepBlock {
    /// Refuses what has no ratio: a measurement that is not a positive, finite number.
    pub fn new(
        order: Vec<usize>,
        values: Vec<f64>,
        watts: Vec<f64>,
    ) -> Result<SweepBlock, Unavailable> {
        match values.iter().chain(&watts).find(|value| !value.is_finite() || **value <= 0.0) {
            Some(value) => Err(Unavailable::new(
                Obstacle::Measurement,
                "ratio of settings",
                format!("a measurement is {value}, and a ratio needs numbers above 0"),
            )),
            None => Ok(SweepBlock { order, values, watts }),
        }
    }

    /// The same with measurements that were related to power or energy: times become times watts, rates become rates
    /// per watt. None where the power is not known.
    pub fn related(&self, per: Per, better: Better) -> Option<SweepBlock> {
        let (own, power) = per.powers();
        let related = |(value, watts): (&f64, &f64)| match better {
            Better::Less => value.powi(own) * watts.powi(power),
            Better::More => value.powi(own) / watts.powi(power),
        };
        let is_whole = self.watts.len() == self.values.len();
        let values = self.values.iter().zip(&self.watts).map(related).collect();
        is_whole.then_some(SweepBlock { order: self.order.clone(), values, watts: Vec::new() })
    }

    /// The order of a whole block whose first half is this one.
    pub fn seats(first: &[usize]) -> impl Iterator<Item = usize> {
        first.iter().chain(first.iter().rev()).copied()
    }

    /// Both measurements of an arm, in their order; none: it is not in this block.
    pub fn of(&self, arm: usize) -> Option<[f64; 2]> {
        self.both(&self.values, arm)
    }

    /// The power during both, in watts; none: nobody asked for it.
    pub fn watts_of(&self, arm: usize) -> Option<[f64; 2]> {
        self.both(&self.watts, arm)
    }

    fn both(&self, seats: &[f64], arm: usize) -> Option<[f64; 2]> {
        let at = self.order.iter().position(|other| *other == arm)?;
        let back = (2 * self.order.len()).checked_sub(at + 1)?;
        Some([*seats.get(at)?, *seats.get(back)?])
    }

    /// Two arms of it as a quad; none where one of them is not in it.
    fn quad(&self, kind: Kind, a: usize, b: usize) -> Option<Quad> {
        let at = |arm: usize| self.order.iter().position(|other| *other == arm);
        let ([a1, a2], [b1, b2]) = (self.of(a)?, self.of(b)?);
        let (order, values) = if at(a)? < at(b)? {
            (Order::Abba, [a1, b1, b2, a2])
        } else {
            (Order::Baab, [b1, a1, a2, b2])
        };
        Quad::new(Slot { kind, order }, values).ok()
    }
}

/// An order of chance in which each of so many seats comes once.
pub fn shuffled(seats: usize, draw: Draw<'_>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..seats).collect();
    for last in (1..seats).rev() {
        order.swap(last, draw(last as u64 + 1) as usize);
    }
    order
}

/// How an arm compares with the best one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ArmStanding {
    /// It is the best one.
    Best,
    /// The whole interval lies within the band: it is as good.
    Within,
    /// The whole interval lies beyond the band: it is worse.
    Worse,
    /// The interval holds both, or there is none.
    Unclear,
}

/// An arm, compared with the best one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ranked {
    /// Its number.
    pub arm: usize,
    /// How much worse it is, as a log ratio: above 0 for what costs more, or yields less. None for the best one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Estimate>,
    /// What may be said.
    pub standing: ArmStanding,
}

/// What a sweep says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ranking {
    /// The best arm.
    pub best: usize,
    /// Each arm that was measured, in the order of the sweep.
    pub arms: Vec<Ranked>,
    /// The first arm, in the order of the sweep, that loses no more than the band.
    pub knee: usize,
    /// Between these arms it lies: the first one that is not surely worse, and the first one that is surely as good.
    pub knee_between: [usize; 2],
    /// The log ratio of the first arm's second seat to its first one, at a level of 1 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Estimate>,
}

impl Ranking {
    /// Whether every arm is known to be as good as the best one, or worse.
    pub fn is_decided(&self) -> bool {
        self.arms.iter().all(|arm| arm.standing != ArmStanding::Unclear)
    }

    /// Whether it is known which arm the knee is.
    pub fn knee_is_known(&self) -> bool {
        self.knee_between == [self.knee; 2]
    }

    /// Whether the control says that nothing differs which is the same.
    pub fn is_sound(&self, band: f64) -> bool {
        let differs = |control: &Estimate| {
            control.centre.abs() > band.ln_1p()
                && control.interval.value().is_some_and(super::Interval::excludes_zero)
        };
        !self.control.as_ref().is_some_and(differs)
    }
}

/// Ranks so many arms by blocks, all of the arms in each; the level is shared by all comparisons with the best one
/// (Bonferroni), so that all intervals together hold what they are to hold. None without a block.
pub fn rank(arms: usize, blocks: &[SweepBlock], rules: &Rules) -> Option<Ranking> {
    let losses = |of: usize, from: usize, kind: Kind| -> Vec<f64> {
        let quads = blocks.iter().filter_map(|block| block.quad(kind, from, of));
        quads.map(|quad| quad.log_ratio() * worse(rules.better)).collect()
    };
    let first = *blocks.iter().flat_map(|block| &block.order).filter(|arm| **arm < arms).min()?;
    let centre = |arm: usize| {
        let losses = losses(arm, first, Kind::Compared);
        Some((arm, Estimate::of(&losses, rules.level)?.centre))
    };
    // The first arm loses nothing against itself.
    let further = (first + 1..arms).filter_map(centre);
    let centres: Vec<(usize, f64)> = std::iter::once((first, 0.0)).chain(further).collect();
    let (best, _) = *centres.iter().min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let level = level(centres.len(), rules.level);
    let ranked = |&(arm, _): &(usize, f64)| {
        let loss = if arm == best {
            None
        } else {
            Estimate::of(&losses(arm, best, Kind::Compared), level)
        };
        let standing = match &loss {
            None => ArmStanding::Best,
            Some(loss) => standing(loss, rules.log_band()),
        };
        Ranked { arm, loss, standing }
    };
    let ranked: Vec<Ranked> = centres.iter().map(ranked).collect();
    let least = |is_it: &dyn Fn(&Ranked) -> bool| {
        ranked.iter().find(|arm| is_it(arm)).map_or(best, |arm| arm.arm)
    };
    let loses = |arm: &Ranked| arm.loss.as_ref().map_or(0.0, |loss| loss.centre);
    let sure = |arm: &Ranked| matches!(arm.standing, ArmStanding::Best | ArmStanding::Within);
    Some(Ranking {
        best,
        knee: least(&|arm| loses(arm) <= rules.log_band()),
        knee_between: [least(&|arm| arm.standing != ArmStanding::Worse), least(&sure)],
        control: Estimate::of(&losses(arms, first, Kind::Control), CONTROL_LEVEL),
        arms: ranked,
    })
}

fn standing(loss: &Estimate, band: f64) -> ArmStanding {
    match loss.interval.value() {
        Some(interval) if interval.high <= band => ArmStanding::Within,
        Some(interval) if interval.low > band => ArmStanding::Worse,
        _ => ArmStanding::Unclear,
    }
}

/// The sign with which a log ratio is a loss.
fn worse(better: Better) -> f64 {
    match better {
        Better::Less => 1.0,
        Better::More => -1.0,
    }
}

/// The level of each comparison, of all that there are among so many arms.
fn level(arms: usize, level: f64) -> f64 {
    level / arms.saturating_sub(1).max(1) as f64
}

/// The fewest blocks of which one can decide at this level.
pub fn fewest_blocks(arms: usize, all: f64) -> usize {
    let decides = |count: &usize| critical(*count, level(arms, all)).is_some();
    (COUNT_MIN..EXACT_MAX).find(decides).unwrap_or(COUNT_MIN)
}

#[cfg(test)]
mod tests {
    use super::super::simulated::{Disturbance, noise};
    use super::ArmStanding::{Best, Within, Worse};
    use super::*;

    const RULES: Rules = Rules { better: Better::Less, band: 0.02, level: 0.05 };

    /// Blocks on a machine on which arms take so long, with noise of that relative spread.
    fn run(truth: &[f64], count: usize, noises: &[f64], draw: Draw<'_>) -> Vec<SweepBlock> {
        let seats = truth.len() + 1;
        let mut noises = noises.chunks_exact(2 * seats);
        let mut block = || {
            let order = shuffled(seats, draw);
            let noise = noises.next().unwrap();
            let of = |(seat, noise): (usize, &f64)| {
                truth[if seat == truth.len() { 0 } else { seat }] * noise.exp()
            };
            let values = SweepBlock::seats(&order).zip(noise).map(of).collect();
            SweepBlock::new(order, values, Vec::new()).unwrap()
        };
        (0..count).map(|_| block()).collect()
    }

    #[test]
    fn a_block_cancels_drift_for_every_pair() {
        let mut chance = fastrand::Rng::with_seed(1);
        let mut draw = |below: u64| chance.u64(..below);
        let drift: Vec<f64> = (0..10 * 8).map(|place| 0.01 * f64::from(place)).collect();
        let blocks = run(&[1.0, 1.1, 1.3], 10, &drift, &mut draw);
        let ranking = rank(3, &blocks, &RULES).unwrap();
        let loss = |arm: usize| ranking.arms[arm].loss.as_ref().unwrap().centre;
        assert_eq!(ranking.best, 0);
        assert!((loss(1) - 1.1f64.ln()).abs() < 1e-9 && (loss(2) - 1.3f64.ln()).abs() < 1e-9);
        assert!(ranking.control.is_some_and(|control| control.centre.abs() < 1e-9));
    }

    #[test]
    fn the_knee_is_the_first_that_is_good_enough() {
        let mut chance = fastrand::Rng::with_seed(2);
        let mut draw = |below: u64| chance.u64(..below);
        let calm = vec![0.0; 12 * 12];
        let blocks = run(&[2.0, 1.5, 1.015, 1.0, 1.2], 12, &calm, &mut draw);
        let ranking = rank(5, &blocks, &RULES).unwrap();
        assert_eq!((ranking.best, ranking.knee, ranking.knee_between), (3, 2, [2, 2]));
        let standings: Vec<ArmStanding> = ranking.arms.iter().map(|arm| arm.standing).collect();
        assert_eq!(standings, [Worse, Worse, Within, Best, Worse]);
        // The same rates, of which more is better.
        let more = Rules { better: Better::More, ..RULES };
        assert_eq!(rank(5, &blocks, &more).map(|ranking| ranking.best), Some(0));
    }

    #[test]
    fn hostile_blocks_are_no_panic() {
        assert_eq!(rank(3, &[], &RULES), None);
        let odd = SweepBlock { order: vec![7, 0], values: vec![1.0], watts: vec![] };
        let none = SweepBlock { order: vec![], values: vec![], watts: vec![1.0] };
        assert!(rank(2, &[odd, none], &RULES).is_none_or(|it| it.arms.len() == 1));
        assert!(SweepBlock::new(vec![0], vec![1.0, 0.0], vec![]).is_err());
    }

    #[test]
    fn energy_and_energy_times_time_may_have_two_winners() {
        // The second arm takes a tenth longer with three quarters of the power, the third one twice as long with half.
        let (order, values) = (vec![0, 1, 2, 3], vec![1.0, 1.1, 2.0, 1.0, 1.0, 2.0, 1.1, 1.0]);
        let watts = vec![100.0, 75.0, 40.0, 100.0, 100.0, 40.0, 75.0, 100.0];
        let block = SweepBlock::new(order, values, watts).unwrap();
        let best = |per: Per| {
            let blocks = vec![block.related(per, Better::Less).unwrap(); 8];
            rank(3, &blocks, &RULES).map(|ranking| ranking.best)
        };
        assert_eq!([best(Per::Watt), best(Per::Joule)], [Some(2), Some(1)]);
        let without = SweepBlock { watts: Vec::new(), ..block.clone() };
        assert_eq!(without.related(Per::Watt, Better::Less), None);
    }

    #[test]
    fn the_fewest_blocks_can_decide() {
        assert_eq!(fewest_blocks(2, 0.05), COUNT_MIN);
        for arms in 2..60 {
            let fewest = fewest_blocks(arms, 0.0158);
            assert!(critical(fewest, 0.0158 / (arms - 1) as f64).is_some());
        }
    }

    /// 200 sweeps of a curve that bends, whatever disturbs the machine: the knee is found within one step in 95 % and
    /// more, the intervals hold what they promise.
    #[test]
    fn knees_of_simulated_sweeps_are_within_one_step() {
        let truth: Vec<f64> = (0..8).map(|step| 1.0 + 0.8 * (-f64::from(step)).exp()).collect();
        let best = truth.iter().copied().fold(f64::INFINITY, f64::min);
        let knee = truth.iter().position(|time| time / best <= 1.02).unwrap();
        let (mut chance, count) = (fastrand::Rng::with_seed(3), 12);
        for disturbance in Disturbance::EACH {
            let (mut near, mut held) = (0, 0);
            for _ in 0..200 {
                let mut draw = |below: u64| chance.u64(..below);
                let noises = noise(2 * 9 * count, disturbance, 0.01, &mut draw);
                let ranking = rank(8, &run(&truth, count, &noises, &mut draw), &RULES).unwrap();
                near += u32::from(ranking.knee.abs_diff(knee) <= 1);
                held +=
                    u32::from((ranking.knee_between[0]..=ranking.knee_between[1]).contains(&knee));
            }
            assert!(near >= 190, "{disturbance:?}: {near} of 200 knees are within one step");
            assert!(held >= 190, "{disturbance:?}: {held} of 200 ranges hold the knee");
        }
    }
}
