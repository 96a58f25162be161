//! The topology in words: one row per fact.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use model::page::tally;
use model::record::{Cache, CacheKind, CpuPlace, FactValue, Node, Topology, Unsaid};
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};

use super::super::cpu;
use super::super::platform::{no_file, not_offered};
use super::{dies, kinds, nothing_known, sysfs};
use crate::facts::fact_cache::Survey;
use crate::facts::fact_table::{FactRow, row, text};
use crate::parse::{bytes, sysfs_bytes};

#[rustfmt::skip]
pub(in crate::facts) const ROWS: &[FactRow] = &[
    row("cpu.cores", "Cores", cores),
    row("cpu.kinds", "Kinds of cores", kinds),
    row("cpu.dies", "Dies", dies),
    row("cpu.caches", "Caches of one CPU", caches),
    row("cpu.offline", "CPUs that are off", offline),
    row("cpu.not_shown", "CPUs that are not shown", not_shown),
    row("cpu.isolated", "Isolated CPUs", isolated),
    row("cpu.nohz_full", "CPUs without a tick", nohz_full),
    row("memory.nodes", "NUMA nodes", nodes),
];

/// The topology, where there are CPUs.
fn known<'a>(survey: &'a Survey<'_>) -> Reading<&'a Topology> {
    let topology = survey.topology();
    if topology.online.is_empty() { Err(nothing_known()) } else { Ok(topology) }
}

/// `2 packages, 16 cores, 32 CPUs (SMT 2)`; what nobody says is left out, with a word.
fn cores(survey: &Survey<'_>) -> Reading<FactValue> {
    let topology = known(survey)?;
    let Unsaid { package, core } = &topology.unsaid;
    let said = |unsaid: &CpuSet| topology.cpus.iter().filter(|p| !unsaid.contains(p.cpu)).collect();
    let (in_packages, on_cores): (Vec<&CpuPlace>, Vec<&CpuPlace>) = (said(package), said(core));
    let packages: BTreeSet<u32> = in_packages.iter().map(|place| place.package).collect();
    let kinds: Vec<String> = places_by_kind(topology)
        .iter()
        .map(|(kind, places)| format!("{} {kind}", cores_among(places.iter().copied())))
        .collect();
    let mut words = Vec::new();
    if !packages.is_empty() {
        words.push(tally(packages.len(), "package"));
    }
    if !on_cores.is_empty() {
        words.push(tally(cores_among(on_cores.iter().copied()), "core"));
    }
    let cpus = tally(topology.online.len(), "CPU");
    let mut words = match (kinds.is_empty(), on_cores.is_empty()) {
        (false, false) => format!("{}: {}; {cpus}", words.join(", "), kinds.join(", ")),
        (_, true) => [words.join(", "), cpus]
            .into_iter()
            .filter(|w| !w.is_empty())
            .collect::<Vec<_>>()
            .join(", "),
        (true, false) => {
            let smt = match (smt(&on_cores), hidden_siblings(survey, &on_cores)) {
                (smt, hidden) if hidden.is_empty() => smt.unwrap_or_else(|| "no SMT".to_owned()),
                (None, hidden) => format!("siblings are not shown: {}", hidden.named()),
                (Some(smt), hidden) => {
                    format!("{smt}; some siblings are not shown: {}", hidden.named())
                }
            };
            format!("{}, {cpus} ({smt})", words.join(", "))
        }
    };
    for (what, unsaid) in [("packages", package), ("cores", core)] {
        if *unsaid == topology.online {
            let _ = write!(words, "; {what} unknown");
        } else if !unsaid.is_empty() {
            let _ = write!(words, "; {what} of {} unknown", unsaid.named());
        }
    }
    Ok(text(words))
}

/// CPUs that share cores with these, and that a container does not show: others may work there.
fn hidden_siblings(survey: &Survey<'_>, places: &[&CpuPlace]) -> CpuSet {
    let siblings = |place: &&CpuPlace| {
        let folder = format!("{}/cpu{}/topology", sysfs::CPU, place.cpu);
        sysfs::list(survey, &folder, &["core_cpus_list", "thread_siblings_list"])
    };
    let siblings: CpuSet =
        places.iter().filter_map(siblings).flat_map(|set| set.iter().collect::<Vec<_>>()).collect();
    let there = siblings.intersection(&sysfs::present(survey));
    sysfs::not_shown(survey, &there.difference(&survey.topology().online))
}

