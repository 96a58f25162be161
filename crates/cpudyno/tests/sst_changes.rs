//! The changing transcripts of the user guide on its own system, in order, each a process of its own, in both
//! faces; what is said where something must not be changed; and whether a feature is worth it.

mod common;

use std::fs;
use std::path::PathBuf;

use common::{Finished, cpudyno, finish};
use machine::Machine;
use model::record::{Proof, ProofAnswer, Record};
use model::stats::paired::{Comparison, Verdict};
use model::{CpuId, Known};
use tempfile::TempDir;

/// The guide's system, whose state lasts from process to process.
struct Guide {
    folder: TempDir,
    name: &'static str,
}

impl Guide {
    fn new() -> Guide {
        Guide::called("guide")
    }

    fn called(name: &'static str) -> Guide {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        Guide { folder, name }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn machine(&self) -> String {
        format!("sim:{}@{}", self.name, self.file().display())
    }

    fn run(&self, line: &str) -> Finished {
        let machine = self.machine();
        let words: Vec<&str> = ["--machine", &machine].into_iter().chain(line.split(' ')).collect();
        finish(cpudyno(&words))
    }

    /// Done, and what was printed.
    fn done(&self, line: &str) -> String {
        let finished = self.run(line);
        assert_eq!(finished.code, Some(0), "{line}: {finished:?}");
        finished.stdout
    }

    /// Refused with that code; nothing was changed.
    fn refused(&self, line: &str, code: i32, why: &str, hint: &str) {
        let before = fs::read(self.file()).unwrap_or_default();
        let finished = self.run(line);
        assert_eq!(
            (finished.code, finished.stdout.as_str()),
            (Some(code), ""),
            "{line}: {finished:?}"
        );
        let said = format!("error: cannot {why}");
        assert!(finished.stderr.contains(&said), "{line}: {finished:?}");
        assert!(finished.stderr.contains(hint), "{line}: {finished:?}");
        assert_eq!(fs::read(self.file()).unwrap_or_default(), before, "{line}");
    }

    /// The file of a CPU.
    fn cpu(&self, cpu: u32, file: &str) -> String {
        let machine = Machine::named(&self.machine()).unwrap();
        machine.tree.read(&format!("/sys/devices/system/cpu/cpu{cpu}/{file}")).unwrap()
    }

    fn base(&self, cpu: u32) -> String {
        self.cpu(cpu, "cpufreq/base_frequency")
    }

    /// What was tried; afterwards everything is as it was.
    fn tried(&self, line: &str) -> Record {
        let machine = self.machine();
        let words = ["--machine", &machine, "sst", "-f", "json", "try"];
        let words: Vec<&str> = words.into_iter().chain(line.split(' ')).collect();
        let before = fs::read_to_string(self.file()).unwrap();
        let finished = finish(cpudyno(&words));
        assert!(matches!(finished.code, Some(0 | 3)), "{line}: {finished:?}");
        // What was never set is not in the file, or empty.
        let state = |text: &str| {
            let all: serde_json::Value = serde_json::from_str(text).unwrap();
            ["firmware", "files"].map(|part| all[part].as_object().cloned().unwrap_or_default())
        };
        assert_eq!(state(&fs::read_to_string(self.file()).unwrap()), state(&before), "{line}");
        serde_json::from_str(&finished.stdout).unwrap()
    }

    fn with(state: &str) -> Guide {
        let guide = Guide::new();
        fs::write(guide.file(), state).unwrap();
        guide
    }

    /// What was set, where it is not as the machine came.
    fn state(&self) -> String {
        let text = fs::read_to_string(self.file()).unwrap();
        let state: serde_json::Value = serde_json::from_str(&text).unwrap();
        format!("{} {}", state["firmware"], state["files"])
    }
}

