//! `cpudyno gate`: one line, an exit code, and earlier records to be held against.

use std::fs;
use std::path::Path;

use crate::common::{Finished, cpudyno, finish};
use serde_json::Value;

const PASS: i32 = 0;
const FAIL: i32 = 1;
const CANNOT: i32 = 3;

fn gate(machine: &str, args: &[&str]) -> Finished {
    let first = ["gate", "--machine", machine, "--budget", "5s"];
    finish(cpudyno(&[&first[..], args].concat()))
}

#[test]
fn a_bound_holds_or_does_not_and_says_so_in_one_line() {
    let held = gate("sim:4c", &["--min", "memory.triad=1GB/s", "--max", "wake.latency=1s"]);
    assert_eq!((held.code, held.stderr.as_str()), (Some(PASS), ""), "{held:?}");
    assert_eq!(held.stdout, "SIMULATED PASS: 2 bounds hold\n");
    let one = gate("sim:4c", &["--min", "turbo.avx256_fma@1=1GHz"]).success();
    assert!(one.starts_with("SIMULATED PASS: turbo.avx256_fma@1 is "), "{one}");
    assert!(one.ends_with(" on 1 core, at least 1.000 GHz\n"), "{one}");
    let broken = gate("sim:4c", &["--min", "memory.triad=9TB/s", "--min", "turbo.clock=1GHz"]);
    assert_eq!((broken.code, broken.stderr.as_str()), (Some(FAIL), ""), "{broken:?}");
    assert_eq!(broken.stdout.lines().count(), 1, "{broken:?}");
    assert!(broken.stdout.starts_with("SIMULATED FAIL: memory.triad is "), "{broken:?}");
    assert!(broken.stdout.contains(", below 9.000 TB/s"), "{broken:?}");
}

#[test]
fn what_was_not_measured_is_no_pass() {
    let done = gate("sim:1c", &["--min", "turbo.clock@7=1GHz", "--min", "turbo.clock=1MHz"]);
    assert_eq!(done.code, Some(CANNOT), "{done:?}");
    let expected = "SIMULATED CANNOT JUDGE: turbo.clock@7: it was not measured on 7 cores here";
    assert!(done.stdout.starts_with(expected), "{done:?}");
    // A bound that fails is an answer, whatever else is not known.
    let failed = gate("sim:1c", &["--min", "turbo.clock@7=1GHz", "--min", "turbo.clock=1THz"]);
    assert_eq!(failed.code, Some(2), "there is no such unit: {failed:?}");
    let failed = gate("sim:1c", &["--min", "turbo.clock@7=1GHz", "--min", "turbo.clock=1000GHz"]);
    assert_eq!(failed.code, Some(FAIL), "{failed:?}");
}

/// A record as that of another run.
fn renamed(record: &[u8], number: usize) -> String {
    let mut record: Value = serde_json::from_slice(record).unwrap();
    record["run"]["id"] = format!("run{number}").into();
    record.to_string()
}

#[test]
fn what_did_not_fit_into_the_time_is_no_pass() {
    let of = |budget: &str| {
        let args = ["gate", "--machine", "sim:2s-28c", "--min", "turbo.clock=2.8GHz"];
        finish(cpudyno(&[&args[..], &["--budget", budget]].concat()))
    };
    let short = of("1s");
    assert_eq!(short.code, Some(CANNOT), "{short:?}");
    assert!(short.stdout.contains("did not fit"), "{short:?}");
    // With more time the stream that breaks it is among those that were measured.
    assert_eq!(of("20s").code, Some(FAIL));
}

#[test]
fn why_a_folder_has_no_record_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    fs::write(file("cut.json"), r#"{"schema": "cpudyno.record/1.0", "#).unwrap();
    fs::write(file("later.json"), r#"{"schema": "cpudyno.record/99.0"}"#).unwrap();
    let done = gate("sim:4c", &["--reference", folder.path().to_str().unwrap()]);
    assert_eq!(done.code, Some(2), "{done:?}");
    for why in ["of another version of cpudyno", "cut off or damaged"] {
        assert!(done.stderr.contains(&format!("1 file left out: {why}")), "{done:?}");
    }
}

#[test]
fn one_run_is_one_record_however_often_it_lies_there() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let args = ["sheet", "--machine", "sim:4c", "--budget", "5s"];
    let files = ["--json", &file("0.json"), "--html", &file("0.html")];
    finish(cpudyno(&[&args[..], &files].concat())).success();
    for number in 1..8 {
        fs::copy(file("0.json"), file(&format!("{number}.json"))).unwrap();
    }
    let done = gate("sim:4c", &["--reference", folder.path().to_str().unwrap()]);
    assert_eq!(done.code, Some(CANNOT), "{done:?}");
    assert!(done.stdout.contains("1 earlier record of such a machine is too few"), "{done:?}");
    assert!(done.stdout.trim_end().ends_with("8 are needed (8 files left out: -v)"), "{done:?}");
    fs::write(folder.path().join("none.json"), "{}").unwrap();
    let all = gate("sim:4c", &["-v", "--reference", folder.path().to_str().unwrap()]);
    assert!(all.stdout.contains("1 file left out: no record"), "{all:?}");
}

