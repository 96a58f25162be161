//! Of files as they lie in trees and archives: pages, units, archives, the same bytes again.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use xtask::files;

use super::super::tree;
use super::super::{image_of, of_target};
use super::{Ground, said};

/// The width of the terminal that pages are drawn for.
const WIDTH: &str = "80";

pub(super) fn manual(ground: &Ground) -> anyhow::Result<()> {
    let pages = files::files(&ground.ours()?.tree.common.join("usr/share/man/man1"))?;
    for page in &pages {
        let mut man = Command::new("man");
        man.args(["--warnings", "-l"]).arg(page).env("MANWIDTH", WIDTH).env("LC_ALL", "C.UTF-8");
        let drawn = man.output().context("cannot run man")?;
        let warnings = String::from_utf8_lossy(&drawn.stderr);
        if !drawn.status.success() || !warnings.is_empty() || drawn.stdout.is_empty() {
            bail!("man does not draw `{}`: {warnings}", page.display());
        }
    }
    if pages.is_empty() {
        bail!("there are no pages");
    }
    Ok(())
}

pub(super) fn units(ground: &Ground) -> anyhow::Result<()> {
    let tree = &ground.ours()?.tree.common;
    let program = tree.join("usr/bin/cpudyno");
    let folder = tree::cleared(&ground.work.join("units"))?;
    let mut all = Vec::new();
    for unit in files::files(&tree.join(tree::UNITS))? {
        let text = fs::read_to_string(&unit)?;
        // Programs are looked for on this machine, where ours is not installed.
        let here = text.replace("/usr/bin/cpudyno", &program.display().to_string());
        let place = folder.join(unit.file_name().unwrap_or_default());
        tree::written(&place, here.as_bytes())?;
        all.push(place);
    }
    // Beside ours it knows this machine's, of which there are the targets.
    let path = format!("{}:", folder.display());
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no", "--recursive-errors=no"]).args(&all);
    let verified =
        verify.env("SYSTEMD_UNIT_PATH", path).output().context("cannot run systemd-analyze")?;
    let remarks = String::from_utf8_lossy(&verified.stderr);
    if !verified.status.success() || !remarks.trim().is_empty() || all.is_empty() {
        bail!("systemd-analyze verify says: {remarks}");
    }
    Ok(())
}

pub(super) fn archive(ground: &Ground) -> anyhow::Result<()> {
    for made in &ground.offered {
        let folder = tree::cleared(&ground.work.join("unpacked"))?;
        said(Command::new("tar").arg("-xzf").arg(&made.archive).arg("-C").arg(&folder))?;
        let [top] = files::files(&folder)?.try_into().ok().context("an archive has one folder")?;
        for wanted in ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "share/man/man1/cpudyno.1.gz"]
        {
            let file: &Path = &top.join(wanted);
            fs::metadata(file).with_context(|| format!("{}: no {wanted}", made.target.name))?;
        }
        if made.target.runs_here() {
            let version = said(Command::new(top.join("bin/cpudyno")).arg("--version"))?;
            if !version.contains(super::super::VERSION) {
                bail!("{}: the program says `{version}`", made.target.name);
            }
        }
    }
    Ok(())
}

pub(super) fn repeated(ground: &Ground) -> anyhow::Result<()> {
    let folder = tree::cleared(&ground.work.join("again"))?;
    let mut again = Vec::new();
    for made in &ground.offered {
        let program = made.tree.common.join("usr/bin/cpudyno");
        let tree = tree::grown(&program, &ground.beside, &folder.join(made.target.name))?;
        again.push(of_target(made.target, tree, &folder)?);
    }
    let image = image_of(&again, &folder)?;
    for artefact in super::super::artefacts(&again, &image) {
        let name = artefact.path.file_name().unwrap_or_default();
        let first = ground.image.with_file_name(name);
        if fs::read(&first)? != fs::read(&artefact.path)? {
            bail!("`{}` and `{}` differ", first.display(), artefact.path.display());
        }
    }
    Ok(())
}
