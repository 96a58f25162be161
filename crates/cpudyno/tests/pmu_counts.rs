//! `cpudyno pmu stat` and `cpudyno pmu kernel`, as users call them.

mod common;

use std::process::Command;

use common::{Finished, cpudyno, finish, program};
use serde_json::Value;

fn pmu(args: &[&str]) -> Finished {
    finish(cpudyno(&[&["pmu"], args].concat()))
}

const LOOP: &str = "x=0; while [ $x -lt 3000 ]; do x=$((x+1)); done; (exit 0); true & wait";

/// The rows of the first table of a record that was printed as JSON.
fn counts(json: &str) -> Vec<(String, Option<u64>)> {
    let record: Value = serde_json::from_str(json).unwrap();
    let rows = record["counts"]["tables"][0]["events"].as_array().unwrap();
    let row = |row: &Value| (row["event"].as_str().unwrap().to_owned(), row["count"].as_u64());
    rows.iter().map(row).collect()
}

#[test]
fn the_seeds_loop_on_a_simulated_machine() {
    let page = pmu(&["kernel", "loop", "--machine", "sim:4c", "--width", "100"]).success();
    assert!(page.contains("SIMULATED counts of a loop: machine sim:4c"), "{page}");
    let has =
        |cells: &[&str]| page.lines().any(|line| line.split_whitespace().eq(cells.iter().copied()));
    assert!(has(&["EVENT", "TOTAL", "/loop"]), "{page}");
    assert!(has(&["instructions", "2,000,009", "2.000"]), "{page}");
    assert!(has(&["cycles", "1,000,020", "1.000"]), "{page}");
    assert!(has(&["br_inst_retired.all_branches", "1,000,002", "1.000"]), "{page}");
    assert!(has(&["br_misp_retired.all_branches", "1", "0.000"]), "{page}");
    assert!(has(&["loop", "1,000,000", "1.000"]), "{page}");
}

#[test]
fn the_seeds_checksums_on_a_simulated_machine() {
    let page = pmu(&["kernel", "checksum", "--machine", "sim:2s-56c", "--width", "100"]).success();
    let has =
        |cells: &[&str]| page.lines().any(|line| line.split_whitespace().eq(cells.iter().copied()));
    for title in ["generic", "sse2", "avx2"] {
        assert!(page.contains(&format!("profiling: {title}")), "{page}");
    }
    assert!(has(&["EVENT", "TOTAL", "/byte", "/packet"]), "{page}");
    assert!(has(&["instructions", "421,392,000", "2.926", "4213.920"]), "{page}");
    assert!(has(&["mem_load_retired.l1_hit", "271,584,000", "1.886", "2715.840"]), "{page}");
    assert!(has(&["byte", "144,000,000", "1.000", "1440.000"]), "{page}");
    assert!(has(&["packet", "100,000", "0.001", "1.000"]), "{page}");
}

#[test]
fn the_same_record_gives_the_same_page() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("loop.json");
    let file = file.to_str().unwrap();
    let page = pmu(&["kernel", "loop", "--machine", "sim:4c", "--json", file]).success();
    assert_eq!(finish(cpudyno(&["show", file])).success(), page);
}

#[test]
fn the_passes_are_known_before_anything_is_counted() {
    let events: Vec<String> = (0..6).map(|code| format!("0x{code:x}d3")).collect();
    let mut args = vec!["kernel", "loop", "--machine", "sim:4c", "--dry-run"];
    args.extend(events.iter().flat_map(|event| ["--event", event.as_str()]));
    let page = pmu(&args).success();
    assert!(page.contains("4 general and 3 fixed counters"), "{page}");
    assert!(page.contains("pass 1: instructions, cycles") && page.contains("pass 2:"), "{page}");
    assert!(!page.contains("TOTAL"), "{page}");
}

