//! Where two sources say different things of one machine: both may stand on a page, with a word.
//!
//! What can be decided is decided where the fact is read, and the source that is not believed is named there. Here is
//! what is left when all facts are known: one row per pair of sources.

use crate::page::si;
use crate::record::{Fact, FactValue, Machine as Description};
use crate::{CpuId, CpuSet, Finding, Unit};

use crate::page::tally;

/// What contradicts itself, and what is said then.
type Contradiction = (&'static str, fn(&Description, &[Fact]) -> Option<String>);

const ROWS: &[Contradiction] = &[
    ("clocks", clocks),
    ("memory", memory),
    ("DIMMs", dimms),
    ("nodes", nodes),
    ("caches", caches),
    ("cores", cores),
    ("SMT", smt),
];

/// The contradictions within a description and the conditions that it was read under.
pub fn of(description: &Description, conditions: &[Fact]) -> Vec<Finding> {
    let finding = |(about, check): &Contradiction| {
        Some(Finding::note(
            format!("machine.contradiction.{}", about.to_lowercase()),
            (*about).to_owned(),
            check(description, conditions)?,
        ))
    };
    ROWS.iter().filter_map(finding).collect()
}

fn hertz(of: &Description, id: &str) -> Option<f64> {
    match of.fact(id)?.value.value()? {
        FactValue::Number { value, unit: Unit::Hertz } => Some(*value),
        _ => None,
    }
}

fn clocks(of: &Description, _: &[Fact]) -> Option<String> {
    let claimed = [
        ("lowest", hertz(of, "cpu.min_frequency")),
        ("base", hertz(of, "cpu.base_frequency")),
        ("highest", hertz(of, "cpu.max_frequency")),
    ];
    let known: Vec<(&str, f64)> =
        claimed.into_iter().filter_map(|(name, hertz)| Some((name, hertz?))).collect();
    let pair = known.windows(2).find(|pair| pair[0].1 > pair[1].1)?;
    let [a, b] = [pair[0], pair[1]].map(|(name, hertz)| (name, si::format(hertz, Unit::Hertz)));
    Some(format!(
        "the claimed {} clock, {}, is above the {} clock, {}: one of them is wrong",
        a.0, a.1, b.0, b.1
    ))
}

/// Containers that show files of their own (lxcfs) and limits of firmware make the sum another one.
fn memory(of: &Description, _: &[Fact]) -> Option<String> {
    /// The kernel keeps some of a node for itself.
    const SHARE_MAX: f64 = 0.02;
    let FactValue::Number { value: total, .. } = of.fact("memory.total")?.value.value()? else {
        return None;
    };
    let nodes: Vec<u64> =
        of.topology.nodes.iter().map(|node| node.memory_bytes).collect::<Option<_>>()?;
    let sum = nodes.iter().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes)) as f64;
    let differ = (total - sum).abs() > SHARE_MAX * total.max(sum);
    (!nodes.is_empty() && differ).then(|| {
        format!(
            "`/proc/meminfo` says {}, and the nodes have {} together",
            si::format(*total, Unit::Byte),
            si::format(sum, Unit::Byte)
        )
    })
}

/// What firmware lists and EDAC does not have: a DIMM that failed its training, or that firmware switched off.
fn dimms(of: &Description, _: &[Fact]) -> Option<String> {
    match of.fact("memory.disputed")?.value.value()? {
        FactValue::Text(text) if text != "none" => Some(text.clone()),
        _ => None,
    }
}

fn nodes(of: &Description, _: &[Fact]) -> Option<String> {
    // Parts of one node (`numa=fake=`) have all of its CPUs.
    let mut sets: Vec<&CpuSet> = Vec::new();
    for node in &of.topology.nodes {
        if !sets.contains(&&node.cpus) {
            sets.push(&node.cpus);
        }
    }
    let twice = overlap(sets.into_iter())?;
    Some(format!("CPUs {twice} are listed in two nodes"))
}

fn caches(of: &Description, _: &[Fact]) -> Option<String> {
    let package = |cpu| Some(of.topology.place(cpu)?.package);
    of.topology.caches.iter().find_map(|cache| {
        let name = format!("L{}", cache.level);
        let split = |cpus: &&CpuSet| {
            let mut packages = cpus.iter().filter_map(package);
            let first = packages.next();
            packages.any(|package| Some(package) != first)
        };
        if let Some(cpus) = cache.instances.iter().find(split) {
            return Some(format!(
                "CPUs {cpus} share an {name} although they are in several packages"
            ));
        }
        let twice = overlap(cache.instances.iter())?;
        Some(format!("CPUs {twice} are listed with two caches {name}"))
    })
}

/// Threads of one core share whatever the core has.
fn cores(of: &Description, _: &[Fact]) -> Option<String> {
    of.topology.cpus.iter().find_map(|place| {
        // Where the first of them lists the same, it was held against all others already.
        let alike = |first: &CpuId| {
            *first < place.cpu
                && of.topology.place(*first).is_some_and(|it| it.siblings == place.siblings)
        };
        let first = place.siblings.iter().next().filter(alike);
        let others = first.map_or_else(|| place.siblings.clone(), |cpu| CpuSet::from_iter([cpu]));
        others.iter().filter_map(|cpu| of.topology.place(cpu)).find_map(|other| {
            let what = match () {
                () if other.package != place.package => "packages",
                () if other.node != place.node => "nodes",
                () if other.last_level_cache != place.last_level_cache => "last-level caches",
                () if other.siblings != place.siblings => {
                    return Some(format!(
                        "CPU {} lists CPUs {} as its core's, and CPU {} lists {}",
                        place.cpu, place.siblings, other.cpu, other.siblings
                    ));
                }
                () => return None,
            };
            let (a, b) = (place.cpu, other.cpu);
            Some(format!(
                "CPUs {a} and {b} are listed as threads of one core, but belong to two {what}"
            ))
        })
    })
}

fn smt(of: &Description, conditions: &[Fact]) -> Option<String> {
    let control = conditions.iter().find(|fact| fact.id == "smt.control")?;
    let FactValue::Text(control) = control.value.value()? else { return None };
    let threads = of.topology.cpus.iter().filter(|place| place.siblings.len() > 1).count();
    (["off", "forceoff"].contains(&control.as_str()) && threads > 0).then(|| {
        format!("SMT is switched {control}, and {} share cores with others", tally(threads, "CPU"))
    })
}

/// What is in several of these sets.
fn overlap<'a>(sets: impl Iterator<Item = &'a CpuSet>) -> Option<CpuSet> {
    let mut seen = std::collections::BTreeSet::new();
    let all = sets.flat_map(CpuSet::iter);
    let twice: CpuSet = all.filter(|cpu| !seen.insert(*cpu)).collect();
    (!twice.is_empty()).then_some(twice)
}
