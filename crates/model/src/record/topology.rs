//! Who sits where: packages, dies, modules, cores, threads, caches, memory nodes.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize, Serializer};

use crate::cpus::{CpuId, CpuSet};

/// Who sits where, as far as kernel and CPU say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Topology {
    /// CPUs that are online.
    pub online: CpuSet,
    /// CPUs that this process may use: online, in its affinity and in its cpuset.
    pub usable: CpuSet,
    /// CPUs that are plugged in, online or not, as far as they are shown; empty where the kernel does
    /// not say.
    #[serde(default)]
    pub present: CpuSet,
    /// CPUs that the scheduler leaves alone (`isolcpus`).
    #[serde(default)]
    pub isolated: CpuSet,
    /// Where each online CPU sits, ascending.
    pub cpus: Vec<CpuPlace>,
    /// Caches, ascending by level, data before instructions; one row per kind and size.
    #[serde(default)]
    pub caches: Vec<Cache>,
    /// Memory nodes, ascending, also those without CPUs; empty where the kernel knows none.
    #[serde(default)]
    pub nodes: Vec<Node>,
    /// What nobody says of which CPUs.
    #[serde(default, skip_serializing_if = "Unsaid::is_nothing")]
    pub unsaid: Unsaid,
}

/// Of which CPUs nobody says where they sit: numbers in their places only stand for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unsaid {
    /// In which package.
    #[serde(default)]
    pub package: CpuSet,
    /// On which core: each of them counts as one.
    #[serde(default)]
    pub core: CpuSet,
}

impl Unsaid {
    /// Whether everything is said.
    pub fn is_nothing(&self) -> bool {
        self.package.is_empty() && self.core.is_empty()
    }
}

impl Topology {
    /// CPUs that are plugged in and switched off.
    pub fn offline(&self) -> CpuSet {
        self.present.difference(&self.online)
    }

    /// Where a CPU sits, where it is online.
    pub fn place(&self, cpu: CpuId) -> Option<&CpuPlace> {
        let index = self.cpus.binary_search_by_key(&cpu, |place| place.cpu).ok()?;
        self.cpus.get(index)
    }

    /// The type of a CPU's core, where the machine has several.
    pub fn kind(&self, cpu: CpuId) -> Option<&str> {
        self.place(cpu)?.kind.as_deref()
    }

    /// `CPU 4`, and of what type its core is, where the machine has several: `CPU 4 (E)`.
    pub fn named(&self, cpu: CpuId) -> String {
        self.kind(cpu).map_or(format!("CPU {cpu}"), |kind| format!("CPU {cpu} ({kind})"))
    }

    /// The types of their cores, each once: `P`, `P and E`; none where all are of one.
    pub fn types(&self, cpus: &CpuSet) -> Option<String> {
        let kinds = crate::in_order(cpus.iter().filter_map(|cpu| self.kind(cpu)));
        (!kinds.is_empty()).then(|| kinds.join(" and "))
    }

    /// Their one type, where the machine has several and they are all of one.
    pub fn one_type(&self, cpus: &CpuSet) -> Option<&str> {
        let kinds = crate::in_order(cpus.iter().filter_map(|cpu| self.kind(cpu)));
        if let [only] = kinds[..] { Some(only) } else { None }
    }

    /// Where each usable CPU sits, ascending.
    pub fn usable_places(&self) -> impl Iterator<Item = &CpuPlace> {
        self.cpus.iter().filter(|place| self.usable.contains(place.cpu))
    }

    /// How two CPUs lie to each other; `None` where nobody says it of both.
    pub fn relation(&self, a: CpuId, b: CpuId) -> Option<Relation> {
        let (first, second) = (self.place(a)?, self.place(b)?);
        let is_unsaid = |cpus: &CpuSet| cpus.contains(a) || cpus.contains(b);
        Some(if a == b {
            Relation::SameCpu
        } else if is_unsaid(&self.unsaid.core) || is_unsaid(&self.unsaid.package) {
            return None;
        } else if first.package != second.package {
            Relation::OtherPackage
        } else if first.siblings.contains(b) {
            Relation::Sibling
        } else if first.last_level_cache.is_empty() || second.last_level_cache.is_empty() {
            Relation::SamePackage
        } else if first.last_level_cache.contains(b) {
            Relation::SameCache
        } else {
            Relation::OtherCache
        })
    }

