//! Files of folders.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// The files of a folder, by name.
///
/// # Errors
/// If it cannot be read.
pub fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("no `{}`", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}

/// Copies a file, or a folder with all in it; rights are those of the file.
///
/// # Errors
/// If something cannot be read or written.
pub fn copied(from: &Path, to: &Path) -> anyhow::Result<()> {
    if from.is_dir() {
        for file in files(from)? {
            copied(&file, &to.join(file.file_name().unwrap_or_default()))?;
        }
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make `{}`", folder.display()))?;
    }
    fs::copy(from, to).with_context(|| format!("cannot copy `{}`", from.display()))?;
    Ok(())
}
