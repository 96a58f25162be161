//! Whether a feature is worth it, on machines of which that is known: the method of the user guide.

use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use levers::Session;
use levers::journal::JournalDir;
use machine::Machine;
use measure::ab::{self, AbSubject, Comparing, Metric};
use measure::run::arm_env::ArmEnv;
use model::record::{
    ArmClock, BusyClocks, CpuRole, PageKind, Presentation, Proof, ProofAnswer, Record,
};
use model::stats::paired::{Arm as Side, Comparison, Verdict};
use model::{CpuId, CpuSet, Known, Seconds};
use rig::executor::Stop;
use simulated::Model;
use sst::change::{What, Wish};

use crate::common::{Running, cpudyno, finish};
use crate::guide::Guide;
use crate::signals;

const NO_TURBO: &str = r#"{"files": {"/sys/devices/system/cpu/intel_pstate/no_turbo": "1"}}"#;

impl Guide {
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

/// What a round trip takes with a clock, by the description of the guide's system: two signals, and each time the way
/// out of an idle state, which takes no cycles of the core.
fn round_trip(gigahertz: f64) -> f64 {
    let guide = simulated::Model::named("guide").unwrap();
    let way = guide.signals["pipe"].seconds + guide.distance.same_cache_seconds;
    // Who waits for two signals is in C1E.
    let exit = guide.idle.iter().find(|state| state.name == "C1E").unwrap().exit_latency_seconds;
    2.0 * (way * guide.bin_hz(0, 1) / (gigahertz * 1e9) + exit)
}

/// Shorter, as two clocks in gigahertz make it.
fn is_shorter(record: &Record, [before, after]: [f64; 2]) {
    is_gain(record, round_trip(after) / round_trip(before));
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
    let guide = Guide::with("guide", "{}");
    // All cores at work: 3.1 GHz without, 3.2 GHz with it.
    is_gain(&guide.tried("turbo-freq --on 12,13 --workload clock"), 3.2 / 3.1);
    // A round trip takes as much less, but for the exit from idle states.
    let record = guide.tried("turbo-freq --on 12,13");
    is_shorter(&record, [3.1, 3.2]);
    // Two clocks, those of all who were busy, and the base frequency of every CPU whenever an arm was set.
    let proofs = &record.settings.as_ref().unwrap().proofs;
    let ids: Vec<&str> = proofs.iter().map(|proof| proof.id.as_str()).collect();
    let clocks = ["clock of CPU 12", "clock of CPU 13", "clock of busy CPUs 0-11"];
    assert_eq!(ids, [&clocks[..], &["base_frequency as A", "base_frequency as B"]].concat());
    assert!(proofs.iter().all(|proof| proof.answer == ProofAnswer::Obeyed), "{proofs:?}");
    let expected = record.speed_select.unwrap().expected;
    assert!(expected.iter().any(|it| it.cpus.to_string() == "12-13,40-41"), "{expected:?}");
}

/// The workload moves to the CPUs that the feature is good for; and a feature is tried at another level, at
/// which both arms are.
#[test]
fn arms_may_run_elsewhere_and_at_another_level() {
    let guide = Guide::with("guide", NO_TURBO);
    let record = guide.tried("base-freq --on-a 3,4 --on 5,6 --workload clock");
    is_gain(&record, 3.0 / 2.6);
    let proofs = &record.settings.as_ref().unwrap().proofs;
    let seen = |id: &str| &proofs.iter().find(|proof| proof.id == id).unwrap().seen;
    assert!(
        seen("clock of CPU 3").ends_with("as A, promised 2600 MHz (at most, turbo is off)"),
        "{proofs:?}"
    );
    let fast = "as B, promised 3000 MHz (at most, turbo is off)";
    assert!(seen("clock of CPU 5").ends_with(fast), "{proofs:?}");
    assert!(proofs.iter().all(|proof| proof.answer == ProofAnswer::Obeyed), "{proofs:?}");
    let guide = Guide::with("guide", "{}");
    is_gain(&guide.tried("turbo-freq -l 4 --on 0,1 --workload clock"), 3.3 / 3.2);
}

#[test]
fn base_frequencies_give_what_the_description_puts_in_where_turbo_is_off() {
    let guide = Guide::with("guide", NO_TURBO);
    is_gain(&guide.tried("base-freq --workload clock"), 3.0 / 2.6);
    let record = guide.tried("base-freq");
    is_shorter(&record, [2.6, 3.0]);
    let proofs = &record.settings.as_ref().unwrap().proofs;
    assert!(proofs.iter().all(|proof| proof.answer == ProofAnswer::Obeyed), "{proofs:?}");
    // Those with the lower base frequency lose.
    let record = guide.tried("base-freq --on 3,4");
    assert_eq!(comparison(&record).verdict, Verdict::Slower);
}

#[test]
fn with_itself_a_machine_shows_no_difference() {
    let guide = Guide::with("guide", "{}");
    for line in
        ["turbo-freq --on 12,13 --control --budget 120s", "base-freq --control --budget 120s"]
    {
        let record = guide.tried(line);
        let found = comparison(&record);
        assert_eq!(found.verdict, Verdict::Same, "{line}: {found:?}");
        let [low, high] = interval(found);
        assert!(low <= 0.0 && high >= 0.0, "{line}: {found:?}");
    }
}

/// What is asked for wrongly is said before a level is set; what fails later puts the level back, and says so.
#[test]
fn what_cannot_be_tried_leaves_nothing_set() {
    let guide = Guide::new();
    for (line, why) in [
        ("try turbo-freq -l 4", "no CPUs were named to go first"),
        ("try turbo-freq -l 4 --on 12", "it has two ends"),
        ("try base-freq -l 1 --on-a 3", "it has two ends"),
        ("try turbo-freq -l 4 --on 0,1 --busy 99", "cannot use CPU 99: online are "),
        ("try turbo-freq -l 4 --on 0,1 --busy 1", "the workload runs there"),
        // At that level.
        ("try turbo-freq -l 4 --on 12,13", "measure on CPUs 12-13: not in the level"),
        ("try turbo-freq -l 4 --on 0,1 --busy 4,6", "busy: not in the level"),
        ("try base-freq -l 4", "level 4 of package 0 does not support it"),
        ("try base-freq -l 4 --on 0,1", "level 4 of package 0 does not support it"),
        ("try turbo-freq -l 9 --on 0,1", "package 0 has levels 0, 1, 2, 3, 4"),
        // In another package than -c names.
        ("-c 0 try turbo-freq --on 20,21", "CPUs 20-21 of --on: in another power domain"),
        ("-c 0 try base-freq --on-a 20,21", "CPUs 20-21 of --on-a: in another"),
        ("-c 0 try base-freq --busy 1,20", "CPU 20 of --busy: in another package"),
    ] {
        let finished = guide.run(&format!("sst {line}"));
        assert!(matches!(finished.code, Some(2 | 3)), "{line}: {finished:?}");
        assert_eq!(finished.stdout, "", "{line}");
        assert!(finished.stderr.contains(why), "{line}: {finished:?}");
        assert!(finished.stderr.contains("hint: "), "{line}: {finished:?}");
        assert!(!finished.stderr.contains("put back"), "{line}: {finished:?}");
        assert!(!guide.file().exists(), "{line}: something was set");
    }
    // Firmware that stops to answer, sooner or later.
    let mut put_back = 0;
    for after in (60..200).step_by(20) {
        let fault =
            format!(r#"[{{"on": "mmio", "does": "io-error", "after": {after}, "times": 1000}}]"#);
        let guide = Guide::with("guide", &format!(r#"{{"firmware_faults": {fault}}}"#));
        let finished = guide.run("sst try turbo-freq -l 4 --on 0,1 --budget 5s");
        put_back += usize::from(finished.stderr.contains(" put back"));
        assert!(matches!(finished.code, Some(0 | 3)), "{after}: {finished:?}");
        assert_eq!(guide.state().replace("null", "{}"), "{} {}", "{after}: {finished:?}");
    }
    assert!(put_back > 0);
}

/// What was seen stands also where firmware does not let go of it.
#[test]
fn what_cannot_be_put_back_is_told_with_the_page() {
    let guide = Guide::with(
        "guide",
        r#"{"firmware_faults": [{"on": "d0/02", "does": "does-not-stick", "after": 90, "times": 1000}]}"#,
    );
    let folder = tempfile::tempdir().unwrap();
    let files = ["json", "html"].map(|kind| folder.path().join(kind));
    let [json, html] = files.each_ref().map(|path| path.to_str().unwrap());
    let ended = guide
        .run(&format!("sst try turbo-freq --on 12,13 --budget 5s --json {json} --html {html}"));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("error: not everything was put back"), "{ended:?}");
    assert!(ended.stderr.contains("hint: `cpudyno undo` tries again"), "{ended:?}");
    assert!(ended.stdout.contains("[obeyed] clock of CPU 12: "), "{ended:?}");
    assert!(ended.stdout.contains("cannot set priorities of cores of package 0"), "{ended:?}");
    let record: Record = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert!(record.comparison.is_some_and(|run| run.failures.len() == 1));
    assert!(fs::metadata(html).unwrap().len() > 1000);
    guide.done("undo");
    assert_eq!(guide.state().replace("null", "{}"), "{} {}");
}

/// Cores that went with a level have no part in who goes first.
#[test]
fn promises_are_kept_where_cores_are_off() {
    for (machine, level, on, promised) in [
        ("guide", 4, "0,1", "promised 3300 MHz"),
        ("guide", 4, "0-2", "promised 3200 MHz"),
        ("icelake", 1, "0,1", "promised 3600 MHz"),
    ] {
        let here = Guide::with(machine, "{}");
        here.done(&format!("sst -c 0 perf-profile set-config-level -l {level} -o"));
        let line = format!("turbo-freq --on {on} --workload clock --budget 20s");
        let proofs = here.tried(&line).settings.unwrap().proofs;
        assert!(proofs.iter().all(|it| it.answer == ProofAnswer::Obeyed), "{line}: {proofs:#?}");
        let clock = proofs.iter().find(|it| it.id == "clock of CPU 0").unwrap();
        assert!(clock.seen.ends_with(&format!("as B, {promised}")), "{line}: {clock:?}");
    }
}

/// What the kernel says of base frequencies is told in every comparison, also where nobody is busy.
#[test]
fn base_frequencies_are_always_looked_at() {
    let guide = Guide::with("guide", "{}");
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

fn clocks(record: &Record) -> &BusyClocks {
    match record.comparison.as_ref().unwrap().busy_clocks.as_ref().unwrap() {
        Known::Yes(clocks) => clocks,
        Known::No { unavailable } => panic!("{unavailable:?}"),
    }
}

/// What CPUs did in an arm, and how fast they were in MHz, to 2 %.
fn are(
    record: &Record,
    cpus: &str,
    arm: fn(&BusyClocks, usize) -> &ArmClock,
    role: CpuRole,
    mhz: f64,
) {
    let (clocks, cpus) = (clocks(record), cpus.parse::<CpuSet>().unwrap());
    for (place, it) in clocks.cpus.iter().enumerate().filter(|(_, it)| cpus.contains(it.cpu)) {
        let ArmClock { role: is, clock: Known::Yes(clock) } = arm(clocks, place) else {
            panic!("CPU {} has no clock", it.cpu);
        };
        assert_eq!(*is, role, "CPU {}", it.cpu);
        assert!(clock.count >= 8 && clock.p10 <= clock.median && clock.median <= clock.p90);
        assert!((clock.median / 1e6 / mhz - 1.0).abs() < 0.02, "CPU {}: {clock:?}", it.cpu);
    }
    let known: CpuSet = clocks.cpus.iter().map(|it| it.cpu).collect();
    assert!(cpus.difference(&known).is_empty(), "{known}");
}

const AS_A: fn(&BusyClocks, usize) -> &ArmClock = |clocks, place| &clocks.cpus[place].a;
const AS_B: fn(&BusyClocks, usize) -> &ArmClock = |clocks, place| &clocks.cpus[place].b;

/// The guide's tables: in the record, and in every view of it.
#[test]
fn clocks_of_all_cpus_at_work_are_shown_before_and_after() {
    use CpuRole::{Busy, Measured};
    let guide = Guide::with("guide", "{}");
    let record = guide.tried("turbo-freq --on 12,13 --budget 20s");
    are(&record, "12-13", AS_A, Measured, 3100.0);
    are(&record, "12-13", AS_B, Measured, 3200.0);
    are(&record, "0-11", AS_A, Busy, 3100.0);
    // The clip of those that go last.
    are(&record, "0-11", AS_B, Busy, 2600.0);
    assert_eq!(clocks(&record).cpus.len(), 14);
    assert!(clocks(&record).source.contains("simulated"), "{}", clocks(&record).source);
    let html = guide.file().with_extension("html");
    for format in ["text", "markdown"] {
        let line = format!(
            "sst -f {format} --html {} try turbo-freq --on 12,13 --budget 20s --width 160",
            html.display()
        );
        let page = guide.run(&line).stdout;
        assert!(page.contains("Bzy_MHz before") && page.contains("Bzy_MHz after"), "{page}");
        let row = |page: &str| {
            let words = |line: &str| {
                line.replace(['|', '*'], " ").split_whitespace().map(str::to_owned).collect()
            };
            let mut rows = page.lines().map(words);
            rows.find(|row: &Vec<String>| {
                row.len() > 4 && row[..4] == ["0", "13", "13", "measured"]
            })
        };
        let row = row(&page).unwrap_or_else(|| panic!("no row of CPU 13 in {page}"));
        assert!(row[4].starts_with("31") || row[4].starts_with("30"), "{row:?}");
    }
    let page = fs::read_to_string(html).unwrap();
    assert!(page.contains("Bzy_MHz before") && page.contains("Bzy_MHz after"));
}

#[test]
fn clocks_that_cannot_be_read_have_a_reason() {
    let guide = Guide::with("guide", r#"{"faults": ["no-msr"]}"#);
    let record = guide.tried("turbo-freq --on 12,13 --budget 20s");
    let Some(Known::No { unavailable }) = &record.comparison.as_ref().unwrap().busy_clocks else {
        panic!("nobody can read registers there");
    };
    assert!(unavailable.why.contains("/dev/cpu/*/msr"), "{unavailable:?}");
    let page = guide.run("sst try turbo-freq --on 12,13 --budget 20s").stdout;
    assert!(page.contains("[unavailable] Bzy_MHz: ") && page.contains("modprobe msr"), "{page}");
}

/// Where the workload moves, all others are at work in each arm: as in the guide.
#[test]
fn whoever_is_not_measured_is_busy_in_each_arm() {
    use CpuRole::{Busy, Measured};
    let guide = Guide::with("guide", NO_TURBO);
    let record = guide.tried("base-freq --on-a 3,4 --on 5,6 --budget 20s");
    are(&record, "3-4", AS_A, Measured, 2600.0);
    are(&record, "0-2,5-13", AS_A, Busy, 2600.0);
    are(&record, "5-6", AS_B, Measured, 3000.0);
    are(&record, "8,13", AS_B, Busy, 3000.0);
    are(&record, "0-4,7,9-12", AS_B, Busy, 2400.0);
    let proofs = &record.settings.as_ref().unwrap().proofs;
    assert!(proofs.iter().all(|proof| proof.answer == ProofAnswer::Obeyed), "{proofs:?}");
    // A CPU of a list is left alone while it is measured.
    let record = guide.tried("base-freq --on-a 3,4 --on 5,6 --busy 3-6 --budget 20s");
    are(&record, "5-6", AS_A, Busy, 2600.0);
    are(&record, "3-4", AS_B, Busy, 2400.0);
}

/// All power domains of a package are at work, as the firmware's numbers suppose.
#[test]
fn promises_are_kept_where_a_package_has_several_power_domains() {
    // Classes that somebody left in another power domain count from then on.
    const CLASSES: &str = r#"{"firmware": {"0.0/class/2": 983040, "0.1/class/2": 983040,
        "0.2/class/2": 983040, "0.2/association/0": 2}}"#;
    for (state, line) in [
        ("{}", "base-freq"),
        (NO_TURBO, "base-freq"),
        (CLASSES, "base-freq"),
        ("{}", "turbo-freq --on 1,2"),
        (CLASSES, "turbo-freq --on 1,2"),
        ("{}", "perf-profile -l 1 --workload clock"),
    ] {
        let granite = Guide::with("granite", state);
        let record = granite.tried(&format!("{line} --budget 20s"));
        let proofs = &record.settings.as_ref().unwrap().proofs;
        assert!(proofs.iter().all(|it| it.answer == ProofAnswer::Obeyed), "{line}: {proofs:#?}");
        assert!(proofs.iter().any(|it| it.id.starts_with("clock of CPU ")), "{line}: {proofs:?}");
        let cpus: CpuSet = clocks(&record).cpus.iter().map(|it| it.cpu).collect();
        assert_eq!(cpus.to_string(), "0-31", "{line}");
        // All of them have a promise, wherever it changes nothing.
        let of = |proof: &Proof| {
            let list = proof.id.strip_prefix("clock of ")?.rsplit(' ').next()?;
            list.parse::<CpuSet>().ok()
        };
        let promised: CpuSet =
            proofs.iter().filter_map(of).flat_map(|cpus| cpus.iter().collect::<Vec<_>>()).collect();
        assert_eq!(promised.to_string(), "0-31", "{line}: {proofs:#?}");
    }
}

/// Promises are those of as many cores as are at work, where groups are steep.
#[test]
fn promises_are_of_as_many_cores_as_are_at_work() {
    for (machine, line) in [
        ("sapphire", "turbo-freq --on 2,3 --busy 5,6"),
        ("sapphire", "turbo-freq --on 2,3 --busy 60,61"),
        ("icelake", "base-freq --on 2,3 --busy 4-12"),
        ("granite", "perf-profile -l 1 --on 33,34"),
    ] {
        let record = Guide::with(machine, "{}").tried(&format!("{line} --budget 20s"));
        let proofs = &record.settings.as_ref().unwrap().proofs;
        assert!(proofs.iter().all(|it| it.answer == ProofAnswer::Obeyed), "{line}: {proofs:#?}");
    }
}

/// What classes and limits of the kernel leave of a clock is what an obedient machine has; who decides is named.
#[test]
fn promises_know_classes_and_limits_of_the_kernel() {
    const LIMITED: &str =
        r#"{"files": {"/sys/devices/system/cpu/cpu12/cpufreq/scaling_max_freq": "2000000"}}"#;
    let proofs = |guide: &Guide, line: &str| {
        let record = guide.tried(&format!("{line} --budget 20s"));
        let proofs = record.settings.unwrap().proofs;
        assert!(proofs.iter().all(|it| it.answer == ProofAnswer::Obeyed), "{line}: {proofs:#?}");
        proofs
    };
    let seen = |proofs: &[Proof], id: &str| {
        let found = proofs.iter().find(|it| it.id == id).map(|it| it.seen.clone());
        found.unwrap_or_else(|| panic!("{id}: {proofs:#?}"))
    };
    let guide = Guide::with("guide", "{}");
    guide.done("sst core-power config -c 3 -m 1500");
    guide.done("sst -c 0,10 core-power assoc -c 3");
    // Classes do not count yet.
    let plain = proofs(&guide, "perf-profile -l 4 --on 0,1");
    assert!(seen(&plain, "clock of CPU 0").ends_with("promised 3200 MHz"), "{plain:?}");
    guide.done("sst core-power enable");
    let held = proofs(&guide, "perf-profile -l 4 --on 0,1");
    let class = "promised 1500 MHz (at most, by class 3)";
    assert_eq!(seen(&held, "clock of CPU 0").matches(class).count(), 2, "{held:?}");
    assert_eq!(seen(&held, "clock of busy CPU 10").matches(class).count(), 2, "{held:?}");
    assert!(seen(&held, "clock of CPU 1").ends_with("promised 3200 MHz"), "{held:?}");
    // Others gain as ever.
    is_gain(&guide.tried("perf-profile -l 4 --on 1,2 --workload clock"), 3.2 / 3.1);
    // Classes are set anew: who goes last was slower before.
    let anew = proofs(&guide, "turbo-freq --on 12,13");
    let before = seen(&anew, "clock of busy CPUs 0,10");
    assert!(before.contains("as A, promised 1500 MHz (at most, by class 3); "), "{before}");
    assert!(before.ends_with("as B, promised 2600 MHz"), "{before}");
    // A limit of the kernel stays.
    let limited = Guide::with("guide", LIMITED);
    let found = proofs(&limited, "turbo-freq --on 12,13");
    let kernel = "promised 2000 MHz (at most, by scaling_max_freq)";
    assert_eq!(seen(&found, "clock of CPU 12").matches(kernel).count(), 2, "{found:?}");
    assert!(seen(&found, "clock of CPU 13").ends_with("promised 3200 MHz"), "{found:?}");
    // One that is as high as the base frequency is seen only when that is higher.
    let hidden = Guide::with(
        "guide",
        r#"{"files": {"/sys/devices/system/cpu/intel_pstate/no_turbo": "1",
            "/sys/devices/system/cpu/cpu1/cpufreq/scaling_max_freq": "2650000"}}"#,
    );
    let found = proofs(&hidden, "perf-profile -l 4 --on 0,1");
    let clock = seen(&found, "clock of CPU 1");
    // As `set-config-level` does, the level opens it.
    assert!(clock.ends_with("as B, promised 2800 MHz (at most, turbo is off)"), "{clock}");
    // Turbo limits that hold at most are opened by turbo-freq, and by a new level.
    let lowered = Guide::with("guide", "{}");
    lowered.done("sst -c 0 turbo-mode set-trl -t 0x1d1d1d1d1d1d1d1d");
    let found = proofs(&lowered, "turbo-freq --on 12,13");
    let register = "as A, promised 2900 MHz (at most, by register 1ADh); ";
    assert!(seen(&found, "clock of CPU 12").contains(register), "{found:?}");
    assert!(seen(&found, "clock of CPU 12").ends_with("promised 3200 MHz"), "{found:?}");
    let found = proofs(&lowered, "base-freq --on 5,6");
    assert_eq!(seen(&found, "clock of CPU 5").matches("1ADh").count(), 2, "{found:?}");
    // They hold beside turbo-freq.
    lowered.done("sst -c 12,13 turbo-freq enable -a -t 0x1e1e1e1e1e1e1e1e");
    let found = proofs(&lowered, "base-freq --on 12,13");
    let clock = seen(&found, "clock of CPU 12");
    assert!(clock.contains("as A, promised 3000 MHz (at most, by register 1ADh); "), "{clock}");
    assert!(clock.ends_with("as B, promised 2600 MHz"), "{clock}");
}

#[test]
fn who_cannot_be_busy_or_measured_is_named() {
    let guide = Guide::with("guide", "{}");
    for (line, code, why) in [
        ("turbo-freq --on 12,13 --busy 99", 2, "cannot use CPU 99: online are "),
        ("turbo-freq --on 12,13 --busy 12,13", 2, "the workload runs there"),
        ("turbo-freq --on 12,99", 2, "cannot use CPU 99: online are "),
        ("base-freq --on 99", 2, "cannot use CPU 99: online are "),
        ("perf-profile -l 4 --on 4,6", 3, "cannot measure on CPUs 4,6: not in the level"),
        (
            "perf-profile -l 4 --on 0,1 --busy 2,4,6",
            3,
            "cannot keep CPUs 4,6 busy: not in the level",
        ),
        ("turbo-freq --on high-priority", 2, "no CPUs were named to go first"),
        ("base-freq -- true", 3, "a simulated machine executes no programs"),
    ] {
        let ended = guide.run(&format!("sst try {line}"));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""), "{line}: {ended:?}");
        assert!(ended.stderr.contains(why) && ended.stderr.contains("hint: "), "{line}: {ended:?}");
    }
    // The page says where it ran, and heat is told of once.
    let page = guide.run("sst try turbo-freq --on 12,13 --budget 20s").stdout;
    assert!(page.contains("enable turbo-freq, cpus=12-13, busy=0-11"), "{page}");
    assert_eq!(page.matches("may be carried-over heat").count(), 1, "{page}");
}

