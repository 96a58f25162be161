//! Key facts of every machine in `testdata/machines`, by value: what each file says is known, for it
//! was made by hand.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use machine::{Machine, facts};
use model::record::{CacheKind, PageKind, Presentation, Topology};
use model::{CpuId, CpuSet};

/// What a machine is. Sets are written as the kernel writes them.
struct Known {
    name: &'static str,
    /// Packages, dies where they are told, cores.
    packages: usize,
    dies: Option<usize>,
    cores: usize,
    online: &'static str,
    offline: &'static str,
    usable: &'static str,
    isolated: &'static str,
    /// Kinds with their CPUs.
    kinds: &'static [(&'static str, &'static str)],
    /// Nodes with their CPUs and memory in MiB.
    nodes: &'static [(u32, &'static str, u64)],
    /// Sizes of data and unified caches in KiB, each with the number of its instances.
    caches: &'static [(u8, u64, usize)],
    /// Active cores and megahertz.
    turbo: &'static [(u32, u32)],
    /// Names, and microseconds to leave them.
    idle: &'static [(&'static str, u32)],
    /// In CPUs.
    quota: Option<f64>,
}

/// The smallest one, for the others to begin with.
const ONE_CPU: Known = Known {
    name: "one-cpu",
    packages: 1,
    dies: None,
    cores: 1,
    online: "0",
    offline: "",
    usable: "0",
    isolated: "",
    kinds: &[],
    nodes: &[],
    caches: &[],
    turbo: &[],
    idle: &[],
    quota: None,
};

/// The switched-off state of `offline` is in a test of its own.
const MACHINES: &[Known] = &[
    Known {
        name: "amd",
        dies: Some(1),
        cores: 32,
        online: "0-31",
        usable: "0-31",
        nodes: &[(0, "0-7", 64000), (1, "8-15", 64000), (2, "16-23", 64000), (3, "24-31", 64000)],
        caches: &[(1, 32, 32), (2, 512, 32), (3, 32768, 4)],
        idle: &[("POLL", 0), ("C1", 1), ("C2", 800)],
        ..ONE_CPU
    },
    Known {
        name: "arm",
        cores: 8,
        online: "0-7",
        usable: "0-7",
        kinds: &[("Cortex-A55", "0-3"), ("Cortex-A76", "4-7")],
        caches: &[(1, 32, 4), (1, 64, 4), (2, 128, 4), (2, 512, 4), (3, 2048, 1)],
        idle: &[("WFI", 1), ("cpu-sleep", 420)],
        ..ONE_CPU
    },
    Known {
        name: "arm-server",
        packages: 2,
        cores: 144,
        online: "0-143",
        usable: "0-143",
        nodes: &[(0, "0-71", 490_496), (1, "72-143", 490_496), (10, "", 97280)],
        caches: &[(1, 64, 144), (2, 1024, 144), (3, 116_736, 2)],
        ..ONE_CPU
    },
    Known {
        name: "contradictory",
        // Six CPUs list all others as their core, which is left to them but for the two that agree.
        packages: 1,
        cores: 2,
        kinds: &[],
        online: "0-7",
        usable: "4-7",
        nodes: &[(0, "0-7", 0), (1, "", 0)],
        caches: &[(1, 0, 1)],
        ..ONE_CPU
    },
    Known {
        name: "granite-rapids",
        dies: Some(3),
        cores: 120,
        online: "0-119",
        usable: "0-119",
        nodes: &[(0, "0-39", 128_000), (1, "40-79", 128_000), (2, "80-119", 128_000)],
        caches: &[(1, 48, 120), (2, 2048, 120), (3, 516_096, 1)],
        turbo: &[
            (8, 3900),
            (24, 3900),
            (48, 3800),
            (60, 3800),
            (72, 3700),
            (88, 3600),
            (104, 3400),
            (120, 3200),
        ],
        idle: &[("POLL", 0), ("C1", 1), ("C1E", 4), ("C6", 170), ("C6P", 210)],
        ..ONE_CPU
    },
    Known {
        name: "holes",
        packages: 2,
        dies: Some(2),
        cores: 4,
        online: "2-3,8-9,1024-1025,4000-4001",
        usable: "2-3,8,1024,4000-4001",
        isolated: "9,1025",
        nodes: &[
            (0, "2-3,8-9", 131_072),
            (3, "1024-1025", 65536),
            (9, "", 524_288),
            (17, "4000-4001", 65536),
        ],
        caches: &[(1, 32, 4), (2, 1024, 4), (3, 33792, 2)],
        idle: &[("POLL", 0), ("C1", 1), ("C2", 41)],
        ..ONE_CPU
    },
    Known {
        name: "hybrid",
        dies: Some(1),
        cores: 14,
        online: "0-17",
        usable: "0-17",
        kinds: &[("P", "0-7"), ("E", "8-15"), ("LP-E", "16-17")],
        nodes: &[(0, "0-17", 31744)],
        caches: &[(1, 32, 10), (1, 48, 4), (2, 2048, 7), (3, 18432, 1)],
        turbo: &[(2, 4500), (4, 4300), (4, 3600), (8, 3400)],
        idle: &[("POLL", 0), ("C1E", 1), ("C6", 140), ("C10", 310)],
        ..ONE_CPU
    },
    Known {
        name: "offline",
        dies: Some(1),
        cores: 6,
        online: "0-5,8-9",
        offline: "6-7,10-11",
        usable: "0-5,8-9",
        nodes: &[(0, "0-5,8-9", 16000)],
        caches: &[(1, 32, 6), (2, 256, 6), (3, 12288, 1)],
        idle: &[("POLL", 0), ("C1", 2), ("C1E", 10), ("C6", 85)],
        ..ONE_CPU
    },
    ONE_CPU,
    Known {
        name: "snc",
        packages: 2,
        dies: Some(2),
        cores: 64,
        online: "0-63",
        usable: "0-63",
        nodes: &[
            (0, "0-15", 128_000),
            (1, "16-31", 128_000),
            (2, "32-47", 128_000),
            (3, "48-63", 128_000),
        ],
        caches: &[(1, 48, 64), (2, 1280, 64), (3, 49152, 2)],
        turbo: &[
            (4, 3500),
            (8, 3400),
            (12, 3300),
            (16, 3200),
            (20, 3100),
            (24, 3000),
            (28, 2900),
            (32, 2800),
        ],
        idle: &[("POLL", 0), ("C1", 1), ("C1E", 4), ("C6", 170)],
        ..ONE_CPU
    },
    Known {
        name: "three-kinds",
        dies: Some(1),
        cores: 16,
        online: "0-15",
        usable: "0-15",
        kinds: &[("P", "0-5"), ("E", "6-13"), ("LP-E", "14-15")],
        nodes: &[(0, "0-15", 32768)],
        caches: &[(1, 32, 10), (1, 48, 6), (2, 3072, 6), (2, 4096, 3), (3, 24576, 1)],
        idle: &[("POLL", 0), ("C1E", 1), ("C6", 170)],
        ..ONE_CPU
    },
    Known {
        name: "vm",
        dies: Some(1),
        cores: 4,
        online: "0-7",
        usable: "0-3",
        nodes: &[(0, "0-7", 31744)],
        caches: &[(1, 32, 4), (2, 1024, 4), (3, 32768, 1)],
        quota: Some(2.5),
        ..ONE_CPU
    },
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/machines")
}

