//! Types of cores on machines that have several.

use std::collections::{BTreeMap, BTreeSet};

use model::{CpuId, CpuSet};

use super::super::microarchitecture::arm_core;
use super::caches::Caches;
use super::cpuinfo::{Cpuinfo, Processor};
use super::groups::Groups;
use super::sysfs::{CPU, list, number};
use crate::ports::Machine;

/// The kinds of CPUs by name; empty where there is one kind, or nobody says.
pub(super) fn read(
    machine: &Machine,
    online: &CpuSet,
    cores: &Groups,
    caches: &Caches,
    cpuinfo: &Cpuinfo,
) -> BTreeMap<CpuId, String> {
    let mut kinds = by_pmu(machine, online);
    if kinds.is_empty() {
        kinds = by_cpuid(machine, cores);
    }
    mark_low_power(&mut kinds, caches);
    if kinds.is_empty() {
        kinds = by_part(online, cpuinfo);
    }
    if kinds.is_empty() && machine.cpuid.leaf(0, 0).is_none() && cpuinfo.family.is_none() {
        kinds = by_capacity(machine, online);
    }
    let kinds = one_per_core(&kinds, cores);
    let names: BTreeSet<&String> = kinds.values().collect();
    if names.len() > 1 { kinds } else { BTreeMap::new() }
}

/// A core is of one kind, even where lists put its CPUs into different ones: that of its first CPU.
fn one_per_core(kinds: &BTreeMap<CpuId, String>, cores: &Groups) -> BTreeMap<CpuId, String> {
    let of_core = |core: &CpuSet| {
        let kind = core.iter().next().and_then(|first| kinds.get(&first));
        let kind = kind.or_else(|| core.iter().find_map(|cpu| kinds.get(&cpu)));
        kind.map(|kind| core.iter().map(|cpu| (cpu, kind.clone())).collect::<Vec<_>>())
    };
    cores.iter().filter_map(of_core).flatten().collect()
}

/// # Source
/// The kernel's `sysfs-bus-event_source-devices-hybrid`: each kind of core of a hybrid x86 has a
/// performance monitor of its own.
fn by_pmu(machine: &Machine, online: &CpuSet) -> BTreeMap<CpuId, String> {
    const KINDS: [(&str, &str); 3] =
        [("cpu_core", "P"), ("cpu_atom", "E"), ("cpu_lowpower", "LP-E")];
    let mut kinds = BTreeMap::new();
    for (device, kind) in KINDS {
        let cpus = list(machine, &format!("/sys/devices/{device}"), &["cpus"]).unwrap_or_default();
        kinds.extend(cpus.intersection(online).iter().map(|cpu| (cpu, kind.to_owned())));
    }
    kinds
}

/// # Source
/// Intel SDM volume 2A, CPUID: 07h EDX[15] says that the package is hybrid, 1Ah EAX[31:24] is the
/// type of the core, 20h Atom and 40h Core.
fn by_cpuid(machine: &Machine, cores: &Groups) -> BTreeMap<CpuId, String> {
    let mut kinds = BTreeMap::new();
    if is_hybrid(machine) != Some(true) {
        return kinds;
    }
    for core in cores.iter() {
        let leaf = core.iter().next().and_then(|cpu| machine.cpuid.leaf_of(cpu, 0x1a, 0));
        let kind = match leaf.map(|leaf| leaf.eax >> 24) {
            Some(0x20) => "E",
            Some(0x40) => "P",
            _ => continue,
        };
        kinds.extend(core.iter().map(|cpu| (cpu, kind.to_owned())));
    }
    kinds
}

/// Efficient cores beyond the third-level cache of the performance cores are low-power ones; the
/// kernel tells them apart only where there are efficient cores of both sorts.
///
/// # Source
/// Intel's product pages: the cores outside of the ring, of Meteor Lake, Arrow Lake-H and Lunar
/// Lake, are their Low Power Efficient-cores.
fn mark_low_power(kinds: &mut BTreeMap<CpuId, String>, caches: &Caches) {
    let within = |level: u8| -> BTreeSet<CpuId> {
        let rows = caches.rows.iter().filter(|row| row.level == level);
        rows.flat_map(|row| &row.instances).flat_map(CpuSet::iter).collect()
    };
    let (second, third) = (within(2), within(3));
    if kinds.iter().any(|(cpu, kind)| kind == "P" && third.contains(cpu)) {
        for (cpu, kind) in kinds.iter_mut() {
            if kind == "E" && second.contains(cpu) && !third.contains(cpu) {
                "LP-E".clone_into(kind);
            }
        }
    }
}

/// Whether CPUID says that cores differ; `None` where it says nothing.
pub(super) fn is_hybrid(machine: &Machine) -> Option<bool> {
    Some(machine.cpuid.leaf(7, 0)?.edx >> 15 & 1 == 1)
}

fn by_part(online: &CpuSet, cpuinfo: &Cpuinfo) -> BTreeMap<CpuId, String> {
    online.iter().filter_map(|cpu| Some((cpu, name(cpuinfo.of(cpu))?))).collect()
}

/// The kernel's guess of relative speeds: no name, but a difference.
fn by_capacity(machine: &Machine, online: &CpuSet) -> BTreeMap<CpuId, String> {
    let capacity = |cpu| number(machine, &format!("{CPU}/cpu{cpu}/cpu_capacity"));
    online.iter().filter_map(|cpu| Some((cpu, format!("capacity {}", capacity(cpu)?)))).collect()
}

fn name(processor: Processor) -> Option<String> {
    let (implementer, part) = (processor.implementer?, processor.part?);
    let unnamed = || format!("implementer {implementer:#x} part {part:#x}");
    Some(arm_core(implementer, part).map_or_else(unnamed, str::to_owned))
}
