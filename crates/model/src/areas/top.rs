//! What CPUs did while others used them.

use super::{HIGHER, LOWER, NEITHER, Quantity};
use crate::Unit;
use crate::record::Series;

/// Its id.
pub const AREA: &str = "top";
/// The parameter that holds the name of a column.
pub const COLUMN: &str = "column";
/// The parameter of a column that is read and not shown.
pub const HIDDEN: &str = "hidden";
/// The parameter that says where a column is read; one that was named and cannot be read has none.
pub const SOURCE: &str = "source";
/// The parameter of the intervals that names the column by whose values rows are in order, the largest first.
pub const SORT: &str = "sort";
/// The parameter of the intervals that says what has a row each; without it, each CPU.
pub const GROUP: &str = "group";
/// What may have a row each.
pub const GROUPS: &[&str] = &["core", "kind", "node", "package"];
/// What is done on the CPUs, nobody knows.
pub const WORKLOAD: &str = "whatever runs";
/// The quantity that says how long intervals were.
pub const INTERVAL: &str = "interval";

/// What its numbers mean, in the order of a record.
pub static QUANTITIES: &[Quantity] = &[
    Quantity::new(
        INTERVAL,
        "length of an interval",
        Unit::Second,
        NEITHER,
        "Time between two looks, by CLOCK_MONOTONIC_RAW.",
    ),
    Quantity::new(
        "average_clock",
        "Avg_MHz: cycles over time",
        Unit::Hertz,
        NEITHER,
        "Core cycles by APERF over the time of the interval, halted or not.",
    ),
    Quantity::new(
        "busy_share",
        "Busy%: share of time not halted",
        Unit::One,
        NEITHER,
        "By MPERF over its calibrated rate; where that cannot be read, by /proc/stat in steps of 10 ms.",
    ),
    Quantity::new(
        "busy_clock",
        "Bzy_MHz: clock while not halted",
        Unit::Hertz,
        HIGHER,
        "APERF over MPERF, times the calibrated rate of MPERF.",
    ),
    Quantity::new(
        "tsc_rate",
        "TSC_MHz: rate of the time stamp counter",
        Unit::Hertz,
        NEITHER,
        "Ticks of the TSC over CLOCK_MONOTONIC_RAW.",
    ),
    Quantity::new(
        "steal_share",
        "Steal%: time that the hypervisor took",
        Unit::One,
        LOWER,
        "By /proc/stat in steps of 10 ms, as the hypervisor admits it.",
    ),
    Quantity::new(
        "interrupts",
        "IRQ: interrupts",
        Unit::Count,
        NEITHER,
        "Growth of a CPU's column of /proc/interrupts, all lines together.",
    ),
    Quantity::new(
        "smis",
        "SMI: system management interrupts",
        Unit::Count,
        LOWER,
        "Growth of MSR 34h of Intel's CPUs: how often firmware stopped them.",
    ),
    Quantity::new(
        "idle_share",
        "time in an idle state",
        Unit::One,
        NEITHER,
        "By cpuidle: the state that was asked for; the hardware may have chosen a shallower one.",
    ),
    Quantity::new(
        "residency",
        "CPU%c6, Pkg%pc6: time in an idle state that was entered",
        Unit::One,
        NEITHER,
        "Residency counters of the hardware, by the PMUs cstate_core and cstate_pkg.",
    ),
    Quantity::new(
        "temperature",
        "CoreTmp, PkgTmp",
        Unit::Celsius,
        LOWER,
        "hwmon, at the end of the interval.",
    ),
    Quantity::new(
        "power",
        "PkgWatt, CorWatt, RAMWatt",
        Unit::Watt,
        LOWER,
        "Energy counters (RAPL) over the time of the interval, by powercap or perf.",
    ),
    Quantity::new(
        "instructions_per_cycle",
        "IPC: instructions per cycle",
        Unit::One,
        NEITHER,
        "Instructions over core cycles, user and kernel mode, by counters of one group; none while others have the counters.",
    ),
    Quantity::new(
        "stall_share",
        "Stall%: cycles in which nothing was executed",
        Unit::One,
        NEITHER,
        "Of the core cycles; by the event that stands with the source. On Arm, those in which the back end took nothing.",
    ),
    Quantity::new(
        "l2_references",
        "L2MRPS: references of the L2 cache",
        Unit::PerSecond,
        NEITHER,
        "By the event that stands with the source, over the time of the interval.",
    ),
    Quantity::new(
        "l2_hit_share",
        "L2%hit: share of them that the L2 cache had",
        Unit::One,
        NEITHER,
        "Of the references counted in the same group.",
    ),
    Quantity::new(
        "llc_references",
        "LLCMRPS: references of the last-level cache",
        Unit::PerSecond,
        NEITHER,
        "Those of the core, by the event that stands with the source, over the time of the interval.",
    ),
    Quantity::new(
        "llc_hit_share",
        "LLC%hit: share of them that the last-level cache had",
        Unit::One,
        NEITHER,
        "Of the references counted in the same group.",
    ),
    Quantity::new(
        "added_growth",
        "growth of a counter that was added",
        Unit::Count,
        NEITHER,
        "How much a register, a file or an event that was named grew in the interval, in its own counts.",
    ),
    Quantity::new(
        "added_value",
        "value that was added",
        Unit::Count,
        NEITHER,
        "What a register or a file that was named held at the end of the interval, in its own unit.",
    ),
];

/// What a series without numbers is called.
pub(super) fn name_of(series: &Series) -> Option<String> {
    let column = series.parameters.get(COLUMN)?;
    let is_read = series.parameters.contains_key(SOURCE);
    Some(if is_read { format!("{column} of CPU {}", series.active) } else { column.clone() })
}
