use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::record::{CacheKind, Topology};
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};
use proptest::prelude::*;
use simulated::Files;
use sys::cpuid::Leaf;

use super::{host, machine_of, said, simulated};
use crate::facts;
use crate::ports::{Cpuid, Machine, Msr};

pub(super) const CPU: &str = "/sys/devices/system/cpu";
pub(super) const NODE: &str = "/sys/devices/system/node";

#[test]
fn a_simulated_server_is_laid_out_as_linux_does() {
    let topology = facts::topology(&simulated("2s-56c"));
    assert_eq!(topology.usable.to_string(), "0-223");
    let place = &topology.cpus[57];
    assert_eq!((place.cpu, place.package, place.core, place.node), (CpuId(57), 1, 1, Some(1)));
    assert_eq!(place.siblings.to_string(), "57,169");
    assert_eq!(place.last_level_cache.to_string(), "56-111,168-223");
}

#[test]
fn a_machine_without_sysfs_has_one_core_per_allowed_cpu() {
    let topology = facts::topology(&machine_of(Files::default(), "2,5"));
    assert_eq!(topology.online.to_string(), "2,5");
    assert_eq!(topology.usable, topology.online);
    for place in &topology.cpus {
        assert_eq!(place.siblings.as_slice(), [place.cpu]);
        assert!(place.last_level_cache.is_empty());
        assert_eq!(place.node, None);
    }
    assert_ne!(topology.cpus[0].core, topology.cpus[1].core);
}

#[test]
fn holes_offline_cpus_and_numbers_above_1023() {
    let mut files = Files::default();
    files.put(format!("{CPU}/online"), "1,3,1500-1501\n");
    for (cpu, core) in [(1, 0), (3, 1), (1500, 700), (1501, 700)] {
        let topology = format!("{CPU}/cpu{cpu}/topology");
        files.put(format!("{topology}/physical_package_id"), if cpu < 1000 { "-1" } else { "1" });
        files.put(format!("{topology}/core_id"), &core);
        let siblings = if cpu < 1000 { cpu.to_string() } else { "1500-1501".into() };
        files.put(format!("{topology}/thread_siblings_list"), &siblings);
    }
    let machine = machine_of(files, "0-1500");
    let topology = facts::topology(&machine);
    assert_eq!(topology.usable.to_string(), "1,3,1500");
    assert_eq!(topology.cpus[0].package, 0);
    assert_eq!(topology.cpus[2].siblings.to_string(), "1500-1501");
    let cores = super::said(&facts::machine(&machine).facts, "cpu.cores");
    assert_eq!(
        cores,
        "1 package, 3 cores, 4 CPUs (SMT 2; 2 cores with 1 thread); packages of CPUs 1,3 unknown"
    );
}

#[test]
fn core_numbers_that_repeat_on_two_dies_become_unique() {
    let mut files = Files::default();
    files.put(format!("{CPU}/online"), "0-1");
    for cpu in 0..2 {
        let topology = format!("{CPU}/cpu{cpu}/topology");
        files.put(format!("{topology}/physical_package_id"), "0");
        files.put(format!("{topology}/core_id"), "0");
        files.put(format!("{topology}/core_cpus_list"), &cpu);
    }
    let topology = facts::topology(&machine_of(files, "0-1"));
    assert_eq!(topology.cpus.iter().map(|place| place.core).collect::<Vec<_>>(), [0, 1]);
}

pub(super) fn topology_of(files: &Files, cpus: &str) -> Topology {
    facts::topology(&machine_of(files.clone(), cpus))
}

pub(super) fn files_of(list: &[(&str, &str)]) -> Files {
    let mut files = Files::default();
    for (path, text) in list {
        files.put(*path, *text);
    }
    files
}

pub(super) fn row(files: &Files, id: &str) -> String {
    said(&facts::machine(&machine_of(files.clone(), "0-7")).facts, id)
}

#[test]
fn kernels_without_lists_have_folders_and_masks() {
    let mut files = files_of(&[
        ("/sys/devices/system/cpu/cpu1/online", "1"),
        ("/sys/devices/system/cpu/cpu2/online", "0"),
        ("/sys/devices/system/cpu/cpufreq/boost", "1"),
    ]);
    for cpu in [0, 1, 33] {
        let topology = format!("{CPU}/cpu{cpu}/topology");
        files.put(format!("{topology}/physical_package_id"), "0");
        files.put(format!("{topology}/core_siblings"), "00000002,00000003");
        let threads = if cpu == 1 { "00000000,00000002" } else { "00000002,00000001" };
        files.put(format!("{topology}/thread_siblings"), threads);
        files.put(format!("{topology}/core_id"), if cpu == 1 { "1" } else { "0" });
    }
    let topology = topology_of(&files, "0-63");
    assert_eq!(topology.online.to_string(), "0-1,33");
    assert_eq!(topology.present.to_string(), "0-2,33");
    assert_eq!(topology.offline().to_string(), "2");
    assert_eq!(topology.cpus[2].siblings.to_string(), "0,33");
    assert_eq!(row(&files, "cpu.offline"), "2");
    assert_eq!(
        row(&files, "cpu.cores"),
        "1 package, 2 cores, 3 CPUs (SMT 2; 1 core with 1 thread)"
    );
}

