//! What two readings of the counters say together. Pure.

use model::ticks::{Stamp, Ticks};
use model::{Hertz, Obstacle, Reading, Seconds, Unavailable};

use super::WHAT;
use crate::facts::ON_THE_HOST;

/// Both counters at one moment. Their values mean nothing by themselves.
///
/// # Source
/// Intel SDM volume 3B, "P-State Hardware Coordination": IA32_MPERF counts at a fixed rate,
/// IA32_APERF with the core clock, both only while the CPU is not halted; only the ratio of their
/// differences is architectural. Both have 64 bits, as in AMD64 APM volume 2, "Determining
/// Processor Effective Frequency".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// APERF.
    pub aperf: u64,
    /// MPERF.
    pub mperf: u64,
}

impl From<[u64; 2]> for Counts {
    fn from([aperf, mperf]: [u64; 2]) -> Counts {
        Counts { aperf, mperf }
    }
}

/// How far both counters moved between two readings: never zero, and never more than can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountsDelta {
    /// Core cycles while not halted.
    pub aperf: u64,
    /// Ticks of MPERF while not halted.
    pub mperf: u64,
}

/// No core, and no MPERF, is this many times as fast as the stamp clock: 100 times 100 MHz, the
/// slowest stamp clock there is, is 10 GHz.
const TICKS_MAX_PER_STAMP: u64 = 100;

/// Core clock over the rate of MPERF. Slowest: 100 MHz where the base clock is 5 GHz. Fastest: 5.6
/// GHz where it is 0.9 GHz.
const RATIOS: std::ops::RangeInclusive<f64> = 0.01..=8.0;

impl Counts {
    /// How far the counters moved since `earlier`, while the stamp clock moved by `elapsed`.
    ///
    /// A counter that begins again at 2^64 is followed. On Intel CPUs the overflow of one sets both
    /// to zero: then the other one ran backwards, and there is no number.
    ///
    /// # Error
    /// Where a counter stood still, ran backwards or jumped, or where the ratio is none of a CPU.
    pub fn since(self, earlier: Counts, elapsed: Ticks<Stamp>) -> Reading<CountsDelta> {
        if elapsed.count() == 0 {
            return Err(refused("no time passed between the two readings"));
        }
        let aperf = moved("APERF", self.aperf, earlier.aperf, elapsed)?;
        let mperf = moved("MPERF", self.mperf, earlier.mperf, elapsed)?;
        let ticks = elapsed.count();
        match (aperf, mperf) {
            (0, 0) => Err(still(ticks)),
            (0, _) => Err(stuck(&format!("MPERF moved by {mperf}, but APERF stood still"))),
            (_, 0) => Err(stuck(&format!("APERF moved by {aperf}, but MPERF stood still"))),
            _ => CountsDelta { aperf, mperf }.plausible(),
        }
    }
}

fn moved(name: &str, now: u64, then: u64, elapsed: Ticks<Stamp>) -> Reading<u64> {
    let forward = now.wrapping_sub(then);
    if forward <= elapsed.count().saturating_mul(TICKS_MAX_PER_STAMP) {
        return Ok(forward);
    }
    let ticks = elapsed.count();
    Err(refused(if now < then {
        format!("{name} ran backwards by {} within {ticks} ticks of the stamp clock", then - now)
    } else {
        format!(
            "{name} jumped by {forward} within {ticks} ticks of the stamp clock, faster than any \
             core"
        )
    }))
}

fn refused(why: impl Into<String>) -> Unavailable {
    Unavailable::new(Obstacle::Measurement, WHAT, why)
}

/// Who sleeps counts nothing.
fn still(ticks: u64) -> Unavailable {
    let why = format!(
        "neither APERF nor MPERF moved while the stamp clock moved by {ticks} ticks: the CPU slept all the \
         time, or a hypervisor keeps them still"
    );
    let remedy = format!("keep the CPU busy meanwhile; in a guest {ON_THE_HOST}");
    Unavailable::new(Obstacle::Hardware, WHAT, why).with_remedy(remedy)
}

fn stuck(why: &str) -> Unavailable {
    let why = format!("{why}: a hypervisor may keep it still");
    Unavailable::new(Obstacle::Hardware, WHAT, why).with_remedy(ON_THE_HOST)
}

impl CountsDelta {
    fn plausible(self) -> Reading<CountsDelta> {
        if RATIOS.contains(&self.ratio()) {
            return Ok(self);
        }
        let CountsDelta { aperf, mperf } = self;
        let ratio = self.ratio();
        Err(refused(format!(
            "APERF moved by {aperf} and MPERF by {mperf}: a ratio of {ratio:.3e} is no core's"
        )))
    }

