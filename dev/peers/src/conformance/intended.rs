//! Where the answers differ on purpose. The table is the only place where that is said: the page in
//! `docs/reference/conformance.md` is made of it.
//!
//! A row does not wave a difference through: it says what exactly is expected instead, most of them by an
//! edit of what the reference tool printed.

use sst::compat::TOOLS;

use super::cases::Case;
use super::tool::Run;

/// A difference that is wanted.
pub(super) struct Difference {
    pub(super) id: &'static str,
    /// What the reference tool does.
    pub(super) there: &'static str,
    /// What is done here, and why.
    pub(super) here: &'static str,
    /// Whether it is about every call, and says nothing of a single one.
    pub(super) is_general: bool,
    /// What is expected instead of the reference tool's answer; none: the row is about something else.
    pub(super) expects: fn(&Case, &Run) -> Option<Expected>,
}

/// What is expected here.
pub(super) enum Expected {
    /// These bytes.
    Edited(Run),
    /// The bytes that the reference tool prints when it is called otherwise.
    Otherwise(Case),
    /// The bytes that the edit makes of both answers of the reference tool, the other one by another case.
    Both(Case, fn(&Run, &Run) -> Run),
    /// This exit code, `error: ` on standard error, and no results.
    Refused(i32),
    /// The exit code 1, and an error in place of what could not be read.
    Failed,
    /// The same results; standard output is another one.
    Results,
    /// The exit code 0, success, JSON that is valid, and the same state of the machine.
    Done,
    /// The exit code 0, and a text of our own.
    OwnText,
}

use Expected::{Both, Done, Edited, Failed, Otherwise, OwnText, Refused, Results};

