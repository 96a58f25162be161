//! What a machine could do at most, by the bytes that it moves for each operation, and where work lies below that.

use serde::{Deserialize, Serialize};

use crate::Datatype;

/// What some CPUs do at most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Roofline {
    /// How many CPUs.
    pub cpus: u64,
    /// The type of their cores, where the machine has several and all of them are of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The most of each datatype.
    pub peaks: Vec<RooflinePeak>,
    /// The most of each level of memory, the nearest first.
    pub levels: Vec<RooflineLevel>,
}

/// The most operations of a datatype.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RooflinePeak {
    /// Of what.
    pub datatype: Datatype,
    /// Operations a second.
    pub operations_per_second: f64,
    /// Whether it rests on disturbed blocks alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_doubtful: bool,
}

/// The most bytes of a level of memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RooflineLevel {
    /// Which, and what was done: `L2, reads`.
    pub name: String,
    /// Bytes a second.
    pub bytes_per_second: f64,
}

/// Where work lies below a roofline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RooflineSpot {
    /// The roofline: that of so many CPUs.
    pub cpus: u64,
    /// What its operations are of.
    pub datatype: Datatype,
    /// How many it did.
    pub operations: f64,
    /// How many bytes it moved.
    pub bytes: f64,
    /// How long it took.
    pub seconds: f64,
    /// How many CPUs it kept busy, on the average.
    pub busy: f64,
    /// Who says how many operations and bytes: `stated`, `counted`, `by its code`.
    pub by: [String; 2],
}

impl RooflineSpot {
    /// Operations for each byte.
    pub fn intensity(&self) -> f64 {
        self.operations / self.bytes
    }

    /// Operations a second.
    pub fn rate(&self) -> f64 {
        self.operations / self.seconds
    }
}

impl RooflineLevel {
    /// Operations a second that it allows work with so many for each byte.
    pub fn allows(&self, intensity: f64) -> f64 {
        intensity * self.bytes_per_second
    }
}
