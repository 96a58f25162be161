//! `settings`, `set` and `undo`, on simulated machines that keep what is set in a file.

mod plans;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use crate::common::{Running, cpudyno, finish};
use crate::signals;
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
        cpudyno(&[&["--machine", &machine], args].concat())
    }

    fn record(&self, args: &[&str]) -> Record {
        let text = self.done(&[args, &["--json", "-"]].concat());
        serde_json::from_str(&text).unwrap()
    }

    /// What a command printed that must have succeeded; what to know before is on standard error.
    fn done(&self, args: &[&str]) -> String {
        let done = finish(self.command(args));
        assert_eq!(done.code, Some(0), "{args:?}: {}", done.stderr);
        let is_note = |line: &str| line.starts_with("note: ");
        assert!(done.stderr.lines().all(is_note), "{args:?}: {}", done.stderr);
        done.stdout
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
    // Below the base frequency: without turbo there is nothing above it.
    "max_freq=1.8GHz",
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
    sim.done(&["set", "governor=powersave", "--no-proof"]);
    sim.done(&["set", "epp=power", "--no-proof"]);
    assert_eq!(sim.values("epp"), ["power"]);
    sim.done(&["undo"]);
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

/// Held for its time all the same, and put back; but the exit code says that the machine does not obey.
#[test]
fn held_settings_that_are_not_obeyed_are_put_back_with_another_exit_code() {
    let sim = Sim::new("2s-56c");
    fs::write(sim.state(), r#"{"faults":["ignores-settings"]}"#).unwrap();
    let done = finish(sim.command(&["set", "no_turbo=on", "--for", "1s"]));
    assert_eq!((done.code, done.stderr.trim()), (Some(1), "1 former value put back"));
    let words = done.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("set, but the CPU does not obey: the processor chooses"), "{words}");
    assert!(words.contains("bit 0 of MSR 0x770 of CPU 0"), "{words}");
    assert_eq!(sim.values("no_turbo"), ["off"]);
    // It is also said where nothing ends.
    let left = finish(sim.command(&["set", "no_turbo=on"]));
    assert_eq!(left.code, Some(1), "{}", left.stderr);
    assert_eq!(sim.values("no_turbo"), ["on"]);
    sim.done(&["undo"]);
}

#[test]
fn a_request_is_held_for_a_time_or_not_made() {
    let sim = Sim::new("4c");
    assert_eq!(sim.values("cpu_dma_latency"), ["none"]);
    for more in [&[][..], &["--dry-run"]] {
        let args = [&["set", "cpu_dma_latency=20"], more].concat();
        let refused = finish(sim.command(&args));
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains("--for 10m"), "{}", refused.stderr);
    }
    let done = finish(sim.command(&["set", "cpu_dma_latency=20us", "--for", "1s", "--json", "-"]));
    assert_eq!((done.code, done.stderr.trim()), (Some(0), "1 former value put back"));
    let record: Record = serde_json::from_str(&done.stdout).unwrap();
    let proofs = record.settings.unwrap().proofs;
    assert_eq!(proofs[0].answer, ProofAnswer::Obeyed, "{proofs:?}");
    // Where it cannot be opened, it is listed with the reason.
    let listed = Sim::new("2s-56c").done(&["settings", "cpu_dma_latency"]);
    assert!(listed.contains("/dev/cpu_dma_latency"), "{listed}");
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
    // While it is held, nobody is told to undo it.
    let told = || finish(sim.command(&["info"])).stderr;
    assert_eq!(told(), "");
    held.child.kill().unwrap();
    held.finish();
    assert_ne!(sim.all(), before);
    let said = "note: settings that cpudyno changed are still changed (governor, idle.C6, max_freq, \
                thp): `cpudyno undo --machine sim:2s-56c@";
    assert!(told().starts_with(said), "{}", told());
    sim.done(&["undo"]);
    assert_eq!(sim.all(), before);
    assert_eq!(told(), "");
}

