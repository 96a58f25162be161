//! `cpudyno memory original` on the machine at hand: what is refused before anything runs, and that
//! nothing is left behind when it is stopped.
#![expect(clippy::print_stderr, reason = "a test that cannot be run here says why")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Finished, Running, cpudyno, finish, program};

const LOOPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benchmarks/stream-format/loops.c");

/// The question with this source, on short arrays.
fn original(source: &str, more: &[&str]) -> Command {
    let args = ["memory", "original", "--source", source, "--threads", "1", "--length", "200000"];
    cpudyno(&[&args, more].concat())
}

fn refused(command: Command, code: i32, error: &str, hint: &str) {
    let Finished { code: found, stdout, stderr } = finish(command);
    assert_eq!((found, stdout.as_str()), (Some(code), ""), "{stderr}");
    assert!(stderr.contains(error) && stderr.contains(hint), "{stderr}");
}

fn has_compiler() -> bool {
    let has = Command::new("gcc").arg("--version").output().is_ok();
    if !has {
        eprintln!("skipped: there is no `gcc`");
    }
    has
}

#[test]
fn a_plan_names_the_original_and_refuses_what_the_run_would() {
    let nowhere = original("no-such-file.c", &["--dry-run"]);
    refused(nowhere, 2, "cannot read `no-such-file.c`", "--source FILE");
    let compiler = ["--dry-run", "--compiler", "no-such-cc"];
    refused(original(LOOPS, &compiler), 3, "cannot use compiler `no-such-cc`", "--compiler gcc");
    let elsewhere = original(LOOPS, &["--dry-run", "--machine", "sim:1c"]);
    refused(elsewhere, 3, "runs only on this machine", "");
    if has_compiler() {
        let plan = finish(original(LOOPS, &["--dry-run", "--width", "200"])).success();
        for words in ["SHA-256 ", "gcc", "-DSTREAM_ARRAY_SIZE=200000", "of 200000 elements on CPUs"]
        {
            assert!(plan.contains(words), "no {words} in {plan}");
        }
    }
}

#[test]
fn kernels_that_stream_does_not_have_are_refused() {
    let load = original(LOOPS, &["--kernels", "copy,load"]);
    refused(load, 2, "cannot measure load beside the original STREAM", "`cpudyno memory`");
}

#[test]
fn a_variant_stands_beside_the_original() {
    if !has_compiler() || !cfg!(target_arch = "x86_64") {
        return;
    }
    let asked = ["--variant", "sse", "--budget", "1s", "--width", "200"];
    let page = finish(original(LOOPS, &asked)).success();
    let (_, beside) = page.split_once("Original STREAM beside ours").unwrap();
    let (beside, _) = beside.split_once("Findings").unwrap();
    assert!(beside.contains("ours, as asked for"), "{page}");
    assert!(!beside.contains("not asked for") && !beside.contains("unavailable"), "{page}");
}

/// Signals that come together are one: the benchmark ends, and so does its folder.
#[test]
fn two_interrupts_at_once_leave_nothing_behind() {
    /// Neither ends by itself nor by a signal that it can ignore.
    const ENDLESS: &str = "\
/* STREAM_ARRAY_SIZE Copy Scale Add Triad */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
    signal(SIGINT, SIG_IGN);
    FILE *begun = fopen(\"begun\", \"w\");
    fprintf(begun, \"%d\", (int)getpid());
    fclose(begun);
    for (;;) pause();
}
";
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("stream.c");
    fs::write(&source, ENDLESS).unwrap();
    let temporary = folder.path().join("temporary");
    fs::create_dir(&temporary).unwrap();
    let mut command = original(source.to_str().unwrap(), &[]);
    command.env("TMPDIR", &temporary);
    let running = Running::start(command);
    let pid = begun(&temporary);
    let mut kill = program("sh");
    kill.args(["-c", &format!("kill -INT {0}; kill -INT {0}", running.child.id())]);
    finish(kill).success();
    let finished = running.finish();
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(130), ""), "{finished:?}");
    assert!(finished.stderr.contains("interrupted"), "{finished:?}");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    assert!(!Path::new("/proc").join(&pid).exists(), "process {pid} still runs");
}

/// Waits for the benchmark; its process.
fn begun(temporary: &Path) -> String {
    let start = Instant::now();
    loop {
        let folders = fs::read_dir(temporary).unwrap().flatten();
        let mut files = folders.map(|folder| folder.path().join("begun"));
        let pid = files.find_map(|path: PathBuf| fs::read_to_string(path).ok());
        if let Some(pid) = pid.filter(|pid| !pid.is_empty()) {
            return pid;
        }
        assert!(start.elapsed() < Duration::from_mins(1), "it never began");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn little_address_space_is_counted() {
    let mut limited = program("sh");
    let binary = env!("CARGO_BIN_EXE_cpudyno");
    let script = format!("ulimit -v 200000 && exec {binary} memory --budget 1s --kernels copy");
    limited.args(["-c", &script]);
    let page = finish(limited).success();
    assert!(page.contains("limited by address space of the process"), "{page}");
}

/// Where memory is the limit, the length leaves room for ours after the original.
#[test]
fn the_usual_length_has_room_for_both() {
    if !has_compiler() {
        return;
    }
    let mut limited = program("sh");
    let binary = env!("CARGO_BIN_EXE_cpudyno");
    let asked = "--threads 1 --repetitions 2 --budget 1s --kernels copy,scale,add,triad";
    let script =
        format!("ulimit -v 400000 && exec {binary} memory original --source '{LOOPS}' {asked}");
    limited.args(["-c", &script]);
    let page = finish(limited).success();
    assert!(page.contains("Original STREAM beside ours"), "{page}");
}
