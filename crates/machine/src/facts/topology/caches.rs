//! Caches, and who shares them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use model::record::{Cache, CacheKind};
use model::{CpuId, CpuSet};

use super::super::cpuinfo::{Cpuinfo, DescribedCache};
use super::by_cpuid;
use super::disputes::{Disputes, MOST};
use super::groups::{Groups, Numbered};
use super::sysfs::{CPU, claims, number, text};
use crate::parse::{bytes, sysfs_bytes};
use crate::ports::Machine;

/// What tells rows of caches apart.
type Key = (u8, CacheKind, Option<u64>, Option<u32>, Option<u32>);

/// The caches of a machine.
pub(super) struct Caches {
    /// Ascending by level, data before instructions.
    pub(super) rows: Vec<Cache>,
    ids: BTreeMap<CpuId, u32>,
}

impl Caches {
    /// Reads every cache; what is said of itself, by the first CPU that shares it.
    ///
    /// # Source
    /// The kernel's `sysfs-devices-system-cpu`, `cache/index*`.
    pub(super) fn read(
        machine: &Machine,
        online: &CpuSet,
        cores: Option<&Groups>,
        cpuinfo: &Cpuinfo,
        disputes: &Disputes,
    ) -> Caches {
        let source = CacheSource { machine, online, cores, disputes };
        let mut rows: BTreeMap<Key, Vec<CpuSet>> = BTreeMap::new();
        let mut ids = BTreeMap::new();
        let all = source.folders();
        let described: BTreeSet<CpuId> = all.values().flat_map(BTreeMap::keys).copied().collect();
        for (sort, folders) in &all {
            for cpus in source.users(*sort, folders, &described).iter() {
                let Some(folder) = cpus.iter().find_map(|cpu| folders.get(&cpu)) else { continue };
                let bytes = source.size(*sort, folders, cpus);
                let (line_bytes, ways) = source.lines(*sort, folder, bytes);
                let id = number(machine, &format!("{folder}/id"));
                if let (2, Some(id), Some(first)) = (sort.0, id, cpus.iter().next()) {
                    ids.insert(first, id);
                }
                let key = (sort.0, sort.1, bytes, line_bytes, ways);
                rows.entry(key).or_default().push(cpus.clone());
            }
        }
        let rows = rows.into_iter().map(|((level, kind, bytes, line_bytes, ways), instances)| {
            Cache { level, kind, bytes, line_bytes, ways, inclusive: None, instances }
        });
        let mut rows: Vec<Cache> = rows.collect();
        add_described(machine, online, cpuinfo, &mut rows);
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

    /// The sorts of caches that some CPUs of a kind have and others that list caches do not list, and these others.
    pub(super) fn gaps(&self, kinds: &BTreeMap<CpuId, String>) -> Vec<(Sort, CpuSet)> {
        let mut users: BTreeMap<Sort, BTreeSet<CpuId>> = BTreeMap::new();
        for row in &self.rows {
            let users = users.entry((row.level, row.kind)).or_default();
            users.extend(row.instances.iter().flat_map(CpuSet::iter));
        }
        let all: BTreeSet<CpuId> = users.values().flatten().copied().collect();
        let gap = |(sort, users): (&Sort, &BTreeSet<CpuId>)| {
            let theirs: BTreeSet<Option<&String>> = users.iter().map(|it| kinds.get(it)).collect();
            let lacks = |cpu: &CpuId| theirs.contains(&kinds.get(cpu));
            let lacking: CpuSet = all.difference(users).copied().filter(lacks).collect();
            (!lacking.is_empty()).then_some((*sort, lacking))
        };
        users.iter().filter_map(gap).collect()
    }

    /// The level of the last cache of a CPU that is listed.
    pub(super) fn last_level_of(&self, cpu: CpuId) -> Option<u8> {
        let has = |row: &&Cache| row.instances.iter().any(|instance| instance.contains(cpu));
        let data = self.rows.iter().filter(|row| row.kind != CacheKind::Instruction);
        data.filter(has).map(|row| row.level).max()
    }

    /// The first CPU of each CPU's first-level cache of data: threads of a core share it.
    pub(super) fn first_level(&self) -> BTreeMap<CpuId, CpuId> {
        let rows = self.rows.iter();
        let first = rows.filter(|row| row.level == 1 && row.kind != CacheKind::Instruction);
        let users = |cpus: &CpuSet| {
            let first = cpus.iter().next();
            first
                .into_iter()
                .flat_map(|first| cpus.iter().map(move |cpu| (cpu, first)))
                .collect::<Vec<_>>()
        };
        first.flat_map(|row| &row.instances).flat_map(users).collect()
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
        let groups = Groups::keyed(online, |cpu| {
            shared.get(&cpu).map_or(Err(cpu), |shared| Ok(shared.iter().next()))
        });
        let known = |cpu: &u32| shared.contains_key(&CpuId(*cpu));
        let id = |cpu| self.ids.get(&cpu).copied().or(Some(cpu.0).filter(known));
        groups.with_unique(packages, id)
    }
}

/// Adds caches that sysfs does not list and that are described elsewhere, of which nobody says who
/// shares them: s390 keeps the shared ones out of sysfs.
fn add_described(machine: &Machine, online: &CpuSet, cpuinfo: &Cpuinfo, rows: &mut Vec<Cache>) {
    let mut described = cpuinfo.caches();
    described.extend(of_sparc(machine, online));
    for DescribedCache { level, kind, bytes, line_bytes, ways } in described {
        if rows.iter().all(|row| (row.level, row.kind) != (level, kind)) {
            let bytes = Some(bytes);
            let instances = Vec::new();
            rows.push(Cache { level, kind, bytes, line_bytes, ways, inclusive: None, instances });
        }
    }
    rows.sort_by_key(|row| (row.level, row.kind));
}

/// The caches of the first CPU of a SPARC.
///
/// # Source
/// The kernel's `arch/sparc/kernel/sysfs.c`: files in the folder of each CPU, in bytes.
fn of_sparc(machine: &Machine, online: &CpuSet) -> Vec<DescribedCache> {
    use CacheKind::{Data, Instruction, Unified};
    const NAMES: [(&str, u8, CacheKind); 3] =
        [("l1_dcache", 1, Data), ("l1_icache", 1, Instruction), ("l2_cache", 2, Unified)];
    let Some(cpu) = online.iter().next() else { return Vec::new() };
    let of = |name: &str| number(machine, &format!("{CPU}/cpu{cpu}/{name}")).filter(|&n| n > 0);
    let describe = |(name, level, kind): (&str, u8, CacheKind)| {
        let bytes = of(&format!("{name}_size")).map(u64::from)?;
        let line_bytes = of(&format!("{name}_line_size"));
        Some(DescribedCache { level, kind, bytes, line_bytes, ways: None })
    };
    NAMES.into_iter().filter_map(describe).collect()
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

/// More folders than any kernel has: levels times kinds.
const INDICES_MAX: usize = 16;

/// Level and kind of caches.
pub(super) type Sort = (u8, CacheKind);

/// No cache is nearly as large; a larger number is garbage.
const CACHE_BYTES_MAX: u64 = 64 << 30;

/// The folders of one machine's caches, each by its CPU.
type Folders = BTreeMap<CpuId, String>;

/// What caches are read from.
struct CacheSource<'a> {
    machine: &'a Machine,
    online: &'a CpuSet,
    cores: Option<&'a Groups>,
    disputes: &'a Disputes,
}

impl CacheSource<'_> {
    /// The folder of each CPU's cache of each sort.
    fn folders(&self) -> BTreeMap<Sort, Folders> {
        let mut folders: BTreeMap<Sort, Folders> = BTreeMap::new();
        for cpu in self.online.iter() {
            let caches = format!("{CPU}/cpu{cpu}/cache");
            let indices = self.machine.tree.list(&caches).unwrap_or_default();
            for index in indices.into_iter().filter(|i| i.starts_with("index")).take(INDICES_MAX) {
                let folder = format!("{caches}/{index}");
                let Some(sort) = sort(self.machine, &folder) else { continue };
                match folders.entry(sort).or_default().entry(cpu) {
                    Entry::Vacant(free) => {
                        free.insert(folder);
                    }
                    Entry::Occupied(_) => {
                        let says = format!("CPU {cpu} has two of them");
                        self.disputes.note(&about(sort), &says, "the first is believed");
                    }
                }
            }
        }
        self.check_kinds(&folders);
        folders
    }

