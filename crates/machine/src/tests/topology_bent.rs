//! Trees of which a file is bent, lost or nonsense: what is claimed of them is true, unknown or disputed.

use model::{CpuId, CpuSet};
use proptest::prelude::*;
use simulated::Files;

use super::machine_of;
use super::topology::{CPU, NODE, check, disputed, files_of, put_cache, row, topology_of};
use crate::facts;

/// A good tree: packages of four cores with so many threads, modules of two cores; what is counted
/// of it does not rest on one file.
fn good(packages: u32, threads: u32) -> Vec<(String, String)> {
    let cores = packages * 4;
    let list = |cores: std::ops::Range<u32>, all: u32| -> CpuSet {
        cores.flat_map(|core| (0..threads).map(move |thread| CpuId(core + thread * all))).collect()
    };
    let mask = |cpus: &CpuSet| {
        let bits = cpus.iter().fold(0u64, |bits, cpu| bits | 1 << cpu.0);
        format!("{:08x},{:08x}", bits >> 32, bits & 0xffff_ffff)
    };
    let mut files = Vec::new();
    for cpu in 0..cores * threads {
        let core = cpu % cores;
        let (package, module) = (core / 4, core / 2);
        let of_core = list(core..core + 1, cores);
        let of_module = list(module * 2..module * 2 + 2, cores);
        let of_package = list(package * 4..package * 4 + 4, cores);
        let mut put =
            |path: String, text: String| files.push((format!("{CPU}/cpu{cpu}/{path}"), text));
        put("topology/physical_package_id".into(), package.to_string());
        put("topology/core_id".into(), (core % 4).to_string());
        for (name, cpus) in [("core", &of_core), ("package", &of_package)] {
            put(format!("topology/{name}_cpus_list"), cpus.to_string());
            put(format!("topology/{name}_cpus"), mask(cpus));
        }
        let caches = [
            ("1", "Data", 48, &of_core),
            ("1", "Instruction", 32, &of_core),
            ("2", "Unified", 1024, &of_module),
            ("3", "Unified", 16384, &of_package),
        ];
        for (index, (level, kind, size, cpus)) in caches.into_iter().enumerate() {
            let folder = format!("cache/index{index}");
            put(format!("{folder}/level"), level.into());
            put(format!("{folder}/type"), kind.into());
            put(format!("{folder}/size"), format!("{size}K"));
            put(format!("{folder}/coherency_line_size"), "64".into());
            put(format!("{folder}/ways_of_associativity"), "8".into());
            put(format!("{folder}/number_of_sets"), (size * 2).to_string());
            put(format!("{folder}/shared_cpu_list"), cpus.to_string());
            put(format!("{folder}/shared_cpu_map"), mask(cpus));
        }
    }
    files
}

/// What is claimed of a tree, and whether anything is disputed.
fn claimed(tree: &[(String, String)], cpus: u32) -> (String, Vec<String>, bool) {
    let mut files = Files::default();
    files.put(format!("{CPU}/online"), &format!("0-{}", cpus - 1));
    for (path, text) in tree {
        files.put(path.clone(), text);
    }
    let topology = topology_of(&files, "0-63");
    check(&topology);
    let caches = topology.caches.iter().flat_map(|cache| {
        let say =
            |cpus: &CpuSet| format!("L{} {:?} {:?} {cpus}", cache.level, cache.kind, cache.bytes);
        cache.instances.iter().map(say).collect::<Vec<_>>()
    });
    (row(&files, "cpu.cores"), caches.collect(), !disputed(&files).is_empty())
}

proptest! {
    /// Of a good tree any file is lost, or holds what another one holds, or nonsense: what is claimed
    /// is true, or unknown, or there is a word.
    #[test]
    fn a_bent_file_is_outvoted_or_disputed(
        packages in 1u32..3,
        threads in 1u32..3,
        at in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
        how in 0..3,
        nonsense in proptest::sample::select(HOSTILE),
    ) {
        let mut tree = good(packages, threads);
        let cpus = packages * 4 * threads;
        let (cores, caches, is_disputed) = claimed(&tree, cpus);
        prop_assert!(!is_disputed);
        let at = at.index(tree.len());
        let bent = tree[at].0.clone();
        match how {
            0 => drop(tree.remove(at)),
            1 => tree[at].1 = tree[other.index(tree.len())].1.clone(),
            _ => tree[at].1 = nonsense.to_owned(),
        }
        let (cores_now, caches_now, is_disputed) = claimed(&tree, cpus);
        if !is_disputed {
            prop_assert_eq!(cores_now, cores, "{}", bent);
            // Nothing speaks against a cache of a level that no other one is of.
            let known = |cache: &&String| cache.as_str() < "L4" && !cache.contains("None");
            for cache in caches_now.iter().filter(known) {
                prop_assert!(caches.contains(cache), "{cache} after {bent} of {caches:?}");
            }
        }
    }
}