    /// Nodes that this process may have memory of, as far as the kernel says, ascending.
    pub fn usable_nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.usable != Some(false) && node.memory_bytes != Some(0))
    }

    /// The caches from the second level on that these CPUs use. `None` where the size of one is
    /// unknown, or who shares it, or where a CPU has none.
    ///
    /// Of what lies within a cache that holds all of it, nothing is counted: from the outermost
    /// cache of a CPU inwards, up to the first that is known to be inclusive.
    pub fn caches_in_use(&self, cpus: &CpuSet) -> Option<CachesInUse> {
        let counts = |cache: &&Cache| cache.level >= 2 && cache.kind != CacheKind::Instruction;
        let mut rows: Vec<&Cache> = self.caches.iter().filter(counts).collect();
        rows.sort_by_key(|cache| std::cmp::Reverse(cache.level));
        let mut without_any: BTreeSet<CpuId> = cpus.iter().collect();
        let mut without_all = without_any.clone();
        let mut in_use = CachesInUse::default();
        for cache in rows {
            if cache.instances.is_empty() {
                return None;
            }
            let is_used = |cpus: &&CpuSet| cpus.iter().any(|cpu| without_all.contains(&cpu));
            let used: Vec<&CpuSet> = cache.instances.iter().filter(is_used).collect();
            if used.is_empty() {
                continue;
            }
            in_use.add(cache.level, used.len() as u64, cache.bytes?)?;
            for cpu in used.into_iter().flat_map(CpuSet::iter) {
                without_any.remove(&cpu);
                if cache.inclusive == Some(true) {
                    without_all.remove(&cpu);
                }
            }
        }
        (without_any.is_empty() && !cpus.is_empty()).then_some(in_use)
    }
}

/// How two CPUs lie to each other, as the kernel says; the nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// They are one.
    SameCpu,
    /// They share a core.
    Sibling,
    /// They share a last-level cache.
    SameCache,
    /// They share a package, and nobody says whether a cache.
    SamePackage,
    /// They share a package, and no cache.
    OtherCache,
    /// They share nothing.
    OtherPackage,
}

impl Serialize for Relation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl Relation {
    /// All of them, the nearest first.
    pub const ALL: [Relation; 6] = [
        Relation::SameCpu,
        Relation::Sibling,
        Relation::SameCache,
        Relation::SamePackage,
        Relation::OtherCache,
        Relation::OtherPackage,
    ];

    /// The word in records and for options.
    pub const fn word(self) -> &'static str {
        match self {
            Relation::SameCpu => "same-cpu",
            Relation::Sibling => "smt-sibling",
            Relation::SameCache => "same-cache",
            Relation::SamePackage => "same-package",
            Relation::OtherCache => "other-cache",
            Relation::OtherPackage => "other-package",
        }
    }

    /// What such a pair is, for headings.
    pub const fn title(self) -> &'static str {
        match self {
            Relation::SameCpu => "the same CPU",
            Relation::Sibling => "SMT siblings",
            Relation::SameCache => "cores with one last-level cache",
            Relation::SamePackage => "cores of one package, whose caches nobody describes",
            Relation::OtherCache => "cores with last-level caches of their own",
            Relation::OtherPackage => "cores of two packages",
        }
    }

    /// The one of that word.
    pub fn named(word: &str) -> Option<Relation> {
        Relation::ALL.into_iter().find(|relation| relation.word() == word)
    }
}

/// The caches that some CPUs use, each counted once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CachesInUse {
    /// Equal caches, the outermost first.
    pub parts: Vec<CachePart>,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// Equal caches in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachePart {
    /// Their level.
    pub level: u8,
    /// How many there are.
    pub count: u64,
    /// Bytes of each of them.
    pub bytes: u64,
}

impl CachesInUse {
    /// `None` where the sum is no number of bytes.
    fn add(&mut self, level: u8, count: u64, bytes: u64) -> Option<()> {
        self.bytes = self.bytes.checked_add(count.checked_mul(bytes)?)?;
        self.parts.push(CachePart { level, count, bytes });
        Some(())
    }
}

