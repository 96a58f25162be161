//! The guest's first file system: an archive of the kind `newc`, written here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// What is in it: files and folders by path, with their mode.
#[derive(Default)]
pub(crate) struct Tree(BTreeMap<String, (u32, Vec<u8>)>);

const FOLDER: u32 = 0o040_755;
const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;

impl Tree {
    /// A folder, with those that it is in.
    pub(crate) fn folder(&mut self, path: &str) {
        for (end, _) in path.match_indices('/').chain([(path.len(), "")]) {
            self.0.entry(path[..end].to_owned()).or_insert((FOLDER, Vec::new()));
        }
    }

    pub(crate) fn file(&mut self, path: &str, content: impl Into<Vec<u8>>) {
        self.add(path, FILE, content.into());
    }

    /// A program, or a library.
    pub(crate) fn program(&mut self, path: &str, from: &Path) -> anyhow::Result<()> {
        let content =
            fs::read(from).with_context(|| format!("cannot read `{}`", from.display()))?;
        self.add(path, PROGRAM, content);
        Ok(())
    }

    pub(crate) fn script(&mut self, path: &str, content: &str) {
        self.add(path, PROGRAM, content.into());
    }

    fn add(&mut self, path: &str, mode: u32, content: Vec<u8>) {
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.folder(folder);
        }
        self.0.insert(path.to_owned(), (mode, content));
    }

    /// The archive.
    pub(crate) fn archive(&self) -> Vec<u8> {
        let mut archive = Vec::new();
        let entries =
            self.0.iter().map(|(path, (mode, content))| (path.as_str(), *mode, &**content));
        for (number, (path, mode, content)) in
            entries.chain([("TRAILER!!!", 0, &[][..])]).enumerate()
        {
            let links = if mode == FOLDER { 2 } else { 1 };
            // Inode, mode, owner, group, links, time, size, four of devices, length of the name, checksum.
            let name = path.len() + 1;
            let fields =
                [number, mode as usize, 0, 0, links, 0, content.len(), 0, 0, 0, 0, name, 0];
            archive.extend_from_slice(b"070701");
            for field in fields {
                archive.extend_from_slice(format!("{field:08x}").as_bytes());
            }
            archive.extend_from_slice(path.as_bytes());
            archive.push(0);
            pad(&mut archive);
            archive.extend_from_slice(content);
            pad(&mut archive);
        }
        archive
    }
}

/// To a multiple of four bytes.
fn pad(archive: &mut Vec<u8>) {
    archive.resize(archive.len().next_multiple_of(4), 0);
}

/// The kernel's modules, by name.
pub(crate) struct Modules(BTreeMap<String, PathBuf>);

impl Modules {
    /// All modules below a folder.
    pub(crate) fn below(folder: &Path) -> anyhow::Result<Self> {
        let mut found = BTreeMap::new();
        let mut folders = vec![folder.to_path_buf()];
        while let Some(folder) = folders.pop() {
            let entries = fs::read_dir(&folder)
                .with_context(|| format!("cannot list `{}`", folder.display()))?;
            for entry in entries {
                let path = entry?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                } else if let Some((name, _)) = name.split_once(".ko") {
                    found.insert(name.replace('-', "_"), path);
                }
            }
        }
        Ok(Self(found))
    }

    /// Names and contents of those that these need, and of these, each after what it needs. What is built into
    /// the kernel is no module, and left out.
    pub(crate) fn with_needs(&self, names: &[&str]) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
        let mut all = Vec::new();
        for name in names {
            self.add(name, &mut all)?;
        }
        Ok(all)
    }

    fn add(&self, name: &str, all: &mut Vec<(String, Vec<u8>)>) -> anyhow::Result<()> {
        let name = name.replace('-', "_");
        let Some(path) = self.0.get(&name).filter(|_| all.iter().all(|(other, _)| *other != name))
        else {
            return Ok(());
        };
        let module = module(path)?;
        for need in needs(&module) {
            self.add(&need, all)?;
        }
        all.push((name, module));
        Ok(())
    }
}

/// A module as the kernel takes it.
fn module(path: &Path) -> anyhow::Result<Vec<u8>> {
    let what = || format!("cannot read module `{}`", path.display());
    if path.extension().is_some_and(|end| end == "ko") {
        return fs::read(path).with_context(what);
    }
    let output =
        std::process::Command::new("xz").arg("-dc").arg(path).output().with_context(what)?;
    if !output.status.success() {
        bail!("{}: `xz -dc` failed", what());
    }
    Ok(output.stdout)
}

/// Which modules it says that it needs.
fn needs(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|bytes| bytes == KEY) else {
        return Vec::new();
    };
    let text = module[at + KEY.len()..].split(|&byte| byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    text.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_aligned_and_the_archive_ends() {
        let mut tree = Tree::default();
        tree.file("etc/passwd", "root");
        let archive = tree.archive();
        assert!(archive.len().is_multiple_of(4));
        let text = String::from_utf8_lossy(&archive);
        assert_eq!(text.matches("070701").count(), 3);
        assert!(text.find("etc\0").unwrap() < text.find("etc/passwd\0").unwrap());
        assert!(text.contains("TRAILER!!!"));
    }

    #[test]
    fn a_module_says_what_it_needs() {
        assert_eq!(needs(b"x\0depends=9pnet,fscache\0y"), ["9pnet", "fscache"]);
        assert!(needs(b"x\0depends=\0y").is_empty() && needs(b"").is_empty());
    }
}
