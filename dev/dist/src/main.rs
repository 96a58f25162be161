//! What a release offers: all of it is built into `dist/`, with sizes and hashes.

#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool says there what it built, and what it lacks"
)]

mod archives;
mod binaries;
mod debian;
mod elf;
mod image;
mod inspected;
mod moment;
mod needs;
mod packages;
mod proofs;
mod recipes;
mod repeatable;
mod reproduce;
mod site;
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

use binaries::{Extent, Target};
use packages::Form;
use tree::Tree;

/// Where everything is put, from the root.
const DIST: &str = "dist";

/// Where a quick build is put: it is nothing to be released, and leaves alone what is.
const QUICK: &str = "target/dist-quick";

/// Where it is made, from the root: a folder for each target in it.
const WORK: &str = "target/dist-work";

/// What is released.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Which of its packages.
const RELEASE: &str = "1";

/// Who makes packages. Forms of packages ask for an address; RFC 2606 keeps this one from being anybody's.
const MAINTAINER: &str = "The cpudyno authors <nobody@cpudyno.invalid>";

#[derive(Parser)]
#[command(name = "dist", bin_name = "cargo xtask dist")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
struct Args {
    /// Only for this machine's architecture, of what `cargo build --release` builds: packages are made and tested in
    /// minutes
    #[arg(long)]
    quick: bool,
    /// Also build the static program for AArch64, and the image for it
    #[arg(long, conflicts_with = "quick")]
    all: bool,
    /// Build for one target only, such as `x86_64-linux-musl`
    #[arg(long, value_name = "TARGET")]
    only: Option<String>,
    /// Install what is missing first (rustup, pip, cargo, apt-get)
    #[arg(long)]
    install: bool,
    /// Build what is committed once more, in a clone, and compare every byte
    #[arg(long, conflicts_with = "quick")]
    reproduce: bool,
    /// Also prove that what was built can be installed, runs and leaves nothing behind
    #[arg(long)]
    test: bool,
}

/// A file that users install.
struct Artefact {
    /// Where it lies.
    path: PathBuf,
    /// The most bytes that it may have, where that is promised.
    most_bytes: Option<u64>,
}

/// What was made for a target.
struct Made {
    target: &'static Target,
    tree: Tree,
    /// Packages, of a program that loads libraries: systems that have packages have them.
    packages: Vec<(Form, PathBuf)>,
    archive: PathBuf,
}

fn main() -> ExitCode {
    xtask::ended(run(&Args::parse()))
}

fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(missing) = needs::missing(args.quick, args.test, args.install)? {
        eprintln!("error: {missing}");
        return Ok(ExitCode::from(EXIT_CANNOT));
    }
    if !args.quick {
        reproduce::all_is_committed()?;
    }
    let extent = match (args.quick, args.all) {
        (true, _) => Extent::Quick,
        (_, true) => Extent::All,
        _ => Extent::Usual,
    };
    let targets = binaries::targets(extent, args.only.as_deref())?;
    let ours = targets.iter().position(|target| target.runs_here());
    let ours = ours.context("cannot write manual pages: no program of this machine is built")?;
    let dist = cargo::root().join(if args.quick { QUICK } else { DIST });
    if dist.exists() {
        fs::remove_dir_all(&dist).context("cannot clear dist/")?;
    }
    fs::create_dir_all(&dist).context("cannot make dist/")?;
    let programs = binaries::built(&targets, args.quick)?;
    let work = cargo::root().join(WORK);
    let pages = tree::pages(&programs[ours], &work)?;
    let supplied = if args.quick { Vec::new() } else { supply::written(&programs[ours], &dist)? };
    let beside = tree::Beside {
        pages,
        licences: supplied.iter().find(|path| path.ends_with(supply::LICENCES)).cloned(),
    };
    let mut offered = Vec::new();
    for (target, program) in targets.iter().zip(&programs) {
        let tree = tree::grown(program, &beside, &work.join(target.name))?;
        offered.push(of_target(target, tree, &dist)?);
    }
    let image = image_of(&offered, &dist)?;
    let mut artefacts = artefacts(&offered, &image);
    artefacts.extend(supplied.into_iter().map(|path| Artefact { path, most_bytes: None }));
    if !args.quick {
        let path = site::archive(&programs[ours], &dist)?;
        artefacts.push(Artefact { path, most_bytes: None });
    }
    artefacts.extend(sources_and_wheels(&targets, &offered[ours].tree, args.quick, &dist)?);
    let is_small = sums::write(&artefacts, &dist)?;
    let is_same = !args.reproduce || reproduce::run(args.only.as_deref(), args.all, &dist)?;
    let ground = proofs::Ground { offered, image, beside, work, quick: args.quick };
    let is_proved = !args.test || proofs::run(&ground);
    let is_good = is_small && is_same && is_proved;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NO) })
}

/// What one target's tree becomes.
fn of_target(target: &'static Target, tree: Tree, folder: &Path) -> anyhow::Result<Made> {
    let mut packages = Vec::new();
    for form in [Form::Deb, Form::Rpm].into_iter().filter(|_| target.loads) {
        packages.push((form, packages::made(form, target, &tree, folder)?));
    }
    let archive = archives::made(target, &tree, folder)?;
    Ok(Made { target, tree, packages, archive })
}

/// The image: of static programs; where none was built, of this machine's, whose libraries are here.
fn image_of(offered: &[Made], folder: &Path) -> anyhow::Result<PathBuf> {
    let any_static = offered.iter().any(|made| !made.target.loads);
    let is_wanted = |target: &Target| if any_static { !target.loads } else { target.runs_here() };
    let wanted = offered.iter().filter(|made| is_wanted(made.target));
    image::made(&wanted.map(|made| (made.target, &made.tree)).collect::<Vec<_>>(), folder)
}

/// What is of no target's tree.
fn sources_and_wheels(
    targets: &[&'static Target],
    tree: &Tree,
    quick: bool,
    dist: &Path,
) -> anyhow::Result<Vec<Artefact>> {
    let offered = |path| Artefact { path, most_bytes: None };
    let source = source::archive(dist)?;
    let mut artefacts = recipes::written(&source, dist)?;
    artefacts.push(offered(source));
    if !quick {
        let wheel = |path| Artefact { path, most_bytes: Some(maturin::MOST_BYTES) };
        let share = wheels::share(tree)?;
        artefacts.extend(wheels::built(targets, &share, dist)?.into_iter().map(wheel));
    }
    Ok(artefacts)
}

/// Packages, archives and the image.
fn artefacts(offered: &[Made], image: &Path) -> Vec<Artefact> {
    let packages = offered.iter().flat_map(|made| made.packages.iter().map(|(_, path)| path));
    let all = packages.chain(offered.iter().map(|made| &made.archive));
    let mut all: Vec<_> =
        all.map(|path| Artefact { path: path.clone(), most_bytes: None }).collect();
    all.push(Artefact { path: image.to_owned(), most_bytes: Some(image::MOST_BYTES) });
    all
}
