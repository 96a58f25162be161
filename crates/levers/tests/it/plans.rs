//! Plans for machines of which only files are there: what they hold, and what is known before it is done.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use levers::ask::SettingSpec;
use levers::plan::{Change, Plan};
use levers::{Error, port, settings};
use machine::Machine;
use model::Known;
use proptest::prelude::*;
use tempfile::TempDir;

const CPU: &str = "sys/devices/system/cpu";

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Six CPUs, the last of which is off, in policies of two; the links from CPUs to policies are lost.
fn files(driver: &str, governor: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| put(folder.path(), &format!("{CPU}/{path}"), text);
    put("online", "0-4\n");
    put("present", "0-5\n");
    put("offline", "5\n");
    put("cpu5/online", "0\n");
    put("cpufreq/boost", "1\n");
    for (first, cpus) in [(0, "0 1"), (2, "2 3"), (4, "4")] {
        for (file, text) in [
            ("affected_cpus", cpus),
            ("scaling_driver", driver),
            ("scaling_governor", governor),
            ("scaling_available_governors", "performance powersave"),
            ("energy_performance_preference", "balance_power"),
            ("energy_performance_available_preferences", "default performance balance_power power"),
            ("cpuinfo_min_freq", "400000"),
            ("cpuinfo_max_freq", "4200000"),
            ("scaling_min_freq", "400000"),
            ("scaling_max_freq", "3000000"),
            ("boost", "1"),
        ] {
            put(&format!("cpufreq/policy{first}/{file}"), text);
        }
    }
    folder
}

fn planned(folder: &TempDir, asked: &[&str]) -> Result<Plan, Error> {
    let machine = Machine::rooted(folder.path()).unwrap();
    let asked: Vec<SettingSpec> = asked.iter().map(|text| text.parse().unwrap()).collect();
    Plan::new(&machine, &*port::to_plan(&machine), &asked, false)
}

fn objects(changes: &[Change]) -> Vec<String> {
    let place = |change: &Change| {
        change.object.to_string().trim_start_matches('/').replace(&format!("{CPU}/"), "")
    };
    changes.iter().map(place).collect()
}

/// Whether a remark holds all of these words.
fn says(plan: &Plan, words: &[&str]) -> bool {
    plan.remarks.iter().any(|remark| words.iter().all(|word| remark.contains(word)))
}

#[test]
fn policies_are_found_where_links_are_lost() {
    let folder = files("acpi-cpufreq", "powersave");
    let plan = planned(&folder, &["governor=performance"]).unwrap();
    let governors = ["cpu0", "cpu2", "cpu4"].map(|cpu| format!("{cpu}/cpufreq/scaling_governor"));
    assert_eq!(objects(&plan.changes), governors);
    assert!(says(&plan, &["`governor`: CPU 5 is off", "cpudyno set online@5=on"]), "{plan:?}");
    let machine = Machine::rooted(folder.path()).unwrap();
    let all = settings::settings(&machine, None);
    let of = |name: &str| -> Vec<String> {
        let mine = all.iter().filter(|setting| setting.name == name);
        mine.map(|setting| format!("{}: {:?}", setting.of, setting.value.value())).collect()
    };
    assert_eq!(of("max_freq"), ["CPUs 0-4: Some(\"3000MHz\")"]);
    assert_eq!(of("boost"), ["machine: Some(\"on\")", "CPUs 0-4: Some(\"on\")"]);
    let fixed = all.iter().filter(|setting| matches!(setting.settable, Known::Yes(())));
    assert_eq!(fixed.count(), 0, "nothing can be written there");
}

#[test]
fn a_cpu_that_is_off_is_named() {
    let folder = files("acpi-cpufreq", "powersave");
    let Err(error) = planned(&folder, &["governor@5=performance"]) else { panic!("it is off") };
    assert_eq!(error.to_string(), "cannot set `governor`: CPU 5 is off");
    let plan = planned(&folder, &["online@5=on"]).unwrap();
    assert_eq!((objects(&plan.changes), plan.remarks.len()), (vec!["cpu5/online".to_owned()], 0));
}

