//! A comparison of two settings in a record: every measurement, and what may be said of them.

use serde::{Deserialize, Serialize};

use crate::stats::paired::{Arm, Comparison, Flag, Kind, Looks, Quad, Rules};
use crate::{CpuId, Known, Unavailable};

/// What was compared, how, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbRun {
    /// What was measured: a workload of an area, or the command.
    pub subject: String,
    /// The quantity, in words.
    pub metric: String,
    /// Its unit; empty: whatever the program says.
    pub unit: String,
    /// The settings of A, as they were typed.
    pub a: Vec<String>,
    /// The settings of B.
    pub b: Vec<String>,
    /// When it was to be looked at, and at which level.
    pub looks: Looks,
    /// What the verdict rests on.
    pub rules: Rules,
    /// One of so many quads compares A with A; 0: none.
    pub control_every: u64,
    /// What was measured, in order. The last four may be fewer when the run was cut short: they are
    /// left out.
    pub quads: Vec<Quad>,
    /// What may be said; or why nothing.
    pub comparison: Known<Comparison>,
    /// What a reader must know about the run.
    pub flags: Vec<Flag>,
    /// Measurements that failed: in which arm, and what happened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<ArmFailure>,
    /// Quads that were left out, because a measurement of them has no number: each was measured again,
    /// in an order of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// What else was measured beside each of the quads: the same work in every arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<BesideRun>,
    /// What the kernel says of the runs of a command, by arm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ran: Vec<Ran>,
    /// The clocks of CPUs around the measurements, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_clocks: Option<Known<BusyClocks>>,
    /// Why it ended.
    pub ended: String,
    /// What a quad took; none where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<QuadCost>,
    /// How long each setting was under load before it was measured, where settings move power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_seconds: Option<f64>,
}

/// A measurement that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmFailure {
    /// `A` or `B`.
    pub arm: String,
    /// What happened.
    pub why: String,
}

/// What a quad took, those among them that were left out, in seconds of the machine's clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuadCost {
    /// With everything beside it.
    pub seconds: f64,
    /// Of it for settings that were written: journal, write, reading back.
    pub setting: f64,
    /// Of it for neither measuring nor writing settings: bookkeeping, looks at what is set already.
    pub own: f64,
}

/// A quad that was left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Whether it was to compare, or to control.
    pub kind: Kind,
    /// The arm whose measurement has no number.
    pub arm: Arm,
    /// Why.
    pub unavailable: Unavailable,
}

/// What was measured beside the quads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BesideRun {
    /// What it is.
    pub subject: String,
    /// The CPU that it ran on.
    pub cpu: CpuId,
    /// Its seconds right after each measurement, in the slots of the quads.
    pub quads: Vec<Quad>,
}

/// The runs of a command in one arm, those among them that belong to no quad.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ran {
    /// Whose they are.
    pub arm: Arm,
    /// How many.
    pub runs: u64,
    /// Time of CPUs, of all of them.
    pub cpu_seconds: f64,
    /// Times that a CPU was taken away from one of their threads.
    pub involuntary_switches: u64,
}

/// The clock of each CPU that was measured or kept busy, while it was not halted (turbostat's `Bzy_MHz`): looked at
/// around each measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BusyClocks {
    /// Where it is read.
    pub source: String,
    /// Each CPU.
    pub cpus: Vec<BusyClock>,
}

/// The clock of a CPU in both arms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BusyClock {
    /// The CPU.
    pub cpu: CpuId,
    /// Its package.
    pub package: u32,
    /// Its core, as the kernel numbers it within the package.
    pub core: u32,
    /// While A was measured.
    pub a: ArmClock,
    /// While B was measured.
    pub b: ArmClock,
}

/// The clock of a CPU in one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmClock {
    /// What it did.
    pub role: CpuRole,
    /// How fast it was.
    pub clock: Known<ClockSpread>,
}

/// What a CPU did while an arm was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CpuRole {
    /// The workload ran there.
    Measured,
    /// It was kept busy.
    Busy,
    /// Nothing ran there by us.
    Idle,
}

/// A clock over several measurements, in hertz.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockSpread {
    /// Measurements around which it was looked at.
    pub count: u64,
    /// 10th percentile.
    pub p10: f64,
    /// Median.
    pub median: f64,
    /// 90th percentile.
    pub p90: f64,
}
