//! What a machine is by behaviour, and how it is today: a pure function of a record.
//!
//! [`of`] makes the key of a record, [`compare()`] holds two of them against each other, [`page`](mod@page) shows one.
//! `measure::key` measures what it needs; a data sheet has most of it, too.

mod caches;
pub mod compare;
mod like;
pub mod page;
mod read;
#[cfg(test)]
mod tests;
pub mod watch;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::areas::{cores, jitter, memory, turbo};
use model::fabric::Fabric;
use model::page::si;
use model::record::{
    CHANGED, FactValue, KEY_SCHEMA, KeyNumber, KeyPair, MachineKey, PairClass, Record, SAME_CORE,
    Series,
};
use model::stats::mean;
use model::{CpuId, Known, Obstacle, Seconds, Unavailable, Unit};

pub use self::compare::{KeyComparison, KeyVerdict, compare};
pub use self::read::{NoKey, read};
use crate::digest::pooled;

/// What a machine says of itself, and whether one of another kind says otherwise. What is not of its kind can be set,
/// or comes with an update.
pub(crate) const CLAIMS: &[(&str, &str, bool)] = &[
    ("cpu.brand", "CPU", true),
    ("cpu.vendor", "vendor", true),
    ("cpu.family_model_stepping", "family, model, stepping", true),
    ("cpu.microarchitecture", "microarchitecture", true),
    ("cpu.isa", "instruction sets", true),
    ("cpu.cores", "cores", true),
    ("cpu.core_types", "types of cores", true),
    ("cpu.caches", "caches", true),
    ("memory.nodes", "memory nodes", true),
    ("memory.channels", "memory channels", true),
    ("platform.virtualisation", "virtualisation", true),
    ("cpus.usable", "CPUs that may be used", false),
    ("cgroup.quota", "CPU quota", false),
    ("cpu.microcode", "microcode", false),
    ("kernel.release", "kernel", false),
    ("cpufreq.governor", "governor", false),
    ("cpufreq.boost", "boost", false),
    ("smt.control", "SMT", false),
    ("pmu", "PMU", false),
    ("msr", "MSR", false),
];

/// Ids of numbers.
pub(crate) mod id {
    /// The clock under a light load.
    pub(crate) const CLOCK: &str = "clock";
    /// Seconds of a pointer in the last-level cache.
    pub(crate) const LAST: &str = "cache.last.latency";
    /// Up to this size the last-level cache keeps three quarters of what is used at random.
    pub(crate) const USABLE: &str = "cache.last.usable";
    /// What the kernel says of its size.
    pub(crate) const CLAIMED: &str = "cache.last.claimed";
    /// Seconds of a pointer in memory.
    pub(crate) const MEMORY: &str = "memory.latency";
    /// What one core reads of memory.
    pub(crate) const READ: &str = "memory.read";
    /// How much memory there is.
    pub(crate) const TOTAL: &str = "memory.total";
    /// The share of time that others took from busy threads.
    pub(crate) const LOST: &str = "lost";
    /// Cycles per op of a chain: this and its stream.
    pub(crate) const CYCLES: &str = "cycles.";
    /// Cycles of a pointer in an inner cache: this and its level.
    pub(crate) const CACHE: &str = "cache.l";
}

/// The key of a record.
pub fn of(record: &Record) -> MachineKey {
    let first = record.run.plan.cpus.iter().next().unwrap_or(CpuId(0));
    let mut numbers = BTreeMap::new();
    numbers.extend(cycles(record, first));
    let caches = caches::of(record, first);
    let last = caches.get(id::LAST).and_then(Known::value).map(|number| Seconds(number.value));
    numbers.extend(caches);
    numbers.insert(id::CLOCK.to_owned(), clock(record, first).into());
    numbers.insert(id::READ.to_owned(), read_of_memory(record, first).into());
    numbers.insert(id::LOST.to_owned(), lost(record).into());
    numbers.insert(id::TOTAL.to_owned(), total(record).into());
    let said = |id: &str| {
        let fact = record.fact(id).or_else(|| capability(record, id));
        fact.map(|fact| (id.to_owned(), text(&fact.value)))
    };
    let claims = CLAIMS.iter().filter_map(|(id, ..)| said(id)).collect();
    let mut key = MachineKey {
        schema: KEY_SCHEMA.to_owned(),
        line: String::new(),
        started: record.run.started.clone(),
        simulated: record.run.simulated.clone(),
        claims,
        numbers,
        pairs: pairs(record, last),
        behaves_like: like::of(record, first).into(),
    };
    key.line = line(&key);
    key
}