    /// What holds both data and instructions leaves no room for another cache of its level.
    fn check_kinds(&self, folders: &BTreeMap<Sort, Folders>) {
        for (sort, unified) in folders.iter().filter(|(sort, _)| sort.1 == CacheKind::Unified) {
            for beside in [CacheKind::Data, CacheKind::Instruction].map(|kind| (sort.0, kind)) {
                let Some(others) = folders.get(&beside) else { continue };
                if let Some(cpu) = unified.keys().find(|cpu| others.contains_key(cpu)) {
                    let says = format!(
                        "CPU {cpu} has an {} for both data and instructions, and an {}",
                        name(*sort),
                        name(beside)
                    );
                    self.disputes.note(&about(*sort), &says, "neither is proven");
                }
            }
        }
    }

    /// Who shares caches of a sort. A core has one, so that a list which splits cores is believed last.
    fn users(&self, sort: Sort, folders: &Folders, described: &BTreeSet<CpuId>) -> Groups {
        let folder = |cpu| folders.get(&cpu).cloned();
        let names = &[["shared_cpu_list", "shared_cpu_map"]];
        let claims = claims(self.machine, self.online, folder, names);
        // A CPU that nobody names has none.
        let named: CpuSet =
            claims.named().into_iter().filter(|&cpu| self.online.contains(cpu)).collect();
        let is_whole = |set: &CpuSet| self.cores.is_none_or(|cores| !cores.are_split_by(set));
        let (groups, dispute) = claims.decided(&named, is_whole);
        let about = about(sort);
        if let Some(says) = dispute {
            self.disputes.note(&about, &says, MOST);
        }
        let lacks = |cpu: &CpuId| described.contains(cpu) && !folders.contains_key(cpu);
        if let Some(cpu) = named.iter().find(lacks) {
            let says = format!("CPU {cpu} is listed as a user, and has no such cache itself");
            self.disputes.note(&about, &says, "the list is believed");
        }
        let is_split = |core: &&CpuSet| {
            core.iter().map(|cpu| groups.index(cpu)).collect::<BTreeSet<_>>().len() > 1
        };
        if let Some(core) = self.cores.and_then(|cores| cores.iter().find(is_split)) {
            let says = format!("{} share a core, and no {}", core.named(), name(sort));
            self.disputes.note(&about, &says, "neither is proven");
        }
        groups
    }

