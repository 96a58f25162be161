//! Wishes on simulated machines: what is written in which order, what is refused, what becomes of the state.

use std::collections::HashMap;
use std::fs;
use std::sync::Mutex;

use crate::here::{BF_OFF, BF_ON, CP_OFF, CP_ON, CPU, Here, TF_OFF, TF_ON, class, level, on, wish};
use levers::{Error, Object, port};
use machine::{Machine, Reading, Tree};
use sst::change::{ClassWish, NotChanged, Refused, What, Wish, base_frequencies, planned};
use sst::model::Priority;

#[test]
fn base_frequencies_come_in_the_order_that_firmware_needs() {
    let here = Here::new("guide");
    let lines = here.lines(&on("0", BF_ON));
    let of = "of package 0";
    let expected = [
        format!(
            "class 0 {of}: min=0MHz max=none weight=0 epp=0 -> min=3000MHz max=none weight=0 epp=0"
        ),
        format!(
            "class 1 {of}: min=0MHz max=none weight=0 epp=0 -> min=2400MHz max=none weight=15 epp=15"
        ),
    ];
    assert_eq!(lines[..2], expected);
    assert_eq!(lines[4], format!("class of core 0 {of}: 0 -> 3"));
    // Cores 5, 6, 8 and 13 are in the first class already.
    assert_eq!(lines[13], format!("class of core 12 {of}: 0 -> 3"));
    let rest = [
        format!("switch of core-power {of}: off -> on"),
        format!("priorities of cores {of}: off proportional -> on ordered"),
        format!("features of the level {of}: none -> base-freq"),
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq: 800000 -> 3200000".to_owned(),
    ];
    assert_eq!(lines[14..18], rest);
    assert_eq!(lines.len(), 17 + 28);
    here.done(&on("0", BF_ON)).unwrap();
    let bases = base_frequencies(&here.machine(), None).unwrap();
    let told: Vec<_> = bases.iter().map(|it| (it.cpus.to_string(), it.told_khz)).collect();
    assert_eq!(
        told,
        [
            ("0-4,7,9-12,28-32,35,37-40".to_owned(), Some(2_400_000)),
            ("5-6,8,13,33-34,36,41".to_owned(), Some(3_000_000)),
            ("14-27,42-55".to_owned(), Some(2_600_000)),
        ]
    );
    assert!(bases.iter().all(|it| it.told_khz == Some(it.given_khz)));
    here.undone();
    assert_eq!(here.state(), "{} {}");
}

/// What is done twice has nothing left to do the second time.
#[test]
fn what_is_so_already_is_not_written() {
    for (machine, wishes) in [
        ("guide", vec![wish(level(4, true)), wish(level(0, true)), wish(BF_ON), wish(BF_OFF)]),
        ("guide", vec![on("12,13", TF_ON), on("12,13", TF_OFF), wish(CP_ON)]),
        (
            "granite",
            vec![wish(level(1, false)), wish(level(0, false)), wish(BF_ON), on("0", TF_ON)],
        ),
    ] {
        let here = Here::new(machine);
        for wish in &wishes {
            assert!(here.done(wish).unwrap() > 0, "{machine}: {}", wish.words());
            assert_eq!(here.lines(wish), [] as [&str; 0], "{machine}: {}", wish.words());
        }
        here.undone();
        assert_eq!(here.state(), "{} {}", "{machine}");
    }
}

#[test]
fn cpus_come_and_go_with_a_level() {
    let here = Here::new("guide");
    let online = || here.machine().tree.read("/sys/devices/system/cpu/online").unwrap();
    here.done(&on("0", level(4, true))).unwrap();
    assert_eq!(online(), "0-3,5,7-11,14-31,33,35-39,42-55");
    // Those of the other package are as they were, though nobody knew where the sleeping ones are.
    here.done(&on("14", level(4, true))).unwrap();
    assert_eq!(online(), "0-3,5,7-11,14-17,19,21-25,28-31,33,35-39,42-45,47,49-53");
    let plan = here.plan(&on("0", level(0, true))).unwrap();
    assert!(
        plan.remarks.iter().any(|it| it.contains("where CPUs 4,6,12-13")),
        "{:?}",
        plan.remarks
    );
    here.done(&on("0", level(0, true))).unwrap();
    assert_eq!(online(), "0-17,19,21-25,28-45,47,49-53");
    here.undone();
    assert_eq!(here.state(), "{} {}");
}

