//! What a machine is by behaviour, and how it is today: few numbers that two runs are held together by.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::quantity::Unit;
use crate::unavailable::Known;

/// The form that this version writes; another major number is refused.
pub const KEY_SCHEMA: &str = "cpudyno.key/1";

/// A key: what a machine says of itself, and what it does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineKey {
    /// Name and major version of this form: `cpudyno.key/1`.
    pub schema: String,
    /// The same in one line, rounded for reading.
    pub line: String,
    /// When it was taken: RFC 3339, UTC.
    pub started: String,
    /// The name of the simulated machine, where nothing was measured at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<String>,
    /// What the machine says of itself, by the id of the fact.
    #[serde(default)]
    pub claims: BTreeMap<String, Known<String>>,
    /// What was measured, by id, such as `clock`.
    #[serde(default)]
    pub numbers: BTreeMap<String, Known<KeyNumber>>,
    /// How pairs of CPUs lie to each other by measurement, by how they do as the kernel says: of each the farthest.
    #[serde(default)]
    pub pairs: BTreeMap<String, KeyPair>,
    /// Microarchitectures whose published latencies are those that were measured.
    pub behaves_like: Known<Vec<String>>,
}

/// A number of a key.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyNumber {
    /// The median over blocks; of cycles in an inner cache a low quantile, of lost time the mean.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// The 95 % interval of the median, where there were enough blocks; of cycles in an inner cache it begins at the
    /// fastest block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

/// How CPUs that the kernel puts alike lie to each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyPair {
    /// Seconds of a line from one to the other.
    pub latency: Known<KeyNumber>,
    /// What that makes of them.
    pub class: Known<PairClass>,
}

/// How two CPUs lie to each other, as measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PairClass {
    /// They share the execution units of one core.
    SameCore,
    /// A line goes from one to the other within a shared cache.
    SameCache,
    /// It has to travel farther.
    Apart,
}

impl PairClass {
    /// The word in records and lines.
    pub const fn word(self) -> &'static str {
        match self {
            PairClass::SameCore => super::SAME_CORE,
            PairClass::SameCache => "same-cache",
            PairClass::Apart => "apart",
        }
    }
}
