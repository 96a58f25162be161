//! What the original STREAM reported, beside our own numbers.

use serde::{Deserialize, Serialize};

use crate::cpus::CpuSet;

/// A run of the original STREAM.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OriginalRun {
    /// SHA-256 of its source, in hexadecimal.
    pub source_sha256: String,
    /// What it calls its revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The first line of what the compiler says of itself.
    pub compiler: String,
    /// What the compiler was told.
    pub flags: Vec<String>,
    /// The CPUs that its threads were pinned to.
    pub cpus: CpuSet,
    /// Elements of each array.
    pub elements: u64,
    /// Whether it said that its answers are right; absent where it said nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validates: Option<bool>,
    /// What it reported, in bytes that the program asks for.
    pub rates: Vec<OriginalRate>,
    /// What it wrote to standard error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// What it reported of one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OriginalRate {
    /// The workload that does the same here, such as `copy`.
    pub workload: String,
    /// Bytes per second of its best repetition.
    pub best_bytes_per_second: f64,
    /// Seconds of its average repetition.
    pub average_seconds: f64,
    /// Seconds of its shortest repetition.
    pub shortest_seconds: f64,
    /// Seconds of its longest repetition.
    pub longest_seconds: f64,
}
