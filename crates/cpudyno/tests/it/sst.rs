//! `cpudyno sst` on simulated machines, and what it says where there is none.

use std::fs;

use crate::common::{Finished, cpudyno, finish};
use crate::made_up::lay;
use crate::record::checked;

fn run(machine: &str, args: &[&str]) -> Finished {
    let mut all = vec!["sst"];
    all.extend(args);
    all.extend(["--machine", machine]);
    finish(cpudyno(&all))
}

fn page(machine: &str, args: &[&str]) -> String {
    run(machine, args).success()
}

const COMMANDS: &[&[&str]] = &[
    &["info"],
    &["perf-profile", "info"],
    &["perf-profile", "get-config-levels"],
    &["perf-profile", "get-config-version"],
    &["perf-profile", "get-config-enabled"],
    &["perf-profile", "get-config-current-level"],
    &["perf-profile", "get-lock-status"],
    &["core-power", "info"],
    &["core-power", "get-config"],
    &["core-power", "get-assoc"],
    &["base-freq", "info"],
    &["turbo-freq", "info"],
];

#[test]
fn who_gets_which_clock() {
    for machine in ["guide", "icelake", "granite"] {
        let name = format!("sim:{machine}");
        insta::assert_snapshot!(format!("{machine}-info"), page(&name, &[]));
        let levels = page(&name, &["perf-profile", "info"]);
        insta::assert_snapshot!(format!("{machine}-levels"), levels);
    }
    let narrow = ["perf-profile", "info", "-l", "0", "--width", "80", "-v"];
    insta::assert_snapshot!("granite-level-80", page("sim:granite", &narrow));
}

#[test]
fn features_and_classes() {
    let others = COMMANDS.iter().filter(|words| words[..] != ["perf-profile", "info"][..]);
    let shown = others.map(|words| format!("$ {}\n{}", words.join(" "), page("sim:guide", words)));
    insta::assert_snapshot!("guide-others", shown.collect::<Vec<_>>().join("\n"));
    let more = ["turbo-freq", "info", "-l", "0", "-b", "1", "-r", "avx2"];
    insta::assert_snapshot!("guide-one-group", page("sim:guide", &more));
}

/// Every command on every machine: what is shown says SIMULATED, is a record that keeps its schema, and
/// comes out of the record byte by byte.
#[test]
fn all_that_is_printed_comes_from_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sst.json");
    let file = file.to_str().unwrap();
    for machine in ["guide", "icelake", "sapphire", "sapphire-locked", "granite", "sierra"] {
        let machine = format!("sim:{machine}");
        for command in COMMANDS {
            let live = run(&machine, &[&["-d", "--json", file][..], *command].concat());
            if live.code == Some(3) {
                assert!(live.stderr.contains("does not support it"), "{command:?}: {live:?}");
                continue;
            }
            let live = live.success();
            assert!(live.starts_with("SIMULATED Speed Select, "), "{machine} {command:?}: {live}");
            let record = checked(&fs::read_to_string(file).unwrap());
            let told = record.speed_select.unwrap();
            assert_eq!(told.question.command, command.join(" "));
            assert!(!told.calls.is_empty());
            assert_eq!(finish(cpudyno(&["show", file])).success(), live, "{machine} {command:?}");
        }
    }
}

#[test]
fn json_is_the_whole_of_standard_output() {
    let json = page("sim:guide", &["-f", "json", "-d", "perf-profile", "info"]);
    let told = checked(&json).speed_select.unwrap();
    assert_eq!(told.domains.len(), 2);
    assert_eq!((told.generation.as_str(), told.domains[0].cores.len()), ("mailbox", 14));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.json");
    let file = file.to_str().unwrap();
    assert_eq!(page("sim:guide", &["-f", "json", "-o", file, "-c", "0", "core-power", "info"]), "");
    let record = checked(&fs::read_to_string(file).unwrap());
    assert_eq!(record.speed_select.unwrap().domains.len(), 1);
    let words = record.run.command.join(" ");
    assert!(words.contains("-o FILE") && !words.contains("out.json"), "{words}");
}

/// A power domain is asked once, however many of its CPUs are named; those without cores are in nobody's
/// way.
#[test]
fn cpus_name_their_power_domains() {
    let one = page("sim:guide", &["-c", "0,1,5", "perf-profile", "get-config-levels"]);
    assert_eq!(one.matches("4 (there are 0-4)").count(), 1, "{one}");
    let classes = page("sim:guide", &["-c", "10..11", "core-power", "get-assoc"]);
    assert!(classes.contains("10-11"), "{classes}");
    let turbo = page("sim:granite", &["turbo-freq", "info", "-l", "0"]);
    assert!(turbo.contains("Level 0 has no turbo-freq here."), "{turbo}");
}

