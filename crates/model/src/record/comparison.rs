//! A comparison of two settings in a record: every measurement, and what may be said of them.

use serde::{Deserialize, Serialize};

use crate::Known;
use crate::stats::paired::{Comparison, Flag, Looks, Quad, Rules};

/// What was compared, how, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
    /// Why it ended.
    pub ended: String,
    /// Seconds of a quad, with everything beside it.
    pub quad_seconds: f64,
    /// Seconds of a quad that were spent on other things than measuring: settings, bookkeeping.
    pub own_seconds: f64,
}

/// A measurement that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ArmFailure {
    /// `A` or `B`.
    pub arm: String,
    /// What happened.
    pub why: String,
}