/// Where SMT is off, the kernel takes back no second thread of a core by itself.
#[test]
fn second_threads_come_back_with_smt() {
    let folder = files("acpi-cpufreq", "powersave");
    for (control, remedy) in [
        ("off", Some("`cpudyno set smt=on`")),
        ("forceoff", Some("only a boot without `nosmt=force`")),
        ("on", None),
        ("notsupported", None),
        ("notimplemented", None),
    ] {
        put(folder.path(), &format!("{CPU}/smt/control"), control);
        let refused = planned(&folder, &["governor@5=performance"]);
        let Err(Error::Absent { remedy: Some(hint), .. }) = refused else { panic!("{refused:?}") };
        let brought = planned(&folder, &["online@5=on"]).unwrap();
        let rest = planned(&folder, &["governor=performance"]).unwrap();
        assert_eq!(says(&brought, &["EPERM"]), remedy.is_some(), "{control}: {brought:?}");
        let online = "cpudyno set online@5=on";
        let remedy = remedy.unwrap_or(online);
        assert!(hint.contains(remedy), "{control}: {hint}");
        assert!(says(&rest, &["CPU 5 is off", remedy]), "{control}: {rest:?}");
        let is_advised = hint.contains(online) || says(&rest, &[online]);
        assert_eq!(is_advised, remedy == online, "{control}");
    }
    put(folder.path(), &format!("{CPU}/smt/control"), "off");
    let both = planned(&folder, &["online@5=on", "smt=on"]).unwrap();
    assert_eq!(objects(&both.changes), ["smt/control", "cpu5/online"]);
    assert!(!says(&both, &["EPERM"]), "{both:?}");
}