/// All of them. Each is applied to what the former ones have made.
pub(super) const TABLE: &[Difference] = &[
    Difference {
        id: "simulated",
        is_general: true,
        there: "simulated machines look like others",
        here: "a third line on standard output says SIMULATED",
        expects: |case, run| {
            let line = format!("SIMULATED machine: {}\n", case.machine);
            let end = run.stdout.match_indices('\n').nth(1)?.0 + 1;
            let (banner, rest) = run.stdout.split_at(end);
            Some(Edited(Run { stdout: format!("{banner}{line}{rest}"), ..run.clone() }))
        },
    },
    Difference {
        id: "no-cache",
        is_general: true,
        there: "a stored topology gets stale, and a note of it spoils JSON; CPUs switched off \
                since are counted",
        here: "nothing is stored, nor are they counted",
        expects: |_, run| {
            let stderr = run.stderr.replacen("Caching topology information\n", "", 1);
            (stderr != run.stderr).then(|| Edited(Run { stderr, ..run.clone() }))
        },
    },
    Difference {
        id: "notes",
        is_general: false,
        there: "notes among the results spoil JSON: usual values, CPUs that come and go, a \
                warning of cpufreq",
        here: "left out; see `cpudyno sst`, --dry-run",
        expects: |_, run| {
            let is_note = |line: &&str| NOTES.iter().any(|note| line.starts_with(note));
            let stderr = lines_of(run.stderr.lines().filter(|line| !is_note(line)));
            (stderr.len() != run.stderr.len()).then(|| Edited(Run { stderr, ..run.clone() }))
        },
    },
    Difference {
        id: "help",
        is_general: false,
        there: "help needs root and the driver; exit code 1",
        here: "own text on standard output; exit code 0",
        expects: |case, _| case.words.ends_with("--help").then_some(OwnText),
    },
    Difference {
        id: "too-new",
        is_general: false,
        there: "1.13 calls the mailbox of a machine that has none; exit code 0",
        here: "the reason; exit code 3",
        expects: |case, _| {
            let machine = ["granite", "sierra"].contains(&case.machine);
            (machine && case.tool.newest_interface == 1).then_some(Refused(3))
        },
    },
    Difference {
        id: "refused-arguments",
        is_general: false,
        there: "unknown options and formats, words too many and missing CPUs are ignored",
        here: "refused; exit code 2",
        expects: |case, _| {
            let ignored = ["info -z", " and more", "-c 900 ", "-f xml"];
            let missing = case.words == "perf-profile";
            (missing || ignored.iter().any(|words| case.words.contains(words)))
                .then_some(Refused(2))
        },
    },
    Difference {
        id: "not-here",
        is_general: false,
        there: "options for its daemon, cgroups, and a slower mailbox",
        here: "refused; exit code 2",
        expects: |case, _| case.words.starts_with("-r 5").then_some(Refused(2)),
    },
    Difference {
        id: "numbers",
        is_general: false,
        there: "1.13 takes what is no number for 0",
        here: "refused in the words of 1.20",
        expects: |case, run| {
            let (option, value) = case.words.rsplit_once(' ')?;
            let option = option.rsplit_once(' ')?.1;
            let name = [("-l", "level"), ("-b", "bucket")].iter().find(|it| it.0 == option)?.1;
            let applies = case.tool.newest_interface == 1 && value == "x";
            let stderr = format!("malformed arguments for:{name} [{value}]\n");
            applies.then(|| Edited(Run { stderr, code: 2, ..run.clone() }))
        },
    },
    Difference {
        id: "no-bucket",
        is_general: false,
        there: "interfaces 2 and 3: a missing group of cores leaves an empty place; exit code 0",
        here: "an error; exit code 1",
        expects: |case, _| {
            (case.machine == "granite" && case.words.ends_with("-b 7")).then_some(Failed)
        },
    },
    Difference {
        id: "io-domains",
        is_general: false,
        there: "base-freq info and turbo-freq info end at the first power domain without cores",
        here: "those are left out",
        expects: |case, run| {
            let words = ["base-freq info -l 0", "turbo-freq info -l 0"];
            let found = words.iter().any(|words| case.words.starts_with(words));
            let ends = run.code == 1 && run.stderr.contains("powerdomain-2");
            let cpus = "-c 0,11,22,32,43,54 ";
            let words = format!("{cpus}{}", case.words).leak();
            (found && ends).then(|| Otherwise(Case { words, ..case.clone() }))
        },
    },
    Difference {
        id: "least-uncore",
        is_general: false,
        there: "1.13 shows the fabric's guaranteed frequency as its least one",
        here: "the least one, where firmware has it, as in 1.20",
        expects: |case, run| {
            let applies = run.stderr.contains(LEAST) && case.tool.newest_interface == 1;
            let newer = Case { tool: &TOOLS[0], ..case.clone() };
            applies.then_some(Both(newer, least_uncore))
        },
    },
    Difference {
        id: "broken-json",
        is_general: false,
        there: "line breaks in strings, commas or braces too many, an object left open",
        here: "JSON is valid",
        expects: |case, run| {
            let edits = [
                ("clos id\n\"", "clos id\""),
                ("level\n\"", "level\""),
                ("  }\n\n}\n\n}\n", "  }\n\n}\n"),
                ("  }\n,\n\n\n}\n", "  }\n\n}\n"),
                ("  }\n,\n\n,\n\n", "  }\n,\n\n"),
                ("  }\n}\n\n}\n", "  }\n\n}\n"),
            ];
            let edit = |text: String, (from, to): &(&str, &str)| text.replace(from, to);
            let mut stderr = edits.iter().fold(run.stderr.clone(), edit);
            // It ends within its object.
            if case.words.ends_with("turbo-mode set-trl") && !stderr.ends_with("\n}\n") {
                stderr.push_str("\n}\n");
            }
            (case.json && stderr != run.stderr).then(|| Edited(Run { stderr, ..run.clone() }))
        },
    },
    Difference {
        id: "offline-cpus",
        is_general: false,
        there: "named CPUs that are off are left out silently",
        here: "refused; exit code 3",
        expects: |case, _| case.words.starts_with("-c 3,4 ").then_some(Refused(3)),
    },
    Difference {
        id: "debug",
        is_general: false,
        there: "-d writes a trace to standard output",
        here: "the number of ioctls; same results",
        expects: |case, _| case.words.starts_with("-d ").then_some(Results),
    },
    Difference {
        id: "refused-before",
        is_general: false,
        there: "power domains before one that fails stay changed; what no core can have is set; \
                what needs core-power stays on",
        here: "all or none: the reason; exit code 2 (asked wrongly), 3 (not there), 4 (something \
               comes first)",
        expects: |case, _| refused(case).map(Refused),
    },
    Difference {
        id: "io-domains-changed",
        is_general: false,
        there: "base-freq and turbo-freq fail at power domains without cores",
        here: "those are left out",
        expects: |case, _| {
            let is_feature =
                ["base-freq ", "turbo-freq "].iter().any(|it| case.words.starts_with(it));
            let changes = case.words.contains("able");
            let words = format!("-c 0,11,22,32,43,54 {}", case.words).leak();
            (case.machine == "granite" && is_feature && changes)
                .then(|| Otherwise(Case { words, ..case.clone() }))
        },
    },
    Difference {
        id: "limits",
        is_general: false,
        there: "the highest clock is written with old memory behind it and refused; the lowest \
                becomes the base frequency; CPU 0 is left out",
        here: "the lowest becomes the highest, on all CPUs of the power domain",
        expects: |case, run| {
            let applies = case.words.contains("base-freq enable -a");
            applies.then(|| Edited(Run { state: raised(case, &run.state), ..run.clone() }))
        },
    },
    Difference {
        id: "limits-of-users",
        is_general: false,
        there: "without turbo, or with a highest clock below the base frequency, base-freq, \
                set-config-level -o and turbo-mode disable write the base frequency as a lasting \
                limit",
        here: "a highest clock below the new base frequency is opened, also without -o (as in \
               newer versions); others stay",
        expects: |case, run| {
            let is_meant = ["set-config-level", "base-freq enable -a", "base-freq disable -a"];
            let is_meant = is_meant.iter().any(|words| case.words.contains(words));
            let state = match case.state.name {
                "without turbo" if is_meant || case.words == "turbo-mode disable" => {
                    with_limits(&run.state, &[])
                }
                "highest clocks set low" if case.words.contains("disable") && is_meant => {
                    with_limits(&run.state, &super::tool::state_of(case.state.file).ok()?)
                }
                "highest clocks set low" if is_meant => with_limits(&run.state, &[]),
                // Whether it comes to that depends on what was in that memory of row `limits`.
                "highest clocks set low" if case.words == "turbo-mode enable" => {
                    with_limits(&run.state, &[])
                }
                _ => return None,
            };
            (state != run.state).then(|| Edited(Run { state, ..run.clone() }))
        },
    },
    Difference {
        id: "whole-system",
        is_general: false,
        there: "auto modes write classes of power domains and packages that nobody named",
        here: "classes of the named ones",
        expects: |case, run| {
            let state: Vec<String> =
                run.state.iter().filter(|line| is_meant(case, line)).cloned().collect();
            let is_auto = case.words.contains("enable -a") && state != run.state;
            is_auto.then(|| Edited(Run { state, ..run.clone() }))
        },
    },
    Difference {
        id: "cores-off",
        is_general: false,
        there: "auto modes leave cores without online CPUs in the first class",
        here: "they get their class",
        expects: |case, run| {
            let applies = case.state.name == "a core off" && case.words.contains("enable -a");
            let mut state = run.state.clone();
            state.push("0.0/association/4 = 3".to_owned());
            state.sort();
            applies.then(|| Edited(Run { state, ..run.clone() }))
        },
    },
    Difference {
        id: "uncore",
        is_general: false,
        there: "interfaces 2 and 3: set-config-level -o sets few uncores or none, 100 times too \
                high",
        here: "the level's limits, in each power domain with cores",
        expects: |case, run| {
            let applies = case.machine == "granite" && case.words.ends_with("-l 1 -o");
            applies.then(|| Edited(Run { state: with_uncore(case, &run.state), ..run.clone() }))
        },
    },
    Difference {
        id: "stays-on",
        is_general: false,
        there: "switching one feature off with -a takes core-power from the other, or is an error",
        here: "core-power stays on in that package",
        expects: |case, run| {
            let pairs = [
                ("base-freq on", "turbo-freq disable -a"),
                ("turbo-freq on", "base-freq disable -a"),
            ];
            let applies = pairs.contains(&(case.state.name, case.words));
            applies.then(|| Edited(still_on(case, run)))
        },
    },
    Difference {
        id: "small-frequencies",
        is_general: false,
        there: "interfaces 2 and 3: a class frequency up to 255 counts in 100 MHz",
        here: "it is in MHz",
        expects: |case, run| {
            let applies = case.words.ends_with("-n 200") && case.machine == "granite";
            let line = |line: &String| line.replace("= 16762880", "= 16712192");
            let state = run.state.iter().map(line).collect();
            applies.then(|| Edited(Run { state, ..run.clone() }))
        },
    },
    Difference {
        id: "turbo-mode",
        is_general: false,
        there: "each CPU is set anew, with an error if their number is no multiple of 32; 1.13 \
                says the opposite word",
        here: "each power domain once; exit code 0; same limits",
        expects: |case, _| {
            ["turbo-mode enable", "turbo-mode disable"].contains(&case.words).then_some(Done)
        },
    },
    Difference {
        id: "level-at-present",
        is_general: false,
        there: "1.13 fails where the present level is asked for and locked",
        here: "success: nothing is to be done",
        expects: |case, run| {
            let asked = case.words.ends_with("set-config-level -l 0");
            (asked && run.code != 0 && case.machine == "sapphire-locked").then_some(Done)
        },
    },
    Difference {
        id: "json-of-changes",
        is_general: false,
        there: "1.13 writes no JSON for core-power assoc and turbo-freq enable -a",
        here: "JSON is valid",
        expects: |case, run| {
            let auto = case.words.contains("turbo-freq enable -a");
            let older = case.tool.newest_interface == 1;
            let is_done = case.words.starts_with("-c ") && case.words.contains("assoc -c");
            (case.json && older && (auto || is_done) && run.code == 0).then_some(Done)
        },
    },
    Difference {
        id: "place-of-all",
        is_general: false,
        there: "1.20 ends turbo-freq enable -a with a place that no machine has, package--1",
        here: "with the last CPU, as 1.13",
        expects: |case, run| {
            let stderr = at_last_place(case.json, &run.stderr);
            (stderr != run.stderr).then(|| Edited(Run { stderr, ..run.clone() }))
        },
    },
    Difference {
        id: "failed-reads",
        is_general: false,
        there: "what could not be read is left out, or shown as zero, as locked, or as old memory",
        here: "an error in its place; exit code 1",
        expects: |case, run| {
            // Of these it makes an error itself.
            let alike = ["tpmi/6 fails", "tpmi/9 fails"].contains(&case.state.name);
            let fails = case.state.name.ends_with(" fails") && !alike;
            // Of the switch of priorities it says itself that it is unknown.
            (fails && !run.stderr.contains("status is unknown")).then_some(Failed)
        },
    },
    Difference {
        id: "exit-codes",
        is_general: false,
        there: "many failures have the exit code 0",
        here: "1: not readable; 2: wrong arguments; 3: not here; 4: not permitted. Others as there",
        expects: |_, run| {
            let arguments = [
                "Invalid command\n",
                "malformed arguments",
                "Invalid clos id",
                "Invalid target cpu",
            ];
            let failures = ["Error: ", "\"Error0\"", "Can't get TDP control information"];
            let has = |texts: &[&str]| texts.iter().any(|it| run.stderr.contains(it));
            let code = if has(&arguments) { 2 } else { i32::from(has(&failures)) };
            (run.code == 0 && code > 0).then(|| Edited(Run { code, ..run.clone() }))
        },
    },
];

