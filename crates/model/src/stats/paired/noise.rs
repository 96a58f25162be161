//! How quiet the run was: what a reader must know of it beside the verdict.
//!
//! None of it changes an interval. Drift, memory and bursts are on both sides of each coin; two modes
//! and outliers make quads scatter, and intervals grow with that.

use serde::{Deserialize, Serialize};

use super::{Estimate, Kind, Order, Quad, log_ratios};
use crate::stats::{median, modes::Split};

/// One of the two that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// Before.
    A,
    /// After.
    B,
}

/// What the measurements of one arm look like, whatever quad they are in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Raw {
    /// Whose they are.
    pub arm: Arm,
    /// How many.
    pub count: u64,
    /// Their median, in their unit.
    pub median: f64,
    /// How many are farther from the median than five standard deviations, of normal numbers with the
    /// same median absolute deviation. Of many normal numbers one in two million is; in 3 % of runs of
    /// eight quads one is, because so few tell the deviation badly.
    pub outliers: u64,
    /// The medians of two groups that they fall into with nothing between, if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modes: Option<[f64; 2]>,
}

/// How quiet the run was, in numbers. All intervals are at a level of 1 %, because several are looked
/// at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Noise {
    /// The log ratio of a quad's level in the second half of the run to that of the quad as far into
    /// the first half. Steady drift over the whole run is twice that. None for a single quad.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Estimate>,
    /// How much greater the log ratio is in quads A B B A than in the mean of both orders. Curved drift
    /// within quads does that, and what an arm leaves behind for the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Estimate>,
    /// Correlation of the ranks of successive quads' log ratios, -1 to 1. The coins leave none of the
    /// noise in it: what is left is a ratio that itself changes over the run. None below eight quads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<f64>,
    /// The measurements of A, those of the control among them, and of B.
    pub arms: Vec<Raw>,
}

/// Something about the run that a reader must know.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "flag")]
pub enum Flag {
    /// Everything became slower or faster from beginning to end.
    Drift {
        /// Log ratio of the end to the beginning.
        whole: f64,
    },
    /// A fixed piece of work beside the measurements changed over the run by more than what is compared.
    Machine {
        /// Log ratio of the end to the beginning.
        whole: f64,
    },
    /// The two orders of a quad differ.
    Order {
        /// Log ratio of quads A B B A, less the mean of both orders.
        excess: f64,
    },
    /// The ratio of B to A changes over the run: what is told is its average over this run.
    Wanders {
        /// Correlation of the ranks of successive quads.
        memory: f64,
    },
    /// Measurements of one arm had no number far more often than those of the other.
    Lost {
        /// Whose they are.
        arm: Arm,
        /// How many quads that cost.
        lost: u64,
        /// Of how many that were lost in all.
        count: u64,
    },
    /// Measurements far from all others.
    Outliers {
        /// Whose they are.
        arm: Arm,
        /// How many.
        outliers: u64,
        /// Of how many.
        count: u64,
    },
    /// Measurements fall into two groups with nothing between them.
    TwoModes {
        /// Whose they are.
        arm: Arm,
        /// Medians of the groups, in the unit of the measurements.
        medians: [f64; 2],
    },
}

/// The level of the intervals here.
const LEVEL: f64 = 0.01;

impl Flag {
    /// That one arm lost quads more often than chance has it, where both lose them alike: what is left
    /// of that arm may be its better half.
    pub fn lost([a, b]: [u64; 2]) -> Option<Flag> {
        let (arm, lost) = if a > b { (Arm::A, a) } else { (Arm::B, b) };
        let count = a + b;
        // Both tails.
        (2.0 * of_coins(count, lost) < LEVEL).then_some(Flag::Lost { arm, lost, count })
    }
}

/// The chance that at least so many of fair coins show heads.
fn of_coins(coins: u64, heads: u64) -> f64 {
    let mut term = -(coins as f64) * std::f64::consts::LN_2;
    let mut sum = 0.0;
    for head in 0..=coins {
        sum += if head >= heads { term.exp() } else { 0.0 };
        term += ((coins - head) as f64 / (head + 1) as f64).ln();
    }
    sum
}

impl Noise {
    /// Looks at a whole run, quads in the order in which they were measured, in which ln(B / A) is
    /// `log_ratio`.
    pub fn of(run: &[Quad], log_ratio: f64) -> Noise {
        Noise {
            drift: drift(run, log_ratio),
            order: order(run, log_ratio),
            memory: memory(&log_ratios(run, Kind::Compared)),
            arms: [Arm::A, Arm::B].into_iter().filter_map(|arm| Raw::of(run, arm)).collect(),
        }
    }