/// `SMT 2`; where cores differ, with how many have fewer threads that are online. `None`: each has one.
fn smt(places: &[&CpuPlace]) -> Option<String> {
    let cores: BTreeMap<(u32, u32), usize> =
        places.iter().map(|place| ((place.package, place.core), place.siblings.len())).collect();
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for threads in cores.into_values() {
        *counts.entry(threads).or_default() += 1;
    }
    let (most, _) = counts.pop_last().filter(|(threads, _)| *threads > 1)?;
    let fewer = counts.iter().rev().map(|(threads, cores)| {
        format!("{} with {}", tally(*cores, "core"), tally(*threads, "thread"))
    });
    Some(std::iter::once(format!("SMT {most}")).chain(fewer).collect::<Vec<_>>().join("; "))
}

fn cores_among<'a>(places: impl Iterator<Item = &'a CpuPlace>) -> usize {
    places.map(|place| (place.package, place.core)).collect::<BTreeSet<_>>().len()
}

/// The CPUs of each kind, the kind of the lowest CPU first; empty where there is one kind.
fn places_by_kind(topology: &Topology) -> Vec<(&str, Vec<&CpuPlace>)> {
    let mut kinds: Vec<(&str, Vec<&CpuPlace>)> = Vec::new();
    for place in &topology.cpus {
        let Some(kind) = place.kind.as_deref() else { continue };
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, places)) => places.push(place),
            None => kinds.push((kind, vec![place])),
        }
    }
    kinds
}

fn kinds(survey: &Survey<'_>) -> Reading<FactValue> {
    let topology = known(survey)?;
    let kinds: Vec<String> = places_by_kind(topology)
        .iter()
        .map(|(kind, places)| {
            let cpus: CpuSet = places.iter().map(|place| place.cpu).collect();
            format!("{kind} {cpus}")
        })
        .collect();
    if !kinds.is_empty() {
        return Ok(text(kinds.join("; ")));
    }
    if is_of_one_kind(survey) {
        return Ok(text("one kind"));
    }
    let why = "neither `/sys/devices/cpu_core`, CPUID nor `/proc/cpuinfo` tells kinds of cores \
               here, and their caches are unknown or differ";
    Err(Unavailable::new(Obstacle::Hardware, "kinds of cores", why))
}

/// Whether all cores are of one kind, as far as anybody says.
pub(in crate::facts) fn is_of_one_kind(survey: &Survey<'_>) -> bool {
    let topology = survey.topology();
    let none_named = topology.cpus.iter().all(|place| place.kind.is_none());
    let says_so = || {
        let cpuinfo = survey.cpuinfo().ok();
        kinds::is_hybrid(survey) == Some(false)
            || cpuinfo.is_some_and(|it| kinds::are_named_alike(survey, &topology.online, it))
            || caches_are_alike(topology)
    };
    !topology.cpus.is_empty() && none_named && says_so()
}

/// Kinds of cores differ in their caches: where every CPU has the same ones, there is one kind.
fn caches_are_alike(topology: &Topology) -> bool {
    let levels: BTreeSet<_> = topology.caches.iter().map(|c| (c.level, c.kind)).collect();
    let cpus = topology.online.len();
    let all = |cache: &Cache| cache.instances.iter().map(CpuSet::len).sum::<usize>() == cpus;
    let sized = |cache: &Cache| cache.bytes.is_some() && all(cache);
    levels.len() == topology.caches.len() && topology.caches.iter().all(sized) && !levels.is_empty()
}

/// Counts per package: compute dies, and dies for input and output where they are told apart.
fn dies(survey: &Survey<'_>) -> Reading<FactValue> {
    let topology = known(survey)?;
    let compute: Option<BTreeSet<(u32, u32)>> =
        topology.cpus.iter().map(|place| Some((place.package, place.die?))).collect();
    let compute = compute.ok_or_else(|| no_dies(survey, topology))?;
    if !topology.unsaid.package.is_empty() {
        let why = "the kernel shows dies, and not the packages that they are in";
        return Err(not_offered(why, sysfs::CPU));
    }
    let io = dies::io_dies(survey, &compute);
    let mut packages: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for (package, _) in &compute {
        packages.entry(*package).or_default().0 += 1;
    }
    for (package, dies) in io {
        packages.entry(package).or_default().1 += dies.len();
    }
    let describe = |(compute, io): &(usize, usize)| match io {
        0 => compute.to_string(),
        io => format!("{compute} compute and {io} I/O"),
    };
    let counts: BTreeSet<&(usize, usize)> = packages.values().collect();
    Ok(text(match counts.first() {
        Some(same) if counts.len() == 1 => format!("{} per package", describe(same)),
        _ => {
            let each =
                packages.iter().map(|(p, counts)| format!("package {p}: {}", describe(counts)));
            each.collect::<Vec<_>>().join("; ")
        }
    }))
}

