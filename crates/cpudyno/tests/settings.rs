//! `settings`, `set` and `undo`, on simulated machines that keep what is set in a file.

mod common;
mod signals;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use common::{Running, cpudyno, finish};
use model::record::{ChangeOutcome, ProofAnswer, Record};
use tempfile::TempDir;

/// A simulated machine between processes.
struct Sim {
    folder: TempDir,
    name: &'static str,
}

impl Sim {
    fn new(name: &'static str) -> Sim {
        Sim { folder: tempfile::tempdir().unwrap(), name }
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let machine = format!("sim:{}@{}", self.name, self.state().display());
        cpudyno(&[args, &["--machine", &machine]].concat())
    }

    fn record(&self, args: &[&str]) -> Record {
        let text = finish(self.command(&[args, &["--json", "-"]].concat())).success();
        serde_json::from_str(&text).unwrap()
    }

    /// What a setting holds, everywhere.
    fn values(&self, setting: &str) -> Vec<String> {
        let listed = self.record(&["settings", setting]).settings.unwrap().listed;
        listed.into_iter().map(|s| s.value.value().unwrap().clone()).collect()
    }

    /// All settings as they are.
    fn all(&self) -> Vec<model::record::Setting> {
        self.record(&["settings"]).settings.unwrap().listed
    }
}

/// Settings of `sim:2s-56c` with another value than they come with.
const OTHERS: &[&str] = &[
    "governor=powersave",
    "epb=15",
    "no_turbo=on",
    "min_freq=1.2GHz",
    "max_freq=2.4GHz",
    "uncore_min=1200MHz",
    "uncore_max=1.6GHz",
    "resume_latency=10",
    "resume_latency@3=n/a",
    "idle.C6=off",
    "thp=always",
    "thp_defrag=never",
    "huge_pages=64",
    "numa_balancing=0",
    "online@7=off",
    "smt=off",
    "prefetch.l2=off",
];

#[test]
fn every_setting_is_set_read_back_and_undone_exactly() {
    let sim = Sim::new("2s-56c");
    let before = sim.all();
    for setting in OTHERS {
        let args = ["set", setting, "--no-proof"];
        let record = sim.record(&args);
        let changes = record.settings.unwrap().changes;
        assert!(!changes.is_empty(), "{setting}");
        let made = changes.iter().filter(|change| change.outcome == ChangeOutcome::Done).count();
        assert_eq!(made, changes.len(), "{setting}");
    }
    assert_ne!(sim.all(), before);
    let undone = sim.record(&["undo"]);
    assert!(undone.settings.unwrap().changes.len() > OTHERS.len());
    assert_eq!(sim.all(), before);
    // There is nothing left.
    assert_eq!(sim.record(&["undo"]).settings.unwrap().changes, []);
    // Every lever that this machine has was moved.
    let is_moved = |id: &str| OTHERS.iter().any(|other| other.split(['=', '@']).next() == Some(id));
    let left: Vec<&str> = before
        .iter()
        .filter(|s| s.value.value().is_some() && s.of.as_deref() != Some("an arm of `cpudyno ab`"))
        .map(|s| s.id.as_str())
        .filter(|id| !is_moved(id) && !id.starts_with("idle.") && !id.starts_with("prefetch."))
        .collect();
    assert_eq!(left, ["epp"], "under governor performance it cannot be set");
}

#[test]
fn what_should_change_is_measured() {
    let proof = |setting: &str| {
        let sim = Sim::new("2s-56c");
        let mut proofs = sim.record(&["set", setting]).settings.unwrap().proofs;
        assert_eq!(proofs.len(), 1, "{setting}");
        proofs.remove(0)
    };
    for setting in [
        "no_turbo=on",
        "max_freq=2GHz",
        "idle.C6=off",
        "resume_latency=1",
        "online@9=off",
        "governor=powersave",
        "uncore_max=2GHz",
        "prefetch.l2=off",
    ] {
        let proof = proof(setting);
        assert_eq!(proof.answer, ProofAnswer::Obeyed, "{setting}: {proof:?}");
        assert!(proof.load != "none", "{proof:?}");
    }
    // No load makes it visible.
    for setting in ["max_freq@3=3.7GHz", "thp=always", "numa_balancing=0", "epb=3"] {
        let proof = proof(setting);
        let expected = if setting.starts_with("max_freq") {
            ProofAnswer::Obeyed
        } else {
            ProofAnswer::NotObservable
        };
        assert_eq!(proof.answer, expected, "{setting}: {proof:?}");
    }
}

