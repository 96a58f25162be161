//! Who sits where, by CPUID alone.
//!
//! Every CPU has a number of its own, the x2APIC ID. Its bits are fields: thread, core, perhaps
//! module and die, package, from low to high; CPUID says where each field begins, and how many low
//! bits differ among the CPUs that share a cache.
//!
//! # Source
//! Intel SDM volume 3A, chapter "Multiple-Processor Management", section "Detecting Hardware
//! Multi-Threading Support and Topology", and volume 2A, CPUID leaves 1, 4, 0Bh, 1Ah, 1Fh; AMD APM
//! volume 3, appendix E: 8000_0005h, 8000_0006h, 8000_0008h, 8000_001Dh, 8000_001Eh, 8000_0026h.

use std::collections::{BTreeMap, BTreeSet};

use model::record::{Cache, CacheKind, CpuPlace, Topology};
use model::{CpuId, CpuSet};
use sys::cpuid::Leaf;

use crate::ports::Cpuid;

/// No CPU has nearly as many levels or caches; a lying one shall not keep us.
const SUBLEAVES_MAX: u32 = 16;

/// Who sits where, of exactly these CPUs. `None` where CPUID does not say it of each of them, or
/// where two of them claim one place.
pub(in crate::facts) fn topology(cpuid: &dyn Cpuid, cpus: &CpuSet) -> Option<Topology> {
    let seats: Option<Vec<Seat>> = cpus.iter().map(|cpu| Seat::of(cpuid, cpu)).collect();
    let seats = seats.filter(|seats| !seats.is_empty())?;
    let numbers: BTreeSet<u32> = seats.iter().map(|seat| seat.apic).collect();
    if numbers.len() < seats.len() {
        return None;
    }
    let caches = caches(&seats);
    let places = places(&seats, &caches);
    Some(Topology {
        online: cpus.clone(),
        usable: cpus.clone(),
        cpus: places,
        caches,
        ..Topology::default()
    })
}

/// Where a CPU sits, as its own CPUID says.
struct Seat {
    cpu: CpuId,
    /// Its x2APIC ID.
    apic: u32,
    package: u32,
    die: Option<u32>,
    module: Option<u32>,
    core: u32,
    kind: Option<CoreKind>,
    caches: Vec<Share>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CoreKind {
    Performance,
    Efficiency,
}

/// The lowest bit of each field of an x2APIC ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fields {
    core: u32,
    module: Option<u32>,
    die: Option<u32>,
    package: u32,
}

/// A CPU that can be asked.
struct CpuidReader<'a> {
    cpuid: &'a dyn Cpuid,
    cpu: CpuId,
}

impl CpuidReader<'_> {
    fn leaf(&self, leaf: u32, subleaf: u32) -> Option<Leaf> {
        self.cpuid.leaf_of(self.cpu, leaf, subleaf)
    }

    /// The sub-leaves of a leaf, up to the first that does not hold.
    fn subleaves(&self, leaf: u32, holds: impl Fn(&Leaf) -> bool) -> Vec<Leaf> {
        (0..SUBLEAVES_MAX).map_while(|subleaf| self.leaf(leaf, subleaf).filter(&holds)).collect()
    }

    /// Hygon's CPUs are AMD's.
    fn is_amd(&self) -> bool {
        const AUTH: u32 = u32::from_le_bytes(*b"Auth");
        const HYGO: u32 = u32::from_le_bytes(*b"Hygo");
        self.leaf(0, 0).is_some_and(|leaf| matches!(leaf.ebx, AUTH | HYGO))
    }

    /// Display family: bits 11:8, and 27:20 on top where they are all set.
    fn family(&self) -> u32 {
        let eax = self.leaf(1, 0).map_or(0, |leaf| leaf.eax);
        let base = eax >> 8 & 0xf;
        if base == 0xf { base + (eax >> 20 & 0xff) } else { base }
    }

    /// AMD's leaf of nodes and compute units, where 8000_0001h ECX\[22\] announces it.
    fn amd_node(&self) -> Option<AmdNode> {
        let extended = self.leaf(0x8000_0001, 0).filter(|leaf| leaf.ecx >> 22 & 1 == 1);
        let leaf = extended.and_then(|_| self.leaf(0x8000_001e, 0)).filter(|_| self.is_amd())?;
        Some(AmdNode {
            apic: leaf.eax,
            unit: leaf.ebx & 0xff,
            per_unit: (leaf.ebx >> 8 & 0xff) + 1,
            // Below family 17h a unit is a module of two cores, from there on a core of threads.
            is_module: self.family() < 0x17,
            node: leaf.ecx & 0xff,
            nodes_per_package: (leaf.ecx >> 8 & 7) + 1,
        })
    }

    /// How many CPUs each of the two nodes of a package has, before there was a leaf of nodes.
    ///
    /// # Source
    /// AMD's "BIOS and Kernel Developer's Guide for Family 10h" (31116), and its revision guide
    /// (41322): model 9 is in package G34 alone, which 8000_0001h EBX\[31:28\] calls 3 and which
    /// holds two nodes; 8000_0008h ECX\[7:0\] counts the CPUs of a package, less one.
    fn amd_cpus_per_node(&self) -> Option<u32> {
        const G34: u32 = 3;
        const TWO_NODES: u32 = 9;
        let model = self.leaf(1, 0)?.eax >> 4 & 0xf;
        let package = self.leaf(0x8000_0001, 0)?.ebx >> 28;
        let is_of_two = self.is_amd() && self.family() == 0x10;
        let cpus = (self.leaf(0x8000_0008, 0)?.ecx & 0xff) + 1;
        let is_of_two = is_of_two && (model == TWO_NODES || package == G34) && cpus % 2 == 0;
        is_of_two.then_some(cpus / 2)
    }
}

