//! Before and after: is B faster than A, by how much, and how sure is that?
//!
//! What is compared are *quads* of four measurements in a row, A B B A or B A A B, as a coin says. A
//! quad gives one log ratio, ln(B / A), from which linear drift has cancelled. The coin is what the
//! statistics rest on: whatever noise four measurements have, B A A B would have turned its sign, so
//! that without a difference each log ratio is as likely to be `x` as `-x`, for drift, bursts and
//! correlated noise alike. That symmetry is all that the signed-rank test needs.
//!
//! Some quads compare A with A: the control arm, which shows what a difference of nothing looks like
//! here. docs/method/compare.md has the reasons, and what simulated runs say about the promises.
//!
//! Everything is pure. Chance comes in as a function that draws a whole number below its argument.

mod beside;
mod block;
mod looks;
mod noise;
mod schedule;
mod signed_rank;
pub mod simulated;
mod verdict;

use serde::{Deserialize, Serialize};

pub use beside::Beside;
pub use block::{ArmStanding, Per, Ranked, Ranking, SweepBlock, fewest_blocks, rank, shuffled};
pub use looks::{LEVELS, Looks};
pub use noise::{Arm, Flag, Noise};
pub use schedule::{Kind, Order, Slot, schedule};
pub use signed_rank::{COUNT_MIN, Critical, EXACT_MAX, Estimate, Interval, critical};
pub use verdict::{BAND, Better, Comparison, Rules, Verdict, compare, needed};

use crate::{Obstacle, Unavailable};

/// Draws a whole number below its argument, each equally likely; the argument is at least 1.
pub type Draw<'a> = &'a mut dyn FnMut(u64) -> u64;

/// Four measurements in a row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quad {
    /// What was compared, and in which order.
    #[serde(flatten)]
    pub slot: Slot,
    /// The measurements in the order in which they were taken, in the unit of their quantity.
    pub values: [f64; 4],
}

impl Quad {
    /// Refuses what has no ratio: a measurement that is not a positive, finite number.
    pub fn new(slot: Slot, values: [f64; 4]) -> Result<Quad, Unavailable> {
        match values.iter().find(|value| !value.is_finite() || **value <= 0.0) {
            Some(value) => Err(Unavailable::new(
                Obstacle::Measurement,
                "log ratio",
                format!(
                    "cannot compare by ratio: a measurement is {value}, and a ratio needs numbers above 0"
                ),
            )),
            None => Ok(Quad { slot, values }),
        }
    }

    /// ln(B / A): the mean of the logarithms of both B, less that of both A.
    pub fn log_ratio(&self) -> f64 {
        let [first, second, third, fourth] = self.values.map(f64::ln);
        let inner = (second + third - first - fourth) / 2.0;
        match self.slot.order {
            Order::Abba => inner,
            Order::Baab => -inner,
        }
    }
}

/// The log ratios of the quads of one kind, in the order of the run.
pub fn log_ratios(run: &[Quad], kind: Kind) -> Vec<f64> {
    run.iter().filter(|quad| quad.slot.kind == kind).map(Quad::log_ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quad(order: Order, values: [f64; 4]) -> Quad {
        Quad::new(Slot { kind: Kind::Compared, order }, values).unwrap()
    }

    #[test]
    fn a_quad_cancels_linear_drift() {
        // Each measurement takes 3 % more than the one before; B takes 2 % more than A.
        let drifting = |order: Order| {
            let factor = |seat: usize| 1.03f64.powi(seat as i32);
            let values = [0, 1, 2, 3].map(|seat| match order.arms()[seat] {
                Arm::A => 5.0 * factor(seat),
                Arm::B => 5.1 * factor(seat),
            });
            quad(order, values).log_ratio()
        };
        for order in [Order::Abba, Order::Baab] {
            assert!((drifting(order) - 1.02f64.ln()).abs() < 1e-12, "{order:?}");
        }
    }

    #[test]
    fn what_has_no_ratio_is_refused() {
        let slot = Slot { kind: Kind::Compared, order: Order::Abba };
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let refused = Quad::new(slot, [1.0, bad, 1.0, 1.0]).unwrap_err();
            assert!(refused.why.contains(&format!("is {bad}")), "{refused:?}");
        }
    }

    #[test]
    fn a_quad_is_flat_on_disk() {
        let quad = quad(Order::Baab, [1.0, 2.0, 3.0, 4.0]);
        let text = serde_json::to_string(&quad).unwrap();
        assert_eq!(text, r#"{"kind":"compared","order":"baab","values":[1.0,2.0,3.0,4.0]}"#);
        assert_eq!(serde_json::from_str::<Quad>(&text).unwrap(), quad);
    }
}
