//! Packs: records of many machines as two tables of Parquet, which are kept when records go, and which other engines
//! read.
//!
//! A pack is a folder: `results/month=2026-11/000001.parquet` and `facts/` alike. Each time something is packed, each
//! month gets one more file of each, under the same number; none is ever changed. A survey of a pack finds what one of
//! the records finds. `docs/guide/fleet.md` has questions to ask it.

#[cfg(feature = "parquet")]
mod coded;
#[cfg(feature = "parquet")]
mod ledger;
#[cfg(feature = "parquet")]
mod read;
#[cfg(feature = "parquet")]
mod schema;
#[cfg(all(test, feature = "parquet"))]
mod tests;
#[cfg(not(feature = "parquet"))]
mod without;
#[cfg(feature = "parquet")]
mod write;

use std::path::{Path, PathBuf};

use crate::survey::{Host, LeftOutHost};

#[cfg(feature = "parquet")]
pub use self::ledger::{Ledger, Packable, Remark};
#[cfg(feature = "parquet")]
pub use self::read::read;
#[cfg(not(feature = "parquet"))]
pub use self::without::{Ledger, Packable, Packer, Remark, read};
#[cfg(feature = "parquet")]
pub use self::write::Packer;

/// The table of results.
const RESULTS: &str = "results";

/// The table of facts. A run is in a pack when this one has it.
const FACTS: &str = "facts";

/// Where a pack of a folder's records is, unless somebody says otherwise.
pub const IN_FOLDER: &str = "pack";

/// Rows are read and written for so many machines at once.
pub const TOGETHER: usize = 4096;

/// Why a pack cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// Parquet was left out when this program was built.
    #[error("this cpudyno was built without its feature `parquet`, which packs need")]
    NotBuilt,
    /// A file of it cannot be read.
    #[error("cannot read `{}` of the pack: {why}", file.display())]
    Read {
        /// Which.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// A file of it cannot be written.
    #[error("cannot write to the pack `{}`: {why}", file.display())]
    Write {
        /// Which.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// Something else writes to it.
    #[error("another `cpudyno fleet pack` writes to `{}`", .0.display())]
    Busy(PathBuf),
}

/// What packs say.
#[derive(Debug, Default)]
pub struct PackedHosts {
    /// The newest run of each machine, now and before; and those that are no good, without results.
    pub hosts: Vec<Host>,
    /// The machines and times of whole runs that are older.
    pub older: Vec<(String, String)>,
    /// Runs that were interrupted, and files that were no records when they were packed.
    pub left_out: Vec<LeftOutHost>,
}

/// How much was packed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct PackedCounts {
    /// Runs.
    pub runs: usize,
    /// Runs that the pack had.
    pub known: usize,
    /// Results of those that it had not.
    pub results: usize,
    /// Files that are no record.
    pub left_out: usize,
}

/// The pack that a folder is, or holds.
pub fn of(folder: &Path) -> Option<PathBuf> {
    let is_pack = |folder: &PathBuf| [RESULTS, FACTS].iter().all(|it| folder.join(it).is_dir());
    [folder.to_owned(), folder.join(IN_FOLDER)].into_iter().find(is_pack)
}