/// What AMD says in 8000_001Eh.
struct AmdNode {
    apic: u32,
    unit: u32,
    per_unit: u32,
    is_module: bool,
    node: u32,
    nodes_per_package: u32,
}

impl Seat {
    fn of(cpuid: &dyn Cpuid, cpu: CpuId) -> Option<Seat> {
        let asked = CpuidReader { cpuid, cpu };
        let node = asked.amd_node();
        let (apic, fields) = levels(&asked, 0x1f)
            .or_else(|| amd_levels(&asked))
            .or_else(|| levels(&asked, 0xb))
            .or_else(|| amd_fields(&asked, node.as_ref()))
            .or_else(|| legacy_fields(&asked))?;
        let inside = apic & !high_bits(fields.package);
        let part = |low: u32| inside.checked_shr(low).unwrap_or(0);
        let module = node.as_ref().filter(|node| node.is_module && node.per_unit > 1);
        let die = node.as_ref().filter(|node| node.nodes_per_package > 1).map(|node| node.node);
        let die = die.or_else(|| Some(inside / asked.amd_cpus_per_node()?));
        let caches = shares(&asked, apic, fields, node.as_ref());
        Some(Seat {
            cpu,
            apic,
            package: apic.checked_shr(fields.package).unwrap_or(0),
            die: fields.die.map(part).or(die),
            module: fields.module.map(part).or(module.map(|node| node.unit)),
            core: part(fields.core),
            kind: kind(&asked),
            caches,
        })
    }

    fn reaches_third(&self) -> bool {
        self.caches.iter().any(|share| share.shape.level == 3)
    }

    /// Efficient cores without a third-level cache, where others have one, are those of low power.
    fn kind_name(&self, others_have_third: bool) -> Option<&'static str> {
        Some(match self.kind? {
            CoreKind::Performance => "P",
            CoreKind::Efficiency if self.reaches_third() || !others_have_third => "E",
            CoreKind::Efficiency => "LP-E",
        })
    }
}

/// The bits from `low` up.
fn high_bits(low: u32) -> u32 {
    u32::MAX.checked_shl(low).unwrap_or(0)
}

/// How many bits numbers below `count` need.
fn bits_for(count: u32) -> u32 {
    count.max(1).next_power_of_two().trailing_zeros()
}

/// Leaves 1Fh and 0Bh: each sub-leaf names a level and how many bits lie below the next one. 0Bh
/// knows threads and cores only.
fn levels(asked: &CpuidReader<'_>, leaf: u32) -> Option<(u32, Fields)> {
    const THREAD: u32 = 1;
    const CORE: u32 = 2;
    const MODULE: u32 = 3;
    const DIE: u32 = 5;
    let subleaves = asked.subleaves(leaf, |leaf| leaf.ecx >> 8 & 0xff != 0);
    let apic = subleaves.first()?.edx;
    let mut begins = BTreeMap::new();
    let mut low = 0;
    for level in &subleaves {
        begins.entry(level.ecx >> 8 & 0xff).or_insert(low);
        low = level.eax & 0x1f;
    }
    let begin = |level: u32| begins.get(&level).copied();
    let threads = begin(THREAD).and(subleaves.first()).map_or(0, |first| first.eax & 0x1f);
    let core = begin(CORE).unwrap_or(threads);
    Some((apic, Fields { core, module: begin(MODULE), die: begin(DIE), package: low }))
}

