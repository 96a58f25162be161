//! What is told before anything is changed.

use super::here::{BF_ON, CP_ON, Here, TF_ON, class, level, on, wish};
use levers::{Error, port};
use model::Reading;
use sst::change::{ClassWish, What, Wish, expected};

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

/// No clock is above its base frequency while turbo is off.
#[test]
fn plans_know_that_turbo_is_off() {
    use sst::change::{CeilingBy, Clocks, Expected, expected};
    let here = Here::new("guide");
    let told = |wish: &Wish, cpu: u32| {
        let all = expected(&here.machine(), wish).unwrap();
        let of = all.iter().find(|it: &&Expected| it.cpus.contains(model::CpuId(cpu))).unwrap();
        let of_clocks = |clocks: &Clocks| {
            let mhz = |it: &Reading<sst::model::Megahertz>| it.as_ref().unwrap().0;
            (mhz(&clocks.base), mhz(&clocks.turbo), clocks.ceiling.map(|it| it.by))
        };
        [of_clocks(&of.now), of_clocks(of.then.as_ref().unwrap())]
    };
    let wish = on("0", BF_ON);
    assert_eq!(told(&wish, 5)[1], (3000, 3100, None));
    here.set("intel_pstate/no_turbo", "1");
    let by = Some(CeilingBy::NoTurbo);
    assert_eq!(told(&wish, 5), [(2600, 2600, by), (3000, 3000, by)]);
    assert_eq!(told(&wish, 0), [(2600, 2600, by), (2400, 2400, by)]);
    // Who holds it lower says more.
    here.set("cpu5/cpufreq/scaling_max_freq", "2000000");
    assert_eq!(told(&wish, 5)[0], (2000, 2000, Some(CeilingBy::Kernel)));
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
        let words = format!("cores of CPUs {along} are already in classes");
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
        let limited = "clocks of CPUs 10-11 are already limited";
        assert!(said(&here, &on("10,11", CP_ON), limited), "{name}");
        assert!(said(&here, &on("10,12", What::Association(2)), "clocks of CPU 10 are"), "{name}");
        assert!(!said(&here, &on("12", What::Association(2)), "are already limited"), "{name}");
        here.done(&on("10,11", CP_ON)).unwrap();
        assert!(matches!(on_core(&here), Err(Error::Ordered { .. })), "{name}");
    }
}

/// Core-power is that of a package: classes of power domains that nobody means count along with it.
#[test]
fn classes_beside_those_that_are_meant_are_told() {
    let here = Here::new("granite");
    here.done(&on("11", What::Association(3))).unwrap();
    let words = "cores of package 0, power domain 1 are already in classes";
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
        (on("12,13", TF_ON), 4, "level 4 of package 0 excludes 2 of the cores"),
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

/// Whatever was done before, what is told of a wish is what there is once it is done.
#[test]
fn what_is_promised_is_there_afterwards() {
    let limits = |word| What::TurboLimits(word);
    for (machine, first, levels) in
        [("guide", "12,13", [0, 4]), ("sapphire", "0,1", [0, 1]), ("granite", "0,1", [0, 1])]
    {
        let cpus = |what: &What| match what {
            What::TurboFreq { .. } => on(first, what.clone()),
            _ => wish(what.clone()),
        };
        let befores = [TF_ON, BF_ON, limits(0x1c1c_1c1c_1c1c_1c1c), level(levels[1], false)];
        let wishes = [TF_ON, BF_ON, level(levels[0], false), level(levels[1], false)];
        let mut held = 0;
        for before in &befores {
            for what in &wishes {
                let here = Here::new(machine);
                let told = format!("{machine}: {what:?} after {before:?}");
                if here.done(&cpus(before)).is_err() {
                    continue;
                }
                let Ok(promised) = expected(&here.machine(), &cpus(what)) else { continue };
                if here.done(&cpus(what)).is_err() {
                    continue;
                }
                held += 1;
                let after = expected(&here.machine(), &wish(CP_ON)).unwrap();
                // Of those whom a level is without nothing is promised.
                for (it, then) in promised.iter().filter_map(|it| Some((it, it.then.as_ref()?))) {
                    for cpu in it.cpus.iter() {
                        let now = &after.iter().find(|it| it.cpus.contains(cpu)).unwrap().now;
                        assert_eq!(now, then, "{told}: CPU {cpu}");
                    }
                }
            }
        }
        assert!(held >= 6, "{machine}: {held}");
    }
}

/// Whom the level at present is without has no clocks of it.
#[test]
fn who_is_not_in_the_level_has_no_clocks_now() {
    let here = Here::new("guide");
    here.done(&on("0", level(4, false))).unwrap();
    let machine = here.machine();
    let of = |wish: &Wish, cpu: u32| {
        let all = expected(&machine, wish).unwrap();
        let it = all.iter().find(|it| it.cpus.contains(model::CpuId(cpu))).unwrap();
        (it.now.base.is_ok(), it.now.turbo.is_ok(), it.then.as_ref().map(|it| it.turbo.is_ok()))
    };
    // CPU 4 is not in level 4, CPU 0 is.
    for wish in [on("0", level(4, false)), on("0,1", TF_ON)] {
        assert_eq!(of(&wish, 4), (false, false, None), "{wish:?}");
        assert_eq!(of(&wish, 0), (true, true, Some(true)), "{wish:?}");
    }
    assert_eq!(of(&on("0", level(0, false)), 4), (false, false, Some(true)));
    // They are alike.
    let all = expected(&machine, &on("0", level(4, false))).unwrap();
    let outside: Vec<String> =
        all.iter().filter(|it| it.then.is_none()).map(|it| it.cpus.to_string()).collect();
    assert_eq!(outside, ["4,6,12-13,32,34,40-41"]);
}
