//! Remarks on what was measured of memory.

use model::page::si;
use model::page::tally;
use model::record::{FactValue, PlacedMemory, Record};
use model::{CpuId, CpuSet, Finding, Unit};

use super::byte_accounting::Counting;
use super::channels;
use super::read::{Cell, cells, in_order};
use super::shown::sweep::{LevelVerdict, Sweep, not_seen, sweep, verdict};
use super::shown::{self, some};
use super::working_set::Extent;
use model::areas::memory as size;

/// All of them.
pub(super) fn of(record: &Record) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    findings.extend(too_small(record));
    findings.extend(caches_unknown(record));
    findings.extend(limited(record));
    findings.extend(other_pages(record));
    findings.extend(modes(record));
    findings.extend(channels::findings(record));
    findings.extend(OTHER_TRAFFIC.iter().filter_map(|kind| other_traffic(record, kind)));
    if let Some(sweep) = sweep(record) {
        findings.extend(other_sizes(record, &sweep));
    }
    findings
}

/// The questions whose arrays should be as large as the rule asks.
const BY_RULE: &[&str] = &["bandwidth", "scaling", "loaded", "numa"];

/// The questions that measure a bandwidth.
const MOVING: &[&str] = &["bandwidth", "scaling", "sweep", "factors", "numa"];

/// Arrays were asked to be so small that caches hold a part of them.
fn too_small(record: &Record) -> Option<Finding> {
    let counting = Counting::of(record);
    let cells: Vec<Cell<'_>> = BY_RULE.iter().flat_map(|word| cells(record, word)).collect();
    let small = cells.iter().filter(|cell| {
        cell.text("limited_by").is_none()
            && counting.extent(cell).is_some_and(|extent| extent != Extent::Memory)
    });
    // The number of threads with the largest caches.
    let cell = small.max_by_key(|cell| cell.active.len())?;
    let caches = size::caches(&record.machine.topology, cell.active.as_slice());
    let elements =
        model::areas::memory::rule(&record.machine.topology, cell.active.as_slice()).div_ceil(8);
    let text = format!(
        "{} each are less than {} times the caches of {} ({}): a part of them stays in caches, and \
             the numbers are none of memory",
        shown::size(cell.array_bytes()?),
        size::TIMES_CACHES,
        tally(cell.active.len(), "thread"),
        shown::size(caches)
    );
    Some(
        Finding::warning("memory.arrays-too-small", "arrays", text).remedy(format!(
            "make them larger, or leave the length to cpudyno: --length {elements}"
        )),
    )
}

/// There was no room for arrays as large as the rule asks.
fn limited(record: &Record) -> Option<Finding> {
    let sized = BY_RULE.iter().chain(&["sweep", "latency"]);
    let cells: Vec<Cell<'_>> = sized.flat_map(|word| cells(record, word)).collect();
    let limited = cells.iter().filter(|cell| cell.text("limited_by").is_some());
    let cell = limited.max_by_key(|cell| cell.number("footprint"))?;
    let text = format!(
        "there is no room for {} times the caches, so that {} at most was used: limited by {}",
        size::TIMES_CACHES,
        shown::size(cell.number("footprint")?),
        cell.text("limited_by")?
    );
    Some(
        Finding::warning("memory.limited", "size", text)
            .remedy("give it more memory, or use fewer CPUs: --threads N".to_owned()),
    )
}