    /// APERF over MPERF: the core clock in units of MPERF's rate.
    pub fn ratio(self) -> f64 {
        self.aperf as f64 / self.mperf as f64
    }

    /// The mean core clock while the CPU was not halted, where MPERF counts at `rate`.
    pub fn clock(self, rate: Hertz) -> Hertz {
        rate * self.ratio()
    }

    /// How long the CPU was not halted, where MPERF counts at `rate`.
    pub fn unhalted(self, rate: Hertz) -> Seconds {
        Seconds(self.mperf as f64 / rate.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(aperf: u64, mperf: u64) -> Counts {
        Counts { aperf, mperf }
    }

    /// Over a million ticks.
    fn delta(then: (u64, u64), now: (u64, u64)) -> Reading<(u64, u64)> {
        let (then, now) = (counts(then.0, then.1), counts(now.0, now.1));
        now.since(then, Ticks::new(1_000_000)).map(|delta| (delta.aperf, delta.mperf))
    }

    #[test]
    fn both_move_and_wraps_are_followed() {
        const TOP: u64 = u64::MAX;
        for (then, now, expected) in [
            ((0, 0), (1_500_000, 1_000_000), (1_500_000, 1_000_000)),
            ((7, 9), (8, 10), (1, 1)),
            // APERF begins again, or MPERF does, or both do.
            ((TOP - 9, 0), (999_990, 1_000_000), (1_000_000, 1_000_000)),
            ((0, TOP), (500_000, 399_999), (500_000, 400_000)),
            ((TOP - 99, TOP - 49), (900, 950), (1_000, 1_000)),
            // The fastest that can be.
            ((0, 0), (100_000_000, 100_000_000), (100_000_000, 100_000_000)),
            ((0, 0), (800, 100), (800, 100)),
            ((0, 0), (100, 10_000), (100, 10_000)),
        ] {
            assert_eq!(delta(then, now), Ok(expected), "{then:?} to {now:?}");
        }
    }

    #[test]
    fn every_trouble_has_its_own_reason() {
        for (then, now, expected) in [
            (
                (5, 5),
                (5, 5),
                "neither APERF nor MPERF moved while the stamp clock moved by 1000000",
            ),
            ((0, 0), (0, 0), "neither APERF nor MPERF moved"),
            ((5, 5), (5, 900), "MPERF moved by 895, but APERF stood still"),
            ((5, 5), (905, 5), "APERF moved by 900, but MPERF stood still"),
            ((500, 5), (400, 905), "APERF ran backwards by 100 within 1000000 ticks"),
            ((5, 500), (905, 499), "MPERF ran backwards by 1 within 1000000 ticks"),
            // An overflow of APERF that sets both to zero, as on Intel.
            ((u64::MAX, 1 << 40), (1_000, 1_000), "MPERF ran backwards by 1099511626776"),
            // Wraps of fewer bits are no wraps: both have 64.
            ((1 << 48, 5), (10, 900), "APERF ran backwards by 281474976710646"),
            ((0xffff_ffff, 5), (10, 900), "APERF ran backwards by 4294967285"),
            ((0, 0), (100_000_001, 1), "APERF jumped by 100000001"),
            ((0, 0), (1, u64::MAX / 2), "MPERF jumped by 9223372036854775807"),
            ((0, 0), (801, 100), "APERF moved by 801 and MPERF by 100: a ratio of 8.010e0"),
            ((0, 0), (99, 10_000), "a ratio of 9.900e-3 is no core's"),
        ] {
            let reason = delta(then, now).unwrap_err();
            assert!(reason.why.contains(expected), "{then:?} to {now:?}: {reason:?}");
        }
        let reason = counts(9, 9).since(counts(0, 0), Ticks::new(0)).unwrap_err();
        assert_eq!(reason.why, "no time passed between the two readings");
    }

    #[test]
    fn no_length_of_time_makes_a_small_step_back_a_step_forward() {
        for ticks in [1, 1 << 32, 1 << 50] {
            let reason = counts(1, 9).since(counts(2, 0), Ticks::new(ticks)).unwrap_err();
            assert!(reason.why.starts_with("APERF ran backwards by 1 "), "{ticks}: {reason:?}");
        }
    }

    #[test]
    fn clock_and_time_follow_from_the_rate() {
        let delta = CountsDelta { aperf: 3_000, mperf: 2_000 };
        assert_eq!(delta.clock(Hertz(2e9)), Hertz(3e9));
        assert_eq!(delta.unhalted(Hertz(2e9)), Seconds(1e-6));
    }
}
