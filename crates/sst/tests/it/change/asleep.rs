//! Cores none of whose CPUs is online, power domains beside those that are meant, and kernels that tell less.

use super::here::{BF_ON, CP_ON, CPU, Here, TF_OFF, TF_ON, class, level, on, wish};
use levers::{Session, port};
use machine::{Machine, Tree};
use model::{CpuSet, Reading};
use sst::change::{ClassWish, Clocks, Expected, What, expected};
use sst::model::Megahertz;

/// Turbo-freq as the classes are that are there.
const PLAIN: What = What::TurboFreq { on: true, auto: false, limits: None };

/// The clocks of a CPU, before and after.
fn clocks(all: &[Expected], cpu: u32) -> [Clocks; 2] {
    let cpu = model::CpuId(cpu);
    let it = all.iter().find(|it| it.cpus.contains(cpu)).unwrap_or_else(|| panic!("{all:?}"));
    [it.now.clone(), it.then.clone().unwrap()]
}

fn has(remarks: &[String], said: &str) {
    assert!(remarks.iter().any(|it| it.contains(said)), "{said}: {remarks:?}");
}

/// Firmware counts cores of the first class, whether or not the kernel uses them.
#[test]
fn whoever_is_off_goes_last_as_well() {
    for (machine, first, off, said) in [
        (
            "guide",
            "0,1",
            "4,6,12-13,32,34,40-41",
            "cores 4,6,12-13 of package 0, without an online CPU",
        ),
        ("guide", "0,1", "2,30", "core 2 of package 0, without an online CPU, is given its"),
        ("granite", "1,2", "3,67", "core 3 of package 0, without an online CPU, is given"),
    ] {
        let here = Here::new(machine);
        let off: CpuSet = off.parse().unwrap();
        for cpu in off.iter() {
            here.set(&format!("cpu{cpu}/online"), "0");
        }
        let before = here.state();
        let wish = on(first, TF_ON);
        has(&here.plan(&wish).unwrap().remarks, said);
        let all = here.lines(&wish);
        for line in off.iter().filter(|cpu| cpu.0 < 28).map(|cpu| format!("class of core {cpu} of"))
        {
            let is_last = |it: &String| it.starts_with(&line) && it.ends_with(": 0 -> 3");
            assert!(all.iter().any(is_last), "{machine}: {line}: {all:?}");
        }
        here.done(&wish).unwrap();
        assert_eq!(here.lines(&wish), [] as [&str; 0], "{machine}");
        // The clocks are those of two cores that go first.
        let promised = expected(&here.machine(), &wish).unwrap();
        let [now, then] = clocks(&promised, 1);
        assert_eq!((&now.turbo, now.turbo.is_ok()), (&then.turbo, true), "{machine}");
        here.undone();
        assert_eq!(here.state(), before, "{machine}");
    }
}

#[test]
fn base_frequencies_of_who_is_off_are_ranked() {
    let here = Here::new("guide");
    for cpu in [4, 5, 32, 33] {
        here.set(&format!("cpu{cpu}/online"), "0");
    }
    let before = here.state();
    let lines = here.lines(&on("0", BF_ON));
    assert!(lines.iter().any(|it| it == "class of core 4 of package 0: 0 -> 3"), "{lines:?}");
    // It has the higher one, and is in the first class already.
    assert!(!lines.iter().any(|it| it.starts_with("class of core 5 ")), "{lines:?}");
    here.done(&on("0", BF_ON)).unwrap();
    for cpu in [4, 5, 32, 33] {
        here.set(&format!("cpu{cpu}/online"), "1");
    }
    // Back online there is nothing to do but their limits.
    let lines = here.lines(&on("0", BF_ON));
    assert!(lines.iter().all(|it| it.contains("scaling_min_freq")), "{lines:?}");
    for cpu in [4, 5, 32, 33] {
        here.set(&format!("cpu{cpu}/online"), "0");
    }
    here.undone();
    assert_eq!(here.state(), before);
}

