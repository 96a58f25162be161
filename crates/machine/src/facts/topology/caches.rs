//! Caches, and who shares them.

use std::collections::{BTreeMap, BTreeSet};

use model::record::{Cache, CacheKind};
use model::{CpuId, CpuSet};

use super::by_cpuid;
use super::groups::{Groups, Numbered, listed_at_most};
use super::sysfs::{CPU, members, number, text};
use crate::ports::Machine;
use crate::text::sysfs_bytes;

/// What tells rows of caches apart.
type Key = (u8, CacheKind, Option<u64>, Option<u32>, Option<u32>);

/// One cache.
struct Instance {
    key: Key,
    /// The kernel's number, where it has one.
    id: Option<u32>,
    cpus: CpuSet,
}

/// The caches of a machine.
pub(super) struct Caches {
    /// Ascending by level, data before instructions.
    pub(super) rows: Vec<Cache>,
    ids: BTreeMap<CpuId, u32>,
}

impl Caches {
    /// Reads every cache once, by the first CPU that shares it.
    ///
    /// # Source
    /// The kernel's `sysfs-devices-system-cpu`, `cache/index*`.
    pub(super) fn read(machine: &Machine, online: &CpuSet) -> Caches {
        let mut rows: BTreeMap<Key, Vec<CpuSet>> = BTreeMap::new();
        let mut ids = BTreeMap::new();
        for instance in disjoint(instances(machine, online), online) {
            if let (2, Some(id), Some(first)) = (instance.key.0, instance.id, first(&instance)) {
                ids.insert(first, id);
            }
            rows.entry(instance.key).or_default().push(instance.cpus);
        }
        let rows = rows.into_iter().map(|((level, kind, bytes, line_bytes, ways), instances)| {
            Cache { level, kind, bytes, line_bytes, ways, inclusive: None, instances }
        });
        let mut rows: Vec<Cache> = rows.collect();
        add_inclusive(machine, &mut rows);
        Caches { rows, ids }
    }

    /// Who shares the last-level cache of each CPU.
    pub(super) fn last_level(&self) -> BTreeMap<CpuId, CpuSet> {
        let mut shared = BTreeMap::new();
        // Rows ascend by level: what comes later is further out.
        for cache in self.rows.iter().filter(|cache| cache.kind != CacheKind::Instruction) {
            for instance in &cache.instances {
                shared.extend(instance.iter().map(|cpu| (cpu, instance.clone())));
            }
        }
        shared
    }

    /// Modules, as far as second-level caches show them, with the numbers of these caches.
    pub(super) fn modules(&self, online: &CpuSet, packages: &Numbered) -> Numbered {
        let is_second = |cache: &&Cache| cache.level == 2 && cache.kind != CacheKind::Instruction;
        let shared: BTreeMap<CpuId, &CpuSet> = self
            .rows
            .iter()
            .filter(is_second)
            .flat_map(|cache| &cache.instances)
            .flat_map(|instance| instance.iter().map(move |cpu| (cpu, instance)))
            .collect();
        let groups = Groups::listed(online, |cpu| shared.get(&cpu).map(|&set| set.clone()));
        let known = |cpu: &u32| shared.contains_key(&CpuId(*cpu));
        let id = |cpu| self.ids.get(&cpu).copied().or(Some(cpu.0).filter(known));
        groups.with_unique(packages, id)
    }
}

/// Adds what sysfs does not say and CPUID does: whether a cache holds what those further in hold.
/// Of equal caches one is asked, each CPU once.
fn add_inclusive(machine: &Machine, rows: &mut [Cache]) {
    if machine.cpuid.leaf(0, 0).is_none() {
        return;
    }
    let mut answers = BTreeMap::new();
    for cache in rows.iter_mut().filter(|cache| cache.level >= 2) {
        let cpu = cache.instances.first().and_then(|cpus| cpus.iter().next());
        let Some(cpu) = cpu else { continue };
        let of_cpu =
            answers.entry(cpu).or_insert_with(|| by_cpuid::inclusive(&*machine.cpuid, cpu));
        let same = |(level, kind, _): &&_| (*level, *kind) == (cache.level, cache.kind);
        cache.inclusive = of_cpu.iter().find(same).map(|(.., inclusive)| *inclusive);
    }
}

