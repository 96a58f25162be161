//! What is proved of what was built, one row each: it is installed, run and removed as users do it.

mod container;
mod files;
mod install;
mod shells;

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};

use xtask::cargo;

use super::Made;
use super::packages::Form;
use super::tree::Beside;

/// What was built, and where more may be made.
pub(super) struct Ground {
    pub(super) offered: Vec<Made>,
    pub(super) image: PathBuf,
    /// What lies in trees beside the program.
    pub(super) beside: Beside,
    pub(super) work: PathBuf,
    /// Whether the program was built for this machine's system, and may need its libraries.
    pub(super) quick: bool,
}

/// A proof.
struct Proof {
    name: &'static str,
    /// What its success proves.
    proves: &'static str,
    run: fn(&Ground) -> anyhow::Result<()>,
}

/// All proofs.
const PROOFS: &[Proof] = &[
    Proof {
        name: "manual",
        proves: "every page of the manual is drawn without a warning",
        run: files::manual,
    },
    Proof {
        name: "units",
        proves: "systemd has nothing to say about the units",
        run: files::units,
    },
    Proof {
        name: "bash",
        proves: "bash completes commands, streams and machines from where packages put it",
        run: |ground| shells::completes(ground, "bash"),
    },
    Proof { name: "zsh", proves: "zsh does so", run: |ground| shells::completes(ground, "zsh") },
    Proof { name: "fish", proves: "fish does so", run: |ground| shells::completes(ground, "fish") },
    Proof {
        name: "archive",
        proves: "what an archive holds runs where it was unpacked",
        run: files::archive,
    },
    Proof {
        name: "repeated",
        proves: "the same bytes come from another folder",
        run: files::repeated,
    },
    Proof {
        name: "lintian",
        proves: "lintian has nothing to say about the packages of Debian, but what an override gives a reason for",
        run: |ground| install::linted(ground, Form::Deb),
    },
    Proof {
        name: "rpmlint",
        proves: "rpmlint has nothing to say about the packages of Fedora, but what a filter gives a reason for",
        run: |ground| install::linted(ground, Form::Rpm),
    },
    Proof {
        name: "deb",
        proves: "a clean Debian installs the package, runs it, and is as before once it is purged",
        run: install::deb,
    },
    Proof {
        name: "rpm",
        proves: "rpm installs the package into an empty root, finds it whole, and leaves nothing once it is erased",
        run: install::rpm,
    },
    Proof {
        name: "image",
        proves: "the image is read as others read it, and runs as nobody, also on what it sees of its host",
        run: container::image,
    },
];

/// Runs all of them, and says how each ended; whether all passed.
pub(super) fn run(ground: &Ground) -> bool {
    let mut failed = Vec::new();
    println!();
    for proof in PROOFS {
        let begun = Instant::now();
        let done = (proof.run)(ground);
        let word = if done.is_ok() { "passed" } else { "FAILED" };
        println!(
            "{:10}{word}  {:5.1} s  {}",
            proof.name,
            begun.elapsed().as_secs_f64(),
            proof.proves
        );
        if let Err(error) = done {
            println!("{error:#}");
            failed.push(proof.name);
        }
    }
    if !failed.is_empty() {
        println!("{} of {} proofs FAILED: {}", failed.len(), PROOFS.len(), failed.join(", "));
    }
    failed.is_empty()
}

impl Ground {
    /// What is installed here: of this machine's architecture, with libraries.
    fn ours(&self) -> anyhow::Result<&Made> {
        let ours = self.offered.iter().find(|made| made.target.loads && made.target.runs_here());
        ours.context("no package of this machine's architecture was built")
    }

    /// The package of this form that is installed here.
    fn package(&self, form: Form) -> anyhow::Result<&PathBuf> {
        let package = self.ours()?.packages.iter().find(|(known, _)| *known == form);
        Ok(&package.with_context(|| format!("no {} was built", form.word()))?.1)
    }
}

/// What a command prints that succeeds; else an error with all that it said.
fn said(command: &mut Command) -> anyhow::Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {program}"))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if !output.status.success() {
        let all = format!("{}\n{}", said(&output.stdout), said(&output.stderr));
        bail!("{program} failed ({}): {}", output.status, all.trim());
    }
    Ok(said(&output.stdout))
}

/// A script that is run as root in a room of its own: what it mounts, nobody else sees, and its end unmounts.
fn script(text: &str) -> anyhow::Result<Command> {
    let is_root = said(Command::new("id").arg("-u"))? == "0";
    let line = "unshare --mount --propagation private sh -euc";
    let mut command =
        cargo::command(&if is_root { line.to_owned() } else { format!("sudo {line}") });
    command.arg(text).arg("sh");
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_have_names_and_say_what_they_prove() {
        for (number, proof) in PROOFS.iter().enumerate() {
            assert!(!proof.proves.is_empty(), "{}", proof.name);
            assert!(
                PROOFS[..number].iter().all(|other| other.name != proof.name),
                "{}",
                proof.name
            );
        }
    }

    #[test]
    fn what_fails_is_an_error_with_all_that_was_said() {
        let error = said(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]));
        let text = error.unwrap_err().to_string();
        assert!(text.contains("exit status: 3") && text.contains("out\nerr"), "{text}");
    }
}
