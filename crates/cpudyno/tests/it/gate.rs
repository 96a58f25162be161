//! `cpudyno gate`: one line, an exit code, and earlier records to be held against.

use std::fs;
use std::path::Path;

use crate::common::{Finished, cpudyno, finish, program};
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

/// What a caller hears: its exit code, and the line.
fn called(caller: &str, machine: &str, args: &[&str]) -> Finished {
    let first = ["gate", "--for", caller, "--machine", machine];
    finish(cpudyno(&[&first[..], args].concat()))
}

#[test]
fn every_simulated_machine_gets_a_verdict_without_bounds() {
    for name in simulated::names() {
        let done = gate(&format!("sim:{name}"), &[]);
        assert_eq!(
            (done.stdout.lines().count(), done.stderr.as_str()),
            (1, ""),
            "{name}: {done:?}"
        );
        let (expected, verdict) = match name {
            // Its firmware holds clocks below what its registers promise.
            "sapphire-locked" => (FAIL, "SIMULATED FAIL: turbo, "),
            _ => (PASS, "SIMULATED PASS: "),
        };
        assert_eq!(done.code, Some(expected), "{name}: {done:?}");
        assert!(done.stdout.starts_with(verdict), "{name}: {done:?}");
    }
}

#[test]
fn each_caller_hears_its_code_in_a_line_that_fits() {
    let bad = ["--min", "turbo.clock@1=9GHz"];
    let open = ["--min", "turbo.clock@99=1GHz"];
    let good = ["--min", "turbo.clock@1=1GHz"];
    for (caller, codes) in [
        ("slurm-prolog", [0, 1, 0]),
        ("slurm-epilog", [0, 1, 0]),
        ("slurm-health", [0, 0, 0]),
        ("nhc", [0, 1, 0]),
        ("npd", [0, 1, 2]),
        ("nagios", [0, 2, 3]),
        ("verdict", [0, 1, 1]),
    ] {
        for ((args, code), word) in
            [&good, &bad, &open].into_iter().zip(codes).zip(["OK", "CLK", "NONE"])
        {
            let done = called(caller, "sim:4c", args);
            assert_eq!((done.code, done.stderr.as_str()), (Some(code), ""), "{caller}: {done:?}");
            assert_eq!(done.stdout.lines().count(), 1, "{caller}: {done:?}");
            let line = match caller {
                "verdict" => {
                    let object: Value = serde_json::from_str(&done.stdout).unwrap();
                    assert_eq!(object["simulated"], "4c");
                    object["line"].as_str().unwrap().to_owned()
                }
                "nagios" => {
                    let (_, line) = done.stdout.split_once(" - ").unwrap();
                    line.split(" | ").next().unwrap().trim_end().to_owned()
                }
                _ => done.stdout.trim_end().to_owned(),
            };
            assert!(line.len() <= 80 && line.is_ascii(), "{line}");
            assert!(line.starts_with(&format!("cpudyno:{word} SIMULATED ")), "{caller}: {line}");
        }
    }
}

#[test]
fn what_was_learned_of_good_machines_is_a_file_that_they_pass_and_others_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("good");
    fs::create_dir(&good).unwrap();
    records(&good, "sim:4c", 8);
    let learned = finish(cpudyno(&["gate", "--learn", good.to_str().unwrap()])).success();
    let file = folder.path().join("bounds.toml");
    fs::write(&file, &learned).unwrap();
    let bounds = ["--bounds", file.to_str().unwrap()];
    let passed = gate("sim:4c", &bounds);
    assert_eq!(passed.code, Some(PASS), "{passed:?}\n{learned}");
    assert!(passed.stdout.contains(" bounds hold"), "{passed:?}");
    // Somebody edits it.
    let harder = learned.replacen("min = \"", "min = \"9", 1);
    assert_ne!(harder, learned);
    fs::write(&file, harder).unwrap();
    assert_eq!(gate("sim:4c", &bounds).code, Some(FAIL));
    let prolog = called("slurm-prolog", "sim:4c", &bounds);
    assert_eq!(prolog.code, Some(1), "{prolog:?}");
    let other = gate("sim:2s-28c", &bounds);
    assert_eq!(other.code, Some(CANNOT), "{other:?}");
    assert!(other.stdout.contains("the bounds are of other machines: CPU `"), "{other:?}");
}

#[test]
fn a_file_of_bounds_that_is_none_says_why_and_drains_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bounds.toml");
    let path = file.to_str().unwrap();
    for (text, why) in [
        (None, "there is no such file"),
        (Some("[[bound]]\nname = \"memory.triadd\"\nmin = \"1GB/s\""), "no result `memory.triadd`"),
        (Some("[[bound]]\nname = \"memory.triad\"\nmin = \"1GHz\""), "`GHz` is no unit of it"),
        (Some("[[bound]]\nname = \"memory.triad\""), "no [[bound]] with min or max"),
        (Some("[[bounds]]"), "unknown field"),
        (Some("\u{0}"), "TOML parse error"),
    ] {
        if let Some(text) = text {
            fs::write(&file, text).unwrap();
        }
        let done = gate("sim:4c", &["--bounds", path]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{done:?}");
        assert!(done.stderr.contains(why) && done.stderr.contains("bounds.toml"), "{done:?}");
        let prolog = called("slurm-prolog", "sim:4c", &["--bounds", path]);
        assert_eq!(prolog.code, Some(0), "{prolog:?}");
        assert!(prolog.stdout.starts_with("cpudyno:NONE cannot use the bounds in "), "{prolog:?}");
    }
}

