//! A stream for long: what clocks, power and temperature do.

use super::{HIGHER, LOWER, NEITHER, Quantity, STREAM};
use crate::Unit;
use crate::record::{PowerLimit, PowerTerm, Series};

/// Its id.
pub const AREA: &str = "sustained";
/// Its workload.
pub const WORKLOAD: &str = "sustain";
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

/// What its numbers mean, in the order of a record.
pub static QUANTITIES: &[Quantity] = &[
    Quantity::new(TIME, "middle of a window", Unit::Second, NEITHER, "Time from the beginning of the stream to the middle of each window.").in_order(),
    Quantity::new(CLOCK, "clock in a window", Unit::Hertz, HIGHER, "Median over all looks by the chain and all cores in each window.").in_order(),
    Quantity::new(LOST, "time lost in a window", Unit::One, LOWER, "What rounds of the stream took longer than the median of them, of all their time, the mean over jobs and \
             cores: interrupts, other threads, or the hypervisor.").in_order(),
    Quantity::new(REST, "rest before a stream", Unit::Second, NEITHER, "How long nothing was executed between the stream before and this one."),
    Quantity::new(POWER, "power in a window", Unit::Watt, NEITHER, "Energy counters of all packages over the time of each window.").in_order(),
    Quantity::new(TEMPERATURE, "temperature after a window", Unit::Celsius, NEITHER, "The hottest sensor of the packages, else of the cores.").in_order(),
    Quantity::new(LIMITED, "windows in which a limit was seen", Unit::Second, NEITHER, "Times of the windows in which its log came up, or after which it was in force.").in_order(),
];

/// What a series without numbers is called: by the stream, and the CPUs that it ran on.
pub(super) fn name_of(series: &Series) -> Option<String> {
    let stream = series.parameters.get(STREAM)?;
    let cpus = series.parameters.get(GROUP).map(|cpus| format!("CPUs {cpus}"));
    Some(super::label_of(QUANTITIES, series, stream, cpus))
}