/// What firmware locks is said before who would gain by it.
#[test]
fn a_lock_is_the_reason_whoever_is_measured() {
    for line in ["perf-profile -l 1", "perf-profile -l 1 --on 2,3", "base-freq -l 1"] {
        let ended = Guide::with("sapphire-locked", "{}").run(&format!("sst try {line}"));
        assert_eq!(ended.code, Some(4), "{line}: {ended:?}");
        assert!(ended.stderr.contains("register 64Bh has locked the level"), "{line}: {ended:?}");
    }
}

/// Where clocks have no promise, that is said with the reason; and who is busy is told, also when nobody is.
#[test]
fn clocks_without_a_promise_have_a_reason() {
    let guide = Guide::with("guide", "{}");
    let record = guide.tried("turbo-freq --on 12,13 --busy none --budget 20s");
    let proofs = &record.settings.as_ref().unwrap().proofs;
    let clock = proofs.iter().find(|it| it.id == "clock of CPUs 12-13").unwrap();
    assert_eq!(clock.answer, ProofAnswer::NotObservable);
    assert!(clock.seen.contains("how many cores are at work is not known"), "{clock:?}");
    let page = guide.run("sst try turbo-freq --on 12,13 --busy none --budget 20s").stdout;
    assert!(page.contains("cpus=12-13, busy=none"), "{page}");
    assert!(page.contains("[not observable here] clock of CPUs 12-13"), "{page}");
    // The record says the same.
    let asked = record.speed_select.unwrap().question;
    let both: CpuSet = "12-13".parse().unwrap();
    assert_eq!(asked.on, Some([both.clone(), both.clone()]));
    assert_eq!(asked.busy, Some([CpuSet::default(), CpuSet::default()]));
    assert_eq!(record.run.plan.cpus, both);
    // Base frequencies do not go by the number of cores at work; and a control promises what is there.
    let line = "base-freq --busy none --workload clock --budget 20s";
    for (state, line, told) in [
        (NO_TURBO, line, "promised 3000 MHz (at most, turbo is off)"),
        ("{}", "turbo-freq --on 12,13 --control --budget 20s", "promised 3100 MHz"),
    ] {
        let record = Guide::with("guide", state).tried(line);
        let proofs = &record.settings.as_ref().unwrap().proofs;
        assert!(proofs.iter().all(|it| it.answer == ProofAnswer::Obeyed), "{line}: {proofs:#?}");
        let mut clocks = proofs.iter().filter(|it| it.id.starts_with("clock of CPU "));
        assert!(
            clocks.all(|it| it.seen.ends_with(&format!("as B, {told}"))),
            "{line}: {proofs:#?}"
        );
    }
}

