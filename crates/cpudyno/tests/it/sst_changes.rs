//! The changing transcripts of the user guide on its own system, in order, each a process of its own, in both
//! faces; what is said where something must not be changed.

use std::fs;

use crate::guide::Guide;
use machine::Machine;

impl Guide {
    /// Refused with that code; nothing was changed.
    fn refused(&self, line: &str, code: i32, why: &str, hint: &str) {
        let before = fs::read(self.file()).unwrap_or_default();
        let finished = self.run(line);
        assert_eq!(
            (finished.code, finished.stdout.as_str()),
            (Some(code), ""),
            "{line}: {finished:?}"
        );
        let said = format!("error: cannot {why}");
        assert!(finished.stderr.contains(&said), "{line}: {finished:?}");
        assert!(finished.stderr.contains(hint), "{line}: {finished:?}");
        assert_eq!(fs::read(self.file()).unwrap_or_default(), before, "{line}");
    }

    /// The file of a CPU.
    fn cpu(&self, cpu: u32, file: &str) -> String {
        let machine = Machine::named(&self.machine()).unwrap();
        machine.tree.read(&format!("/sys/devices/system/cpu/cpu{cpu}/{file}")).unwrap()
    }

    fn base(&self, cpu: u32) -> String {
        self.cpu(cpu, "cpufreq/base_frequency")
    }
}

#[test]
fn the_guide_from_beginning_to_end() {
    let guide = Guide::new();
    assert_eq!(guide.base(0), "2600000");
    let page = guide.done("sst perf-profile set-config-level -l 4 -o");
    assert!(
        page.contains("sst.level") && page.contains("[obeyed] base_frequency: CPUs 0-3,5,"),
        "{page}"
    );
    assert_eq!((guide.base(0), guide.cpu(4, "online")), ("2800000".into(), "0".into()));
    assert_eq!(guide.cpu(5, "online"), "1");
    // The next chapter of the guide is at level 0 again.
    guide.done("sst perf-profile set-config-level -l 0 -o");
    assert_eq!((guide.base(0), guide.cpu(4, "online")), ("2600000".into(), "1".into()));
    guide.done("sst core-power enable");
    let switches = guide.done("sst -c 0 core-power info");
    assert!(switches.contains("supported   on"), "{switches}");
    guide.done("sst core-power config -c 0");
    guide.done("sst core-power config -c 1 -n 2000 -m 3000");
    let classes = guide.done("sst core-power get-config");
    assert!(classes.contains("2000") && classes.contains("3000"), "{classes}");
    guide.done("sst -c 10 core-power assoc -c 3");
    // Once associated, limits of the clock stay as they are.
    guide.refused(
        "set max_freq=2GHz",
        4,
        "set `max_freq`: cores have classes",
        "core-power disable",
    );
    let classes = guide.done("sst -c 10 core-power get-assoc");
    assert!(classes.contains('3'), "{classes}");
    guide.done("sst core-power disable");
    guide.done("set no_turbo=on --no-proof");
    guide.done("sst base-freq enable -a");
    assert_eq!(
        (guide.base(5), guide.base(6), guide.base(3)),
        bases(["3000000", "3000000", "2400000"])
    );
    guide.refused(
        "sst core-power disable",
        4,
        "disable core-power: base-freq is on in package 0",
        "first: `cpudyno sst base-freq disable`",
    );
    guide.done("sst base-freq disable -a");
    assert_eq!(guide.base(5), "2600000");
    guide.refused(
        "sst -c 12,13 turbo-freq enable -a",
        4,
        "enable turbo-freq: turbo is switched off",
        "no_turbo=off",
    );
    guide.done("set no_turbo=off --no-proof");
    guide.done("sst -c 12,13 turbo-freq enable -a");
    let info = guide.done("sst info");
    let is_on = |line: &str| line.starts_with("turbo-freq ") && line.contains(" on; at level");
    assert!(info.lines().any(is_on), "{info}");
    guide.refused(
        "sst core-power disable",
        4,
        "disable core-power: turbo-freq is on in package 0",
        "first: `cpudyno sst turbo-freq disable`",
    );
    guide.done("sst -c 12,13 turbo-freq disable -a");
    guide.done("sst core-power disable");
    let undone = guide.done("undo");
    assert!(undone.contains("done, read back: as the kernel writes them"), "{undone}");
    assert_eq!(guide.state(), "null {}");
}

fn bases([a, b, c]: [&str; 3]) -> (String, String, String) {
    (a.to_owned(), b.to_owned(), c.to_owned())
}

