//! `cpudyno gate`: one line, an exit code, and earlier records to be held against.

mod common;

use std::fs;
use std::path::Path;

use common::{Finished, cpudyno, finish};
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
    assert!(broken.stdout.contains(", below 9000"), "{broken:?}");
}

#[test]
fn what_was_not_measured_is_no_pass() {
    let done = gate("sim:1c", &["--min", "turbo.clock@7=1GHz", "--min", "turbo.clock=1MHz"]);
    assert_eq!(done.code, Some(CANNOT), "{done:?}");
    let expected = "SIMULATED CANNOT JUDGE: turbo.clock@7: it was not measured on 7 cores here\n";
    assert_eq!(done.stdout, expected);
    // A bound that fails is an answer, whatever else is not known.
    let failed = gate("sim:1c", &["--min", "turbo.clock@7=1GHz", "--min", "turbo.clock=1THz"]);
    assert_eq!(failed.code, Some(2), "there is no such unit: {failed:?}");
    let failed = gate("sim:1c", &["--min", "turbo.clock@7=1GHz", "--min", "turbo.clock=1000GHz"]);
    assert_eq!(failed.code, Some(FAIL), "{failed:?}");
}

/// Records of the machine, all of them alike.
fn records(folder: &Path, machine: &str, count: usize) {
    let first = folder.join("0.json");
    let args = ["sheet", "--machine", machine, "--budget", "5s", "--json"];
    finish(cpudyno(&[&args[..], &[first.to_str().unwrap()]].concat())).success();
    for number in 1..count {
        fs::copy(&first, folder.join(format!("{number}.json"))).unwrap();
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

    fs::copy(earlier.join("0.json"), earlier.join("8.json")).unwrap();
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
