//! Who sits where.

pub(super) mod by_cpuid;

use std::collections::BTreeMap;

use model::record::{CpuPlace, FactValue, Topology};
use model::{CpuId, CpuSet, Obstacle, Unavailable};

use super::platform;
use crate::ports::{Machine, Reading};
use crate::rows::{Row, row, text};
use crate::survey::Survey;
use crate::text::{bytes, sysfs_bytes, tally};

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("cpu.cores", "Cores", cores),
    row("cpu.caches", "Caches of one CPU", caches),
];

const CPU: &str = "/sys/devices/system/cpu";
const NODE: &str = "/sys/devices/system/node";

/// The topology as far as the kernel says. It never fails: a CPU of which nothing is known is a
/// core of its own in package 0.
pub(super) fn topology(survey: &Survey<'_>) -> Topology {
    let machine: &Machine = survey;
    let online = online(machine);
    let usable = match machine.host.affinity() {
        Ok(affinity) => affinity.intersection(&online),
        Err(_) => online.clone(),
    };
    let cpus = places(machine, &online);
    Topology { online, usable, cpus, ..Topology::default() }
}

/// The CPUs that are online; those that this process may use where the kernel does not say.
pub(crate) fn online(machine: &Machine) -> CpuSet {
    let listed = cpu_list(machine, &format!("{CPU}/online")).filter(|list| !list.is_empty());
    listed.or_else(|| machine.host.affinity().ok()).unwrap_or_default()
}

fn cpu_list(machine: &Machine, path: &str) -> Option<CpuSet> {
    machine.tree.read(path).ok()?.parse().ok()
}

/// Where each of these CPUs sits.
pub(crate) fn places(machine: &Machine, cpus: &CpuSet) -> Vec<CpuPlace> {
    let nodes = nodes(machine);
    let place = |cpu| place(machine, cpu, nodes.get(&cpu).copied());
    let mut places: Vec<CpuPlace> = cpus.iter().map(place).collect();
    make_cores_unique(&mut places);
    places
}

fn place(machine: &Machine, cpu: CpuId, node: Option<u32>) -> CpuPlace {
    let topology = |file: &str| format!("{CPU}/cpu{cpu}/topology/{file}");
    let number = |file: &str| machine.tree.read(&topology(file)).ok()?.parse().ok();
    let siblings = cpu_list(machine, &topology("core_cpus_list"))
        .or_else(|| cpu_list(machine, &topology("thread_siblings_list")))
        .filter(|siblings| siblings.contains(cpu))
        .unwrap_or_else(|| std::iter::once(cpu).collect());
    CpuPlace {
        cpu,
        // Some Arm machines answer -1: one package, then.
        package: number("physical_package_id").unwrap_or(0),
        core: number("core_id").unwrap_or(cpu.0),
        siblings,
        last_level_cache: last_level_cache(machine, cpu).unwrap_or_default(),
        node,
        die: None,
        module: None,
        kind: None,
    }
}

fn last_level_cache(machine: &Machine, cpu: CpuId) -> Option<CpuSet> {
    let caches = format!("{CPU}/cpu{cpu}/cache");
    let indices = machine.tree.list(&caches).ok()?;
    let level = |index: &String| -> Option<u32> {
        machine.tree.read(&format!("{caches}/{index}/level")).ok()?.parse().ok()
    };
    let (_, last) = indices.iter().filter_map(|i| Some((level(i)?, i))).max_by_key(|(l, _)| *l)?;
    cpu_list(machine, &format!("{caches}/{last}/shared_cpu_list"))
}

fn nodes(machine: &Machine) -> BTreeMap<CpuId, u32> {
    let names = machine.tree.list(NODE).unwrap_or_default();
    let numbers = names.iter().filter_map(|name| name.strip_prefix("node")?.parse::<u32>().ok());
    let members = |node| {
        let cpus = cpu_list(machine, &format!("{NODE}/node{node}/cpulist")).unwrap_or_default();
        cpus.as_slice().iter().map(|&cpu| (cpu, node)).collect::<Vec<_>>()
    };
    numbers.flat_map(members).collect()
}

/// Core numbers may repeat within a package that has several dies. Where they do, every core gets
/// the number of its first CPU instead.
fn make_cores_unique(places: &mut [CpuPlace]) {
    let mut owners: BTreeMap<(u32, u32), &CpuSet> = BTreeMap::new();
    let ambiguous = places.iter().any(|place| {
        *owners.entry((place.package, place.core)).or_insert(&place.siblings) != &place.siblings
    });
    if ambiguous {
        for place in places {
            place.core = place.siblings.iter().next().map_or(place.cpu.0, |first| first.0);
        }
    }
}

/// The lowest CPU that is online: CPU 0 may be absent.
pub(crate) fn first_cpu(machine: &Machine) -> Reading<CpuId> {
    online(machine).iter().next().ok_or_else(nothing_known)
}

pub(crate) fn nothing_known() -> Unavailable {
    let why = "neither `/sys/devices/system/cpu/online` nor the affinity says which CPUs there are";
    Unavailable::new(Obstacle::Permission, "CPUs", why)
}

fn cores(survey: &Survey<'_>) -> Reading<FactValue> {
    let online = online(survey);
    if online.is_empty() {
        return Err(nothing_known());
    }
    let places = places(survey, &online);
    let count = |mut keys: Vec<(u32, u32)>| {
        keys.sort_unstable();
        keys.dedup();
        keys.len()
    };
    let packages = count(places.iter().map(|place| (place.package, 0)).collect());
    let cores = count(places.iter().map(|place| (place.package, place.core)).collect());
    let threads = places.iter().map(|place| place.siblings.len()).max().unwrap_or(1);
    let smt = if threads > 1 { format!("SMT {threads}") } else { "no SMT".into() };
    Ok(text(format!(
        "{}, {}, {} ({smt})",
        tally(packages, "package"),
        tally(cores, "core"),
        tally(online.len(), "CPU")
    )))
}

fn caches(survey: &Survey<'_>) -> Reading<FactValue> {
    let folder = format!("/sys/devices/system/cpu/cpu{}/cache", first_cpu(survey)?);
    let describe = |index: &String| {
        let read = |file: &str| survey.tree.read(&format!("{folder}/{index}/{file}")).ok();
        let suffix = match read("type")?.as_str() {
            "Data" => "d",
            "Instruction" => return None,
            _ => "",
        };
        Some(format!("L{}{suffix} {}", read("level")?, bytes(sysfs_bytes(&read("size")?)?)))
    };
    let indices = survey.tree.list(&folder)?;
    let caches: Vec<String> = indices.iter().filter_map(describe).collect();
    if caches.is_empty() {
        return Err(platform::not_offered("the kernel describes no caches here", &folder));
    }
    Ok(text(caches.join(", ")))
}