fn no_dies(survey: &Survey<'_>, topology: &Topology) -> Unavailable {
    let some_only = || {
        let why = "not every CPU answered when its die was read";
        Unavailable::new(Obstacle::Permission, "dies", why)
    };
    let unknown = topology.cpus.iter().find(|place| place.die.is_none()).map(|place| place.cpu);
    if let Some(cpu) = unknown.filter(|_| dies::are_by_register(survey.cpuinfo().ok())) {
        return dies::of_cpu(survey, cpu).err().map_or_else(some_only, |mut reason| {
            let register = dies::PM_LOGICAL_ID;
            reason.why = format!(
                "sysfs hides the dies of this CPU, and register {register:#x}: {}",
                reason.why
            );
            reason
        });
    }
    let why = "the kernel shows no `topology/die_id` here: newer ones do on x86";
    no_file(survey, why, &format!("{}/cpu*/topology/die_id", sysfs::CPU))
}

fn caches(survey: &Survey<'_>) -> Reading<FactValue> {
    let topology = known(survey)?;
    if topology.caches.is_empty() {
        return cache_size(survey);
    }
    let kinds = places_by_kind(topology);
    let described: Vec<(&str, String)> = kinds
        .iter()
        .map(|(kind, places)| {
            let cpus = places.iter().map(|place| place.cpu).collect();
            (*kind, caches_of(topology, &cpus))
        })
        .collect();
    let texts: BTreeSet<&String> = described.iter().map(|(_, text)| text).collect();
    if texts.len() > 1 {
        let parts = described.iter().map(|(kind, caches)| format!("{kind}: {caches}"));
        return Ok(text(parts.collect::<Vec<_>>().join("; ")));
    }
    Ok(text(caches_of(topology, &topology.online)))
}

/// `L1d 48 KiB, L2 2 MiB, L3 105 MiB shared by 56 cores`; of these CPUs, with which ones have it where
/// they differ.
fn caches_of(topology: &Topology, cpus: &CpuSet) -> String {
    /// Caches in words, each with who uses it.
    type Described = Vec<(String, Vec<CpuId>)>;
    let mut users: BTreeMap<(u8, CacheKind), Described> = BTreeMap::new();
    let data = || topology.caches.iter().filter(|cache| cache.kind != CacheKind::Instruction);
    // Nobody may say who shares a cache.
    for cache in data().filter(|cache| cache.instances.is_empty()) {
        let described = users.entry((cache.level, cache.kind)).or_default();
        described.push((size_words(cache), cpus.iter().collect()));
    }
    for (cache, instance) in data().flat_map(|c| c.instances.iter().map(move |i| (c, i))) {
        let members = instance.intersection(cpus);
        if members.is_empty() {
            continue;
        }
        let described = users.entry((cache.level, cache.kind)).or_default();
        let words = cache_words(topology, cache, instance);
        match described.iter_mut().find(|(known, _)| *known == words) {
            Some((_, users)) => users.extend(members.iter()),
            None => described.push((words, members.iter().collect())),
        }
    }
    let describe = |((level, kind), described): ((u8, CacheKind), Described)| {
        let suffix = if kind == CacheKind::Data { "d" } else { "" };
        let said = described.into_iter().map(|(words, users)| {
            let users: CpuSet = users.into_iter().collect();
            if users == *cpus { words } else { format!("{words} ({})", users.named()) }
        });
        format!("L{level}{suffix} {}", said.collect::<Vec<_>>().join(" and "))
    };
    users.into_iter().map(describe).collect::<Vec<_>>().join(", ")
}

