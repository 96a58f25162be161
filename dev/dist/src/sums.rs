//! Sizes and hashes of what was built.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context;

use super::Artefact;

/// Prints the table and writes `SHA256SUMS`; whether everything is as small as it is promised to be.
pub(super) fn write(artefacts: &[Artefact], dist: &Path) -> anyhow::Result<bool> {
    let (mut is_small, mut sums) = (true, String::new());
    for artefact in artefacts {
        let bytes = fs::read(&artefact.path).context("an artefact is not there")?;
        let (hash, size) = (sha256(&bytes), bytes.len() as u64);
        let name = artefact.path.strip_prefix(dist).unwrap_or(&artefact.path).display();
        let is_more = artefact.most_bytes.is_some_and(|most| size > most);
        let note = if is_more { "  larger than promised" } else { "" };
        println!("{name:56}  {:7.2} MB  {hash}{note}", size as f64 / 1e6);
        writeln!(sums, "{hash}  {name}")?;
        is_small &= !is_more;
    }
    fs::write(dist.join("SHA256SUMS"), sums)?;
    Ok(is_small)
}

/// The SHA-256 of these bytes, in hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in hmac_sha256::Hash::hash(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
