//! How fine and how dear a clock is: every one measures itself.

use sys::clock::Probe;

/// What a clock says of itself, in its own ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gauge {
    /// The smallest step between two stamps that was seen: never less than a stamp costs, so a
    /// bound on the step of the counter itself.
    pub(super) step_ticks: u64,
    /// What a stamp costs, on average.
    pub(super) cost_ticks: f64,
}

/// Stamps back to back in several rounds; the quietest round gives the cost, since one interrupt
/// lasts as long as hundreds of stamps.
pub(super) fn gauge<P: Probe>(probe: P) -> Gauge {
    const ROUNDS: usize = 16;
    const STAMPS: usize = 256;
    let mut stamps = [0u64; STAMPS];
    let mut gauge = Gauge { step_ticks: u64::MAX, cost_ticks: f64::INFINITY };
    for _ in 0..ROUNDS {
        for stamp in &mut stamps {
            *stamp = probe.stamp();
        }
        let steps = stamps.windows(2).filter_map(|pair| pair[1].checked_sub(pair[0]));
        let smallest = steps.filter(|step| *step > 0).min().unwrap_or(u64::MAX);
        let total = stamps[STAMPS - 1].saturating_sub(stamps[0]) as f64;
        gauge.step_ticks = gauge.step_ticks.min(smallest);
        gauge.cost_ticks = gauge.cost_ticks.min(total / (STAMPS - 1) as f64);
    }
    gauge
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    static TICKS: AtomicU64 = AtomicU64::new(0);

    /// Three stamps of one value, then a step of 10.
    #[derive(Clone, Copy)]
    struct Stairs;

    impl Probe for Stairs {
        fn stamp(self) -> u64 {
            TICKS.fetch_add(1, Ordering::Relaxed) / 3 * 10
        }
    }

    #[test]
    fn a_coarse_clock_has_a_large_step_and_a_small_cost() {
        let gauge = gauge(Stairs);
        assert_eq!(gauge.step_ticks, 10);
        assert!((gauge.cost_ticks - 10.0 / 3.0).abs() < 0.05, "{gauge:?}");
    }
}