fn open(name: &str) -> Machine {
    let path = folder().join(name).with_extension("capture");
    recorded::named(path.to_str().unwrap()).unwrap()
}

fn set(list: &str) -> CpuSet {
    if list.is_empty() { CpuSet::default() } else { list.parse().unwrap() }
}

#[test]
fn every_file_is_known() {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeSet<String> =
        files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    let known: BTreeSet<String> = MACHINES.iter().map(|known| known.name.to_owned()).collect();
    assert_eq!(files, known);
}

#[test]
fn key_facts_are_as_each_file_says() {
    for known in MACHINES {
        let machine = open(known.name);
        let record = facts::machine(&machine);
        let Known { name, .. } = *known;
        topology_is(known, &record.topology);
        let steps = record.turbo_limits.iter().flat_map(|limit| &limit.steps);
        let steps: Vec<(u32, u32)> =
            steps.map(|step| (step.active_cores, (step.hertz / 1e6) as u32)).collect();
        assert_eq!(steps, known.turbo, "{name}");
        let states = record.idle_states.iter();
        let micro = |seconds: f64| (seconds * 1e6).round() as u32;
        let states: Vec<(&str, u32)> = states
            .filter_map(|state| Some((state.name.as_str(), micro(state.latency_seconds?))))
            .collect();
        assert_eq!(states, known.idle, "{name}");
        let quota = facts::cpu_quota(&machine).ok().flatten().map(facts::Quota::cpus);
        assert_eq!(quota.map(f64::to_bits), known.quota.map(f64::to_bits), "{name}");
    }
}

