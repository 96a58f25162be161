//! What there is where Parquet was left out: reasons.

use std::path::{Path, PathBuf};

use model::record::Digest;

use super::{PackError, PackedCounts, PackedHosts};
use crate::survey::Rows;
use crate::window::RunWindow;

/// Nothing.
#[derive(Debug)]
pub struct Ledger;

/// Nothing.
#[derive(Debug)]
pub enum Packable {}

/// A file that is no record.
#[derive(Debug, Clone)]
pub struct Remark {
    /// The machine that it is named after.
    pub host: String,
    /// The file.
    pub file: String,
    /// When it was written: RFC 3339, UTC.
    pub time: String,
    /// Why it is none.
    pub why: String,
}

/// Nothing.
#[derive(Debug)]
pub struct Packer;

impl Ledger {
    /// Nothing.
    pub fn run(&self, _: &str, _: &str) -> Option<Packable> {
        None
    }

    /// Nothing.
    pub fn run_of(&self, _: &str, _: &Digest) -> Option<Packable> {
        None
    }
}

impl Packer {
    /// Refuses.
    pub fn open(_: &Path) -> Result<Packer, PackError> {
        Err(PackError::NotBuilt)
    }

    /// Nothing.
    pub fn ledger(&self) -> &Ledger {
        &Ledger
    }

    /// Refuses.
    pub fn add(&mut self, _: Vec<Packable>, _: &[Remark]) -> Result<(), PackError> {
        Err(PackError::NotBuilt)
    }

    /// Refuses.
    pub fn finish(self) -> Result<PackedCounts, PackError> {
        Err(PackError::NotBuilt)
    }
}

/// Refuses, where there is any.
pub fn read(packs: &[PathBuf], _: &RunWindow, _: &Rows) -> Result<PackedHosts, PackError> {
    if packs.is_empty() { Ok(PackedHosts::default()) } else { Err(PackError::NotBuilt) }
}
