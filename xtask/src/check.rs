//! Every check, one row each; all are run, even after one has failed.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::{EXIT_CANNOT, EXIT_NO, cargo, needs, table};

/// A check: a cargo command that succeeds or fails.
struct Step {
    /// What people call it.
    name: &'static str,
    /// What its success proves.
    proves: &'static str,
    /// Variables that are set for it.
    environment: &'static [(&'static str, &'static str)],
    /// Cargo's arguments, separated by blanks.
    arguments: &'static str,
    /// Ids of the needs that it rests on.
    needs: &'static [&'static str],
    /// Whether it may say that it cannot be decided here, which is then in the summary.
    may_be_skipped: bool,
}

/// All checks, in the order in which they run: the quick ones first.
const STEPS: &[Step] = &[
    Step {
        name: "format",
        proves: "the code is laid out as rustfmt does it",
        environment: &[],
        arguments: "fmt --all --check",
        needs: &["rustfmt"],
        may_be_skipped: false,
    },
    Step {
        name: "lints",
        proves: "neither the compiler nor clippy has anything to say",
        environment: &[],
        arguments: "clippy --workspace --all-targets --locked -- -D warnings",
        needs: &["clippy", "cc"],
        may_be_skipped: false,
    },
    Step {
        name: "test",
        proves: "it behaves as the tests say",
        environment: &[
            ("CPUDYNO_NEEDS_PERF", "1"),
            ("CPUDYNO_NEEDS_CHROMIUM", "1"),
            ("CPUDYNO_NEEDS_PROMETHEUS", "1"),
        ],
        arguments: "test --workspace --locked --no-fail-fast",
        needs: &[
            "cc",
            "script",
            "curl",
            "libgomp",
            "libomp",
            "libpfm",
            "perf",
            "chromium",
            "promtool",
            "prometheus-client",
        ],
        may_be_skipped: false,
    },
    Step {
        name: "conformance",
        proves: "the face of intel-speed-select answers as the unmodified tool, but where it is meant not to",
        environment: &[],
        arguments: "run --quiet --locked --package xtask -- conformance",
        needs: &["cc", "libnl", "xz"],
        may_be_skipped: true,
    },
    Step {
        name: "docs",
        proves: "the documentation builds and its links lead somewhere",
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
        arguments: "doc --workspace --no-deps --locked",
        needs: &["cc"],
        may_be_skipped: false,
    },
    Step {
        name: "dependencies",
        proves: "licences are allowed, banned crates are absent, all comes from crates.io",
        environment: &[],
        arguments: "deny --locked check --hide-inclusion-graph licenses bans sources",
        needs: &["cargo-deny"],
        may_be_skipped: false,
    },
    Step {
        name: "aarch64",
        proves: "it compiles for the other architecture",
        environment: &[],
        arguments: "check --workspace --locked --target aarch64-unknown-linux-gnu",
        needs: &["aarch64", "aarch64-cc", "aarch64-libc", "cc"],
        may_be_skipped: false,
    },
    Step {
        name: "release",
        proves: "the product builds as it is shipped",
        environment: &[],
        arguments: "build --release --locked",
        needs: &["cc"],
        may_be_skipped: false,
    },
];

/// How a step ended.
struct Outcome {
    step: &'static Step,
    end: End,
    took: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Passed,
    Failed,
    /// It could not be decided here.
    Skipped,
}

/// Runs everything, or names what is missing to do so.
pub(crate) fn run(install: bool) -> anyhow::Result<ExitCode> {
    let mut missing = needs::missing();
    if install && !missing.is_empty() {
        println!("installing what is missing:\n{}", needs::describe(&missing));
        needs::install(&missing)?;
        missing = needs::missing();
    }
    if !missing.is_empty() {
        eprintln!("error: cannot check: {} missing", count(missing.len(), "tool"));
        eprintln!("{}", needs::describe(&missing));
        eprintln!("{}", blocked(&missing));
        if install {
            eprintln!("hint: they were installed just now and still cannot be run; see PATH");
        } else {
            eprintln!("hint: run `{}`", needs::INSTALL_COMMAND);
        }
        return Ok(ExitCode::from(EXIT_CANNOT));
    }
    let begun = Instant::now();
    let outcomes = STEPS
        .iter()
        .enumerate()
        .map(|(index, step)| execute(index + 1, step))
        .collect::<anyhow::Result<Vec<_>>>()?;
    println!("\n{}", summary(&outcomes, begun.elapsed()));
    let passed = outcomes.iter().all(|outcome| outcome.end != End::Failed);
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NO) })
}

