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

#[cfg(test)]
mod tests {
    use model::areas::memory::{AREA, QUESTION};

    use super::super::read::cells;
    use super::*;
    use crate::testing::{blank, cache, series};

    const MIB: u64 = 1 << 20;

    /// Two CPUs, each with 1 MiB of its own, and 16 MiB for both.
    fn topology() -> Topology {
        let mut record = blank();
        cache(&mut record, 2, MIB, &["0", "1"]);
        cache(&mut record, 3, 16 * MIB, &["0-1"]);
        record.machine.topology
    }

    #[test]
    fn data_in_equal_parts_is_held_where_each_cache_has_room_for_all_of_its_parts() {
        let held = |cpus: &str, bytes| holding(&topology(), &cpus.parse().unwrap(), bytes);
        // 2 MiB are 1 MiB for each of two CPUs; one byte more is half a byte for each, rounded up.
        assert_eq!(held("0-1", 2 * MIB), Some(2));
        assert_eq!(held("0-1", 2 * MIB + 1), Some(3));
        assert_eq!(held("0", 2 * MIB), Some(3));
        assert_eq!(held("0-1", 16 * MIB), Some(3));
        assert_eq!(held("0-1", 16 * MIB + 2), None);
    }

    #[test]
    fn arrays_pass_through_memory_from_four_times_the_caches_on() {
        let of = |elements: u64, footprint: u64| {
            let mut record = blank();
            let parameters = [
                (QUESTION, "bandwidth"),
                ("elements", &elements.to_string()),
                ("footprint", &footprint.to_string()),
            ];
            record.series =
                vec![series([AREA, "copy", "bandwidth"], "0-1", &parameters, &[&[1.0]])];
            of_arrays(&topology(), &cells(&record, "bandwidth")[0])
        };
        // 4 x (2 x 1 + 16) MiB are 72 MiB, of elements of 8 bytes; each of two threads may lack one.
        let rule = 72 * MIB / 8;
        assert_eq!(of(rule - 2, 144 * MIB), Some(Extent::Memory));
        assert_eq!(of(rule - 3, 144 * MIB), Some(Extent::Partly));
        assert_eq!(of(MIB, 16 * MIB), Some(Extent::Within(3)));
        assert_eq!(of(MIB / 8, 2 * MIB), Some(Extent::Within(2)));
    }
}