    /// What a reader must know. Effects on measurements count from the band on (a log ratio).
    pub fn flags(&self, band: f64) -> Vec<Flag> {
        let effect = |estimate: &Option<Estimate>, times: f64| {
            let estimate = estimate.as_ref()?;
            let there = estimate.interval.value()?.excludes_zero();
            let size = times * estimate.centre;
            (there && size.abs() > band).then_some(size)
        };
        let mut flags = Vec::new();
        flags.extend(effect(&self.drift, 2.0).map(|whole| Flag::Drift { whole }));
        flags.extend(effect(&self.order, 1.0).map(|excess| Flag::Order { excess }));
        flags.extend(self.wanders().map(|memory| Flag::Wanders { memory }));
        for raw in &self.arms {
            let Raw { arm, count, outliers, .. } = *raw;
            if outliers > 0 {
                flags.push(Flag::Outliers { arm, outliers, count });
            }
            flags.extend(raw.modes.map(|medians| Flag::TwoModes { arm, medians }));
        }
        flags
    }

    /// The memory of the quads, where independent ones have as much in less than one run of a hundred.
    fn wanders(&self) -> Option<f64> {
        /// The 99th percentile of a standard normal number.
        const Z: f64 = 2.33;
        let memory = self.memory?;
        // Arm A has two measurements in each quad, B only in those that compare.
        let measured = self.arms.iter().find(|raw| raw.arm == Arm::B)?.count;
        (memory > Z / (measured as f64 / 2.0).sqrt()).then_some(memory)
    }
}

impl Raw {
    fn of(run: &[Quad], arm: Arm) -> Option<Raw> {
        let of_arm = |quad: &Quad| {
            let arms = quad.slot.order.arms();
            let whose = move |seat: usize| match quad.slot.kind {
                Kind::Compared => arms[seat],
                Kind::Control => Arm::A,
            };
            let values = quad.values;
            (0..4)
                .filter(move |seat| whose(*seat) == arm)
                .map(move |seat| values[seat])
                .collect::<Vec<_>>()
        };
        let values: Vec<f64> = run.iter().flat_map(of_arm).collect();
        Some(Raw {
            arm,
            count: values.len() as u64,
            median: median(&values)?,
            outliers: outliers(&values)?,
            modes: two_modes(&values),
        })
    }
}

/// How many logarithms are farther from their median than five standard deviations.
fn outliers(values: &[f64]) -> Option<u64> {
    const FAR: f64 = 5.0;
    /// Standard deviations of normal numbers per median absolute deviation.
    const DEVIATIONS: f64 = 1.4826;
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let centre = median(&logs)?;
    let distances: Vec<f64> = logs.iter().map(|log| (log - centre).abs()).collect();
    let limit = FAR * DEVIATIONS * median(&distances)?;
    // Where more than half are equal, as times from a coarse clock are, nothing can be said.
    let far = distances.iter().filter(|distance| **distance > limit).count() as u64;
    Some(if limit > 0.0 { far } else { 0 })
}

fn two_modes(values: &[f64]) -> Option<[f64; 2]> {
    /// Of 10,000 runs with normal noise none of 20 quads had as much, and 1 % of those of 8.
    const SEPARATION_MIN: f64 = 5.0;
    let split = Split::of(values)?;
    (split.separation() >= SEPARATION_MIN).then(|| split.modes.map(|mode| mode.median))
}

/// Pairs of quads half a run apart. The levels of their A alone are compared: B less the ratio is A.
///
/// # Source
/// The pairs are those of Cox and Stuart, Some quick sign tests for trend, Biometrika 42, 1955.
pub(super) fn drift(run: &[Quad], log_ratio: f64) -> Option<Estimate> {
    let level = |quad: &Quad| {
        let of_b = if quad.slot.kind == Kind::Compared { log_ratio / 2.0 } else { 0.0 };
        quad.values.iter().map(|value| value.ln()).sum::<f64>() / 4.0 - of_b
    };
    let levels: Vec<f64> = run.iter().map(level).collect();
    let half = levels.len() / 2;
    let later = &levels[levels.len() - half..];
    let pairs: Vec<f64> = later.iter().zip(&levels).map(|(later, early)| later - early).collect();
    Estimate::of(&pairs, LEVEL)
}

fn order(run: &[Quad], log_ratio: f64) -> Option<Estimate> {
    let compared = run.iter().filter(|quad| quad.slot.kind == Kind::Compared);
    let excess = compared.map(|quad| {
        let excess = quad.log_ratio() - log_ratio;
        if quad.slot.order == Order::Abba { excess } else { -excess }
    });
    Estimate::of(&excess.collect::<Vec<_>>(), LEVEL)
}

/// The correlation of successive ranks. Ranks, so that one burst is no correlation.
fn memory(log_ratios: &[f64]) -> Option<f64> {
    let count = log_ratios.len();
    if count < super::COUNT_MIN {
        return None;
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| log_ratios[*a].total_cmp(&log_ratios[*b]));
    let mut centred = vec![0.0; count];
    for (rank, index) in order.into_iter().enumerate() {
        centred[index] = rank as f64 - (count as f64 - 1.0) / 2.0;
    }
    let square: f64 = centred.iter().map(|rank| rank * rank).sum();
    let product: f64 = centred.windows(2).map(|pair| pair[0] * pair[1]).sum();
    Some(product / square)
}