/// Runs one step with its output left as it is, so that test results can be read.
fn execute(number: usize, step: &'static Step) -> anyhow::Result<Outcome> {
    println!("\n== {number}/{} {}: {}", STEPS.len(), step.name, step.proves);
    println!("   $ {}", step.command_line());
    let begun = Instant::now();
    let status = cargo::cargo()
        .args(step.arguments.split(' '))
        .envs(step.environment.iter().copied())
        .status()
        .with_context(|| format!("cannot run `{}`", step.command_line()))?;
    let end = match status.code() {
        Some(0) => End::Passed,
        Some(code) if step.may_be_skipped && code == i32::from(EXIT_CANNOT) => End::Skipped,
        _ => End::Failed,
    };
    let outcome = Outcome { step, end, took: begun.elapsed() };
    println!("== {} {} in {}", step.name, outcome.word(), seconds(outcome.took));
    Ok(outcome)
}

impl Step {
    /// The command as one would type it.
    fn command_line(&self) -> String {
        let variables = self.environment.iter().map(|(name, value)| format!("{name}=\"{value}\" "));
        format!("{}cargo {}", variables.collect::<String>(), self.arguments)
    }
}

impl Outcome {
    fn word(&self) -> &'static str {
        match self.end {
            End::Passed => "passed",
            End::Failed => "FAILED",
            End::Skipped => "SKIPPED",
        }
    }
}

/// Which steps the missing needs stop.
fn blocked(missing: &[&needs::Need]) -> String {
    let stopped = STEPS
        .iter()
        .filter(|step| step.needs.iter().any(|&id| missing.iter().any(|need| need.id == id)));
    let names: Vec<_> = stopped.map(|step| step.name).collect();
    format!("without them these steps cannot run: {}", names.join(", "))
}

fn summary(outcomes: &[Outcome], total: Duration) -> String {
    let rows = outcomes.iter().map(|outcome| {
        let Outcome { step, took, .. } = outcome;
        [step.name.to_owned(), outcome.word().to_owned(), seconds(*took), step.command_line()]
    });
    let table = table::plain(["step", "result", "time", "command"], &["time"], rows);
    let ended = |end: End| -> Vec<&str> {
        let such = outcomes.iter().filter(|outcome| outcome.end == end);
        such.map(|outcome| outcome.step.name).collect()
    };
    let (failed, skipped) = (ended(End::Failed), ended(End::Skipped));
    let steps = count(outcomes.len(), "step");
    let of_steps = |names: &[&str], how: &str| {
        format!("{} of {steps} {how}: {}", names.len(), names.join(", "))
    };
    let verdict = match (failed.is_empty(), skipped.is_empty()) {
        (true, true) => format!("all {steps} passed in {}", seconds(total)),
        (true, false) => of_steps(&skipped, "SKIPPED"),
        (false, true) => of_steps(&failed, "FAILED"),
        (false, false) => {
            format!("{}; {}", of_steps(&failed, "FAILED"), of_steps(&skipped, "SKIPPED"))
        }
    };
    format!("{table}\n{verdict}")
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn steps_have_unique_names_and_known_needs() {
        let names: BTreeSet<_> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(names.len(), STEPS.len());
        for step in STEPS {
            assert!(!step.proves.is_empty(), "{}", step.name);
            for id in step.needs {
                assert!(needs::NEEDS.iter().any(|need| need.id == *id), "{}: {id}", step.name);
            }
        }
    }

    #[test]
    fn every_need_is_needed() {
        for need in needs::NEEDS {
            assert!(STEPS.iter().any(|step| step.needs.contains(&need.id)), "{}", need.id);
        }
    }

    #[test]
    fn no_step_changes_the_lock_file() {
        for step in STEPS.iter().filter(|step| step.name != "format") {
            assert!(step.arguments.contains("--locked"), "{}", step.name);
        }
    }

    #[test]
    fn the_summary_names_what_failed() {
        let outcome = |index: usize, end| {
            let took = Duration::from_millis(1500);
            Outcome { step: &STEPS[index], end, took }
        };
        let (passed, failed) = (outcome(0, End::Passed), outcome(1, End::Failed));
        let text = summary(&[passed, failed], Duration::from_secs(3));
        assert!(text.ends_with("1 of 2 steps FAILED: lints"), "{text}");
        assert!(text.contains("1.5 s"), "{text}");
        let text = summary(&[outcome(0, End::Skipped)], Duration::from_secs(3));
        assert!(text.ends_with("1 of 1 step SKIPPED: format"), "{text}");
        let text = summary(&[outcome(0, End::Passed)], Duration::from_secs(3));
        assert!(text.ends_with("all 1 step passed in 3.0 s"), "{text}");
    }

    #[test]
    fn missing_needs_name_the_steps_that_they_stop() {
        let need = needs::NEEDS.iter().find(|need| need.id == "cargo-deny").unwrap();
        assert!(blocked(&[need]).ends_with("cannot run: dependencies"));
    }
}