/// `2 MiB`, `105 MiB shared by 56 cores`
fn cache_words(topology: &Topology, cache: &Cache, instance: &CpuSet) -> String {
    let size = size_words(cache);
    let cores = cores_among(instance.iter().filter_map(|cpu| topology.place(cpu)));
    if cores > 1 { format!("{size} shared by {cores} cores") } else { size }
}

fn size_words(cache: &Cache) -> String {
    cache.bytes.map_or("of unknown size".into(), |size| bytes(size as f64))
}

/// `/proc/cpuinfo` of x86 tells one size, of a level that the maker decides.
///
/// # Source
/// Linux, `x86_cache_size` in `arch/x86/kernel/cpu/common.c`, `cpu_detect_cache_sizes` (L2), and `cacheinfo.c`,
/// `init_intel_cacheinfo`, which puts the last level there for Intel and Zhaoxin.
fn cache_size(survey: &Survey<'_>) -> Reading<FactValue> {
    let size = survey.cpuinfo().ok().and_then(|cpuinfo| cpuinfo.any("cache size"));
    let size = size.and_then(|size| sysfs_bytes(&size.replace(" KB", "K"))).map(bytes);
    let size = size.ok_or_else(|| {
        let folder = format!("{}/cpu*/cache", sysfs::CPU);
        no_file(survey, "the kernel describes no caches here", &folder)
    })?;
    let level = match cpu::vendor(survey).as_deref() {
        Ok("AuthenticAMD" | "HygonGenuine") => "L2, ",
        Ok("GenuineIntel" | "CentaurHauls" | "Shanghai") => "last level, ",
        _ => "",
    };
    Ok(text(format!("{size} ({level}as `/proc/cpuinfo` says)")))
}

fn offline(survey: &Survey<'_>) -> Reading<FactValue> {
    let topology = known(survey)?;
    let off = topology.offline();
    if off.is_empty() && sysfs::listed_present(survey).is_none() {
        let why = "the kernel does not say which CPUs are plugged in";
        return Err(no_file(survey, why, "/sys/devices/system/cpu/present"));
    }
    Ok(text(none_or_list(&off)))
}

/// CPUs that the kernel has, and a container does not show.
fn not_shown(survey: &Survey<'_>) -> Reading<FactValue> {
    let topology = known(survey)?;
    let of_nodes = topology.nodes.iter().flat_map(|node| node.not_shown.iter());
    let listed = sysfs::present(survey).difference(&topology.present);
    let not_online = listed.difference(&topology.online);
    Ok(text(none_or_list(&not_online.iter().chain(of_nodes).collect())))
}

fn isolated(survey: &Survey<'_>) -> Reading<FactValue> {
    Ok(text(none_or_list(&sysfs::isolated(survey)?)))
}

/// The CPUs on which a thread that is alone runs without a tick.
///
/// # Source
/// Linux, `Documentation/timers/no_hz.rst`; `drivers/base/cpu.c`: `nohz_full`.
fn nohz_full(survey: &Survey<'_>) -> Reading<FactValue> {
    let absent = "the kernel was built without `nohz_full`";
    Ok(text(none_or_list(&sysfs::listed(survey, "nohz_full", absent)?)))
}

fn none_or_list(cpus: &CpuSet) -> String {
    if cpus.is_empty() { "none".into() } else { cpus.to_string() }
}

/// `4 nodes, 2 of them without CPUs; distances 10 to 28`
fn nodes(survey: &Survey<'_>) -> Reading<FactValue> {
    let nodes = &survey.topology().nodes;
    if nodes.is_empty() {
        survey.sysfs()?;
        if super::nodes::are_there(survey) {
            let why = "not every node that is online says which CPUs are near it";
            return Err(Unavailable::new(Obstacle::Measurement, "memory nodes", why));
        }
        let why = "the kernel was built without NUMA, or hides its nodes";
        return Err(no_file(survey, why, "/sys/devices/system/node"));
    }
    let mut words = tally(nodes.len(), "node");
    let is_empty = |node: &&Node| node.cpus.is_empty() && node.not_shown.is_empty();
    let without = nodes.iter().filter(is_empty).count();
    if without > 0 {
        let _ = write!(words, ", {without} of them without CPUs");
    }
    let distances = || nodes.iter().flat_map(|node| node.distances.values());
    if let (Some(least), Some(most)) = (distances().min(), distances().max())
        && nodes.len() > 1
    {
        let _ = write!(words, "; distances {least} to {most}");
    }
    Ok(text(words))
}