#[test]
fn a_plan_writes_nothing() {
    let sim = Sim::new("2s-56c");
    let text = sim.done(&["set", "governor=powersave", "--dry-run"]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("planned") && words.contains("cpu{0-223}/cpufreq"), "{text}");
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

/// A limit beyond what the CPU has is clamped: nobody asked for that value, and it is put back.
#[test]
fn what_a_driver_made_of_a_value_is_put_back() {
    let sim = Sim::new("2s-56c");
    let before = sim.all();
    for (setting, found) in
        [("min_freq@0=5GHz", "reads `3800000`"), ("uncore_max=1650MHz", "reads `1600000`")]
    {
        let refused = finish(sim.command(&["set", setting, "--no-proof"]));
        assert_eq!(refused.code, Some(3), "{}", refused.stderr);
        assert!(refused.stderr.contains(found), "{}", refused.stderr);
        assert!(refused.stderr.contains("nothing was left changed"), "{}", refused.stderr);
        assert_eq!(sim.all(), before, "{setting}");
        assert_eq!(sim.record(&["undo"]).settings.unwrap().changes, []);
    }
}

#[test]
fn a_lost_connection_puts_back_and_an_impatient_user_does_not_stop_it() {
    for signal in ["HUP", "QUIT"] {
        let sim = Sim::new("2s-56c");
        let args = ["set", "epb=15", "--no-proof", "--for", "1h"];
        let held = Running::start(sim.command(&args));
        while sim.values("epb") != ["15"] {
            std::thread::sleep(Duration::from_millis(20));
        }
        signals::send(&held.child, signal);
        // Whether they come before, within or after the 224 writes: nothing stays changed.
        for wait in [0, 20, 40] {
            std::thread::sleep(Duration::from_millis(wait));
            // It may have ended already, and is not waited for yet: then nobody hears it.
            signals::send(&held.child, "INT");
        }
        let ended = held.finish();
        assert!(matches!(ended.code, Some(129..=131)), "{signal}: {ended:?}");
        assert_eq!(sim.values("epb"), ["0"], "{signal}: {}", ended.stderr);
    }
}

#[test]
fn siblings_that_were_off_by_themselves_are_off_again() {
    let sim = Sim::new("2s-56c");
    sim.done(&["set", "online@113=off", "--no-proof"]);
    let before = sim.all();
    let args = ["set", "smt=off", "epb=15", "--no-proof", "--for", "1s"];
    let ended = finish(sim.command(&args));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("`epb` is not set on CPUs that go offline"), "{}", ended.stderr);
    assert_eq!(sim.all(), before);
    sim.done(&["set", "smt=off", "--no-proof"]);
    assert_ne!(sim.all(), before);
    sim.done(&["undo"]);
    assert!(sim.values("smt") == ["on"] && sim.values("online") == ["on"]);
}

#[test]
fn what_cannot_be_told_is_not_done() {
    let sim = Sim::new("2s-56c");
    let before = sim.all();
    for args in [
        &["set", "thp=always", "--no-proof", "--format", "csv"][..],
        &["set", "thp=always", "--no-proof", "--json", "/nowhere/at/all.json"],
        &["undo", "--format", "csv"],
        &["undo", "--json", "/nowhere/at/all.json"],
    ] {
        let refused = finish(sim.command(args));
        assert!(matches!(refused.code, Some(2..=4)), "{args:?}: {refused:?}");
        assert_eq!(sim.all(), before, "{args:?}");
    }
}

