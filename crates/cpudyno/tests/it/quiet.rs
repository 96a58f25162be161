//! `cpudyno quiet`: the command is undisturbed, what was set is put back, and the report says so.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Finished, Running, cpudyno, finish, program};
use serde_json::Value;

/// Watched on a simulated machine whose settings are kept in that folder.
fn quiet(folder: &Path, args: &[&str]) -> Command {
    let machine = format!("sim:4c@{}", folder.join("state").to_str().unwrap());
    let mut command = cpudyno(&[&["quiet", "--machine", &machine], args].concat());
    command.env("CPUDYNO_STATE", folder.join("journal"));
    command
}

/// Whether boost is switched off on that machine.
fn is_boost_off(folder: &Path) -> bool {
    let machine = format!("sim:4c@{}", folder.join("state").to_str().unwrap());
    let mut asked = cpudyno(&["settings", "no_turbo", "--machine", &machine, "--format", "json"]);
    asked.env("CPUDYNO_STATE", folder.join("journal"));
    let record: Value = serde_json::from_str(&finish(asked).stdout).unwrap();
    record["settings"]["listed"][0]["value"] == "on"
}

#[test]
fn the_command_has_its_streams_and_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let done = finish(quiet(folder.path(), &["--", "sh", "-c", "echo out; exit 7"]));
    assert_eq!((done.code, done.stdout.as_str()), (Some(7), "out\n"), "{done:?}");
    assert!(done.stderr.contains("SIMULATED surroundings of a command"), "{done:?}");
    assert!(done.stderr.contains("exit code 7: the command reports that it failed"), "{done:?}");
    // What an exit code means is the command's: `diff` and `grep` have one for an answer.
    assert!(!done.stderr.contains("Do not trust its result"), "{done:?}");
    let mut cat = quiet(folder.path(), &["--", "cat"]);
    cat.stdin(Stdio::piped());
    let mut running = cat.spawn().unwrap();
    running.stdin.take().unwrap().write_all(b"through\n").unwrap();
    let done = Running::of(running).finish();
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "through\n"), "{done:?}");
}

#[test]
fn a_command_that_cannot_be_executed_is_told_as_shells_do() {
    let folder = tempfile::tempdir().unwrap();
    let none = finish(quiet(folder.path(), &["no_turbo=on", "--", "/nowhere/it"]));
    assert_eq!(none.code, Some(127), "{none:?}");
    assert!(none.stderr.contains("error: cannot execute `/nowhere/it`"), "{none:?}");
    assert!(!is_boost_off(folder.path()));
    let file = folder.path().join("text");
    fs::write(&file, "no program").unwrap();
    let no = finish(quiet(folder.path(), &["--", file.to_str().unwrap()]));
    assert_eq!(no.code, Some(126), "{no:?}");
    let nothing = finish(quiet(folder.path(), &["no_turbo=on"]));
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
    assert!(nothing.stderr.contains("hint: name it after two dashes"), "{nothing:?}");
}

fn record(folder: &Path, done: &Finished) -> Value {
    let text = fs::read_to_string(folder.join("r.json"));
    serde_json::from_str(&text.unwrap_or_else(|_| panic!("no record: {done:?}"))).unwrap()
}

#[test]
fn what_was_asked_for_holds_while_it_runs_and_is_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("r.json").to_str().unwrap().to_owned();
    let machine = format!("sim:4c@{}", folder.path().join("state").to_str().unwrap());
    let inner = [env!("CARGO_BIN_EXE_cpudyno"), "settings", "no_turbo", "--machine", &machine];
    let args =
        [&["no_turbo=on", "--json", &json, "--"][..], &inner, &["--format", "json"]].concat();
    let done = finish(quiet(folder.path(), &args));
    assert_eq!(done.code, Some(0), "{done:?}");
    let seen: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(seen["settings"]["listed"][0]["value"], "on");
    assert!(!is_boost_off(folder.path()));
    assert!(done.stderr.contains("1 former value put back"), "{done:?}");
    let record = record(folder.path(), &done);
    assert_eq!(record["quiet"]["ended"]["code"], 0);
    assert_eq!(record["quiet"]["program"], "cpudyno");
    assert_eq!(record["settings"]["changes"][0]["id"], "no_turbo");
    assert_eq!(record["settings"]["proofs"][0]["answer"], "obeyed", "{record}");
    // Arguments may name people: they are in no record.
    let command = record["run"]["command"].as_array().unwrap();
    assert_eq!(command.last().unwrap(), "cpudyno", "{command:?}");
    // Conditions are those that the command ran under.
    let boost = |when: &str| {
        let facts = record["conditions"][when].as_array().unwrap();
        facts.iter().find(|fact| fact["id"] == "cpufreq.boost").unwrap()["value"].clone()
    };
    assert_eq!([boost("before"), boost("after")], ["off", "off"]);
    let shown = finish(cpudyno(&["show", &json])).success();
    assert!(shown.contains("SIMULATED surroundings"), "{shown}");
}

