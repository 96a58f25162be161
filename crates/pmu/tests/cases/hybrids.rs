//! CPUs with several types of cores, known by lists, by sysfs or by CPUID; and what CPUs are called.

use std::fs;

use libtest_mimic::Failed;
use machine::Machine;
use pmu::events::{CpuModel, Encoded, Events, Source, Target};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tempfile::TempDir;

use super::{Case, Need, none};

pub(super) const CASES: &[Case] = &[
    ("lists_by_type_of_core_are_two_events", Need::Nothing, by_map),
    ("lists_by_pmu_are_two_events", Need::Nothing, by_unit),
    ("lists_go_to_the_pmus_of_the_machine_at_hand", Need::Nothing, by_sysfs),
    ("of_an_unknown_type_only_what_both_have_is_told", Need::Nothing, of_no_type),
    ("low_power_cores_are_a_type_of_their_own", Need::Nothing, low_power),
    ("every_name_that_info_prints_is_a_cpu", Need::Nothing, named),
    ("no_type_of_core_has_the_code_of_another", Need::Nothing, bent),
];

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let there = TempDir::new().unwrap();
    for (path, text) in files {
        let path = there.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    there
}

const HEAD: &str =
    "Family-model,Version,Filename,EventType,Core Type,Native Model ID,Core Role Name\n";

/// A map of a CPU that nobody knows, with these lists: file, type of core, role.
fn map(lists: &[(&str, &str, &str)]) -> String {
    let line = |(file, core, role): &(&str, &str, &str)| {
        format!("GenuineIntel-6-FC,V1,/{file},hybridcore,{core},0x000009,{role}\n")
    };
    HEAD.to_owned() + &lists.iter().map(line).collect::<String>()
}

fn entry(name: &str, umask: &str) -> String {
    format!(r#"{{"EventName":"{name}","EventCode":"0xC4","UMask":"{umask}","Counter":"0,1"}}"#)
}

fn list(entries: &[(&str, &str)]) -> String {
    let entries: Vec<String> = entries.iter().map(|(name, umask)| entry(name, umask)).collect();
    format!("[{}]", entries.join(","))
}

fn events(there: &TempDir, cpu: &str) -> Events<'static> {
    Events::of(Target::named(cpu).unwrap().with_folder(Some(there.path())))
}

fn codes(found: &[Encoded]) -> Vec<(&str, u64)> {
    found.iter().map(|event| (event.name.as_str(), event.config[0])).collect()
}

fn by_map() -> Result<(), Failed> {
    // Whichever stands first.
    let (p, e) = (list(&[("X.Y", "0x11"), ("X.P", "1")]), list(&[("X.Y", "0x7e"), ("X.E", "1")]));
    let lines = [("p.json", "0x40", "Core"), ("e.json", "0x20", "Atom")];
    for lines in [lines, [lines[1], lines[0]]] {
        let there = folder(&[("mapfile.csv", &map(&lines)), ("p.json", &p), ("e.json", &e)]);
        let events = events(&there, "GenuineIntel-6-FC");
        let found = events.resolve("x.y").unwrap();
        assert_eq!(codes(&found), [("cpu_core/x.y/", 0x11c4), ("cpu_atom/x.y/", 0x7ec4)]);
        assert_eq!(codes(&events.resolve("x.e").unwrap()), [("cpu_atom/x.e/", 0x1c4)]);
        assert_eq!(events.of_source(Source::Perfmon).events.len(), 4);
        assert_eq!(events.resolve("cycles").unwrap().len(), 2);
    }
    Ok(())
}