/// Those of the first class, where others are in a lower one.
#[test]
fn who_goes_first_already_is_found() {
    let guide = Guide::with("guide", "{}");
    guide.done("sst -c 12,13 turbo-freq enable -a");
    guide.done("sst turbo-freq disable");
    let record = guide.tried("turbo-freq --on high-priority --budget 20s");
    assert_eq!(record.run.plan.cpus.to_string(), "12-13");
    guide.done("undo");
}

/// Runs of a command are real, and so are the threads beside them; Speed Select is that of a simulated machine. Each
/// run finds the feature as its arm has it. How long the command takes goes by what it finds, since no clock follows.
#[test]
fn a_command_finds_what_its_arm_has() {
    let guide = Guide::with("guide", "{}");
    let model = Model::named("guide").unwrap().kept_in(guide.file().to_str().unwrap()).unwrap();
    let simulated = Machine::from(model);
    let levers = levers::port::of(&simulated).unwrap();
    let machine = Machine { isst: Arc::clone(&simulated.isst), ..Machine::real() };
    let there = machine::facts::machine(&machine).topology.usable;
    let package = Wish {
        what: What::TurboFreq { on: true, auto: true, limits: None },
        cpus: Some(there.iter().take(1).collect()),
        lenient: false,
    };
    let plan = sst::change::planned(&simulated, &*levers, &package, false).unwrap();
    let shelf = JournalDir::new(guide.file().with_extension("journal"), &simulated);
    let mut session = Session::open(&simulated, levers, &shelf, "test").unwrap();
    let log = guide.file().with_extension("log");
    let job = format!(
        "if grep -q features {}; then sleep 0.03; echo with; else sleep 0.01; echo without; fi >> {}",
        guide.file().display(),
        log.display()
    );
    let words = ["sh", "-c", &job].map(str::to_owned).to_vec();
    let own = || ArmEnv { cpus: package.cpus.clone(), ..ArmEnv::default() };
    let busy: CpuSet = there.iter().skip(1).take(1).collect();
    let comparing = Comparing {
        own: [own(), own()],
        changes: plan.as_arms(),
        busy: [busy.clone(), busy],
        budget: Seconds(20.0),
        prove: false,
        watches_clocks: true,
        ..Comparing::usual(AbSubject::Command(words, Metric::Wall))
    };
    let look = Presentation::of(PageKind::Ab);
    let described = machine::describe(&machine, Vec::new(), look);
    let lent = Some(&mut session);
    let record =
        ab::run(&machine, &comparing, lent, described, &Stop::default(), &mut |_| {}).unwrap();
    assert!(session.restore().is_complete());
    assert_eq!(guide.state().replace("null", "{}"), "{} {}");
    let run = record.comparison.as_ref().unwrap();
    assert!(run.failures.is_empty(), "{run:?}");
    // Where others are at work as well, or runs right after a switch are slower as such, it may not say so.
    let is_told = match &comparison(&record).verdict {
        Verdict::CannotTell(reason) => {
            ["other programs used", "A differs from A"].iter().any(|it| reason.why.starts_with(it))
        }
        verdict => *verdict == Verdict::Slower,
    };
    assert!(is_told, "{run:?}");
    // As often with it as B was executed, and without it as A.
    let log = fs::read_to_string(log).unwrap();
    let count = |word: &str| log.lines().filter(|line| *line == word).count() as u64;
    let runs = |arm: Side| run.ran.iter().find(|ran| ran.arm == arm).unwrap().runs;
    assert_eq!([count("without"), count("with")], [runs(Side::A), runs(Side::B)], "{run:?}");
    assert!(runs(Side::B) >= 8, "{run:?}");
}

