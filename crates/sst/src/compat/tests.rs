//! The face of the reference tool, where `cargo peers conformance` does not look: JSON as JSON, dies that
//! no simulated machine has, arguments one by one.

use machine::Machine;
use simulated::Model;

use super::args::{CompatCommand, Refused, parse};
use super::render::{RenderContext, page};
use super::{CompatAnswer, TOOLS, Tool, answer, nobody};
use crate::change::Wish;
use crate::commands::COMMANDS;
use crate::lessons::{LESSONS, Lesson};
use crate::model::Snapshot;
use crate::read::{Wanted, read};
use crate::tests::simulated;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn asked(machine: &Machine, line: &str) -> CompatAnswer {
    answer(machine, Tool::DEFAULT, &words(line), &mut nobody)
}

/// Each command as somebody calls it who wants all of it.
fn line(command: &str) -> String {
    match command {
        "info" => "--info".to_owned(),
        "core-power get-config" => format!("{command} -c 1"),
        "core-power get-assoc" => format!("-c 0,2 {command}"),
        "base-freq info" | "turbo-freq info" => format!("{command} -l 0"),
        _ => command.to_owned(),
    }
}

#[test]
fn every_command_answers_in_text_and_in_json() {
    for name in ["guide", "icelake", "sapphire", "sapphire-locked", "granite", "sierra"] {
        let machine = simulated(name);
        for tool in TOOLS {
            for command in COMMANDS {
                let text = answer(&machine, tool, &words(&line(command.words)), &mut nobody);
                let is_refused = text.stderr.starts_with("error: ");
                let is_said = text.stdout.contains("SIMULATED");
                assert!(is_said != is_refused, "{name}: {}: {text:?}", command.words);
                assert!(!text.stderr.is_empty(), "{name}: {}", command.words);
                let arguments = format!("-f json {}", line(command.words));
                let json = answer(&machine, tool, &words(&arguments), &mut nobody);
                assert_eq!(json.code, text.code, "{name}: {arguments}");
                if command.words != "info" && !json.stderr.starts_with("error: ") {
                    let parsed: Result<serde_json::Value, _> = serde_json::from_str(&json.stderr);
                    let object = parsed.unwrap_or_else(|error| panic!("{arguments}: {error}"));
                    assert!(object.as_object().is_some_and(|object| !object.is_empty()));
                }
            }
        }
    }
}

#[test]
fn a_domain_without_cores_has_the_die_of_its_package_where_dies_are_no_domains() {
    let command = COMMANDS.iter().find(|it| it.words == "perf-profile get-config-levels").unwrap();
    let mut snapshot = read(&simulated("granite"), &Wanted::by(command)).unwrap();
    let line = words("perf-profile get-config-levels");
    let Ok(CompatCommand::Results { query, .. }) = parse(Tool::DEFAULT, &line) else { panic!() };
    let shown = |snapshot: &Snapshot| {
        page(&RenderContext { tool: Tool::DEFAULT, snapshot, words: 4 }, &query).written(false)
    };
    let own = shown(&snapshot);
    assert!(own.contains("  die-1\n    powerdomain-1\n      cpu-11\n"), "{own}");
    assert!(own.contains("  die-4\n    powerdomain-4\n      cpu-None\n"), "{own}");
    // An older kernel puts all of a package into one die.
    for domain in snapshot.domains.iter_mut().filter(|domain| !domain.cpus.is_empty()) {
        domain.die = Some(0);
    }
    let one = shown(&snapshot);
    assert!(one.contains("  die-0\n    powerdomain-1\n      cpu-11\n"), "{one}");
    assert!(one.contains("  die-0\n    powerdomain-4\n      cpu-None\n"), "{one}");
}

