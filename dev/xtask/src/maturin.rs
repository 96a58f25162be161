//! How the wheel of the Python package is packed, with the command in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::cargo;
use crate::files::{copied, files};

/// The package, from the root.
pub const PACKAGE: &str = "crates/python";

/// The largest wheel that is shipped, in bytes.
pub const MOST_BYTES: u64 = 12_500_000;

/// The command that is shipped in it, for cargo: without Parquet, of which Python has writers of its own.
pub const COMMAND: [&str; 3] = ["--no-default-features", "--features", "command"];

/// Packs a program, what of its `share/` there is, and what maturin builds, into a folder of wheels; those that were
/// there are removed.
pub fn packed(
    program: &Path,
    share: Option<&Path>,
    mut maturin: Command,
    folder: &Path,
) -> anyhow::Result<PathBuf> {
    let data = cargo::root().join(PACKAGE).join("cpudyno.data");
    if data.exists() {
        fs::remove_dir_all(&data).context("cannot clear what goes with the package")?;
    }
    copied(program, &data.join("scripts/cpudyno"))?;
    if let Some(share) = share {
        copied(share, &data.join("data/share"))?;
    }
    if folder.exists() {
        for old in wheels(folder)? {
            fs::remove_file(old).context("cannot remove an earlier wheel")?;
        }
    }
    cargo::done(maturin.arg("--out").arg(folder), "the wheel")?;
    wheels(folder)?.pop().context("maturin made no wheel")
}

/// What builds the wheel, in words.
pub fn line() -> String {
    format!("maturin build --locked --compression-level 9 --manifest-path {PACKAGE}/Cargo.toml")
}

/// The wheels in a folder.
fn wheels(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = files(folder)?;
    files.retain(|file| file.extension().is_some_and(|end| end == "whl"));
    Ok(files)
}