#[track_caller]
fn topology_is(known: &Known, topology: &Topology) {
    let name = known.name;
    let places = &topology.cpus;
    let packages: BTreeSet<u32> = places.iter().map(|place| place.package).collect();
    let cores: BTreeSet<(u32, u32)> = places.iter().map(|p| (p.package, p.core)).collect();
    let dies: Option<BTreeSet<(u32, u32)>> =
        places.iter().map(|place| Some((place.package, place.die?))).collect();
    assert_eq!((packages.len(), cores.len()), (known.packages, known.cores), "{name}");
    assert_eq!(dies.map(|dies| dies.len()), known.dies, "{name}");
    assert_eq!(topology.online, set(known.online), "{name}");
    assert_eq!(topology.offline(), set(known.offline), "{name}");
    assert_eq!(topology.usable, set(known.usable), "{name}");
    assert_eq!(topology.isolated, set(known.isolated), "{name}");
    for (kind, cpus) in known.kinds {
        let of = places.iter().filter(|place| place.kind.as_deref() == Some(*kind));
        assert_eq!(of.map(|place| place.cpu).collect::<CpuSet>(), set(cpus), "{name} {kind}");
    }
    let kinds: BTreeSet<&str> = places.iter().filter_map(|place| place.kind.as_deref()).collect();
    assert_eq!(kinds.len(), known.kinds.len(), "{name}");
    let node = |&(id, cpus, mebibytes): &(u32, &str, u64)| (id, set(cpus), mebibytes);
    let nodes = topology
        .nodes
        .iter()
        .map(|node| (node.id, node.cpus.clone(), node.memory_bytes.unwrap_or_default() >> 20));
    assert_eq!(nodes.collect::<Vec<_>>(), known.nodes.iter().map(node).collect::<Vec<_>>());
    let caches = topology.caches.iter().filter(|cache| cache.kind != CacheKind::Instruction);
    let caches: Vec<(u8, u64, usize)> =
        caches.map(|c| (c.level, c.bytes.unwrap_or_default() >> 10, c.instances.len())).collect();
    assert_eq!(caches, known.caches, "{name}");
}

#[test]
fn siblings_share_a_core_wherever_their_numbers_are() {
    for (name, cpu, siblings) in [
        ("offline", 2, "2,8"),
        ("offline", 0, "0"),
        ("holes", 9, "3,9"),
        ("holes", 4001, "4000-4001"),
        ("hybrid", 7, "6-7"),
    ] {
        let topology = facts::topology(&open(name));
        assert_eq!(topology.place(CpuId(cpu)).unwrap().siblings, set(siblings), "{name}");
    }
}

#[test]
fn a_state_is_off_where_its_switch_says_so() {
    let states = facts::machine(&open("offline")).idle_states;
    let off: Vec<(&str, String)> =
        states.iter().map(|s| (s.name.as_str(), s.disabled_on.to_string())).collect();
    let none = String::new;
    assert_eq!(off, [("POLL", none()), ("C1", none()), ("C1E", none()), ("C6", "0-1".into())]);
}

#[test]
fn distances_are_those_of_the_firmware() {
    let nodes = facts::topology(&open("holes")).nodes;
    let of_memory = nodes.iter().find(|node| node.id == 9).unwrap();
    let distances: Vec<(u32, u32)> = of_memory.distances.clone().into_iter().collect();
    assert_eq!(distances, [(0, 17), (3, 28), (9, 10), (17, 28)]);
}

#[test]
fn sources_that_contradict_each_other_are_named() {
    let presentation = Presentation { width: 80, ..Presentation::of(PageKind::Info) };
    let disputed = |name: &str| -> Vec<String> {
        let record = machine::describe(&open(name), Vec::new(), presentation);
        record.findings.into_iter().map(|finding| finding.about).collect()
    };
    assert_eq!(disputed("contradictory"), ["nodes", "packages", "package numbers", "cores"]);
    for known in MACHINES.iter().filter(|known| known.name != "contradictory") {
        assert_eq!(disputed(known.name), Vec::<String>::new(), "{}", known.name);
    }
}

#[test]
fn what_contradicts_itself_has_a_reason() {
    let machine = open("contradictory");
    let record = facts::machine(&machine);
    let conditions = machine::conditions::read(&machine);
    for (id, part) in [
        ("cpu.isolated", "holds `3-1`, which is no list of CPUs"),
        ("turbo.ratio_limits", "holds 0xffffffffffffffff, which is no list of ratios"),
        ("turbo.hwp", "771h holds 0xffffffffffffffff"),
        ("cpufreq.boost", "`no_turbo` says `maybe`"),
        ("cpufreq.driver", "scaling_driver` is empty"),
        ("cpu.base_frequency", "which is no frequency of a CPU"),
        ("memory.total", "holds no number"),
        ("temperature", "the hypervisor does not show it to this guest"),
    ] {
        let fact = record.facts.iter().chain(&conditions).find(|fact| fact.id == id).unwrap();
        let model::Known::No { unavailable } = &fact.value else { panic!("known: {fact:?}") };
        assert!(unavailable.why.contains(part), "{id}: {}", unavailable.why);
    }
}