fn first(instance: &Instance) -> Option<CpuId> {
    instance.cpus.iter().next()
}

/// More folders than any kernel has: levels times kinds.
const INDICES_MAX: usize = 16;

fn instances(machine: &Machine, online: &CpuSet) -> Vec<Instance> {
    let mut instances = Vec::new();
    let mut left = INDICES_MAX * listed_at_most(online);
    let mut known: BTreeMap<String, BTreeSet<CpuId>> = BTreeMap::new();
    for cpu in online.iter() {
        let folder = format!("{CPU}/cpu{cpu}/cache");
        let indices = machine.tree.list(&folder).unwrap_or_default();
        for index in indices.into_iter().filter(|i| i.starts_with("index")).take(INDICES_MAX) {
            if known.get(&index).is_some_and(|cpus| cpus.contains(&cpu)) {
                continue;
            }
            if left == 0 {
                return instances;
            }
            let instance = instance(machine, &format!("{folder}/{index}"));
            left = left.saturating_sub(instance.as_ref().map_or(0, |i| i.cpus.len()));
            if let Some(instance) = instance.filter(|instance| instance.cpus.contains(cpu)) {
                known.entry(index).or_default().extend(instance.cpus.iter());
                instances.push(instance);
            }
        }
    }
    instances
}

/// No cache is nearly as large; a larger number is garbage.
const CACHE_BYTES_MAX: u64 = 64 << 30;

/// The cache of one folder; `None` where level, kind or sharing are not there.
fn instance(machine: &Machine, folder: &str) -> Option<Instance> {
    let level = number(machine, &format!("{folder}/level"))?;
    let level = u8::try_from(level).ok().filter(|level| (1..=15).contains(level))?;
    let kind = match text(machine, &format!("{folder}/type"))?.as_str() {
        "Data" => CacheKind::Data,
        "Instruction" => CacheKind::Instruction,
        "Unified" => CacheKind::Unified,
        _ => return None,
    };
    let cpus = members(machine, folder, "shared_cpu_list", "shared_cpu_map")?;
    let positive = |file: &str| number(machine, &format!("{folder}/{file}")).filter(|&n| n > 0);
    let size = text(machine, &format!("{folder}/size")).and_then(|size| sysfs_bytes(&size));
    let bytes =
        size.map(|bytes| bytes as u64).filter(|bytes| (1..=CACHE_BYTES_MAX).contains(bytes));
    let line_bytes = positive("coherency_line_size");
    let ways = positive("ways_of_associativity");
    let ways = ways.filter(|&ways| match (bytes, line_bytes, positive("number_of_sets")) {
        (Some(bytes), Some(line), Some(sets)) => {
            // A tag may stand for two lines, each of this size: L2 of NetBurst.
            let partitions = positive("physical_line_partition").unwrap_or(1);
            is_product(bytes, [line, partitions, sets, ways])
        }
        _ => true,
    });
    let key = (level, kind, bytes, line_bytes, ways);
    Some(Instance { key, id: number(machine, &format!("{folder}/id")), cpus })
}

/// Whether a size is lines times partitions times sets times ways. Where it is not, one of them is
/// wrong, and the ways are it most often: the tables of some Arm machines have no room for them.
fn is_product(bytes: u64, factors: [u32; 4]) -> bool {
    let product = factors.into_iter().map(u64::from).try_fold(1, u64::checked_mul);
    // The kernel writes sizes in KiB, rounded down.
    product.is_some_and(|product| product / 1024 == bytes / 1024)
}

/// Of each level and kind, a CPU has one cache: the first that claims it.
fn disjoint(instances: Vec<Instance>, online: &CpuSet) -> Vec<Instance> {
    let mut claimed: BTreeMap<(u8, CacheKind), BTreeSet<CpuId>> = BTreeMap::new();
    let own = |instance: Instance| {
        let claimed = claimed.entry((instance.key.0, instance.key.1)).or_default();
        let free = |cpu: &CpuId| online.contains(*cpu) && !claimed.contains(cpu);
        let cpus: CpuSet = instance.cpus.iter().filter(free).collect();
        claimed.extend(cpus.iter());
        (!cpus.is_empty()).then_some(Instance { cpus, ..instance })
    };
    instances.into_iter().filter_map(own).collect()
}
