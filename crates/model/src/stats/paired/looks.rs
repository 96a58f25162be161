//! When a run may be stopped because it is decided: only where that was planned and is paid for.

use serde::{Deserialize, Serialize};

use super::signed_rank::{COUNT_MIN, critical};
use crate::{Obstacle, Unavailable};

/// The level of each look for 1 to 5 looks, so that all together call no difference a difference with a
/// chance of 5 %.
///
/// # Source
/// Pocock, Group sequential methods in the design and analysis of clinical trials, Biometrika 64, 1977,
/// table 1. A test integrates them again.
pub const LEVELS: [f64; 5] = [0.05, 0.0294, 0.0221, 0.0182, 0.0158];

/// The looks at a run, laid down before it begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Looks {
    /// After how many compared quads; ascending, and the last is the whole run.
    pub quads: Vec<u64>,
    /// The two-sided level of the test, and of the interval, at each of them.
    pub level: f64,
}

impl Looks {
    /// `looks` looks at a run of `quads` quads, the last of them at its end. They are evenly spaced,
    /// but the first waits until there are enough quads to decide anything, and looks that would
    /// coincide are one (and cost less).
    pub fn planned(quads: u64, looks: u64) -> Result<Looks, Unavailable> {
        if !(1..=LEVELS.len() as u64).contains(&looks) {
            return Err(cannot(format_args!(
                "{looks} looks; there are levels for 1 to {}",
                LEVELS.len()
            )));
        }
        // Rounded up, so that no later step is longer.
        let first = quads.div_ceil(looks).max(COUNT_MIN as u64).min(quads);
        let later = |look: u64| first + ((quads - first) * look).div_ceil((looks - 1).max(1));
        let mut at: Vec<u64> = (0..looks.saturating_sub(1)).map(later).collect();
        at.push(quads);
        at.dedup();
        Looks::at(at)
    }

    /// Looks after so many quads each. Refused where a look could not decide whatever was measured,
    /// and where a later step is longer than the first, because the levels do not hold then.
    pub fn at(quads: Vec<u64>) -> Result<Looks, Unavailable> {
        let Some(level) = quads.len().checked_sub(1).and_then(|last| LEVELS.get(last)).copied()
        else {
            let count = quads.len();
            return Err(cannot(format_args!(
                "{count} looks; there are levels for 1 to {}",
                LEVELS.len()
            )));
        };
        let steps = quads.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
        if steps.clone().any(|step| step == 0) {
            return Err(cannot(format_args!("after {quads:?} quads, which do not ascend")));
        }
        let first = quads[0];
        if first < COUNT_MIN as u64 || critical(first as usize, level).is_none() {
            return Err(cannot(format_args!("after {first} quads, which cannot decide anything"))
                .with_remedy(format!("{COUNT_MIN} quads or more")));
        }
        if steps.max().is_some_and(|longest| longest > first) {
            return Err(cannot(format_args!(
                "after {quads:?} quads: a later step is longer than the first, and the levels that \
                 are known do not pay for that"
            )));
        }
        Ok(Looks { quads, level })
    }

    /// Whether the run is looked at after so many compared quads.
    pub fn is_due(&self, compared: u64) -> bool {
        self.quads.contains(&compared)
    }

    /// How many quads are compared if nothing is decided earlier.
    pub fn last(&self) -> u64 {
        self.quads.last().copied().unwrap_or(0)
    }
}

fn cannot(what: impl std::fmt::Display) -> Unavailable {
    Unavailable::new(Obstacle::Cpudyno, "looks at the run", format!("cannot plan {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::normal;

    #[test]
    fn looks_that_cannot_decide_are_moved() {
        let at =
            |quads, looks| Looks::planned(quads, looks).map(|looks| (looks.quads, looks.level));
        assert_eq!(at(20, 1), Ok((vec![20], 0.05)));
        assert_eq!(at(20, 2), Ok((vec![10, 20], 0.0294)));
        assert_eq!(at(20, 5), Ok((vec![8, 11, 14, 17, 20], 0.0158)));
        assert_eq!(at(100, 5), Ok((vec![20, 40, 60, 80, 100], 0.0158)));
        assert_eq!(at(9, 5), Ok((vec![8, 9], 0.0294)));
        assert_eq!(at(8, 3), Ok((vec![8], 0.05)));
        assert_eq!(at(151, 5), Ok((vec![31, 61, 91, 121, 151], 0.0158)));
    }

    #[test]
    fn any_number_of_quads_has_its_looks() {
        for quads in COUNT_MIN as u64..1000 {
            for looks in 1..=LEVELS.len() as u64 {
                let planned = Looks::planned(quads, looks).expect("looks at any number of quads");
                let wanted = looks.min(quads - COUNT_MIN as u64 + 1);
                assert_eq!(planned.quads.len() as u64, wanted, "{looks} looks at {quads}");
                assert_eq!(planned.last(), quads);
            }
        }
    }

    #[test]
    fn plans_that_cannot_hold_are_refused() {
        for quads in [vec![], vec![7], vec![8, 8], vec![4, 20], vec![8, 40], (8..14).collect()] {
            let refused = Looks::at(quads.clone()).expect_err("it was planned");
            assert!(refused.why.starts_with("cannot plan"), "{quads:?}: {refused:?}");
        }
        assert!(Looks::planned(7, 1).is_err());
        assert!(Looks::planned(20, 0).is_err() && Looks::planned(20, 6).is_err());
        assert!(Looks::at(vec![8, 16, 20]).is_ok_and(|looks| looks.is_due(16) && !looks.is_due(9)));
    }

    /// The chance that a sum of standard normal steps is beyond `z` square roots at one of `looks`
    /// looks, by carrying the density of the runs that go on from look to look (Armitage, McPherson
    /// and Rowe, Repeated significance tests on accumulating data, J. R. Stat. Soc. A 132, 1969).
    fn chance_of_crossing(looks: usize, z: f64) -> f64 {
        const STEP: f64 = 0.02;
        let density = |x: f64| (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt();
        let grid = |look: usize| {
            let half = (z * (look as f64).sqrt() / STEP).floor() as i64;
            (-half..=half).map(|i| i as f64 * STEP).collect::<Vec<f64>>()
        };
        // The ends of the grid lie up to a step within the limits: their weight is what they stand for.
        let weight = |look: usize, index: usize, count: usize| {
            let limit = z * (look as f64).sqrt();
            let rest = limit - (limit / STEP).floor() * STEP;
            if index == 0 || index + 1 == count { STEP / 2.0 + rest } else { STEP }
        };
        let mut going_on: Vec<f64> = grid(1).iter().map(|x| density(*x)).collect();
        for look in 2..=looks {
            let (from, to) = (grid(look - 1), grid(look));
            let step = |x: &f64| {
                let terms = from.iter().zip(&going_on).enumerate();
                terms
                    .map(|(i, (y, share))| share * density(x - y) * weight(look - 1, i, from.len()))
                    .sum::<f64>()
            };
            going_on = to.iter().map(step).collect();
        }
        let count = going_on.len();
        1.0 - (0..count).map(|i| going_on[i] * weight(looks, i, count)).sum::<f64>()
    }

    #[test]
    fn the_levels_pay_for_the_looks() {
        for (index, level) in LEVELS.iter().enumerate() {
            let overall = chance_of_crossing(index + 1, normal::quantile(1.0 - level / 2.0));
            assert!((overall - 0.05).abs() < 4e-4, "{} looks: {overall}", index + 1);
        }
        // Without paying, five looks call no difference a difference in one of seven runs.
        assert!((chance_of_crossing(5, 1.96) - 0.142).abs() < 1e-3);
    }
}