#[test]
fn without_sysfs_cpuinfo_says_who_sits_where() {
    let cpuinfo = "processor : 0\nphysical id : 1\ncore id : 0\n\nprocessor : 4\nphysical id : 1\n\
                   core id : 0\n\nprocessor : 5\nphysical id : 2\ncore id : 7\n\
                   cache size : 512 KB\n";
    let files = files_of(&[("/proc/cpuinfo", cpuinfo)]);
    let topology = topology_of(&files, "0-63");
    assert_eq!(topology.online.to_string(), "0,4-5");
    assert_eq!(topology.cpus[1].siblings.to_string(), "0,4");
    assert_eq!((topology.cpus[2].package, topology.cpus[2].core), (2, 7));
    assert_eq!(row(&files, "cpu.caches"), "512 KiB (as `/proc/cpuinfo` says)");
}

/// Its one size of a cache is that of L2, or of the last level.
#[test]
fn the_cache_of_cpuinfo_is_of_the_level_that_its_maker_means() {
    for (vendor, level) in [
        ("AuthenticAMD", "L2, "),
        ("HygonGenuine", "L2, "),
        ("GenuineIntel", "last level, "),
        ("  Shanghai  ", "last level, "),
        ("GenuineTMx86", ""),
    ] {
        let cpuinfo =
            format!("processor : 0\nvendor_id : {vendor}\nphysical id : 0\ncache size : 512 KB\n");
        let files = files_of(&[("/proc/cpuinfo", &cpuinfo)]);
        let expected = format!("512 KiB ({level}as `/proc/cpuinfo` says)");
        assert_eq!(row(&files, "cpu.caches"), expected, "{vendor}");
    }
}

#[test]
fn packages_without_numbers_are_counted() {
    let mut files = files_of(&[("/sys/devices/system/cpu/online", "0-3")]);
    for cpu in 0..4 {
        let topology = format!("{CPU}/cpu{cpu}/topology");
        files.put(format!("{topology}/physical_package_id"), "-1");
        files.put(format!("{topology}/core_id"), "9");
        files.put(format!("{topology}/thread_siblings_list"), &cpu);
        files.put(format!("{topology}/core_siblings_list"), if cpu < 2 { "0-1" } else { "2-3" });
    }
    let topology = topology_of(&files, "0-3");
    let places: Vec<_> = topology.cpus.iter().map(|place| (place.package, place.core)).collect();
    assert_eq!(places, [(0, 0), (0, 1), (1, 2), (1, 3)]);
}

pub(super) fn put_cache(files: &mut Files, cpu: u32, index: u32, texts: [&str; 4]) {
    let folder = format!("{CPU}/cpu{cpu}/cache/index{index}");
    for (file, text) in ["level", "type", "size", "shared_cpu_list"].iter().zip(texts) {
        files.put(format!("{folder}/{file}"), text);
    }
}

/// One core with two threads, four without, and two beyond the third-level cache.
fn hybrid() -> Files {
    let mut files = files_of(&[
        ("/sys/devices/system/cpu/online", "0-7"),
        ("/sys/devices/cpu_core/cpus", "0-1"),
        ("/sys/devices/cpu_atom/cpus", "2-7"),
    ]);
    for cpu in 0..8 {
        let core = if cpu < 2 { "0-1".to_owned() } else { cpu.to_string() };
        files.put(format!("{CPU}/cpu{cpu}/topology/core_cpus_list"), &core);
        files.put(format!("{CPU}/cpu{cpu}/topology/physical_package_id"), "0");
        let (size, module) = match cpu {
            0..2 => ("48K", "0-1"),
            2..6 => ("32K", "2-5"),
            _ => ("32K", "6-7"),
        };
        put_cache(&mut files, cpu, 0, ["1", "Data", size, &core]);
        put_cache(&mut files, cpu, 1, ["2", "Unified", "2048K", module]);
        if cpu < 6 {
            put_cache(&mut files, cpu, 2, ["3", "Unified", "24M", "0-5"]);
        }
    }
    files
}

