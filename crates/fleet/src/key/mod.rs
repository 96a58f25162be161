//! What a machine is by behaviour, and how it is today: a pure function of a record.
//!
//! [`of`] makes the key of a record, [`compare()`] holds two of them against each other, [`page`](mod@page) shows one.
//! `measure::key` measures what it needs; a data sheet has most of it, too.

pub mod around;
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
    Samples, Series,
};
use model::stats::{mean, median_interval, quantile};
use model::{CpuId, Known, Obstacle, Seconds, Unavailable, Unit};

pub use self::compare::{KeyComparison, KeyVerdict, compare};
pub use self::read::{NoKey, read};
use crate::digest::{of_one_class, pooled};

/// What a machine says of itself, and whether one of another kind says otherwise. What is not of its kind can be set,
/// or comes with an update or with rights.
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

/// Claims that only some may read: a kind where both keys have them, and no part of the hash.
pub(crate) const BY_RIGHTS: &[&str] = &["memory.channels"];

/// What a claim says of the machine, and by which source, where several count differently. Around a program there may
/// be a container: the machine is the same.
pub(crate) fn of_machine<'a>(id: &str, text: &'a str) -> (&'a str, &'a str) {
    match id {
        "platform.virtualisation" => (text.split(", in ").next().unwrap_or(text), ""),
        "memory.channels" => text.split_once(" by ").unwrap_or((text, "")),
        _ => (text, ""),
    }
}

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

    /// What follows in the id of one of several that begin so; `None`: it is none of them.
    pub(crate) fn rest<'a>(id: &'a str, begins: &str) -> Option<&'a str> {
        let rest = id.strip_prefix(begins)?;
        match begins {
            CYCLES => Some(rest),
            CACHE => rest.starts_with(|first: char| first.is_ascii_digit()).then_some(rest),
            _ => rest.is_empty().then_some(rest),
        }
    }
}

/// The key of a record.
pub fn of(record: &Record) -> MachineKey {
    let first = first(record);
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

/// The CPU of most that was measured on one alone: the first in the order of placement, which is not that of numbers.
fn first(record: &Record) -> CpuId {
    let mut counts: BTreeMap<CpuId, usize> = BTreeMap::new();
    let of_one = |series: &&Series| {
        series.active.len() == 1 && [turbo::AREA, memory::AREA].contains(&series.area.as_str())
    };
    for series in record.series.iter().filter(of_one) {
        *counts.entry(series.cpu).or_default() += 1;
    }
    let most = counts.into_iter().rev().max_by_key(|(_, count)| *count).map(|(cpu, _)| cpu);
    most.or_else(|| record.run.plan.cpus.iter().next()).unwrap_or(CpuId(0))
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
        let found =
            if row.kind == "spin" { found } else { found.and_then(|it| steady(it, &series)) };
        // What the machine cannot execute, it says by its instruction sets.
        let is_there = !series.is_empty()
            && found.as_ref().err().is_none_or(|reason| reason.obstacle == Obstacle::Measurement);
        is_there.then(|| (format!("{}{}", id::CYCLES, row.id), found.into()))
    };
    planned.filter_map(of).collect()
}