/// Threads that have what their control group has get it back from there; others lose it for good.
#[test]
fn a_cpuset_of_version_2_binds_nobody() {
    let folder = files("acpi-cpufreq", "powersave");
    let root = folder.path();
    put(root, &format!("{CPU}/cpu4/online"), "1\n");
    put(root, "proc/17/cmdline", "sh");
    put(root, "proc/17/task/17/status", "Name:\tsh\nCpus_allowed_list:\t3-4\n");
    put(root, "proc/17/cgroup", "0::/lab\n");
    put(root, "proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put(root, "sys/fs/cgroup/lab/cpuset.cpus.effective", "3-4\n");
    assert!(planned(&folder, &["online@4=off"]).is_ok());
    put(root, "proc/17/task/17/status", "Name:\tsh\nCpus_allowed_list:\t4\n");
    let refused = planned(&folder, &["online@4=off"]).unwrap_err().to_string();
    assert!(refused.contains("sh (17, CPUs 4)"), "{refused}");
    // Version 1 takes it for good.
    put(root, "proc/17/task/17/status", "Name:\tsh\nCpus_allowed_list:\t3-4\n");
    put(root, "proc/17/cgroup", "1:cpuset:/lab\n");
    put(root, "proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup x rw,cpuset\n");
    assert!(planned(&folder, &["online@4=off"]).is_err());
}

#[test]
fn who_shares_a_policy_is_told_whichever_of_its_cpus_is_named() {
    let folder = files("acpi-cpufreq", "powersave");
    let plan = planned(&folder, &["boost@3=off"]).unwrap();
    assert_eq!(objects(&plan.changes), ["cpu2/cpufreq/boost"]);
    assert!(says(&plan, &["`boost@3`: CPU 2 shares it"]), "{plan:?}");
    let twice = planned(&folder, &["governor@2=performance", "governor@3=performance"]);
    assert!(matches!(twice, Err(Error::Malformed { .. })), "it is one setting: {twice:?}");
}

#[test]
fn boost_of_all_goes_first() {
    let folder = files("acpi-cpufreq", "powersave");
    let plan = planned(&folder, &["boost@2-3=on", "boost=off"]).unwrap();
    assert_eq!(objects(&plan.changes), ["cpufreq/boost", "cpu2/cpufreq/boost"]);
    assert!(says(&plan, &["EINVAL"]), "{plan:?}");
    put(folder.path(), &format!("{CPU}/cpufreq/boost"), "0\n");
    put(folder.path(), &format!("{CPU}/cpufreq/policy2/boost"), "0\n");
    assert!(says(&planned(&folder, &["boost@2=on"]).unwrap(), &["EINVAL", "boost=on"]));
    assert!(!says(&planned(&folder, &["boost@2=on", "boost=on"]).unwrap(), &["EINVAL"]));
    // Where there is none for all, the same name means those of the policies.
    fs::remove_file(folder.path().join(format!("{CPU}/cpufreq/boost"))).unwrap();
    let plan = planned(&folder, &["boost=off"]).unwrap();
    assert_eq!(objects(&plan.changes), ["cpu0/cpufreq/boost", "cpu4/cpufreq/boost"]);
}

#[test]
fn what_the_driver_will_refuse_is_told() {
    for driver in ["intel_pstate", "amd-pstate-epp"] {
        let folder = files(driver, "performance");
        let refused = ["EBUSY", "governor=powersave"];
        assert!(says(&planned(&folder, &["epp=power"]).unwrap(), &refused));
        let both = planned(&folder, &["epp=power", "governor=powersave"]).unwrap();
        assert!(!says(&both, &["EBUSY"]), "{both:?}");
        let ids: Vec<&str> = both.changes.iter().map(|change| change.lever.id).collect();
        assert_eq!(ids, ["governor", "governor", "governor", "epp", "epp", "epp"]);
        assert!(!says(&planned(&folder, &["epp=performance"]).unwrap(), &["EBUSY"]));
        // Of one policy alone.
        let some = planned(&files(driver, "powersave"), &["governor@4=performance", "epp=power"]);
        assert!(says(&some.unwrap(), &refused));
    }
    let passive = files("intel_cpufreq", "performance");
    assert!(!says(&planned(&passive, &["epp=power"]).unwrap(), &["EBUSY"]));
}

/// Without turbo limits do not show, and the setting that switched it off is the machine's own.
#[test]
fn what_hides_limits_is_called_by_its_setting() {
    let folder = files("amd-pstate-epp", "powersave");
    let hidden = |folder: &TempDir| {
        put(folder.path(), &format!("{CPU}/cpufreq/policy0/scaling_max_freq"), "4200000");
        planned(folder, &["max_freq@0=3GHz"]).unwrap()
    };
    assert!(!says(&hidden(&folder), &["turbo is off"]));
    put(folder.path(), &format!("{CPU}/cpufreq/boost"), "0\n");
    assert!(says(&hidden(&folder), &["turbo is off", "`cpudyno set boost=off`"]));
    put(folder.path(), &format!("{CPU}/intel_pstate/no_turbo"), "1\n");
    assert!(says(&hidden(&folder), &["turbo is off", "`cpudyno set no_turbo=on`"]));
}

#[test]
fn what_the_kernel_will_cut_is_told() {
    let folder = files("acpi-cpufreq", "powersave");
    let of = |asked: &[&str]| planned(&folder, asked).unwrap();
    assert!(says(&of(&["max_freq=9GHz"]), &["changes 9000MHz to 4200MHz", "cpuinfo_max_freq"]));
    assert!(says(&of(&["min_freq=100MHz"]), &["changes 100MHz to 400MHz", "cpuinfo_min_freq"]));
    assert!(!says(&of(&["max_freq=4.2GHz"]), &["makes"]));
    assert!(says(&of(&["min_freq=3.5GHz"]), &["above the highest clock", "3000MHz", "max_freq"]));
    assert!(!says(&of(&["min_freq=3.5GHz", "max_freq=3.5GHz"]), &["above the highest"]));
    // Who asks for both is not told to ask for both.
    let upside_down = of(&["min_freq=2GHz", "max_freq=1GHz"]);
    assert!(says(&upside_down, &["2000MHz is above `max_freq`, 1000MHz", "swap them"]));
    assert!(!says(&upside_down, &["set `max_freq`, too"]));
}

#[test]
fn uncores_are_named_by_their_agents() {
    let folder = files("acpi-cpufreq", "powersave");
    for (name, agents) in [("uncore00", "core cache"), ("uncore01", "io"), ("uncore02", "io")] {
        let at = format!("{CPU}/intel_uncore_frequency/{name}");
        put(folder.path(), &format!("{at}/domain_id"), "0");
        put(folder.path(), &format!("{at}/agent_types"), agents);
        put(folder.path(), &format!("{at}/max_freq_khz"), "2400000");
    }
    let names = |asked: &str| -> Vec<String> {
        let plan = planned(&folder, &[asked]).unwrap();
        let part = |object: &String| object.split('/').nth(1).unwrap().to_owned();
        objects(&plan.changes).iter().map(part).collect()
    };
    assert_eq!(names("uncore_max=2GHz"), ["uncore00", "uncore01", "uncore02"]);
    assert_eq!(names("uncore_max@io=2GHz"), ["uncore01", "uncore02"]);
    assert_eq!(names("uncore_max@uncore00=2GHz"), ["uncore00"]);
    let Err(error) = planned(&folder, &["uncore_max@memory=2GHz"]) else { panic!("none") };
    assert!(
        error.to_string().ends_with("but uncore00 (core, cache), uncore01 (io), uncore02 (io)")
    );
    assert!("uncore_max@3=2GHz".parse::<SettingSpec>().is_err());
    let machine = Machine::rooted(folder.path()).unwrap();
    let all = settings::settings(&machine, None);
    let uncore = all.iter().find(|setting| setting.name == "uncore_max").unwrap();
    assert_eq!(uncore.of, "uncore00 (core, cache), uncore01 (io), uncore02 (io)");
}

/// Files that are worth spoiling.
const BENT: &[&str] = &[
    "online",
    "present",
    "offline",
    "cpufreq/boost",
    "cpufreq/policy0/affected_cpus",
    "cpufreq/policy2/affected_cpus",
    "cpufreq/policy2/scaling_governor",
    "cpufreq/policy2/scaling_max_freq",
    "cpufreq/policy4/cpuinfo_max_freq",
    "cpufreq/policy4/boost",
    "cpufreq/policy0/energy_performance_preference",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Whatever is bent or gone, a plan has each object once, none of a CPU that is off, and a reason
    /// where there is none.
    #[test]
    fn plans_on_bent_trees_are_sound(
        bent in prop::collection::vec((prop::sample::select(BENT), "[-0-9a-z, ]{0,8}", any::<bool>()), 1..4),
        asked in prop::sample::subsequence(
            vec!["governor=performance", "epp=power", "boost=off", "max_freq=9GHz", "min_freq=3.5GHz"],
            1..4,
        ),
    ) {
        let folder = files("amd-pstate-epp", "powersave");
        for (path, text, stays) in &bent {
            let path = format!("{CPU}/{path}");
            if *stays {
                put(folder.path(), &path, text);
            } else {
                let _ = fs::remove_file(folder.path().join(path));
            }
        }
        match planned(&folder, &asked) {
            Ok(plan) => {
                let objects = objects(&[plan.changes, plan.already].concat());
                let distinct: BTreeSet<&String> = objects.iter().collect();
                prop_assert_eq!(distinct.len(), objects.len());
                let is_known = !bent.iter().any(|(path, ..)| ["online", "present"].contains(path));
                let is_off = |object: &String| object.starts_with("cpu5/cpufreq");
                prop_assert!(!is_known || !objects.iter().any(is_off));
            }
            Err(error) => prop_assert!(error.to_string().starts_with("cannot set `"), "{error}"),
        }
    }
}
