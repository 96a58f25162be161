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
    /// What the machine was judged by, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<GateItem>,
}

/// One thing that a machine was judged by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateItem {
    /// What kind of thing it is.
    pub code: GateCode,
    /// Its name: of a result, of a check, of a claim.
    pub name: String,
    /// What came of it.
    pub state: GateState,
    /// What was found, with its unit, where something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// What it is held against, with its unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// Who says so: `bound`, `63 peers`, `theory`, `kernel`.
    pub by: String,
    /// In a sentence, what is wrong with it, or why it could not be judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What would help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// How far it is off: the natural logarithm of what is expected over what was found, whichever is larger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<f64>,
}

/// What became of one thing that a machine was judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GateState {
    /// It is not as it should be: the machine fails.
    Fails,
    /// It could not be judged, and should have been.
    CannotJudge,
    /// It is not as it should be, and a machine with it passes.
    Warns,
    /// It is as it should be.
    Holds,
    /// There was no time or quiet for it, and nobody insists.
    NotJudged,
}

/// What a machine fails by, as a word that stays the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum GateCode {
    /// A wrong answer of a CPU.
    Sdc,
    /// Errors of memory.
    Ecc,
    /// A clock, or the rate of work that follows from it.
    Clk,
    /// Bandwidth of memory.
    Bw,
    /// Latency of memory.
    Lat,
    /// Messages from core to core.
    C2c,
    /// Waking, waiting and parallel regions.
    Wake,
    /// A setting, or how the machine is equipped.
    Cfg,
    /// Other work, and interruptions.
    Noise,
}

impl GateCode {
    /// All of them.
    pub const ALL: [GateCode; 9] = [
        GateCode::Sdc,
        GateCode::Ecc,
        GateCode::Clk,
        GateCode::Bw,
        GateCode::Lat,
        GateCode::C2c,
        GateCode::Wake,
        GateCode::Cfg,
        GateCode::Noise,
    ];

    /// Whether it is told by times, which other work makes longer.
    pub const fn is_timed(self) -> bool {
        !matches!(self, GateCode::Sdc | GateCode::Ecc | GateCode::Cfg)
    }

    /// The word.
    pub const fn word(self) -> &'static str {
        match self {
            GateCode::Sdc => "SDC",
            GateCode::Ecc => "ECC",
            GateCode::Clk => "CLK",
            GateCode::Bw => "BW",
            GateCode::Lat => "LAT",
            GateCode::C2c => "C2C",
            GateCode::Wake => "WAKE",
            GateCode::Cfg => "CFG",
            GateCode::Noise => "NOISE",
        }
    }
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