/// Where `cpudyno sst`, our own face, refuses what the reference tool does.
pub(super) struct Own {
    pub(super) id: &'static str,
    /// What the reference tool does, and `--compat` with it.
    pub(super) there: &'static str,
    /// Why it is refused.
    pub(super) here: &'static str,
    /// Its exit code; none: the row is about something else.
    pub(super) refuses: fn(&Case) -> Option<i32>,
}

/// All of them.
pub(super) const OWN: &[Own] = &[Own {
    id: "core-power-first",
    there: "base-freq and turbo-freq go on without core-power, or with it and any classes",
    here: "refused without -a; exit code 4",
    refuses: |case| {
        let enables = ["base-freq enable", "turbo-freq enable"];
        let enables = enables.iter().any(|words| case.words.contains(words));
        let is_alone = enables && !case.words.contains("enable -a");
        let comes = ["changed", "without turbo", "highest clocks set low"];
        (is_alone && comes.contains(&case.state.name) && refused(case).is_none()).then_some(4)
    },
}];

/// How notes in free text begin.
const NOTES: &[&str] = &[
    "cpufreq subsystem and core-power",
    "clos epp is not",
    "clos frequency weight is not",
    "clos min is not",
    "clos max is not",
    "clos desired is not",
    "Option is set to online/offline",
    "online cpu ",
    "offline cpu ",
    "This system is not configured for CPU 0 online/offline",
    "Will use cgroup v2",
    "Ignoring online request for CPU 0",
];

