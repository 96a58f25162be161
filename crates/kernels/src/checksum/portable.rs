//! The sum without vectors.

use super::add_around;

/// 64 bits at a time. Each addition needs the carry of the one before, so that no compiler turns the
/// loop into one with vectors.
pub(super) fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(0, |sum, word| add_around(sum, u64::from_ne_bytes(*word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    add_around(sum, u64::from_ne_bytes(last))
}
