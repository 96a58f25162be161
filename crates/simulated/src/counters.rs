//! APERF and MPERF of a simulated machine: the simulated executor says how far they got.

use model::{Obstacle, Reading, Seconds, Unavailable};

use crate::description::Model;
use crate::faults::Fault;

/// The counters of a simulated machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulatedCounters {
    /// What MPERF counts at, in hertz.
    pub mperf_hz: f64,
    /// The fault that was put in: one of those whose names begin with `aperf-`.
    pub fault: Option<Fault>,
}

/// When a fault that needs a good beginning sets in, in seconds.
const GOOD_UNTIL: f64 = 0.05;

impl Model {
    /// The counters of this machine.
    ///
    /// # Error
    /// Where it has none, or where the registers cannot be read.
    pub fn cycle_counters(&self) -> Reading<SimulatedCounters> {
        let what = "core clock by APERF/MPERF";
        if self.has(Fault::NoMsr) {
            return Err(crate::registers::no_driver(what));
        }
        let registers = self.registers.ok_or_else(|| crate::registers::none(what))?;
        if !registers.aperf_mperf {
            let why = "this simulated machine has no APERF and MPERF";
            return Err(Unavailable::new(Obstacle::Hardware, what, why));
        }
        let of_counters =
            [Fault::AperfStuck, Fault::AperfWraps, Fault::AperfBackwards, Fault::AperfEio];
        Ok(SimulatedCounters {
            mperf_hz: registers.mperf_hz.unwrap_or(self.clock.tsc_hz),
            fault: of_counters.into_iter().find(|&fault| self.has(fault)),
        })
    }
}

impl SimulatedCounters {
    /// What a reading of APERF and MPERF says `at` a time since the start, when the CPU has not been halted for
    /// `unhalted` of it and its core made so many cycles meanwhile.
    ///
    /// # Error
    /// Where the fault that was put in makes readings fail.
    pub fn counts(&self, at: Seconds, cycles: f64, unhalted: Seconds) -> Reading<[u64; 2]> {
        /// Where counters stand that do not start at zero.
        const SOMEWHERE: u64 = 1 << 50;
        let (aperf, mperf) = (cycles as u64, (unhalted.0 * self.mperf_hz) as u64);
        Ok(match self.fault {
            Some(Fault::AperfStuck) => [SOMEWHERE, SOMEWHERE],
            Some(Fault::AperfWraps) => {
                let before = (GOOD_UNTIL * self.mperf_hz) as u64;
                [aperf.wrapping_sub(before), mperf.wrapping_sub(before)]
            }
            Some(Fault::AperfBackwards) => [SOMEWHERE.wrapping_sub(aperf), mperf],
            Some(Fault::AperfEio) if at.0 > GOOD_UNTIL => {
                let why = "register 0xe8: reading it answered `Input/output error (os error 5)`";
                let what = "core clock by APERF/MPERF";
                return Err(Unavailable::new(Obstacle::Hardware, what, why));
            }
            _ => [aperf, mperf],
        })
    }
}