#[test]
fn names_and_values_are_checked_with_the_right_words() {
    let sim = Sim::new("2s-56c");
    let unknown = finish(sim.command(&["settings", "idle.C9"]));
    assert_eq!(unknown.code, Some(3));
    assert!(unknown.stderr.contains("idle.C6"), "{}", unknown.stderr);
    sim.done(&["set", "resume_latency=n/a", "--no-proof"]);
    // It is so already.
    let again = sim.record(&["set", "resume_latency=n/a", "--no-proof"]);
    let changes = again.settings.unwrap().changes;
    assert!(changes.iter().all(|change| change.outcome == ChangeOutcome::Already), "{changes:?}");
    let most = finish(sim.command(&["set", "resume_latency=2147483647", "--no-proof"]));
    assert_eq!(most.code, Some(2), "{}", most.stderr);
    // No driver of this machine has it, and another one does the same.
    let boost = finish(sim.command(&["set", "boost=off", "--no-proof"]));
    assert_eq!(boost.code, Some(3));
    assert!(boost.stderr.contains("write `no_turbo`"), "{}", boost.stderr);
    sim.done(&["set", "governor=powersave", "--no-proof"]);
    sim.done(&["set", "epp=17", "--no-proof"]);
    assert_eq!(sim.values("epp"), ["17"]);
    let beyond = finish(sim.command(&["set", "epp=256", "--no-proof"]));
    assert_eq!(beyond.code, Some(2), "{}", beyond.stderr);
}

#[test]
fn what_is_to_be_known_is_said_before() {
    let sim = Sim::new("2s-56c");
    let done = finish(sim.command(&["set", "prefetch.l2=off", "--no-proof"]));
    assert!(done.stderr.contains("taints the kernel"), "{}", done.stderr);
    assert!(!done.stdout.contains("taints the kernel"), "{}", done.stdout);
    let planned = finish(sim.command(&["set", "prefetch.l1=off", "--dry-run"])).stdout;
    assert!(planned.contains("taints the kernel"), "{planned}");
}

#[test]
fn a_simulated_machine_of_one_process_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = cpudyno(&["set", "thp=always", "--no-proof", "--machine", "sim:2s-56c"]);
    command.env("TMPDIR", folder.path());
    assert_eq!(finish(command).code, Some(0));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_spoiled_journal_is_put_back_as_far_as_it_can_be_read() {
    let sim = Sim::new("2s-56c");
    let before = sim.all();
    sim.done(&["set", "thp=always", "no_turbo=on", "--no-proof"]);
    let folder = sim.folder.path().join("state.journal");
    let is_journal = |path: &PathBuf| path.to_string_lossy().ends_with(".jsonl");
    let paths = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let path = paths.into_iter().find(is_journal).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    // A line that was spoiled, and one that somebody else wrote.
    let (head, rest) = text.split_once('\n').unwrap();
    let foreign = r#"{"keeps":{"object":{"file":"/etc/passwd"},"setting":"thp","former":"x"}}"#;
    fs::write(&path, format!("{head}\n{{\"kee\n{foreign}\n{rest}")).unwrap();
    let undone = finish(sim.command(&["undo"]));
    assert_eq!(undone.code, Some(3), "{}", undone.stderr);
    assert!(
        undone.stdout.contains("line 2") && undone.stdout.contains("/etc/passwd"),
        "{undone:?}"
    );
    assert_eq!(sim.all(), before);
    assert!(path.exists());
    sim.done(&["undo", "--keep"]);
    assert!(!path.exists());
    // Who else could have written it is not believed.
    sim.done(&["set", "thp=always", "--no-proof"]);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let refused = finish(sim.command(&["undo"]));
    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    assert!(refused.stderr.contains("others may write"), "{}", refused.stderr);
}

/// A limit of somebody else may be there that nobody sees, and undo would not know it.
#[test]
fn that_turbo_may_hide_a_limit_is_told_before_it_is_changed() {
    let sim = Sim::new("guide");
    let planned = || sim.done(&["set", "max_freq@4=2500MHz", "--dry-run"]);
    assert!(!planned().contains("hides limits"));
    sim.done(&["set", "no_turbo=on", "--no-proof"]);
    assert!(planned().contains("hides limits"));
    sim.done(&["set", "max_freq@4=2400MHz", "--no-proof"]);
    // What shows below the base frequency hides nothing.
    assert!(!planned().contains("hides limits"));
}
