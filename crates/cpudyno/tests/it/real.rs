//! Runs on the machine at hand, whatever it is: nothing here asserts a time or a clock, and every
//! budget is short.
#![expect(clippy::print_stderr, reason = "a test that cannot be run here says why")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Finished, Running, cpudyno, finish, program};
use crate::record::checked;

const QUICK: [&str; 3] = ["sheet", "--budget", "1s"];
const QUICK_TURBO: [&str; 5] = ["turbo", "--test", "scalar_iadd,ucomis_clean", "--num-cpus", "1"];

/// Commands that measure, with what makes them last longer than any test.
const LONG: [&[&str]; 2] = [&["sheet", "--budget", "30s"], &["turbo", "--budget", "30s"]];

#[test]
fn a_quick_look_is_a_record_and_a_sheet() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let live = finish(cpudyno(&[&QUICK[..], &["--json", file.to_str().unwrap()]].concat()));
    let live = live.success();
    assert!(live.starts_with("CPU data sheet\n"), "{live}");
    for section in ["Quality: ", "Findings", "clock, ", "GHz"] {
        assert!(live.contains(section), "no {section} in:\n{live}");
    }
    assert!(!live.contains("SIMULATED") && !live.contains("NaN"), "{live}");
    let record = checked(&fs::read_to_string(&file).unwrap());
    assert_eq!((&record.run.simulated, &record.run.interrupted), (&None, &None));
    assert!(!record.series.is_empty() && !record.instruments.is_empty());
    // Paths may name people.
    assert_eq!(record.run.command, ["cpudyno", "sheet", "--budget", "1s", "--json", "FILE"]);
    assert!(finish(cpudyno(&["show", file.to_str().unwrap()])).success() == live);
}

#[test]
fn ctrl_c_leaves_a_record_of_what_was_measured() {
    for command in LONG {
        let finished = interrupted(command, "INT", "stopped by SIGINT");
        assert_eq!(finished.code, Some(130), "{finished:#?}");
    }
}

#[test]
fn sigterm_leaves_a_record_of_what_was_measured() {
    for command in LONG {
        let finished = interrupted(command, "TERM", "stopped by SIGTERM");
        assert_eq!(finished.code, Some(143), "{finished:#?}");
    }
}

/// Sends a signal to a run that would last longer, and checks the record and the page that remain.
fn interrupted(command: &[&str], signal: &str, why: &str) -> Finished {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let running = measuring(command, &file);
    // Enough for some cells on most machines; with none the record must be as good.
    thread::sleep(Duration::from_millis(500));
    send(signal, &running);
    let finished = running.finish();
    let record = checked(&fs::read_to_string(&file).unwrap());
    assert_eq!(record.run.interrupted.as_deref(), Some(why));
    assert!(record.run.plan.blocks_done < record.run.plan.blocks_planned);
    assert!(record.findings.iter().any(|finding| finding.id == "run.interrupted"));
    assert!(finished.stdout.contains(why), "{finished:#?}");
    assert_eq!(finished.stderr, "");
    assert!(finish(cpudyno(&["show", file.to_str().unwrap()])).success() == finished.stdout);
    finished
}

#[test]
fn what_is_killed_leaves_no_half_record() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let running = measuring(LONG[0], &file);
    send("KILL", &running);
    assert_eq!(running.finish().code, None);
    assert!(!file.exists());
}

#[test]
fn a_run_that_stood_still_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    // Few streams are done before it is stopped at all.
    let running = measuring(&["turbo", "--budget", "8s"], &file);
    // Twice, as between two jobs nobody waits who would notice.
    for _ in 0..2 {
        thread::sleep(Duration::from_millis(1200));
        send("STOP", &running);
        thread::sleep(Duration::from_millis(1500));
        send("CONT", &running);
    }
    running.finish().success();
    let record = checked(&fs::read_to_string(&file).unwrap());
    assert!(record.findings.iter().any(|finding| finding.id == "run.stood-still"), "{record:#?}");
}

/// A run of half a minute that has begun to measure.
fn measuring(command: &[&str], file: &Path) -> Running {
    let args = [command, &["--json", file.to_str().unwrap()]].concat();
    let running = Running::start(cpudyno(&args));
    let threads = format!("/proc/{}/task", running.child.id());
    let begun = Instant::now();
    // The first one, the one that waits for signals, and one that measures.
    while fs::read_dir(&threads).unwrap().count() < 3 {
        assert!(begun.elapsed() < Duration::from_mins(1), "it never began to measure");
        thread::sleep(Duration::from_millis(2));
    }
    running
}

