//! The wheel of the Python package, with the command in it; and its test in a fresh environment.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context;
use clap::Args;

use xtask::maturin::{self, COMMAND, MOST_BYTES, PACKAGE};
use xtask::{EXIT_NO, cargo};

/// Where wheels are put, from the root.
const DIST: &str = "dist";

/// Where the test's environment and its wheel are, from the root.
const TEST: &str = "target/python";

/// What tests of Python are run with, from the root: see `needs`.
const TOOLS: [&str; 3] = ["target/tools/pytest", "target/tools/mypy", "target/tools/basedpyright"];

/// The profile of what is shipped; wheels of others are larger than what is promised.
const SHIPPED: &str = "dist";

#[derive(Args)]
pub(crate) struct WheelArgs {
    /// Build with this profile of cargo: `dist` is smaller and takes longer
    #[arg(long, default_value = "release")]
    profile: String,
    /// Install it into a fresh environment, and run the tests of the package there
    #[arg(long)]
    test: bool,
}

pub(crate) fn run(args: &WheelArgs) -> anyhow::Result<ExitCode> {
    let folder = cargo::root().join(if args.test { TEST } else { DIST });
    let wheel = built(&args.profile, &folder)?;
    let size = fs::metadata(&wheel).context("cannot read the wheel")?.len();
    println!("{}: {:.1} MB", wheel.display(), size as f64 / 1e6);
    if args.test {
        return tested(&wheel, &folder);
    }
    if args.profile == SHIPPED && size > MOST_BYTES {
        println!("that is more than the {} MB that are promised", MOST_BYTES / 1_000_000);
        return Ok(ExitCode::from(EXIT_NO));
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds the command and puts it into the wheel.
fn built(profile: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let root = cargo::root();
    let mut command = cargo::command("cargo build --locked --package cpudyno");
    if profile == SHIPPED {
        command.args(COMMAND);
    } else {
        // Both at once: their features are those of the whole workspace, which is built already.
        command.args(["--package", "cpudyno-python"]);
    }
    cargo::done(command.args(["--profile", profile]), "the command")?;
    let output = if profile == "dev" { "debug" } else { profile };
    let program = target(&root).join(output).join("cpudyno");
    let mut command = cargo::command(&maturin::line());
    command.args(["--profile", profile]);
    maturin::packed(&program, None, command, folder)
}

/// Installs the wheel where nothing else is, and runs the tests.
fn tested(wheel: &Path, folder: &Path) -> anyhow::Result<ExitCode> {
    let root = cargo::root();
    let home = folder.join("venv");
    cargo::done(cargo::command("python3 -m venv --clear").arg(&home), "a fresh environment")?;
    let python = home.join("bin/python");
    let install = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps"];
    cargo::done(Command::new(&python).args(install).arg(wheel), "an installed wheel")?;
    let tools = TOOLS.map(|tools| root.join(tools));
    let status = Command::new(&python)
        .args(["-m", "pytest", "-q", "-rs"])
        .current_dir(root.join(PACKAGE))
        .env("PYTHONPATH", std::env::join_paths(&tools)?)
        .env("PATH", search_path(&home.join("bin"), &root)?)
        .status()
        .context("cannot run pytest")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NO) })
}

/// First the environment, then the type checker.
fn search_path(environment: &Path, root: &Path) -> anyhow::Result<OsString> {
    let pyright = root.join("target/tools/basedpyright/bin");
    let users = std::env::var_os("PATH").unwrap_or_default();
    let all = [environment.to_owned(), pyright].into_iter().chain(std::env::split_paths(&users));
    std::env::join_paths(all).context("PATH has a folder with a colon")
}

/// Where cargo builds.
fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}