/// Whoever stops it gets his machine back, and what was measured until then.
#[test]
fn a_signal_puts_back_what_was_tried() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        // The signal may come while A is being made again: then nothing is left to put back. It has to
        // come within B once.
        let mut told = (0..20).map(|_| told_by_what_is_stopped(signal, code));
        assert!(told.any(|stderr| stderr.contains(" put back")), "{signal}");
    }
}

/// What a trial says that a signal ends in B; its machine is as it was.
fn told_by_what_is_stopped(signal: &str, code: i32) -> String {
    let guide = Guide::with("guide", "{}");
    // Without a load nothing differs, so that it goes on for long.
    let running = Running::start(guide.command("sst try base-freq --busy none --budget 1h"));
    // It is made so once before anything is compared, and again as B.
    for is_set in [true, false, true] {
        while guide.state().contains("features") != is_set {
            thread::sleep(Duration::from_millis(1));
        }
    }
    // On a busy machine B may be over before the signal comes: it is held while it lasts.
    loop {
        signals::send(&running.child, "STOP");
        signals::wait_until_stopped(&running.child);
        if guide.state().contains("features") {
            break;
        }
        signals::send(&running.child, "CONT");
        thread::sleep(Duration::from_millis(1));
    }
    signals::send(&running.child, signal);
    signals::send(&running.child, "CONT");
    let ended = running.finish();
    assert_eq!(ended.code, Some(code), "{signal}: {ended:?}");
    assert!(ended.stdout.contains("interrupted"), "{signal}: {ended:?}");
    assert_eq!(guide.state().replace("null", "{}"), "{} {}", "{signal}");
    assert!(guide.done("undo").contains("nothing"), "{signal}");
    ended.stderr
}

