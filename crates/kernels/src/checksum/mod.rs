//! The Internet checksum by registers of several widths: work for counters, whose counts by byte
//! differ.
//!
//! # Source
//! RFC 1071, "Computing the Internet Checksum": the ones' complement of the ones' complement sum of all
//! 16-bit words; an odd byte is filled up with zero (section 1). The sum may be taken in any order, in
//! wider words and in either byte order (section 2).

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use model::{Isa, Unavailable};

use crate::stream::lacking;

/// A way to compute the checksum.
pub struct ChecksumRow {
    /// The name that users type and records keep.
    pub id: &'static str,
    /// A few words for a table.
    pub title: &'static str,
    /// The instruction sets that it needs.
    pub needs: &'static [Isa],
    /// The ones' complement sum of the bytes as 64-bit words of this machine's byte order, before it is
    /// folded. Only to be called where the CPU has what it needs.
    sum: unsafe fn(&[u8]) -> u64,
}

/// All of them, from the narrowest registers to the widest.
pub static TABLE: &[ChecksumRow] = &[
    ChecksumRow {
        id: "generic",
        title: "64 bit at a time, with the carry",
        needs: &[],
        sum: portable::sum,
    },
    #[cfg(target_arch = "x86_64")]
    ChecksumRow { id: "sse2", title: "SSE2, 128 bit", needs: &[Isa::Sse2], sum: x86_64::sum_sse2 },
    #[cfg(target_arch = "x86_64")]
    ChecksumRow { id: "avx2", title: "AVX2, 256 bit", needs: &[Isa::Avx2], sum: x86_64::sum_avx2 },
    #[cfg(target_arch = "x86_64")]
    ChecksumRow {
        id: "avx512",
        title: "AVX-512, 512 bit",
        needs: &[Isa::Avx512f],
        sum: x86_64::sum_avx512,
    },
];

/// A row that this CPU can execute.
#[derive(Clone, Copy)]
pub struct Checksum(&'static ChecksumRow);

impl ChecksumRow {
    /// The right to execute it.
    ///
    /// # Error
    /// Where CPU or system lack an instruction set.
    pub fn runnable(&'static self) -> Result<Checksum, Unavailable> {
        match lacking(self.id, self.needs, crate::stream::is_detected) {
            Some(unavailable) => Err(unavailable),
            None => Ok(Checksum(self)),
        }
    }
}

impl Checksum {
    /// The checksum of the bytes, as the number whose high byte is sent first.
    pub fn of(self, bytes: &[u8]) -> u16 {
        // SAFETY: a `Checksum` exists only where the CPU has what its row needs.
        let sum = unsafe { (self.0.sum)(bytes) };
        !u16::from_be(folded(sum))
    }
}

/// Adds with the carry brought round to the other end.
fn add_around(sum: u64, word: u64) -> u64 {
    let (sum, carry) = sum.overflowing_add(word);
    sum + u64::from(carry)
}

/// The sum of the four 16-bit words.
fn folded(sum: u64) -> u16 {
    let halves = (sum & 0xffff_ffff) + (sum >> 32);
    let quarters = (halves & 0xffff) + (halves >> 16 & 0xffff) + (halves >> 32);
    let once = (quarters & 0xffff) + (quarters >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the RFC defines it: word by word.
    fn by_definition(bytes: &[u8]) -> u16 {
        let mut sum: u32 = 0;
        for pair in bytes.chunks(2) {
            let low = pair.get(1).copied().unwrap_or(0);
            sum += u32::from(u16::from_be_bytes([pair[0], low]));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    fn here() -> Vec<(&'static str, Checksum)> {
        TABLE.iter().filter_map(|row| Some((row.id, row.runnable().ok()?))).collect()
    }

    /// RFC 1071, section 3: the bytes 00 01 f2 03 f4 f5 f6 f7 have the sum ddf2.
    #[test]
    fn the_example_of_the_rfc() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        for (id, checksum) in here() {
            assert_eq!(checksum.of(&bytes), !0xddf2, "{id}");
        }
    }

    #[test]
    fn all_agree_at_every_length_and_place() {
        let bytes: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..)).take(2048).collect();
        let ways = here();
        assert!(!ways.is_empty());
        for start in 0..70 {
            for length in (0..300).chain([511, 512, 513, 1439, 1440, 1500, 1978]) {
                let part = &bytes[start..start + length];
                let expected = by_definition(part);
                for (id, checksum) in &ways {
                    assert_eq!(checksum.of(part), expected, "{id}: {length} bytes at {start}");
                }
            }
        }
    }

    /// Carries everywhere: nothing is lost where all words are as large as can be.
    #[test]
    fn carries_come_round() {
        for length in [1, 2, 64, 65, 1500, 70_000] {
            let bytes = vec![0xff; length];
            for (id, checksum) in here() {
                assert_eq!(checksum.of(&bytes), by_definition(&bytes), "{id}: {length} bytes");
            }
        }
    }

    #[test]
    fn what_a_cpu_lacks_is_said() {
        for row in TABLE {
            if let Err(reason) = row.runnable() {
                assert!(reason.what.contains(row.id) && !reason.why.is_empty(), "{reason:?}");
            }
        }
        assert!(TABLE[0].runnable().is_ok());
    }
}