fn capability<'a>(record: &'a Record, id: &str) -> Option<&'a model::record::Fact> {
    record.machine.capabilities.iter().find(|fact| fact.id == id)
}

fn text(value: &Known<FactValue>) -> Known<String> {
    match value {
        Known::Yes(FactValue::Text(text)) => Known::Yes(text.clone()),
        Known::Yes(FactValue::Number { value, unit }) => Known::Yes(si::format(*value, *unit)),
        Known::No { unavailable } => Known::No { unavailable: unavailable.clone() },
    }
}

/// The series of a workload on that CPU alone.
fn alone<'a>(
    record: &'a Record,
    area: &'a str,
    quantity: &'a str,
    workload: &str,
    cpu: CpuId,
) -> Vec<&'a Series> {
    let is_it = |series: &&Series| {
        series.workload == workload && series.cpu == cpu && series.active.len() == 1
    };
    record.series_of(area, quantity).filter(is_it).collect()
}

/// What was not measured.
fn absent(what: &str, why: impl Into<String>) -> Unavailable {
    Unavailable::new(Obstacle::Measurement, what, why)
}

/// What series say together.
fn number(series: &[&Series], what: &str) -> Result<KeyNumber, Unavailable> {
    let [first, ..] = series else {
        return Err(absent(what, "this record has no such measurement"));
    };
    let measured =
        pooled(series).map_err(|reason| Unavailable { what: what.to_owned(), ..reason })?;
    let value = measured.value();
    Ok(KeyNumber { value: value.median, unit: first.unit, interval: value.interval })
}

/// The clock under the lightest stream; where something else used the core in all of its blocks, under another light one.
fn clock(record: &Record, first: CpuId) -> Result<KeyNumber, Unavailable> {
    let is_light = |row: &&model::record::PlannedWorkload| {
        row.kind == "latency" && row.width_bits.is_none_or(|bits| bits <= 128)
    };
    let others = record.run.plan.workloads.iter().filter(is_light).map(|row| row.id.as_str());
    let under = |workload: &str| {
        number(&alone(record, turbo::AREA, "clock", workload, first), "core clock")
    };
    let lightest = under(turbo::LIGHT);
    lightest.or_else(|reason| others.map(under).find_map(Result::ok).ok_or(reason))
}

/// Cycles of each chain, and of PAUSE.
fn cycles(record: &Record, first: CpuId) -> Vec<(String, Known<KeyNumber>)> {
    let is_told = |kind: &str| kind == "latency" || kind == "spin";
    let planned = record.run.plan.workloads.iter().filter(|row| is_told(&row.kind));
    let of = |row: &model::record::PlannedWorkload| {
        let area = if row.kind == "spin" { model::areas::pause::AREA } else { turbo::AREA };
        let series = alone(record, area, "cycles_per_op", &row.id, first);
        let found = number(&series, &row.id);
        // What the machine cannot execute, it says by its instruction sets.
        let is_there = !series.is_empty()
            && found.as_ref().err().is_none_or(|reason| reason.obstacle == Obstacle::Measurement);
        is_there.then(|| (format!("{}{}", id::CYCLES, row.id), found.into()))
    };
    planned.filter_map(of).collect()
}

/// Bytes per second that one core reads of what no cache holds.
fn read_of_memory(record: &Record, first: CpuId) -> Result<KeyNumber, Unavailable> {
    const WHAT: &str = "reads of one core";
    let series = alone(record, memory::AREA, "bandwidth", "load", first);
    let largest = series.iter().filter_map(|series| footprint(series)).max();
    let beyond: Vec<&Series> =
        series.into_iter().filter(|series| footprint(series) == largest).collect();
    if let (Some(bytes), Some(caches)) =
        (largest, record.machine.topology.caches_in_use(&[first].into_iter().collect()))
        && bytes <= caches.bytes
    {
        let why = format!(
            "{} were read at most, and caches are said to hold {}",
            si::format(bytes as f64, Unit::Byte),
            si::format(caches.bytes as f64, Unit::Byte)
        );
        return Err(absent(WHAT, why));
    }
    number(&beyond, WHAT)
}

