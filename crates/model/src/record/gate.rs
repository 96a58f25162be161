//! A machine that was let pass, or not.

use serde::{Deserialize, Serialize};

use super::ResultKey;
use crate::quantity::Unit;
use crate::unavailable::Known;

/// What was asked of a machine, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateRun {
    /// The verdict.
    pub verdict: GateVerdict,
    /// Why, in one line.
    pub reason: String,
    /// The bounds that were given.
    pub bounds: Vec<GateBound>,
}

/// Whether a machine passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GateVerdict {
    /// All that was asked holds.
    Pass,
    /// Something does not.
    Fail,
    /// Nothing fails, and something could not be judged.
    CannotJudge,
}

/// A bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateBound {
    /// The name, as it was typed: `memory.triad`.
    pub name: String,
    /// Which side it bounds.
    pub kind: BoundKind,
    /// The bound.
    pub limit: f64,
    /// Its unit.
    pub unit: Unit,
    /// The result that comes nearest to it, or is furthest beyond; or why there is none.
    pub outcome: Known<BoundOutcome>,
}

/// Which side a bound bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BoundKind {
    /// Numbers below it fail.
    Min,
    /// Numbers above it fail.
    Max,
}

impl BoundKind {
    /// The word in records.
    pub const fn word(self) -> &'static str {
        match self {
            BoundKind::Min => "min",
            BoundKind::Max => "max",
        }
    }
}

/// A result beside its bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BoundOutcome {
    /// What it is.
    pub what: ResultKey,
    /// The number: the median over blocks.
    pub value: f64,
    /// Its 95 % interval (94 % of five blocks), where there were enough blocks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// Whether the bound holds.
    pub holds: bool,
}
