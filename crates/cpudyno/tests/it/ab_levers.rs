//! `ab` with settings of the machine: whatever ends it, they come back.

use std::path::PathBuf;
use std::time::Duration;

use crate::common::{Running, cpudyno, finish};
use crate::signals;
use model::record::Record;
use tempfile::TempDir;

/// A simulated machine between processes, on which nothing is ever decided.
struct Sim(TempDir);

const ARMS: &[&str] = &["--a", "thp=always", "--b", "thp=never", "--a", "epb=15", "--b", "epb=0"];

impl Sim {
    fn new() -> Sim {
        Sim(tempfile::tempdir().unwrap())
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let machine = format!("sim:2s-56c@{}", self.0.path().join("state").display());
        cpudyno(&[args, &["--machine", &machine]].concat())
    }

    fn record_file(&self) -> PathBuf {
        self.0.path().join("r.json")
    }

    /// A comparison of what no workload heeds; it has begun when this returns.
    fn comparison(&self) -> Running {
        let file = self.record_file();
        let one = ["--a", "cpus=0", "--b", "cpus=0", "--band", "0.01", "--budget", "1h"];
        let start = ["ab", "--area", "turbo", "--json", file.to_str().unwrap()];
        let running = Running::start(self.command(&[&start, ARMS, &one].concat()));
        while self.value("thp") == "madvise" {
            std::thread::sleep(Duration::from_millis(10));
        }
        running
    }

    /// What a setting of the machine holds.
    fn value(&self, setting: &str) -> String {
        let args = ["settings", setting, "--json", "-"];
        let listed = finish(self.command(&args));
        let record: Record = serde_json::from_str(&listed.stdout).unwrap();
        record.settings.unwrap().listed[0].value.value().unwrap().clone()
    }

    fn is_as_it_was(&self) -> bool {
        self.value("thp") == "madvise" && self.value("epb") == "0"
    }
}

#[test]
fn a_signal_puts_back_and_keeps_what_was_measured() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let sim = Sim::new();
        let running = sim.comparison();
        signals::send(&running.child, signal);
        let ended = running.finish();
        assert_eq!(ended.code, Some(code), "{signal}: {}", ended.stderr);
        assert!(ended.stderr.contains(" put back"), "{signal}: {}", ended.stderr);
        assert!(ended.stdout.contains("It ended because: interrupted"), "{}", ended.stdout);
        assert!(sim.is_as_it_was(), "{signal}");
        let text = std::fs::read_to_string(sim.record_file()).unwrap();
        let record: Record = serde_json::from_str(&text).unwrap();
        assert_eq!(record.comparison.unwrap().ended, "interrupted");
        let undone = finish(sim.command(&["undo", "--json", "-"]));
        let undone: Record = serde_json::from_str(&undone.stdout).unwrap();
        assert_eq!(undone.settings.unwrap().changes, [], "{signal}: a journal was left");
    }
}

#[test]
fn who_asks_again_and_again_does_not_stop_what_is_put_back() {
    // Within the proof or within a quad, before and after half a second, in which two are one wish.
    for waits in [[0, 0, 0], [0, 30, 60], [0, 600, 100]] {
        let sim = Sim::new();
        let running = sim.comparison();
        for wait in waits {
            std::thread::sleep(Duration::from_millis(wait));
            // Who has ended already hears nothing, and is not waited for yet.
            signals::send(&running.child, "INT");
        }
        let ended = running.finish();
        assert_eq!(ended.code, Some(130), "{waits:?}: {}", ended.stderr);
        assert!(sim.is_as_it_was(), "{waits:?}: {}", ended.stderr);
    }
}

#[test]
fn what_a_killed_comparison_left_is_undone() {
    let sim = Sim::new();
    let mut running = sim.comparison();
    running.child.kill().unwrap();
    assert_eq!(running.finish().code, None);
    assert!(!sim.is_as_it_was());
    let undone = finish(sim.command(&["undo"]));
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert!(sim.is_as_it_was(), "{}", undone.stdout);
}

/// A has to differ from B.
#[test]
fn plans_of_which_nothing_is_here_compare_nothing() {
    let sim = Sim::new();
    let plan = sim.0.path().join("none.plan");
    std::fs::write(&plan, "? boost=off\n").unwrap();
    let plan = format!("@{}", plan.display());
    let arms = ["--a", &plan, "--b", &plan];
    let refused = finish(sim.command(&[&["ab", "--area", "turbo"], &arms[..]].concat()));
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("A would be compared with A"), "{refused:?}");
}
