//! How large arrays and rings are.

use machine::memory::{Room, room};
use model::record::Topology;
use model::{CpuId, CpuSet, Unavailable};

use super::super::Planning;
use crate::rig::traffic::Store;

/// Arrays shall be so many times as large as the caches that they pass through: of a larger array no
/// more than a quarter can be left from the trip before (rule of STREAM).
pub(super) const TIMES_CACHES: u64 = 4;

/// Where nobody says how large caches are: larger than those of nearly all machines.
const UNKNOWN_CACHES: u64 = 64 << 20;

/// The length of each array, over all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// In elements of 8 bytes.
    Elements(u64),
    /// In bytes.
    Bytes(u64),
}

impl Length {
    /// Whole elements.
    pub fn elements(self) -> u64 {
        match self {
            Length::Elements(elements) => elements,
            Length::Bytes(bytes) => bytes / 8,
        }
    }
}

/// Bytes of the caches that these CPUs use, as the machine says.
pub(super) fn caches(topology: &Topology, cpus: &[CpuId]) -> u64 {
    let cpus: CpuSet = cpus.iter().copied().collect();
    let used = |cache: &model::record::Cache| {
        cache.instances.iter().filter(|i| !i.difference(&cpus).eq(i)).count() as u64
    };
    let caches = topology.caches.iter().filter(|cache| cache.level >= 2);
    let bytes: u64 = caches.map(|cache| cache.bytes.unwrap_or(0) * used(cache)).sum();
    if bytes == 0 { UNKNOWN_CACHES } else { bytes }
}

/// Elements of each array on these CPUs, by the rule.
pub(super) fn rule(plan: &Planning<'_>, cpus: &[CpuId]) -> u64 {
    TIMES_CACHES * caches(plan.topology(), cpus) / 8
}

/// Memory that there is room for.
pub(super) struct Fit {
    /// The part of what was wanted that there is room for: 1, or less.
    pub(super) share: f64,
    /// What limits it, where it is less.
    pub(super) limited_by: Option<String>,
}

/// What part of these stores there is room for.
pub(super) fn fit(plan: &Planning<'_>, stores: &[Store]) -> Result<Fit, Unavailable> {
    let Some(pages) = stores.first().map(|store| store.pages) else {
        return Ok(Fit { share: 1.0, limited_by: None });
    };
    let wanted: u64 = stores.iter().map(|store| store.bytes).sum();
    let Room { limited_by, .. } = room(plan.machine, pages)?;
    let usable = room(plan.machine, pages)?.usable();
    // Whole pages, arrays off each other.
    let wanted = wanted + (stores.len() as u64) * pages.reserved_bytes().unwrap_or(2 << 20);
    if wanted <= usable {
        return Ok(Fit { share: 1.0, limited_by: None });
    }
    Ok(Fit { share: usable as f64 / wanted as f64, limited_by: Some(limited_by) })
}

/// What larger than this is certainly not in any cache, and every base page of it misses.
pub(super) fn beyond_caches(plan: &Planning<'_>) -> u64 {
    2 * caches(plan.topology(), &plan.placement.cpus[..1])
}
