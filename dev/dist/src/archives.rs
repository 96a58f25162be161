//! Archives whose bytes are the same each time: names in order, one moment, one owner.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

use xtask::files;

use super::binaries::Target;
use super::tree::{self, Tree};
use super::{VERSION, moment};

/// What an archive holds, by its path in it.
#[derive(Default)]
pub(super) struct Contents(BTreeMap<PathBuf, Content>);

/// A file, or a folder, which has no bytes.
struct Content {
    mode: u32,
    bytes: Option<Vec<u8>>,
}

impl Contents {
    /// Adds a folder.
    pub(super) fn add_folder(&mut self, path: &Path, mode: u32) {
        self.add_parents(path);
        self.0.insert(path.to_owned(), Content { mode, bytes: None });
    }

    /// Adds a file, or a folder with all in it.
    pub(super) fn add(&mut self, from: &Path, path: &Path) -> anyhow::Result<()> {
        if from.is_dir() {
            for file in files::files(from)? {
                self.add(&file, &path.join(file.file_name().unwrap_or_default()))?;
            }
            return Ok(());
        }
        let absent = || format!("no `{}`", from.display());
        let is_run = fs::metadata(from).with_context(absent)?.permissions().mode() & 0o100 != 0;
        let bytes = Some(fs::read(from).with_context(absent)?);
        self.add_parents(path);
        self.0.insert(path.to_owned(), Content { mode: if is_run { 0o755 } else { 0o644 }, bytes });
        Ok(())
    }

    /// Adds a file of these bytes.
    pub(super) fn add_bytes(&mut self, bytes: Vec<u8>, path: &Path) {
        self.add_parents(path);
        self.0.insert(path.to_owned(), Content { mode: 0o644, bytes: Some(bytes) });
    }

    fn add_parents(&mut self, path: &Path) {
        for folder in path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
            self.0.entry(folder.to_owned()).or_insert(Content { mode: 0o755, bytes: None });
        }
    }

    /// All of it as tar(5).
    pub(super) fn tar(&self) -> anyhow::Result<Vec<u8>> {
        let mut archive = tar::Builder::new(Vec::new());
        let moment = moment::seconds()?;
        for (path, content) in &self.0 {
            let mut header = tar::Header::new_gnu();
            header.set_mtime(moment);
            header.set_mode(content.mode);
            header.set_uid(0);
            header.set_gid(0);
            let kind = content
                .bytes
                .as_ref()
                .map_or(tar::EntryType::Directory, |_| tar::EntryType::Regular);
            header.set_entry_type(kind);
            let bytes = content.bytes.as_deref().unwrap_or_default();
            header.set_size(bytes.len() as u64);
            archive.append_data(&mut header, path, bytes)?;
        }
        Ok(archive.into_inner()?)
    }
}

/// Makes the archive of a target: one folder, with what others put below `/usr/local`, or use where it is.
///
/// Units of systemd are not in it: they name the program in `/usr/bin`.
pub(super) fn made(target: &Target, tree: &Tree, folder: &Path) -> anyhow::Result<PathBuf> {
    let name = format!("cpudyno-{VERSION}-{}", target.name);
    let top = Path::new(&name);
    let mut contents = Contents::default();
    contents.add(&tree.common.join("usr/bin"), &top.join("bin"))?;
    contents.add(&tree.common.join("usr/share"), &top.join("share"))?;
    contents.add(&tree.others.join("usr/share"), &top.join("share"))?;
    contents.add(&tree.others.join(tree::LICENCES), top)?;
    contents
        .add(&tree.common.join(tree::DOCUMENTATION).join("README.md"), &top.join("README.md"))?;
    let file = folder.join(format!("{name}.tar.gz"));
    tree::written(&file, &tree::gzipped(&contents.tar()?)?)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_holds_its_files_in_order_after_their_folders() {
        let mut contents = Contents::default();
        contents.add_bytes(b"two".to_vec(), Path::new("top/b/two"));
        contents.add_bytes(b"one".to_vec(), Path::new("top/a"));
        contents.add_folder(Path::new("top/c"), 0o1777);
        let bytes = contents.tar().unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let entries = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            let header = entry.header();
            (
                entry.path().unwrap().display().to_string(),
                header.mode().unwrap(),
                header.uid().unwrap(),
            )
        });
        let expected = [
            ("top", 0o755),
            ("top/a", 0o644),
            ("top/b", 0o755),
            ("top/b/two", 0o644),
            ("top/c", 0o1777),
        ];
        let expected = expected.map(|(path, mode)| (path.to_owned(), mode, 0));
        assert_eq!(entries.collect::<Vec<_>>(), expected);
        assert_eq!(bytes, contents.tar().unwrap());
    }
}
