//! Limits of clocks, those of the kernel and of the uncore, as wishes need them.

use model::Reading;
use std::collections::HashMap;
use std::fs;
use std::sync::Mutex;

use super::here::{BF_ON, CP_ON, CPU, Here, level, on, wish};
use levers::{Object, Session, port};
use machine::{Machine, Tree};
use sst::change::{NotChanged, Refused, What, planned};

/// Without turbo the kernel shows, and allows, the base frequency at most.
#[test]
fn limits_that_the_kernel_cuts_are_taken() {
    let here = Here::new("guide");
    here.set("intel_pstate/no_turbo", "1");
    let before = here.state();
    here.done(&on("0", BF_ON)).unwrap();
    let khz = |cpu: u32, file: &str| {
        here.machine().tree.read(&format!("{CPU}/cpu{cpu}/cpufreq/{file}")).unwrap()
    };
    assert_eq!([khz(5, "scaling_min_freq"), khz(3, "scaling_min_freq")], ["3000000", "2400000"]);
    // Done twice, there is nothing left to do.
    assert_eq!(here.lines(&on("0", BF_ON)), [] as [&str; 0]);
    here.undone();
    assert_eq!(here.state(), before);
}

/// What is told beforehand is what is there afterwards, or says that only the kernel knows.
#[test]
fn limits_are_told_as_what_they_come_to() {
    use sst::change::What::{BaseFreq, TurboMode};
    const WORDS: &str = "as high as the kernel allows";
    let auto = |on| BaseFreq { on, auto: true };
    for (machine, new) in [("guide", 4), ("granite", 1), ("icelake", 1), ("sapphire", 3)] {
        for no_turbo in ["0", "1"] {
            for what in
                [auto(true), auto(false), level(new, false), TurboMode(false), TurboMode(true)]
            {
                let here = Here::new(machine);
                here.set("cpu1/cpufreq/scaling_max_freq", "1500000");
                here.set("intel_pstate/no_turbo", no_turbo);
                let wish = on("0", what);
                let Ok(plan) = here.plan(&wish) else { continue };
                here.done(&wish).unwrap();
                for change in plan.changes.iter().filter(|it| it.is_effective) {
                    let told = format!("{machine}, {no_turbo}: {wish:?}: {}", change.object);
                    let now = change.object.read(&here.machine()).unwrap();
                    let is_told = change.wanted == now || change.wanted == WORDS;
                    assert!(is_told, "{told}: {} and not {now}", change.wanted);
                }
            }
        }
    }
    let here = Here::new("guide");
    here.set("cpu1/cpufreq/scaling_max_freq", "1500000");
    let file = format!("{CPU}/cpu1/cpufreq/scaling_max_freq: 1500000 ->");
    let told = |what| here.lines(&on("0", what));
    assert!(told(level(4, false)).contains(&format!("{file} {WORDS}")));
    assert!(told(BF_ON).contains(&format!("{file} 3200000")));
    here.set("intel_pstate/no_turbo", "1");
    assert!(told(level(4, false)).contains(&format!("{file} 2800000")));
    assert!(told(BF_ON).contains(&format!("{file} 2400000")));
}

#[test]
fn a_highest_clock_is_opened_and_not_pinned() {
    let here = Here::new("guide");
    here.set("intel_pstate/no_turbo", "1");
    let khz = |cpu: u32| {
        here.machine().tree.read(&format!("{CPU}/cpu{cpu}/cpufreq/scaling_max_freq")).unwrap()
    };
    assert_eq!(khz(0), "2600000");
    here.set("cpu1/cpufreq/scaling_max_freq", "2000000");
    let before = here.state();
    here.done(&on("0", level(4, false))).unwrap();
    assert_eq!([khz(0), khz(1)], ["2800000", "2800000"]);
    // Neither has a limit that would hold with turbo.
    here.set("intel_pstate/no_turbo", "0");
    assert_eq!([khz(0), khz(1)], ["3200000", "3200000"]);
    here.set("intel_pstate/no_turbo", "1");
    here.undone();
    assert_eq!(here.state(), before);
    assert_eq!([khz(0), khz(1)], ["2600000", "2000000"]);
}