/// Where nobody gives classes to those that are off, nobody knows whether they count.
#[test]
fn a_clock_that_hangs_on_cores_that_are_off_is_unknown() {
    let here = Here::new("guide");
    here.done(&on("0", level(4, true))).unwrap();
    here.done(&on("0", CP_ON)).unwrap();
    here.done(&on("2-3,5,7-11", What::Association(3))).unwrap();
    let promised = expected(&here.machine(), &on("0,1", PLAIN)).unwrap();
    let [_, then] = clocks(&promised, 0);
    let reason = then.turbo.unwrap_err();
    assert!(reason.why.contains("2 cores go first, and 4 more are in their classes"), "{reason:?}");
    let said = "4 cores of package 0 without an online CPU are in classes 0 and 1, in addition to 2 that go first";
    has(&here.plan(&on("0,1", PLAIN)).unwrap().remarks, said);
    let [_, then] = clocks(&promised, 2);
    assert!(then.turbo.is_ok(), "{then:?}");
    // Those who are put into the last class do not.
    let promised = expected(&here.machine(), &on("0,1", TF_ON)).unwrap();
    assert_eq!(clocks(&promised, 0)[1].turbo, Ok(Megahertz(3300)));
    has(&here.plan(&on("0,1", TF_ON)).unwrap().remarks, "cores 4,6,12-13 of package 0");
    here.done(&on("0,1", TF_ON)).unwrap();
    here.done(&on("0", TF_OFF)).unwrap();
    here.undone();
    assert_eq!(here.state(), "{} {}");
}

#[test]
fn more_cores_than_there_are_frequencies_for_are_named() {
    let here = Here::new("guide");
    here.done(&on("0", CP_ON)).unwrap();
    here.done(&on("0,1", What::Association(2))).unwrap();
    let said = "12 cores of package 0 go first (classes 0 and 1), but level 0 has frequencies for at most 6";
    has(&here.plan(&on("0", PLAIN)).unwrap().remarks, said);
    here.done(&on("2-11", What::Association(3))).unwrap();
    let remarks = here.plan(&on("0", PLAIN)).unwrap().remarks;
    assert!(!remarks.iter().any(|it| it.contains("go first (classes")), "{remarks:?}");
    // Who joins them, or leaves them, counts as soon as it is on.
    here.done(&on("0", PLAIN)).unwrap();
    let said = "9 cores of package 0 go first (classes 0 and 1), but level 0 has frequencies for at most 6";
    let plan = |class| here.plan(&on("2-8", What::Association(class))).unwrap();
    has(&plan(0).remarks, said);
    assert!(!plan(3).remarks.iter().any(|it| it.contains("go first (classes")), "{:?}", plan(3));
}

#[test]
fn cores_that_join_those_that_sleep_are_told() {
    let here = Here::new("guide");
    here.done(&on("0", CP_ON)).unwrap();
    here.done(&on("2-13", What::Association(3))).unwrap();
    here.done(&on("0", PLAIN)).unwrap();
    let wish = on("2", What::Association(0));
    let remarks = here.plan(&wish).unwrap().remarks;
    assert!(!remarks.iter().any(|it| it.contains("go first")), "{remarks:?}");
    for cpu in [1, 29] {
        here.set(&format!("cpu{cpu}/online"), "0");
    }
    let said = "1 core of package 0 without an online CPU is in classes 0 and 1, in addition to 2 that go first";
    has(&here.plan(&wish).unwrap().remarks, said);
}

/// What is refused because of a power domain that nobody asks for can be had without it, as the hint says.
#[test]
fn power_domains_that_have_cpus_can_be_named() {
    let here = Here::new("granite");
    for cpu in (22..32).chain(86..96) {
        here.set(&format!("cpu{cpu}/online"), "0");
    }
    for what in [BF_ON, TF_OFF] {
        let refused = here.refused(&wish(what.clone()));
        let hint = refused.hint().unwrap().to_owned();
        let named = hint.split("-c ").nth(1).and_then(|it| it.split(' ').next()).unwrap();
        assert_eq!(named, "0-21,32-85,96-127", "{hint}");
        here.done(&on(named, what)).unwrap();
    }
}

