//! Halts and throttled dispatch within a duty cycle.

/// Its workload.
pub const WORKLOAD: &str = "trace";
/// What was seen: this parameter.
pub const EVENT: &str = "event";
/// When in a period, in microseconds.
pub const AT: &str = "at_us";
/// On which core.
pub const CORE: &str = "core";
/// With a payload or without.
pub const PASS: &str = "pass";
/// In which period.
pub const PERIOD: &str = "period";
/// A core that executes the payload.
pub const OWN: &str = "own";
/// A core beside it.
pub const OTHER: &str = "other";
/// A pass without payload.
pub const QUIET: &str = "without payload";
/// A pass with payload.
pub const LOADED: &str = "with payload";
/// The type of the cores, where there are several.
pub const CORE_TYPE: &str = "core_type";
/// How long a period is, in microseconds.
pub const PERIOD_US: &str = "period_us";
/// How long its payload is, in microseconds.
pub const BURST_US: &str = "burst_us";
/// The least halt that can be told.
pub const VISIBLE: &str = "trace_visible";
/// The least halt that can be told beside throttled dispatch.
pub const VISIBLE_BESIDE: &str = "trace_visible_beside_throttled";
/// Periods in which a phase was looked at.
pub const LOOKED: &str = "trace_looked";
/// Halt.
pub const HALT: &str = "trace_halt";
/// Share of periods that have the halt.
pub const HALT_SHARE: &str = "trace_halt_share";
/// Throttled dispatch.
pub const THROTTLED: &str = "trace_throttled";
/// The least throttled dispatch that can be told.
pub const THROTTLED_VISIBLE: &str = "trace_throttled_visible";
/// How much longer adds take meanwhile.
pub const THROTTLED_RATIO: &str = "trace_throttled_ratio";
/// How long the clock stays low after the payload.
pub const HOLD: &str = "trace_hold";
/// The least difference of clocks that can be told.
pub const HOLD_VISIBLE: &str = "trace_hold_visible";
/// Clock under the payload.
pub const LOW: &str = "trace_low";
/// Clock at the end of the period.
pub const RELAXED: &str = "trace_relaxed";
/// Time of a look.
pub const TIME: &str = "trace_time";
/// Clock in a look.
pub const CLOCK: &str = "trace_clock";
/// How much longer adds took in a look.
pub const STRETCH: &str = "trace_stretch";
/// Middle of a bin.
pub const FOLDED_TIME: &str = "trace_folded_time";
/// Clock in a bin.
pub const FOLDED_CLOCK: &str = "trace_folded_clock";
/// Time that is missing at once.
pub const GAP: &str = "trace_gap";
/// Such gaps per second.
pub const GAP_RATE: &str = "trace_gap_rate";
/// Share of time that is missing in gaps.
pub const GAP_SHARE: &str = "trace_gap_share";

/// Looks of all periods at one phase are put together in bins of so many seconds.
pub const BIN: f64 = 2e-6;
