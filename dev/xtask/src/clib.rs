//! The library for C as it is installed: header, shared library under its names, and what pkg-config reads.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};

use xtask::cargo;

/// What the loader looks for, and what the linker does.
const NAMES: [&str; 2] = ["libcpudyno.so.0", "libcpudyno.so"];

/// Builds it and puts it into a folder: `include/`, `lib/`, `lib/pkgconfig/`.
pub(crate) fn run(folder: &Path, profile: &str) -> anyhow::Result<ExitCode> {
    // The library alone: beside one for Rust it would not be optimised as a whole.
    let line = format!(
        "cargo rustc --quiet --locked --package cpudyno-capi --lib --crate-type cdylib --profile {profile}"
    );
    let status = cargo::command(&line).status().with_context(|| format!("cannot run `{line}`"))?;
    if !status.success() {
        bail!("cannot build the library: `{line}` failed ({status})");
    }
    let built = target().join(if profile == "dev" { "debug" } else { profile });
    let (headers, libraries) = (folder.join("include"), folder.join("lib"));
    for needed in [&headers, &libraries.join("pkgconfig")] {
        fs::create_dir_all(needed).with_context(|| format!("cannot make {}", needed.display()))?;
    }
    let header = cargo::root().join("crates/capi/include/cpudyno.h");
    copy(&header, &headers.join("cpudyno.h"))?;
    let [loaded, linked] = NAMES.map(|name| libraries.join(name));
    // Programs that run with the old one keep it.
    for old in [&loaded, &linked].into_iter().filter(|path| path.is_symlink() || path.exists()) {
        fs::remove_file(old).with_context(|| format!("cannot replace {}", old.display()))?;
    }
    copy(&built.join("libcpudyno_c.so"), &loaded)?;
    symlink(NAMES[0], &linked).with_context(|| format!("cannot make {}", linked.display()))?;
    let file = libraries.join("pkgconfig/cpudyno.pc");
    fs::write(&file, PKG_CONFIG).with_context(|| format!("cannot write {}", file.display()))?;
    println!("{}: cc program.c $(pkg-config --cflags --libs cpudyno)", folder.display());
    Ok(ExitCode::SUCCESS)
}

/// A prefix is where its files lie.
const PKG_CONFIG: &str = concat!(
    "prefix=${pcfiledir}/../..\n\n",
    "Name: cpudyno\n",
    "Description: a dynamometer for CPUs\n",
    "Version: ",
    env!("CARGO_PKG_VERSION"),
    "\nCflags: -I${prefix}/include\n",
    "Libs: -L${prefix}/lib -lcpudyno\n",
);

fn target() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    cargo::root().join(named.unwrap_or_else(|| "target".into()))
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::copy(from, to)
        .map(drop)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}