fn fails(refused: &Finished, code: i32, message: &str, hint: &str) {
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(code), ""), "{refused:?}");
    let lines: Vec<&str> = refused.stderr.lines().collect();
    assert!(lines[0].starts_with("error: ") && lines[0].contains(message), "{refused:?}");
    assert!(lines[1].starts_with("hint: ") && lines[1].contains(hint), "{refused:?}");
}

/// A simulated machine whose firmware has a fault, in words of a state file.
struct Faulty {
    machine: String,
    _folder: tempfile::TempDir,
}

impl Faulty {
    fn new(name: &str, fault: &str) -> Faulty {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        fs::write(&state, format!("{{\"firmware_faults\": [{{{fault}}}]}}")).unwrap();
        Faulty { machine: format!("sim:{name}@{}", state.display()), _folder: folder }
    }

    fn run(&self, line: &str) -> Finished {
        run(&self.machine, &line.split(' ').collect::<Vec<_>>())
    }

    /// In the reference tool's face.
    fn compat(&self, line: &str) -> Finished {
        let words = ["--machine", &self.machine, "sst", "--compat"];
        finish(cpudyno(&words.into_iter().chain(line.split(' ')).collect::<Vec<_>>()))
    }
}

/// What was not read is no answer: neither no, nor off, nor all cores.
#[test]
fn what_could_not_be_read_is_not_told() {
    let cores = Faulty::new("granite", r#""on": "tpmi/13", "does": "refused""#);
    let levels = cores.run("perf-profile info -l 0").success();
    assert!(levels.contains("?: it was not told whether the level allows it"), "{levels}");
    assert!(levels.contains("(ENOTTY)") && !levels.contains("o: the level allows"), "{levels}");
    let split = Faulty::new("guide", r#""on": "7f/20", "does": "io-error""#);
    let base = split.run("base-freq info -l 0").success();
    assert!(!base.contains("has no base-freq"), "{base}");
    assert!(base.contains("the firmware did not answer three queries"), "{base}");
    let control = Faulty::new("guide", r#""on": "7f/01", "does": "io-error""#);
    let info = control.run("info").success();
    for feature in ["base-freq", "turbo-freq"] {
        let line = info.lines().find(|line| line.contains(&format!("{feature} "))).unwrap();
        assert!(line.contains("not told"), "{info}");
    }
    assert!(info.contains("the firmware did not answer three queries"), "{info}");
    let lock = Faulty::new("guide", r#""on": "msr", "does": "io-error""#);
    let lock = lock.run("perf-profile get-lock-status").success();
    assert!(lock.contains("not locked by firmware; register 64Bh cannot be read"), "{lock}");
}

#[test]
fn where_nothing_was_read_there_is_no_page() {
    let nothing = Faulty::new("guide", r#""on": "7f/00", "does": "io-error""#);
    for line in ["info", "perf-profile get-config-levels", "base-freq info"] {
        let why = "cannot read Speed Select: the firmware did not answer three queries";
        fails(&nothing.run(line), 3, why, "try again");
    }
    let nothing = Faulty::new("guide", r#""on": "d0/02", "does": "io-error""#);
    let done = nothing.run("core-power info");
    assert!(done.stdout.contains("not told"), "{done:?}");
}

/// The reference tool's face has no zeros for what could not be read, and fails where it says so.
#[test]
fn scripts_learn_what_could_not_be_read() {
    let groups = Faulty::new("guide", r#""on": "msr", "does": "io-error""#);
    let info = groups.compat("perf-profile info -l 0");
    assert_eq!(info.code, Some(1), "{info:?}");
    assert!(info.stderr.contains("Failed to get turbo limits of level 0 on cpu 0"), "{info:?}");
    assert!(!info.stderr.contains("core-count:0"), "{info:?}");
    let cores = Faulty::new("granite", r#""on": "tpmi/13", "does": "refused""#);
    let info = cores.compat("perf-profile info -l 0");
    assert_eq!(info.code, Some(1), "{info:?}");
    assert!(info.stderr.contains("Failed to get CPUs of level 0 on cpu 0"), "{info:?}");
    let half = Faulty::new("granite", r#""on": "tpmi/5", "does": "refused", "after": 1"#);
    let info = half.compat("core-power info");
    assert_eq!(info.code, Some(1), "{info:?}");
    assert!(info.stderr.contains("Failed to get power domains of package 1"), "{info:?}");
    let control = Faulty::new("guide", r#""on": "7f/01", "does": "io-error""#);
    let info = control.compat("--info");
    assert_eq!(info.code, Some(1), "{info:?}");
    assert!(info.stderr.contains("(feature base-freq) status is unknown"), "{info:?}");
}

#[test]
fn where_there_is_none_it_says_why() {
    let guest = run("sim:vm-2c", &["info"]);
    fails(&guest, 3, "cannot read Speed Select: there is no `/dev/isst_interface`", "sim:guide");
    let here = finish(cpudyno(&["sst", "info"]));
    if here.code != Some(0) {
        // Not root where there is one, or none.
        let code = if here.stderr.contains("EACCES") { 4 } else { 3 };
        fails(&here, code, "cannot read Speed Select: ", "");
    }
}

/// The page without the line that says where it comes from.
fn told(page: &str) -> Vec<&str> {
    page.lines().enumerate().filter(|(place, _)| *place != 1).map(|(_, line)| line).collect()
}

/// Recorded registers, below a folder and in the capture that is made of it, say the same to every command that reads,
/// and take nothing.
#[test]
fn recorded_registers_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let [root, capture, file] = ["root", "there.capture", "sst.json"]
        .map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    lay(root.as_ref(), true);
    let sst =
        |source: &[&str], words: &[&str]| finish(cpudyno(&[&["sst"], source, words].concat()));
    let captured = finish(cpudyno(&["capture", &capture, "--root", &root]));
    assert_eq!(captured.code, Some(0), "{captured:?}");
    for command in COMMANDS {
        let words = [&["--json", &file][..], *command].concat();
        let below = sst(&["--root", &root], &words).success();
        assert!(below.lines().nth(1).unwrap().ends_with(", files below a folder"), "{below}");
        let record = checked(&fs::read_to_string(&file).unwrap());
        let kinds = record.speed_select.unwrap().domains.len();
        assert_eq!((kinds, record.run.elsewhere.as_deref()), (2, Some("files below a folder")));
        assert_eq!(finish(cpudyno(&["show", &file])).success(), below, "{command:?}");
        let there = sst(&["--machine", &capture], command).success();
        assert!(there.lines().nth(1).unwrap().contains(", a capture, taken "), "{there}");
        assert_eq!(told(&there), told(&below), "{command:?}");
    }
    insta::assert_snapshot!(
        "recorded-info",
        told(&sst(&["--root", &root], &[]).success()).join("\n")
    );
    for words in [&["core-power", "disable"][..], &["perf-profile", "set-config-level", "-l", "1"]]
    {
        let refused = sst(&["--machine", &capture], words);
        fails(
            &refused,
            4,
            "cannot set anything: this machine is a capture",
            "on the machine itself",
        );
    }
}

#[test]
fn recorded_registers_without_those_of_cpus_say_what_cannot_be_told() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    lay(folder.path(), false);
    let page = finish(cpudyno(&["sst", "--root", root, "perf-profile", "info"])).success();
    assert!(page.contains("register 54h, which says in which power domain a CPU is"), "{page}");
    let refused = finish(cpudyno(&["sst", "--root", root, "-c", "1", "core-power", "info"]));
    fails(&refused, 3, "cannot use CPU 1: register 54h", "sudo cpudyno capture");
    fs::remove_dir_all(folder.path().join("sys/kernel")).unwrap();
    let none = finish(cpudyno(&["sst", "--root", root]));
    fails(&none, 3, "`/sys/kernel/debug/tpmi-*/tpmi-id-05/mem_dump`", "sudo cpudyno capture");
}

/// The help has three levels, of which none asks a machine; each teaches what it is for, by a call, too.
#[test]
fn help_has_three_levels_and_each_has_its_lesson() {
    let features = ["perf-profile", "core-power", "base-freq", "turbo-freq", "turbo-mode"];
    let shown = |words: &[&str]| {
        let help = finish(cpudyno(&[words, &["--help"]].concat())).success();
        assert!(help.contains("Usage: cpudyno sst"), "{words:?}: {help}");
        help
    };
    shown(&["sst"]);
    for feature in features {
        let help = shown(&["sst", feature]);
        let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        let commands = list.take_while(|line| !line.is_empty());
        let commands = commands.filter_map(|line| line.split_whitespace().next());
        let deeper = commands.map(|command| vec!["sst", feature, command]);
        for words in deeper.chain([vec!["sst", feature]]) {
            let help = shown(&words);
            let (text, _) = help.split_once("\n\nUsage").unwrap();
            // The line of the list, and what one uses it for.
            assert!(
                text.split_once("\n\n").is_some_and(|(_, lesson)| lesson.ends_with('.')),
                "{help}"
            );
            let (_, example) = help.split_once("\nExample:\n  sudo cpudyno sst ").expect(&help);
            assert!(example.contains(feature), "{help}");
        }
    }
}
