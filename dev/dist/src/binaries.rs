//! The program for each target.

use std::path::PathBuf;

use anyhow::bail;

use xtask::cargo;

/// What a program is built for.
pub(super) struct Target {
    /// Its name in the names of files.
    pub(super) name: &'static str,
    /// Its name for rustc.
    pub(super) triple: &'static str,
    /// Whether it loads libraries: the OpenMP runtimes and libpfm4.
    pub(super) loads: bool,
}

/// Every target.
const TARGETS: &[Target] = &[
    Target { name: "x86_64-linux", triple: "x86_64-unknown-linux-gnu", loads: true },
    Target { name: "aarch64-linux", triple: "aarch64-unknown-linux-gnu", loads: true },
    Target { name: "x86_64-linux-musl", triple: "x86_64-unknown-linux-musl", loads: false },
];

/// Those that are built: quickly, this machine's.
pub(super) fn targets(quick: bool) -> impl Iterator<Item = &'static Target> {
    let ours = |target: &&Target| target.loads && target.name.starts_with(std::env::consts::ARCH);
    TARGETS.iter().filter(move |target| !quick || ours(target))
}

/// Builds the program, and says where it lies.
pub(super) fn build(target: &Target, quick: bool) -> anyhow::Result<PathBuf> {
    if !quick {
        bail!("not built yet: {}", target.triple);
    }
    let status = cargo::command("cargo build --release --locked").status()?;
    if !status.success() {
        bail!("cargo build failed: {status}");
    }
    Ok(cargo::root().join("target/release/cpudyno"))
}
