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
    /// The exit code 0, and a text of our own.
    OwnText,
}

use Expected::{Both, Edited, Failed, Otherwise, OwnText, Refused, Results};

/// All of them. Each is applied to what the former ones have made.
pub(super) const TABLE: &[Difference] = &[
    Difference {
        id: "simulated",
        is_general: true,
        there: "nothing tells a simulated machine from another one",
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
        there: "it keeps the topology in a file that gets stale, and notes so among the results, where it \
                spoils JSON; CPUs that were switched off since then are counted from it",
        here: "nothing is kept, and there is no such note; CPUs that are off are not counted",
        expects: |_, run| {
            let stderr = run.stderr.replacen("Caching topology information\n", "", 1);
            (stderr != run.stderr).then(|| Edited(Run { stderr, ..run.clone() }))
        },
    },
    Difference {
        id: "help",
        is_general: false,
        there: "help needs root and the driver, and has the exit code 1",
        here: "our own text, on standard output, with the exit code 0",
        expects: |case, _| case.words.ends_with("--help").then_some(OwnText),
    },
    Difference {
        id: "too-new",
        is_general: false,
        there: "version 1.13 calls the mailbox of a machine that has none, with the exit code 0",
        here: "the reason, and the exit code 3",
        expects: |case, _| {
            let machine = ["granite", "sierra"].contains(&case.machine);
            (machine && case.tool.newest_interface == 1).then_some(Refused(3))
        },
    },
    Difference {
        id: "refused-arguments",
        is_general: false,
        there: "unknown options, words too many, unknown formats and CPUs that are not there are ignored, \
                some with a note",
        here: "they are refused, with the exit code 2",
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
        there: "options for its daemon, for cgroups, and for slowing down the mailbox",
        here: "they are refused, with the exit code 2: there is nothing here that they could change",
        expects: |case, _| case.words.starts_with("-r 5").then_some(Refused(2)),
    },
    Difference {
        id: "numbers",
        is_general: false,
        there: "version 1.13 takes what is no number for 0",
        here: "it is refused in the words of version 1.20",
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
        there: "interfaces 2 and 3: a group of cores that is not there leaves a place without content, and \
                the exit code 0",
        here: "an error, and the exit code 1",
        expects: |case, _| {
            (case.machine == "granite" && case.words.ends_with("-b 7")).then_some(Failed)
        },
    },
    Difference {
        id: "io-domains",
        is_general: false,
        there: "base-freq info and turbo-freq info end with an error at the first power domain without cores, \
                and never come to the next package",
        here: "power domains without cores are left out, as if the first CPU of each other one had been \
               named",
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
        there: "version 1.13 shows the guaranteed frequency of the fabric as its least one",
        here: "the least one, where the firmware tells it, as version 1.20 does",
        expects: |case, run| {
            let applies = run.stderr.contains(LEAST) && case.tool.newest_interface == 1;
            let newer = Case { tool: &TOOLS[0], ..case.clone() };
            applies.then_some(Both(newer, least_uncore))
        },
    },
    Difference {
        id: "broken-json",
        is_general: false,
        there: "some messages break their line within a string of JSON, and some objects have commas or \
                braces too many",
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
            let stderr = edits.iter().fold(run.stderr.clone(), edit);
            (case.json && stderr != run.stderr).then(|| Edited(Run { stderr, ..run.clone() }))
        },
    },
    Difference {
        id: "offline-cpus",
        is_general: false,
        there: "CPUs that are named and switched off are left out without a word",
        here: "they are refused, with the exit code 3",
        expects: |case, _| case.words.starts_with("-c 3,4 ").then_some(Refused(3)),
    },
    Difference {
        id: "debug",
        is_general: false,
        there: "-d writes a trace of CPUs and commands to standard output",
        here: "how many ioctls it took; results are the same",
        expects: |case, _| case.words.starts_with("-d ").then_some(Results),
    },
    Difference {
        id: "failed-reads",
        is_general: false,
        there: "what could not be read is left out, or shown as zero, as locked, or as what was in memory \
                before",
        here: "an error in its place, and the exit code 1",
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
        here: "1: something could not be read; 2: wrong arguments; 3: nothing of the kind here; 4: not \
               permitted. Codes other than 0 are those of the reference tool",
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
    use crate::cargo::root;

    const BEGIN: &str =
        "<!-- Generated by `UPDATE_GENERATED=1 cargo test -p xtask conformance`. -->\n";
    const END: &str = "<!-- end -->\n";

    #[test]
    fn the_page_has_every_row() {
        let path = root().join("docs/reference/conformance.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        let rows =
            TABLE.iter().map(|row| format!("| `{}` | {} | {} |\n", row.id, row.there, row.here));
        let table: String = rows.collect();
        let table = format!("| | the reference tool | here |\n|---|---|---|\n{table}");
        let expected = format!("{before}{BEGIN}{table}{END}{after}");
        if std::env::var_os("UPDATE_GENERATED").is_some() {
            std::fs::write(&path, &expected).unwrap();
        } else {
            assert!(page == expected, "stale: UPDATE_GENERATED=1 cargo test -p xtask conformance");
        }
    }

    #[test]
    fn rows_are_unique_and_described() {
        let ids: BTreeSet<_> = TABLE.iter().map(|row| row.id).collect();
        assert_eq!(ids.len(), TABLE.len());
        assert!(TABLE.iter().all(|row| !row.there.contains('|') && !row.here.contains('|')));
    }
}
