//! What was measured beside each measurement, and is the same work whatever the arm.
//!
//! A fixed chain of multiplies, say. What it does over the run is the machine's, not the setting's; and
//! where it differs from arm to arm, the setting has moved the clock of the core.

use super::noise::drift;
use super::{Estimate, Flag, Kind, Quad, log_ratios};

/// What a control quantity did, in the slots of the quads beside which it was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Beside {
    /// ln(B / A) of it, at a level of 1 %. None where no quad compared.
    pub ratio: Option<Estimate>,
    /// The log ratio of its level in the second half of the run to that as far into the first half, at a
    /// level of 1 %, less what the arms differ by. Steady drift over the whole run is twice that.
    pub drift: Option<Estimate>,
}

impl Beside {
    /// Of the quads in the order in which they were measured.
    pub fn of(run: &[Quad]) -> Beside {
        const LEVEL: f64 = 0.01;
        let ratio = Estimate::of(&log_ratios(run, Kind::Compared), LEVEL);
        let drift = drift(run, ratio.as_ref().map_or(0.0, |ratio| ratio.centre));
        Beside { ratio, drift }
    }

    /// The machine changed by more than what is compared, a log ratio of `effect`, and by more than the
    /// band (another one).
    pub fn flag(&self, effect: f64, band: f64) -> Option<Flag> {
        let drift = self.drift.as_ref()?;
        let there = drift.interval.value()?.excludes_zero();
        let whole = 2.0 * drift.centre;
        (there && whole.abs() > effect.abs().max(band)).then_some(Flag::Machine { whole })
    }
}

#[cfg(test)]
mod tests {
    use super::super::simulated::{self, Disturbance};
    use super::super::{Draw, schedule};
    use super::*;

    /// Twenty quads of a chain that a setting slows by `ratio`, on a machine with that disturbance.
    fn beside(ratio: f64, disturbance: Disturbance) -> Beside {
        let mut chance = fastrand::Rng::with_seed(11);
        let draw: Draw<'_> = &mut |below| chance.u64(..below);
        let slots = schedule(20, 4, draw);
        Beside::of(&simulated::run(&slots, ratio, disturbance, 0.005, draw))
    }

    #[test]
    fn what_the_setting_does_to_it_is_no_drift() {
        let slowed = beside(1.9, Disturbance::None);
        let ratio = slowed.ratio.as_ref().unwrap();
        assert!((ratio.centre.exp() - 1.9).abs() < 0.01, "{ratio:?}");
        assert_eq!(slowed.flag(0.0, 0.01), None);
    }

    #[test]
    fn drift_is_told_where_it_is_more_than_the_effect() {
        // All takes 10 % longer at the end.
        let drifting = beside(1.9, Disturbance::Drift);
        let Some(Flag::Machine { whole }) = drifting.flag(0.02, 0.01) else {
            panic!("{drifting:?}")
        };
        assert!((whole - 1.1f64.ln()).abs() < 0.02, "{whole}");
        assert_eq!(drifting.flag(-0.2, 0.01), None);
        assert_eq!(drifting.flag(0.0, 0.2), None);
    }

    #[test]
    fn few_quads_tell_nothing() {
        assert_eq!(Beside::of(&[]).flag(0.0, 0.01), None);
    }
}
