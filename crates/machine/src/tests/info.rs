//! The page `info`: what it shows, what it folds, what it must never show.

use model::page::{Block, Page};
use model::record::{Cache, CacheKind, CpuPlace, Node, PageKind, Presentation, Record};
use model::{CpuId, CpuSet};
use report::info;
use simulated::Files;

use super::{machine_of, simulated};
use crate::{Machine, describe};

fn record(machine: &Machine) -> Record {
    let presentation = Presentation { width: 80, ..Presentation::of(PageKind::Info) };
    describe(machine, vec!["cpudyno".into(), "info".into()], presentation)
}

/// The lines of all groups, remarks and tables, and the headings.
fn lines(page: &Page) -> Vec<String> {
    let line = |block: &Block| match block {
        Block::Heading(text) => vec![text.clone()],
        Block::Groups(groups) => {
            groups.iter().flatten().map(|(l, v)| format!("{l}: {}", v.text)).collect()
        }
        Block::Title { text, subtitle } => vec![text.clone(), subtitle.clone()],
        Block::Remarks(remarks) => {
            let words = |r: &model::page::Remark| {
                let remedy = r.remedy.as_deref().unwrap_or_default();
                format!("{}|{}|{}|{remedy}", r.mark.text, r.about, r.text)
            };
            remarks.iter().map(words).collect()
        }
        Block::Table(table) => {
            let cells = |row: &Vec<model::page::Text>| {
                row.iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>().join(" | ")
            };
            table.rows.iter().map(cells).collect()
        }
        other => vec![format!("{other:?}")],
    };
    page.blocks.iter().flat_map(line).collect()
}

#[test]
fn a_server_in_brief() {
    let lines = lines(&info(&record(&simulated("2s-56c")), 0));
    for expected in [
        "SIMULATED machine sim:2s-56c",
        "CPU: SIMULATED 2 x 56 cores",
        "Cores: 2 packages, 112 cores, 224 CPUs (SMT 2)",
        "Memory: 512 GiB",
        "Governor: performance, driver intel_pstate, active, 0.8 to 3.8 GHz, boost on, energy preference \
         performance, energy bias 0",
        "Claimed clock: base 2.000 GHz, lowest 800.0 MHz, highest 3.800 GHz",
        "L2: 2 MiB, 16 ways, line 64 B, one per 2 CPUs, 112 in all",
        "AVX: avx fma avx2",
        "AVX-512: f cd bw vl",
        "Virtualisation: none (bare metal)",
        "Security: 3 mitigated",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected} is not among {lines:#?}");
    }
    assert!(!lines.iter().any(|line| line.starts_with("Mitigations")), "{lines:#?}");
}

#[test]
fn more_is_printed_for_those_who_ask() {
    let lines = lines(&info(&record(&simulated("2s-56c")), 1));
    let starts = |start: &str| lines.iter().any(|line| line.starts_with(start));
    assert!(starts("spectre_v1 | Mitigation: usercopy/swapgs barriers"));
    assert!(starts("not affected | gather_data_sampling"));
    assert!(starts("Load, 1 min | 0.00"));
    assert!(starts("0-55 | 0 |"), "CPUs are folded: {lines:#?}");
}

#[test]
fn caches_and_nodes_of_the_record_have_lines_and_tables() {
    let mut record = record(&simulated("1c"));
    let topology = &mut record.machine.topology;
    topology.caches = vec![Cache {
        level: 1,
        kind: CacheKind::Data,
        bytes: Some(49152),
        line_bytes: None,
        ways: Some(12),
        inclusive: None,
        instances: vec!["0-1".parse().unwrap(), "2".parse().unwrap()],
    }];
    topology.nodes = (0..10)
        .map(|id| Node {
            id,
            cpus: (0..100).map(|cpu| model::CpuId(cpu * 20 + id)).collect(),
            not_shown: model::CpuSet::default(),
            memory_bytes: (id > 0).then_some(1 << 30),
            usable: Some(true),
            distances: [(0, 10), (1, 21)].into(),
        })
        .collect();
    let brief = lines(&info(&record, 0));
    let has = |lines: &[String], line: &str| lines.iter().any(|known| known == line);
    assert!(
        has(&brief, "L1d: 48 KiB, 12 ways, 1 of 1 CPU and 1 of 2 CPUs, 2 in all"),
        "{brief:#?}"
    );
    assert!(has(&brief, "Node 0: 100 CPUs: 0, ..."), "{brief:#?}");
    assert!(has(&brief, "Node 1: 100 CPUs: 1, ..., 1 GiB"), "{brief:#?}");
    assert!(has(&brief, "Nodes: 2 more; -v prints them"), "{brief:#?}");
    assert!(!brief.iter().any(|line| line.starts_with("Caches")), "{brief:#?}");
    let all = lines(&info(&record, 1));
    assert!(has(&all, "L1d | 48 KiB | 12 | ? | 2 | 96 KiB | 0-1; 2"), "{all:#?}");
    let ninth = all.iter().find(|line| line.starts_with("9 | 9,29,")).unwrap();
    assert!(ninth.ends_with("1 GiB | 0: 10, 1: 21"), "{ninth}");
}

