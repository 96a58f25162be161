//! How people look at a fleet's records: cpudyno, databases, data frames and what needs a line of shell.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use xtask::cargo::{TOOLS, command, root};

/// What is looked at.
pub(crate) struct FleetFiles {
    pub(crate) binary: PathBuf,
    /// A record of the machine.
    pub(crate) base: PathBuf,
    /// A record of each machine.
    pub(crate) records: PathBuf,
    pub(crate) pack: PathBuf,
}

/// What a program took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) time_s: f64,
    /// Of CPUs: what else runs on the machine hardly changes it.
    pub(crate) cpu_s: f64,
    /// Of its largest process.
    pub(crate) peak_bytes: f64,
}

/// What somebody needs who looks.
pub(crate) enum Need {
    Nothing,
    /// A module of Python, and how to get it.
    Module(&'static str, &'static str),
    /// A program that says its version, and how to get it.
    Program(&'static str, &'static str),
}

/// A way to look at a fleet.
pub(crate) struct Way {
    pub(crate) name: &'static str,
    /// What is known afterwards.
    pub(crate) answers: &'static str,
    pub(crate) needs: Need,
    pub(crate) command: fn(&FleetFiles) -> Command,
}

const MEDIANS: &str = "median and MAD of each result, machines beyond 5 MADs";
const ONE: &str = "one result, the five slowest";

/// The first is what the others are compared with.
pub(crate) const WAYS: &[Way] = &[
    Way {
        name: "cpudyno fleet DIR",
        answers: "every number judged, suspects, sorts, causes",
        needs: Need::Nothing,
        command: |files| surveyed(files, &files.records),
    },
    Way {
        name: "cpudyno fleet PACK",
        answers: "the same",
        needs: Need::Nothing,
        command: |files| surveyed(files, &files.pack),
    },
    Way {
        name: "DuckDB, read_text",
        answers: MEDIANS,
        needs: Need::Module("duckdb", "cargo xtask check --install"),
        command: |files| script("records_duckdb.py", &files.records),
    },
    Way {
        name: "Python and pandas",
        answers: MEDIANS,
        needs: Need::Module("pandas", "python3 -m pip install pandas"),
        command: |files| script("records_pandas.py", &files.records),
    },
    Way {
        name: "Python and Polars",
        answers: MEDIANS,
        needs: Need::Module("polars", "cargo xtask check --install"),
        command: |files| script("records_polars.py", &files.records),
    },
    Way {
        name: "jq",
        answers: ONE,
        needs: Need::Program("jq", "apt-get install jq"),
        command: |files| jq(files, 1),
    },
    Way {
        name: "xargs -P2 jq",
        answers: ONE,
        needs: Need::Program("jq", "apt-get install jq"),
        command: |files| jq(files, 2),
    },
];

impl Need {
    /// Why it is not there, and how to get it.
    pub(crate) fn missing(&self) -> Option<String> {
        let (mut probe, get) = match self {
            Need::Nothing => return None,
            Need::Module(name, get) => {
                let mut probe = python();
                probe.args(["-c", &format!("import {name}")]);
                (probe, get)
            }
            Need::Program(name, get) => (command(&format!("{name} --version")), get),
        };
        let done = probe.output();
        let is_there = done.is_ok_and(|done| done.status.success());
        (!is_there).then(|| format!("{} fails; get it by `{get}`", told(&probe)))
    }
}

/// Runs a program to its end: what it took, and what it printed.
pub(crate) fn taken(program: &mut Command) -> Result<(Taken, String)> {
    let line = told(program);
    // A pipe that nobody empties would stop it.
    let mut output = tempfile::tempfile().context("cannot make a temporary file")?;
    program.stdin(Stdio::null()).stdout(File::try_clone(&output)?);
    let begun = Instant::now();
    let mut child = program.spawn().with_context(|| format!("cannot run {line}"))?;
    let usage = sys::process::wait_until_ended(&child)?;
    let time_s = begun.elapsed().as_secs_f64();
    let status = child.wait()?;
    ensure!(status.success(), "{line} failed ({status})");
    let mut said = String::new();
    output.rewind()?;
    output.read_to_string(&mut said).with_context(|| format!("{line} printed no text"))?;
    let (cpu_s, peak_bytes) = (usage.cpu_time.as_secs_f64(), usage.peak_memory_bytes as f64);
    Ok((Taken { time_s, cpu_s, peak_bytes }, said))
}

/// What somebody found, in a line.
pub(crate) fn summary(said: &str) -> Result<String> {
    if let Ok(survey) = serde_json::from_str::<serde_json::Value>(said) {
        let groups = survey["suspects"].as_array().map_or(0, Vec::len);
        return Ok(format!(
            "{} numbers of {} machines, {groups} groups of suspects",
            survey["judged"], survey["hosts"]
        ));
    }
    said.lines().last().map(str::to_owned).context("it printed nothing")
}

pub(crate) fn cpudyno(files: &FleetFiles) -> Command {
    Command::new(&files.binary)
}

pub(crate) fn surveyed(files: &FleetFiles, what: &Path) -> Command {
    let mut command = cpudyno(files);
    command.arg("fleet").arg(what).args(["--format", "json"]);
    command
}

/// With what the checks install.
fn python() -> Command {
    let mut python = command("python3");
    python.env("PYTHONPATH", root().join(TOOLS)).env("PYTHONDONTWRITEBYTECODE", "1");
    python
}

/// A script of `benchmarks/fleet`, which is given a path.
pub(crate) fn script(name: &str, path: &Path) -> Command {
    let mut python = python();
    python.arg(root().join("benchmarks/fleet").join(name)).arg(path);
    python
}

fn jq(files: &FleetFiles, processes: usize) -> Command {
    let mut shell = command("sh");
    shell.arg(root().join("benchmarks/fleet/one_result.sh"));
    shell.arg(&files.records).arg(processes.to_string());
    shell
}

fn told(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    format!("`{}`", words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_named_with_how_to_get_it() {
        let missing = Need::Program("cpudyno-no-such-program", "apt-get install it").missing();
        let missing = missing.unwrap();
        assert_eq!(
            missing,
            "`cpudyno-no-such-program --version` fails; get it by `apt-get install it`"
        );
        assert_eq!(Need::Program("sh -c true", "").missing(), None);
    }

    #[test]
    fn what_a_program_printed_is_read_and_a_failure_is_an_error() {
        let (took, said) = taken(command("sh").args(["-c", "echo 5 machines"])).unwrap();
        assert_eq!(summary(&said).unwrap(), "5 machines");
        assert!(took.time_s > 0.0 && took.peak_bytes > 0.0, "{took:?}");
        let failed = taken(command("sh").args(["-c", "exit 3"])).unwrap_err().to_string();
        assert!(failed.starts_with("`sh -c exit 3` failed"), "{failed}");
        assert!(summary("").is_err());
    }

    #[test]
    fn a_survey_is_told_by_its_numbers() {
        let survey = r#"{"judged": 20, "hosts": 10, "suspects": [{}, {}]}"#;
        assert_eq!(summary(survey).unwrap(), "20 numbers of 10 machines, 2 groups of suspects");
    }
}
