//! Operands with patterns in their bits, for answers that are compared with a reference.
//!
//! An integer may be any bits. A floating-point number may not: kernels must agree with a portable computation to the
//! last bit, whatever the order in which their instruction adds. So the numbers of fused chains are such that each op
//! is exact and flips every bit of the register: a number of the pattern's digits, and its complement, in turns. Those of
//! dot products and tiles, which add in an order of their own and take denormals for zero (Intel SDM volume 2,
//! VDPBF16PS, TDPBF16PS), are whole numbers whose products are large and nearly cancel: every partial sum is exact for
//! up to [`OPS_MAX`] ops of a chain. Sums of tiles of 16-bit numbers, and of chains that add and do not alternate, round
//! once in an op, in the order of the manual. None is a denormal, an infinity or a NaN.

use crate::Operands;
use crate::arithmetic::Constants;

/// Up to so many ops of a chain every partial sum of every arithmetic is exact: tiles of bfloat16 add up to 32 in an op,
/// beside products up to 2 to the 20th, and 2 to the 24th is exact. So many are whole trips of every stream.
pub const OPS_MAX: u64 = 64_800;

/// Bits to compute with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pattern {
    /// Each op counts.
    Counting,
    /// Each op flips as many bits as it can.
    Toggling,
    /// All bits are ones.
    Ones,
    /// All bits are zeros, as far as an op with them does something.
    Zeros,
    /// One bit is a one: this one, counted from the lowest.
    WalkingOne(u8),
    /// One bit is a zero.
    WalkingZero(u8),
    /// Bits of chance, which this number begins.
    Random(u64),
}

impl Pattern {
    /// One after the other: of each kind in turn, with bits that walk, and chance that begins with `seed`.
    pub fn nth(number: u64, seed: u64) -> Pattern {
        let turn = number / 7;
        let bit = (turn % 64) as u8;
        match number % 7 {
            0 => Pattern::Random(mixed(seed.wrapping_add(turn))),
            1 => Pattern::Toggling,
            2 => Pattern::WalkingOne(bit),
            3 => Pattern::Ones,
            4 => Pattern::WalkingZero(bit),
            5 => Pattern::Zeros,
            _ => Pattern::Counting,
        }
    }

    /// The kind, in words, and what tells one of a kind from the others.
    pub fn words(self) -> String {
        match self {
            Pattern::Counting => "counting".to_owned(),
            Pattern::Toggling => "toggling".to_owned(),
            Pattern::Ones => "all ones".to_owned(),
            Pattern::Zeros => "all zeros".to_owned(),
            Pattern::WalkingOne(bit) => format!("walking one, bit {bit}"),
            Pattern::WalkingZero(bit) => format!("walking zero, bit {bit}"),
            Pattern::Random(seed) => format!("random {seed:#018x}"),
        }
    }

    /// Every kind, in words.
    pub const KINDS: [&str; 7] =
        ["random", "toggling", "walking one", "all ones", "walking zero", "all zeros", "counting"];

    /// The constants to give to [`Runnable::run`](crate::Runnable::run).
    pub fn operands(self) -> Operands {
        match self {
            Pattern::Counting => Operands::COUNTING,
            // Sums of its bfloat16 are exact in a vector, and not in a tile.
            Pattern::Toggling => Operands { brain: cancelling(0x55), ..Operands::TOGGLING },
            Pattern::Ones => of_bits([u64::MAX; 4]),
            Pattern::Zeros => of_bits([0; 4]),
            Pattern::WalkingOne(bit) => of_bits([1 << (bit % 64); 4]),
            Pattern::WalkingZero(bit) => of_bits([!(1 << (bit % 64)); 4]),
            Pattern::Random(seed) => {
                of_bits([1, 2, 3, 4].map(|part| mixed(seed.wrapping_add(part))))
            }
        }
    }
}