#[test]
fn options_that_do_not_fit_a_caller_are_refused() {
    for (args, hint) in [
        (&["--for", "slurm"][..], "did you mean `slurm-health`?"),
        (&["--for", "x"], "callers: slurm-prolog, "),
        (&["--drain"], "--for"),
        (&["--learn", ".", "--min", "memory.triad=1GB/s"], ""),
    ] {
        let done = finish(cpudyno(&[&["gate"], args].concat()));
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{args:?}: {done:?}");
        assert!(done.stderr.contains(hint), "{args:?}: {done:?}");
    }
    // One wrong word on all nodes takes none of them out of use.
    for (args, code, hint) in [
        (&["--for", "slurm-prolog", "--drain"][..], 0, "drains a node itself"),
        (&["--for", "slurm-prolog", "--bugdet", "3s"], 0, "did you mean `--budget`?"),
        (&["--for", "slurm-health", "--stagger", "30s"], 0, "give it less"),
        (&["--for=nhc", "-v"], 0, "`cpudyno gate -v`"),
        (&["--for", "npd", "--format", "json"], 2, "--json FILE"),
        (&["--for", "nagios", "--min", "memory.triadd=1GB/s"], 3, "did you mean `memory.triad`?"),
    ] {
        let done = finish(cpudyno(&[&["gate"], args].concat()));
        assert_eq!(done.code, Some(code), "{args:?}: {done:?}");
        assert!(done.stdout.contains("cpudyno:NONE "), "{args:?}: {done:?}");
        assert!(done.stderr.contains(hint), "{args:?}: {done:?}");
    }
    let nothing = tempfile::tempdir().unwrap();
    let done = finish(cpudyno(&["gate", "--learn", nothing.path().to_str().unwrap()]));
    assert_eq!(done.code, Some(CANNOT), "{done:?}");
    assert!(done.stderr.contains("8 are needed"), "{done:?}");
}

#[test]
fn a_node_of_no_slurm_is_left_as_it_is() {
    let args = ["--min", "turbo.clock@1=9GHz", "--drain", "--undrain"];
    let mut command =
        cpudyno(&[&["gate", "--for", "slurm-health", "--machine", "sim:4c"], &args[..]].concat());
    command.env("PATH", "/nowhere");
    let done = finish(command);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stdout.starts_with("cpudyno:CLK SIMULATED turbo.clock@1 "), "{done:?}");
    assert!(done.stderr.contains("left as it is: cannot run scontrol"), "{done:?}");
}

/// Whatever this machine is doing, and although there is too little time for anything.
#[test]
fn there_is_one_answer_when_the_time_is_up() {
    let mut command = cpudyno(&["gate", "--for", "npd", "--budget", "1s"]);
    command.env("CPUDYNO_LOCK", "off");
    let done = finish(command);
    assert_eq!(done.code, Some(2), "{done:?}");
    assert_eq!(done.stdout.lines().count(), 1, "{done:?}");
    assert!(done.stdout.starts_with("cpudyno:NO"), "{done:?}");
}

#[test]
fn a_machine_that_others_use_is_not_measured() {
    let burn = || {
        // It ends by itself, whatever becomes of this test.
        let mut burn = program("sh");
        burn.args(["-c", "i=0; while [ $i -lt 30000000 ]; do i=$((i + 1)); done"]);
        burn.spawn().unwrap()
    };
    let burning = [burn(), burn()];
    let mut command = cpudyno(&["gate", "--for", "slurm-prolog"]);
    command.env("CPUDYNO_LOCK", "off");
    let done = finish(command);
    for mut process in burning {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stdout.starts_with("cpudyno:NOISE busy: others use "), "{done:?}");
}

#[test]
fn a_machine_keeps_the_bounds_that_were_learned_of_it_in_any_time() {
    for machine in ["sim:guide", "sim:laptop", "sim:epyc"] {
        let folder = tempfile::tempdir().unwrap();
        let good = folder.path().join("good");
        fs::create_dir(&good).unwrap();
        records(&good, machine, 8);
        let learned = finish(cpudyno(&["gate", "--learn", good.to_str().unwrap()])).success();
        let file = folder.path().join("bounds.toml");
        fs::write(&file, &learned).unwrap();
        for budget in ["4s", "8s", "30s"] {
            let args = ["--bounds", file.to_str().unwrap(), "--budget", budget];
            let done = finish(cpudyno(&[&["gate", "--machine", machine], &args[..]].concat()));
            assert_eq!(done.code, Some(PASS), "{machine} {budget}: {done:?}\n{learned}");
        }
    }
}

/// A pipe that nobody writes to, or a server that is away.
#[test]
fn a_file_that_never_comes_is_waited_for_until_the_time_is_up() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("bounds.toml");
    let mut mkfifo = program("mkfifo");
    assert_eq!(
        finish({
            mkfifo.arg(&pipe);
            mkfifo
        })
        .code,
        Some(0)
    );
    let args = ["--budget", "2s", "--bounds", pipe.to_str().unwrap()];
    let done = called("nagios", "sim:4c", &args);
    assert_eq!(done.code, Some(3), "{done:?}");
    assert_eq!(done.stdout, "UNKNOWN - cpudyno:NONE not done within 2 s\n");
}