/// The cycles of a chain, whose repetitions are alike where nobody else uses the core. An interval of blocks tells itself.
fn steady(cycles: KeyNumber, series: &[&Series]) -> Result<KeyNumber, Unavailable> {
    const SPREAD_MAX: f64 = 0.02;
    let all: Vec<f64> =
        series.iter().filter_map(|it| it.samples()).flat_map(Samples::all).collect();
    let quartiles = [0.25, 0.75].map(|share| quantile(&all, share));
    match quartiles {
        [Some(low), Some(high)]
            if cycles.interval.is_none() && high - low > SPREAD_MAX * cycles.value =>
        {
            let spread = 100.0 * (high - low) / cycles.value;
            let why = format!(
                "half of its repetitions spread over {spread:.0} %, and there are too few blocks for an interval: \
                 other work uses the core"
            );
            Err(absent("cycles of a chain", why))
        }
        _ => Ok(cycles),
    }
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
    let looks = record.series_of(jitter::AREA, "lost").filter_map(Series::samples);
    let mut blocks: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (block, share) in looks.flat_map(Samples::numbered_medians) {
        blocks.entry(block).or_default().push(share);
    }
    let shares: Vec<f64> = blocks.values().filter_map(|cpus| mean(cpus)).collect();
    let share = mean(&shares).or_else(|| record.lost_share());
    let share = share.ok_or_else(|| absent("lost time", "this record has no look for gaps"))?;
    // What polling itself costs is subtracted, and may be a little too much.
    let interval = median_interval(&shares).map(|ends| ends.map(|end| end.max(0.0)));
    Ok(KeyNumber { value: share.max(0.0), unit: Unit::One, interval })
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

/// How pairs lie to each other, by how they do as the kernel says: of each such group that which is farthest.
fn pairs(record: &Record, last: Option<Seconds>) -> BTreeMap<String, KeyPair> {
    const BETWEEN: &str = "between";
    let mut cells: BTreeMap<(&str, &[CpuId]), Vec<&Series>> = BTreeMap::new();
    for series in record.series_of(cores::AREA, cores::LATENCY) {
        let between = series.parameters.get(BETWEEN).map_or("unsaid", String::as_str);
        if series.workload == cores::MESSAGES[0].0 {
            cells.entry((between, series.active.as_slice())).or_default().push(series);
        }
    }
    let limits = Fabric::of(record.text("cpu.microarchitecture")).limits_beside(last);
    let mut farthest: BTreeMap<String, KeyPair> = BTreeMap::new();
    let seconds = |pair: &KeyPair| pair.latency.value().map(|number| number.value);
    for ((between, _), series) in cells {
        let pair = pair(between, &series, limits);
        match farthest.get(between) {
            Some(known) if seconds(known) >= seconds(&pair) => {}
            _ => drop(farthest.insert(between.to_owned(), pair)),
        }
    }
    farthest
}

/// How the CPUs of one pair lie to each other: as in most of its blocks.
fn pair(between: &str, series: &[&Series], limits: (Seconds, Seconds)) -> KeyPair {
    const WHAT: &str = "placement of two CPUs";
    let is_settled = |series: &&Series| series.placement_class.as_deref() != Some(CHANGED);
    let settled: Vec<&Series> = series.iter().copied().filter(is_settled).collect();
    let of_class = of_one_class(&settled);
    let latency = if settled.is_empty() && !series.is_empty() {
        Err(absent("core-to-core latency", "the CPUs changed their place within every block"))
    } else {
        number(&of_class, "core-to-core latency")
    };
    let is_core = of_class.iter().any(|it| it.placement_class.as_deref() == Some(SAME_CORE));
    let class = match &latency {
        Err(reason) => Err(Unavailable { what: WHAT.to_owned(), ..reason.clone() }),
        Ok(_) if is_core => Ok(PairClass::SameCore),
        Ok(latency) => class(between, Seconds(2.0 * latency.value), limits).ok_or_else(|| {
            absent(WHAT, "the latency lies between that of one cache and that of two")
        }),
    };
    KeyPair { latency: latency.into(), class: class.into() }
}

/// The class of two cores by a round trip; by the kernel's where the time is not clear.
fn class(between: &str, round_trip: Seconds, (near, far): (Seconds, Seconds)) -> Option<PairClass> {
    match between {
        _ if round_trip.0 < near.0 => Some(PairClass::SameCache),
        _ if round_trip.0 > far.0 => Some(PairClass::Apart),
        "same-cache" => Some(PairClass::SameCache),
        "other-cache" | "other-package" => Some(PairClass::Apart),
        _ => None,
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
        if let (Some(level), Some(number)) = (id::rest(name, id::CACHE), number.value()) {
            let level = level.split('.').next().unwrap_or_default();
            let _ = write!(line, " L{level}={}c", brief(number.value));
        }
    }
    let [usable, claimed] = [id::USABLE, id::CLAIMED].map(|id| shown(id, MIB, ""));
    let _ = write!(line, " LLC={}/{usable}of{claimed}MiB", shown(id::LAST, 1e9, "ns"));
    let total = shown(id::TOTAL, MIB / 1024.0, "");
    let _ = write!(line, " mem={}/{total}GiB", shown(id::MEMORY, 1e9, "ns"));
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
    let of_kind = CLAIMS.iter().filter(|(id, _, is_kind)| *is_kind && !BY_RIGHTS.contains(id));
    let text = |id: &str| Some(of_machine(id, key.claims.get(id)?.value()?).0);
    let texts = of_kind.filter_map(|(id, ..)| Some([*id, text(id)?]));
    let bytes = texts.flatten().flat_map(|text| text.bytes().chain([0]));
    bytes.fold(OFFSET, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(PRIME))
}