/// AMD's 8000_0026h: each sub-leaf names a level and where its own number begins.
fn amd_levels(asked: &CpuidReader<'_>) -> Option<(u32, Fields)> {
    const CORE: u32 = 1;
    const DIE: u32 = 3;
    const PACKAGE: u32 = 4;
    let subleaves = asked.subleaves(0x8000_0026, |leaf| leaf.ecx >> 8 & 0xff != 0);
    let apic = subleaves.first().filter(|_| asked.is_amd())?.edx;
    let begin = |level: u32| {
        let subleaf = subleaves.iter().find(|leaf| leaf.ecx >> 8 & 0xff == level)?;
        Some(subleaf.eax & 0x1f)
    };
    let package = begin(PACKAGE)?;
    Some((apic, Fields { core: begin(CORE)?, module: None, die: begin(DIE), package }))
}

/// AMD before 0Bh: 8000_001Eh has the number, 8000_0008h ECX\[15:12\] how many of its bits lie
/// inside a package.
fn amd_fields(asked: &CpuidReader<'_>, node: Option<&AmdNode>) -> Option<(u32, Fields)> {
    if !asked.is_amd() {
        return None;
    }
    let size = asked.leaf(0x8000_0008, 0)?.ecx;
    let inside = match size >> 12 & 0xf {
        0 => bits_for((size & 0xff) + 1),
        bits => bits,
    };
    let threads = match node {
        Some(node) if !node.is_module => bits_for(node.per_unit),
        _ => 0,
    };
    let apic = match node {
        Some(node) => node.apic,
        None => asked.leaf(1, 0)?.ebx >> 24,
    };
    Some((apic, Fields { core: threads, module: None, die: None, package: inside }))
}

/// Before 0Bh: leaf 1 has a number of eight bits, and how many CPUs a package has room for; leaf 4
/// how many cores.
fn legacy_fields(asked: &CpuidReader<'_>) -> Option<(u32, Fields)> {
    const HAS_SEVERAL: u32 = 1 << 28;
    let leaf = asked.leaf(1, 0)?;
    let several = leaf.edx & HAS_SEVERAL != 0;
    let inside = if several { bits_for(leaf.ebx >> 16 & 0xff) } else { 0 };
    let cores = asked.leaf(4, 0).map_or(0, |leaf| bits_for((leaf.eax >> 26) + 1));
    let core = inside.saturating_sub(cores);
    Some((leaf.ebx >> 24, Fields { core, module: None, die: None, package: inside }))
}

/// Intel's 1Ah; AMD's 8000_0026h, where EAX\[30\] says that cores differ.
fn kind(asked: &CpuidReader<'_>) -> Option<CoreKind> {
    if asked.is_amd() {
        let leaf = asked.leaf(0x8000_0026, 0).filter(|leaf| leaf.eax >> 30 & 1 == 1)?;
        return match leaf.ebx >> 28 {
            0 => Some(CoreKind::Performance),
            1 => Some(CoreKind::Efficiency),
            _ => None,
        };
    }
    match asked.leaf(0x1a, 0)?.eax >> 24 {
        0x40 => Some(CoreKind::Performance),
        0x20 => Some(CoreKind::Efficiency),
        _ => None,
    }
}

/// What a cache is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    level: u8,
    kind: CacheKind,
    bytes: Option<u64>,
    line_bytes: Option<u32>,
    ways: Option<u32>,
    inclusive: Option<bool>,
}

/// A cache that a CPU uses: CPUs with the same shape and users use one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Share {
    shape: Shape,
    users: Users,
}

/// Who shares a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Users {
    /// CPUs whose x2APIC IDs are equal from this bit up. Caches of several widths may have the same
    /// high bits.
    Above { low: u32, high_bits: u32 },
    /// The CPUs of a node.
    Node { package: u32, node: u32 },
}