fn lines_of<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.fold(String::new(), |text, line| text + line + "\n")
}

/// The exit code of what is refused before anything is written.
fn refused(case: &Case) -> Option<i32> {
    let words = case.words;
    let is = |some: &[&str]| some.contains(&words);
    let has = |part: &str| words.contains(part);
    let on = ["base-freq on", "turbo-freq on"].contains(&case.state.name);
    let of_level = has("set-config-level -l");
    let is_present = has("-l 0");
    if of_level && !is_present && ["sapphire-locked", "sierra"].contains(&case.machine) {
        return Some(4);
    }
    if of_level && has("-l 9") {
        return Some(3);
    }
    if has("-n 3000 -m 2000") {
        return Some(2);
    }
    // There is neither core-power nor what stands on it.
    let features =
        ["core-power enable", "core-power disable", "assoc -c", "config -c", "config --clos"];
    let features = features.iter().chain(&["base-freq enable", "base-freq disable"]);
    let mut features = features.chain(&["turbo-freq enable", "turbo-freq disable"]);
    let is_wrong = is(&["core-power assoc -c 3", "core-power config -c 4"]);
    if case.machine == "sierra" && features.any(|it| has(it)) && !is_wrong && !has("get-") {
        return Some(3);
    }
    if words == "turbo-freq enable -a" {
        return Some(2);
    }
    if has("-c 0-9 turbo-freq") {
        return Some(3);
    }
    if case.state.name == "without turbo" && has("turbo-freq enable") {
        return Some(4);
    }
    (on && has("core-power disable")).then_some(4)
}

