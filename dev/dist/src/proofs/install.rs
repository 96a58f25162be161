//! Of packages: what linters say, and what is left of them where they were installed and removed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use xtask::cargo;

use super::super::packages::Form;
use super::super::tree;
use super::{Ground, said, script};

/// Clean roots of Debian, from the root: they are made once.
const ROOTS: &str = "target/dist-roots";

/// The oldest Debian that mirrors serve: what is released runs there.
const OLDEST: &str = "bullseye";

/// Installs, runs and purges: `ROOT PACKAGE WORK`.
const DEB: &str = include_str!("../../scripts/deb.sh");

/// Installs, verifies and erases: `PACKAGE WORK`.
const RPM: &str = include_str!("../../scripts/rpm.sh");

pub(super) fn linted(ground: &Ground, form: Form) -> anyhow::Result<()> {
    let packages = ground.offered.iter().flat_map(|made| &made.packages);
    for (_, package) in packages.filter(|(known, _)| *known == form) {
        let said = match form {
            Form::Deb => {
                said(cargo::command("lintian --allow-root --fail-on error,warning").arg(package))
            }
            Form::Rpm => rpmlint(package),
        };
        said.with_context(|| package.display().to_string())?;
    }
    Ok(())
}

/// It fails for errors; its last line counts warnings, too.
fn rpmlint(package: &Path) -> anyhow::Result<String> {
    let text = said(cargo::command("rpmlint --config packaging/rpmlint.toml").arg(package))?;
    if !text.contains(" 0 errors, 0 warnings") {
        bail!("rpmlint: {text}");
    }
    Ok(text)
}

pub(super) fn deb(ground: &Ground) -> anyhow::Result<()> {
    let suite = if ground.quick { this_system()? } else { OLDEST.to_owned() };
    let root = debian(&suite)?;
    let room = tree::cleared(&ground.work.join("room"))?;
    let mut installed = script(DEB)?;
    let printed = said(installed.arg(root).arg(ground.package(Form::Deb)?).arg(room))?;
    let ours = ground.ours()?;
    all_there(&printed, &[&ours.tree.common, &ours.tree.debian])
}

pub(super) fn rpm(ground: &Ground) -> anyhow::Result<()> {
    let room = tree::cleared(&ground.work.join("room"))?;
    let printed = said(script(RPM)?.arg(ground.package(Form::Rpm)?).arg(room))?;
    let ours = ground.ours()?;
    all_there(&printed, &[&ours.tree.common, &ours.tree.others])
}

/// Whether lines that begin with `/` are all files of these trees, and no others: pages of the manual, too.
fn all_there(printed: &str, trees: &[&PathBuf]) -> anyhow::Result<()> {
    let installed: BTreeSet<PathBuf> =
        printed.lines().filter(|line| line.starts_with('/')).map(PathBuf::from).collect();
    let mut wanted = BTreeSet::new();
    for tree in trees {
        wanted.extend(tree::below(tree)?.into_iter().map(|file| Path::new("/").join(file)));
    }
    if let Some(file) = wanted.symmetric_difference(&installed).next() {
        bail!("`{}` is not where the tree has it", file.display());
    }
    Ok(())
}

/// The Debian that this machine runs: what is linked here runs there.
fn this_system() -> anyhow::Result<String> {
    let text = fs::read_to_string("/etc/os-release").context("no /etc/os-release")?;
    let name = text.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    Ok(name.context("/etc/os-release names no VERSION_CODENAME")?.trim_matches('"').to_owned())
}

/// A clean root of Debian, which is made if it is not there.
fn debian(suite: &str) -> anyhow::Result<PathBuf> {
    let roots = cargo::root().join(ROOTS);
    let (root, making) = (roots.join(suite), roots.join(format!("{suite}.making")));
    if root.exists() {
        return Ok(root);
    }
    fs::create_dir_all(&roots).context("cannot make a folder for clean roots")?;
    let text = "rm -rf \"$3\"; debootstrap --variant=minbase \"$1\" \"$3\" && mv \"$3\" \"$2\"";
    let mut bootstrap = script(text)?;
    said(bootstrap.arg(suite).arg(&root).arg(&making))
        .with_context(|| format!("debootstrap made no root of Debian's {suite}"))?;
    Ok(root)
}
