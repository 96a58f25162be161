//! What a core sees of its caches: latencies by size, and where the last one ends.

use std::collections::BTreeMap;

use model::areas::memory::{AREA, CHASE, beyond, cache_sizes, is_of_cache, within_last_level};
use model::record::{KeyNumber, Record, Series, Topology};
use model::stats::{median, median_interval, quantile};
use model::{CpuId, Known, Obstacle, Unavailable, Unit};

use super::{absent, footprint, id, number};

/// Where nobody says which caches there are, the last one begins here at the latest.
const INNER: u64 = 2 << 20;

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
    let inner = sizes.last().map_or(if last.is_some() { 0 } else { INNER }, |(_, bytes)| *bytes);
    let claimed = last.ok_or_else(|| {
        Unavailable::new(Obstacle::Hardware, "last-level cache", "nobody says how large it is")
    });
    let size = |(_, bytes)| KeyNumber { value: bytes as f64, unit: Unit::Byte, interval: None };
    let latency = claimed.clone().and_then(|_| curve.within_last(topology, first));
    // A ring of memory needs no claim: where its latencies begin to be memory's, the cache ends.
    let memory = curve.beyond(beyond(topology, first));
    let usable = memory.clone().and_then(|_| curve.usable(inner));
    numbers.insert(id::CLAIMED.to_owned(), claimed.map(size).into());
    for (id, what, number) in [
        (id::LAST, "latency of the last-level cache", latency),
        (id::USABLE, "usable last-level cache", usable),
        (id::MEMORY, "latency of memory", memory),
    ] {
        let number = number.map_err(|reason| Unavailable { what: what.to_owned(), ..reason });
        numbers.insert(id.to_owned(), number.into());
    }
    numbers
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
        /// Whatever disturbs makes a pointer slower: the fast blocks are the cache's own. The fastest one is the faster
        /// the more there are.
        const FAST: f64 = 0.1;
        let what = format!("latency of L{level}");
        let within = self.cycles.range(bytes / 4..=bytes / 2).next_back();
        let series = within.map_or(&[][..], |(_, series)| series.as_slice());
        let typical = number(series, &what)?;
        let blocks = series.iter().filter_map(|series| Some(series.samples()?.block_medians()));
        let blocks: Vec<f64> = blocks.flatten().collect();
        let value = quantile(&blocks, FAST).unwrap_or(typical.value);
        let fastest = blocks.iter().copied().fold(value, f64::min);
        let interval = typical.interval.map(|[_, high]| [fastest, high]);
        Ok(KeyNumber { value, interval, ..typical })
    }

    fn at(&self, bytes: u64) -> &[&'a Series] {
        self.seconds.get(&bytes).map_or(&[], Vec::as_slice)
    }

    /// The largest size.
    fn largest(&self) -> Result<u64, Unavailable> {
        let largest = self.seconds.keys().next_back().copied();
        largest.ok_or_else(|| absent("latencies", "this record has no latencies by size"))
    }

    /// Latency of the last-level cache.
    fn within_last(&self, topology: &Topology, first: CpuId) -> Result<KeyNumber, Unavailable> {
        const WHAT: &str = "latency of the last-level cache";
        let largest = self.largest()?;
        let plateau = within_last_level(topology, first, self.seconds.keys().copied());
        let plateau = plateau.ok_or_else(|| {
            absent(WHAT, "no size between it and the cache before it was measured")
        })?;
        let latency = number(self.at(plateau), WHAT)?;
        match number(self.at(largest), WHAT) {
            Ok(behind) if !is_of_cache(latency.value, behind.value) => {
                let why = format!("neighbours leave less of it than {} MiB", plateau >> 20);
                Err(absent(WHAT, why))
            }
            _ => Ok(latency),
        }
    }

    /// Latency of what is behind all caches, which answers from so many bytes on.
    fn beyond(&self, bytes: u64) -> Result<KeyNumber, Unavailable> {
        const WHAT: &str = "latency of memory";
        let largest = self.largest()?;
        if largest < bytes {
            let why =
                format!("caches may hold rings up to {} MiB, and none is larger", bytes >> 20);
            return Err(Unavailable::new(Obstacle::Hardware, WHAT, why));
        }
        number(self.at(largest), WHAT)
    }

    /// The size at which the last-level cache ends, block by block, on the way from the first size beyond the cache
    /// before it to the largest one. A block that was ended early shows no end.
    fn usable(&self, inner: u64) -> Result<KeyNumber, Unavailable> {
        const WHAT: &str = "usable last-level cache";
        let mut blocks: BTreeMap<u64, Vec<(u64, f64)>> = BTreeMap::new();
        for (bytes, series) in self.seconds.range(inner + 1..) {
            let medians =
                series.iter().filter_map(|series| Some(series.samples()?.numbered_medians()));
            for (block, seconds) in medians.flatten() {
                blocks.entry(block).or_default().push((*bytes, seconds));
            }
        }
        let sizes = || blocks.values().flatten().map(|(bytes, _)| *bytes);
        let ends = (sizes().min(), sizes().max());
        let size = |point: Option<&(u64, f64)>| point.map(|(bytes, _)| *bytes);
        let is_whole = |curve: &&Vec<(u64, f64)>| (size(curve.first()), size(curve.last())) == ends;
        let knees: Vec<Option<f64>> =
            blocks.values().filter(is_whole).map(|curve| knee(curve)).collect();
        let ends: Vec<f64> = knees.iter().flatten().copied().collect();
        let value = median(&ends).filter(|_| 2 * ends.len() > knees.len());
        let value = value.ok_or_else(|| absent(WHAT, "latencies by size show no step"))?;
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