#[test]
fn here_what_is_missing_has_its_reason() {
    let done = pmu(&["kernel", "checksum", "--packets", "1000", "--width", "120"]);
    // Where nobody may be pinned, nothing is counted, and that is said.
    if done.code == Some(3) {
        return assert!(done.stderr.contains("cannot count"), "{done:?}");
    }
    let page = done.success();
    assert!(page.contains("profiling: generic") && page.contains("1,440,000"), "{page}");
    let absent = |line: &&str| line.split_whitespace().nth(1) == Some("-");
    if page.lines().any(|line| absent(&line)) {
        assert!(page.contains("not counted"), "{page}");
    }
}

#[test]
fn a_command_keeps_its_output_and_its_exit_code() {
    let done = pmu(&["stat", "--", "sh", "-c", "echo said; exit 7"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(7), "said\n"), "{done:?}");
    assert!(done.stderr.contains("exit code 7"), "{done:?}");
    for event in ["task-clock", "page-faults", "context-switches", "cpu-migrations", "elapsed"] {
        assert!(done.stderr.contains(event), "{event}: {done:?}");
    }
    let killed = pmu(&["stat", "--", "sh", "-c", "kill -KILL $$"]);
    assert_eq!(killed.code, Some(128 + 9), "{killed:?}");
    assert!(killed.stderr.contains("killed by signal 9"), "{killed:?}");
}

#[test]
fn a_command_that_cannot_be_executed_is_said() {
    let done = pmu(&["stat", "--", "no-such-program"]);
    assert_eq!(done.code, Some(127), "{done:?}");
    assert!(done.stderr.contains("cannot execute `no-such-program`: there is no such"), "{done:?}");
    assert_eq!(pmu(&["stat", "--", "/"]).code, Some(126));
    assert_eq!(pmu(&["stat"]).code, Some(2));
    assert_eq!(pmu(&["stat", "--machine", "sim:4c", "--", "true"]).code, Some(2));
}

/// What a command starts is counted, too.
#[test]
fn children_are_counted() {
    let faults = |script: &str| {
        let done = pmu(&["stat", "--format", "json", "--", "sh", "-c", script]);
        assert_eq!(done.code, Some(0), "{done:?}");
        let rows = counts(&done.stdout);
        rows.iter().find(|(event, _)| event == "page-faults").and_then(|(_, count)| *count)
    };
    let (Some(one), Some(many)) =
        (faults("exit 0"), faults("for i in 1 2 3 4 5; do (ls /); done >/dev/null"))
    else {
        return; // The kernel lets nobody count here.
    };
    assert!(many > 3 * one, "{one} {many}");
}

#[test]
fn unknown_events_are_no_rows() {
    let done = pmu(&["kernel", "loop", "--machine", "sim:4c", "--event", "cycels"]);
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.stderr.contains("cycels"), "{done:?}");
}

/// Needs `perf`: the page faults of a fixed program, in five runs of each.
#[test]
fn counts_are_those_of_perf_stat() {
    let theirs = |_| {
        let mut perf = program("perf");
        perf.args(["stat", "-x,", "-e", "page-faults", "--", "sh", "-c", LOOP]);
        let stderr = finish(perf).stderr;
        stderr.lines().find_map(|line| line.split(',').next()?.parse::<u64>().ok())
    };
    if Command::new("perf").arg("--version").output().is_err() {
        return; // SKIPPED: there is no `perf` here.
    }
    let Some(theirs): Option<Vec<u64>> = (0..5).map(theirs).collect() else {
        return; // SKIPPED: `perf` may not count here.
    };
    let ours = |_| {
        let done = pmu(&["stat", "--format", "json", "--", "sh", "-c", LOOP]);
        let rows = counts(&done.stdout);
        rows.iter().find(|(event, _)| event == "page-faults").and_then(|(_, count)| *count).unwrap()
    };
    let ours: Vec<u64> = (0..5).map(ours).collect();
    let range = |counts: &[u64]| (*counts.iter().min().unwrap(), *counts.iter().max().unwrap());
    let ((least, most), (their_least, their_most)) = (range(&ours), range(&theirs));
    assert!(least <= their_most && their_least <= most, "{ours:?} {theirs:?}");
}
