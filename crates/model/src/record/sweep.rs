//! A sweep over the values of a setting in a record: every measurement, and which value is best.

use serde::{Deserialize, Serialize};

use super::{ArmFailure, QuadCost};
use crate::stats::paired::{Looks, Per, Ranking, Rules, SweepBlock};
use crate::{Known, Unavailable};

/// What was swept, how, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepRun {
    /// What was measured: a workload of an area, or the command.
    pub subject: String,
    /// The quantity, in words.
    pub metric: String,
    /// Its unit; empty: whatever the program says.
    pub unit: String,
    /// What it is related to; none: it is taken as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<Per>,
    /// What counted the energy, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_source: Option<String>,
    /// The setting.
    pub setting: String,
    /// Its values, in order.
    pub arms: Vec<SweptValue>,
    /// When it was to be looked at, after how many blocks, and at which level.
    pub looks: Looks,
    /// What the ranking rests on.
    pub rules: Rules,
    /// What was measured, in order.
    pub blocks: Vec<SweepBlock>,
    /// What may be said; or why nothing.
    pub ranking: Known<Ranking>,
    /// Values that cannot be measured, and what happened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<ArmFailure>,
    /// Blocks that were left out because a measurement of them has no number; each was measured again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutBlock>,
    /// Why it ended.
    pub ended: String,
    /// What a block took; none where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<QuadCost>,
    /// How long each setting was under load before it was measured, where settings move power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_seconds: Option<f64>,
}

/// A value of the setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweptValue {
    /// As it was typed.
    pub text: String,
    /// The number that it is, in the unit in which it was typed; none: it is a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<f64>,
}

/// A block that was left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOutBlock {
    /// The value whose measurement has no number.
    pub arm: String,
    /// Why.
    pub unavailable: Unavailable,
}
