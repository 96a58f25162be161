//! Who sits where: packages, dies, modules, cores, threads, caches, memory nodes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cpus::{CpuId, CpuSet};

/// Who sits where, as far as kernel and CPU say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Topology {
    /// CPUs that are online.
    pub online: CpuSet,
    /// CPUs that this process may use: online, in its affinity and in its cpuset.
    pub usable: CpuSet,
    /// CPUs that are plugged in, online or not; empty where the kernel does not say.
    #[serde(default)]
    pub present: CpuSet,
    /// CPUs that the scheduler leaves alone (`isolcpus`).
    #[serde(default)]
    pub isolated: CpuSet,
    /// Where each online CPU sits, ascending.
    pub cpus: Vec<CpuPlace>,
    /// Caches, ascending by level, data before instructions; one row per kind and size.
    #[serde(default)]
    pub caches: Vec<Cache>,
    /// Memory nodes, ascending, also those without CPUs; empty where the kernel knows none.
    #[serde(default)]
    pub nodes: Vec<Node>,
}

impl Topology {
    /// CPUs that are plugged in and switched off.
    pub fn offline(&self) -> CpuSet {
        self.present.difference(&self.online)
    }

    /// Where a CPU sits, where it is online.
    pub fn place(&self, cpu: CpuId) -> Option<&CpuPlace> {
        let index = self.cpus.binary_search_by_key(&cpu, |place| place.cpu).ok()?;
        self.cpus.get(index)
    }

    /// Where each usable CPU sits, ascending.
    pub fn usable_places(&self) -> impl Iterator<Item = &CpuPlace> {
        self.cpus.iter().filter(|place| self.usable.contains(place.cpu))
    }
}

/// Where a CPU sits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CpuPlace {
    /// The CPU.
    pub cpu: CpuId,
    /// Its package (socket).
    pub package: u32,
    /// Its die; unique within a package. Absent where nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub die: Option<u32>,
    /// Its module, cores that share a second-level cache; unique within a package. Absent where
    /// nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<u32>,
    /// Its core; unique within a package.
    pub core: u32,
    /// CPUs of the same core that are online, itself among them.
    pub siblings: CpuSet,
    /// CPUs that share its last-level cache; empty where the kernel does not say.
    pub last_level_cache: CpuSet,
    /// Its NUMA node, where the kernel says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// Its type, where the machine has several: `P`, `E` and `LP-E` of hybrid x86 CPUs, else the
    /// name of the core, such as `Cortex-A510`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// What a cache holds.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum CacheKind {
    /// Data.
    Data,
    /// Instructions.
    Instruction,
    /// Both.
    Unified,
}

/// Equal caches, and who shares each of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cache {
    /// Its level; 1 is nearest to the core.
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// Size of one instance in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Size of a line in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_bytes: Option<u32>,
    /// Ways of associativity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ways: Option<u32>,
    /// The online CPUs of each instance, ascending by their first CPU.
    pub instances: Vec<CpuSet>,
}

/// A memory node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Node {
    /// The kernel's number; numbers may have holes.
    pub id: u32,
    /// Its online CPUs; empty for memory without CPUs.
    pub cpus: CpuSet,
    /// Its memory in bytes, where the kernel says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Distances to nodes as firmware states them (ACPI SLIT; 10 is the node itself).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub distances: BTreeMap<u32, u32>,
}