/// Chance as a function of a number.
///
/// # Source
/// Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014), `SplitMix64`.
const fn mixed(number: u64) -> u64 {
    let z = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// All blocks, of these bits: of start, factor, addend, and of floating-point numbers.
fn of_bits([start, factor, addend, digits]: [u64; 4]) -> Operands {
    // What is multiplied by an even number soon is zero, and forgets what went wrong.
    let odd = factor | 1;
    // A shift keeps its bits at a distance of zero, and a permutation moves them.
    let bits = Constants { start, factor: Operands::QUIET.bits.factor, addend: 0 };
    Operands {
        real: fused(digits, Format { digits: 52, exponent: 11 }),
        single: fused(digits, Format { digits: 23, exponent: 8 }),
        half: fused(digits, Format { digits: 10, exponent: 5 }),
        brain: cancelling(digits),
        whole: Constants { start, factor, addend },
        product: Constants { start: start | 1, factor: odd, addend: 0 },
        bits,
        moved: Constants { start, factor: 0, addend },
    }
}

/// A format of floating-point numbers: how many bits its fraction and its exponent have.
#[derive(Clone, Copy)]
struct Format {
    digits: u32,
    exponent: u32,
}

impl Format {
    fn bits(self) -> u32 {
        1 + self.exponent + self.digits
    }

    /// A number that this format has exactly, and that is no denormal.
    fn encoded(self, number: f64) -> u64 {
        let bits = number.to_bits();
        let bias = (1 << (self.exponent - 1)) - 1;
        let exponent = (bits >> 52 & 0x7FF) + bias - 1023;
        let fraction = (bits & ((1 << 52) - 1)) >> (52 - self.digits);
        bits >> 63 << (self.bits() - 1) | exponent << self.digits | fraction
    }

    /// The same number in all parts of a lane.
    fn filled(self, part: u64) -> u64 {
        let bits = self.bits();
        (0..64 / bits).fold(0, |lane, at| lane | part << (at * bits))
    }
}

/// A chain that alternates between a number from 1 to 2 and its complement in all bits, which is one from -2 to -4: their
/// sum is exact where the last digit is zero.
fn fused(digits: u64, format: Format) -> Constants {
    let fraction = digits & ((1 << format.digits) - 2);
    let scale = (1_u64 << format.digits) as f64;
    let start = 1.0 + fraction as f64 / scale;
    let complement = -(4.0 - 2.0 / scale - 2.0 * fraction as f64 / scale);
    let filled = |number| format.filled(format.encoded(number));
    Constants { start: filled(start), factor: filled(-1.0), addend: filled(start + complement) }
}

/// Pairs of bfloat16 whose products differ by one: k times k, less k - 1 times k + 1. The even sums count up by that, the
/// odd ones down by twice as much.
fn cancelling(digits: u64) -> Constants {
    let k = (digits & 0x7F).max(1) as f64;
    let brain = Format { digits: 7, exponent: 8 };
    let of = |number: f64| if number == 0.0 { 0 } else { brain.encoded(number) };
    let lane = |[a, b, c, d]: [f64; 4]| of(a) | of(b) << 16 | of(c) << 32 | of(d) << 48;
    Constants {
        start: 0,
        factor: lane([k, 1.0 - k, k, 1.0 - k]),
        addend: lane([k, k + 1.0, -2.0 * k, -2.0 * (k + 1.0)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::TABLE;
    use crate::{Data, Kind};

    /// Each kind, bits at all places, and some chance.
    fn all() -> impl Iterator<Item = Pattern> {
        (0..7 * 64).map(|number| Pattern::nth(number, 47))
    }

    #[test]
    fn every_stream_that_runs_answers_as_plain_arithmetic_does() {
        let streams = TABLE.iter().filter(|row| row.kind != Kind::Spin);
        for runnable in streams.filter_map(|row| row.runnable().ok()) {
            let row = runnable.row();
            for (number, pattern) in all().enumerate() {
                let operands = pattern.operands();
                let whole = OPS_MAX * u64::from(row.chains) / row.ops_per_iteration;
                // All of the ops once in a while, few of them always.
                let counts = [1, 2, 7, if number % 64 < 7 { whole } else { 33 }];
                for iterations in counts {
                    let (found, expected) =
                        (runnable.run(iterations, &operands), row.expected(iterations, &operands));
                    assert_eq!(found, expected, "{} {pattern:?} {iterations}", row.id);
                }
            }
        }
    }

    /// Repetitions that are timed have more ops than those that are only compared.
    #[test]
    fn streams_answer_as_plain_arithmetic_does_after_as_many_ops_as_are_timed() {
        const OPS_TIMED: u64 = 400_003;
        let streams = TABLE.iter().filter(|row| row.kind != Kind::Spin);
        for runnable in streams.filter_map(|row| row.runnable().ok()) {
            let row = runnable.row();
            for data in [Data::Quiet, Data::Toggling] {
                let (iterations, operands) = (row.iterations_of(OPS_TIMED), data.operands());
                let found = runnable.run(iterations, operands);
                assert_eq!(found, row.expected(iterations, operands), "{} {data:?}", row.id);
            }
        }
    }

    #[test]
    fn whole_trips_have_as_many_ops() {
        for row in TABLE.iter().filter(|row| row.kind != Kind::Spin) {
            let rounds = row.ops_per_iteration / u64::from(row.chains);
            assert_eq!(OPS_MAX % rounds, 0, "{}", row.id);
        }
    }

    #[test]
    fn floating_point_numbers_are_normal_and_flip_every_bit() {
        for pattern in all().filter(|it| !matches!(it, Pattern::Counting | Pattern::Toggling)) {
            let Operands { real, half, brain, .. } = pattern.operands();
            assert_eq!(real.factor, (-1.0_f64).to_bits());
            let [start, factor, addend] =
                [real.start, real.factor, real.addend].map(f64::from_bits);
            assert!(start.is_normal() && addend.is_normal(), "{pattern:?}");
            let next = start.mul_add(factor, addend);
            assert_eq!(next.to_bits(), !real.start, "{pattern:?}");
            assert_eq!(next.mul_add(factor, addend).to_bits(), real.start, "{pattern:?}");
            for lane in [half.start, half.factor, half.addend] {
                let exponent = lane >> 10 & 0x1F;
                assert!((1..0x1F).contains(&exponent), "{pattern:?} {lane:#x}");
            }
            for part in [brain.factor, brain.addend].map(|lane| (lane >> 32) as u16) {
                let exponent = part >> 7 & 0xFF;
                assert!(part << 1 == 0 || (120..150).contains(&exponent), "{pattern:?}");
            }
        }
    }

    #[test]
    fn formats_have_numbers_as_the_standard_does() {
        let half = Format { digits: 10, exponent: 5 };
        let known = [(1.0, 0x3C00), (-1.0, 0xBC00), (-2.5, 0xC100), (1.5, 0x3E00)];
        assert!(known.iter().all(|(number, bits)| half.encoded(*number) == *bits));
        let brain = Format { digits: 7, exponent: 8 };
        assert_eq!((brain.encoded(1.0), brain.encoded(-126.0)), (0x3F80, 0xC2FC));
        let real = Format { digits: 52, exponent: 11 };
        assert_eq!(real.encoded(-0.75), (-0.75_f64).to_bits());
        assert_eq!(real.filled(7), 7);
        assert_eq!(half.filled(0x3C00), 0x3C00_3C00_3C00_3C00);
    }

    #[test]
    fn patterns_set_and_clear_every_bit_of_an_integer() {
        let (mut ones, mut zeros) = (0, 0);
        for pattern in all() {
            let Operands { whole, moved, bits, .. } = pattern.operands();
            for lane in [whole.start, whole.addend, moved.start, moved.addend, bits.start] {
                ones |= lane;
                zeros |= !lane;
            }
        }
        assert_eq!((ones, zeros), (u64::MAX, u64::MAX));
    }

    #[test]
    fn a_pattern_follows_the_other_and_chance_is_new_each_time() {
        let kinds: Vec<String> = (0..7).map(|number| Pattern::nth(number, 1).words()).collect();
        let begins = |(words, kind): (&String, &str)| words.starts_with(kind);
        assert!(kinds.iter().zip(Pattern::KINDS).all(begins), "{kinds:?}");
        assert_ne!(Pattern::nth(0, 1), Pattern::nth(7, 1));
        assert_ne!(Pattern::nth(0, 1), Pattern::nth(0, 2));
        assert_eq!(Pattern::nth(9, 1), Pattern::WalkingOne(1));
    }
}
