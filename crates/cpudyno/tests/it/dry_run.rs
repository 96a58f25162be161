//! `cpudyno sheet --dry-run`: what would be measured, and that nothing is.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{cpudyno, finish};

fn plan(machine: &str, more: &[&str]) -> String {
    let args = ["sheet", "--dry-run", "--machine", machine, "--width", "80"];
    finish(cpudyno(&[&args, more].concat())).success()
}

#[test]
fn the_plan_for_a_large_server() {
    insta::assert_snapshot!("dry-run-2s-56c", plan("sim:2s-56c", &[]));
}

#[test]
fn what_does_not_fit_is_counted_and_more_time_is_the_remedy() {
    let plan = plan("sim:2s-56c", &["--budget", "1s"]);
    assert!(plan.contains("does not fit with"), "{plan}");
    assert!(plan.contains("five blocks of each do not fit into half of 1 s"), "{plan}");
    assert!(plan.contains("--budget"), "{plan}");
}

#[test]
fn the_plan_is_what_the_run_does() {
    let asked = ["--budget", "2s", "--cpus", "0-3", "--streams", "scalar_iadd,avx512_fma"];
    let plan = plan("sim:2s-56c", &asked);
    let run = ["sheet", "--machine", "sim:2s-56c", "--json", "-"];
    let json = finish(cpudyno(&[&run, &asked[..]].concat())).success();
    let record = model::record::read(&json).unwrap();
    let counts: Vec<String> = record.run.plan.active_cores.iter().map(u32::to_string).collect();
    assert!(plan.contains(&format!("Active at once  {} ", counts.join(", "))), "{plan}");
    assert!(plan.contains(&format!("Sweeps          {}, ", record.run.plan.blocks_planned)));
    assert!(plan.contains("CPUs            0-3: as asked for"), "{plan}");
}

#[test]
fn streams_that_cannot_run_have_a_reason() {
    let plan = plan("sim:1c", &["--streams", "avx512_fma"]);
    assert!(plan.contains("memory"), "{plan}");
    assert!(!plan.contains("turbo"), "{plan}");
    assert!(plan.contains("avx512_fma: the simulated machine `1c` has no cost for it"), "{plan}");
}

#[test]
fn a_plan_is_json_for_programs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.json");
    let told = plan("sim:2s-56c", &["--format", "json"]);
    plan("sim:2s-56c", &["--json", file.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(&file).unwrap(), told);
    let plan: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&plan["schema"], &plan["simulated"]), (&"cpudyno.plan/1".into(), &"2s-56c".into()));
    let cells = plan["cells"].as_array().unwrap();
    let planned = cells.iter().filter(|cell| cell["planned"] == true).count();
    assert!(0 < planned && planned < cells.len());
    let is_pair = |cell: &&serde_json::Value| cell["area"] == "cores";
    assert!(cells.iter().filter(is_pair).all(|cell| cell["relation"].is_string()));
    assert!(cells.iter().any(|cell| cell["parameters"]["footprint"].is_string()));
}

#[test]
fn a_plan_says_how_large_data_is_from_where_to_where_and_how_pairs_lie() {
    let of = |command: &[&str]| {
        let args = [command, &["--dry-run", "--machine", "sim:2s-56c", "--width", "200"]].concat();
        finish(cpudyno(&args)).success()
    };
    assert!(of(&["cores"]).contains("other-package"));
    let numa = of(&["memory", "numa"]);
    assert!(numa.contains("nodes 0-1 to 0-1") && numa.contains("iB"), "{numa}");
}

/// Commands that measure, and what is planned of them for any machine.
const PLANNED: &[&str] = &["sheet", "turbo", "memory", "cores", "wake", "pause", "openmp", "wait"];

/// Whatever a recorded machine lacks: nobody asked for something that is wrong.
#[test]
fn every_recorded_machine_is_planned() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("../../testdata/machines");
    let captures = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let captures: Vec<PathBuf> =
        captures.filter(|path| path.extension().is_some_and(|it| it == "capture")).collect();
    assert!(captures.len() >= 10, "{captures:?}");
    for path in captures {
        for command in PLANNED {
            let args = [*command, "--dry-run", "--machine", path.to_str().unwrap()];
            let finished = finish(cpudyno(&args));
            assert_eq!(finished.code, Some(0), "{args:?}: {}", finished.stderr);
        }
    }
}

/// A folder of these files.
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

const ONLINE: (&str, &str) = ("sys/devices/system/cpu/online", "0-3\n");