#[test]
fn kinds_of_a_hybrid_are_counted_and_their_caches_shown() {
    let files = hybrid();
    let cores = "1 package, 7 cores: 1 P, 4 E, 2 LP-E; 8 CPUs";
    assert_eq!(row(&files, "cpu.cores"), cores);
    assert_eq!(row(&files, "cpu.kinds"), "P 0-1; E 2-5; LP-E 6-7");
    assert_eq!(
        row(&files, "cpu.caches"),
        "P: L1d 48 KiB, L2 2 MiB, L3 24 MiB shared by 5 cores; \
         E: L1d 32 KiB, L2 2 MiB shared by 4 cores, L3 24 MiB shared by 5 cores; \
         LP-E: L1d 32 KiB, L2 2 MiB shared by 2 cores"
    );
    let topology = topology_of(&files, "0-7");
    let modules: Vec<Option<u32>> = topology.cpus.iter().map(|place| place.module).collect();
    assert_eq!(modules, [0, 0, 2, 2, 2, 2, 6, 6].map(Some));
    assert_eq!(topology.cpus[6].last_level_cache.to_string(), "6-7");
}

/// Eight equal cores with an L3 for each four, but those of which no file says so.
fn without_l3(silent: &BTreeSet<u32>) -> Files {
    let mut files = files_of(&[("/sys/devices/system/cpu/online", "0-7")]);
    for cpu in 0..8 {
        files.put(format!("{CPU}/cpu{cpu}/topology/core_cpus_list"), &cpu);
        put_cache(&mut files, cpu, 0, ["1", "Data", "32K", &cpu.to_string()]);
        put_cache(&mut files, cpu, 1, ["2", "Unified", "1024K", &cpu.to_string()]);
        let neighbours = (cpu / 4 * 4..cpu / 4 * 4 + 4).filter(|cpu| !silent.contains(cpu));
        let shared: CpuSet = neighbours.map(CpuId).collect();
        if !silent.contains(&cpu) {
            put_cache(&mut files, cpu, 2, ["3", "Unified", "32M", &shared.to_string()]);
        }
    }
    files
}