#[test]
fn results_go_to_the_file_that_is_named() {
    let guide = simulated("guide");
    let plain = asked(&guide, "-f json perf-profile get-lock-status");
    let named = asked(&guide, "-o x -f json perf-profile get-lock-status");
    assert_eq!(named.file, Some(("x".into(), plain.stderr)));
    assert!(named.stderr.is_empty());
    let version = asked(&guide, "--out=x -v");
    assert_eq!(version.file, Some(("x".into(), "Version v1.20\n".to_owned())));
}

#[test]
fn options_may_be_shortened_and_attached() {
    for line in [
        "-c0,2-3 -fjson core-power info",
        "-c 0,2..3 --form=json core-power info",
        "--cpu 0,2-3 -format json core-power info",
    ] {
        let Ok(CompatCommand::Results { query, .. }) = parse(Tool::DEFAULT, &words(line)) else {
            panic!("{line}")
        };
        assert!(query.json, "{line}");
        assert_eq!(query.cpus.unwrap().to_string(), "0,2-3", "{line}");
    }
    let line = "turbo-freq info -l0 --bucket=2 --trl avx2";
    let Ok(CompatCommand::Results { query, .. }) = parse(Tool::DEFAULT, &words(line)) else {
        panic!()
    };
    assert_eq!((query.level, query.bucket, query.licence), (Some(0), Some(2), Some(1)));
}

#[test]
fn what_would_mislead_is_refused() {
    for line in [
        "",
        "-c",
        "--co 0 core-power info",
        "-d=1 core-power info",
        "-f yaml core-power info",
        "-a",
        "--oob",
        "core-power",
        "config",
        "core-power enable -p 2",
        "turbo-mode get-trl all",
        "core-power info -l 0",
        "perf-profile info all",
        "perf-profile info -l",
    ] {
        let refused = parse(Tool::DEFAULT, &words(line)).unwrap_err();
        assert!(matches!(refused, Refused::Here { .. }), "{line}: {refused:?}");
        let answer = asked(&simulated("guide"), line);
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{line}");
        assert!(answer.stderr.contains("\nhint: "), "{line}: {}", answer.stderr);
    }
    for list in ["", "a", "1-", "-1", "3-3", "4-2", "1,,2", "0-99999999", "1 "] {
        let arguments = ["-c", list, "core-power", "info"].map(str::to_owned);
        let answer = answer(&simulated("guide"), Tool::DEFAULT, &arguments, &mut nobody);
        assert_eq!(answer.code, 255, "{list}");
        assert_eq!(answer.stderr, format!("\"--cpu {list}\" malformed\n"));
    }
}

#[test]
fn where_there_is_no_speed_select_nothing_stands_but_the_reason() {
    for (name, line) in
        [("epyc", "perf-profile info"), ("epyc", "core-power disable"), ("vm-2c", "--info")]
    {
        let answer = asked(&simulated(name), line);
        assert_eq!((answer.code, answer.stdout.as_str()), (3, ""), "{name} {line}: {answer:?}");
        let begins = answer.stderr.starts_with("error: cannot read Speed Select: ");
        assert!(begins && answer.file.is_none(), "{name} {line}: {answer:?}");
    }
    let answer = asked(&simulated("vm-2c"), "--info");
    assert!(answer.stderr.starts_with("error: cannot read Speed Select: "), "{answer:?}");
    let missing = asked(&simulated("guide"), "-c 3,900 core-power info");
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("900"), "{missing:?}");
    assert!(missing.stderr.contains("\nhint: choose among -c 0-55"), "{missing:?}");
    let mut model = Model::named("guide").unwrap();
    model.topology.offline = "12,40".parse().unwrap();
    let off = asked(&Machine::from(model), "-c 12 core-power info");
    assert_eq!(off.code, 3);
    assert!(off.stderr.contains("cannot use CPU 12: offline, "), "{off:?}");
    assert!(off.stderr.contains("\nhint: `cpudyno set online@N=on` brings CPU N"), "{off:?}");
}