/// Where a CPU sits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuPlace {
    /// The CPU.
    pub cpu: CpuId,
    /// Its package (socket).
    pub package: u32,
    /// Its die; unique within a package. Absent where nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub die: Option<u32>,
    /// Its module, cores that share a second-level cache; unique within a package. Absent where
    /// nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<u32>,
    /// Its core; unique within a package.
    pub core: u32,
    /// CPUs of the same core that are online, itself among them.
    pub siblings: CpuSet,
    /// CPUs that share its last-level cache; empty where the kernel does not say.
    pub last_level_cache: CpuSet,
    /// Its NUMA node, where the kernel says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// Its type, where the machine has several: `P`, `E` and `LP-E` of hybrid x86 CPUs, else the
    /// name of the core, such as `Cortex-A510`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// What a cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CacheKind {
    /// Data.
    Data,
    /// Instructions.
    Instruction,
    /// Both.
    Unified,
}

/// Equal caches, and who shares each of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cache {
    /// Its level; 1 is nearest to the core.
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// Size of one instance in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Size of a line in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_bytes: Option<u32>,
    /// Ways of associativity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ways: Option<u32>,
    /// Whether it holds whatever the caches further in hold, where the CPU says (CPUID).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inclusive: Option<bool>,
    /// The online CPUs of each instance, ascending by their first CPU.
    pub instances: Vec<CpuSet>,
}