/// What a limit came to when it was changed is not what somebody had chosen.
#[test]
fn an_open_limit_is_put_back_open() {
    let here = Here::new("guide");
    here.done(&on("0-3", What::TurboMode(false))).unwrap();
    // Meanwhile turbo is switched off: the limit reads as before, and was never a wish.
    here.set("intel_pstate/no_turbo", "1");
    here.undone();
    here.set("intel_pstate/no_turbo", "0");
    assert_eq!(here.state(), "{} {}");
}

/// What showed before turbo was switched off is over once turbo is back: somebody may have lifted it since.
#[test]
fn a_limit_that_was_lifted_meanwhile_is_put_back_open() {
    let here = Here::new("guide");
    here.set("cpu5/cpufreq/scaling_max_freq", "2600000");
    for setting in ["max_freq@20=2GHz", "no_turbo=on", "no_turbo=off"] {
        here.set_through(setting, |port| port).unwrap();
    }
    here.set("cpu5/cpufreq/scaling_max_freq", levers::unlimited::OPEN_KHZ);
    here.set("intel_pstate/no_turbo", "1");
    here.done(&on("0-7", What::TurboMode(true))).unwrap();
    here.undone();
    assert_eq!(here.state(), "{} {}");
}

/// The same where undo brought turbo back, and not all, as something was somebody else's.
#[test]
fn a_limit_that_was_lifted_after_undo_is_put_back_open() {
    let here = Here::new("guide");
    here.set("cpu5/cpufreq/scaling_max_freq", "2600000");
    for setting in ["max_freq@20=2GHz", "no_turbo=on"] {
        here.set_through(setting, |port| port).unwrap();
    }
    here.set("cpu20/cpufreq/scaling_max_freq", "2200000");
    assert_eq!(here.undo().foreign.len(), 1);
    here.set("cpu5/cpufreq/scaling_max_freq", levers::unlimited::OPEN_KHZ);
    here.set("cpu20/cpufreq/scaling_max_freq", levers::unlimited::OPEN_KHZ);
    here.set("intel_pstate/no_turbo", "1");
    here.done(&on("0-7", What::TurboMode(true))).unwrap();
    here.undone();
    here.set("intel_pstate/no_turbo", "0");
    assert_eq!(here.state(), "{} {}");
}

/// Nothing comes of a command that fails after it has switched turbo on: what that hid is still known.
#[test]
fn a_limit_is_known_after_a_command_that_failed() {
    let here = Here::new("guide");
    here.set("cpu6/cpufreq/scaling_max_freq", "2600000");
    let before = here.state();
    here.set_through("no_turbo=on", |port| port).unwrap();
    here.set_through("no_turbo=off max_freq@5=4GHz", |port| port).unwrap_err();
    here.done(&on("6", What::TurboMode(true))).unwrap();
    here.undone();
    assert_eq!(here.state(), before);
}

/// Who sets a limit for a while brings back that of an earlier command, which turbo hides.
#[test]
fn a_limit_of_ours_that_is_hidden_comes_back() {
    let here = Here::new("guide");
    for setting in ["max_freq@6=3GHz", "min_freq@6=2900MHz", "no_turbo=on"] {
        here.set_through(setting, |port| port).unwrap();
    }
    here.set_for("min_freq@6=1GHz", |port| port).unwrap();
    here.set_through("no_turbo=off", |port| port).unwrap();
    let khz = |file: &str| here.text(&format!("cpu6/cpufreq/{file}"));
    assert_eq!(["scaling_min_freq", "scaling_max_freq"].map(khz), ["2900000", "3000000"]);
    here.undone();
    assert_eq!(here.state(), "{} {}");
}

/// Who insists has limits beside classes.
#[test]
fn limits_beside_classes_are_forced() {
    let here = Here::new("guide");
    here.done(&wish(CP_ON)).unwrap();
    let machine = here.machine();
    let levers = port::of(&machine).unwrap();
    let wish = on("0", What::TurboMode(false));
    let NotChanged::Refused(Refused::Order { hint, .. }) =
        planned(&machine, &*levers, &wish, false).unwrap_err()
    else {
        panic!("classes come first");
    };
    assert!(hint.contains("--force"), "{hint}");
    let plan = planned(&machine, &*levers, &wish, true).unwrap();
    assert_eq!((plan.changes.len(), plan.remarks.len()), (1, 1), "{:?}", plan.remarks);
}

