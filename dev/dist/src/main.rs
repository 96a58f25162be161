//! What a release offers: all of it is built into `dist/`, with sizes and hashes.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a developer's tool says there what it built")]

mod binaries;
mod sums;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;

use xtask::{EXIT_NO, cargo};

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
    let root = cargo::root();
    let dist = root.join(DIST);
    if dist.exists() {
        fs::remove_dir_all(&dist).context("cannot clear dist/")?;
    }
    fs::create_dir_all(&dist).context("cannot make dist/")?;
    let mut artefacts = Vec::new();
    for target in binaries::targets(args.quick) {
        let binary = binaries::build(target, args.quick)?;
        artefacts.extend(of_target(target, &binary, &dist)?);
    }
    let is_small = sums::write(&artefacts, &dist)?;
    Ok(if is_small { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NO) })
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
