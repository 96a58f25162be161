//! What a core sees of its caches: latencies by size, and where the last one ends.

use std::collections::BTreeMap;

use model::areas::memory::{AREA, CHASE, cache_sizes, is_of_cache, within_last_level};
use model::record::{KeyNumber, Record, Series, Topology};
use model::stats::{median, median_interval};
use model::{CpuId, Known, Obstacle, Unavailable, Unit};

use super::{absent, footprint, id, number};

/// From here on memory answers, in sizes of all caches.
const BEYOND: f64 = 1.5;

/// A last-level cache ends where so much of the way from its latency to that of memory is gone: one access in four
/// misses. Where lines are evicted at random that is at four thirds of its size; where the oldest go, at its size.
const GONE: f64 = 0.25;

/// What of it is known.
pub(super) fn of(record: &Record, first: CpuId) -> BTreeMap<String, Known<KeyNumber>> {
    let topology = &record.machine.topology;
    let mut sizes = cache_sizes(topology, first);
    let curve = Curve::of(record, first);
    let mut numbers = BTreeMap::new();
    let last = sizes.pop();
    for (level, bytes) in &sizes {
        let found = curve.cycles_within(*level, *bytes);
        numbers.insert(format!("{}{level}.latency", id::CACHE), found.into());
    }
    let inner = sizes.last().map_or(0, |(_, bytes)| *bytes);
    let claimed = last.map(|(_, bytes)| bytes);
    let size =
        claimed.map(|bytes| KeyNumber { value: bytes as f64, unit: Unit::Byte, interval: None });
    let unsaid = || {
        Unavailable::new(Obstacle::Permission, "last-level cache", "nobody says how large it is")
    };
    numbers.insert(id::CLAIMED.to_owned(), size.ok_or_else(unsaid).into());
    let end =
        claimed.ok_or_else(unsaid).and_then(|claimed| curve.end((topology, first), inner, claimed));
    let (latency, usable, memory) = match end {
        Ok(LastLevel { latency, usable, memory }) => (latency, usable, memory),
        Err(reason) => (Err(reason.clone()), Err(reason.clone()), Err(reason)),
    };
    numbers.insert(id::LAST.to_owned(), latency.into());
    numbers.insert(id::USABLE.to_owned(), usable.into());
    numbers.insert(id::MEMORY.to_owned(), memory.into());
    numbers
}

/// What is known of the last-level cache and of what is behind it.
struct LastLevel {
    latency: Result<KeyNumber, Unavailable>,
    usable: Result<KeyNumber, Unavailable>,
    memory: Result<KeyNumber, Unavailable>,
}

/// Latencies by size.
struct Curve<'a> {
    seconds: BTreeMap<u64, Vec<&'a Series>>,
    cycles: BTreeMap<u64, Vec<&'a Series>>,
}

impl<'a> Curve<'a> {
    fn of(record: &'a Record, first: CpuId) -> Curve<'a> {
        let by_size = |quantity: &'a str| {
            let mut sizes: BTreeMap<u64, Vec<&'a Series>> = BTreeMap::new();
            for series in record.series_of(AREA, quantity) {
                let says = |name: &str, value: &str| {
                    series.parameters.get(name).is_none_or(|found| found == value)
                };
                let is_it = series.workload == CHASE
                    && series.cpu == first
                    && series.active.len() == 1
                    && says("question", "sweep")
                    && says("walk", "random")
                    && says("chains", "1");
                if let Some(bytes) = footprint(series).filter(|_| is_it) {
                    sizes.entry(bytes).or_default().push(series);
                }
            }
            sizes
        };
        Curve { seconds: by_size("latency"), cycles: by_size("latency_cycles") }
    }

    /// Core cycles of a pointer in the largest size that an inner cache holds for sure.
    fn cycles_within(&self, level: u8, bytes: u64) -> Result<KeyNumber, Unavailable> {
        let what = format!("latency of L{level}");
        let within = self.cycles.range(bytes / 4..=bytes / 2).next_back();
        let series = within.map_or(&[][..], |(_, series)| series.as_slice());
        let typical = number(series, &what)?;
        // Whatever disturbs makes a pointer slower: the fastest block is the cache's own.
        let blocks = series.iter().filter_map(|series| Some(series.samples()?.block_medians()));
        let value = blocks.flatten().fold(typical.value, f64::min);
        Ok(KeyNumber { value, interval: None, ..typical })
    }

