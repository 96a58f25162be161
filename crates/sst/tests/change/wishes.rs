//! Wishes on simulated machines: what is written in which order, what is refused, what becomes of the state.

use crate::here::{BF_OFF, BF_ON, CP_ON, Here, TF_OFF, TF_ON, class, level, on, wish};
use sst::change::{ClassWish, Refused, What, Wish, base_frequencies};

#[test]
fn base_frequencies_come_in_the_order_that_firmware_needs() {
    let here = Here::new("guide");
    let lines = here.lines(&on("0", BF_ON));
    let of = "of the power domain of CPU 0";
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
    let off = What::CorePower(None);
    order(&here, &wish(off.clone()), "turbo-freq is on in package 0", "turbo-freq disable");
    here.done(&wish(BF_ON)).unwrap();
    here.done(&on("0", TF_OFF)).unwrap();
    order(&here, &wish(off), "base-freq is on in package 0", "base-freq disable");
    order(&here, &wish(What::TurboMode(false)), "above its base frequency", "base-freq disable -a");
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
        (on("60", BF_ON), "cannot use CPUs 60: this machine has no such CPUs"),
        (wish(TF_ON), "nobody said which CPUs are to go first"),
        (
            on("0-9", TF_ON),
            "10 cores of package 0 are to go first, and level 4 has frequencies for 6",
        ),
        (wish(What::Association(3)), "no CPUs were named"),
        (on("3", What::Association(4)), "there is no class 4"),
        (wish(What::TurboLimits(0)), "limits of 0"),
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
    // Whatever level is named, the reason is the one that holds.
    let refused = here.refused(&wish(level(1, false)));
    assert!(matches!(
        refused,
        Refused::Unread(_) | Refused::NotHere { .. } | Refused::Order { .. }
    ));
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
    assert!(plan.remarks[0].contains("CPUs 38 share cores"), "{:?}", plan.remarks);
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
