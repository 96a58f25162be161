//! Results among those of earlier records.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::quantity::Unit;
use crate::stats::paired::Better;
use crate::unavailable::Known;

/// What a result is: the key by which records are brought together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResultKey {
    /// The area.
    pub area: String,
    /// The workload.
    pub workload: String,
    /// The id of the quantity.
    pub quantity: String,
    /// How many CPUs were active.
    pub active: usize,
    /// Which CPUs, where a record has several such sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// What else tells it from others.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}

/// The results of a run among those of earlier records of machines like this one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReferenceRun {
    /// How many earlier records of such machines there are.
    pub records: u64,
    /// When the first of them began, and the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<[String; 2]>,
    /// What makes machines alike: what it is called, and what it is here.
    pub alike: Vec<(String, String)>,
    /// Files that say nothing of such a machine, counted by the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutRecords>,
    /// The results of this run that are held against earlier ones.
    pub positions: Vec<ReferencePosition>,
}

/// Files of a folder that say nothing of such a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOutRecords {
    /// Why.
    pub why: String,
    /// How many.
    pub count: u64,
}

/// A result among those of earlier records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReferencePosition {
    /// What it is.
    #[serde(flatten)]
    pub what: ResultKey,
    /// Its unit.
    pub unit: Unit,
    /// Which direction is better, where one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
    /// This run's number: the median over blocks.
    pub value: f64,
    /// How many earlier records have such a number.
    pub count: u64,
    /// Where it lies among them, or why that cannot be said.
    pub place: Known<ReferencePlace>,
}

impl ReferencePosition {
    /// Whether it is outside on the side that is not the better one, or on any where none is.
    pub fn is_worse(&self) -> bool {
        let Some(place) = self.place.value() else { return false };
        match (place.side, self.better) {
            (ReferenceSide::Inside, _) => false,
            (ReferenceSide::Below, better) => better != Some(Better::Less),
            (ReferenceSide::Above, better) => better != Some(Better::More),
        }
    }
}

/// Where a number lies among earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReferencePlace {
    /// The least, the first quartile, the median, the third quartile and the greatest of the earlier
    /// numbers.
    pub quartiles: [f64; 5],
    /// Their median distance from their median, times 1.4826: the standard deviation, where they are
    /// normal; a few outliers do not move it.
    pub deviation: f64,
    /// The share of them that is lower; of those that are equal half.
    pub below: f64,
    /// A number beyond these limits is outside.
    pub limits: [f64; 2],
    /// On which side of them it is.
    pub side: ReferenceSide,
}

/// On which side of limits a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ReferenceSide {
    /// Within them.
    Inside,
    /// Below the lower one.
    Below,
    /// Above the upper one.
    Above,
}