/// Priorities are those of a package: classes that somebody left in another power domain count, too.
#[test]
fn who_loses_beside_the_power_domain_that_is_meant_is_told() {
    let slow = ClassWish { max_mhz: Some(1500), ..class(2) };
    for what in [TF_ON, BF_ON] {
        let here = Here::new("granite");
        here.done(&wish(What::Class(slow))).unwrap();
        here.done(&on("22,23", What::Association(2))).unwrap();
        let promised = expected(&here.machine(), &on("0,1", what.clone())).unwrap();
        let [now, then] = clocks(&promised, 22);
        assert!(now.ceiling.is_none() && now.turbo.clone().unwrap() > Megahertz(1500), "{now:?}");
        assert_eq!(then.turbo, Ok(Megahertz(1500)), "{then:?}");
        // Of whom nothing changes nothing is said.
        let all: Vec<_> = promised.iter().flat_map(|it| it.cpus.iter()).collect();
        assert!(!all.contains(&model::CpuId(24)), "{promised:?}");
        here.done(&on("0,1", what)).unwrap();
        let later = expected(&here.machine(), &on("22", BF_ON)).unwrap();
        assert_eq!(clocks(&later, 22)[0], then);
    }
}

/// Without -o nobody is switched on, and nobody says so.
#[test]
fn cores_that_a_level_has_again_are_named() {
    let here = Here::new("guide");
    here.done(&on("0", level(4, true))).unwrap();
    let remarks = here.plan(&on("0", level(0, false))).unwrap().remarks;
    has(
        &remarks,
        "level 0 of package 0 also has cores 4,6,12-13, without an online CPU: `cpudyno sst -c 0 perf-profile \
         set-config-level -l 0 -o` brings them back, with a base of 2600 MHz and an all-core turbo of 3100 MHz",
    );
    assert!(!remarks.iter().any(|it| it.contains("where CPUs")), "{remarks:?}");
    here.done(&on("0", level(0, true))).unwrap();
    let remarks = here.plan(&on("0", level(0, false))).unwrap().remarks;
    assert!(!remarks.iter().any(|it| it.contains("brings them back")), "{remarks:?}");
}

/// A kernel from 6.10 on: the highest clock that it tells falls to the base frequency where turbo is off, and limits are
/// told to be no higher than that.
struct Newer(Box<dyn Tree>);

impl Tree for Newer {
    fn read(&self, path: &str) -> Reading<String> {
        let no_turbo = self.0.read(&format!("{CPU}/intel_pstate/no_turbo"));
        let limits = ["cpuinfo_max_freq", "scaling_max_freq", "scaling_min_freq"];
        let folder = limits.iter().find_map(|file| path.strip_suffix(file));
        let Some(folder) = folder.filter(|_| no_turbo.as_deref() == Ok("1")) else {
            return self.0.read(path);
        };
        let khz = |path: &str| Ok(self.0.read(path)?.trim().parse::<u64>().unwrap());
        Ok(khz(path)?.min(khz(&format!("{folder}base_frequency"))?).to_string())
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        self.0.list(path)
    }
}