#[test]
fn kinds_of_cores_differ_in_their_caches() {
    assert_eq!(disputed(&hybrid()), [""; 0], "low-power cores have no L3");
    // Cores of a hybrid that nobody tells apart, then of one that is none.
    for (model, remarks) in [(0xaa, 0), (0x8f, 1)] {
        let mut files = without_l3(&(4..8).collect());
        let cpuinfo = "vendor_id : GenuineIntel\ncpu family : 6\nstepping : 1\n";
        files.put("/proc/cpuinfo", &format!("processor : 0\n{cpuinfo}model : {model}\n"));
        let (topology, said) = (topology_of(&files, "0-7"), disputed(&files));
        assert_eq!(said.len(), remarks, "{said:?}");
        assert_eq!(topology.cpus[6].last_level_cache.len(), 1 - remarks);
    }
    let mut files = hybrid();
    files.put("/sys/devices/cpu_core/cpus", "0-3");
    files.put("/sys/devices/cpu_atom/cpus", "4-7");
    files.put(format!("{CPU}/cpu2/cache/index2/level"), "");
    for cpu in [0, 1, 3, 4, 5] {
        files.put(format!("{CPU}/cpu{cpu}/cache/index2/shared_cpu_list"), "0-1,3-5");
    }
    let (topology, said) = (topology_of(&files, "0-7"), disputed(&files));
    let expected = "L3 caches: the kernel's files contradict each other: CPU 2 lists no L3, and equal \
                    cores do; which CPUs share it there is unknown";
    assert_eq!(said, [expected]);
    assert!(topology.cpus[2].last_level_cache.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whoever does not list the cache that equal cores have is said not to, and shares nothing that is known.
    #[test]
    fn a_cache_that_some_of_equal_cores_do_not_list_is_unknown_there(
        silent in prop::collection::btree_set(0_u32..8, 0..9),
    ) {
        let files = without_l3(&silent);
        let (topology, said) = (topology_of(&files, "0-7"), disputed(&files));
        let is_told = !silent.is_empty() && silent.len() < 8;
        prop_assert_eq!(said.len(), usize::from(is_told), "{:?}", said);
        let lacking: CpuSet = silent.iter().copied().map(CpuId).collect();
        let names = said.first().is_none_or(|text| text.contains(&lacking.named()));
        prop_assert!(names, "{said:?}");
        for place in &topology.cpus {
            let cache = &place.last_level_cache;
            let is_silent = silent.contains(&place.cpu.0);
            // Where nobody has one, the second level is the last.
            let is_known = cache.contains(place.cpu);
            prop_assert_eq!(is_known, !(is_silent && is_told), "{:?}", place);
            prop_assert!(!is_told || cache.intersection(&lacking).is_empty(), "{place:?}");
        }
    }
}

/// CPUID of one vendor: L2 without, L3 with inclusion of what lies further in.
struct Inclusive {
    vendor: [u8; 4],
}

impl Cpuid for Inclusive {
    fn leaf(&self, leaf: u32, subleaf: u32) -> Option<Leaf> {
        let word = |eax, edx| Some(Leaf { eax, ebx: 0, ecx: 0, edx });
        let caches = if self.vendor == *b"Auth" { 0x8000_001d } else { 4 };
        match (leaf, subleaf) {
            (0, _) => Some(Leaf { ebx: u32::from_le_bytes(self.vendor), ..word(0x20, 0)? }),
            // Topology extensions.
            (0x8000_0001, _) => Some(Leaf { ecx: 1 << 22, ..word(0, 0)? }),
            (0x8000_001e, _) => word(0, 0),
            // Level in bits 7:5, type in bits 4:0.
            (_, 0) if leaf == caches => word(1 << 5 | 1, 0b10),
            (_, 1) if leaf == caches => word(2 << 5 | 3, 0b101),
            (_, 2) if leaf == caches => word(3 << 5 | 3, 0b110),
            _ => word(0, 0),
        }
    }

    fn leaf_of(&self, cpu: CpuId, leaf: u32, subleaf: u32) -> Option<Leaf> {
        // Only the first CPU of a cache is asked.
        (cpu == CpuId(0)).then(|| self.leaf(leaf, subleaf))?
    }
}

#[test]
fn what_sysfs_does_not_say_of_caches_cpuid_does() {
    let mut files = files_of(&[
        ("/sys/devices/system/cpu/online", "0-1"),
        ("/sys/devices/system/cpu/cpu0/topology/core_id", "0"),
        ("/sys/devices/system/cpu/cpu1/topology/core_id", "1"),
    ]);
    for cpu in 0..2 {
        put_cache(&mut files, cpu, 0, ["1", "Data", "32K", &cpu.to_string()]);
        put_cache(&mut files, cpu, 2, ["2", "Unified", "1024K", &cpu.to_string()]);
        put_cache(&mut files, cpu, 3, ["3", "Unified", "8192K", "0-1"]);
    }
    for vendor in [*b"Genu", *b"Auth"] {
        let mut machine = machine_of(files.clone(), "0-1");
        machine.cpuid = Box::new(Inclusive { vendor });
        let topology = facts::topology(&machine);
        let inclusive: Vec<_> = topology.caches.iter().map(|c| (c.level, c.inclusive)).collect();
        assert_eq!(inclusive, [(1, None), (2, Some(false)), (3, Some(true))]);
        let in_use = topology.caches_in_use(&topology.online).unwrap();
        assert_eq!(in_use.bytes, 8 << 20, "the third level holds the second");
    }
    let topology = topology_of(&files, "0-1");
    assert!(topology.caches.iter().all(|cache| cache.inclusive.is_none()));
    assert_eq!(topology.caches_in_use(&topology.online).unwrap().bytes, 10 << 20);
}

/// CPUID of a hybrid whose CPUs from 2 on are Atoms.
struct Hybrid;

impl Cpuid for Hybrid {
    fn leaf(&self, leaf: u32, _subleaf: u32) -> Option<Leaf> {
        let edx = if leaf == 7 { 1 << 15 } else { 0 };
        Some(Leaf { eax: 0x20, ebx: 0, ecx: 0, edx })
    }

    fn leaf_of(&self, cpu: CpuId, leaf: u32, _subleaf: u32) -> Option<Leaf> {
        let kind = if cpu.0 < 2 { 0x40 } else { 0x20 };
        (leaf == 0x1a).then_some(Leaf { eax: kind << 24 | 1, ebx: 0, ecx: 0, edx: 0 })
    }
}

#[test]
fn where_sysfs_names_no_kinds_cpuid_does() {
    let mut files = hybrid();
    files.put("/sys/devices/cpu_core/cpus", "");
    files.put("/sys/devices/cpu_atom/cpus", "");
    assert_eq!(row(&files, "cpu.kinds"), "unavailable");
    let machine = Machine { cpuid: Box::new(Hybrid), ..machine_of(files, "0-7") };
    let kinds = said(&facts::machine(&machine).facts, "cpu.kinds");
    assert_eq!(kinds, "P 0-1; E 2-5; LP-E 6-7");
}

#[test]
fn arm_cores_have_names_and_strangers_numbers() {
    let core = |cpu: u32, part: &str| {
        format!("processor : {cpu}\nCPU implementer : 0x41\nCPU part : {part}\n\n")
    };
    let mut files = files_of(&[("/sys/devices/system/cpu/online", "0-1")]);
    files.put("/proc/cpuinfo", &(core(0, "0xd46") + &core(1, "0xfff")));
    assert_eq!(row(&files, "cpu.kinds"), "Cortex-A510 0; implementer 0x41 part 0xfff 1");
    files.put("/proc/cpuinfo", &(core(0, "0xd0c") + &core(1, "0xd0c")));
    assert!(topology_of(&files, "0-1").cpus.iter().all(|place| place.kind.is_none()));
    assert_eq!(row(&files, "cpu.kinds"), "one kind", "nobody describes their caches");
    files.put("/proc/cpuinfo", "");
    files.put(format!("{CPU}/cpu0/cpu_capacity"), "400");
    files.put(format!("{CPU}/cpu1/cpu_capacity"), "1024");
    assert_eq!(row(&files, "cpu.kinds"), "capacity 400 0; capacity 1024 1");
}

/// Registers that say on which die a CPU is: two per die.
struct LogicalIds;

impl Msr for LogicalIds {
    fn read(&self, cpu: CpuId, register: u32) -> Reading<u64> {
        assert_eq!(register, 0x54);
        Ok(u64::from(cpu.0 / 2) << 11 | 5 << 3 | 1)
    }
}

#[test]
fn dies_that_sysfs_hides_are_in_a_register() {
    let mut files = files_of(&[
        ("/sys/devices/system/cpu/online", "0-3"),
        ("/proc/cpuinfo", "processor : 0\ncpu family : 6\nmodel : 173\n"),
    ]);
    let uncore = format!("{CPU}/intel_uncore_frequency");
    for (number, die, agents) in [(0, 0, "core cache"), (1, 1, "core cache"), (2, 3, "io")] {
        files.put(format!("{uncore}/uncore0{number}/domain_id"), &die);
        files.put(format!("{uncore}/uncore0{number}/package_id"), "0");
        files.put(format!("{uncore}/uncore0{number}/agent_types"), agents);
    }
    for cpu in 0..4 {
        files.put(format!("{CPU}/cpu{cpu}/topology/die_id"), "0");
        files.put(format!("{CPU}/cpu{cpu}/topology/physical_package_id"), "0");
    }
    let refused = machine_of(files.clone(), "0-3");
    let machine = facts::machine(&refused);
    assert!(machine.topology.cpus.iter().all(|place| place.die.is_none()));
    let dies = machine.facts.iter().find(|fact| fact.id == "cpu.dies");
    assert!(format!("{dies:?}").contains("no registers"), "{dies:?}");
    let machine = facts::machine(&Machine { msr: Arc::new(LogicalIds), ..refused });
    let dies: Vec<Option<u32>> = machine.topology.cpus.iter().map(|place| place.die).collect();
    assert_eq!(dies, [0, 0, 1, 1].map(Some));
    assert_eq!(said(&machine.facts, "cpu.dies"), "2 compute and 1 I/O per package");
}

#[test]
fn nodes_have_holes_memory_and_distances_also_without_cpus() {
    let mut files = files_of(&[
        ("/sys/devices/system/cpu/online", "0-1"),
        ("/sys/devices/system/node/online", "0,33"),
        ("/sys/devices/system/node/node0/cpulist", "0-1"),
        ("/sys/devices/system/node/node0/distance", "10 28"),
        ("/sys/devices/system/node/node33/cpumap", "0"),
        ("/sys/devices/system/node/node33/distance", "28 10 5"),
        ("/sys/devices/system/node/node33/meminfo", "\nNode 33 MemTotal:   2 kB\n"),
        ("/sys/devices/system/node/node7/cpulist", ""),
    ]);
    let nodes = topology_of(&files, "0-1").nodes;
    let ids: Vec<u32> = nodes.iter().map(|node| node.id).collect();
    assert_eq!(ids, [0, 33]);
    assert_eq!(nodes[0].distances, BTreeMap::from([(0, 10), (33, 28)]));
    assert!(nodes[1].distances.is_empty());
    assert_eq!((nodes[0].memory_bytes, nodes[1].memory_bytes), (None, Some(2048)));
    assert!(nodes[1].cpus.is_empty());
    assert_eq!((nodes[0].usable, nodes[1].usable), (None, None), "nobody says");
    let words = "2 nodes, 1 of them without CPUs; distances 10 to 28";
    assert_eq!(row(&files, "memory.nodes"), words);
    files.put(format!("{NODE}/online"), "nonsense");
    assert_eq!(topology_of(&files, "0-1").nodes.len(), 3);
}

#[test]
fn nodes_of_somebody_else_are_not_usable() {
    let usable = |status: &str| -> Vec<Option<bool>> {
        let files = files_of(&[
            ("/sys/devices/system/cpu/online", "0"),
            ("/sys/devices/system/node/node0/cpulist", "0"),
            ("/sys/devices/system/node/node2/cpulist", ""),
            ("/sys/devices/system/node/node70/cpulist", ""),
            ("/proc/self/status", status),
        ]);
        topology_of(&files, "0").nodes.iter().map(|node| node.usable).collect()
    };
    let allowed = "Mems_allowed:\t1,00000000,00000004\nMems_allowed_list:\t2,64-70";
    assert_eq!(usable(allowed), [Some(false), Some(true), Some(true)]);
    assert_eq!(usable("Mems_allowed_list:\tx"), [None; 3]);
    assert_eq!(usable("Mems_allowed_list:\t"), [None; 3]);
    let nodes = facts::topology(&simulated("2s-56c")).nodes;
    assert_eq!(nodes.iter().map(|node| node.usable).collect::<Vec<_>>(), [Some(true); 2]);
}

/// Nobody knows the affinity of a foreign machine.
#[test]
fn cpusets_of_both_versions_limit_what_is_usable() {
    let usable = |files: &[(&str, &str)], affinity: Option<&str>| {
        let mut files = files_of(files);
        files.put(format!("{CPU}/online"), "0-7");
        let machine = if let Some(cpus) = affinity {
            machine_of(files, cpus)
        } else {
            let why = "it is another machine";
            let unknown = Unavailable::new(Obstacle::Cpudyno, "affinity", why);
            Machine { host: host(Err(unknown), false), ..machine_of(files, "") }
        };
        facts::topology(&machine).usable.to_string()
    };
    let v2 = [("/proc/self/cgroup", "0::/a/b"), ("/sys/fs/cgroup/a/cpuset.cpus.effective", "2-5")];
    assert_eq!(usable(&v2, None), "2-5");
    assert_eq!(usable(&v2, Some("0-3,9")), "2-3");
    let v1 = [
        ("/proc/self/cgroup", "3:cpuset:/docker/x\n0::/"),
        (
            "/proc/self/mountinfo",
            "9 8 0:5 /docker/x /mnt/cpuset ro - cgroup cgroup rw,cpuset\n\
             8 7 0:6 / /sys/fs/cgroup rw shared:1 - cgroup2 cgroup2 rw",
        ),
        ("/mnt/cpuset/cpuset.cpus", "1,6"),
    ];
    assert_eq!(usable(&v1, None), "1,6");
    let before_groups = [
        ("/proc/self/cpuset", "/batch"),
        ("/proc/mounts", "none /dev/cpuset cpuset rw 0 0"),
        ("/dev/cpuset/batch/cpus", "4"),
    ];
    assert_eq!(usable(&before_groups, None), "4");
    // A group of other CPUs is none of ours, and `..` leads nowhere.
    let strange = [("/proc/self/cgroup", "0::/../.."), ("/sys/fs/cgroup/cpuset.cpus", "9")];
    assert_eq!(usable(&strange, None), "0-7");
    assert_eq!(usable(&[], None), "0-7");
}

#[test]
fn isolated_cpus_are_listed_and_an_old_kernel_says_nothing() {
    let mut files = files_of(&[("/sys/devices/system/cpu/online", "0-7")]);
    assert_eq!(row(&files, "cpu.isolated"), "unavailable");
    files.put(format!("{CPU}/isolated"), "");
    assert_eq!(row(&files, "cpu.isolated"), "none");
    files.put(format!("{CPU}/isolated"), "4-7");
    assert_eq!(row(&files, "cpu.isolated"), "4-7");
    assert_eq!(topology_of(&files, "0-7").isolated.to_string(), "4-7");
    for never_made in ["(null)\n".to_owned(), " ".repeat(300) + "(null)\n"] {
        files.put(format!("{CPU}/isolated"), &never_made);
        assert_eq!(row(&files, "cpu.isolated"), "none");
        assert_eq!(topology_of(&files, "0-7").usable.len(), 8);
    }
}

#[test]
fn numbers_that_no_kernel_writes_are_ignored() {
    let mut files = files_of(&[("/sys/devices/system/cpu/online", "0-4294967295")]);
    for cpu in 0..2 {
        let topology = format!("{CPU}/cpu{cpu}/topology");
        files.put(format!("{topology}/physical_package_id"), "4294967295");
        files.put(format!("{topology}/core_id"), "99999999999999999999");
        files.put(format!("{topology}/die_id"), "");
        files.put(format!("{topology}/core_cpus_list"), "0-4294967295");
        put_cache(&mut files, cpu, 0, ["300", "Data", "48K", "0"]);
        put_cache(&mut files, cpu, 1, ["2", "Unified", "999999999999999999999K", "0-1"]);
        put_cache(&mut files, cpu, 2, ["3", "Trace", "1K", "0-1"]);
    }
    files.put(format!("{NODE}/node4000000000/cpulist"), "0-1");
    files.put(format!("{NODE}/node1/cpulist"), "0-1");
    files.put(format!("{NODE}/node2/cpulist"), "1");
    let topology = topology_of(&files, "0-1");
    assert_eq!(topology.online.to_string(), "0-1");
    let places: Vec<_> = topology.cpus.iter().map(|p| (p.package, p.core, p.die, p.node)).collect();
    assert_eq!(places, [(0, 0, None, Some(1)), (0, 1, None, Some(1))]);
    assert_eq!(topology.caches.len(), 1);
    assert_eq!((topology.caches[0].level, topology.caches[0].bytes), (2, None));
    check(&topology);
}

#[test]
fn nobody_says_who_sits_where() {
    let files = files_of(&[("/sys/devices/system/cpu/online", "0-7")]);
    assert_eq!(row(&files, "cpu.cores"), "8 CPUs; packages unknown; cores unknown");
    let topology = topology_of(&files, "0-7");
    assert_eq!(topology.unsaid.core, topology.online);
    assert_eq!(topology.relation(CpuId(0), CpuId(1)), None);
    let lone = files_of(&[("/sys/devices/system/cpu/online", "3")]);
    assert_eq!(row(&lone, "cpu.cores"), "1 package, 1 core, 1 CPU (no SMT)");
    let mut numbered = files.clone();
    for cpu in 0..8 {
        numbered.put(format!("{CPU}/cpu{cpu}/topology/core_id"), "-1");
        numbered.put(format!("{CPU}/cpu{cpu}/topology/physical_package_id"), "2");
    }
    assert_eq!(row(&numbered, "cpu.cores"), "1 package, 8 CPUs; cores unknown");
}

#[test]
fn what_is_unknown_of_a_few_cpus_is_unknown_of_these() {
    let mut files = files_of(&[("/sys/devices/system/cpu/online", "0-3")]);
    for cpu in 0..3 {
        let topology = format!("{CPU}/cpu{cpu}/topology");
        files.put(format!("{topology}/physical_package_id"), "0");
        files.put(format!("{topology}/core_cpus_list"), if cpu < 2 { "0-1" } else { "2" });
    }
    let words = "1 package, 2 cores, 4 CPUs (SMT 2; 1 core with 1 thread); packages of CPU 3 unknown; \
                 cores of CPU 3 unknown";
    assert_eq!(row(&files, "cpu.cores"), words);
    // The first CPU stands for nobody.
    let mut first = Files::default();
    first.put(format!("{CPU}/online"), "0-3");
    for cpu in 1..4 {
        let topology = format!("{CPU}/cpu{cpu}/topology");
        first.put(format!("{topology}/package_cpus_list"), "0-3");
        first.put(format!("{topology}/core_cpus_list"), if cpu == 2 { "0,2" } else { "1,3" });
    }
    assert_eq!(row(&first, "cpu.cores"), "1 package, 2 cores, 4 CPUs (SMT 2)");
}

/// What disagrees, and how.
pub(super) fn disputed(files: &Files) -> Vec<String> {
    let machine = machine_of(files.clone(), "0-63");
    let survey = crate::facts::fact_cache::Survey::new(&machine);
    let findings = survey.disputed_places().iter();
    findings.map(|finding| format!("{}: {}", finding.about, finding.text)).collect()
}

#[test]
fn a_mask_that_fits_cores_is_believed_against_a_list_that_does_not() {
    let mut files = files_of(&[("/sys/devices/system/cpu/online", "0-1")]);
    for cpu in 0..2 {
        let topology = format!("{CPU}/cpu{cpu}/topology");
        files.put(format!("{topology}/physical_package_id"), "0");
        files.put(format!("{topology}/core_cpus_list"), "0-1");
        put_cache(&mut files, cpu, 0, ["2", "Unified", "1024K", &cpu.to_string()]);
        files.put(format!("{CPU}/cpu{cpu}/cache/index0/shared_cpu_map"), "3");
    }
    assert_eq!(row(&files, "cpu.caches"), "L2 1 MiB");
    assert_eq!(topology_of(&files, "0-1").caches[0].instances.len(), 1);
    let disputed = disputed(&files);
    assert_eq!(disputed.len(), 1, "{disputed:?}");
    assert!(disputed[0].starts_with("L2 caches: "), "{disputed:?}");
    assert!(disputed[0].contains("CPUs 0-1 list 0-1, CPU 0 lists 0"), "{disputed:?}");
}

#[test]
fn lists_that_are_not_mutual_are_named() {
    let mut files = files_of(&[("/sys/devices/system/cpu/online", "0-3")]);
    for cpu in 0..4 {
        let topology = format!("{CPU}/cpu{cpu}/topology");
        files.put(format!("{topology}/physical_package_id"), "0");
        files.put(format!("{topology}/core_cpus_list"), &cpu);
        let users = if cpu == 0 { "0-1" } else { "0-3" };
        put_cache(&mut files, cpu, 0, ["3", "Unified", "8M", users]);
    }
    assert_eq!(topology_of(&files, "0-3").cpus[0].last_level_cache.to_string(), "0-3");
    let disputed = disputed(&files);
    assert!(disputed[0].contains("CPUs 1-3 list 0-3, CPU 0 lists 0-1"), "{disputed:?}");
}

#[test]
fn last_level_caches_of_two_sizes_are_two() {
    let mut files = files_of(&[("/sys/devices/system/cpu/online", "0-3")]);
    for cpu in 0..4 {
        let topology = format!("{CPU}/cpu{cpu}/topology");
        files.put(format!("{topology}/physical_package_id"), "0");
        files.put(format!("{topology}/core_cpus_list"), &cpu);
        put_cache(&mut files, cpu, 0, ["2", "Unified", "1024K", &cpu.to_string()]);
        let (size, users) = if cpu < 2 { ("98304K", "0-1") } else { ("32768K", "2-3") };
        put_cache(&mut files, cpu, 1, ["3", "Unified", size, users]);
    }
    let words =
        "L2 1 MiB, L3 32 MiB shared by 2 cores (CPUs 2-3) and 96 MiB shared by 2 cores (CPUs 0-1)";
    assert_eq!(row(&files, "cpu.caches"), words);
    assert_eq!(disputed(&files), Vec::<String>::new());
}

#[test]
fn core_numbers_that_begin_anew_in_each_cluster_are_told_apart() {
    let tree = |clusters: bool, caches: bool| {
        let mut files = files_of(&[("/sys/devices/system/cpu/online", "0-5")]);
        for cpu in 0..6 {
            let topology = format!("{CPU}/cpu{cpu}/topology");
            files.put(format!("{topology}/physical_package_id"), "0");
            files.put(format!("{topology}/core_id"), &(cpu % 3));
            if clusters {
                files.put(format!("{topology}/cluster_id"), &(cpu / 3));
            }
            if caches {
                put_cache(&mut files, cpu, 0, ["1", "Data", "64K", &cpu.to_string()]);
            }
        }
        files
    };
    let six = "1 package, 6 cores, 6 CPUs (no SMT)";
    assert_eq!(row(&tree(true, false), "cpu.cores"), six);
    assert_eq!(row(&tree(false, true), "cpu.cores"), six);
    assert!(disputed(&tree(false, true))[0].starts_with("cores: "));
    assert_eq!(row(&tree(false, false), "cpu.cores"), "1 package, 3 cores, 6 CPUs (SMT 2)");
}

#[test]
fn packages_with_holes_in_their_numbers_are_counted_where_one_is_unreadable() {
    let mut files = files_of(&[("/sys/devices/system/cpu/online", "0-7")]);
    for cpu in 0..8 {
        let topology = format!("{CPU}/cpu{cpu}/topology");
        let package = cpu / 2;
        let number = if package == 1 { "-1".to_owned() } else { (package * 2).to_string() };
        files.put(format!("{topology}/physical_package_id"), &number);
        files.put(format!("{topology}/core_id"), &(cpu % 2));
        let all = format!("{}-{}", package * 2, package * 2 + 1);
        files.put(format!("{topology}/package_cpus_list"), &all);
        files.put(format!("{topology}/core_cpus_list"), &cpu);
    }
    assert_eq!(row(&files, "cpu.cores"), "4 packages, 8 cores, 8 CPUs (no SMT)");
    let packages: Vec<u32> =
        topology_of(&files, "0-7").cpus.iter().map(|place| place.package).collect();
    assert_eq!(packages, [0, 0, 1, 1, 4, 4, 6, 6]);
    // One file that is wrong is outvoted, and named.
    files.put(format!("{CPU}/cpu7/topology/physical_package_id"), "0");
    assert_eq!(row(&files, "cpu.cores"), "4 packages, 8 cores, 8 CPUs (no SMT)");
    assert!(disputed(&files)[0].starts_with("package numbers: "));
}

/// What holds whatever the kernel shows.
pub(super) fn check(topology: &Topology) {
    let cpus: Vec<CpuId> = topology.cpus.iter().map(|place| place.cpu).collect();
    assert_eq!(cpus, topology.online.as_slice(), "every online CPU has one place");
    assert!(topology.usable.difference(&topology.online).is_empty());
    let mut cores: BTreeMap<(u32, u32), &CpuSet> = BTreeMap::new();
    for place in &topology.cpus {
        assert!(place.siblings.contains(place.cpu));
        for sibling in place.siblings.iter() {
            let other = topology.place(sibling).expect("siblings are online");
            assert_eq!(other.siblings, place.siblings, "siblings are symmetric");
        }
        let core = cores.entry((place.package, place.core)).or_insert(&place.siblings);
        assert_eq!(*core, &place.siblings, "cores are unique within a package");
    }
    let mut seen: BTreeSet<(u8, CacheKind, CpuId)> = BTreeSet::new();
    for cache in &topology.caches {
        for cpu in cache.instances.iter().flat_map(CpuSet::iter) {
            assert!(topology.online.contains(cpu));
            assert!(seen.insert((cache.level, cache.kind, cpu)), "caches are disjoint");
        }
    }
    let mut nodes = BTreeSet::new();
    for cpu in topology.nodes.iter().flat_map(|node| node.cpus.iter()) {
        assert!(nodes.insert(cpu), "a CPU is in one node");
    }
}
