//! Memory: bandwidth and latency.

use super::{HIGHER, LOWER, NEITHER, Quantity};
use crate::record::{Cache, CacheKind, Series, Topology};
use crate::{CpuId, CpuSet, Seconds, Unit};

/// Its id.
pub const AREA: &str = "memory";
/// The workload that follows pointers; all others are kernels.
pub const CHASE: &str = "chase";
/// The kernel that the sheet measures on ever more cores.
pub const ALONE: &str = "copy";
/// The kernel of teams of threads, of which it is asked how many move most.
pub const TEAMS: &str = "triad";
/// What a number was measured for: the parameter `question`.
pub const QUESTION: &str = "question";
/// Elements and bytes of what others move beside a chase.
pub const BESIDE_ELEMENTS: &str = "beside_elements";
/// The bytes of it.
pub const BESIDE_FOOTPRINT: &str = "beside_footprint";

/// The instrument that counts what memory controllers moved.
pub const CONTROLLERS: &str = "memory_controllers";

/// The words for choices of variants, in the parameter `choice`.
pub mod choice {
    /// The fastest of all.
    pub const BEST: &str = "best";
    /// The widest.
    pub const WIDEST: &str = "widest";
    /// The fastest of those with ordinary stores.
    pub const ORDINARY: &str = "ordinary stores";
    /// The widest of those with non-temporal stores.
    pub const NON_TEMPORAL: &str = "non-temporal stores";
    /// The one that was asked for.
    pub const AS_ASKED: &str = "as asked for";
}

/// Arrays shall be so many times as large as the caches that they pass through: of a larger array no
/// more than a quarter can be left from the trip before (rule of STREAM).
pub const TIMES_CACHES: u64 = 4;

/// Bytes of the caches that these CPUs use, as the machine says. Where nobody does, as large as second-level caches
/// come of each core, and as large as those of most machines come for all of them; no more than this in sum.
pub fn caches(topology: &Topology, cpus: &[CpuId]) -> u64 {
    const OF_CORE: u64 = 2 << 20;
    const OF_ALL: u64 = 16 << 20;
    const MAX: u64 = 64 << 20;
    let in_use = topology.caches_in_use(&cpus.iter().copied().collect());
    let assumed = (OF_ALL + cpus.len() as u64 * OF_CORE).min(MAX);
    in_use.map_or(assumed, |in_use| in_use.bytes)
}

/// From so many bytes on a ring that is followed at random is in memory, as far as that CPU's caches go: half as much
/// again as they hold. Where nobody says how much that is, as much as the rule asks.
pub fn beyond(topology: &Topology, cpu: CpuId) -> u64 {
    let known = topology.caches_in_use(&CpuSet::from_iter([cpu]));
    known.map_or_else(|| rule(topology, &[cpu]), |in_use| in_use.bytes.saturating_mul(3) / 2)
}

/// The data caches that these CPUs use, nearest first.
pub fn data_caches<'a>(
    topology: &'a Topology,
    cpus: &'a CpuSet,
) -> impl Iterator<Item = &'a Cache> {
    let used = |cache: &&Cache| {
        let mut instances = cache.instances.iter();
        cache.kind != CacheKind::Instruction
            && instances.any(|instance| !instance.intersection(cpus).is_empty())
    };
    topology.caches.iter().filter(used)
}

/// Bytes of each array for these CPUs, by the rule: certainly beyond their caches.
pub fn rule(topology: &Topology, cpus: &[CpuId]) -> u64 {
    TIMES_CACHES.saturating_mul(caches(topology, cpus))
}

/// Whether an array of so many bytes over these CPUs is as large as the rule asks.
pub fn is_beyond(topology: &Topology, cpus: &CpuSet, bytes: u64) -> bool {
    // Threads have whole elements each.
    let slack = 8 * cpus.len() as u64;
    bytes.saturating_add(slack) >= rule(topology, cpus.as_slice())
}

/// The level and the bytes of each cache of data that a CPU has, by level, as far as they are known.
pub fn cache_sizes(topology: &Topology, cpu: CpuId) -> Vec<(u8, u64)> {
    let cpu = CpuSet::from_iter([cpu]);
    let mut sizes: Vec<(u8, u64)> =
        data_caches(topology, &cpu).filter_map(|it| Some((it.level, it.bytes?))).collect();
    sizes.sort_unstable();
    sizes
}

/// Of the sizes at which that CPU followed pointers, the one whose latency is most nearly that of its last-level cache
/// alone: four times the cache before it, which answers a quarter, but no more than half of what the last one is said to
/// hold, of which neighbours may take the rest.
pub fn within_last_level(
    topology: &Topology,
    cpu: CpuId,
    sizes: impl Iterator<Item = u64>,
) -> Option<u64> {
    let mut caches = cache_sizes(topology, cpu);
    let (_, claimed) = caches.pop()?;
    let inner = caches.last().map_or(0, |(_, bytes)| *bytes);
    let wanted = inner.saturating_mul(4).min(claimed / 2).max(inner + 1);
    let off = |bytes: u64| (bytes as f64 / wanted as f64).ln().abs();
    let between = sizes.filter(|bytes| (inner + 1..claimed).contains(bytes));
    between.min_by(|a, b| off(*a).total_cmp(&off(*b)))
}

