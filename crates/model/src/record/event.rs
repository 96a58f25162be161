//! What happened in a run beside its numbers.

use serde::{Deserialize, Serialize};

use crate::{CpuId, Seconds};

/// Something that happened in a run, as whoever measured saw it. What it means for a reader, a finding says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Rulers could not be calibrated: clock and cycles are unknown there.
    NoRuler {
        /// On these CPUs.
        cpus: Vec<CpuId>,
        /// Why; nothing where its two chains agreed on no whole number of cycles.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        told: Option<Told>,
    },
    /// The two chains of a ruler agreed only after several attempts.
    RulersLate {
        /// On so many CPUs.
        cpus: u64,
        /// Of so many.
        of: u64,
    },
    /// A CPU was there when the run began, and threads could not be pinned to it any more: the run ended.
    CpuLost {
        /// Which.
        cpu: CpuId,
        /// What the kernel said, and what helps.
        #[serde(flatten)]
        told: Told,
    },
    /// The run could not go on: it ended.
    Failed {
        /// Why, and what helps.
        #[serde(flatten)]
        told: Told,
    },
    /// Nothing of the run ran: the machine was suspended, stopped, or busy with others.
    StoodStill {
        /// For so long.
        seconds: Seconds,
    },
    /// Cells of an area failed, while everything else was measured.
    CellsFailed {
        /// The area.
        area: String,
        /// The workloads of these cells.
        workloads: Vec<String>,
        /// Why, and what helps.
        #[serde(flatten)]
        told: Told,
    },
    /// What belongs to no cell failed, while the cells were measured.
    PartFailed {
        /// What was done.
        doing: String,
        /// Why, and what helps.
        #[serde(flatten)]
        told: Told,
    },
    /// CPUs lay otherwise to each other after a sweep than before: the host moved them.
    PlacementChanged {
        /// In so many sweeps.
        sweeps: u64,
    },
    /// Something that a later version recorded and this one has no word for.
    #[serde(other)]
    Unknown,
}

/// Why something happened, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Told {
    /// Why.
    pub why: String,
    /// What helps, where something does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}
