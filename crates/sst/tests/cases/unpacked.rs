//! Recordings of pepc, unpacked as users would.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::archive;

const MACHINES: &str = "machines-pepc";
const DECODED: &str = "sst";

/// A recording below a folder, which is removed with it.
pub(crate) struct Unpacked {
    folder: TempDir,
    name: &'static str,
}

/// Whether the recordings are here, and what another decoder makes of their registers.
pub(crate) fn are_here() -> bool {
    archive::folder(MACHINES).is_some() && archive::folder(DECODED).is_some()
}

/// What another decoder makes of the registers of Speed Select.
pub(crate) fn decoded(name: &str) -> serde_json::Value {
    let text = archive::text(&archive::path(DECODED, &format!("{name}.sst.json")));
    serde_json::from_str(&text).expect("it is JSON")
}

impl Unpacked {
    pub(crate) fn of(name: &'static str) -> Unpacked {
        let folder = tempfile::tempdir().expect("there is room for a recording");
        for (path, text) in archive::files(&archive::path(MACHINES, &format!("{name}.tar.xz"))) {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("it has a folder")).expect("there is room");
            fs::write(path, text).expect("there is room for a file");
        }
        Unpacked { folder, name }
    }

    /// The root of its files.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join(self.name)
    }
}