/// Memory came in other pages than it was asked to.
fn other_pages(record: &Record) -> Option<Finding> {
    /// Ends of arrays never fill a huge page.
    const SHARE_MIN: f64 = 0.9;
    let few = |memory: &&PlacedMemory| memory.as_asked.is_some_and(|share| share < SHARE_MIN);
    let memory: Vec<&PlacedMemory> = record.run.plan.memory.iter().filter(few).collect();
    let first = memory.first()?;
    let got = in_order(memory.iter().filter_map(|memory| memory.backing.value()));
    let asked = in_order(memory.iter().map(|memory| memory.pages.as_str()));
    // Where the kernel makes them, or is asked to, only scattered memory is in the way.
    let makes_none = condition(record, "thp.enabled") == Some("never");
    let remedy = match first.pages.as_str() {
        "thp" if makes_none => {
            "let the kernel make huge pages where they are asked for: \
             `echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled`"
        }
        "thp" => {
            "memory may be too scattered: `echo 1 | sudo tee /proc/sys/vm/compact_memory`, or stop what takes it"
        }
        "4k" => "ask for the pages that it comes in: --pages thp",
        _ => "set more of these pages aside; `cpudyno doctor` says how",
    };
    let text = format!(
        "memory was asked to come in {} and came in {}: latencies contain more address translation, \
             and bandwidths may",
        asked.join(", "),
        got.iter().map(|got| got.as_str()).collect::<Vec<_>>().join("; ")
    );
    Some(Finding::warning("memory.other-pages", "pages", text).remedy(remedy.to_owned()))
}

/// A condition in words, as it was before the run.
fn condition<'a>(record: &'a Record, id: &str) -> Option<&'a str> {
    match record.conditions.before.iter().find(|fact| fact.id == id)?.value.value()? {
        FactValue::Text(text) => Some(text),
        FactValue::Number { .. } => None,
    }
}

/// Nobody says how large the caches are that the arrays should be beyond.
fn caches_unknown(record: &Record) -> Option<Finding> {
    let cells: Vec<Cell<'_>> = BY_RULE.iter().flat_map(|word| cells(record, word)).collect();
    let unknown = |cell: &&Cell<'_>| record.machine.topology.caches_in_use(cell.active).is_none();
    let cell = cells.iter().filter(unknown).max_by_key(|cell| cell.active.len())?;
    let assumed = size::caches(&record.machine.topology, cell.active.as_slice());
    let text = format!(
        "the kernel does not say how large the caches of {} are: {} are assumed, and where there are \
             more, a part of the arrays stays in them",
        tally(cell.active.len(), "thread"),
        shown::size(assumed)
    );
    Some(
        Finding::note("memory.caches-unknown", "caches", text).remedy(
            "see where latency rises: `cpudyno memory latency`, then --length N".to_owned(),
        ),
    )
}

/// Within one placement class, samples of a bandwidth fall into several groups.
fn modes(record: &Record) -> Option<Finding> {
    let counting = Counting::of(record);
    let cells: Vec<Cell<'_>> = MOVING.iter().flat_map(|word| cells(record, word)).collect();
    let found: Vec<String> = cells
        .iter()
        .filter_map(|cell| {
            let modes = cell.numbers("bandwidth")?.modes()?;
            let each = modes.iter().map(|mode| {
                format!("{} ({:.0} %)", counting.text(mode.median), mode.share * 100.0)
            });
            Some(format!(
                "{} ({}) on {}: {} {}, as asked",
                cell.workload,
                cell.text("variant").unwrap_or("-"),
                tally(cell.active.len(), "thread"),
                each.collect::<Vec<_>>().join(" and "),
                counting.unit()
            ))
        })
        .collect();
    (!found.is_empty()).then(|| {
        Finding::warning(
            "memory.modes",
            "bandwidth",
            format!(
                "samples fall into groups with nothing between them, although the CPUs lay to each \
             other as before: {}. They are shown apart: no median or average of all is right",
                some(&found)
            ),
        )
        .remedy("compare runs of one mode only; the record has every sample".to_owned())
    })
}

/// A way in which memory controllers count something else than follows from the instructions.
struct OtherTraffic {
    id: &'static str,
    /// Whether it is that, where for each byte that was asked for the first number was measured, and the
    /// second one follows with write-allocate.
    is: fn(f64, f64) -> bool,
    means: &'static str,
}

/// Caches hold at most a quarter of an array, and keep little of it until the next trip; others and the
/// hardware's own prefetchers move something, too.
const TRAFFIC_TOLERANCE: f64 = 0.1;