impl Users {
    fn above(low: u32, apic: u32) -> Users {
        Users::Above { low, high_bits: apic.checked_shr(low).unwrap_or(0) }
    }
}

/// The caches of a CPU which are known to hold whatever those further in hold, or not to.
pub(super) fn inclusive(cpuid: &dyn Cpuid, cpu: CpuId) -> Vec<(u8, CacheKind, bool)> {
    let asked = CpuidReader { cpuid, cpu };
    let described = described(&asked, asked.amd_node().as_ref()).unwrap_or_default();
    let known = |leaf: &Leaf| {
        let shape = shape(leaf)?;
        Some((shape.level, shape.kind, shape.inclusive?))
    };
    described.iter().filter_map(known).collect()
}

/// The caches of a CPU by leaf 4, of AMD by 8000_001Dh; `None` of AMD before that.
fn described(asked: &CpuidReader<'_>, node: Option<&AmdNode>) -> Option<Vec<Leaf>> {
    let leaf = match (asked.is_amd(), node) {
        (false, _) => 4,
        (true, Some(_)) => 0x8000_001d,
        (true, None) => return None,
    };
    Some(asked.subleaves(leaf, |leaf| leaf.eax & 0x1f != 0))
}

fn shares(
    asked: &CpuidReader<'_>,
    apic: u32,
    fields: Fields,
    node: Option<&AmdNode>,
) -> Vec<Share> {
    let Some(described) = described(asked, node) else {
        return amd_legacy_shares(asked, apic, fields);
    };
    let share = |leaf: &Leaf| {
        let shape = shape(leaf)?;
        let sharing = bits_for((leaf.eax >> 14 & 0xfff) + 1).min(fields.package);
        let users = match node {
            // These number the cores of the second node without a gap after the first, so that
            // no bit of the number tells them apart.
            Some(node) if node.is_module && shape.level == 3 => {
                let package = apic.checked_shr(fields.package).unwrap_or(0);
                Users::Node { package, node: node.node }
            }
            _ => Users::above(sharing, apic),
        };
        Some(Share { shape, users })
    };
    described.iter().filter_map(share).collect()
}

/// Leaves 4 and 8000_001Dh have one form.
fn shape(leaf: &Leaf) -> Option<Shape> {
    let kind = match leaf.eax & 0x1f {
        1 => CacheKind::Data,
        2 => CacheKind::Instruction,
        3 => CacheKind::Unified,
        _ => return None,
    };
    let level = u8::try_from(leaf.eax >> 5 & 7).ok().filter(|&level| level > 0)?;
    let line_bytes = (leaf.ebx & 0xfff) + 1;
    let partitions = (leaf.ebx >> 12 & 0x3ff) + 1;
    let ways = (leaf.ebx >> 22) + 1;
    let sets = u64::from(leaf.ecx) + 1;
    let way = u64::from(line_bytes) * u64::from(partitions) * u64::from(ways);
    let bytes = sets.checked_mul(way);
    let (line_bytes, ways) = (Some(line_bytes), Some(ways));
    let inclusive = Some(leaf.edx >> 1 & 1 == 1);
    Some(Shape { level, kind, bytes, line_bytes, ways, inclusive })
}

/// AMD before 8000_001Dh: 8000_0005h ECX and EDX are the first level, 8000_0006h ECX and EDX the
/// second and third, the third of all nodes of a package together (the kernel's
/// `arch/x86/kernel/cpu/cacheinfo.c` halves it, too).
fn amd_legacy_shares(asked: &CpuidReader<'_>, apic: u32, fields: Fields) -> Vec<Share> {
    let at = |low: u32| Users::above(low, apic);
    let first = |word: u32, kind| {
        let bytes = u64::from(word >> 24) << 10;
        let line = word & 0xff;
        let ways = match word >> 16 & 0xff {
            0xff => lines(bytes, line),
            0 => None,
            ways => Some(ways),
        };
        legacy_share(1, kind, bytes, line, ways, at(fields.core))
    };
    let (nodes, of_node) = match asked.amd_cpus_per_node() {
        Some(cpus) => {
            let package = apic.checked_shr(fields.package).unwrap_or(0);
            (2, Users::Node { package, node: (apic & !high_bits(fields.package)) / cpus })
        }
        None => (1, at(fields.package)),
    };
    let outer = |level, word: u32, bytes: u64, nodes: u32, users| {
        let line = word & 0xff;
        let ways = match word >> 12 & 0xf {
            0xf => lines(bytes, line),
            code => outer_ways(code),
        };
        let ways = ways.map(|ways| (ways / nodes).max(1));
        legacy_share(level, CacheKind::Unified, bytes / u64::from(nodes), line, ways, users)
    };
    let inner = asked.leaf(0x8000_0005, 0).into_iter().flat_map(|leaf| {
        [first(leaf.ecx, CacheKind::Data), first(leaf.edx, CacheKind::Instruction)]
    });
    let others = asked.leaf(0x8000_0006, 0).into_iter().flat_map(|leaf| {
        let second = outer(2, leaf.ecx, u64::from(leaf.ecx >> 16) << 10, 1, at(fields.core));
        let third = outer(3, leaf.edx, u64::from(leaf.edx >> 18) << 19, nodes, of_node);
        [second, third]
    });
    inner.chain(others).flatten().collect()
}