#[test]
fn what_must_come_first_is_said_and_nothing_is_half_done() {
    let guide = || Here::new("guide");
    let order = |here: &Here, wish: &Wish, why: &str, hint: &str| match here.refused(wish) {
        Refused::Order { what, why: said, hint: helps } => {
            assert!(said.contains(why) && helps.contains(hint), "{what}: {said}; {helps}");
        }
        other => panic!("{other}"),
    };
    let plain = |on| What::BaseFreq { on, auto: false };
    let turbo = What::TurboFreq { on: true, auto: false, limits: None };
    order(&guide(), &wish(plain(true)), "core-power is off in package 0", "core-power enable -p 1");
    order(&guide(), &wish(turbo), "turbo-freq stands on it", "turbo-freq enable -a");
    let here = guide();
    here.done(&on("12,13", TF_ON)).unwrap();
    order(&here, &wish(CP_OFF), "turbo-freq is on in package 0", "turbo-freq disable");
    here.done(&wish(BF_ON)).unwrap();
    here.done(&on("0", TF_OFF)).unwrap();
    order(&here, &wish(CP_OFF), "base-freq is on in package 0", "base-freq disable");
    let why = "cores of package 0 have classes (core-power is on)";
    order(&here, &wish(What::TurboMode(false)), why, "core-power disable");
    let min = r#"{"files": {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq": "3200000"}}"#;
    let raised = Here::with("guide", min);
    let turbo_mode = wish(What::TurboMode(false));
    order(&raised, &turbo_mode, "above its base frequency", "base-freq disable -a");
    let no_turbo = r#"{"files": {"/sys/devices/system/cpu/intel_pstate/no_turbo": "1"}}"#;
    let here = Here::with("guide", no_turbo);
    order(&here, &on("12", TF_ON), "turbo is switched off", "no_turbo=off");
}

#[test]
fn what_is_not_there_is_refused_for_all() {
    let here = Here::new("guide");
    here.done(&on("0", level(4, false))).unwrap();
    let text = here.refused(&wish(BF_ON)).to_string();
    assert_eq!(text, "cannot enable base-freq: level 4 of package 0 does not support it");
    // The other package has it.
    here.done(&on("14", BF_ON)).unwrap();
    for (wish, text) in [
        (
            wish(level(5, false)),
            "cannot set performance level 5: package 0 has levels 0, 1, 2, 3, 4",
        ),
        (on("60", BF_ON), "cannot use CPU 60: this machine has no such CPUs"),
        (wish(TF_ON), "nobody said which CPUs are to go first"),
        (
            on("0-9", TF_ON),
            "10 cores of package 0 are to go first, and level 4 has frequencies for 6",
        ),
        (on("12-13", TF_ON), "level 4 of package 0 is without 2 of the cores that are to go first"),
        (wish(What::Association(3)), "no CPUs were named"),
        (on("3", What::Association(4)), "there is no class 4"),
        (wish(What::TurboLimits(0)), "a limit of 0"),
    ] {
        let refused = here.refused(&wish).to_string();
        assert!(refused.contains(text), "{refused}");
    }
    let sierra = Here::new("sierra");
    let refused = sierra.refused(&wish(CP_ON)).to_string();
    assert!(refused.contains("core-power is not supported"), "{refused}");
    let refused = sierra.refused(&wish(BF_ON)).to_string();
    assert!(refused.contains("does not support it"), "{refused}");
}

#[test]
fn locked_levels_stay() {
    let here = Here::new("sapphire-locked");
    let Refused::Order { why, hint, .. } = here.refused(&wish(level(1, false))) else {
        panic!("it is locked");
    };
    assert_eq!(why, "register 64Bh has locked the level of package 0 until the next reset");
    assert!(hint.contains("get-lock-status"), "{hint}");
    assert_eq!(here.done(&wish(level(0, false))).unwrap(), 0);
}