/// Limits show what is left of them: who moves that does not change them.
#[test]
fn limits_are_ours_whatever_they_come_to() {
    let here = Here::new("guide");
    here.done(&on("0", BF_ON)).unwrap();
    here.set("intel_pstate/no_turbo", "1");
    assert_eq!(here.text("cpu3/cpufreq/scaling_min_freq"), "2400000");
    here.undone();
    assert_eq!(here.text("cpu3/cpufreq/scaling_min_freq"), "800000");
    here.set("intel_pstate/no_turbo", "0");
    assert_eq!(here.state(), "{} {}");
    // Another number is somebody else's.
    here.done(&on("0", BF_ON)).unwrap();
    here.set("intel_pstate/no_turbo", "1");
    here.set("cpu3/cpufreq/scaling_min_freq", "2000000");
    let undone = here.undo();
    assert_eq!(undone.foreign.len(), 1, "{undone:?}");
    assert_eq!(undone.foreign[0].now, "2000000");
}

/// A kernel that takes limits and shows other ones.
struct Elsewhere(Box<dyn levers::Levers>, &'static str);

impl levers::Levers for Elsewhere {
    fn permits(&self, object: &Object) -> std::io::Result<()> {
        self.0.permits(object)
    }

    fn write(&mut self, object: &Object, text: &str) -> std::io::Result<()> {
        let is_limit = object.to_string().ends_with("_freq");
        self.0.write(object, if is_limit { self.1 } else { text })
    }
}

/// Part of the way is not there: of a highest clock only what was wanted is, of a lowest one as much as the
/// highest leaves.
#[test]
fn a_limit_that_moves_and_does_not_arrive_is_not_kept() {
    for (wish, near) in [(on("0", What::TurboMode(false)), "2900000"), (on("0", BF_ON), "1500000")]
    {
        let here = Here::new("guide");
        let error = here.done_through(&wish, |levers| Box::new(Elsewhere(levers, near)));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(&format!("after the write it reads `{near}`")), "{error}");
    }
}

/// A kernel that looks at the base frequency again only when a limit, or turbo, is set to something else.
struct Stale<'a> {
    here: &'a Here,
    tree: Box<dyn Tree>,
    shown: Mutex<HashMap<String, (String, String)>>,
}

impl Tree for Stale<'_> {
    fn read(&self, path: &str) -> Reading<String> {
        let fresh = self.tree.read(path)?;
        if !path.ends_with("scaling_max_freq") {
            return Ok(fresh);
        }
        let text = fs::read_to_string(self.here.folder.path().join("state")).unwrap_or_default();
        let state: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let no_turbo = "/sys/devices/system/cpu/intel_pstate/no_turbo";
        let set = [path, no_turbo].map(|path| state["files"][path].to_string()).concat();
        let mut shown = self.shown.lock().unwrap();
        let known = shown.entry(path.to_owned()).or_insert_with(|| (set.clone(), fresh.clone()));
        if known.0 != set {
            *known = (set, fresh);
        }
        Ok(known.1.clone())
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        self.tree.list(path)
    }
}

/// What an open limit showed before firmware moved is not what somebody had chosen.
#[test]
fn a_limit_that_was_open_before_firmware_moved_is_put_back_open() {
    let here = Here::new("guide");
    here.set("intel_pstate/no_turbo", "1");
    let before = here.state();
    let machine = here.machine();
    let tree = machine.tree;
    // It is leaked: machines own their trees.
    let here: &'static Here = Box::leak(Box::new(here));
    let stale = Stale { here, tree, shown: Mutex::default() };
    let machine = Machine { tree: Box::new(stale), ..machine };
    let max = |machine: &Machine| {
        machine.tree.read(&format!("{CPU}/cpu0/cpufreq/scaling_max_freq")).unwrap()
    };
    for cpu in 0..56 {
        machine.tree.read(&format!("{CPU}/cpu{cpu}/cpufreq/scaling_max_freq")).unwrap();
    }
    let open = || {
        levers::Session::open(&machine, port::of(&machine).unwrap(), &here.shelf(), "test").unwrap()
    };
    let mut session = open();
    let done =
        sst::change::apply(&machine, &mut session, &on("0", level(4, false)), false).unwrap();
    assert_eq!(done.len(), 1 + 28, "{done:?}");
    // It was moved, so that the kernel looked again, and is open.
    assert_eq!(max(&machine), "2800000");
    session.leave();
    let undone = levers::undo(
        &machine,
        port::of(&machine).unwrap(),
        &here.shelf(),
        levers::Others::Spare,
        "test",
    );
    assert!(undone.unwrap().is_complete());
    here.set("intel_pstate/no_turbo", "0");
    assert_eq!(here.text("cpu0/cpufreq/scaling_max_freq"), "3200000");
    here.set("intel_pstate/no_turbo", "1");
    // A wish for as much as there is, or none, is the same.
    assert_eq!(here.state().replace("\"2147483647\"", "\"3200000\""), before);
    fs::remove_dir_all(here.folder.path()).unwrap();
}