#[test]
fn a_machine_that_says_next_to_nothing_is_planned() {
    let alone: &[(&str, &str)] = &[ONLINE];
    let group: &[(&str, &str)] =
        &[ONLINE, ("proc/self/cgroup", "0::/a\n"), ("sys/fs/cgroup/a/cpu.max", "300000 100000\n")];
    let siblings: &[(&str, &str)] = &[
        ("sys/devices/system/cpu/online", "0-1\n"),
        ("sys/devices/system/cpu/cpu0/topology/core_cpus_list", "0\n"),
        ("sys/devices/system/cpu/cpu0/topology/core_cpus", "3\n"),
    ];
    let strange: &[(&str, &str)] = &[ONLINE, ("proc/cpuinfo", "processor\t: 0\n")];
    for files in [alone, group, siblings, strange] {
        let folder = tree(files);
        for command in PLANNED {
            let args = [*command, "--dry-run", "--root", folder.path().to_str().unwrap()];
            let finished = finish(cpudyno(&args));
            assert_eq!(finished.code, Some(0), "{args:?} of {files:?}: {}", finished.stderr);
        }
    }
}

#[test]
fn silence_about_instruction_sets_leaves_those_that_every_cpu_has() {
    let folder = tree(&[ONLINE]);
    let args = ["memory", "--dry-run", "--width", "300", "--root", folder.path().to_str().unwrap()];
    let plan = finish(cpudyno(&args)).success();
    assert!(plan.contains("triad"), "{plan}");
    let word = "wider variants: the instruction sets are unknown: there is no";
    #[cfg(target_arch = "x86_64")]
    assert!(plan.contains(word), "{plan}");
}

/// Silence about who shares a core, a cache or a package is no answer.
#[test]
fn two_cpus_of_which_nobody_says_how_they_lie_wake_each_other_too() {
    let folder = tree(&[ONLINE]);
    let args = ["wake", "--dry-run", "--width", "300", "--root", folder.path().to_str().unwrap()];
    let plan = finish(cpudyno(&args)).success();
    assert!(plan.contains("the placement of the CPUs in use to each other is unknown"), "{plan}");
    for wrong in ["in one package", "of one core", "keeps the only CPU", "the shared caches of all"]
    {
        assert!(!plan.contains(wrong), "{wrong}: {plan}");
    }
    let spins = plan.lines().find(|line| line.starts_with("wake  spin ")).unwrap();
    assert!(spins.split_whitespace().nth(2) == Some("2"), "{plan}");
}

/// Nothing can be measured there, and claims and limits are known.
#[test]
fn why_the_clock_of_a_recorded_machine_is_what_it_is_begins_with_what_is_known() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/machines");
    let path = folder.join("granite-rapids.capture").display().to_string();
    let of = |more: &[&str]| {
        let args = [&["turbo", "--dry-run", "--width", "200", "--machine", &path], more].concat();
        finish(cpudyno(&args)).success()
    };
    let why = of(&["--why"]);
    let at = |words: &str| why.find(words).unwrap_or_else(|| panic!("no {words} in {why}"));
    assert!(
        at("Limits of the clock") < at("Claimed clock") && at("Claimed clock") < at("\nCells\n")
    );
    assert!(why.contains("reasons for a lower clock (MSR 19Ch)"), "{why}");
    assert!(!of(&[]).contains("Limits of the clock"));
}

#[test]
fn a_plan_is_no_record() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.html");
    let with_file = ["sheet", "--dry-run", "--machine", "sim:1c", "--html", file.to_str().unwrap()];
    let as_csv = ["sheet", "--dry-run", "--machine", "sim:1c", "--format", "csv"];
    for args in [&with_file[..], &as_csv] {
        let refused = finish(cpudyno(args));
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(refused.stderr.contains("hint: "), "{}", refused.stderr);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn this_machine_is_planned_without_being_measured() {
    let plan = finish(cpudyno(&["sheet", "--dry-run", "--format", "markdown"])).success();
    assert!(plan.starts_with("## Plan of a data sheet\n"), "{plan}");
    assert!(plan.contains("scalar_iadd"), "{plan}");
}

/// `isolcpus=2` keeps CPU 2 out of the affinity that processes inherit, and `taskset` lets it in.
#[test]
fn an_isolated_cpu_is_there_for_who_allows_it() {
    let folder = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("sys/devices/system/cpu/online", "0-3\n");
    put("sys/devices/system/cpu/isolated", "2\n");
    put("proc/self/status", "Cpus_allowed_list:\t0-1,3\n");
    let root = folder.path().to_str().unwrap();
    let refused = |cpus: &str| {
        let asked = ["turbo", "--dry-run", "--root", root, "--cpus", cpus];
        let finished = finish(cpudyno(&asked));
        assert_eq!(finished.code, Some(2), "{}", finished.stderr);
        finished.stderr
    };
    assert!(refused("2").contains("`taskset -c 0-3 cpudyno ...` lets this process use it"));
    assert!(!refused("4").contains("taskset"), "there is none");
}
