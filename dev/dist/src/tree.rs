//! The files of an installed system: packages, archives and images all hold this tree.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::binaries::Target;

/// Makes the tree in a folder, as it lies in `/` of a system that it is installed on.
pub(super) fn grown(_target: &Target, binary: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let tree = folder.join("tree");
    fs::create_dir_all(tree.join("usr/bin")).context("cannot make a tree")?;
    fs::copy(binary, tree.join("usr/bin/cpudyno")).context("cannot copy the program")?;
    Ok(tree)
}
