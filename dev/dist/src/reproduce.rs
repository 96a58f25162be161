//! The same release from another folder: its bytes are the same.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use xtask::cargo::{self, TOOLS};

use super::{DIST, WORK, tree};

/// Builds what is committed once more, in a clone, and compares what both made: whether all is the same.
pub(super) fn run(only: Option<&str>, all: bool, dist: &Path) -> anyhow::Result<bool> {
    let clone = cloned()?;
    let mut command = cargo::command("cargo run --quiet --locked --package dist --");
    command.args(only.into_iter().flat_map(|name| ["--only", name]));
    command.args(all.then_some("--all")).current_dir(&clone);
    for ours in ["CARGO_TARGET_DIR", "CARGO_MANIFEST_DIR"] {
        command.env_remove(ours);
    }
    cargo::done(&mut command, "the release once more")?;
    let different = different(dist, &clone.join(DIST))?;
    for name in &different {
        println!("{}: its bytes are others when it is built in another folder", name.display());
    }
    if different.is_empty() {
        println!("built in another folder, every file has the same bytes");
    }
    Ok(different.is_empty())
}

/// What is committed would not be what was built.
pub(super) fn all_is_committed() -> anyhow::Result<()> {
    let asked = cargo::command("git status --porcelain").output().context("cannot run git")?;
    let shown = String::from_utf8_lossy(&asked.stdout);
    let hint = "hint: a release is built of a commit; `--quick` builds what lies here";
    ensure!(
        asked.status.success(),
        "cannot see what is committed: {}\n{hint}",
        String::from_utf8_lossy(&asked.stderr).trim()
    );
    ensure!(
        shown.trim().is_empty(),
        "cannot build a release, because files are not committed:\n{shown}{hint}"
    );
    Ok(())
}

/// A clone that has the same tools, in a folder whose path has another length.
fn cloned() -> anyhow::Result<PathBuf> {
    let clone = cargo::root().join(WORK).join("in/another/folder");
    if clone.exists() {
        fs::remove_dir_all(&clone).with_context(|| format!("cannot clear {}", clone.display()))?;
    }
    let mut command = cargo::command("git clone --quiet --no-hardlinks .");
    command.arg(&clone);
    cargo::done(&mut command, "a clone")?;
    let tools = clone.join(TOOLS);
    fs::create_dir_all(tools.parent().unwrap_or(&clone)).context("cannot make target/")?;
    symlink(cargo::root().join(TOOLS), &tools).context("cannot link to the tools")?;
    Ok(clone)
}

/// The files of two folders that differ, or that one of them lacks.
fn different(one: &Path, other: &Path) -> anyhow::Result<BTreeSet<PathBuf>> {
    let names: BTreeSet<PathBuf> = tree::below(one)?.union(&tree::below(other)?).cloned().collect();
    let is_same = |name: &PathBuf| {
        let read = |folder: &Path| fs::read(folder.join(name)).ok();
        matches!((read(one), read(other)), (Some(one), Some(other)) if one == other)
    };
    Ok(names.into_iter().filter(|name| !is_same(name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_differ_or_are_missing_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        for folder in [&one, &other] {
            fs::create_dir_all(folder.join("in")).unwrap();
            fs::write(folder.join("same"), "a").unwrap();
        }
        assert!(different(&one, &other).unwrap().is_empty());
        fs::write(one.join("in/other"), "a").unwrap();
        fs::write(other.join("in/other"), "b").unwrap();
        fs::write(other.join("more"), "").unwrap();
        let names: Vec<_> = different(&one, &other).unwrap().into_iter().collect();
        assert_eq!(names, ["in/other", "more"].map(PathBuf::from));
    }
}
