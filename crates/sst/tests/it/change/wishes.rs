//! Wishes on simulated machines: what is written in which order, what is refused, what becomes of the state.

use super::here::{BF_OFF, BF_ON, CP_OFF, CP_ON, CPU, Here, TF_OFF, TF_ON, class, level, on, wish};
use levers::{Error, port};
use machine::{Machine, Tree};
use model::Reading;
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
    order(&guide(), &wish(turbo), "turbo-freq needs it", "turbo-freq enable -a");
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
        (on("60", BF_ON), "cannot use CPU 60: online are 0-55"),
        (wish(TF_ON), "no CPUs were named to go first"),
        (
            on("0-9", TF_ON),
            "10 cores of package 0 are to go first, and level 4 has frequencies for 6",
        ),
        (on("12-13", TF_ON), "level 4 of package 0 excludes 2 of the cores that are to go first"),
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
        plan.remarks[0].contains("CPU 38 shares a core with the named CPUs and goes along"),
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
        let said = "SMT is off, so only the first thread of a core is on";
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
    let said = "CPUs 28-55 stay off: SMT is off, so only the first thread of a core is on";
    assert!(plan.remarks.iter().any(|it| it.contains(said)), "{:?}", plan.remarks);
    here.done(&wish).unwrap();
    assert_eq!(here.text("cpu14/online"), "1");
    here.undone();
    assert_eq!(here.state(), before);
}

