//! A command that was run while the machine was watched.

use serde::{Deserialize, Serialize};

use crate::cpus::CpuSet;
use crate::quantity::{Hertz, Seconds};
use crate::unavailable::{Known, Unavailable};

/// What was run, how it ended, and what went on beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuietRun {
    /// The name of the program, without folder and arguments: those may name people.
    pub program: String,
    /// How it ended: its exit code, or the signal; none where it was only planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<CommandEnd>,
    /// The time from its start to its end.
    pub seconds: Seconds,
    /// Time of CPUs, of it and of all that it waited for.
    pub cpu_seconds: Seconds,
    /// Times that a CPU was taken away from one of its threads.
    pub involuntary_switches: u64,
    /// The CPUs that it may use.
    pub cpus: CpuSet,
    /// The share of those CPUs that others used meanwhile.
    pub others: Known<f64>,
    /// The clock of one of them under load right before it, and right after it.
    pub clock: [Known<Hertz>; 2],
    /// The clock of the busy CPUs meanwhile, by what the hardware counts.
    pub clock_meanwhile: Known<Hertz>,
    /// Settings that were asked for and not made: which, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Unavailable>,
    /// Whether numbers that the command reports can be relied on.
    pub trust: Trust,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CommandEnd {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// Whether a result can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// Nothing was seen that speaks against it.
    Yes,
    /// Something was; the findings say what.
    No,
    /// What would speak against it could not be seen here.
    CannotTell,
}
