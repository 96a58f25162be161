//! PMUs of cores.

use serde::Deserialize;

/// A PMU of cores.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorePmu {
    /// Its name: `cpu`, or of a hybrid `cpu_core` and `cpu_atom`, which count on their kind of core.
    pub name: String,
    /// Its number.
    #[serde(rename = "type")]
    pub kind: u32,
    /// General counters of a core.
    pub general: u32,
    /// Fixed counters of a thread: 0 instructions, 1 cycles, 2 reference cycles.
    pub fixed: u32,
    /// Bits of a counter.
    pub width: u32,
    /// Whether the threads of a core share its general counters, half of them each.
    #[serde(default)]
    pub halved_by_smt: bool,
    /// What it counts beside the architectural events.
    #[serde(default)]
    pub events: Vec<PmuEvent>,
    /// Of Arm's architecture; absent: of Intel's.
    pub arm: Option<ArmPmu>,
}

/// A PMU of Arm's architecture, on a kernel before 6.6: it takes no generic event whose upper half names
/// a PMU, and answers ENOENT.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmPmu {
    /// What its cores are, as their register says it.
    pub midr: u64,
    /// Events that it has not, by the names of [`happen`](crate::Model::happen).
    #[serde(default)]
    pub lacks: Vec<String>,
}

/// An event of a PMU.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PmuEvent {
    /// Its name.
    pub name: String,
    /// Event number in bits 0 to 7, unit mask in bits 8 to 15.
    pub config: u64,
    /// The general counters that can count it; absent: all.
    pub counters: Option<u64>,
    /// How many of them it takes.
    #[serde(default = "one")]
    pub takes: u32,
}

const fn one() -> u32 {
    1
}
