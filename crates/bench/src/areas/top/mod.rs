//! What the CPUs do while others use them: busy time, clock, idle states, power, temperature.
//!
//! It runs no workload. [`Watch`] turns looks at [`machine::activity`] into series, one block an
//! interval; `cpudyno top` shows each interval as it ends, and the sheet what went on during its run.

mod page;
mod watch;

use model::page::{Block, Text};
use model::record::{Record, Series};
use model::{Finding, Unit};

use super::Area;
use crate::rig::collect::Quantity;
use crate::run::plan::{Planning, Wishes};
pub use page::{PLACES, beginning, end, interval, page};
pub(crate) use watch::over;
pub use watch::{NOTE, Watch};

/// The area.
pub struct Top;

/// Its id.
pub const AREA: &str = "top";

/// The parameter that holds the name of a column.
pub(super) const COLUMN: &str = "column";

/// The parameter of a column that is read and not shown.
pub(super) const HIDDEN: &str = "hidden";

/// What is done on the CPUs, nobody knows.
pub(super) const WORKLOAD: &str = "whatever runs";

/// The quantity that says how long intervals were.
pub(super) const INTERVAL: &str = "interval";

static QUANTITIES: &[Quantity] = &[
    Quantity::named(
        INTERVAL,
        "length of an interval",
        Unit::Second,
        "",
        "Time between two looks, by CLOCK_MONOTONIC_RAW.",
    ),
    Quantity::named(
        "average_clock",
        "Avg_MHz: cycles over time",
        Unit::Hertz,
        "",
        "Core cycles by APERF over the time of the interval, halted or not.",
    ),
    Quantity::named(
        "busy_share",
        "Busy%: share of time not halted",
        Unit::One,
        "",
        "By MPERF over its calibrated rate; where that cannot be read, by /proc/stat in steps of 10 ms.",
    ),
    Quantity::named(
        "busy_clock",
        "Bzy_MHz: clock while not halted",
        Unit::Hertz,
        "higher",
        "APERF over MPERF, times the calibrated rate of MPERF.",
    ),
    Quantity::named(
        "tsc_rate",
        "TSC_MHz: rate of the time stamp counter",
        Unit::Hertz,
        "",
        "Ticks of the TSC over CLOCK_MONOTONIC_RAW.",
    ),
    Quantity::named(
        "steal_share",
        "Steal%: time that the hypervisor took",
        Unit::One,
        "lower",
        "By /proc/stat in steps of 10 ms, as the hypervisor admits it.",
    ),
    Quantity::named(
        "idle_share",
        "time in an idle state",
        Unit::One,
        "",
        "By cpuidle: the state that was asked for; the hardware may have chosen a shallower one.",
    ),
    Quantity::named(
        "residency",
        "CPU%c6, Pkg%pc6: time in an idle state that was entered",
        Unit::One,
        "",
        "Residency counters of the hardware, by the PMUs cstate_core and cstate_pkg.",
    ),
    Quantity::named(
        "temperature",
        "CoreTmp, PkgTmp",
        Unit::Celsius,
        "lower",
        "hwmon, at the end of the interval.",
    ),
    Quantity::named(
        "power",
        "PkgWatt, CorWatt, RAMWatt",
        Unit::Watt,
        "lower",
        "Energy counters (RAPL) over the time of the interval, by powercap or perf.",
    ),
];

impl Area for Top {
    fn id(&self) -> &'static str {
        AREA
    }

    fn title(&self) -> &'static str {
        "What the CPUs did meanwhile"
    }

    fn weight(&self) -> f64 {
        0.0
    }

    fn quantities(&self) -> &'static [Quantity] {
        QUANTITIES
    }

    /// It is read around the whole run, and asks for no time of its own.
    fn wishes(&self, _: &Planning<'_>) -> Wishes {
        Wishes::default()
    }

    fn findings(&self, _: &Record) -> Vec<Finding> {
        Vec::new()
    }

    fn sentences(&self, _: &Record) -> Vec<Text> {
        Vec::new()
    }

    fn name_of(&self, series: &Series) -> Option<String> {
        let column = series.parameters.get(COLUMN)?;
        Some(format!("{column} of CPU {}", series.active))
    }

    fn section(&self, record: &Record) -> Vec<Block> {
        page::section(record)
    }
}