/// As Linux writes its lists: one folder, and each entry says its PMU.
fn by_unit() -> Result<(), Failed> {
    let unit = |unit: &str, umask: &str| {
        let entry = entry("X.Y", umask);
        format!(r#"{},"Unit":"{unit}"}}"#, &entry[..entry.len() - 1])
    };
    let both = format!("[{},{}]", unit("cpu_atom", "0x7e"), unit("cpu_core", "0x11"));
    let lines = "head\nGenuineIntel-6-(97|9A|FC),v1,somelake,core\n";
    let there = folder(&[("mapfile.csv", lines), ("somelake/pipeline.json", &both)]);
    for cpu in ["GenuineIntel-6-FC-1", "GenuineIntel-6-97-2"] {
        let found = events(&there, cpu).fitting_of(Source::Perfmon, "x.y").unwrap();
        assert_eq!(codes(&found), [("cpu_core/x.y/", 0x11c4), ("cpu_atom/x.y/", 0x7ec4)], "{cpu}");
    }
    Ok(())
}

/// The machine at hand: what the kernel calls its PMUs counts.
fn by_sysfs() -> Result<(), Failed> {
    let there = two_types();
    let tree = folder(&[
        ("proc/cpuinfo", CPUINFO),
        ("sys/bus/event_source/devices/cpu_core/type", "4\n"),
        ("sys/bus/event_source/devices/cpu_core/cpus", "0\n"),
        ("sys/bus/event_source/devices/cpu_core/format/umask", "config:8-15\n"),
        ("sys/bus/event_source/devices/cpu_atom/type", "10\n"),
        ("sys/bus/event_source/devices/cpu_atom/format/umask", "config:8-15,40-47\n"),
    ]);
    let machine = Machine::rooted(tree.path()).unwrap();
    let events = Events::of(Target::of(&machine).with_folder(Some(there.path())));
    let found = events.resolve("x.y").unwrap();
    assert_eq!(codes(&found), [("cpu_atom/x.y/", 0x7ec4), ("cpu_core/x.y/", 0x11c4)]);
    assert_eq!([found[0].kind, found[1].kind], [Some(10), Some(4)]);
    // A kernel that cuts a unit mask would count another event.
    let wide = events.resolve("x.wide").unwrap();
    assert_eq!(codes(&wide), [("cpu_atom/x.wide/", 0x100_0000_01c4)]);
    let missing = &events.of_source(Source::Perfmon).missing;
    assert!(missing.iter().any(|it| it.why.contains("this kernel gives it 8")), "{missing:?}");
    Ok(())
}

const CPUINFO: &str =
    "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 252\nstepping\t: 1\n";

/// Lists of two types of cores that have one event in common, and mean another one differently.
fn two_types() -> TempDir {
    let wide = entry("X.WIDE", "1").replace('}', r#","UMaskExt":"0x01"}"#);
    let with_wide = |list: String| list.replace(']', &format!(",{wide}]"));
    let p = with_wide(list(&[("X.Y", "0x11"), ("X.Z", "1")]));
    let e = with_wide(list(&[("X.Y", "0x7e"), ("X.Z", "1")]));
    let lines = map(&[("p.json", "0x40", "Core"), ("e.json", "0x20", "Atom")]);
    folder(&[("mapfile.csv", &lines), ("p.json", &p), ("e.json", &e)])
}

fn of_no_type() -> Result<(), Failed> {
    let there = two_types();
    let tree =
        folder(&[("proc/cpuinfo", CPUINFO), ("sys/bus/event_source/devices/cpu/type", "4\n")]);
    let machine = Machine::rooted(tree.path()).unwrap();
    let events = Events::of(Target::of(&machine).with_folder(Some(there.path())));
    let listed = events.of_source(Source::Perfmon);
    assert_eq!(codes(&listed.events), [("x.z", 0x1c4), ("x.wide", 0x100_0000_01c4)]);
    let whys: Vec<&str> = listed.missing.iter().map(|it| it.why.as_str()).collect();
    assert!(whys.iter().any(|why| why.contains("two codes for each, as for `x.y`")), "{whys:?}");
    Ok(())
}

fn low_power() -> Result<(), Failed> {
    let lists = ["0x40", "0x20", "0x21"].map(|umask| list(&[("X.Y", umask)]));
    let lines = map(&[
        ("p.json", "0x40", "Core"),
        ("e.json", "0x20", "Atom"),
        ("l.json", "0x20", "LowPower_Atom"),
    ]);
    let there = folder(&[
        ("mapfile.csv", &lines),
        ("p.json", &lists[0]),
        ("e.json", &lists[1]),
        ("l.json", &lists[2]),
    ]);
    let found = events(&there, "GenuineIntel-6-FC").resolve("x.y").unwrap();
    let expected =
        [("cpu_core/x.y/", 0x40c4), ("cpu_atom/x.y/", 0x20c4), ("cpu_lowpower/x.y/", 0x21c4)];
    assert_eq!(codes(&found), expected);
    let own = Events::of(Target::named("arrow-lake-h").unwrap());
    let found = own.resolve("br_inst_retired.cond").unwrap();
    assert_eq!(found.len(), 3);
    Ok(())
}

fn named() -> Result<(), Failed> {
    let strangers = model::microarchitecture::names().filter(|name| CpuModel::named(name).is_err());
    none(&strangers.map(String::from).collect::<Vec<_>>())?;
    for (typed, family) in [
        ("Zen 4", "zen4"),
        ("zen_4", "zen4"),
        ("Zen 5c", "zen5"),
        ("Neoverse-V2", "neoverse-v2"),
        ("Lunar Lake", "arrow-lake-p"),
        ("Lion Cove", "arrow-lake-p"),
        ("Skymont", "arrow-lake-e"),
        ("Golden Cove", "sapphire-rapids"),
        ("Gracemont (Alder Lake-N)", "alder-lake-e"),
        ("Granite Rapids-D", "granite-rapids"),
        ("Ice Lake-D", "ice-lake-sp"),
        ("Cooper Lake", "skylake-x"),
    ] {
        let target = Target::named(typed).unwrap();
        assert_eq!(target.families().first().map(|it| it.id.as_str()), Some(family), "{typed}");
    }
    assert_eq!(Target::named("Lunar Lake").unwrap().families().len(), 2);
    assert_eq!(Target::named("Lion Cove").unwrap().families().len(), 1);
    assert_eq!(Target::named("Sandy Bridge").unwrap().families()[0].id, "sandy-bridge");
    assert!(Target::named("Penryn").unwrap().families().is_empty());
    assert!(CpuModel::named("Zen Garden").is_err());
    Ok(())
}

/// Lists of both types whose lines stand in any order, are doubled or lack their type: an event of a
/// type of core has that type's code, or is not there.
fn bent() -> Result<(), Failed> {
    let line = prop::sample::select(&[
        ("p.json", "0x40", "Core"),
        ("e.json", "0x20", "Atom"),
        ("l.json", "0x20", "LowPower_Atom"),
        ("p.json", "", ""),
        ("gone.json", "0x40", "Core"),
    ]);
    let lists = [("p.json", "0x40"), ("e.json", "0x20"), ("l.json", "0x21")];
    let config = Config { failure_persistence: None, cases: 200, ..Config::default() };
    TestRunner::new(config)
        .run(&prop::collection::vec(line, 0..6), |lines| {
            let there = TempDir::new().unwrap();
            fs::write(there.path().join("mapfile.csv"), map(&lines)).unwrap();
            for (file, umask) in lists {
                fs::write(there.path().join(file), list(&[("X.Y", umask)])).unwrap();
            }
            let events = events(&there, "GenuineIntel-6-FC");
            for event in &events.of_source(Source::Perfmon).events {
                let right = match event.pmu.as_deref() {
                    Some("cpu_atom") => 0x20c4,
                    Some("cpu_lowpower") => 0x21c4,
                    Some("cpu_core") => 0x40c4,
                    _ => continue,
                };
                prop_assert_eq!(event.config[0], right, "{:?}", lines);
            }
            Ok(())
        })
        .map_err(|error| error.to_string().into())
}