#[test]
fn help_names_every_command_and_option() {
    let guide = simulated("guide");
    let top = asked(&guide, "--help").stdout;
    for command in COMMANDS.iter().filter(|command| command.words != "info") {
        assert!(top.contains(command.words), "{}", command.words);
        let (feature, _) = command.words.split_once(' ').unwrap();
        assert!(asked(&guide, &format!("{feature} -h")).stdout.contains(command.words));
    }
    assert!(asked(&guide, "turbo-freq info -h").stdout.contains("--bucket"));
    assert_eq!(asked(&guide, "turbo-mood -h").stderr, "Invalid command\n");
}

/// A place is one that the machine has: no number below 0 comes out of any command, and no CPU is missing where a power
/// domain has some.
#[test]
fn every_place_is_one_that_the_machine_has() {
    let reading = COMMANDS.iter().map(|command| line(command.words));
    let taught = LESSONS.iter().map(|lesson| lesson.example.to_owned());
    let lines: Vec<String> = reading.chain(taught).filter(|line| !line.is_empty()).collect();
    for name in ["guide", "icelake", "sapphire", "sapphire-locked", "granite", "sierra"] {
        let machine = simulated(name);
        let snapshot = read(&machine, &Wanted::by(&COMMANDS[0])).unwrap();
        let mut places: Vec<String> = Vec::new();
        for domain in &snapshot.domains {
            let at = format!("package-{}:die-{}", domain.package, domain.number);
            let of = |cpu: &dyn std::fmt::Display| {
                let newer = format!("{at}:powerdomain-{}:cpu-{cpu}", domain.number);
                [format!("package-{}:die-0:cpu-{cpu}", domain.package), newer]
            };
            places.extend(domain.online().iter().flat_map(|cpu| of(&cpu)));
            if domain.cpus.is_empty() {
                places.extend(of(&"None"));
            }
        }
        for tool in TOOLS {
            for line in &lines {
                let json = words(&format!("-f json {line}"));
                for arguments in [words(line), json] {
                    let told = answer(&machine, tool, &arguments, &mut |_: &Wish| Ok(())).stderr;
                    assert!(!told.contains("--1"), "{name} {arguments:?}: {told}");
                    let Ok(object) = serde_json::from_str::<serde_json::Value>(&told) else {
                        continue;
                    };
                    let named = object.as_object().into_iter().flat_map(|object| object.keys());
                    for place in
                        named.filter(|it| !it.starts_with("Error") && !it.starts_with("Info"))
                    {
                        assert!(places.contains(place), "{name} {arguments:?}: {place} {told}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_feature_and_every_command_has_one_lesson_of_one_to_three_sentences() {
    let mut commands: Vec<&str> = COMMANDS.iter().map(|it| it.words).collect();
    commands.extend(super::changing::ROWS.iter().map(|row| row.words));
    commands.retain(|words| *words != "info");
    commands.push("turbo-mode get-trl");
    let features = commands.iter().filter_map(|words| Some(words.split_once(' ')?.0));
    let mut all: Vec<&str> = commands.iter().copied().chain(features).collect();
    all.sort_unstable();
    all.dedup();
    let mut taught: Vec<&str> = LESSONS.iter().map(|it| it.words).collect();
    taught.sort_unstable();
    assert_eq!(taught, all);
    for lesson in LESSONS {
        let sentences = lesson.text.matches(". ").count() + 1;
        assert!(lesson.text.ends_with('.') && sentences <= 3, "{lesson:?}");
    }
}

#[test]
fn help_of_each_level_has_its_lesson_and_an_example_that_is_taken() {
    let guide = simulated("guide");
    for Lesson { words: call, text, example } in LESSONS {
        let help = asked(&guide, &format!("{call} --help")).stdout.replace('\n', " ");
        assert!(help.contains(text), "{call}: {help}");
        if !example.is_empty() {
            assert!(help.contains(&format!("intel-speed-select {example}")), "{help}");
            let parsed = parse(Tool::DEFAULT, &words(example));
            assert!(parsed.is_ok(), "{example}: {parsed:?}");
        }
    }
}
