//! A stream for long: what clocks, power and temperature do.

use crate::record::{PowerLimit, PowerTerm};

/// Its workload.
pub const WORKLOAD: &str = "sustain";
/// The parameter that names the stream.
pub const STREAM: &str = "stream";
/// The parameter of series whose samples lie in the order of time, one block.
pub const TIMELINE: &str = "timeline";
/// The middle of a window: quantities have one sample for each.
pub const TIME: &str = "soak_time";
/// Its clock.
pub const CLOCK: &str = "soak_clock";
/// What was lost of its time.
pub const LOST: &str = "soak_lost";
/// Its power.
pub const POWER: &str = "soak_power";
/// Its temperature.
pub const TEMPERATURE: &str = "soak_temperature";
/// How long the machine rested before a stream: one sample.
pub const REST: &str = "soak_rest";
/// When what lowers clocks was seen, one sample for each window, and the parameter that names it.
pub const LIMITED: &str = "soak_limited";
/// That parameter.
pub const LIMIT: &str = "limit";
/// The parameter that names the CPUs that a clock is of, where those of others have another type or other limits.
pub const GROUP: &str = "cpus";

/// Fewer windows than this are too few to read.
pub const WINDOWS_MIN: f64 = 10.0;

/// After so many time constants averages of power have forgotten what was drawn before.
pub const TIME_CONSTANTS: f64 = 3.0;

/// For how long the packages remember what they drew: the longest of PL1, where that limits anything.
pub fn time_constant<'a>(limits: impl IntoIterator<Item = &'a PowerLimit>) -> Option<f64> {
    let limits = limits.into_iter().filter(|limit| limit.term == PowerTerm::Long && limit.enabled);
    limits.filter_map(|limit| limit.watts.and(limit.seconds)).reduce(f64::max)
}
