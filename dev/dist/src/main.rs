//! What a release offers: all of it is built into `dist/`, with sizes and hashes.

#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool says there what it built, and what it lacks"
)]

mod binaries;
mod elf;
mod inspected;
mod moment;
mod needs;
mod repeatable;
mod reproduce;
mod source;
mod sums;
mod supply;
mod tree;
mod wheels;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;

use xtask::{EXIT_CANNOT, EXIT_NO, cargo, maturin};

/// Where everything is put, from the root.
const DIST: &str = "dist";

/// Where it is made, from the root: a folder for each target in it.
const WORK: &str = "target/dist-work";

#[derive(Parser)]
#[command(name = "dist", bin_name = "cargo xtask dist")]
struct Args {
    /// Only for this machine's architecture, of what `cargo build --release` builds: packages are made and tested in
    /// minutes
    #[arg(long)]
    quick: bool,
    /// Build for one target only, such as `x86_64-linux-musl`
    #[arg(long, value_name = "TARGET")]
    only: Option<String>,
    /// Install what is missing first (rustup, pip, cargo, apt-get)
    #[arg(long)]
    install: bool,
    /// Build what is committed once more, in a clone, and compare every byte
    #[arg(long, conflicts_with = "quick")]
    reproduce: bool,
}

/// A file that users install.
struct Artefact {
    /// Where it lies.
    path: PathBuf,
    /// The most bytes that it may have, where that is promised.
    most_bytes: Option<u64>,
}

fn main() -> ExitCode {
    xtask::ended(run(&Args::parse()))
}

fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let missing = if args.quick { None } else { needs::missing(args.install)? };
    if let Some(missing) = missing {
        eprintln!("error: {missing}");
        return Ok(ExitCode::from(EXIT_CANNOT));
    }
    if args.reproduce {
        reproduce::all_is_committed()?;
    }
    let dist = cargo::root().join(DIST);
    if dist.exists() {
        fs::remove_dir_all(&dist).context("cannot clear dist/")?;
    }
    fs::create_dir_all(&dist).context("cannot make dist/")?;
    let targets = binaries::targets(args.quick, args.only.as_deref())?;
    let programs = binaries::built(&targets, args.quick)?;
    let mut artefacts = Vec::new();
    for (target, binary) in targets.iter().zip(&programs) {
        artefacts.extend(of_target(target, binary, &dist)?);
    }
    let offered = |path| Artefact { path, most_bytes: None };
    artefacts.push(offered(source::archive(&dist)?));
    if !args.quick {
        artefacts.extend(supply::written(&dist)?.into_iter().map(offered));
        let wheel = |path| Artefact { path, most_bytes: Some(maturin::MOST_BYTES) };
        artefacts.extend(wheels::built(&targets, &dist)?.into_iter().map(wheel));
    }
    let is_small = sums::write(&artefacts, &dist)?;
    let is_same = !args.reproduce || reproduce::run(args.only.as_deref(), &dist)?;
    Ok(if is_small && is_same { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NO) })
}

/// What one target's binary becomes.
fn of_target(
    target: &binaries::Target,
    binary: &Path,
    _dist: &Path,
) -> anyhow::Result<Vec<Artefact>> {
    let _tree = tree::grown(target, binary, &cargo::root().join(WORK).join(target.name))?;
    Ok(Vec::new())
}