/// Texts that no kernel writes, or not where they stand.
const HOSTILE: &[&str] = &[
    "",
    "-1",
    "0-4294967295",
    "4294967295",
    "x",
    "ffffffff,0",
    "65535",
    "3-1",
    "\0",
    "Data",
    "Unified",
    "32K",
];

/// Texts as kernels write them, and as nobody does.
fn texts() -> impl Strategy<Value = String> {
    let list = proptest::collection::vec((0u32..12, 0u32..4), 0..3).prop_map(|ranges| {
        let ranges = ranges.iter().map(|(first, more)| format!("{first}-{}", first + more));
        ranges.collect::<Vec<_>>().join(",")
    });
    prop_oneof![
        6 => list,
        6 => (0u32..4).prop_map(|number| number.to_string()),
        2 => proptest::sample::select(HOSTILE).prop_map(str::to_owned),
    ]
}

/// Paths that the topology is read from.
fn paths() -> impl Strategy<Value = String> {
    let topology = [
        "physical_package_id",
        "core_id",
        "die_id",
        "cluster_id",
        "core_cpus_list",
        "thread_siblings",
        "package_cpus_list",
        "die_cpus_list",
        "cluster_cpus_list",
    ];
    let cache = ["level", "type", "size", "id", "shared_cpu_list", "shared_cpu_map"];
    let whole = [
        "/sys/devices/system/cpu/online",
        "/sys/devices/system/cpu/present",
        "/sys/devices/system/cpu/isolated",
        "/sys/devices/system/node/online",
        "/sys/devices/cpu_core/cpus",
        "/sys/devices/cpu_atom/cpus",
    ];
    let select = |names: &[&'static str]| proptest::sample::select(names.to_vec());
    prop_oneof![
        8 => (0u32..8, select(&topology))
            .prop_map(|(cpu, file)| format!("{CPU}/cpu{cpu}/topology/{file}")),
        8 => (0u32..8, 0u32..3, select(&cache))
            .prop_map(|(cpu, index, file)| format!("{CPU}/cpu{cpu}/cache/index{index}/{file}")),
        2 => (0u32..4, select(&["cpulist", "cpumap", "distance", "meminfo"]))
            .prop_map(|(node, file)| format!("{NODE}/node{node}/{file}")),
        2 => select(&whole).prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn every_tree_gives_every_cpu_one_place(
        tree in proptest::collection::vec((paths(), texts()), 0..120),
    ) {
        let mut files = Files::default();
        for (path, text) in &tree {
            files.put(path.clone(), text);
        }
        let machine = facts::machine(&machine_of(files, "0-7"));
        check(&machine.topology);
        super::check_absences(&machine.facts);
    }
}

#[test]
fn a_core_whose_cpus_are_listed_in_two_packages_is_in_one() {
    let mut files = files_of(&[("/sys/devices/system/cpu/online", "0-2")]);
    for (cpu, package, core) in [(0, "0", "0,1"), (1, "1", "0,1"), (2, "1", "2")] {
        let topology = format!("{CPU}/cpu{cpu}/topology");
        files.put(format!("{topology}/physical_package_id"), package);
        files.put(format!("{topology}/core_id"), "5");
        files.put(format!("{topology}/core_cpus_list"), core);
    }
    let topology = topology_of(&files, "0-2");
    let packages: Vec<u32> = topology.cpus.iter().map(|place| place.package).collect();
    assert_eq!(packages, [0, 0, 1]);
    check(&topology);
}

#[test]
fn lists_that_all_name_thousands_give_every_cpu_one_place() {
    let mut files = files_of(&[("/sys/devices/system/cpu/online", "0-2999")]);
    for cpu in 0..3000 {
        let list = format!("0-{cpu}");
        files.put(format!("{CPU}/cpu{cpu}/topology/core_cpus_list"), &list);
        put_cache(&mut files, cpu, 0, ["3", "Unified", "48K", &list]);
    }
    let topology = topology_of(&files, "0-2999");
    assert_eq!(topology.cpus.len(), 3000);
    check(&topology);
}