/// What the guide prints of package 0, by its commands.
const TRANSCRIPTS: &[(&str, &[&str])] = &[
    (
        "-d perf-profile set-config-level -l 4 -o",
        &["package-0", "die-0", "cpu-0", "perf-profile", "set_tdp_level:success"],
    ),
    ("perf-profile set-config-level -l 0 -o", &["set_tdp_level:success"]),
    (
        "core-power enable",
        &["package-0", "die-0", "cpu-0", "core-power", "enable:success", "package-1"],
    ),
    ("core-power config -c 0", &["package-0", "die-0", "cpu-0", "core-power", "config:success"]),
    (
        "-c 10 core-power assoc -c 3",
        &["package-0", "die-0", "cpu-10", "core-power", "assoc:success"],
    ),
    ("core-power disable", &["core-power", "disable:success"]),
    (
        "base-freq enable -a",
        &["package-0", "die-0", "cpu-0", "base-freq", "enable:success", "package-1", "cpu-14"],
    ),
    ("base-freq disable -a", &["base-freq", "disable:success"]),
    (
        "-c 12,13 turbo-freq enable -a",
        &[
            "cpu-12",
            "turbo-freq",
            "enable:success",
            "cpu-13",
            "turbo-freq --auto",
            "enable:success",
        ],
    ),
    ("-c 12,13 turbo-freq disable -a", &["turbo-freq", "disable:success"]),
];

#[test]
fn the_guide_in_the_face_of_its_own_tool() {
    let guide = Guide::new();
    for (call, expected) in TRANSCRIPTS {
        let finished = guide.run(&format!("sst --compat {call}"));
        assert_eq!(finished.code, Some(0), "{call}: {finished:?}");
        let mut lines = finished.stderr.lines().map(str::trim);
        for line in *expected {
            assert!(
                lines.any(|shown| shown == *line),
                "{call}: no `{line}` in {}",
                finished.stderr
            );
        }
    }
    guide.done("undo");
    assert_eq!(guide.state(), "null {}");
}

#[test]
fn a_dry_run_shows_each_step_and_writes_nothing() {
    let guide = Guide::new();
    let page = guide.run("sst -c 0 base-freq enable -a --dry-run").success();
    insta::assert_snapshot!("guide-base-freq-dry-run", page);
    // Of a page of the usual width it is one table, and no path is cut within a name.
    for (width, tables) in [(100, 1), (80, 2), (60, 3)] {
        for line in ["-c 0 base-freq enable -a", "-c 12,13 turbo-freq enable -a"] {
            let page = guide.done(&format!("sst {line} --dry-run --width {width}"));
            let heads = page.lines().filter(|line| line.starts_with("setting ")).count();
            assert_eq!(heads, tables, "{width}: {page}");
            assert!(page.lines().all(|line| line.chars().count() <= width), "{width}: {page}");
            let is_path = line.contains("base-freq");
            assert_eq!(page.contains("scaling_min_freq"), is_path, "{width}: {page}");
        }
    }
    let page = guide.done("sst -c 0 perf-profile set-config-level -l 4 -o --dry-run");
    insta::assert_snapshot!("guide-level-dry-run", page);
    assert!(!guide.file().exists());
}

#[test]
fn what_is_too_long_is_said_to_be() {
    let guide = Guide::new();
    for (limits, why) in [
        ("0x1ffffffffffffffff", "the number has more than 16 hexadecimal digits"),
        ("0x1g", "expected hexadecimal digits after 0x"),
        ("1f", "expected a number that begins with 0x"),
    ] {
        let ended = guide.run(&format!("sst turbo-mode set-trl -t {limits}"));
        assert_eq!(ended.code, Some(2), "{limits}: {ended:?}");
        assert!(ended.stderr.contains(why), "{limits}: {ended:?}");
    }
}

/// A folder of a simulated machine's journal goes with its file.
#[test]
fn a_journal_that_cannot_be_written_has_a_hint() {
    let guide = Guide::new();
    fs::write(guide.file().with_added_extension("journal"), "a file").unwrap();
    for line in
        ["set thp=always --no-proof", "sst core-power enable", "sst --compat core-power enable"]
    {
        let ended = guide.run(line);
        assert_eq!(ended.code, Some(3), "{line}: {ended:?}");
        let hints = ended.stderr.matches("hint: name another folder: ").count();
        assert!(hints == 1 && ended.stderr.contains("sim:NAME@FILE"), "{line}: {ended:?}");
    }
}

/// What is left where firmware fails again while a change is taken back is said once, in both faces.
#[test]
fn what_is_not_put_back_is_said_once() {
    for face in ["", "--compat "] {
        let fails = r#"{"firmware_faults": [{"on": "d0/02", "does": "refused", "after": 8}]}"#;
        let finished = Guide::with("guide", fails).run(&format!("sst {face}core-power enable"));
        assert_ne!(finished.code, Some(0), "{finished:?}");
        let said = |words: &str| finished.stderr.matches(words).count();
        assert_eq!(said("reading priorities of cores of package 1"), 1, "{finished:?}");
        assert_eq!(said("put back"), 1, "{finished:?}");
        assert!(
            said(" 0 former") == 0 && said("hint: `cpudyno undo` tries again") == 1,
            "{finished:?}"
        );
    }
}

