//! Licence transitions: halts and throttled dispatch within a duty cycle.

use super::{HIGHER, LOWER, NEITHER, Quantity, STREAM};
use crate::Unit;
use crate::record::Series;

/// Its id.
pub const AREA: &str = "transitions";
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

/// What its numbers mean, in the order of a record.
pub static QUANTITIES: &[Quantity] = &[
    Quantity::new(
        VISIBLE,
        "the least halt that can be told",
        Unit::Second,
        LOWER,
        "Nine windows of 20 us in ten lose less than this at once, without the payload and with it, and no look is \
         shorter.",
    ),
    Quantity::new(
        VISIBLE_BESIDE,
        "the least halt that can be told beside throttled dispatch",
        Unit::Second,
        LOWER,
        "A look beside stretched ones may be as long by throttled dispatch, which makes it four times as long at most: \
         3.5 times is taken for that. Only where time was taken for it at the same phase of many periods.",
    ),
    Quantity::new(
        LOOKED,
        "periods in which a phase was looked at",
        Unit::Count,
        HIGHER,
        "Those in which no gap covers the phase, at the phase where they are fewest; of fewer than 50 nothing is told.",
    ),
    Quantity::new(
        HALT,
        "halt",
        Unit::Second,
        LOWER,
        "Time that is missing at one phase in 80 % and more of the periods that were looked at then, one for each \
         that has it.",
    ),
    Quantity::new(
        HALT_SHARE,
        "share of periods that have the halt",
        Unit::One,
        NEITHER,
        "Of those that were looked at at that phase. Halts that come by chance are in few.",
    ),
    Quantity::new(
        THROTTLED,
        "throttled dispatch",
        Unit::Second,
        LOWER,
        "Time in which adds take longer while multiplies hardly do, by the median over periods of each 2 us, in 80 % and \
         more of the periods that were looked at then.",
    ),
    Quantity::new(
        THROTTLED_VISIBLE,
        "the least throttled dispatch that can be told",
        Unit::Second,
        LOWER,
        "Two bins of 2 us, those between them that no look fell into, without the payload or with it, and no \
         less than what is seen without.",
    ),
    Quantity::new(
        THROTTLED_RATIO,
        "how much longer adds take meanwhile",
        Unit::One,
        LOWER,
        "Against the clock without a payload: dispatch is throttled before the clock changes.",
    ),
    Quantity::new(
        HOLD,
        "how long the clock stays low after the payload",
        Unit::Second,
        LOWER,
        "From the end of the payload until five bins of 2 us in a row are nearer to the clock at the \
         end of the period.",
    ),
    Quantity::new(
        HOLD_VISIBLE,
        "the least difference of clocks that can be told",
        Unit::One,
        LOWER,
        "Of the payload's second half and the period's last quarter the worse: four median distances of the bins \
         from their median, or a step of the stamps over a look's chain and the root of the looks in a bin.",
    ),
    Quantity::new(
        LOW,
        "clock under the payload",
        Unit::Hertz,
        HIGHER,
        "Median of the bins of the second half of the payload.",
    ),
    Quantity::new(
        RELAXED,
        "clock at the end of the period",
        Unit::Hertz,
        HIGHER,
        "Median of the bins of the last quarter of the period; without a payload where that is higher.",
    ),
    Quantity::new(TIME, "time of a look", Unit::Second, NEITHER, "Since its period began.")
        .in_order(),
    Quantity::new(
        CLOCK,
        "clock in a look",
        Unit::Hertz,
        HIGHER,
        "By a chain of multiplies of 0.35 us.",
    )
    .in_order(),
    Quantity::new(
        STRETCH,
        "how much longer adds took in a look",
        Unit::One,
        NEITHER,
        "Against the clock by the multiplies right after them.",
    )
    .in_order(),
    Quantity::new(FOLDED_TIME, "middle of a bin", Unit::Second, NEITHER, "Since the period began.")
        .in_order(),
    Quantity::new(
        FOLDED_CLOCK,
        "clock in a bin",
        Unit::Hertz,
        HIGHER,
        "By the mean time of looks in all periods, without those that something came into.",
    )
    .in_order(),
    Quantity::new(
        GAP,
        "time that is missing at once",
        Unit::Second,
        LOWER,
        "Between two looks, beyond what lies between them usually, whatever took it.",
    ),
    Quantity::new(
        GAP_RATE,
        "such gaps per second",
        Unit::PerSecond,
        LOWER,
        "Those above the least halt that can be told.",
    ),
    Quantity::new(
        GAP_SHARE,
        "share of time that is missing in gaps",
        Unit::One,
        LOWER,
        "All gaps longer than 1 us, whether a halt as short could be told or not, over the time of the pass.",
    ),
];

/// What a series without numbers is called: by the payload, and the core that was looked at.
pub(super) fn name_of(series: &Series) -> Option<String> {
    let stream = series.parameters.get(STREAM)?;
    let core = series.parameters.get(CORE).map(|core| format!("{core} core"));
    Some(super::label_of(QUANTITIES, series, stream, core))
}