/// The size of the data of a series.
fn footprint(series: &Series) -> Option<u64> {
    series.parameters.get("footprint")?.parse().ok()
}

/// The mean share over CPUs and looks: gaps are few and long, and a median hides them.
fn lost(record: &Record) -> Result<KeyNumber, Unavailable> {
    let of_cpu = |series: &Series| series.samples().map(model::record::Samples::all);
    let shares: Vec<f64> =
        record.series_of(jitter::AREA, "lost").filter_map(of_cpu).flatten().collect();
    let share = mean(&shares).or_else(|| record.lost_share());
    let share = share.ok_or_else(|| absent("lost time", "this record has no look for gaps"))?;
    // What polling itself costs is subtracted, and may be a little too much.
    Ok(KeyNumber { value: share.max(0.0), unit: Unit::One, interval: None })
}

fn total(record: &Record) -> Result<KeyNumber, Unavailable> {
    match record.fact("memory.total").map(|fact| &fact.value) {
        Some(Known::Yes(FactValue::Number { value, unit })) => {
            Ok(KeyNumber { value: *value, unit: *unit, interval: None })
        }
        Some(Known::No { unavailable }) => Err(unavailable.clone()),
        _ => Err(absent("memory", "this record does not say how much there is")),
    }
}

/// How pairs lie to each other, by how they do as the kernel says.
fn pairs(record: &Record, last: Option<Seconds>) -> BTreeMap<String, KeyPair> {
    const BETWEEN: &str = "between";
    let mut groups: BTreeMap<String, Vec<&Series>> = BTreeMap::new();
    for series in record.series_of(cores::AREA, cores::LATENCY) {
        let between = series.parameters.get(BETWEEN).map_or("unsaid", String::as_str);
        if series.workload == cores::MESSAGES[0].0 {
            groups.entry(between.to_owned()).or_default().push(series);
        }
    }
    let fabric = Fabric::of(record.text("cpu.microarchitecture"));
    let pair = |series: Vec<&Series>| {
        let latency = number(&series, "core-to-core latency");
        let class = class(&series, latency.as_ref(), fabric, last);
        KeyPair { latency: latency.into(), class: class.into() }
    };
    groups.into_iter().map(|(between, series)| (between, pair(series))).collect()
}

/// The class of the pairs of a group.
fn class(
    series: &[&Series],
    latency: Result<&KeyNumber, &Unavailable>,
    fabric: Fabric,
    last: Option<Seconds>,
) -> Result<PairClass, Unavailable> {
    const WHAT: &str = "placement of two CPUs";
    let latency =
        latency.map_err(|reason| Unavailable { what: WHAT.to_owned(), ..reason.clone() })?;
    let probed =
        |class: &str| series.iter().any(|series| series.placement_class.as_deref() == Some(class));
    if probed(SAME_CORE) {
        return Ok(PairClass::SameCore);
    }
    if probed(CHANGED) && series.iter().all(|it| it.placement_class.as_deref() == Some(CHANGED)) {
        return Err(absent(WHAT, "it changed during the run"));
    }
    let round_trip = Seconds(2.0 * latency.value);
    let (near, far) = fabric.limits_beside(last);
    let claimed = series.iter().find_map(|series| series.parameters.get("between"));
    match claimed.map(String::as_str) {
        _ if round_trip.0 < near.0 => Ok(PairClass::SameCache),
        _ if round_trip.0 > far.0 => Ok(PairClass::Apart),
        Some("same-cache") => Ok(PairClass::SameCache),
        Some("other-cache" | "other-package") => Ok(PairClass::Apart),
        _ => Err(absent(WHAT, "the latency lies between that of one cache and that of two")),
    }
}

