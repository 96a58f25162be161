//! `cpudyno pmu list` and `pmu events update`, as people call them.

use std::fs;
use std::path::Path;

use crate::common::{cpudyno, finish};
use serde_json::Value;
use tempfile::TempDir;

/// What the command prints, with exit code and standard error.
fn run(args: &[&str]) -> (String, String, i32) {
    let empty = TempDir::new().unwrap();
    let mut command = cpudyno(args);
    command.env("XDG_CACHE_HOME", empty.path());
    let ended = finish(command);
    (ended.stdout, ended.stderr, ended.code.unwrap())
}

fn json(args: &[&str]) -> Value {
    let empty = TempDir::new().unwrap();
    let mut command = cpudyno(&[args, &["--format", "json"]].concat());
    command.env("XDG_CACHE_HOME", empty.path());
    serde_json::from_str(&finish(command).success()).unwrap()
}

#[test]
fn other_cpus_are_answered_for() {
    for (cpu, event, config) in [
        ("skylake-x", "mem_load_retired.l3_miss", "0x20d1"),
        ("GenuineIntel-6-55-7", "core_power.lvl2_turbo_license", "0x2028"),
        ("sapphire-rapids", "uops_issued.any", "0x1ae"),
        ("GenuineIntel-6-8F", "uops_issued.any", "0x1ae"),
        ("zen4", "de_no_dispatch_per_slot.backend_stalls", "0x100001ea0"),
        ("AuthenticAMD-26-2", "ex_ret_brn_misp", "0xc3"),
        ("neoverse-v1", "stall_slot_backend", "0x3d"),
        ("Sapphire Rapids", "topdown.bad_spec_slots", "0x4a4"),
        ("Lion Cove", "br_inst_retired.cond", "0x100000011c4"),
        ("Zen 5", "ex_ret_instr", "0xc0"),
    ] {
        let list = json(&["pmu", "list", "--cpu", cpu, "--source", "own"]);
        assert_eq!(list["schema"], "cpudyno.events/1");
        let events = list["events"].as_array().unwrap();
        let found = events.iter().find(|it| it["name"] == event).unwrap();
        assert_eq!(found["config"][0], config, "{cpu}");
        assert_eq!(found["type"], Value::Null, "another CPU's events are not counted here");
        assert!(found["description"].as_str().unwrap().ends_with('.'));
    }
}

#[test]
fn patterns_show_descriptions() {
    let (out, _, code) = run(&["pmu", "list", "--cpu", "skylake-x", "mem_load_ret.*l[23]_hit"]);
    assert_eq!(code, 0);
    assert!(out.contains("2 events of GenuineIntel-6-55-4"), "{out}");
    assert!(out.contains("mem_load_retired.l2_hit: Loads retired"), "{out}");
    assert!(!out.contains("l1_hit"), "{out}");
}

/// What the maker's list has by type of core, for a CPU that our own table does not know.
#[test]
fn a_name_with_two_codes_is_two_events() {
    let there = TempDir::new().unwrap();
    let map = "Family-model,Version,Filename,EventType,Core Type,Native Model ID,Core Role Name\n\
               GenuineIntel-6-FB,V1,/e.json,hybridcore,0x20,0x000009,Atom\n\
               GenuineIntel-6-FB,V1,/p.json,hybridcore,0x40,0x000009,Core\n";
    fs::write(there.path().join("mapfile.csv"), map).unwrap();
    for (file, umask) in [("e.json", "0x7e"), ("p.json", "0x11")] {
        let list = format!(r#"[{{"EventName":"X.Y","EventCode":"0xC4","UMask":"{umask}"}}]"#);
        fs::write(there.path().join(file), list).unwrap();
    }
    let folder = there.path().display().to_string();
    let (out, _, code) =
        run(&["pmu", "list", "x.y", "--cpu", "GenuineIntel-6-FB", "--event-dir", &folder]);
    assert_eq!(code, 0);
    let of = |pmu: &str| out.lines().find(|line| line.starts_with(pmu)).unwrap_or_default();
    assert!(
        of("cpu_core/x.y/").contains("0x11c4") && of("cpu_atom/x.y/").contains("0x7ec4"),
        "{out}"
    );
}

#[test]
fn event_0_is_refused_where_it_counts_nothing() {
    let (out, said, code) = run(&["pmu", "list", "--cpu", "spr", "cpu/event=0,umask=8/"]);
    assert!(out.is_empty() && code == 3, "{out}");
    assert!(said.contains("event 0 means only fixed counters"), "{said}");
}

#[test]
fn without_a_pmu_the_kernels_counters_are_left_and_the_reason_is_given() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/machines/vm.capture");
    let machine = folder.display().to_string();
    let list = json(&["--machine", &machine, "pmu", "list"]);
    let events = list["events"].as_array().unwrap();
    let of = |name: &str| events.iter().find(|it| it["name"] == name).unwrap();
    assert_eq!(of("task-clock")["type"], 1);
    assert_eq!(of("cycles")["type"], Value::Null);
    let missing = list["missing"].as_array().unwrap();
    let reason = missing.iter().find(|it| it["what"] == "events of `cpu`").unwrap();
    assert!(!reason["why"].as_str().unwrap().is_empty());
    let (out, _, _) = run(&["--machine", &machine, "pmu", "list"]);
    assert!(out.contains("cycles *") && out.contains("cannot be counted here"), "{out}");
}