/// Whatever is killed in the middle, another process brings the machine back.
#[test]
fn what_was_killed_is_undone() {
    let trial = "sst try base-freq --busy none --budget 1h";
    let level = "sst -c 0 perf-profile set-config-level -l 4 -o";
    // It is made so once before anything is compared; then arms are set in turns.
    for (line, begun, turns) in [
        (trial, "features", 1),
        (trial, "features", 2),
        (trial, "features", 5),
        (level, "level", 1),
    ] {
        let guide = Guide::with("guide", "{}");
        let mut running = Running::start(guide.command(line));
        for turn in 0..turns {
            while guide.state().contains(begun) != (turn % 2 == 0) {
                thread::sleep(Duration::from_millis(1));
            }
        }
        running.child.kill().unwrap();
        running.finish();
        let undone = guide.done("undo");
        assert!(turns % 2 == 0 || undone.contains("done, read back"), "{line}, {turns}: {undone}");
        assert_eq!(guide.state().replace("null", "{}"), "{} {}", "{line}, {turns}");
    }
}

/// What does not fit beside the other clocks says whose they are.
#[test]
fn each_part_of_the_clocks_names_the_cpus() {
    let guide = Guide::with("guide", "{}");
    let page = guide.run("sst try turbo-freq --on 12,13 --budget 20s --width 80").stdout;
    let parts: Vec<&str> = page.lines().filter(|line| line.starts_with("Package")).collect();
    assert!(parts.len() > 1, "{page}");
    let names_all = |line: &&str| line.contains("Core") && line.contains("CPU");
    assert!(parts.iter().all(names_all), "{page}");
}