#[test]
fn results_that_earlier_records_do_not_have_are_not_called_few_records() {
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("0.json");
    let args = ["memory", "--machine", "sim:4c", "--kernels", "copy", "--json"];
    finish(cpudyno(&[&args[..], &[first.to_str().unwrap()]].concat())).success();
    let record = fs::read(&first).unwrap();
    for number in 1..8 {
        fs::write(folder.path().join(format!("{number}.json")), renamed(&record, number)).unwrap();
    }
    let reference = ["--reference", folder.path().to_str().unwrap()];
    let args = ["--min", "turbo.clock@1=1GHz"];
    let done = gate("sim:4c", &[&args[..], &reference].concat());
    assert_eq!(done.code, Some(CANNOT), "{done:?}");
    assert!(done.stdout.contains("none is in 8 or more of 8 earlier records"), "{done:?}");
}

#[test]
fn a_sheet_says_where_its_results_lie() {
    let folder = tempfile::tempdir().unwrap();
    records(folder.path(), "sim:4c", 8);
    let args = ["sheet", "--machine", "sim:4c", "--budget", "5s", "--all", "--reference"];
    let text = finish(cpudyno(&[&args[..], &[folder.path().to_str().unwrap()]].concat())).success();
    assert!(text.contains("Results among earlier records of such machines"), "{text}");
    assert!(text.contains("where 8 earlier records of such machines do; 0 outside"), "{text}");
}

/// Records of the machine, all of them alike but for the run.
fn records(folder: &Path, machine: &str, count: usize) {
    let first = folder.join("0.json");
    let args = ["sheet", "--machine", machine, "--budget", "5s", "--json"];
    finish(cpudyno(&[&args[..], &[first.to_str().unwrap()]].concat())).success();
    let record = fs::read(&first).unwrap();
    for number in 1..count {
        fs::write(folder.join(format!("{number}.json")), renamed(&record, number)).unwrap();
    }
}

#[test]
fn a_machine_is_held_against_earlier_records_of_its_kind() {
    let folder = tempfile::tempdir().unwrap();
    let earlier = folder.path().join("records");
    fs::create_dir(&earlier).unwrap();
    records(&earlier, "sim:4c", 7);
    let reference = ["--reference", earlier.to_str().unwrap()];
    let few = gate("sim:4c", &reference);
    assert_eq!(few.code, Some(CANNOT), "{few:?}");
    assert!(few.stdout.contains("7 earlier records of such a machine are too few"), "{few:?}");

    let eighth = renamed(&fs::read(earlier.join("0.json")).unwrap(), 8);
    fs::write(earlier.join("8.json"), eighth).unwrap();
    // What is none is no trouble, and is counted.
    fs::write(earlier.join("cut.json"), &fs::read(earlier.join("0.json")).unwrap()[..5000])
        .unwrap();
    fs::write(earlier.join("other.json"), "{}").unwrap();
    let usual = gate("sim:4c", &reference);
    assert_eq!(usual.code, Some(PASS), "{usual:?}");
    assert!(usual.stdout.contains("lie where 8 earlier records do"), "{usual:?}");

    let state = folder.path().join("state");
    let slowed = format!("sim:4c@{}", state.to_str().unwrap());
    let mut set = cpudyno(&["set", "no_turbo=on", "--machine", &slowed]);
    set.env("CPUDYNO_STATE", folder.path().join("journal"));
    assert_eq!(finish(set).code, Some(0));
    let slow = gate(&slowed, &[&reference[..], &["--format", "json"]].concat());
    assert_eq!(slow.code, Some(FAIL), "{slow:?}");
    let record: Value = serde_json::from_str(&slow.stdout).unwrap();
    assert_eq!(record["gate"]["verdict"], "fail");
    assert!(record["gate"]["reason"].as_str().unwrap().contains(" below the median "));
    assert_eq!(record["reference"]["records"], 8);
    assert_eq!(record["reference"]["left_out"].as_array().unwrap().len(), 2);

    let other = gate("sim:1c", &reference);
    assert_eq!(other.code, Some(CANNOT), "{other:?}");
    assert!(other.stdout.contains("0 earlier records of such a machine"), "{other:?}");
}

#[test]
fn a_record_of_it_is_shown_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gate.json");
    let args = ["--min", "memory.triad=1GB/s", "-v", "--width", "90", "--json"];
    let live = gate("sim:4c", &[&args[..], &[file.to_str().unwrap()]].concat()).success();
    assert!(live.contains("SIMULATED PASS") && live.contains("holds"), "{live}");
    assert_eq!(finish(cpudyno(&["show", file.to_str().unwrap()])).success(), live);
}
