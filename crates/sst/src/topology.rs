//! Which CPUs are online, and in which package and die.

use std::collections::BTreeMap;

use machine::Tree;
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};

const CPU: &str = "/sys/devices/system/cpu";

/// A CPU that is online.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CpuLocation {
    pub(crate) cpu: CpuId,
    pub(crate) package: u32,
    pub(crate) die: Option<u32>,
}

/// The CPUs of a machine.
#[derive(Debug, Clone)]
pub(crate) struct Topology {
    /// Those online, ascending.
    pub(crate) online: Vec<CpuLocation>,
    /// Those that are switched off: the kernel does not say where they are.
    pub(crate) offline: CpuSet,
}

impl Topology {
    pub(crate) fn read(tree: &dyn Tree) -> Reading<Topology> {
        let online = set(tree, "online")?;
        let present = set(tree, "present").unwrap_or_else(|_| online.clone());
        let dies = groups(tree, &online, "die_id", "die_cpus_list");
        let mut packages = groups(tree, &online, "physical_package_id", "package_cpus_list");
        if packages.is_empty() {
            packages = packages_by_cpuinfo(tree);
        }
        let place = |cpu: CpuId| {
            let package = packages.get(&cpu).copied().ok_or_else(|| {
                let why = format!("`{CPU}/cpu{cpu}/topology/physical_package_id` says no number");
                Unavailable::new(Obstacle::Permission, "Speed Select", why)
            })?;
            Ok(CpuLocation { cpu, package, die: dies.get(&cpu).copied() })
        };
        let places = online.iter().map(place).collect::<Reading<Vec<_>>>()?;
        Ok(Topology { online: places, offline: present.difference(&online) })
    }

    /// The packages with CPUs online.
    pub(crate) fn packages(&self) -> Vec<u32> {
        let mut packages: Vec<u32> = self.online.iter().map(|place| place.package).collect();
        packages.sort_unstable();
        packages.dedup();
        packages
    }
}

/// The same numbers, of recordings that hold no others.
///
/// # Source
/// Linux, arch/x86/kernel/cpu/proc.c: `physical id` is what sysfs calls `physical_package_id`.
fn packages_by_cpuinfo(tree: &dyn Tree) -> BTreeMap<CpuId, u32> {
    let text = tree.read("/proc/cpuinfo").unwrap_or_default();
    let mut packages = BTreeMap::new();
    let mut cpu = None;
    for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
        match (key.trim(), value.trim().parse()) {
            ("processor", number) => cpu = number.ok().map(CpuId),
            ("physical id", Ok(package)) => packages.extend(cpu.map(|cpu| (cpu, package))),
            _ => {}
        }
    }
    packages
}

fn set(tree: &dyn Tree, file: &str) -> Reading<CpuSet> {
    let path = format!("{CPU}/{file}");
    let text = tree.read(&path)?;
    text.parse().map_err(|error: model::cpus::CpuListError| {
        let why = format!("`{path}` holds no list of CPUs: {error}");
        Unavailable::new(Obstacle::Permission, "Speed Select", why)
    })
}

/// The number of the group that each CPU is in. Where a list names who else is in it, the others' files
/// need not be read; who is not in the own list is asked alone. Kernels write either file for all CPUs or
/// for none.
fn groups(tree: &dyn Tree, online: &CpuSet, number: &str, list: &str) -> BTreeMap<CpuId, u32> {
    let mut groups = BTreeMap::new();
    let mut has_lists = true;
    for cpu in online.iter() {
        if groups.contains_key(&cpu) {
            continue;
        }
        let folder = format!("{CPU}/cpu{cpu}/topology");
        let read = |file: &str| tree.read(&format!("{folder}/{file}")).ok();
        let Some(group) = read(number).and_then(|text| text.trim().parse().ok()) else {
            if groups.is_empty() {
                break;
            }
            continue;
        };
        groups.insert(cpu, group);
        let together = if has_lists { read(list) } else { None };
        has_lists = together.is_some();
        let together = together.and_then(|text| text.parse::<CpuSet>().ok());
        for other in together.iter().flat_map(CpuSet::iter) {
            groups.entry(other).or_insert(group);
        }
    }
    groups
}