fn legacy_share(
    level: u8,
    kind: CacheKind,
    bytes: u64,
    line: u32,
    ways: Option<u32>,
    users: Users,
) -> Option<Share> {
    let (bytes_known, line_bytes) = (Some(bytes), Some(line));
    let shape = Shape { level, kind, bytes: bytes_known, line_bytes, ways, inclusive: None };
    (bytes > 0 && line > 0).then_some(Share { shape, users })
}

/// A fully associative cache has as many ways as lines.
fn lines(bytes: u64, line: u32) -> Option<u32> {
    u32::try_from(bytes.checked_div(line.into())?).ok()
}

/// AMD's codes of associativity; 9 refers to another leaf.
fn outer_ways(code: u32) -> Option<u32> {
    const WAYS: [u32; 15] = [0, 1, 2, 3, 4, 6, 8, 0, 16, 0, 32, 48, 64, 96, 128];
    WAYS.get(code as usize).copied().filter(|&ways| ways > 0)
}

/// Equal caches in one row, each with who shares it.
fn caches(seats: &[Seat]) -> Vec<Cache> {
    let mut members: BTreeMap<Share, Vec<CpuId>> = BTreeMap::new();
    for seat in seats {
        for share in &seat.caches {
            members.entry(*share).or_default().push(seat.cpu);
        }
    }
    let mut rows: BTreeMap<Shape, Vec<CpuSet>> = BTreeMap::new();
    for (share, cpus) in members {
        rows.entry(share.shape).or_default().push(cpus.into_iter().collect());
    }
    let row = |(shape, mut instances): (Shape, Vec<CpuSet>)| {
        instances.sort_unstable_by_key(|cpus| cpus.iter().next());
        let Shape { level, kind, bytes, line_bytes, ways, inclusive } = shape;
        Cache { level, kind, bytes, line_bytes, ways, inclusive, instances }
    };
    rows.into_iter().map(row).collect()
}

