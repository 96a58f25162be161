//! What data of a size passes through, by what the machine says of its caches: no number of a cache is
//! ever called memory.

use model::CpuSet;
use model::areas::memory::{data_caches, is_beyond};
use model::record::{Cache, Topology};

use super::read::Cell;

/// What the data of a cell passes through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Extent {
    /// Each core's part fits into this level of the caches.
    Within(u8),
    /// Larger than that, and less than the rule.
    Partly,
    /// As large as the rule asks.
    Memory,
}

impl Extent {
    /// Whether caches hold all of it.
    pub(super) fn is_within(&self) -> bool {
        matches!(self, Extent::Within(_))
    }

    /// The words for it.
    pub(super) fn words(&self) -> String {
        match self {
            Extent::Within(level) => format!("within L{level}"),
            Extent::Partly => "cache and memory".to_owned(),
            Extent::Memory => "memory".to_owned(),
        }
    }
}

/// The nearest cache in which so many bytes in equal parts for these CPUs fit.
pub(super) fn holding(topology: &Topology, cpus: &CpuSet, bytes: u64) -> Option<u8> {
    let each = bytes.div_ceil(cpus.len().max(1) as u64);
    let holds = |cache: &&Cache| {
        let users = cache.instances.iter().map(|instance| instance.intersection(cpus).len() as u64);
        let users = users.max().unwrap_or(0);
        cache.bytes.is_some_and(|size| each.saturating_mul(users) <= size)
    };
    let held = data_caches(topology, cpus).find(holds);
    held.map(|cache| cache.level)
}

/// What each of these arrays passes through, where all of them together have a footprint.
pub(super) fn of_arrays(topology: &Topology, cell: &Cell<'_>) -> Option<Extent> {
    let (bytes, footprint) = (cell.array_bytes()?, cell.footprint()?);
    if is_beyond(topology, cell.active, bytes) {
        return Some(Extent::Memory);
    }
    Some(holding(topology, cell.active, footprint).map_or(Extent::Partly, Extent::Within))
}
