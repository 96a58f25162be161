//! Types of cores on machines that have several.

use std::collections::{BTreeMap, BTreeSet};

use model::{CpuId, CpuSet};

use super::super::cores::{CoreIdentity, cores as cores_of};
use super::super::cpuinfo::Cpuinfo;
use super::caches::Caches;
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
    let is_x86 = machine.cpuid.leaf(0, 0).is_some() || cpuinfo.first("cpu family").is_some();
    if kinds.is_empty() && !is_x86 {
        kinds = by_core(machine, online, cpuinfo);
        if kinds.is_empty() {
            kinds = by_capacity(machine, online);
        }
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

/// By who the cores say they are, and by their instruction sets where these differ.
fn by_core(machine: &Machine, online: &CpuSet, cpuinfo: &Cpuinfo) -> BTreeMap<CpuId, String> {
    let named = cores_of(machine, cpuinfo, online);
    let mut kinds: BTreeMap<CpuId, String> =
        named.iter().map(|(cpu, core)| (*cpu, name(core))).collect();
    let sets: BTreeMap<CpuId, &str> =
        online.iter().filter_map(|cpu| Some((cpu, cpuinfo.riscv_isa(cpu)?))).collect();
    let base = |isa: &str| isa.split('_').next().unwrap_or(isa).to_owned();
    let (whole, short): (BTreeSet<String>, BTreeSet<String>) =
        sets.values().map(|isa| ((*isa).to_owned(), base(isa))).unzip();
    // The name of a core says more, where each has sets of its own.
    let told: BTreeSet<(Option<&String>, &str)> =
        sets.iter().map(|(cpu, isa)| (kinds.get(cpu), *isa)).collect();
    let names: BTreeSet<&String> = kinds.values().collect();
    if whole.len() > 1 && told.len() > names.len() {
        let isa = |isa: &str| if short.len() == whole.len() { base(isa) } else { isa.to_owned() };
        let of = |(cpu, set): (&CpuId, &&str)| {
            let core = kinds.get(cpu).map(|core| format!("{core} ")).unwrap_or_default();
            (*cpu, core + &isa(set))
        };
        let with_sets: BTreeMap<CpuId, String> = sets.iter().map(of).collect();
        kinds.extend(with_sets);
    }
    kinds
}

/// Revisions of a core are no kinds.
fn name(core: &CoreIdentity) -> String {
    core.name().unwrap_or_else(|_| match core {
        CoreIdentity::Arm(midr) => {
            format!("implementer {:#x} part {:#x}", midr.implementer(), midr.part())
        }
        CoreIdentity::RiscV(core) => core.to_string(),
    })
}

/// Whether every online CPU says who its core is, and all say the same.
pub(super) fn are_named_alike(machine: &Machine, online: &CpuSet, cpuinfo: &Cpuinfo) -> bool {
    let cores = cores_of(machine, cpuinfo, online);
    let names: BTreeSet<String> = cores.iter().map(|(_, core)| name(core)).collect();
    names.len() == 1 && cores.len() == online.len()
}

/// The kernel's guess of relative speeds: no name, but a difference. Equal cores ripple by some per
/// cent, as their highest clocks do.
fn by_capacity(machine: &Machine, online: &CpuSet) -> BTreeMap<CpuId, String> {
    /// Capacities of one kind follow each other by less than this.
    const STEP: f64 = 1.1;
    let capacity = |cpu| number(machine, &format!("{CPU}/cpu{cpu}/cpu_capacity"));
    let mut capacities: Vec<(u32, CpuId)> =
        online.iter().filter_map(|cpu| Some((capacity(cpu)?, cpu))).collect();
    capacities.sort_unstable();
    let is_near = |(low, _): &(u32, CpuId), (high, _): &(u32, CpuId)| {
        f64::from(*high) <= f64::from(*low) * STEP
    };
    let mut kinds = BTreeMap::new();
    for kind in capacities.chunk_by(is_near) {
        let (Some((least, _)), Some((most, _))) = (kind.first(), kind.last()) else { continue };
        let name = if least == most {
            format!("capacity {least}")
        } else {
            format!("capacity {least} to {most}")
        };
        kinds.extend(kind.iter().map(|(_, cpu)| (*cpu, name.clone())));
    }
    kinds
}
