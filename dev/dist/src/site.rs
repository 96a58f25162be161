//! The documentation site, packed.

use std::path::{Path, PathBuf};

use xtask::cargo;

use super::archives::Contents;
use super::{VERSION, moment, tree};

/// Builds it with the help of a program, and packs it into a folder.
pub(super) fn archive(program: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let mut site = cargo::command("cargo run --quiet --locked --package xtask -- site --program");
    site.arg(program).env(moment::VARIABLE, moment::seconds()?.to_string());
    cargo::done(&mut site, "the documentation site")?;
    let name = format!("cpudyno-{VERSION}-site");
    let mut contents = Contents::default();
    contents.add(&cargo::root().join("target/site/book"), Path::new(&name))?;
    let file = folder.join(format!("{name}.tar.gz"));
    tree::written(&file, &tree::gzipped(&contents.tar()?)?)?;
    Ok(file)
}