/// The CPUs' highest clock as their lowest.
fn raised(case: &Case, state: &[String]) -> Vec<String> {
    const FILE: &str = "/cpufreq/scaling_min_freq";
    let machine = machine::Machine::named(&format!("sim:{}", case.machine)).ok();
    let path = "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq";
    let most = machine.and_then(|machine| machine.tree.read(path).ok()).unwrap_or_default();
    let (limits, others): (Vec<&String>, Vec<&String>) =
        state.iter().partition(|line| line.contains(FILE));
    let files = limits.iter().filter_map(|line| line.split_once(" = ")).map(|(file, _)| file);
    let first = format!("/sys/devices/system/cpu/cpu0{FILE}");
    let mut lines: Vec<String> =
        files.chain([first.as_str()]).map(|file| format!("{file} = \"{most}\"")).collect();
    lines.extend(others.into_iter().cloned());
    lines.sort();
    lines.dedup();
    lines
}

/// What is said of place `package--1`, as a part of the place before it.
fn at_last_place(json: bool, stderr: &str) -> String {
    let Some((before, after)) =
        stderr.split_once(if json { "\"package--1" } else { " package--1\n" })
    else {
        return stderr.to_owned();
    };
    if json {
        let before = before.strip_suffix("    }\n  }\n,\n\n  ").unwrap_or(before);
        let after = after.split_once("{\n").map_or(after, |(_, parts)| parts);
        return format!("{before}    }},\n{after}");
    }
    let is_place = |line: &&str| line.ends_with("--1") || line.ends_with("cpu-None");
    before.to_owned() + &lines_of(after.lines().filter(|line| !is_place(line)))
}

/// The state of a machine with these lines for the highest clocks.
fn with_limits(state: &[String], limits: &[String]) -> Vec<String> {
    let is_limit = |line: &&String| line.contains("/cpufreq/scaling_max_freq");
    let others = state.iter().filter(|line| !is_limit(line));
    let mut lines: Vec<String> = others.chain(limits.iter().filter(is_limit)).cloned().collect();
    lines.sort();
    lines
}

/// The state of that machine with the limits of the uncore that its second level has.
fn with_uncore(case: &Case, state: &[String]) -> Vec<String> {
    const FOLDER: &str = "/sys/devices/system/cpu/intel_uncore_frequency/uncore";
    // Five power domains in each of two packages, and the last two of them without cores.
    let all: &[u8] = if case.words.starts_with("-c 1 ") { &[0] } else { &[0, 1, 2, 5, 6, 7] };
    let limits = [("min", 900_000), ("max", 2_200_000)];
    let lines = all.iter().flat_map(|nth| {
        limits.map(|(which, khz)| format!("{FOLDER}{nth:02}/{which}_freq_khz = \"{khz}\""))
    });
    let others = state.iter().filter(|line| !line.starts_with(FOLDER)).cloned();
    let mut lines: Vec<String> = lines.chain(others).collect();
    lines.sort();
    lines
}

/// Whether a line of the state is no class of a power domain that was not named, or has no cores.
fn is_meant(case: &Case, line: &str) -> bool {
    let Some((place, rest)) = line.split_once('/') else { return true };
    if !rest.starts_with("class/") && !rest.starts_with("association/") {
        return true;
    }
    match (case.words.starts_with("-c "), case.machine) {
        // CPUs of the first power domain are named, or one of each.
        (true, "granite") if !case.words.starts_with("-c 0,11") => place == "0.0",
        (_, "granite") => ["0", "1", "2"].iter().any(|domain| place.ends_with(domain)),
        (true, _) => place == "0.0",
        (false, _) => true,
    }
}