const UNCORE: &str = "/sys/devices/system/cpu/intel_uncore_frequency";

/// A kernel without the driver of the uncore.
struct WithoutUncore(Box<dyn Tree>);

impl Tree for WithoutUncore {
    fn read(&self, path: &str) -> Reading<String> {
        self.0.read(if path.starts_with(UNCORE) { "/none" } else { path })
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        self.0.list(if path.starts_with(UNCORE) { "/none" } else { path })
    }
}

/// In kHz, in the folder of each power domain with cores; where there is none, it is said once.
#[test]
fn limits_of_the_uncore_go_with_a_level_in_the_newer_generation() {
    let here = Here::new("granite");
    let of_uncore = |lines: Vec<String>| -> Vec<String> {
        lines.into_iter().filter(|line| line.contains(UNCORE)).collect()
    };
    let limits = |folder: &str| {
        [
            format!("{UNCORE}/{folder}/min_freq_khz: 800000 -> 900000"),
            format!("{UNCORE}/{folder}/max_freq_khz: 2400000 -> 2200000"),
        ]
    };
    assert_eq!(of_uncore(here.lines(&on("11", level(1, true)))), limits("uncore01"));
    // Of a package five, and two of them have no cores.
    let all = ["uncore00", "uncore01", "uncore02", "uncore05", "uncore06", "uncore07"];
    let expected: Vec<String> = all.iter().flat_map(|folder| limits(folder)).collect();
    assert_eq!(of_uncore(here.lines(&wish(level(1, true)))), expected);

    let before = here.state();
    here.done(&on("11", level(1, true))).unwrap();
    let of = |folder: &str| {
        ["min", "max"]
            .map(|it| here.text(&format!("intel_uncore_frequency/{folder}/{it}_freq_khz")))
    };
    assert_eq!(of("uncore01"), ["900000", "2200000"]);
    assert_eq!(of("uncore00"), ["800000", "2400000"]);
    here.undone();
    assert_eq!(here.state(), before);

    for (name, cpus) in [("granite", "0"), ("guide", "0")] {
        let here = Here::new(name);
        let machine =
            Machine { tree: Box::new(WithoutUncore(here.machine().tree)), ..here.machine() };
        for wish in [on(cpus, level(1, true)), wish(level(1, true))] {
            let remarks = sst::change::foreseen(&machine, &wish).unwrap();
            let said: Vec<&String> = remarks.iter().filter(|it| it.contains("uncore")).collect();
            assert_eq!(said.len(), 1, "{name}: {remarks:?}");
            assert!(said[0].contains("the kernel cannot set those of package 0"), "{said:?}");
        }
    }
}

/// What is set for a package is set for all of its power domains, as the kernel does.
#[test]
fn limits_of_a_package_are_those_of_its_power_domains() {
    let here = Here::new("granite");
    here.set("intel_uncore_frequency/package_01_die_00/max_freq_khz", "2000000");
    let of = |folder: &str| here.text(&format!("intel_uncore_frequency/{folder}/max_freq_khz"));
    assert_eq!([of("uncore04"), of("uncore05"), of("uncore09")], ["2400000", "2000000", "2000000"]);
}