/// What comes first is a hint, and not somebody else's decision.
#[test]
fn of_two_features_that_exclude_each_other_one_goes_first() {
    let sapphire = Guide::called("sapphire");
    sapphire.done("sst -c 0 base-freq enable -a");
    for face in ["", "--compat "] {
        let finished = sapphire.run(&format!("sst {face}-c 0 turbo-freq enable"));
        let code = if face.is_empty() { 4 } else { 1 };
        assert_eq!(finished.code, Some(code), "{finished:?}");
        let hint = "hint: nothing was left changed; first `cpudyno sst base-freq disable`";
        assert!(finished.stderr.contains(hint), "{finished:?}");
    }
}

#[test]
fn what_must_not_be_is_explained() {
    let guide = Guide::new();
    guide.refused("sst core-power assoc -c 3", 2, "associate CPUs with class 3: no CPUs", "-c 10");
    guide.refused(
        "sst core-power config -c 0 -n 3000 -m 2000",
        2,
        "configure class 0: the lowest",
        "-n",
    );
    guide.refused(
        "sst base-freq enable",
        4,
        "enable base-freq: core-power is off",
        "base-freq enable -a",
    );
    guide.refused(
        "sst turbo-freq enable -a",
        2,
        "enable turbo-freq: no CPUs were named",
        "-c 12,13",
    );
    guide.refused(
        "sst perf-profile set-config-level -l 5",
        3,
        "set performance level 5",
        "perf-profile info",
    );
    guide.refused("sst -c 60 base-freq enable -a", 2, "use CPU 60", "choose among");
    let locked = Guide::with("sapphire-locked", "{}");
    let page = locked.done("sst perf-profile set-config-level -l 0");
    assert!(page.contains("so already, and nothing is written"), "{page}");
    // Who is not root is told so.
    let user = Guide::with("guide", r#"{"faults": ["plain-user"]}"#);
    let finished = user.run("sst core-power enable");
    assert_eq!(finished.code, Some(4), "{finished:?}");
    // What firmware does not tell is no setting that others list.
    let silent = r#"{"firmware_faults": [{"on": "7f/01", "does": "refused", "after": 3}]}"#;
    let finished = Guide::with("guide", silent).run("sst -c 0 base-freq enable -a");
    assert_eq!(finished.code, Some(3), "{finished:?}");
    assert!(finished.stderr.contains("hint: `cpudyno sst info` says"), "{finished:?}");
    // A driver without the capability, and a firmware that says no, leave nothing behind.
    for fault in ["not-permitted", "refused", "does-not-stick"] {
        let faults =
            format!(r#"{{"firmware_faults": [{{"on": "d0/02", "does": "{fault}", "after": 3}}]}}"#);
        let here = Guide::with("guide", &faults);
        let finished = here.run("sst core-power enable");
        let code = if fault == "not-permitted" { 4 } else { 3 };
        assert_eq!(finished.code, Some(code), "{fault}: {finished:?}");
        assert!(finished.stderr.contains("error: cannot "), "{fault}: {finished:?}");
    }
}

#[test]
fn a_plan_says_who_gains_and_who_loses() {
    let guide = Guide::new();
    let mut pages = String::new();
    for line in [
        "sst -c 0 plan base-freq",
        "sst -c 12,13 plan turbo-freq",
        "sst -c 0 plan perf-profile -l 4",
    ] {
        pages.push_str(&guide.done(line));
    }
    insta::assert_snapshot!("guide-plans", pages);
    assert!(!guide.file().exists());
    guide.refused("sst plan turbo-freq", 2, "plan turbo-freq: no CPUs were named", "-c 12,13");
    // More cores than there are frequencies for, and a feature that would be refused.
    guide.refused(
        "sst -c 0-9 plan turbo-freq",
        3,
        "enable turbo-freq: 10 cores of package 0",
        "fewer",
    );
    let slow = Guide::with(
        "guide",
        r#"{"files": {"/sys/devices/system/cpu/intel_pstate/no_turbo": "1"}}"#,
    );
    let page = slow.done("sst -c 12,13 plan turbo-freq");
    assert!(page.contains("it would be refused: cannot enable turbo-freq: turbo is"), "{page}");
    // Each has its own base frequency, and all of them for one reason.
    let page = slow.done("sst plan base-freq").replace("\n  ", " ");
    let held =
        "- CPUs 0-55 have no more than the base frequency now and then: turbo is off (`cpudyno set";
    assert!(page.contains(held) && page.matches("no more than the base").count() == 1, "{page}");
    let locked = Guide::called("sapphire-locked");
    locked.refused(
        "sst plan perf-profile -l 1",
        4,
        "set performance level 1: register 64Bh",
        "hint",
    );
    // What was planned is what then is.
    guide.done("sst -c 0 base-freq enable -a");
    let after = guide.done("sst -c 0 plan base-freq");
    assert!(after.contains("as it is") && !after.contains("gains"), "{after}");
}

/// The guide's own call: what firmware was told is told, too, and so is what was wrong.
#[test]
fn every_ioctl_of_a_change_is_told_where_somebody_asks() {
    let guide = Guide::new();
    let finished = guide.run("sst -d perf-profile set-config-level -l 4 -o");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let said = |text: &str| finished.stderr.lines().any(|line| line.trim().starts_with(text));
    assert!(said("mailbox of 1 = 1") && said("CPU 0 sets 7f/08 to 0x4"), "{finished:?}");
    let refused = guide.run("sst -d core-power config -c 0 -n 3000 -m 2000");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("mailbox of ") && refused.stderr.contains("error: cannot "));
    assert!(!guide.run("sst core-power enable").stderr.contains("mailbox of "));
}

/// What was done, and undone, is one table of a page of the usual width, as the plan is.
#[test]
fn what_was_done_is_one_table() {
    for machine in ["guide", "sapphire"] {
        let guide = Guide::with(machine, "{}");
        for line in ["-c 0 base-freq enable -a", "-c 2,3 turbo-freq enable -a"] {
            for line in [&*format!("sst {line} --width 100"), "undo --width 100"] {
                let page = guide.done(line);
                let heads = page.lines().filter(|line| line.starts_with("setting ")).count();
                assert_eq!(heads, 1, "{machine}: {line}: {page}");
                assert!(page.contains("done, read back: as the kernel"), "{line}: {page}");
            }
        }
    }
}

/// What to know is said in the reference tool's face, too.
#[test]
fn remarks_are_made_in_the_face_of_the_guides_tool() {
    let guide = Guide::new();
    guide.done("sst --compat -c 0 perf-profile set-config-level -l 4 -o");
    let finished = guide.run("sst --compat -c 0 perf-profile set-config-level -l 0 -o");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let said = "note: the kernel does not report where CPUs 4,6,12-13,32,34,40-41 are";
    assert!(finished.stderr.contains(said), "{finished:?}");
    // A plan is of what is done without -o.
    guide.done("sst --compat -c 0 perf-profile set-config-level -l 4 -o");
    let page = guide.done("sst -c 0 plan perf-profile -l 0").replace('\n', " ");
    assert!(page.contains("also has cores 4,6,12-13, without an online CPU"), "{page}");
    assert!(!page.contains("kernel does not report"), "{page}");
}

/// What cannot be told afterwards is not done.
#[test]
fn a_file_that_cannot_be_written_is_known_before_anything_is_changed() {
    let guide = Guide::new();
    let level = "perf-profile set-config-level -l 4 -o";
    let finished = guide.run(&format!("sst --compat -o no-such-folder/x {level}"));
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains("cannot write `no-such-folder/x`"), "{finished:?}");
    assert!(!guide.file().exists());
    // What is refused leaves no file.
    let file = guide.file().with_file_name("results");
    let finished =
        guide.run(&format!("sst --compat -o {} turbo-mode set-trl -t 0x0", file.display()));
    assert_ne!(finished.code, Some(0), "{finished:?}");
    assert!(!file.exists());
    guide.done(&format!("sst --compat -o {} {level}", file.display()));
    assert!(fs::read_to_string(file).unwrap().contains("set_tdp_level:success"));
}

/// CPUs that went with the level cannot tell it; their neighbours can.
#[test]
fn a_level_is_proved_by_the_cpus_that_stay() {
    let guide = Guide::new();
    let page = guide.done("sst -c 4,6 perf-profile set-config-level -l 4 -o");
    assert!(page.contains("[obeyed] base_frequency: ") && !page.contains("not obs"), "{page}");
}

/// Whom the level at present is without gains and loses nothing.
#[test]
fn a_plan_says_who_is_in_no_level() {
    let guide = Guide::new();
    guide.done("sst perf-profile set-config-level -l 4");
    for line in ["sst plan perf-profile -l 4", "sst -c 0,1 plan turbo-freq"] {
        let page = guide.done(line);
        let row = page.lines().find(|line| line.ends_with("not in the level, as now"));
        let row = row.unwrap_or_else(|| panic!("{line}: {page}"));
        assert!(row.starts_with('4') && !row.contains("00"), "{line}: {page}");
    }
    let page = guide.done("sst plan perf-profile -l 0");
    assert!(page.lines().any(|line| line.ends_with("joins the level")), "{page}");
}