/// With core-power as it was in the first package.
fn still_on(case: &Case, run: &Run) -> Run {
    let was = super::tool::state_of(case.state.file).unwrap_or_default();
    let is_switch = |line: &String| line.contains("/core-power") || line.contains("/priorities");
    let mut state: Vec<String> = run
        .state
        .iter()
        .filter(|line| !(is_switch(line) && line.starts_with("0.")))
        .chain(was.iter().filter(|line| is_switch(line)))
        .cloned()
        .collect();
    state.sort();
    let is_error = |line: &&str| {
        let said = ["Error: Ignoring request", "Information: WRITE_PM_CONFIG command failed"];
        said.iter().any(|text| line.starts_with(text))
    };
    let mut stderr = lines_of(run.stderr.lines().filter(|line| !is_error(line)));
    // The same in JSON: an object before that of the first power domain.
    let said = ["  \"Error0\"", "  \"Information:0\""];
    for from in said.iter().filter_map(|text| stderr.find(text)).collect::<Vec<_>>() {
        if let Some(to) = stderr.find("  \"package-0").filter(|to| from < *to) {
            stderr.replace_range(from..to, "");
        }
    }
    Run { state, stderr, code: 0, ..run.clone() }
}

const LEAST: &str = "uncore-frequency-min(MHz)";

/// The older answer with the lines of the newer one.
fn least_uncore(older: &Run, newer: &Run) -> Run {
    let mut right = newer.stderr.lines().filter(|line| line.contains(LEAST));
    let lines = older.stderr.lines();
    let lines =
        lines.filter_map(|line| if line.contains(LEAST) { right.next() } else { Some(line) });
    let stderr = lines.fold(String::new(), |text, line| text + line + "\n");
    Run { stderr, ..older.clone() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use xtask::cargo::root;

    const BEGIN: &str =
        "<!-- Generated by `UPDATE_GENERATED=1 cargo test -p peers conformance`. -->\n";
    const END: &str = "<!-- end -->\n";

    #[test]
    fn the_page_has_every_row() {
        let path = root().join("docs/reference/conformance.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        let rows =
            TABLE.iter().map(|row| format!("| `{}` | {} | {} |\n", row.id, row.there, row.here));
        let own = OWN
            .iter()
            .map(|row| format!("| `{}` | {} | `cpudyno sst`: {} |\n", row.id, row.there, row.here));
        let table: String = rows.chain(own).collect();
        let table = format!("| | the reference tool | here |\n|---|---|---|\n{table}");
        let expected = format!("{before}{BEGIN}{table}{END}{after}");
        if std::env::var_os("UPDATE_GENERATED").is_some() {
            std::fs::write(&path, &expected).unwrap();
        } else {
            assert!(page == expected, "stale: UPDATE_GENERATED=1 cargo test -p peers conformance");
        }
    }

    #[test]
    fn what_is_said_of_no_place_is_a_part_of_the_last_one() {
        let place = " package-0\n  die-0\n    cpu-12\n      turbo-freq\n        enable:success\n";
        let auto = "      turbo-freq --auto\n        enable:success\n";
        let nowhere = format!("{place} package--1\n  die--1\n    cpu-None\n{auto}");
        assert_eq!(at_last_place(false, &nowhere), format!("{place}{auto}"));
        assert_eq!(at_last_place(false, place), place);
        let first = "{\n  \"package-0:die-0:cpu-12\": {\n    \"turbo-freq\": {\n      \"enable\": \"success\"\n";
        let auto = "    \"turbo-freq --auto\": {\n      \"enable\": \"success\"\n    }\n  }\n\n}\n";
        let nowhere =
            format!("{first}    }}\n  }}\n,\n\n  \"package--1:die--1:cpu--1\": {{\n{auto}");
        assert_eq!(at_last_place(true, &nowhere), format!("{first}    }},\n{auto}"));
    }

    #[test]
    fn rows_are_unique_and_described() {
        let ids = TABLE.iter().map(|row| row.id).chain(OWN.iter().map(|row| row.id));
        assert_eq!(ids.collect::<BTreeSet<_>>().len(), TABLE.len() + OWN.len());
        assert!(TABLE.iter().all(|row| !row.there.contains('|') && !row.here.contains('|')));
    }
}