/// Without turbo a limit above the base frequency looks open until firmware has moved.
#[test]
fn a_limit_that_firmware_uncovers_is_put_back() {
    for (machine, khz) in [("guide", "2700000"), ("guide", "2900000"), ("granite", "2300000")] {
        let here = Here::new(machine);
        here.set("cpu5/cpufreq/scaling_max_freq", khz);
        here.set("intel_pstate/no_turbo", "1");
        let before = here.state();
        here.done(&on("0", BF_ON)).unwrap();
        here.undone();
        assert_eq!(here.state(), before, "{machine}: {khz}");
        // Both arms of whoever tries it can be had, again and again.
        let machine = here.machine();
        let levers = port::of(&machine).unwrap();
        let mut session = Session::open(&machine, levers, &here.shelf(), "test").unwrap();
        let [a, b] = sst::change::arms(&machine, &mut session, &on("0", BF_ON)).unwrap();
        for is_b in [false, true, true, false, false, true] {
            session.switch(if is_b { &b } else { &a }).unwrap();
            let raised = here.text("cpu5/cpufreq/scaling_min_freq") == "3000000";
            assert_eq!(raised, is_b && khz != "2300000", "{khz}");
        }
        assert!(session.restore().is_complete());
        assert_eq!(here.state(), before, "{khz}");
    }
}

/// What is refused leaves nothing behind, not even what turbo hides while it is off.
#[test]
fn a_limit_that_is_refused_without_turbo_does_not_hold_with_it() {
    let refused = |here: &Here, setting: &str| {
        let error = here.set_through(setting, |levers| levers).unwrap_err().to_string();
        let why = "turbo is off, and without it the clock goes up to 2.600 GHz";
        assert!(error.contains(why) && !error.contains("HWP"), "{error}");
    };
    let max = |here: &Here| here.text("cpu0/cpufreq/scaling_max_freq");
    let here = Here::new("guide");
    here.set_through("no_turbo=on", |levers| levers).unwrap();
    refused(&here, "max_freq=2800MHz");
    here.set("intel_pstate/no_turbo", "0");
    assert_eq!(max(&here), "3200000");
    here.undone();
    assert_eq!(max(&here), "3200000");

    // A limit of ours holds again, the one below and the one above what is there without turbo.
    for (former, khz) in [("2600MHz", "2600000"), ("3GHz", "3000000")] {
        let here = Here::new("guide");
        here.set_through(&format!("max_freq={former}"), |levers| levers).unwrap();
        here.set_through("no_turbo=on", |levers| levers).unwrap();
        for setting in ["max_freq=3200MHz", "max_freq=2800MHz"] {
            refused(&here, setting);
        }
        here.set("intel_pstate/no_turbo", "0");
        assert_eq!(max(&here), khz);
        here.undone();
        assert_eq!(max(&here), "3200000");
    }
}

/// Whoever was killed before he could put a refused limit back leaves it to `undo`.
#[test]
fn a_limit_that_turbo_hides_is_undone() {
    let here = Here::new("guide");
    here.set_through("no_turbo=on", |levers| levers).unwrap();
    let object = format!("{CPU}/cpu0/cpufreq/scaling_max_freq");
    let journal = here.shelf().path();
    let lines = [
        format!(
            r#"{{"keeps":{{"object":{{"file":"{object}"}},"setting":"max_freq","former":"2600000","was_open":true}}}}"#
        ),
        format!(r#"{{"writes":{{"object":{{"file":"{object}"}},"text":"2800000"}}}}"#),
    ];
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, format!("{text}{}\n{}\n", lines[0], lines[1])).unwrap();
    here.set("cpu0/cpufreq/scaling_max_freq", "2800000");
    here.set_through("thp=always", |levers| levers).unwrap();
    here.undone();
    assert_eq!(here.text("cpu0/cpufreq/scaling_max_freq"), "3200000");
}

/// A limit that turbo hides while it is off is one: it is opened.
#[test]
fn a_limit_that_cannot_be_seen_is_opened() {
    let here = Here::new("guide");
    let cpus = "0-3";
    here.done(&on(cpus, What::TurboMode(false))).unwrap();
    here.set("intel_pstate/no_turbo", "1");
    let plan = here.plan(&on(cpus, What::TurboMode(true))).unwrap();
    assert_eq!(plan.changes.len(), 4);
    assert!(plan.remarks.iter().any(|it| it.contains("all are opened")), "{:?}", plan.remarks);
    assert_eq!(here.done(&on(cpus, What::TurboMode(true))).unwrap(), 4);
    here.set("intel_pstate/no_turbo", "0");
    assert_eq!(here.text("cpu0/cpufreq/scaling_max_freq"), "3200000");
    // With turbo it is seen, and there is nothing to do.
    assert_eq!(here.lines(&on(cpus, What::TurboMode(true))), [] as [&str; 0]);
    here.undone();
    assert_eq!(here.state(), "{} {}");
}