    /// Latency and end of the last-level cache, and latency of what is behind it.
    fn end(
        &self,
        (topology, first): (&Topology, CpuId),
        inner: u64,
        claimed: u64,
    ) -> Result<LastLevel, Unavailable> {
        const WHAT: &str = "last-level cache";
        let largest = self.seconds.keys().next_back().copied().unwrap_or(0);
        if largest == 0 {
            return Err(absent(WHAT, "this record has no latencies by size"));
        }
        let sizes = self.seconds.keys().copied();
        let Some(plateau) = within_last_level(topology, first, sizes) else {
            return Err(absent(WHAT, "no size between it and the cache before it was measured"));
        };
        let at = |bytes: u64| self.seconds.get(&bytes).map_or(&[][..], Vec::as_slice);
        let latency = number(at(plateau), "latency of the last-level cache");
        let behind = number(at(largest), "latency of memory");
        let latency = match (latency, &behind) {
            (Ok(hit), Ok(behind)) if !is_of_cache(hit.value, behind.value) => {
                let why = format!("neighbours leave less of it than {} MiB", plateau >> 20);
                Err(absent("latency of the last-level cache", why))
            }
            (latency, _) => latency,
        };
        let beyond = (claimed + inner) as f64 * BEYOND;
        if (largest as f64) < beyond {
            let why = format!(
                "the largest size, {} MiB, lies within what caches may hold, {} MiB",
                largest >> 20,
                (beyond as u64) >> 20
            );
            let missing = |what: &str| Err(absent(what, why.clone()));
            let (usable, memory) =
                (missing("usable last-level cache"), missing("latency of memory"));
            return Ok(LastLevel { latency, usable, memory });
        }
        let smallest = self.seconds.range(inner + 1..).next().map_or(plateau, |(bytes, _)| *bytes);
        Ok(LastLevel { latency, usable: self.usable(smallest, largest), memory: behind })
    }

    /// The size at which the cache ends, block by block, on the way from the first size beyond the cache before it.
    fn usable(&self, smallest: u64, largest: u64) -> Result<KeyNumber, Unavailable> {
        const WHAT: &str = "usable last-level cache";
        let mut blocks: BTreeMap<u64, Vec<(u64, f64)>> = BTreeMap::new();
        for (bytes, series) in self.seconds.range(smallest..=largest) {
            let medians =
                series.iter().filter_map(|series| Some(series.samples()?.numbered_medians()));
            for (block, seconds) in medians.flatten() {
                blocks.entry(block).or_default().push((*bytes, seconds));
            }
        }
        let ends: Vec<f64> = blocks.values().filter_map(|curve| knee(curve)).collect();
        let value = median(&ends).ok_or_else(|| absent(WHAT, "latencies by size show no step"))?;
        let interval = median_interval(&ends);
        Ok(KeyNumber { value, unit: Unit::Byte, interval })
    }
}

/// Where a curve of latencies by size has gone a part of its way.
fn knee(curve: &[(u64, f64)]) -> Option<f64> {
    /// Memory that answers hardly later than the cache shows no end of it.
    const STEP_MIN: f64 = 1.5;
    let (first, last) = (curve.first()?, curve.last()?);
    if last.1 < first.1 * STEP_MIN {
        return None;
    }
    let threshold = first.1 + (last.1 - first.1) * GONE;
    let after = curve.iter().position(|(_, seconds)| *seconds > threshold)?;
    let (low, high) = (curve.get(after.checked_sub(1)?)?, curve.get(after)?);
    let share = (threshold - low.1) / (high.1 - low.1);
    let (from, to) = ((low.0 as f64).ln(), (high.0 as f64).ln());
    Some((from + (to - from) * share).exp())
}

#[cfg(test)]
mod tests {
    use super::knee;

    #[test]
    fn a_cache_ends_where_a_quarter_of_the_way_to_memory_is_gone() {
        let mib = |size: u64| size << 20;
        let curve = [(mib(4), 10.0), (mib(8), 10.0), (mib(16), 50.0), (mib(64), 90.0)];
        // 30 of 10 to 50 ns: half of the way from 8 to 16 MiB, by logarithms.
        let found = knee(&curve).unwrap() / f64::from(1 << 20);
        assert!((found - 128f64.sqrt()).abs() < 1e-9, "{found}");
        assert_eq!(knee(&[(mib(4), 10.0), (mib(64), 12.0)]), None);
        assert_eq!(knee(&[(mib(4), 80.0)]), None);
        assert_eq!(knee(&[]), None);
    }
}