/// Numbers of cores have holes: 0 to 10 is a list of two here.
#[test]
fn folded_numbers_read_as_ranges_only_where_they_are() {
    let mut record = record(&simulated("1c"));
    let topology = &mut record.machine.topology;
    let first = topology.cpus[0].clone();
    let place = |(cpu, core): (u32, u32)| CpuPlace {
        cpu: CpuId(cpu),
        core,
        module: Some(core * 2),
        siblings: CpuSet::from_iter([CpuId(cpu)]),
        ..first.clone()
    };
    topology.cpus = [(0, 0), (1, 1), (2, 8), (3, 10)].map(place).to_vec();
    let all = lines(&info(&record, 1));
    let row = all.iter().find(|line| line.starts_with("0-3 | ")).unwrap();
    assert!(row.contains(" | 0,2,16,20 | 0-1,8,10 | "), "{row}");
}

#[test]
fn what_needs_root_is_one_remark() {
    let mut record = record(&simulated("1c"));
    for id in ["cpu.microcode", "platform.model"] {
        let fact = record.machine.facts.iter_mut().find(|fact| fact.id == id).unwrap();
        let why = format!("this user may not read `{id}`");
        let reason = model::Unavailable::new(model::Obstacle::Permission, id, why);
        fact.value = Err(reason.with_remedy("run as root")).into();
    }
    let here = lines(&info(&record, 0));
    let expected = "needs root|microcode, model|this user may not read it|`sudo cpudyno info`";
    assert!(here.iter().any(|line| line == expected), "{here:#?}");
    record.run.simulated = None;
    record.run.elsewhere = Some("the capture of somebody".into());
    let there = lines(&info(&record, 0));
    assert!(there.iter().any(|line| line.contains("sudo cpudyno capture")), "{there:#?}");
    assert_eq!(there[0], "A machine elsewhere, as recorded");
    assert!(there[1].contains("the capture of somebody"), "{there:#?}");
}

#[test]
fn a_machine_that_says_nothing_has_a_page_too() {
    let record = record(&machine_of(Files::default(), ""));
    for verbosity in [0, 1] {
        let lines = lines(&info(&record, verbosity));
        assert_eq!(lines[0], "This machine, as it describes itself");
        assert!(lines.iter().any(|line| line == "Unknown"), "{verbosity}: {lines:#?}");
    }
}

/// Where a machine says who owns it, and where it does not say so, but names like these are found.
const PERSONAL: &[(&str, &str)] = &[
    ("/proc/sys/kernel/hostname", "node-secret"),
    ("/proc/sys/kernel/domainname", "secret.example"),
    ("/etc/hostname", "node-secret"),
    ("/etc/machine-id", "secret0f"),
    ("/proc/version", "Linux version 6.1.0 (secret@builder) #1 SMP"),
    ("/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC 2026"),
    ("/proc/sys/kernel/osrelease", "6.1.0"),
    (
        "/proc/cmdline",
        "BOOT_IMAGE=/secret root=UUID=secret ip=10.0.0.1::secret:nosmt nosmt -- secret",
    ),
    ("/proc/self/cgroup", "0::/user.slice/user-secret.slice"),
    ("/sys/class/dmi/id/product_serial", "secret"),
    ("/sys/class/dmi/id/product_uuid", "secret"),
    ("/sys/class/dmi/id/board_serial", "secret"),
    ("/sys/class/dmi/id/chassis_asset_tag", "secret"),
    ("/sys/class/dmi/id/product_name", "PowerEdge"),
    ("/proc/device-tree/serial-number", "secret"),
    ("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU\n\nSerial\t\t: secret"),
    ("/run/.containerenv", "name=\"secret\"\nid=\"secret\""),
    ("/run/systemd/container", "secret.example"),
];

#[test]
fn nothing_personal_is_in_record_or_page() {
    let mut files = Files::default();
    for (path, text) in PERSONAL {
        files.put(*path, *text);
    }
    let record = record(&machine_of(files, "0"));
    let page = format!("{:?}", info(&record, 1));
    let json = serde_json::to_string(&record).unwrap();
    for text in [&page, &json] {
        assert!(text.contains("PowerEdge") && text.contains("nosmt"), "{text}");
        assert!(!text.contains("secret") && !text.contains("10.0.0.1"), "{text}");
    }
}