#[test]
fn the_guide_from_beginning_to_end() {
    let guide = Guide::new();
    assert_eq!(guide.base(0), "2600000");
    let page = guide.done("sst perf-profile set-config-level -l 4 -o");
    assert!(
        page.contains("sst.level") && page.contains("[obeyed] base_frequency: CPUs 0-3,5,"),
        "{page}"
    );
    assert_eq!((guide.base(0), guide.cpu(4, "online")), ("2800000".into(), "0".into()));
    assert_eq!(guide.cpu(5, "online"), "1");
    // The next chapter of the guide is at level 0 again.
    guide.done("sst perf-profile set-config-level -l 0 -o");
    assert_eq!((guide.base(0), guide.cpu(4, "online")), ("2600000".into(), "1".into()));
    guide.done("sst core-power enable");
    let switches = guide.done("sst -c 0 core-power info");
    assert!(switches.contains("supported   on"), "{switches}");
    guide.done("sst core-power config -c 0");
    guide.done("sst core-power config -c 1 -n 2000 -m 3000");
    let classes = guide.done("sst core-power get-config");
    assert!(classes.contains("2000") && classes.contains("3000"), "{classes}");
    guide.done("sst -c 10 core-power assoc -c 3");
    // Once associated, limits of the clock stay as they are.
    guide.refused(
        "set max_freq=2GHz",
        4,
        "set `max_freq`: cores have classes",
        "core-power disable",
    );
    let classes = guide.done("sst -c 10 core-power get-assoc");
    assert!(classes.contains('3'), "{classes}");
    guide.done("sst core-power disable");
    guide.done("set no_turbo=on --no-proof");
    guide.done("sst base-freq enable -a");
    assert_eq!(
        (guide.base(5), guide.base(6), guide.base(3)),
        bases(["3000000", "3000000", "2400000"])
    );
    guide.refused(
        "sst core-power disable",
        4,
        "disable core-power: base-freq is on in package 0",
        "first: `cpudyno sst base-freq disable`",
    );
    guide.done("sst base-freq disable -a");
    assert_eq!(guide.base(5), "2600000");
    guide.refused(
        "sst -c 12,13 turbo-freq enable -a",
        4,
        "enable turbo-freq: turbo is switched off",
        "no_turbo=off",
    );
    guide.done("set no_turbo=off --no-proof");
    guide.done("sst -c 12,13 turbo-freq enable -a");
    let info = guide.done("sst info");
    let is_on = |line: &str| line.starts_with("turbo-freq ") && line.contains(" on; at level");
    assert!(info.lines().any(is_on), "{info}");
    guide.refused(
        "sst core-power disable",
        4,
        "disable core-power: turbo-freq is on in package 0",
        "first: `cpudyno sst turbo-freq disable`",
    );
    guide.done("sst -c 12,13 turbo-freq disable -a");
    guide.done("sst core-power disable");
    let undone = guide.done("undo");
    assert!(undone.contains("done, read back"), "{undone}");
    assert_eq!(guide.state(), "null {}");
}

fn bases([a, b, c]: [&str; 3]) -> (String, String, String) {
    (a.to_owned(), b.to_owned(), c.to_owned())
}

/// What the guide prints of package 0, by its commands.
const TRANSCRIPTS: &[(&str, &[&str])] = &[
    (
        "-d perf-profile set-config-level -l 4 -o",
        &["package-0", "die-0", "cpu-0", "perf-profile", "set_tdp_level:success"],
    ),
    ("perf-profile set-config-level -l 0 -o", &["set_tdp_level:success"]),
    (
        "core-power enable",
        &["package-0", "die-0", "cpu-0", "core-power", "enable:success", "package-1"],
    ),
    ("core-power config -c 0", &["package-0", "die-0", "cpu-0", "core-power", "config:success"]),
    (
        "-c 10 core-power assoc -c 3",
        &["package-0", "die-0", "cpu-10", "core-power", "assoc:success"],
    ),
    ("core-power disable", &["core-power", "disable:success"]),
    (
        "base-freq enable -a",
        &["package-0", "die-0", "cpu-0", "base-freq", "enable:success", "package-1", "cpu-14"],
    ),
    ("base-freq disable -a", &["base-freq", "disable:success"]),
    (
        "-c 12,13 turbo-freq enable -a",
        &[
            "cpu-12",
            "turbo-freq",
            "enable:success",
            "cpu-13",
            "turbo-freq --auto",
            "enable:success",
        ],
    ),
    ("-c 12,13 turbo-freq disable -a", &["turbo-freq", "disable:success"]),
];

#[test]
fn the_guide_in_the_face_of_its_own_tool() {
    let guide = Guide::new();
    for (call, expected) in TRANSCRIPTS {
        let finished = guide.run(&format!("sst --compat {call}"));
        assert_eq!(finished.code, Some(0), "{call}: {finished:?}");
        let mut lines = finished.stderr.lines().map(str::trim);
        for line in *expected {
            assert!(
                lines.any(|shown| shown == *line),
                "{call}: no `{line}` in {}",
                finished.stderr
            );
        }
    }
    guide.done("undo");
    assert_eq!(guide.state(), "null {}");
}

#[test]
fn a_dry_run_shows_each_step_and_writes_nothing() {
    let guide = Guide::new();
    let page = guide.run("sst -c 0 base-freq enable -a --dry-run").success();
    insta::assert_snapshot!("guide-base-freq-dry-run", page);
    let page = guide.done("sst -c 0 perf-profile set-config-level -l 4 -o --dry-run");
    insta::assert_snapshot!("guide-level-dry-run", page);
    assert!(!guide.file().exists());
}