/// A memory node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Node {
    /// The kernel's number; numbers may have holes.
    pub id: u32,
    /// Its online CPUs; empty for memory without CPUs.
    pub cpus: CpuSet,
    /// CPUs of it that are neither online nor off: a container does not show them.
    #[serde(default, skip_serializing_if = "CpuSet::is_empty")]
    pub not_shown: CpuSet,
    /// Its memory in bytes, where the kernel says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Whether this process may have memory of it, where the kernel says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usable: Option<bool>,
    /// Distances to nodes as firmware states them (ACPI SLIT; 10 is the node itself).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub distances: BTreeMap<u32, u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_shares_a_cache_is_not_known_where_nobody_says() {
        let place = |cpu, cache: &str| CpuPlace {
            cpu: CpuId(cpu),
            package: 0,
            die: None,
            module: None,
            core: cpu,
            siblings: CpuSet::from_iter([CpuId(cpu)]),
            last_level_cache: cache.parse().unwrap_or_default(),
            node: None,
            kind: None,
        };
        let of = |caches: [&str; 2]| {
            let cpus = (0..).zip(caches).map(|(cpu, cache)| place(cpu, cache)).collect();
            Topology { cpus, ..Topology::default() }.relation(CpuId(0), CpuId(1))
        };
        assert_eq!(of(["", ""]), Some(Relation::SamePackage));
        assert_eq!(of(["0", ""]), Some(Relation::SamePackage));
        assert_eq!(of(["0-1", "0-1"]), Some(Relation::SameCache));
        assert_eq!(of(["0", "1"]), Some(Relation::OtherCache));
    }

    #[test]
    fn words_name_relations() {
        for relation in Relation::ALL {
            assert_eq!(Relation::named(relation.word()), Some(relation));
        }
        assert_eq!(Relation::named("near"), None);
    }

    const MIB: u64 = 1 << 20;

    fn cache(level: u8, mebibytes: u64, inclusive: Option<bool>, instances: &[&str]) -> Cache {
        Cache {
            level,
            kind: CacheKind::Unified,
            bytes: Some(mebibytes * MIB),
            line_bytes: Some(64),
            ways: None,
            inclusive,
            instances: instances.iter().map(|cpus| cpus.parse().unwrap()).collect(),
        }
    }

    fn machine(caches: &[Cache]) -> Topology {
        Topology { caches: caches.to_vec(), ..Topology::default() }
    }

    /// What is in use, sizes in MiB: `1 x L3 30 + 2 x L2 2 = 34`.
    fn in_use(topology: &Topology, cpus: &str) -> Option<String> {
        let used = topology.caches_in_use(&cpus.parse().unwrap())?;
        let part =
            |part: &CachePart| format!("{} x L{} {}", part.count, part.level, part.bytes / MIB);
        let parts: Vec<String> = used.parts.iter().map(part).collect();
        Some(format!("{} = {}", parts.join(" + "), used.bytes / MIB))
    }

    fn says(topology: &Topology, cpus: &str, expected: &str) {
        assert_eq!(in_use(topology, cpus).as_deref(), Some(expected), "CPUs {cpus}");
    }

    /// Two sockets of four cores with two threads each; L2 of 2 MiB each, L3 of 30 MiB a socket.
    fn two_sockets(inclusive: Option<bool>) -> Topology {
        let cores: Vec<String> = (0..8).map(|core| format!("{core},{}", core + 8)).collect();
        let cores: Vec<&str> = cores.iter().map(String::as_str).collect();
        let mut data = cache(1, 1, None, &cores);
        data.kind = CacheKind::Data;
        machine(&[
            data,
            cache(2, 2, None, &cores),
            cache(3, 30, inclusive, &["0-3,8-11", "4-7,12-15"]),
        ])
    }

    #[test]
    fn each_cache_in_use_counts_once() {
        let topology = two_sockets(Some(false));
        says(&topology, "0", "1 x L3 30 + 1 x L2 2 = 32");
        assert_eq!(in_use(&topology, "0,8"), in_use(&topology, "0"), "threads of a core");
        says(&topology, "0-1", "1 x L3 30 + 2 x L2 2 = 34");
        says(&topology, "3-4", "2 x L3 30 + 2 x L2 2 = 64");
        says(&topology, "0-15", "2 x L3 30 + 8 x L2 2 = 76");
        assert_eq!(in_use(&two_sockets(None), "0-15"), in_use(&topology, "0-15"), "not known");
    }

    #[test]
    fn what_an_inclusive_cache_holds_is_not_counted_again() {
        let topology = two_sockets(Some(true));
        says(&topology, "0", "1 x L3 30 = 30");
        says(&topology, "0-15", "2 x L3 30 = 60");
    }

    #[test]
    fn modules_share_their_second_level() {
        let topology = machine(&[cache(2, 4, None, &["0-3", "4-7"])]);
        says(&topology, "0-3", "1 x L2 4 = 4");
        says(&topology, "3-4", "2 x L2 4 = 8");
    }

    #[test]
    fn kinds_of_cores_differ_in_what_they_reach() {
        // Two large cores, a module of four, and two that do not reach the third level.
        let topology = machine(&[
            cache(2, 2, Some(true), &["0", "1"]),
            cache(2, 4, Some(true), &["2-5"]),
            cache(2, 3, Some(true), &["6-7"]),
            cache(3, 24, Some(true), &["0-5"]),
        ]);
        says(&topology, "0-5", "1 x L3 24 = 24");
        says(&topology, "6", "1 x L2 3 = 3");
        says(&topology, "0-7", "1 x L3 24 + 1 x L2 3 = 27");
    }

    #[test]
    fn a_fourth_level_lies_around_the_third() {
        let of = |inclusive| {
            let caches = [
                cache(2, 1, None, &["0", "1"]),
                cache(3, 8, Some(true), &["0-1"]),
                cache(4, 128, inclusive, &["0-1"]),
            ];
            in_use(&machine(&caches), "0-1")
        };
        assert_eq!(of(Some(false)).as_deref(), Some("1 x L4 128 + 1 x L3 8 = 136"));
        assert_eq!(of(Some(true)).as_deref(), Some("1 x L4 128 = 128"));
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        let mut unsized_cache = two_sockets(Some(false));
        unsized_cache.caches[2].bytes = None;
        assert_eq!(in_use(&unsized_cache, "0"), None);
        assert_eq!(in_use(&two_sockets(None), "0,16"), None, "CPU 16 has no cache");
        assert_eq!(in_use(&two_sockets(None), ""), None);
        assert_eq!(in_use(&machine(&[]), "0"), None);
        let mut data = cache(1, 1, None, &["0"]);
        data.kind = CacheKind::Data;
        assert_eq!(in_use(&machine(&[data]), "0"), None, "whoever has a first level has a second");
        let instructions = Cache { kind: CacheKind::Instruction, ..cache(2, 1, None, &["0"]) };
        assert_eq!(in_use(&machine(&[instructions]), "0"), None);
        let huge = Cache { bytes: Some(u64::MAX), ..cache(2, 1, None, &["0", "1"]) };
        assert_eq!(in_use(&machine(&[huge]), "0-1"), None);
    }

    #[test]
    fn nodes_without_memory_and_those_of_others_are_not_usable() {
        let node = |id, memory_bytes, usable| Node {
            id,
            cpus: CpuSet::default(),
            not_shown: CpuSet::default(),
            memory_bytes,
            usable,
            distances: BTreeMap::new(),
        };
        let nodes = vec![
            node(0, Some(MIB), Some(true)),
            node(1, Some(0), Some(true)),
            node(2, Some(MIB), Some(false)),
            node(7, None, None),
        ];
        let topology = Topology { nodes, ..Topology::default() };
        assert_eq!(topology.usable_nodes().map(|node| node.id).collect::<Vec<_>>(), [0, 7]);
    }
}