/// Both arms run at the level that was named, and the page says so.
#[test]
fn the_level_of_both_arms_is_told() {
    let guide = Guide::with("guide", "{}");
    let line = "sst try turbo-freq -l 4 --on 0,1 --budget 20s";
    let has = |page: &str, words: &str| {
        assert!(page.lines().any(|line| line.contains(words)), "{words}: {page}");
    };
    let page = guide.run(line).stdout;
    has(&page, "level 4, as it is otherwise, cpus=0-1");
    has(&page, "level 4, enable turbo-freq, cpus=0-1");
    let page = guide.run(&format!("{line} --control")).stdout;
    has(&page, "level 4, as it is otherwise, once more, cpus=0-1");
}

/// What is there already is not compared with itself, unless somebody asks for that.
#[test]
fn what_is_there_already_is_not_tried() {
    let guide = Guide::with("guide", NO_TURBO);
    guide.done("sst base-freq enable -a");
    for (line, why, hint) in [
        (
            "base-freq --on 5,6",
            "cannot enable base-freq: it is so already",
            "sst -c 5-6 base-freq disable -a`",
        ),
        (
            "perf-profile -l 0 --on 5,6",
            "cannot set performance level 0: it is so",
            "choose another one",
        ),
    ] {
        let ended = guide.run(&format!("sst try {line}"));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(4), ""), "{line}: {ended:?}");
        assert!(ended.stderr.contains(why) && ended.stderr.contains(hint), "{line}: {ended:?}");
    }
    // On other CPUs it is another question.
    guide.tried("base-freq --on-a 3,4 --on 5,6 --workload clock --budget 20s");
}