#[test]
fn what_must_not_be_is_explained() {
    let guide = Guide::new();
    guide.refused("sst core-power assoc -c 3", 2, "associate CPUs with class 3: no CPUs", "-c 10");
    guide.refused(
        "sst core-power config -c 0 -n 3000 -m 2000",
        2,
        "configure class 0: the lowest",
        "-n",
    );
    guide.refused(
        "sst base-freq enable",
        4,
        "enable base-freq: core-power is off",
        "base-freq enable -a",
    );
    guide.refused("sst turbo-freq enable -a", 2, "enable turbo-freq: nobody said", "-c 12,13");
    guide.refused(
        "sst perf-profile set-config-level -l 5",
        3,
        "set performance level 5",
        "perf-profile info",
    );
    guide.refused("sst -c 60 base-freq enable -a", 2, "use CPUs 60", "choose among");
    let locked = Guide::called("sapphire-locked");
    fs::write(locked.file(), "{}").unwrap();
    let page = locked.done("sst perf-profile set-config-level -l 0");
    assert!(page.contains("was so already"), "{page}");
    // Who is not root is told so.
    let user = Guide::new();
    fs::write(user.file(), r#"{"faults": ["plain-user"]}"#).unwrap();
    let finished = user.run("sst core-power enable");
    assert_eq!(finished.code, Some(4), "{finished:?}");
    // A driver without the capability, and a firmware that says no, leave nothing behind.
    for fault in ["not-permitted", "refused", "does-not-stick"] {
        let here = Guide::new();
        let faults =
            format!(r#"{{"firmware_faults": [{{"on": "d0/02", "does": "{fault}", "after": 3}}]}}"#);
        fs::write(here.file(), faults).unwrap();
        let finished = here.run("sst core-power enable");
        let code = if fault == "not-permitted" { 4 } else { 3 };
        assert_eq!(finished.code, Some(code), "{fault}: {finished:?}");
        assert!(finished.stderr.contains("error: cannot "), "{fault}: {finished:?}");
    }
}

#[test]
fn a_plan_says_who_gains_and_who_loses() {
    let guide = Guide::new();
    let mut pages = String::new();
    for line in [
        "sst -c 0 plan base-freq",
        "sst -c 12,13 plan turbo-freq",
        "sst -c 0 plan perf-profile -l 4",
    ] {
        pages.push_str(&guide.done(line));
    }
    insta::assert_snapshot!("guide-plans", pages);
    assert!(!guide.file().exists());
    guide.refused("sst plan turbo-freq", 2, "plan turbo-freq: nobody said which CPUs", "-c 12,13");
    // What was planned is what then is.
    guide.done("sst -c 0 base-freq enable -a");
    let after = guide.done("sst -c 0 plan base-freq");
    assert!(after.contains("as it is") && !after.contains("gains"), "{after}");
}

fn comparison(record: &Record) -> &Comparison {
    match &record.comparison.as_ref().unwrap().comparison {
        Known::Yes(found) => found,
        Known::No { unavailable } => panic!("{unavailable:?}"),
    }
}

fn interval(found: &Comparison) -> [f64; 2] {
    match &found.ratio.interval {
        Known::Yes(interval) => [interval.low, interval.high],
        Known::No { unavailable } => panic!("{unavailable:?}"),
    }
}

/// Shorter, though not by all of the gain of the clock.
fn is_shorter(record: &Record, ratio: f64) {
    let found = comparison(record);
    assert_eq!(found.verdict, Verdict::Faster, "{found:?}");
    let [low, high] = interval(found);
    assert!(low > ratio.ln() - 0.004 && high < 0.0, "{ratio}: {found:?}");
}

fn is_gain(record: &Record, ratio: f64) {
    let found = comparison(record);
    assert_eq!(found.verdict, Verdict::Faster, "{found:?}");
    let put_in = ratio.ln();
    let [low, high] = interval(found);
    assert!(low < put_in + 0.004 && high > put_in - 0.004, "{put_in}: {found:?}");
    assert!((found.ratio.centre - put_in).abs() < 0.01, "{put_in}: {found:?}");
}

#[test]
fn turbo_frequencies_give_what_the_description_puts_in() {
    let guide = Guide::with("{}");
    // All cores at work: 3.1 GHz without, 3.2 GHz with it.
    is_gain(&guide.tried("turbo-freq --on 12,13 --workload clock"), 3.2 / 3.1);
    // A round trip takes as much less, but for the exit from idle states.
    let record = guide.tried("turbo-freq --on 12,13");
    is_shorter(&record, 3.1 / 3.2);
    // Two clocks, and the base frequency of every CPU whenever an arm was set.
    let proofs = &record.settings.as_ref().unwrap().proofs;
    let ids: Vec<&str> = proofs.iter().map(|proof| proof.id.as_str()).collect();
    let base = ["base_frequency as A", "base_frequency as B"];
    assert_eq!(ids, ["clock of CPU 12", "clock of CPU 13", base[0], base[1]]);
    assert!(proofs.iter().all(|proof| proof.answer == ProofAnswer::Obeyed), "{proofs:?}");
    let expected = record.speed_select.unwrap().expected;
    assert!(expected.iter().any(|it| it.cpus.to_string() == "12-13,40-41"), "{expected:?}");
}

/// The workload moves to the CPUs that the feature is good for; and a feature is tried at another level, at
/// which both arms are.
#[test]
fn arms_may_run_elsewhere_and_at_another_level() {
    let path = "/sys/devices/system/cpu/intel_pstate/no_turbo";
    let guide = Guide::with(&format!(r#"{{"files": {{"{path}": "1"}}}}"#));
    let record = guide.tried("base-freq --on-a 3,4 --on 5,6 --workload clock");
    is_gain(&record, 3.0 / 2.6);
    let proofs = &record.settings.as_ref().unwrap().proofs;
    let seen = |id: &str| &proofs.iter().find(|proof| proof.id == id).unwrap().seen;
    assert!(seen("clock of CPU 3").ends_with("as A, promised 2600 MHz"), "{proofs:?}");
    assert!(seen("clock of CPU 5").ends_with("as B, promised 3000 MHz"), "{proofs:?}");
    assert!(proofs.iter().all(|proof| proof.answer == ProofAnswer::Obeyed), "{proofs:?}");
    let guide = Guide::with("{}");
    is_gain(&guide.tried("turbo-freq -l 4 --on 0,1 --workload clock"), 3.3 / 3.2);
}

#[test]
fn base_frequencies_give_what_the_description_puts_in_where_turbo_is_off() {
    let path = "/sys/devices/system/cpu/intel_pstate/no_turbo";
    let guide = Guide::with(&format!(r#"{{"files": {{"{path}": "1"}}}}"#));
    is_gain(&guide.tried("base-freq --workload clock"), 3.0 / 2.6);
    let record = guide.tried("base-freq");
    is_shorter(&record, 2.6 / 3.0);
    let proofs = &record.settings.as_ref().unwrap().proofs;
    assert!(proofs.iter().all(|proof| proof.answer == ProofAnswer::Obeyed), "{proofs:?}");
    // Those with the lower base frequency lose.
    let record = guide.tried("base-freq --on 3,4");
    assert_eq!(comparison(&record).verdict, Verdict::Slower);
}

#[test]
fn with_itself_a_machine_shows_no_difference() {
    let guide = Guide::with("{}");
    for line in
        ["turbo-freq --on 12,13 --control --budget 120s", "base-freq --control --budget 120s"]
    {
        let record = guide.tried(line);
        let found = comparison(&record);
        assert!(!matches!(found.verdict, Verdict::Faster | Verdict::Slower), "{line}: {found:?}");
        let [low, high] = interval(found);
        assert!(low <= 0.0 && high >= 0.0, "{line}: {found:?}");
    }
}

/// What is asked for wrongly is said before a level is set; what fails later puts the level back, and says so.
#[test]
fn what_cannot_be_tried_leaves_nothing_set() {
    let guide = Guide::new();
    for (line, why) in [
        ("try turbo-freq -l 4", "nobody said which CPUs are to go first"),
        ("try turbo-freq -l 4 --on 12", "it has two ends"),
        ("try base-freq -l 1 --on-a 3", "it has two ends"),
    ] {
        let finished = guide.run(&format!("sst {line}"));
        assert_eq!(
            (finished.code, finished.stdout.as_str()),
            (Some(2), ""),
            "{line}: {finished:?}"
        );
        assert!(finished.stderr.contains(why), "{line}: {finished:?}");
        assert!(!finished.stderr.contains("put back"), "{line}: {finished:?}");
    }
    let finished = guide.run("sst try base-freq -l 4");
    assert_eq!(finished.code, Some(3), "{finished:?}");
    assert!(finished.stderr.contains("2 former values put back"), "{finished:?}");
    assert_eq!(guide.state(), "null {}");
}

/// What the kernel says of base frequencies is told in every comparison, also where nobody is busy.
#[test]
fn base_frequencies_are_always_looked_at() {
    let guide = Guide::with("{}");
    for line in ["base-freq --busy none --budget 20s", "base-freq --control --budget 20s"] {
        let record = guide.tried(line);
        let proofs = record.settings.unwrap().proofs;
        let is_base = |proof: &Proof| proof.id.starts_with("base_frequency as A");
        assert!(proofs.iter().any(is_base), "{line}: {proofs:?}");
    }
    // A runs in another package, where nothing changes.
    let record = guide.tried("base-freq --on-a 15,16 --on 5,6 --budget 20s");
    let expected = record.speed_select.unwrap().expected;
    let there = expected.iter().find(|it| it.cpus.contains(CpuId(15))).unwrap();
    assert_eq!(Some(&there.now), there.then.as_ref());
}