    /// The size of a cache, as most of those say who share it; `None` where nobody does, or as many
    /// say this as that.
    fn size(&self, sort: Sort, folders: &Folders, cpus: &CpuSet) -> Option<u64> {
        let mut votes: BTreeMap<u64, usize> = BTreeMap::new();
        for folder in cpus.iter().filter_map(|cpu| folders.get(&cpu)) {
            let size = text(self.machine, &format!("{folder}/size"));
            let size = size.and_then(|size| sysfs_bytes(&size)).map(|size| size as u64);
            if let Some(size) = size.filter(|size| (1..=CACHE_BYTES_MAX).contains(size)) {
                *votes.entry(size).or_default() += 1;
            }
        }
        if votes.len() > 1 {
            let sizes: Vec<String> = votes.keys().map(|&size| bytes(size as f64)).collect();
            let says = format!("that of {} is of {}", cpus.named(), sizes.join(" and of "));
            self.disputes.note(&format!("size of {}", name(sort)), &says, MOST);
        }
        let most = votes.values().copied().max()?;
        let mut said = votes.into_iter().filter(|(_, votes)| *votes == most);
        match (said.next(), said.next()) {
            (Some((size, _)), None) => Some(size),
            _ => None,
        }
    }

    /// Bytes of a line, and ways, of the cache of one folder.
    fn lines(&self, sort: Sort, folder: &str, size: Option<u64>) -> (Option<u32>, Option<u32>) {
        let positive =
            |file: &str| number(self.machine, &format!("{folder}/{file}")).filter(|&n| n > 0);
        let (line, ways) = (positive("coherency_line_size"), positive("ways_of_associativity"));
        let sets = positive("number_of_sets");
        let (Some(size), Some(of_line), Some(sets), Some(of_set)) = (size, line, sets, ways) else {
            return (line, ways);
        };
        // A tag may stand for two lines, each of this size: L2 of NetBurst.
        let partitions = positive("physical_line_partition").unwrap_or(1);
        if is_product(size, [of_line, partitions, sets, of_set]) {
            return (line, ways);
        }
        let says = format!(
            "{of_set} ways of {sets} sets of lines of {of_line} B are not {}",
            bytes(size as f64)
        );
        self.disputes.note(&format!("ways of {}", name(sort)), &says, "the size is believed");
        (line, None)
    }
}

/// The sort of the cache of one folder; `None` where level or kind are not there.
fn sort(machine: &Machine, folder: &str) -> Option<Sort> {
    let level = number(machine, &format!("{folder}/level"))?;
    let level = u8::try_from(level).ok().filter(|level| (1..=15).contains(level))?;
    let kind = match text(machine, &format!("{folder}/type"))?.as_str() {
        "Data" => CacheKind::Data,
        "Instruction" => CacheKind::Instruction,
        "Unified" => CacheKind::Unified,
        _ => return None,
    };
    Some((level, kind))
}

/// `L2 caches`.
pub(super) fn about(sort: Sort) -> String {
    format!("{} caches", name(sort))
}

/// `L1d`, `L2`.
pub(super) fn name((level, kind): Sort) -> String {
    let suffix = match kind {
        CacheKind::Data => "d",
        CacheKind::Instruction => "i",
        CacheKind::Unified => "",
    };
    format!("L{level}{suffix}")
}

/// Whether a size is lines times partitions times sets times ways. Where it is not, one of them is
/// wrong, and the ways are it most often: the tables of some Arm machines have no room for them.
fn is_product(bytes: u64, factors: [u32; 4]) -> bool {
    let product = factors.into_iter().map(u64::from).try_fold(1, u64::checked_mul);
    // The kernel writes sizes in KiB, rounded down.
    product.is_some_and(|product| product / 1024 == bytes / 1024)
}