/// What was claimed and is refuted by what was measured, in words.
pub fn refuted(key: &MachineKey) -> Vec<String> {
    let time = |pair: &KeyPair| {
        let latency = pair.latency.value().map(|number| si::format(number.value, Unit::Second));
        latency.unwrap_or_else(|| "an unknown time".to_owned())
    };
    let last = key.numbers.get(id::LAST).and_then(Known::value);
    let hit = last.map_or_else(String::new, |number| {
        format!("; that cache answers in {}", si::format(number.value, Unit::Second))
    });
    let of_pair = |(between, pair): (&String, &KeyPair)| {
        let text = match (between.as_str(), pair.class.value()?) {
            ("same-cache", PairClass::Apart) => format!(
                "The kernel lists one last-level cache for cores between which a line takes {}{hit}: they do not \
                 share one now.",
                time(pair)
            ),
            ("other-cache" | "other-package", PairClass::SameCache) => format!(
                "The kernel lists two last-level caches for cores between which a line takes {}{hit}: they share one \
                 now.",
                time(pair)
            ),
            (
                "same-cache" | "other-cache" | "other-package" | "same-package",
                PairClass::SameCore,
            ) => "The kernel lists two cores for CPUs that share one.".to_owned(),
            _ => return None,
        };
        Some(text)
    };
    key.pairs.iter().filter_map(of_pair).collect()
}

/// The key in one line: ASCII, ordered, rounded for reading; what is not known is a question mark.
fn line(key: &MachineKey) -> String {
    const MIB: f64 = 1.0 / (1024.0 * 1024.0);
    let value = |id: &str| key.numbers.get(id).and_then(Known::value).map(|number| number.value);
    let shown = |id: &str, scale: f64, unit: &str| {
        value(id).map_or_else(|| "?".to_owned(), |value| format!("{}{unit}", brief(value * scale)))
    };
    let simulated = if key.simulated.is_some() { "SIMULATED " } else { "" };
    let mut line =
        format!("k1 {simulated}claims={:08x} like={}", claims_hash(key), like::word(key));
    let _ = write!(line, " clock={}", shown(id::CLOCK, 1e-9, "GHz"));
    for (name, number) in &key.numbers {
        if let (Some(level), Some(number)) = (name.strip_prefix(id::CACHE), number.value())
            && number.unit == Unit::Cycle
        {
            let level = level.split('.').next().unwrap_or_default();
            let _ = write!(line, " L{level}={}c", brief(number.value));
        }
    }
    let [usable, claimed] = [id::USABLE, id::CLAIMED].map(|id| shown(id, MIB, ""));
    let _ = write!(line, " LLC={}/{usable}of{claimed}MiB", shown(id::LAST, 1e9, "ns"));
    let _ = write!(line, " mem={}", shown(id::MEMORY, 1e9, "ns"));
    let _ = write!(line, " read={}", shown(id::READ, 1e-9, "GB/s"));
    for (between, pair) in &key.pairs {
        let class = pair.class.value().map_or("?", |class| class.word());
        let latency =
            pair.latency.value().map_or_else(|| "?".to_owned(), |it| brief(it.value * 1e9));
        let _ = write!(line, " c2c.{between}={latency}ns");
        let _ = write!(line, ":{class}");
    }
    let _ = write!(line, " lost={}", shown(id::LOST, 100.0, "%"));
    for access in ["pmu", "msr"] {
        let word = match key.claims.get(access) {
            Some(Known::Yes(_)) => "yes",
            Some(Known::No { .. }) => "no",
            None => "?",
        };
        let _ = write!(line, " {access}={word}");
    }
    // A name of a machine elsewhere may hold anything.
    line.chars()
        .map(|letter| if letter.is_ascii_graphic() || letter == ' ' { letter } else { '?' })
        .collect()
}

/// Two digits, as far as they tell something.
fn brief(value: f64) -> String {
    match value.abs() {
        value if value >= 9.95 => format!("{value:.0}"),
        value if value < 0.05 => "0".to_owned(),
        _ => format!("{value:.1}"),
    }
}

/// What the machine says of its kind, as a number: FNV-1a.
///
/// # Source
/// Fowler, Noll and Vo; `draft-eastlake-fnv`.
fn claims_hash(key: &MachineKey) -> u32 {
    const OFFSET: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    let of_kind = CLAIMS.iter().filter(|(.., is_kind)| *is_kind);
    let texts = of_kind.filter_map(|(id, ..)| Some([*id, key.claims.get(*id)?.value()?.as_str()]));
    let bytes = texts.flatten().flat_map(|text| text.bytes().chain([0]));
    bytes.fold(OFFSET, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(PRIME))
}