#[cfg(test)]
mod tests {
    use super::super::{Draw, schedule, simulated, simulated::Disturbance};
    use super::*;

    #[test]
    fn one_arm_that_loses_most_quads_is_told() {
        // Of 8 coins all alike: 2 / 256; 7 of 8: 18 / 256.
        assert!((of_coins(8, 8) - 1.0 / 256.0).abs() < 1e-12);
        assert!((of_coins(8, 7) - 9.0 / 256.0).abs() < 1e-12);
        assert_eq!(Flag::lost([0, 8]), Some(Flag::Lost { arm: Arm::B, lost: 8, count: 8 }));
        assert_eq!([Flag::lost([7, 1]), Flag::lost([0, 0]), Flag::lost([20, 20])], [None; 3]);
        assert_eq!(Flag::lost([90, 60]), None);
        assert!(Flag::lost([90, 50]).is_some());
    }

    const BAND: f64 = 0.01;

    /// A run of twenty quads and their controls, with a change made to each measurement: by its place
    /// in the run, its place in the quad and whether it is B's.
    fn run(seed: u64, spread: f64, change: impl Fn(usize, usize, bool) -> f64) -> Vec<Quad> {
        let mut chance = fastrand::Rng::with_seed(seed);
        let draw: Draw<'_> = &mut |below| chance.u64(..below);
        let slots = schedule(20, 4, draw);
        let mut run = simulated::run(&slots, 1.0, Disturbance::None, spread, draw);
        for (place, quad) in run.iter_mut().enumerate() {
            let arms = quad.slot.order.arms();
            for (seat, value) in quad.values.iter_mut().enumerate() {
                let of_b = arms[seat] == Arm::B && quad.slot.kind == Kind::Compared;
                *value *= change(place, seat, of_b).exp();
            }
        }
        run
    }

    fn flags(run: &[Quad]) -> Vec<Flag> {
        let centre = Estimate::of(&log_ratios(run, Kind::Compared), 0.05).unwrap().centre;
        Noise::of(run, centre).flags(BAND)
    }

    #[test]
    fn quiet_runs_are_rarely_flagged() {
        let flagged: usize = (0..500)
            .map(|seed| usize::from(!flags(&run(seed, 0.02, |_, _, _| 0.0)).is_empty()))
            .sum();
        // Three effects at 1 %, and some outliers: about one run of 30.
        assert!((5..30).contains(&flagged), "{flagged} of 500");
    }

    #[test]
    fn drift_is_told() {
        let run = run(1, 0.01, |place, seat, _| 0.1 * (4 * place + seat) as f64 / 108.0);
        let flags = flags(&run);
        let [Flag::Drift { whole }] = flags[..] else { panic!("{flags:?}") };
        assert!((whole - 0.1).abs() < 0.02, "{whole}");
    }

    #[test]
    fn an_order_effect_is_told() {
        // The two in the middle take 3 % longer, whoever they are.
        let run = run(2, 0.01, |_, seat, _| if seat == 1 || seat == 2 { 0.03 } else { 0.0 });
        let flags = flags(&run);
        let [Flag::Order { excess }] = flags[..] else { panic!("{flags:?}") };
        assert!((excess - 0.03).abs() < 0.01, "{excess}");
    }

    #[test]
    fn a_ratio_that_wanders_is_told() {
        let run = run(3, 0.01, |place, _, b| if b { 0.004 * place as f64 } else { 0.0 });
        assert!(flags(&run).iter().any(|flag| matches!(flag, Flag::Wanders { .. })));
    }

    #[test]
    fn outliers_and_modes_are_told_by_arm() {
        let burst = run(4, 0.01, |place, _, b| if b && place % 9 == 0 { 0.3 } else { 0.0 });
        let noise = Noise::of(&burst, 0.0);
        assert_eq!(
            noise.arms.iter().map(|raw| raw.outliers > 0).collect::<Vec<_>>(),
            [false, true]
        );
        assert_eq!(noise.arms[0].count + noise.arms[1].count, 108);
        let modes = run(5, 0.005, |place, _, b| if b && place % 2 == 0 { 0.1 } else { 0.0 });
        let flags = flags(&modes);
        let found = flags.iter().find_map(|flag| match flag {
            Flag::TwoModes { arm, medians } => Some((*arm, medians[1] / medians[0])),
            _ => None,
        });
        let (arm, apart) = found.unwrap_or_else(|| panic!("{flags:?}"));
        assert!(arm == Arm::B && (apart.ln() - 0.1).abs() < 0.01, "{apart}");
    }
}
