//! What a run would measure, before anything is measured.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::record::{PageKind, Relation, Tool};
use crate::{CpuId, CpuSet, Seconds, Unavailable};

/// The schema of an outline.
pub const SCHEMA: &str = "cpudyno.plan/1";

/// What a run would measure, what not, and why.
#[derive(Debug, Clone, Serialize)]
pub struct Outline {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Who planned it.
    pub tool: Tool,
    /// The page that it would become.
    pub page: PageKind,
    /// The name of the simulated machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<String>,
    /// Where the machine's answers come from, where it is not this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// The CPUs that would be measured.
    pub cpus: Vec<CpuId>,
    /// Why these.
    pub placement: String,
    /// CPUs that this process may use.
    pub usable: CpuSet,
    /// CPUs that are on.
    pub online: CpuSet,
    /// The CPUs that its control groups let it use at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_cpus: Option<f64>,
    /// Whose quota it is, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<String>,
    /// The time that it was given.
    pub span: Span,
    /// A run that is bounded ends then.
    pub seconds_max: Seconds,
    /// Sweeps over all cells.
    pub sweeps: u64,
    /// What one of them takes.
    pub sweep_seconds: Seconds,
    /// What is gone through once takes.
    pub once_seconds: Seconds,
    /// Workloads by area, in the order of the sheet.
    pub workloads: Vec<OutlinedWorkload>,
    /// Those that would be measured, then those that do not fit.
    pub cells: Vec<OutlinedCell>,
    /// What this machine cannot do.
    pub absent: Vec<OutlinedAbsence>,
    /// Why cells do not fit, where some do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<Unavailable>,
}

/// How long a run measures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    /// As many blocks of as many cells as fit into this time.
    Budget(Seconds),
    /// So many blocks of every cell, however long they take.
    Blocks(u64),
    /// So many blocks of every cell, and one at least, but no sweep that would end when half as much time again
    /// is over as was planned.
    Bounded(u64),
    /// As many blocks of every cell as fit into this time, and one at least.
    All(Seconds),
}

/// A workload of an area.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutlinedWorkload {
    /// The area.
    pub area: &'static str,
    /// Its id.
    pub id: &'static str,
}

/// Workloads on CPUs that are active at once.
#[derive(Debug, Clone, Serialize)]
pub struct OutlinedCell {
    /// The area.
    pub area: &'static str,
    /// What would run.
    pub workloads: Vec<&'static str>,
    /// Where.
    pub cpus: Vec<CpuId>,
    /// What tells it from others.
    pub parameters: BTreeMap<String, String>,
    /// How its CPUs lie to each other, where it has two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relation: Option<Relation>,
    /// What one block of it takes.
    pub block_seconds: Seconds,
    /// Whether it fits.
    pub planned: bool,
}

/// What a machine cannot do.
#[derive(Debug, Clone, Serialize)]
pub struct OutlinedAbsence {
    /// The area.
    pub area: &'static str,
    /// The workload.
    pub id: &'static str,
    /// Why.
    pub unavailable: Unavailable,
}
