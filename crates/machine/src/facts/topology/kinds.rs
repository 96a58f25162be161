//! Types of cores on machines that have several.

use std::collections::{BTreeMap, BTreeSet};

use model::{CpuId, CpuSet};

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
    let known = CORES.iter().find(|row| (row.0, row.1) == (implementer, part));
    Some(match known {
        Some((.., name)) => (*name).to_owned(),
        None => format!("implementer {implementer:#x} part {part:#x}"),
    })
}

const ARM: u32 = 0x41;
const HISILICON: u32 = 0x48;
const NVIDIA: u32 = 0x4e;
const QUALCOMM: u32 = 0x51;
const SAMSUNG: u32 = 0x53;
const APPLE: u32 = 0x61;

/// Names of cores by implementer and part number.
///
/// # Source
/// Arm's technical reference manuals, register MIDR_EL1; the kernel's
/// `arch/arm64/include/asm/cputype.h` for other implementers.
#[rustfmt::skip]
const CORES: &[(u32, u32, &str)] = &[
    (ARM, 0xc05, "Cortex-A5"), (ARM, 0xc07, "Cortex-A7"), (ARM, 0xc08, "Cortex-A8"),
    (ARM, 0xc09, "Cortex-A9"), (ARM, 0xc0d, "Cortex-A17"), (ARM, 0xc0e, "Cortex-A17"),
    (ARM, 0xc0f, "Cortex-A15"), (ARM, 0xd01, "Cortex-A32"), (ARM, 0xd03, "Cortex-A53"),
    (ARM, 0xd04, "Cortex-A35"), (ARM, 0xd05, "Cortex-A55"), (ARM, 0xd06, "Cortex-A65"),
    (ARM, 0xd07, "Cortex-A57"), (ARM, 0xd08, "Cortex-A72"), (ARM, 0xd09, "Cortex-A73"),
    (ARM, 0xd0a, "Cortex-A75"), (ARM, 0xd0b, "Cortex-A76"), (ARM, 0xd0c, "Neoverse-N1"),
    (ARM, 0xd0d, "Cortex-A77"), (ARM, 0xd0e, "Cortex-A76AE"), (ARM, 0xd40, "Neoverse-V1"),
    (ARM, 0xd41, "Cortex-A78"), (ARM, 0xd42, "Cortex-A78AE"), (ARM, 0xd43, "Cortex-A65AE"),
    (ARM, 0xd44, "Cortex-X1"), (ARM, 0xd46, "Cortex-A510"), (ARM, 0xd47, "Cortex-A710"),
    (ARM, 0xd48, "Cortex-X2"), (ARM, 0xd49, "Neoverse-N2"), (ARM, 0xd4a, "Neoverse-E1"),
    (ARM, 0xd4b, "Cortex-A78C"), (ARM, 0xd4c, "Cortex-X1C"), (ARM, 0xd4d, "Cortex-A715"),
    (ARM, 0xd4e, "Cortex-X3"), (ARM, 0xd4f, "Neoverse-V2"), (ARM, 0xd80, "Cortex-A520"),
    (ARM, 0xd81, "Cortex-A720"), (ARM, 0xd82, "Cortex-X4"), (ARM, 0xd83, "Neoverse-V3AE"),
    (ARM, 0xd84, "Neoverse-V3"), (ARM, 0xd85, "Cortex-X925"), (ARM, 0xd87, "Cortex-A725"),
    (ARM, 0xd8e, "Neoverse-N3"),
    (HISILICON, 0xd01, "TSV110"),
    (NVIDIA, 0x003, "Denver 2"), (NVIDIA, 0x004, "Carmel"),
    (QUALCOMM, 0x001, "Oryon"), (QUALCOMM, 0x800, "Kryo 2xx Gold"),
    (QUALCOMM, 0x801, "Kryo 2xx Silver"), (QUALCOMM, 0x802, "Kryo 3xx Gold"),
    (QUALCOMM, 0x803, "Kryo 3xx Silver"), (QUALCOMM, 0x804, "Kryo 4xx Gold"),
    (QUALCOMM, 0x805, "Kryo 4xx Silver"),
    (SAMSUNG, 0x001, "Exynos M1"), (SAMSUNG, 0x002, "Exynos M3"), (SAMSUNG, 0x003, "Exynos M4"),
    (SAMSUNG, 0x004, "Exynos M5"),
    (APPLE, 0x022, "Icestorm"), (APPLE, 0x023, "Firestorm"), (APPLE, 0x024, "Icestorm Pro"),
    (APPLE, 0x025, "Firestorm Pro"), (APPLE, 0x028, "Icestorm Max"),
    (APPLE, 0x029, "Firestorm Max"), (APPLE, 0x032, "Blizzard"), (APPLE, 0x033, "Avalanche"),
    (APPLE, 0x034, "Blizzard Pro"), (APPLE, 0x035, "Avalanche Pro"),
    (APPLE, 0x038, "Blizzard Max"), (APPLE, 0x039, "Avalanche Max"),
];
