//! The archive of the source: what is committed, in bytes that depend on nothing else.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, ensure};

use xtask::cargo;

use super::tree;

/// The folder in the archive, and the beginning of its name.
const NAME: &str = concat!("cpudyno-", env!("CARGO_PKG_VERSION"));

/// Writes it into a folder.
pub(super) fn archive(folder: &Path) -> anyhow::Result<PathBuf> {
    let line = format!("git -c tar.umask=0022 archive --format=tar --prefix={NAME}/ HEAD");
    let packed = cargo::command(&line).stderr(Stdio::inherit()).output();
    let packed = packed.context("cannot run git")?;
    ensure!(packed.status.success(), "cannot pack the source: `{line}` failed ({})", packed.status);
    let path = folder.join(format!("{NAME}.tar.gz"));
    // git's own packing depends on the gzip that is installed.
    tree::written(&path, &tree::gzipped(&packed.stdout)?)?;
    Ok(path)
}

/// Unpacks what is committed into a folder below this one, and says which.
pub(super) fn unpacked(folder: &Path) -> anyhow::Result<PathBuf> {
    let path = folder.join(NAME);
    if path.exists() {
        fs::remove_dir_all(&path).with_context(|| format!("cannot clear `{}`", path.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    let archive = archive(folder)?;
    let file = File::open(&archive).with_context(|| format!("no `{}`", archive.display()))?;
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(file));
    tar.unpack(folder).with_context(|| format!("cannot unpack `{}`", archive.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_is_packed_into_the_same_bytes_and_unpacks_to_a_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let root = unpacked(folder.path()).unwrap();
        let first = fs::read(archive(folder.path()).unwrap()).unwrap();
        assert_eq!(first, fs::read(archive(folder.path()).unwrap()).unwrap());
        // No flags, and no time: RFC 1952, 2.3.
        assert_eq!(first[..8], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
        assert!(root.join("Cargo.lock").is_file() && !root.join("target").exists());
    }
}
