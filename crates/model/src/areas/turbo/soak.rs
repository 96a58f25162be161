//! A stream for long: what clocks, power and temperature do.

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