#[test]
fn governor_takes_its_preference_along_and_back() {
    let sim = Sim::new("2s-56c");
    assert_eq!(sim.values("epp"), ["performance"]);
    let refused = finish(sim.command(&["set", "epp=power", "--no-proof"]));
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("under governor") || refused.stderr.contains("busy"),
        "{}",
        refused.stderr
    );
    finish(sim.command(&["set", "governor=powersave", "--no-proof"])).success();
    finish(sim.command(&["set", "epp=power", "--no-proof"])).success();
    assert_eq!(sim.values("epp"), ["power"]);
    finish(sim.command(&["undo"])).success();
    assert_eq!(sim.values("governor"), ["performance"]);
    assert_eq!(sim.values("epp"), ["performance"]);
}

#[test]
fn held_settings_end_with_their_time_and_with_a_signal() {
    let sim = Sim::new("2s-56c");
    let done = finish(sim.command(&["set", "no_turbo=on", "--no-proof", "--for", "1s"]));
    assert_eq!((done.code, done.stderr.trim()), (Some(0), "1 former value put back"));
    assert_eq!(sim.values("no_turbo"), ["off"]);
    let held = Running::start(sim.command(&["set", "no_turbo=on", "--no-proof", "--for", "1h"]));
    while sim.values("no_turbo") != ["on"] {
        std::thread::sleep(Duration::from_millis(20));
    }
    // Meanwhile nobody else may.
    let second = finish(sim.command(&["set", "thp=never", "--no-proof"]));
    assert_eq!(second.code, Some(4), "{}", second.stderr);
    assert!(second.stderr.contains("`cpudyno set, process "), "{}", second.stderr);
    signals::send(&held.child, "INT");
    let ended = held.finish();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stderr.contains("1 former value put back"), "{}", ended.stderr);
    assert_eq!(sim.values("no_turbo"), ["off"]);
}

#[test]
fn what_a_killed_process_left_is_undone() {
    let sim = Sim::new("2s-56c");
    let before = sim.all();
    let settings = ["governor=powersave", "max_freq=2GHz", "idle.C6=off", "thp=always"];
    let args = [&["set"][..], &settings, &["--no-proof", "--for", "1h"]].concat();
    let mut held = Running::start(sim.command(&args));
    while sim.values("thp") != ["always"] {
        std::thread::sleep(Duration::from_millis(20));
    }
    held.child.kill().unwrap();
    held.finish();
    assert_ne!(sim.all(), before);
    finish(sim.command(&["undo"])).success();
    assert_eq!(sim.all(), before);
}

#[test]
fn a_plan_writes_nothing() {
    let sim = Sim::new("2s-56c");
    let text = finish(sim.command(&["set", "governor=powersave", "--dry-run"])).success();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("planned") && words.contains("and 223 more"), "{text}");
    assert_eq!(sim.values("governor"), ["performance"]);
    assert_eq!(fs::read_dir(sim.folder.path()).unwrap().count(), 0, "a file was left");
}

#[test]
fn several_settings_are_all_set_or_none() {
    let sim = Sim::new("2s-56c");
    let refused =
        finish(sim.command(&["set", "thp=always", "max_freq=1GHz", "min_freq=2GHz", "--no-proof"]));
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert_eq!(sim.values("thp"), ["madvise"]);
    assert_eq!(sim.values("max_freq"), ["3800MHz"]);
    assert_eq!(sim.record(&["undo"]).settings.unwrap().changes, []);
}

#[test]
fn a_capture_is_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("c.capture");
    let capture = capture.to_str().unwrap();
    assert_eq!(finish(cpudyno(&["capture", capture, "--machine", "sim:1c"])).code, Some(0));
    let refused = finish(cpudyno(&["set", "thp=never", "--machine", capture]));
    assert_eq!(refused.code, Some(4));
    assert!(refused.stderr.contains("cannot set anything"), "{}", refused.stderr);
    let listed = finish(cpudyno(&["settings", "--machine", capture])).success();
    assert!(listed.contains("nothing can be written to a recorded machine"), "{listed}");
}
