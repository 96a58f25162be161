//! What the machine promises on power: turbo limits and idle states.

use serde::{Deserialize, Serialize};

use crate::cpus::CpuSet;

/// An idle state, and the CPUs that have it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleState {
    /// Its name, such as `C6`.
    pub name: String,
    /// What the driver says of it, such as `MWAIT 0x20`; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// How long leaving it takes at worst, as the driver states it; absent where it states none, or
    /// what no state takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_seconds: Option<f64>,
    /// How long a CPU should stay for it to save energy, as the driver states it; absent likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residency_seconds: Option<f64>,
    /// The online CPUs that have it.
    pub cpus: CpuSet,
    /// Those of them on which it is switched off.
    #[serde(default, skip_serializing_if = "CpuSet::is_empty")]
    pub disabled_on: CpuSet,
}

/// The highest frequencies by number of active cores, as the CPU's registers state them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurboLimit {
    /// The type of core, where the machine has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The online CPUs that it applies to, package by package.
    pub cpus: CpuSet,
    /// How many cores of one package it applies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// The steps, ascending by number of cores.
    pub steps: Vec<TurboStep>,
    /// Why nothing is stated of more cores than the last step is for, where the package has more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond: Option<String>,
    /// Where it was read, such as `MSR 1ADh x 100 MHz`.
    pub source: String,
}

/// One step of a turbo limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurboStep {
    /// It holds up to this number of active cores of one package.
    pub active_cores: u32,
    /// The highest frequency, in hertz.
    pub hertz: f64,
}