#[test]
fn classes_keep_their_rules() {
    let guide = Here::new("guide");
    let what = |wish: ClassWish| wish_of(wish);
    for (bad, why) in [
        (
            ClassWish { min_mhz: Some(3000), max_mhz: Some(2000), ..class(0) },
            "is above the highest",
        ),
        (ClassWish { min_mhz: Some(2050), ..class(0) }, "no multiple of 100 MHz"),
        (ClassWish { max_mhz: Some(25600), ..class(0) }, "no multiple of 100 MHz up to 25500"),
        (class(4), "there is no class 4"),
        (ClassWish { max_mhz: Some(0), ..class(0) }, "lets no core of the class run"),
    ] {
        let refused = guide.refused(&what(bad)).to_string();
        assert!(refused.contains(why), "{refused}");
    }
    let good = ClassWish {
        min_mhz: Some(2000),
        max_mhz: Some(3000),
        weight: Some(5),
        epp: Some(2),
        class: 1,
    };
    let lines = guide.lines(&what(good));
    assert_eq!(lines.len(), 2);
    assert!(lines[0].ends_with("-> min=2000MHz max=3000MHz weight=5 epp=2"), "{lines:?}");
    let granite = Here::new("granite");
    let refused = granite.refused(&what(good)).to_string();
    assert!(refused.contains("have no energy preference"), "{refused}");
    // 200 MHz are 200 MHz, and all power domains of a package have the same classes.
    let low = Wish {
        cpus: Some("0".parse().unwrap()),
        ..what(ClassWish { min_mhz: Some(200), ..class(0) })
    };
    let lines = granite.lines(&low);
    assert_eq!(lines.len(), 5);
    assert!(lines[4].contains("package 0, power domain 4: "), "{lines:?}");
    assert!(lines[4].ends_with("-> min=200MHz max=none weight=0"), "{lines:?}");
}

fn wish_of(class: ClassWish) -> Wish {
    wish(What::Class(class))
}

#[test]
fn who_shares_a_core_goes_along() {
    let guide = Here::new("guide");
    let plan = guide.plan(&on("10", What::Association(3))).unwrap();
    assert_eq!(plan.changes.len(), 1);
    assert!(
        plan.remarks[0].contains("CPU 38 shares a core with those, and goes along"),
        "{:?}",
        plan.remarks
    );
    assert!(plan.remarks[1].contains("core-power is off"), "{:?}", plan.remarks);
}