#[test]
fn what_is_wrong_is_said_with_what_helps() {
    for (args, code, error, hint) in [
        (
            "list --cpu saphire-rapids",
            2,
            "cannot recognise the CPU",
            "did you mean `sapphire-rapids`?",
        ),
        ("list --cpu 7", 2, "cannot recognise the CPU `7`", "or one of nehalem,"),
        ("list --source nobody", 2, "invalid value 'nobody'", "own, perfmon, kernel and libpfm"),
        (
            "list --cpu zen4 ex_ret_brn_mis_",
            3,
            "cannot find event",
            "did you mean `ex_ret_brn_misp`",
        ),
        ("list --cpu zen4 no.*thing", 3, "cannot find events by `no.*thing`", "cpudyno pmu list"),
        ("list --cpu zen4 ex_(ret", 2, "cannot read pattern `ex_(ret`", "backslash"),
        ("list --cpu zen4 --format csv", 2, "the list of events is no table", "--format json"),
        ("list --cpu zen4 --source perfmon", 3, "cannot list events: no folder", "events update"),
        ("events update --cpu zen4", 3, "cannot fetch lists for AuthenticAMD", "--event-dir DIR"),
    ] {
        let words: Vec<&str> = ["pmu"].into_iter().chain(args.split(' ')).collect();
        let (out, said, exit) = run(&words);
        assert!(out.is_empty(), "{args}: {out}");
        assert_eq!(exit, code, "{args}: {said}");
        assert!(said.contains(error) && said.contains(hint), "{args}: {said}");
    }
}

/// Intel's folder as `curl` sees it, with files of our own.
#[test]
fn lists_are_fetched_and_used() {
    let there = TempDir::new().unwrap();
    let list = there.path().join("SPR/events");
    fs::create_dir_all(&list).unwrap();
    let map = "Family-model,Version,Filename,EventType,Core Type,Native Model ID,Core Role Name\n\
               GenuineIntel-6-8F,V1,/SPR/events/ours.json,core,,,\n\
               GenuineIntel-6-8F,V1,/SPR/metrics/ours.json,metrics,,,\n";
    fs::write(there.path().join("mapfile.csv"), map).unwrap();
    let event = r#"{"Events": [{"EventName": "OURS.ALONE", "EventCode": "0xc6", "UMask": "0x01",
        "MSRIndex": "0x3F7", "MSRValue": "0x11", "Counter": "0,1", "BriefDescription": "Ours."}]}"#;
    fs::write(list.join("ours.json"), event).unwrap();
    let kept = TempDir::new().unwrap();
    let from = format!("file://{}", there.path().display());
    let dir = kept.path().join("events").display().to_string();
    let (out, error, code) =
        run(&["pmu", "events", "update", "--cpu", "spr", "--from", &from, "--event-dir", &dir]);
    assert_eq!((out, code), (format!("1 lists of GenuineIntel-6-8F-8 in `{dir}`\n"), 0), "{error}");
    let found = json(&["pmu", "list", "--cpu", "spr", "--event-dir", &dir, "ours"]);
    assert_eq!(found["events"][0]["name"], "ours.alone");
    assert_eq!(found["events"][0]["config"][1], "0x11");
    assert_eq!(found["events"][0]["counters"], "0-1");
    // What is not there is said, with the command that fetches it elsewhere.
    let nowhere = format!("{from}/nowhere");
    let (_, error, code) =
        run(&["pmu", "events", "update", "--cpu", "spr", "--from", &nowhere, "--event-dir", &dir]);
    assert_eq!(code, 3);
    assert!(error.contains("cannot fetch `file://") && error.contains("curl --fail"), "{error}");
}
