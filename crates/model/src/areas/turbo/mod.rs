//! Clocks under streams of instructions.

pub mod promise;
pub mod speed_select;

use super::{HIGHER, LOWER, NEITHER, Quantity};
use crate::Unit;

/// Its id.
pub const AREA: &str = "turbo";

/// The lightest stream: what a licence costs is told against it.
pub const LIGHT: &str = "scalar_iadd";

/// The heaviest streams, the first one that was measured counts.
pub const HEAVY: [&str; 3] = ["avx512_fma_t", "avx256_fma_t", "avx128_fma_t"];

/// The word that stands in the place of a clock that is not believed: what its reason begins with.
pub fn distrust(why: &str) -> Option<&'static str> {
    const WORDS: [&str; 3] = ["contended", "sibling busy", "throttled"];
    WORDS.into_iter().find(|word| why.starts_with(word))
}

/// What its numbers mean, in the order of a record.
pub static QUANTITIES: &[Quantity] = &[
    Quantity::new("clock", "clock", Unit::Hertz, HIGHER, "Core clock right after 45 us of the payload at full density: 3 us of the multiply chain, \
              whose length in cycles is known, between two stamps.").judged().packed(5e-4),
    Quantity::new("clock_in_loop", "clock in the loop, dense", Unit::Hertz, NEITHER, "Core clock while the payload executes: the multiply chain in the payload's own loop, \
              with the payload taking at most 95 % of the chain's time. Evidence for `clock`.").packed(5e-4),
    Quantity::new("clock_in_loop_half", "clock in the loop, less dense", Unit::Hertz, NEITHER, "The same with the payload taking less, at most 50 %: where it differs, payload and chain are \
              in each other's way, and neither tells the clock.").packed(5e-4),
    Quantity::new("cycles_per_op", "cycles per op", Unit::CyclePerOp, LOWER, "Core cycles per op, against multiply chains right before and right after, n against 2n.").judged().packed(2e-4),
    Quantity::new("time_per_op", "time per op", Unit::SecondPerOp, LOWER, "Seconds per op, n against 2n; its reciprocal is the rate of ops.").packed(5e-4),
    Quantity::new("overlap", "overlap", Unit::One, HIGHER, "Time that all threads executed the payload together, as a share of the time that any of \
              them did."),
    Quantity::new("aperf_per_mperf", "A/M-ratio", Unit::One, HIGHER, "APERF per MPERF while the payload executes: core cycles per cycle of a constant clock, \
              both counted only while the core is not halted.").packed(1e-4),
    Quantity::new("mperf_rate", "MPERF per second", Unit::Hertz, NEITHER, "MPERF per second of the stamp clock: below its own rate by the share of time that the \
              core was halted.").packed(1e-4),
];