/// Seconds of a pointer in that CPU's last-level cache, where these series have it: neighbours that leave less of it than
/// that takes leave no such number.
pub fn last_level_latency(topology: &Topology, cpu: CpuId, series: &[Series]) -> Option<Seconds> {
    let chases = || {
        series.iter().filter_map(|it| {
            let is_alone = it.area == AREA && it.workload == CHASE && it.active.len() == 1;
            let is = |name: &str, value: &str| it.parameters.get(name).is_some_and(|v| v == value);
            let is_it =
                is_alone && it.cpu == cpu && it.quantity == "latency" && is("walk", "random");
            let bytes: u64 = it.parameters.get("footprint")?.parse().ok()?;
            (is_it && is("chains", "1")).then_some((bytes, it.summary()?.median))
        })
    };
    let within = within_last_level(topology, cpu, chases().map(|(bytes, _)| bytes))?;
    let at = |size: u64| {
        let found: Vec<f64> =
            chases().filter(|(bytes, _)| *bytes == size).map(|(_, seconds)| seconds).collect();
        crate::stats::median(&found)
    };
    let behind = at(chases().map(|(bytes, _)| bytes).max()?)?;
    at(within).filter(|seconds| is_of_cache(*seconds, behind)).map(Seconds)
}

/// Whether a pointer that takes so long is answered by a cache, and not by what is behind it: of a ring of which a third
/// is in memory, pointers take about half as long as there.
pub fn is_of_cache(seconds: f64, behind: f64) -> bool {
    const SHARE_MAX: f64 = 0.45;
    seconds < behind * SHARE_MAX
}

/// What its numbers mean, in the order of a record.
pub static QUANTITIES: &[Quantity] = &[
    Quantity::new(
        "bandwidth",
        "bandwidth",
        Unit::BytePerSecond,
        HIGHER,
        "Bytes that the program asks for, of all threads together, per second from the first one's \
         beginning to the last one's end; one sample for each repetition.",
    ).judged(),
    Quantity::new(
        "latency",
        "latency",
        Unit::Second,
        LOWER,
        "Seconds that each pointer of a chain takes, where one is known only when the one before has \
         arrived; one sample for each repetition.",
    ).judged(),
    Quantity::new(
        "latency_cycles",
        "latency in core cycles",
        Unit::Cycle,
        LOWER,
        "The same in core cycles, by the multiply chain right after.",
    ),
    Quantity::new(
        "background",
        "bandwidth beside it",
        Unit::BytePerSecond,
        HIGHER,
        "Bytes per second that the other threads asked for meanwhile.",
    ),
    Quantity::new(
        "skew",
        "skew",
        Unit::One,
        LOWER,
        "How much earlier than the last thread the first one was through, as a share of the time.",
    ),
    Quantity::new(
        "measured_read",
        "measured reads",
        Unit::BytePerSecond,
        NEITHER,
        "Bytes per second that the memory controllers of all packages read from memory, of everybody, \
         by their own counters: what they counted between a reading before the first thread's beginning \
         and one after the last one's end, over the time of the repetition. Lines that stores and \
         prefetchers bring in count, too.",
    ),
    Quantity::new(
        "measured_write",
        "measured writes",
        Unit::BytePerSecond,
        NEITHER,
        "Bytes per second that they write to memory, in the same way.",
    ),
    Quantity::new(
        "measured_beyond",
        "time between readings beyond the repetition",
        Unit::One,
        LOWER,
        "How much longer than the repetition the time between the two readings of the memory \
         controllers was, as a share of the repetition: what others moved meanwhile counts, too.",
    ),
    Quantity::new(
        "measured_read_per_asked",
        "measured reads for each byte asked for",
        Unit::One,
        NEITHER,
        "Bytes that the memory controllers read for each byte that the program asks for, in the same \
         repetition.",
    ),
    Quantity::new(
        "measured_write_per_asked",
        "measured writes for each byte asked for",
        Unit::One,
        NEITHER,
        "Bytes that they write for each byte that the program asks for, in the same repetition.",
    ),
    Quantity::new(
        "measured_left_out",
        "repetitions that were not counted",
        Unit::One,
        LOWER,
        "Repetitions of a block that are left out of what memory controllers counted, beside the first: \
         a counter was taken by others, stood still or ran backwards. Blocks without any have no sample.",
    ),
    Quantity::new(
        "answer_error",
        "largest error of the answers",
        Unit::One,
        LOWER,
        "Relative; every kernel is exact, so that it is zero or there is no number at all.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Arm's kernels know no sizes of caches where firmware does not tell them.
    #[test]
    fn caches_that_nobody_describes_grow_with_the_cpus() {
        let bytes = |cpus: &str| {
            let cpus: Vec<CpuId> = cpus.parse::<CpuSet>().unwrap().iter().collect();
            rule(&Topology::default(), &cpus) >> 20
        };
        assert_eq!(["0", "0-1", "0-7"].map(bytes), [72, 80, 128]);
        assert_eq!(bytes("0-255"), 256, "as large as those of nearly all machines");
    }
}
