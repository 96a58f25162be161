//! What interrupts a CPU that is busy.

use std::collections::BTreeMap;

use super::{LOWER, NEITHER, Quantity};
use crate::{CpuId, Unit};

/// Its id.
pub const AREA: &str = "jitter";
/// The workload: a thread that reads the clock in a loop.
pub const POLL: &str = "poll";
/// The parameter that names the CPU of a series.
pub const CPU: &str = "on";
/// The parameter that names what interrupted.
pub const CAUSE: &str = "cause";
/// The shortest gap that counts, in nanoseconds.
pub const SHORTEST: &str = "shortest_ns";

/// What interrupts, by the words for it; of several at once the first.
pub mod cause {
    /// System management mode: firmware, as MSR 34h counts it.
    pub const SMI: &str = "SMI";
    /// Somebody stopped the thread, or it slept: it gave the CPU away itself.
    pub const STOPPED: &str = "stopped";
    /// The scheduler gave the CPU to another thread.
    pub const THREAD: &str = "other thread";
    /// An interrupt of a device; what it is called follows.
    pub const DEVICE: &str = "device";
    /// An interrupt that another CPU sent.
    pub const IPI: &str = "other CPU (IPI)";
    /// The timer of this CPU.
    pub const TIMER: &str = "timer";
    /// The timer, and work that the kernel put off until after it.
    pub const TIMER_SOFTIRQ: &str = "timer with softirq";
    /// Another interrupt, such as of a counter.
    pub const OTHER: &str = "other interrupt";
    /// The kernel counted nothing.
    pub const UNEXPLAINED: &str = "none that the kernel counts";
    /// Nobody looked: gaps came faster than what says why.
    pub const NOT_LOOKED_UP: &str = "not looked up";
}

/// What its numbers mean, in the order of a record.
pub static QUANTITIES: &[Quantity] = &[
    Quantity::new(
        "lost",
        "share of time lost",
        Unit::One,
        LOWER,
        "The share of the watched time that went by in gaps: between two readings of the clock, by a thread that does \
              nothing else.",
    )
    .judged(),
    Quantity::new(
        "gap",
        "length of a gap",
        Unit::Second,
        LOWER,
        "How long the thread could not read the clock, gap by gap.",
    )
    .packed(2e-2),
    Quantity::new(
        "watched",
        "time watched",
        Unit::Second,
        NEITHER,
        "How long the thread read the clock, gaps included; what it took to look up a cause is left out.",
    ),
];

/// What a series is called: its CPU, and the cause of its gaps.
pub(super) fn apart(parameters: &BTreeMap<String, String>) -> Option<String> {
    let cpu = parameters.get(CPU).map(|cpu| format!("CPU {cpu}"))?;
    Some(parameters.get(CAUSE).map_or(cpu.clone(), |cause| format!("{cpu}, {cause}")))
}

/// The CPU of a series of such parameters.
pub fn cpu_of(parameters: &BTreeMap<String, String>) -> Option<CpuId> {
    parameters.get(CPU)?.parse().ok().map(CpuId)
}
