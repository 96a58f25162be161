//! The wheel of the Python package, with the command in it; and its test in a fresh environment.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};
use clap::Args;

use xtask::{EXIT_NO, cargo};

/// The package, from the root.
const PACKAGE: &str = "crates/python";

/// Where wheels are put, from the root.
const DIST: &str = "dist";

/// Where the test's environment and its wheel are, from the root.
const TEST: &str = "target/python";

/// What tests of Python are run with, from the root: see `needs`.
const TOOLS: [&str; 3] = ["target/tools/pytest", "target/tools/mypy", "target/tools/basedpyright"];

/// The profile of what is shipped, and its largest wheel in bytes; others are larger.
const SHIPPED: (&str, u64) = ("dist", 12_000_000);

/// What keeps it below that: code of fleets that is optimised for size here, too.
const SMALLER: [&str; 2] = ["--config", "profile.dist.package.cpudyno-fleet.opt-level=\"s\""];

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
    let (shipped, most) = SHIPPED;
    if args.profile == shipped && size > most {
        println!("that is more than the {} MB that are promised", most / 1_000_000);
        return Ok(ExitCode::from(EXIT_NO));
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds the command and puts it into the wheel.
fn built(profile: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let root = cargo::root();
    let line = match profile {
        // Without Parquet, which makes it larger than what is promised: Python has writers of its own.
        profile if profile == SHIPPED.0 => {
            "cargo build --locked --package cpudyno --no-default-features --features command --profile"
        }
        // Both at once: their features are those of the whole workspace, which is built already.
        _ => "cargo build --locked --package cpudyno --package cpudyno-python --profile",
    };
    done(cargo::command(line).arg(profile).args(SMALLER))?;
    let scripts = root.join(PACKAGE).join("cpudyno.data/scripts");
    fs::create_dir_all(&scripts).context("cannot make a folder for the command")?;
    let output = if profile == "dev" { "debug" } else { profile };
    let program = target(&root).join(output).join("cpudyno");
    fs::copy(&program, scripts.join("cpudyno"))
        .with_context(|| format!("cannot copy `{}`", program.display()))?;
    if folder.exists() {
        for old in wheels(folder)? {
            fs::remove_file(old).context("cannot remove an earlier wheel")?;
        }
    }
    let line = format!(
        "maturin build --locked --compression-level 9 --manifest-path {PACKAGE}/Cargo.toml --profile"
    );
    done(cargo::command(&line).arg(profile).args(SMALLER).arg("--out").arg(folder))?;
    wheels(folder)?.pop().context("maturin made no wheel")
}

/// Installs the wheel where nothing else is, and runs the tests.
fn tested(wheel: &Path, folder: &Path) -> anyhow::Result<ExitCode> {
    let root = cargo::root();
    let home = folder.join("venv");
    done(cargo::command("python3 -m venv --clear").arg(&home))?;
    let python = home.join("bin/python");
    let install = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps"];
    done(Command::new(&python).args(install).arg(wheel))?;
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

fn wheels(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("no `{}`", folder.display()))?;
    let mut files: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|end| end == "whl"));
    Ok(files)
}

fn done(command: &mut Command) -> anyhow::Result<()> {
    let line = format!("{command:?}");
    let status = command.status().with_context(|| format!("cannot run {line}"))?;
    if !status.success() {
        bail!(
            "{line} failed ({status})\nhint: `cargo xtask check --install` installs what it needs"
        );
    }
    Ok(())
}