#[test]
fn no_core_is_left_without_a_turbo_limit() {
    let guide = Here::new("guide");
    let turbo = |on, limits| What::TurboFreq { on, auto: true, limits };
    for what in
        [turbo(true, Some(0)), turbo(true, Some(0x1f1f_1f00_1f1f_1f1f)), What::TurboLimits(0x1f1f)]
    {
        let refused = guide.refused(&on("12", what)).to_string();
        assert!(refused.contains("a limit of 0 stops all cores of group "), "{refused}");
    }
    guide.done(&on("12", TF_ON)).unwrap();
    let refused = guide.refused(&on("12", turbo(false, Some(0)))).to_string();
    assert!(refused.contains("a limit of 0"), "{refused}");
    // The level says which groups there are, whatever the register holds just now.
    let odd = Here::with("guide", r#"{"firmware": {"0.0/msr/1ad": 31}}"#);
    let refused = odd.refused(&on("12", What::TurboLimits(0x1f))).to_string();
    assert!(refused.contains("stops all cores of group 1"), "{refused}");
}

#[test]
fn packages_are_switched_off_each_by_itself() {
    let here = Here::new("guide");
    here.done(&wish(BF_ON)).unwrap();
    here.done(&on("0", TF_ON)).unwrap();
    let plan = here.plan(&wish(BF_OFF)).unwrap();
    let said = "core-power stays on: turbo-freq of package 0 needs it";
    assert!(plan.remarks.iter().any(|it| it == said), "{:?}", plan.remarks);
    here.done(&wish(BF_OFF)).unwrap();
    let state = here.state();
    assert!(state.contains(r#""0.0/core-power":1"#), "{state}");
    assert!(!state.contains(r#""1.0/core-power""#), "{state}");
    // What is left is named, not what is switched off.
    here.done(&on("0", BF_ON)).unwrap();
    let plan = here.plan(&on("0", TF_OFF)).unwrap();
    let said = "core-power stays on: base-freq of package 0 needs it";
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
        let said =
            format!("{name} of package 0 is on, and a processor may not support both at once");
        assert!(plan.remarks.iter().any(|it| it.starts_with(&said)), "{:?}", plan.remarks);
        let error = here.done(&on("0", second.clone())).unwrap_err();
        assert!(
            error.to_string().contains("may not support base-freq and turbo-freq at once"),
            "{error}"
        );
        let first = format!("first `cpudyno sst {name} disable`");
        assert!(error.hint().is_some_and(|hint| hint.contains(&first)), "{machine}: {error:?}");
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

/// With the older generation each die has priorities of its own.
#[test]
fn a_die_beside_the_one_that_is_meant_stays_as_it_is() {
    let here = Here::new("twin");
    let beside = |told: &str| told.contains("die 1");
    let other = here.plan(&on("7", CP_ON)).unwrap();
    assert!(other.changes.iter().all(|it| beside(&it.object.to_string())), "{other:?}");
    let slow = ClassWish { min_mhz: Some(2000), ..class(1) };
    for what in [CP_ON, What::Class(slow), BF_ON] {
        let plan = here.plan(&on("0", what.clone())).unwrap();
        assert!(!plan.changes.is_empty(), "{what:?}");
        let objects: Vec<String> = plan.changes.iter().map(|it| it.object.to_string()).collect();
        assert!(!objects.iter().any(|it| beside(it)), "{what:?}: {objects:?}");
        assert!(!plan.remarks.iter().any(|it| beside(it)), "{what:?}: {:?}", plan.remarks);
    }
    here.done(&on("0,7", BF_ON)).unwrap();
    let both = here.state();
    assert!(both.contains("0.0/core-power") && both.contains("0.1/core-power"), "{both}");
    // What stands on core-power in the other die is in nobody's way, and keeps it there.
    here.done(&on("0", What::BaseFreq { on: false, auto: false })).unwrap();
    here.done(&on("0", CP_OFF)).unwrap();
    let one = here.state();
    assert!(
        !one.contains(r#""0.0/core-power":1"#) && one.contains(r#""0.1/core-power":1"#),
        "{one}"
    );
    here.undone();
    here.done(&on("0,7", BF_ON)).unwrap();
    here.done(&on("0", BF_OFF)).unwrap();
    let one = here.state();
    assert!(
        !one.contains(r#""0.0/core-power":1"#) && one.contains(r#""0.1/core-power":1"#),
        "{one}"
    );
    let why = here.refused(&on("7", CP_OFF)).to_string();
    assert!(why.contains("base-freq is on in package 0, die 1"), "{why}");
    here.undone();
    assert_eq!(here.state(), "{} {}");
}

/// Of what cannot be planned, the plan says so.
#[test]
fn what_is_not_seen_beforehand_is_a_remark() {
    let has = |here: &Here, wish: &Wish, words: &str| {
        here.plan(wish).unwrap().remarks.iter().any(|remark| remark.contains(words))
    };
    // A package whose CPUs are all off is asked by nobody.
    let off = |cpus: &mut dyn Iterator<Item = u32>| {
        let files: Vec<String> =
            cpus.map(|cpu| format!("\"{CPU}/cpu{cpu}/online\": \"0\"")).collect();
        Here::with("guide", &format!("{{\"files\": {{{}}}}}", files.join(", ")))
    };
    let words = "CPUs 14-27,42-55 are off, all CPUs of a package among them";
    let without_package_1 = off(&mut (14..28).chain(42..56));
    assert!(has(&without_package_1, &wish(CP_ON), words));
    assert!(has(&without_package_1, &wish(level(4, false)), words));
    assert!(!has(&without_package_1, &on("0", CP_ON), "are off"));
    let without_cores = off(&mut [4, 32, 5, 33].into_iter());
    assert!(!has(&without_cores, &wish(CP_ON), "are off"));
    // Their classes need not be known.
    without_cores.fails(r#"{"on": "mmio", "does": "refused", "times": 1000}"#);
    assert!(!has(&without_cores, &wish(level(4, false)), "are off"));
    // Without turbo, limits from the base frequency on do not show.
    let slow = format!("{{\"files\": {{\"{CPU}/intel_pstate/no_turbo\": \"1\"}}}}");
    let (slow, fast) = (Here::with("guide", &slow), Here::new("guide"));
    for what in [level(4, false), BF_ON] {
        assert!(has(&slow, &on("0", what.clone()), "hides any `max_freq`"), "{what:?}");
        assert!(!has(&fast, &on("0", what.clone()), "hides any `max_freq`"), "{what:?}");
    }
    assert!(!has(&slow, &on("0", level(0, false)), "hides any `max_freq`"));
    slow.done(&on("0", BF_ON)).unwrap();
    assert!(!has(&slow, &on("0", level(0, false)), "hides any `max_freq`"));
}