#[test]
fn limits_are_as_high_as_turbo_goes_whatever_the_kernel_tells_without_it() {
    let here = Here::new("guide");
    here.set("intel_pstate/no_turbo", "1");
    let newer = |machine: Machine| Machine { tree: Box::new(Newer(machine.tree)), ..machine };
    let machine = newer(here.machine());
    let mut session =
        Session::open(&machine, port::of(&machine).unwrap(), &here.shelf(), "test").unwrap();
    sst::change::apply(&machine, &mut session, &on("0", BF_ON), false).unwrap();
    session.leave();
    let min = |cpu: u32| here.text(&format!("cpu{cpu}/cpufreq/scaling_min_freq"));
    assert_eq!([min(5), min(3)], ["3000000", "2400000"]);
    // What was asked for shows once turbo is on again.
    here.set("intel_pstate/no_turbo", "0");
    assert_eq!([min(5), min(3)], ["3200000", "3200000"]);
    // What no clock reaches is not made up of it.
    here.set("intel_pstate/no_turbo", "1");
    let machine = newer(here.machine());
    let levers = port::of(&machine).unwrap();
    let high = ClassWish { min_mhz: Some(3000), ..class(1) };
    let plan = sst::change::planned(&machine, &*levers, &wish(What::Class(high)), false).unwrap();
    assert!(!plan.remarks.iter().any(|it| it.contains("no CPU reaches")), "{:?}", plan.remarks);
}

/// Where power domains share the register of turbo limits, turbo-freq opens it for those that are not meant, too.
#[test]
fn whose_limits_are_opened_with_others_is_told() {
    let here = Here::new("granite");
    here.done(&on("0", What::TurboLimits(0x1414_1414_1414_1414))).unwrap();
    let promised = expected(&here.machine(), &on("0,1", TF_ON)).unwrap();
    for cpu in [11, 22, 31] {
        let [now, then] = clocks(&promised, cpu);
        assert_eq!(now.turbo, Ok(Megahertz(2000)), "CPU {cpu}");
        assert!(
            then.ceiling.is_none() && then.turbo.clone().unwrap() > Megahertz(3000),
            "{then:?}"
        );
    }
    here.done(&on("0,1", TF_ON)).unwrap();
    let [now, _] = clocks(&expected(&here.machine(), &on("22", BF_ON)).unwrap(), 22);
    assert_eq!(now, clocks(&promised, 22)[1], "as it was told");
}

/// A level is planned for the power domains that have CPUs, as it is set.
#[test]
fn a_power_domain_without_cpus_hides_no_others() {
    let here = Here::new("granite");
    for cpu in (22..32).chain(86..96) {
        here.set(&format!("cpu{cpu}/online"), "0");
    }
    let promised = expected(&here.machine(), &wish(level(1, false))).unwrap();
    let [now, then] = clocks(&promised, 0);
    assert_ne!(now, then);
    here.done(&wish(level(1, false))).unwrap();
}

/// Where nobody asks for its CPUs as well, a level is that of those who are online.
#[test]
fn a_level_that_is_there_changes_no_clock() {
    let here = Here::new("granite");
    for cpu in [8, 72] {
        here.set(&format!("cpu{cpu}/online"), "0");
    }
    let told = expected(&here.machine(), &wish(level(0, false))).unwrap();
    assert!(!told.is_empty());
    for it in told {
        assert_eq!(it.then.as_ref(), Some(&it.now));
    }
    // With its CPUs there is one more at work.
    let told = expected(&here.machine(), &wish(level(0, true))).unwrap();
    assert!(told.iter().any(|it| it.then.as_ref() != Some(&it.now)), "{told:?}");
}

/// A package none of whose CPUs is online is in no plan, and gets the level all the same.
#[test]
fn a_level_beyond_the_plan_is_told() {
    let here = Here::new("guide");
    for cpu in (14..28).chain(42..56) {
        here.set(&format!("cpu{cpu}/online"), "0");
    }
    let said = "the level of a power domain that has no other CPU is set as well";
    has(&here.plan(&wish(level(4, true))).unwrap().remarks, said);
    let remarks = here.plan(&on("0", level(4, true))).unwrap().remarks;
    assert!(!remarks.iter().any(|it| it.contains(said)), "{remarks:?}");
    let before = here.state();
    here.done(&wish(level(4, true))).unwrap();
    assert!(here.state().contains(r#""1.0/level":4"#), "{}", here.state());
    here.undone();
    assert_eq!(here.state(), before);
}