const OTHER_TRAFFIC: [OtherTraffic; 3] = [
    OtherTraffic {
        id: "memory.more-traffic",
        is: |measured, counted| measured > counted * (1.0 + TRAFFIC_TOLERANCE),
        means: "prefetchers bring in lines that the kernels do not ask for, or others use memory, too; on \
                Intel's machines of several packages a line that another package reads may be written \
                back, for the directory that memory keeps of such lines",
    },
    OtherTraffic {
        id: "memory.write-allocate-evaded",
        is: |measured, counted| measured < counted * (1.0 - TRAFFIC_TOLERANCE) && counted > 1.0,
        means: "not every line that ordinary stores change was brought in first, as CPUs may do that see \
                whole lines written (SpecI2M since Ice Lake): the count with write-allocate is too high",
    },
    OtherTraffic {
        id: "memory.less-traffic",
        is: |measured, counted| measured < counted * (1.0 - TRAFFIC_TOLERANCE) && counted <= 1.0,
        means: "caches held a part of the arrays, or some memory has controllers that these counters do \
                not see",
    },
];

/// Memory controllers count something else than what follows from the instructions.
fn other_traffic(record: &Record, kind: &OtherTraffic) -> Option<Finding> {
    let of_cell = |cell: &Cell<'_>| {
        let (measured, counted) = (cell.measured_per_asked()?.bytes(), Counting::told(cell)?);
        (kind.is)(measured, counted).then(|| {
            format!(
                "{} ({}) on {}: {measured:.2} bytes measured for each that was asked for, {counted:.2} \
                 counted",
                cell.workload,
                cell.text("variant").unwrap_or("-"),
                tally(cell.active.len(), "thread"),
            )
        })
    };
    let cells: Vec<Cell<'_>> = MOVING.iter().flat_map(|word| cells(record, word)).collect();
    let found: Vec<String> = cells.iter().filter_map(of_cell).collect();
    (!found.is_empty()).then(|| {
        Finding::note(
            kind.id.to_owned(),
            "memory traffic",
            format!("{}: {}", some(&found), kind.means),
        )
    })
}

/// What is said of a cache of several cores.
const SHARED: &str =
    "; other cores share it, in a guest also other guests, so that its share varies";

/// Whether CPUs of several cores use the cache of that level.
fn is_shared(record: &Record, cpu: CpuId, level: u8) -> bool {
    let topology = &record.machine.topology;
    let core = |cpu: CpuId| topology.place(cpu).map(|place| (place.package, place.core));
    let of_level = topology.caches.iter().filter(|cache| {
        cache.level == level && cache.kind != model::record::CacheKind::Instruction
    });
    let used = of_level.flat_map(|cache| &cache.instances).filter(|cpus| cpus.contains(cpu));
    let mut used = used.flat_map(CpuSet::iter);
    used.any(|other| core(other) != core(cpu))
}

/// Caches that end elsewhere than the machine claims.
fn other_sizes(record: &Record, sweep: &Sweep<'_>) -> Vec<Finding> {
    let note = |level: u8, text: String| {
        Finding::note("memory.cache-size", format!("L{level} cache"), text)
    };
    let bytes = |bytes: f64| si::format(bytes, Unit::Byte);
    let of_level = |level: &super::cache_boundaries::LatencyLevel| {
        let (LevelVerdict::Behaves(_), Some(knee)) = (verdict(level), level.knee) else {
            return None;
        };
        let super::cache_boundaries::Whose::Cache(claim) = level.whose else { return None };
        let [low, high] = knee.interval;
        let text = format!(
            "{} claimed, latencies show {} ({} to {}){}",
            bytes(claim.bytes as f64),
            bytes(knee.bytes),
            bytes(low),
            bytes(high),
            if is_shared(record, sweep.cpu, claim.level) { SHARED } else { "" }
        );
        Some(note(claim.level, text))
    };
    let mut findings: Vec<Finding> = sweep.levels.iter().filter_map(of_level).collect();
    findings.extend(not_seen(sweep).into_iter().map(|claim| {
        let text =
            format!("{} claimed, latencies show no plateau of its own", bytes(claim.bytes as f64));
        note(claim.level, text)
    }));
    findings
}

#[cfg(test)]
mod tests;