fn places(seats: &[Seat], caches: &[Cache]) -> Vec<CpuPlace> {
    let mut cores: BTreeMap<(u32, u32), Vec<CpuId>> = BTreeMap::new();
    for seat in seats {
        cores.entry((seat.package, seat.core)).or_default().push(seat.cpu);
    }
    let cores: BTreeMap<(u32, u32), CpuSet> =
        cores.into_iter().map(|(core, cpus)| (core, cpus.into_iter().collect())).collect();
    // The rows ascend by level: of several caches of a CPU, the last one stays.
    let mut last: BTreeMap<CpuId, &CpuSet> = BTreeMap::new();
    for instance in caches.iter().flat_map(|cache| &cache.instances) {
        last.extend(instance.iter().map(|cpu| (cpu, instance)));
    }
    let has_third = seats.iter().any(Seat::reaches_third);
    let kind = |seat: &Seat| seat.kind_name(has_third);
    let kinds: BTreeSet<&str> = seats.iter().filter_map(kind).collect();
    let place = |seat: &Seat| CpuPlace {
        cpu: seat.cpu,
        package: seat.package,
        die: seat.die,
        module: seat.module,
        core: seat.core,
        siblings: cores.get(&(seat.package, seat.core)).cloned().unwrap_or_default(),
        last_level_cache: last.get(&seat.cpu).copied().cloned().unwrap_or_default(),
        node: None,
        kind: kind(seat).filter(|_| kinds.len() > 1).map(String::from),
    };
    seats.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Answers whatever it is given, to every CPU another number.
    #[derive(Debug)]
    struct Liar {
        words: Vec<u32>,
        amd: bool,
    }

    impl Cpuid for Liar {
        fn leaf(&self, leaf: u32, subleaf: u32) -> Option<Leaf> {
            self.leaf_of(CpuId(0), leaf, subleaf)
        }

        fn leaf_of(&self, cpu: CpuId, leaf: u32, subleaf: u32) -> Option<Leaf> {
            let start = (leaf ^ leaf >> 24).wrapping_mul(7).wrapping_add(subleaf.wrapping_mul(5));
            let word = |i: u32| {
                let index = start.wrapping_add(i) as usize % self.words.len();
                self.words[index]
            };
            let ebx = match (leaf, self.amd) {
                (0, true) => u32::from_le_bytes(*b"Auth"),
                _ => word(1),
            };
            let edx = if matches!(leaf, 0xb | 0x1f) { cpu.0 } else { word(3) };
            Some(Leaf { eax: word(0), ebx, ecx: word(2), edx })
        }

        fn xcr0(&self) -> Option<u64> {
            None
        }
    }

    proptest! {
        #[test]
        fn lies_neither_panic_nor_loop_nor_lose_a_cpu(
            words in proptest::collection::vec(
                prop_oneof![any::<u32>(), Just(0), Just(u32::MAX), 0u32..0x300], 1..64),
            amd in any::<bool>(),
        ) {
            let cpus: CpuSet = "0-5,9,4000".parse().unwrap();
            if let Some(topology) = topology(&Liar { words, amd }, &cpus) {
                prop_assert_eq!(topology.cpus.len(), cpus.len());
                for place in &topology.cpus {
                    prop_assert!(place.siblings.contains(place.cpu));
                }
                for instance in topology.caches.iter().flat_map(|cache| &cache.instances) {
                    prop_assert!(!instance.is_empty());
                }
            }
        }
    }

    /// CPUs that answer what is listed: CPU, leaf, sub-leaf, registers.
    struct Leaves(Vec<(u32, u32, u32, [u32; 4])>);

    impl Cpuid for Leaves {
        fn leaf(&self, leaf: u32, subleaf: u32) -> Option<Leaf> {
            self.leaf_of(CpuId(0), leaf, subleaf)
        }

        fn leaf_of(&self, CpuId(cpu): CpuId, leaf: u32, subleaf: u32) -> Option<Leaf> {
            let it = self.0.iter().find(|it| (it.0, it.1, it.2) == (cpu, leaf, subleaf))?;
            let [eax, ebx, ecx, edx] = it.3;
            Some(Leaf { eax, ebx, ecx, edx })
        }

        fn xcr0(&self) -> Option<u64> {
            None
        }
    }

    /// An Intel machine: of each CPU its x2APIC ID and how many IDs share each cache of its, which are
    /// L1d, L2, L3.
    fn intel(cpus: &[(u32, [u32; 3])]) -> Leaves {
        let of = |(cpu, (apic, sharing)): (usize, &(u32, [u32; 3]))| {
            let cpu = u32::try_from(cpu).unwrap();
            let mut leaves = vec![
                (cpu, 0, 0, [0xb, 0x756e_6547, 0x6c65_746e, 0x4965_6e69]),
                (cpu, 0xb, 0, [1, 1, 0x100, *apic]),
                (cpu, 0xb, 1, [6, 1, 0x201, *apic]),
            ];
            for (index, ((level, kind), shared)) in
                [(1, 1), (2, 3), (3, 3)].into_iter().zip(sharing).enumerate()
            {
                let eax = kind | level << 5 | (shared - 1) << 14;
                let index = u32::try_from(index).unwrap();
                leaves.push((cpu, 4, index, [eax, 0x01c0_003f, 63, 0]));
            }
            leaves
        };
        Leaves(cpus.iter().enumerate().flat_map(of).collect())
    }

    /// `0-1 2`: who shares each cache of that level.
    fn shared(topology: &Topology, level: u8) -> String {
        let caches = topology.caches.iter().filter(|cache| cache.level == level);
        let mut users: Vec<&CpuSet> = caches.flat_map(|cache| &cache.instances).collect();
        users.sort_unstable_by_key(|cpus| cpus.iter().next());
        users.into_iter().map(CpuSet::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn caches_of_several_widths_with_equal_shifted_numbers_are_several() {
        // CPU 1 has 6 of width 1, CPUs 2 and 3 have 12 >> 1.
        let machine =
            intel(&[(0, [1, 2, 64]), (6, [1, 1, 64]), (12, [2, 2, 64]), (13, [2, 2, 64])]);
        let topology = topology(&machine, &"0-3".parse().unwrap()).unwrap();
        assert_eq!(shared(&topology, 1), "0 1 2-3");
        assert_eq!(shared(&topology, 2), "0 1 2-3");
        assert_eq!(shared(&topology, 3), "0-3");
    }

    /// A package of family 10h: its model, kind of package, CPUs, L3 of 10 MiB and 32 ways.
    fn family_10h(model: u32, package: u32, cpus: u32) -> Leaves {
        let auth = [0x8000_0000, 0x6874_7541, 0x444d_4163, 0x6974_6e65];
        let of = |cpu| {
            [
                (cpu, 0, 0, auth),
                (cpu, 1, 0, [0x0010_0f00 | model << 4, cpu << 24 | cpus << 16, 0, 1 << 28]),
                (cpu, 0x8000_0001, 0, [0, package << 28, 0, 0]),
                (cpu, 0x8000_0006, 0, [0, 0, 0x0200_8140, 20 << 18 | 0xa << 12 | 0x140]),
                (cpu, 0x8000_0008, 0, [0, 0, 4 << 12 | (cpus - 1), 0]),
            ]
        };
        Leaves((0..cpus).flat_map(of).collect())
    }

    #[test]
    fn a_package_of_two_nodes_has_two_third_level_caches() {
        let told = |leaves: &Leaves| {
            let topology = topology(leaves, &"0-11".parse().unwrap()).unwrap();
            let third = topology.caches.iter().find(|cache| cache.level == 3).unwrap();
            let dies: Vec<Option<u32>> = topology.cpus.iter().map(|place| place.die).collect();
            (third.bytes.unwrap() >> 20, third.ways, shared(&topology, 3), dies[11])
        };
        let two = (5, Some(16), "0-5 6-11".to_owned(), Some(1));
        assert_eq!(told(&family_10h(9, 0, 12)), two);
        assert_eq!(told(&family_10h(8, 3, 12)), two, "the package is of two nodes");
        assert_eq!(told(&family_10h(8, 5, 12)), (10, Some(32), "0-11".to_owned(), None));
    }

    proptest! {
        /// Whoever shares a cache has it of that width, and is within it.
        #[test]
        fn users_of_a_cache_are_of_one_width(
            cpus in proptest::collection::btree_map(0u32..64, proptest::array::uniform3(0u32..7), 1..32),
        ) {
            let cpus: Vec<(u32, [u32; 3])> =
                cpus.into_iter().map(|(apic, bits)| (apic, bits.map(|bits| 1 << bits))).collect();
            let online: CpuSet = (0..cpus.len()).map(|cpu| CpuId(u32::try_from(cpu).unwrap())).collect();
            let topology = topology(&intel(&cpus), &online).unwrap();
            for cache in &topology.caches {
                let width = |cpu: CpuId| cpus[cpu.0 as usize].1[usize::from(cache.level) - 1];
                let apic = |cpu: CpuId| cpus[cpu.0 as usize].0;
                for users in &cache.instances {
                    let first = users.iter().next().unwrap();
                    for cpu in users.iter() {
                        prop_assert_eq!(width(cpu), width(first));
                        prop_assert_eq!(apic(cpu) / width(cpu), apic(first) / width(first));
                    }
                }
                let users: usize = cache.instances.iter().map(CpuSet::len).sum();
                prop_assert_eq!(users, online.len());
            }
        }
    }

    #[test]
    fn the_codes_of_fully_associative_caches_are_all_their_lines() {
        assert_eq!(lines(64 << 10, 64), Some(1024));
        assert_eq!(lines(64, 0), None);
        assert_eq!([outer_ways(6), outer_ways(9), outer_ways(0xb)], [Some(8), None, Some(48)]);
    }

    #[test]
    fn bits_for_counts() {
        assert_eq!([0, 1, 2, 3, 8, 9].map(bits_for), [0, 0, 1, 2, 3, 4]);
        assert_eq!(high_bits(32), 0);
    }
}