#[test]
fn nothing_is_changed_where_nothing_is_asked_and_by_a_plan() {
    let folder = tempfile::tempdir().unwrap();
    let done = finish(quiet(folder.path(), &["--", "true"]));
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(!folder.path().join("state").exists() && !done.stderr.contains("put back"));
    let plan = finish(quiet(folder.path(), &["no_turbo=on", "--dry-run", "--", "false"]));
    assert_eq!(plan.code, Some(0), "{plan:?}");
    assert!(plan.stderr.contains("planned") && plan.stderr.contains("Nothing was run"), "{plan:?}");
    assert!(!is_boost_off(folder.path()));
}

#[test]
fn a_killed_command_and_ctrl_c_leave_nothing_changed() {
    let folder = tempfile::tempdir().unwrap();
    let killed = finish(quiet(folder.path(), &["no_turbo=on", "--", "sh", "-c", "kill -9 $$"]));
    assert_eq!(killed.code, Some(137), "{killed:?}");
    assert!(killed.stderr.contains("signal 9 ended the command after "), "{killed:?}");
    assert!(killed.stderr.contains(": it has no result"), "{killed:?}");
    assert!(killed.stderr.contains("Do not trust its result"), "{killed:?}");
    assert!(!is_boost_off(folder.path()));

    let begun = folder.path().join("begun");
    let script = format!("touch {}; sleep 60", begun.to_str().unwrap());
    let mut command = quiet(folder.path(), &["no_turbo=on", "--", "sh", "-c", &script]);
    // A terminal sends Ctrl-C to all of them.
    command.process_group(0);
    let running = Running::start(command);
    let patience = std::time::Instant::now();
    while !begun.exists() && patience.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(is_boost_off(folder.path()));
    let group = format!("-{}", running.child.id());
    assert!(program("kill").args(["-INT", "--", &group]).status().unwrap().success());
    let done = running.finish();
    assert_eq!(done.code, Some(130), "{done:?}");
    assert!(!is_boost_off(folder.path()), "{done:?}");
}

#[test]
fn where_it_cannot_be_told_what_helps_is() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("r.json").to_str().unwrap().to_owned();
    let done = finish(quiet(folder.path(), &["--json", &json, "--", "true"]));
    let mut record = record(folder.path(), &done);
    assert_eq!(record["quiet"]["trust"], "cannot-tell", "{record}");
    let shown = |record: &Value| {
        fs::write(&json, record.to_string()).unwrap();
        finish(cpudyno(&["show", &json])).success()
    };
    assert!(!shown(&record).contains("->"));
    record["quiet"]["others"]["unavailable"]["remedy"] = "run it several times".into();
    let text = shown(&record);
    assert!(text.contains("is not known.\n\n-> run it several times\n"), "{text}");
}

#[test]
fn a_key_is_taken_before_and_after_by_turns_and_its_absence_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json").display().to_string();
    let lock = folder.path().join("lock");
    let watched = |more: &[&str]| {
        let args = [&["--json", &file], more, &["--", "true"]].concat();
        let mut command = quiet(folder.path(), &args);
        command.env("CPUDYNO_LOCK", &lock);
        record(folder.path(), &finish(command))
    };
    let keys = |record: &Value| record["keys"].as_array().map_or(0, Vec::len);
    let unknown = |record: &Value| {
        let findings = record["findings"].as_array().unwrap();
        findings.iter().find(|it| it["id"] == "quiet.machine-unknown").cloned()
    };
    let free = watched(&[]);
    assert_eq!((keys(&free), unknown(&free)), (2, None));
    let held = fs::File::create(&lock).unwrap();
    held.lock().unwrap();
    let busy = watched(&[]);
    assert_eq!(keys(&busy), 0);
    let text = unknown(&busy).unwrap()["text"].to_string();
    assert!(text.contains("this host was measured by "), "{text}");
    let without = watched(&["--no-key"]);
    assert_eq!((keys(&without), unknown(&without)), (0, None));
}

#[test]
fn a_setting_that_is_not_there_is_told_and_the_command_runs() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["no_turbo=on", "--", "true"];
    let on_vm = |more: &[&str]| {
        let all = [&["quiet", "--machine", "sim:vm-2c"], more, &args].concat();
        finish(cpudyno(&all))
    };
    let done = on_vm(&[]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stderr.contains("requested but not set"), "{done:?}");
    assert!(done.stderr.contains("Do not trust its result"), "{done:?}");
    let strict = on_vm(&["--strict"]);
    assert_eq!((strict.code, strict.stdout.as_str()), (Some(4), ""), "{strict:?}");
    assert!(strict.stderr.contains("error: cannot set no_turbo=on"), "{strict:?}");
    // What was typed wrongly is an error in any case.
    let wrong = finish(quiet(folder.path(), &["no_turbos=on", "--", "true"]));
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("did you mean `no_turbo`?"), "{wrong:?}");
}