#[test]
fn a_new_level_says_what_it_switches_off_and_undo_brings_it_back() {
    let guide = Here::new("guide");
    guide.done(&on("0", BF_ON)).unwrap();
    let before = guide.state();
    let forgotten = guide.folder.path().join("journal");
    std::fs::remove_dir_all(forgotten).unwrap();
    let plan = guide.plan(&wish(level(4, false))).unwrap();
    let said = "a new level switches base-freq of package 0 off";
    assert!(plan.remarks.iter().any(|it| it.contains(said)), "{:?}", plan.remarks);
    guide.done(&wish(level(4, false))).unwrap();
    assert!(guide.state().contains(r#""0.0/level":4"#) && !guide.state().contains("features"));
    guide.undone();
    assert_eq!(guide.state(), before);
}

/// A power domain is the same one whichever of its CPUs are online.
#[test]
fn what_two_commands_changed_through_different_cpus_is_undone() {
    let here = Here::new("guide");
    here.done(&on("14", CP_ON)).unwrap();
    here.set("cpu14/online", "0");
    here.done(&on("15", CP_OFF)).unwrap();
    here.undone();
    here.set("cpu14/online", "1");
    assert_eq!(here.state(), "{} {}");
}

#[test]
fn threads_that_are_off_by_smt_stay_off() {
    for (machine, wish, off) in [
        ("guide", on("0", level(4, true)), "4,6,12-13,28-55"),
        ("granite", on("0", level(1, true)), ""),
    ] {
        let here = Here::new(machine);
        here.set("smt/control", "off");
        let before = here.state();
        let plan = here.plan(&wish).unwrap();
        let said = "threads of a core but the first are off";
        assert!(plan.remarks.iter().any(|it| it.contains(said)), "{machine}: {:?}", plan.remarks);
        here.done(&wish).unwrap();
        let list = |file: &str| here.machine().tree.read(&format!("{CPU}/{file}")).unwrap();
        if !off.is_empty() {
            let online: model::CpuSet = list("online").parse().unwrap();
            let all: model::CpuSet = list("present").parse().unwrap();
            assert_eq!(all.difference(&online).to_string(), off);
        }
        here.undone();
        assert_eq!(here.state(), before, "{machine}");
    }
}

/// The driver's number of core 0 is that of a CPU that it has never seen.
#[test]
fn core_0_of_another_package_comes_back_without_its_siblings() {
    let here = Here::new("guide");
    here.set("smt/control", "off");
    // Cores 0 and 4 of the second package: the level has the first of them.
    here.set("cpu14/online", "0");
    here.set("cpu18/online", "0");
    let before = here.state();
    let wish = on("15", level(4, true));
    let plan = here.plan(&wish).unwrap();
    let online = |plan: &levers::plan::Plan| -> Vec<String> {
        let on = plan.changes.iter().filter(|it| it.wanted == "1");
        on.map(|it| it.object.to_string()).collect()
    };
    assert_eq!(online(&plan), [format!("{CPU}/cpu14/online")]);
    let said = "CPUs 28-55 stay off: threads of a core but the first are off";
    assert!(plan.remarks.iter().any(|it| it.contains(said)), "{:?}", plan.remarks);
    here.done(&wish).unwrap();
    assert_eq!(here.text("cpu14/online"), "1");
    here.undone();
    assert_eq!(here.state(), before);
}

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

#[test]
fn no_core_is_left_without_a_turbo_limit() {
    let guide = Here::new("guide");
    let turbo = |on, limits| What::TurboFreq { on, auto: true, limits };
    for what in
        [turbo(true, Some(0)), turbo(true, Some(0x1f1f_1f00_1f1f_1f1f)), What::TurboLimits(0x1f1f)]
    {
        let refused = guide.refused(&on("12", what)).to_string();
        assert!(refused.contains("a limit of 0 lets no core of group "), "{refused}");
    }
    guide.done(&on("12", TF_ON)).unwrap();
    let refused = guide.refused(&on("12", turbo(false, Some(0)))).to_string();
    assert!(refused.contains("a limit of 0"), "{refused}");
    // The level says which groups there are, whatever the register holds just now.
    let odd = Here::with("guide", r#"{"firmware": {"0.0/msr/1ad": 31}}"#);
    let refused = odd.refused(&on("12", What::TurboLimits(0x1f))).to_string();
    assert!(refused.contains("lets no core of group 1 run"), "{refused}");
}

#[test]
fn packages_are_switched_off_each_by_itself() {
    let here = Here::new("guide");
    here.done(&wish(BF_ON)).unwrap();
    here.done(&on("0", TF_ON)).unwrap();
    let plan = here.plan(&wish(BF_OFF)).unwrap();
    let said = "core-power stays on: turbo-freq of package 0 stands on it";
    assert!(plan.remarks.iter().any(|it| it == said), "{:?}", plan.remarks);
    here.done(&wish(BF_OFF)).unwrap();
    let state = here.state();
    assert!(state.contains(r#""0.0/core-power":1"#), "{state}");
    assert!(!state.contains(r#""1.0/core-power""#), "{state}");
    // What is left is named, not what is switched off.
    here.done(&on("0", BF_ON)).unwrap();
    let plan = here.plan(&on("0", TF_OFF)).unwrap();
    let said = "core-power stays on: base-freq of package 0 stands on it";
    assert!(plan.remarks.iter().any(|it| it == said), "{:?}", plan.remarks);
    here.undone();
    // A package whose level is without the feature is none of its business.
    here.done(&on("0", level(4, false))).unwrap();
    here.done(&on("0", CP_ON)).unwrap();
    here.done(&on("14", BF_ON)).unwrap();
    here.done(&wish(BF_OFF)).unwrap();
    let state = here.state();
    assert!(!state.contains("features") && !state.contains(r#""1.0/core-power""#), "{state}");
    assert!(state.contains(r#""0.0/core-power":1"#), "{state}");
}

/// The register is one for all power domains of a package.
#[test]
fn turbo_limits_are_those_of_a_package() {
    let granite = Here::new("granite");
    let all = on("0,11,22", TF_ON);
    let limits = |lines: Vec<String>| lines.into_iter().filter(|it| it.contains("0x1ad")).count();
    assert_eq!(limits(granite.lines(&all)), 1);
    granite.done(&all).unwrap();
    // While the others need them open, they stay open.
    let plan = granite.plan(&on("0", TF_OFF)).unwrap();
    let said = "turbo limits of package 0 stay as they are: turbo-freq of package 0, ";
    assert!(plan.remarks.iter().any(|it| it.starts_with(said)), "{:?}", plan.remarks);
    granite.done(&on("0", TF_OFF)).unwrap();
    assert!(granite.state().contains("msr/1ad"));
    assert_eq!(limits(granite.lines(&on("11,22", TF_OFF))), 1);
    granite.done(&on("11,22", TF_OFF)).unwrap();
    assert!(!granite.state().contains("msr/1ad"));
    granite.undone();
    assert_eq!(granite.state(), "{} {}");
}

/// No bit tells it beforehand, in either generation: it is said at planning, refused by firmware, and nothing is left.
/// What is said to come first is what helps.
#[test]
fn where_both_kinds_of_frequencies_exclude_each_other_it_is_said() {
    let (base, turbo) = ((BF_ON, BF_OFF, "base-freq"), (TF_ON, TF_OFF, "turbo-freq"));
    for (machine, [(first, off, name), (second, ..)]) in [
        ("sapphire", [base.clone(), turbo.clone()]),
        ("sapphire", [turbo.clone(), base.clone()]),
        ("exclusive", [base.clone(), turbo.clone()]),
        ("exclusive", [turbo, base]),
    ] {
        let here = Here::new(machine);
        here.done(&on("0", first)).unwrap();
        let before = here.state();
        let plan = here.plan(&on("0", second.clone())).unwrap();
        let said = format!("{name} of package 0 is on, and processors need not have both at once");
        assert!(plan.remarks.iter().any(|it| it.starts_with(&said)), "{:?}", plan.remarks);
        let error = here.done(&on("0", second.clone())).unwrap_err().to_string();
        assert!(error.contains("need not have base-freq and turbo-freq at once"), "{error}");
        assert!(error.contains(&format!("`cpudyno sst {name} disable`")), "{error}");
        assert_eq!(here.state(), before, "{machine}: {name}");
        // Without -a core-power stays, which the other one stands on as well.
        let off = match off {
            What::BaseFreq { .. } => What::BaseFreq { on: false, auto: false },
            _ => What::TurboFreq { on: false, auto: false, limits: None },
        };
        here.done(&on("0", off)).unwrap();
        here.done(&on("0", second)).unwrap();
        here.undone();
        assert_eq!(here.state(), "{} {}", "{machine}: {name}");
    }
}

/// That firmware is busy is no reason that has to do with features.
#[test]
fn who_fails_for_another_reason_is_told_that_one() {
    let state = r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 6, "0.0/features": 1},
        "firmware_faults": [{"on": "7f/02", "does": "io-error"}]}"#;
    let here = Here::with("guide", state);
    let error = here.done(&on("12,13", TF_ON)).unwrap_err().to_string();
    assert!(error.contains("features of the level") && !error.contains("at once"), "{error}");
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

/// What is tried is switched on and off again and again.
#[test]
fn arms_follow_each_other_and_firmware_refuses_nothing() {
    for (machine, state, wish) in [
        ("guide", "{}", on("0", BF_ON)),
        ("guide", "{}", on("12,13", TF_ON)),
        (
            "guide",
            r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 6, "0.0/features": 3,
                "0.0/msr/1ad": 18446744073709551615}}"#,
            on("0", level(4, false)),
        ),
        ("granite", "{}", on("0", BF_ON)),
        ("granite", "{}", on("1,2", TF_ON)),
        (
            "granite",
            r#"{"firmware": {"0.0/features": 3, "0.0/msr/1ad": 2097865012304223517}}"#,
            on("0", level(1, false)),
        ),
    ] {
        let here = Here::with(machine, state);
        let (before, what) = (here.state(), format!("{machine}: {}", wish.words()));
        let machine = here.machine();
        let levers = port::of(&machine).unwrap();
        let mut session = levers::Session::open(&machine, levers, &here.shelf(), "test").unwrap();
        let arms = planned(&machine, session.levers(), &wish, false).unwrap().as_arms();
        for _ in 0..3 {
            session.switch(&arms[1]).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_ne!(here.state(), before, "{what}");
            session.switch(&arms[0]).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(here.state(), before, "{what}");
        }
        assert!(session.restore().is_complete());
    }
}

/// A machine on which a thread and an interrupt are bound to CPU 4.
struct Bound(Box<dyn Tree>);

impl Tree for Bound {
    fn read(&self, path: &str) -> Reading<String> {
        let text = match path {
            "/proc/77/cmdline" => "feed",
            "/proc/77/task/78/status" => "Name:\tfeed\nCpus_allowed_list:\t4\n",
            "/proc/irq/9/smp_affinity_list" => "4",
            path => return self.0.read(path),
        };
        Ok(text.to_owned())
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        let name = match path {
            "/proc" => "77",
            "/proc/77/task" => "78",
            "/proc/irq" => "9",
            path => return self.0.list(path),
        };
        Ok(vec![name.to_owned()])
    }
}

#[test]
fn what_loses_its_cpu_for_good_is_said_before() {
    let here = Here::new("guide");
    let machine = here.machine();
    let levers = port::of(&machine).unwrap();
    let machine = Machine { tree: Box::new(Bound(here.machine().tree)), ..machine };
    let plan = |force| planned(&machine, &*levers, &on("0", level(4, true)), force);
    let NotChanged::Unplanned(Error::Irreversible { why, .. }) = plan(false).unwrap_err() else {
        panic!("it cannot be undone");
    };
    assert!(why.contains("feed (78, CPUs 4)") && why.contains("1 interrupt is bound"), "{why}");
    let forced = plan(true).unwrap();
    assert!(forced.remarks.contains(&why), "{:?}", forced.remarks);
    // What takes nobody's CPU needs no force.
    assert!(planned(&machine, &*levers, &on("0", level(4, false)), false).is_ok());
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
        assert!(error.contains(&format!("it was written, and reads `{near}`")), "{error}");
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
            assert!(said[0].contains("the kernel has none to set for package 0"), "{said:?}");
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

/// What no CPU can do is written all the same, and said.
#[test]
fn limits_of_a_class_beyond_all_clocks_are_told() {
    let here = Here::new("guide");
    let told = |min_mhz, max_mhz| {
        let what = What::Class(ClassWish { min_mhz, max_mhz, ..class(1) });
        here.plan(&wish(what)).unwrap().remarks.join("; ")
    };
    assert!(told(Some(25000), None).contains("no CPU reaches the lowest frequency, 25000 MHz"));
    assert!(told(None, Some(100)).contains("no CPU is as slow as the highest frequency, 100 MHz"));
    let usual = told(Some(800), Some(3200));
    assert!(!usual.contains("no CPU"), "{usual}");
}

/// The kind of priorities that is left while they are off is the one that was asked for.
#[test]
fn priorities_that_are_off_have_a_kind() {
    for (priority, kind) in [(Priority::Ordered, 4), (Priority::Proportional, 0)] {
        let here = Here::new("guide");
        here.done(&on("0", CP_ON)).unwrap();
        here.done(&on("0", What::CorePower { on: false, priority })).unwrap();
        assert_eq!(here.state().contains("\"0.0/priorities\":4"), kind == 4, "{}", here.state());
    }
}

/// With a feature and without it, at a level that is not there yet.
#[test]
fn clocks_at_another_level_are_told_beforehand() {
    let machine = Here::new("guide").machine();
    let wish = on("12,13", TF_ON);
    // Those two are not in level 4.
    let found = sst::change::expected_at(&machine, &wish, 4).unwrap();
    let of = |cpu| found.iter().find(|it| it.cpus.contains(model::CpuId(cpu))).unwrap();
    assert_eq!(of(12).then, None);
    assert_eq!(of(0).now.base.as_ref().unwrap().0, 2800);
    let found = sst::change::expected_at(&machine, &on("0,1", TF_ON), 4).unwrap();
    let first = found.iter().find(|it| it.cpus.contains(model::CpuId(0))).unwrap();
    let turbo = |clocks: &sst::change::Clocks| clocks.turbo.as_ref().unwrap().0;
    assert_eq!((turbo(&first.now), turbo(first.then.as_ref().unwrap())), (3200, 3300));
    assert!(sst::change::expected_at(&machine, &wish, 9).is_err());
}

/// Both sides of a plan are capped by what holds clocks down, and CPUs that are held are told by themselves.
#[test]
fn plans_know_classes_and_limits_of_the_kernel() {
    use sst::change::{CeilingBy, Clocks, Expected, expected};
    let here =
        Here::with("guide", r#"{"firmware": {"0.0/class/3": 983040, "0.0/association/0": 3}}"#);
    // In GHz: base and turbo, now and then; who holds it, now and then.
    let told = |wish: &Wish, cpu: u32| {
        let all = expected(&here.machine(), wish).unwrap();
        let of = all.iter().find(|it: &&Expected| it.cpus.contains(model::CpuId(cpu))).unwrap();
        let of_clocks = |clocks: &Clocks| {
            let mhz = |it: &Reading<sst::model::Megahertz>| it.as_ref().unwrap().0;
            (mhz(&clocks.base), mhz(&clocks.turbo), clocks.ceiling.map(|it| it.by))
        };
        (of.cpus.to_string(), of_clocks(&of.now), of_clocks(of.then.as_ref().unwrap()))
    };
    let new_level = on("0", level(4, false));
    // Core-power is off.
    assert_eq!(told(&new_level, 0).1, (2600, 3100, None));
    here.done(&on("0", CP_ON)).unwrap();
    let class = Some(CeilingBy::Class(3));
    let held = ("0,28".to_owned(), (1500, 1500, class), (1500, 1500, class));
    assert_eq!(told(&new_level, 0), held);
    assert_eq!(told(&new_level, 1).2, (2800, 3200, None));
    // Features that come with priorities set classes anew.
    assert_eq!(told(&on("12,13", TF_ON), 0).1, (1500, 1500, class));
    assert_eq!(told(&on("12,13", TF_ON), 0).2, (2600, 2600, None));
    assert_eq!(told(&on("0", BF_ON), 0).2, (2400, 3100, None));
    // What is below a new base frequency is opened; what is not stays, and may decide later.
    here.set("cpu1/cpufreq/scaling_max_freq", "2000000");
    here.set("cpu2/cpufreq/scaling_max_freq", "3150000");
    here.set("cpu3/cpufreq/scaling_max_freq", "2700000");
    let kernel = Some(CeilingBy::Kernel);
    assert_eq!(told(&new_level, 1), ("1".to_owned(), (2000, 2000, kernel), (2800, 3200, None)));
    assert_eq!(told(&new_level, 2), ("2".to_owned(), (2600, 3100, None), (2800, 3150, kernel)));
    assert_eq!(told(&on("12,13", TF_ON), 1).2, (2000, 2000, kernel));
    assert_eq!(told(&on("0", BF_ON), 3).2, (2400, 2700, kernel));
    // As it then is.
    here.done(&new_level).unwrap();
    assert_eq!(told(&on("0", level(4, false)), 1).1, (2800, 3200, None));
    assert_eq!(told(&on("0", level(4, false)), 2).1, (2800, 3150, kernel));
    // At another level first, which opens a limit that the feature alone would leave.
    here.done(&on("0", level(0, false))).unwrap();
    let at = sst::change::expected_at(&here.machine(), &on("0,1", TF_ON), 4).unwrap();
    let third = at.iter().find(|it| it.cpus.contains(model::CpuId(3))).unwrap();
    assert_eq!(third.now.turbo.as_ref().unwrap().0, 3200);
    // A core is never slower than its lowest clock.
    let slow = Here::with(
        "guide",
        r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 2,
        "0.0/class/0": 65536}}"#,
    );
    let all = expected(&slow.machine(), &on("0", level(4, false))).unwrap();
    assert_eq!(all[0].now.turbo.as_ref().unwrap().0, 800);
}

/// Who is in class 0 or 1 goes first, where turbo frequencies are on; and base-freq chooses others.
#[test]
fn who_goes_first_goes_by_classes() {
    let here = Here::new("guide");
    here.done(&on("12,13", TF_ON)).unwrap();
    here.done(&on("11", What::Association(1))).unwrap();
    let all = sst::change::expected(&here.machine(), &on("0", BF_ON)).unwrap();
    let turbo = |cpu: u32, is_then: bool| {
        let of = all.iter().find(|it| it.cpus.contains(model::CpuId(cpu))).unwrap();
        let clocks = if is_then { of.then.as_ref().unwrap() } else { &of.now };
        clocks.turbo.as_ref().unwrap().0
    };
    // Three of them, whose group has less than that of two.
    assert_eq!([11, 12, 0].map(|cpu| turbo(cpu, false)), [3100, 3100, 2600]);
    assert_eq!([5, 13, 12, 11].map(|cpu| turbo(cpu, true)), [3100, 3100, 2600, 2600]);
}

/// Limits of the clock and classes are told of each other, whichever comes first, while core-power is off.
#[test]
fn limits_and_classes_are_told_of_each_other() {
    let said = |here: &Here, wish: &Wish, words: &str| {
        let remarks = here.plan(wish).unwrap().remarks;
        remarks.iter().any(|it| it.contains(words))
    };
    let set = |here: &Here, setting: &str| {
        let machine = here.machine();
        let asked = [setting.parse().unwrap()];
        let levers = port::of(&machine).unwrap();
        levers::plan::Plan::new(&machine, &*levers, &asked, false).map(|plan| plan.remarks)
    };
    for (name, along) in [("guide", "10,38"), ("skylake", "10,38"), ("granite", "10,74")] {
        let here = Here::new(name);
        assert!(set(&here, "max_freq@0-20=2GHz").unwrap().iter().all(|it| !it.contains("class")));
        // Classes first.
        here.done(&on("10", What::Association(3))).unwrap();
        let words = format!("cores of CPUs {along} are in classes");
        for setting in ["max_freq=2GHz", "min_freq=2GHz"] {
            let remarks = set(&here, setting).unwrap();
            assert!(remarks.iter().any(|it| it.starts_with(&words)), "{name}: {remarks:?}");
        }
        assert!(said(&here, &wish(What::TurboMode(false)), &words), "{name}");
        let on_core = |here: &Here| set(here, "max_freq@11=2GHz");
        assert!(on_core(&here).unwrap().iter().all(|it| !it.contains("class")), "{name}");
        // Then limits; and both count together.
        here.set("cpu10/cpufreq/scaling_max_freq", "2000000");
        here.set("cpu11/cpufreq/scaling_min_freq", "2000000");
        let limited = "clocks of CPUs 10-11 are limited already";
        assert!(said(&here, &on("10,11", CP_ON), limited), "{name}");
        assert!(said(&here, &on("10,12", What::Association(2)), "clocks of CPU 10 are"), "{name}");
        assert!(!said(&here, &on("12", What::Association(2)), "are limited already"), "{name}");
        here.done(&on("10,11", CP_ON)).unwrap();
        assert!(matches!(on_core(&here), Err(Error::Ordered { .. })), "{name}");
    }
}

/// Core-power is that of a package: classes of power domains that nobody means count along with it.
#[test]
fn classes_beside_those_that_are_meant_are_told() {
    let here = Here::new("granite");
    here.done(&on("11", What::Association(3))).unwrap();
    let words = "cores of package 0, power domain 1 are in classes already";
    for wish in [on("0", CP_ON), on("1,2", TF_ON), on("0", BF_ON)] {
        let remarks = here.plan(&wish).unwrap().remarks;
        assert!(remarks.iter().any(|it| it.starts_with(words)), "{remarks:?}");
    }
    let remarks = here.plan(&on("11,12", TF_ON)).unwrap().remarks;
    assert!(remarks.iter().all(|it| !it.starts_with(words)), "{remarks:?}");
}

/// What would be refused at another level is told before that is set.
#[test]
fn what_is_refused_at_another_level_is_told_beforehand() {
    let here = Here::new("guide");
    here.done(&on("12,13", TF_ON)).unwrap();
    let at = |wish: &Wish, level| sst::change::foreseen_at(&here.machine(), wish, level);
    for (wish, level, why) in [
        (on("12,13", TF_ON), 4, "level 4 of package 0 is without 2 of the cores"),
        (on("0-9", TF_ON), 4, "level 4 has frequencies for 6 at most"),
        (on("0", BF_ON), 4, "level 4 of package 0 does not support it"),
        (on("0", BF_ON), 9, "package 0 has no level 9"),
    ] {
        let refused = at(&wish, level).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
    assert!(at(&on("0,1", TF_ON), 4).is_ok() && at(&on("0", BF_ON), 0).is_ok());
}

/// Turbo limits that somebody lowered hold at most, until a feature or a level opens them.
#[test]
fn plans_know_turbo_limits_that_hold_at_most() {
    use sst::change::{CeilingBy, expected};
    let here = Here::new("guide");
    here.done(&on("0", What::TurboLimits(0x1d1d_1d1d_1d1d_1d1d))).unwrap();
    let of = |wish: &Wish| {
        let found = expected(&here.machine(), wish).unwrap().swap_remove(0);
        let told = |clocks: sst::change::Clocks| {
            (clocks.turbo.unwrap().0, clocks.ceiling.map(|ceiling| ceiling.by))
        };
        (told(found.now), told(found.then.unwrap()))
    };
    let held = (2900, Some(CeilingBy::TurboLimits));
    assert_eq!(of(&on("0", level(4, false))), (held, (3200, None)));
    assert_eq!(of(&on("0", BF_ON)), (held, held));
    assert_eq!(of(&on("0,1", TF_ON)), (held, (3200, None)));
}