fn send(signal: &str, to: &Running) {
    let mut kill = program("sh");
    kill.args(["-c", &format!("kill -s {signal} {}", to.child.id())]);
    finish(kill).success();
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for command in [&QUICK[..], &QUICK_TURBO] {
        for format in ["text", "json"] {
            let mut child = cpudyno(&[command, &["--format", format]].concat()).spawn().unwrap();
            drop(child.stdout.take());
            let finished = Running::of(child).finish();
            let ended = (finished.code, finished.stderr.as_str());
            assert_eq!(ended, (Some(0), ""), "{command:?} as {format}");
        }
    }
}

#[test]
fn neither_home_nor_a_writable_folder_is_needed() {
    let mut bare = cpudyno(&QUICK);
    // Not even root may make files there.
    bare.env_clear().current_dir("/proc");
    let text = finish(bare).success();
    assert!(text.starts_with("CPU data sheet\n"), "{text}");
}

#[test]
fn one_cpu_is_enough() {
    if !has("taskset") {
        return eprintln!("skipped: there is no `taskset` (util-linux)");
    }
    let allowed = status("Cpus_allowed_list");
    let cpu = allowed.split([',', '-']).next().unwrap();
    let mut restricted = program("taskset");
    restricted.args(["-c", cpu, env!("CARGO_BIN_EXE_cpudyno")]);
    restricted.args(QUICK).args(["--json", "-"]);
    let record = checked(&finish(restricted).success());
    assert_eq!(record.run.plan.cpus.to_string(), cpu);
    assert_eq!(record.machine.topology.usable.to_string(), cpu);
    assert_eq!(record.run.plan.active_cores, [1]);
}

#[test]
fn a_plain_user_measures_too() {
    let folder = tempfile::tempdir().unwrap();
    let binary = folder.path().join("cpudyno");
    // By another process: a program cannot be started while anybody has it open for writing, and
    // what this one has open, a child of another test holds for a moment.
    let mut copy = program("cp");
    copy.arg(env!("CARGO_BIN_EXE_cpudyno")).arg(&binary);
    finish(copy).success();
    for path in [folder.path(), &binary] {
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    let root = status("Uid").split_whitespace().next() == Some("0");
    if root && !has("setpriv") {
        return eprintln!("skipped: there is no `setpriv` (util-linux), and this is root");
    }
    for command in [&QUICK[..], &QUICK_TURBO] {
        let mut plain = if root { program("setpriv") } else { program(&binary) };
        if root {
            plain.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&binary);
        }
        // Root owns the folder: a home that can be read and not written.
        plain.current_dir(folder.path()).env("HOME", folder.path());
        plain.args(command).args(["--json", "-"]);
        // That each number is there or has its reason is checked of every record.
        let record = checked(&finish(plain).success());
        assert!(!record.series.is_empty(), "{command:?}");
    }
}

/// A page takes threads where there are some, and is made without.
#[test]
fn a_page_is_made_where_threads_are_scarce() {
    let folder = tempfile::tempdir().unwrap();
    let (binary, record) = (folder.path().join("cpudyno"), folder.path().join("record.json"));
    let mut copy = program("cp");
    copy.arg(env!("CARGO_BIN_EXE_cpudyno")).arg(&binary);
    finish(copy).success();
    let mut sheet = program(&binary);
    sheet.args(["sheet", "--machine", "sim:1c", "--json"]).arg(&record);
    finish(sheet).success();
    for path in [folder.path(), &binary, &record] {
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    // Root has as many as there are.
    let root = status("Uid").split_whitespace().next() == Some("0");
    if !root || !has("setpriv") || !has("prlimit") {
        return eprintln!("skipped: not root, or no `setpriv` and `prlimit` (util-linux)");
    }
    for threads in 1..6 {
        let mut scarce = program("setpriv");
        scarce.args(["--reuid=61236", "--regid=61236", "--clear-groups", "prlimit"]);
        scarce.arg(format!("--nproc={threads}")).arg(&binary);
        scarce.arg("show").arg(&record).args(["--html", "-"]).env("HOME", folder.path());
        let page = finish(scarce).success();
        assert!(page.contains("record.json.gz") && page.ends_with("</html>"), "{threads} threads");
    }
}

/// A line of what the kernel says of this process.
fn status(field: &str) -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.unwrap_or_default().trim().to_owned()
}

/// Whether a program can be run here.
fn has(name: &str) -> bool {
    Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
}
