//! What ops compute: the numbers that they begin with, and what one op makes of them.

use std::array;
use std::mem::offset_of;

use model::Datatype;

/// Start, factor and addend of one kind of number, as the bits that fill each 64-bit lane.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
pub(crate) struct Constants {
    pub(crate) start: u64,
    pub(crate) factor: u64,
    pub(crate) addend: u64,
}

/// The constants that kernels load before their loop.
///
/// A kernel reads one block, and one more if an instruction stands beside its ops. No block crosses
/// a cache line, so loading one costs the same wherever it lives. Which block belongs to which
/// arithmetic is said once, below.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Operands {
    /// 64-bit floating point.
    pub(crate) real: Constants,
    /// 16-bit floating point, four numbers.
    pub(crate) half: Constants,
    /// Pairs of bfloat16, and sums of their products in 32-bit floating point.
    pub(crate) brain: Constants,
    /// Integers that are added.
    pub(crate) whole: Constants,
    /// Integers that are multiplied.
    pub(crate) product: Constants,
    /// Bits that are shifted by the addend, or permuted by the indices in the factor.
    pub(crate) bits: Constants,
    /// Bits that are replaced by others.
    pub(crate) moved: Constants,
    /// 32-bit floating point, two numbers.
    pub(crate) single: Constants,
}

/// Which part of a lane goes where in a permutation: 16-bit parts 1, 3, 0 and 2 take the places of
/// 0 to 3. Read as indices of 32-bit parts, the same bits exchange the two.
const INDICES: u64 = 0x0002_0000_0003_0001;

/// The permutations above turn it into its complement, and back.
const PERMUTED: u64 = 0x5555_AAAA_AAAA_5555;

impl Operands {
    /// No op changes a bit: sums and fused chains stay 0, products stay 1.
    pub const QUIET: Operands = Operands {
        real: Constants { start: 0, factor: 1.0_f64.to_bits(), addend: 0 },
        single: Constants { start: 0, factor: two(1.0_f32.to_bits()), addend: 0 },
        half: Constants { start: 0, factor: four(0x3C00), addend: 0 },
        brain: Constants { start: 0, factor: four(0x3F80), addend: 0 },
        whole: Constants { start: 0, factor: 1, addend: 0 },
        product: Constants { start: 1, factor: 1, addend: 0 },
        bits: Constants { start: 0, factor: INDICES, addend: 0 },
        // 27 has 27 leading zeros.
        moved: Constants { start: two(27), factor: 0, addend: two(27) },
    };

    /// Each op counts, where its arithmetic can.
    ///
    /// In each lane sums and fused chains end with the number of ops, products with 3 to the power of
    /// it. The powers of 3 repeat after 2 to the 62nd modulo 2 to the 64th, so they prove a count as
    /// well as a sum does.
    pub const COUNTING: Operands = Operands {
        real: Constants { start: 0, factor: 1.0_f64.to_bits(), addend: 1.0_f64.to_bits() },
        single: Constants {
            start: 0,
            factor: two(1.0_f32.to_bits()),
            addend: two(1.0_f32.to_bits()),
        },
        half: Constants { start: 0, factor: four(0x3C00), addend: four(0x3C00) },
        // Of each pair of products, the lower one is 1 and the upper one 0.
        brain: Constants { start: 0, factor: two(0x3F80), addend: two(0x3F80) },
        whole: Constants { start: 0, factor: 1, addend: 1 },
        product: Constants { start: 1, factor: 3, addend: 0 },
        bits: Constants { start: PERMUTED, factor: INDICES, addend: two(1) },
        moved: Constants { start: two(1), factor: 0, addend: two(2) },
    };

    /// Each op changes many bits, where its arithmetic can.
    ///
    /// A fused chain alternates between 4/3 and -10/3 as nearly as its bits can tell. The two are
    /// bitwise complements and the addend is their exact sum, so that every op flips all bits,
    /// never rounds, and never meets an infinity, a NaN or a denormal. Sums add 0101..., which
    /// flips 43 bits on average; products multiply by an odd number with no regular pattern;
    /// permutations flip all bits. Shifts, moves and counts of zeros soon repeat what they find:
    /// their data is dense and stands still.
    pub const TOGGLING: Operands = Operands {
        real: Constants {
            start: 0x3FF5_5555_5555_5555,
            factor: (-1.0_f64).to_bits(),
            addend: 0xBFFF_FFFF_FFFF_FFFF,
        },
        single: Constants {
            start: two(0x3FAA_AAAA),
            factor: two((-1.0_f32).to_bits()),
            addend: two(0xC000_0000),
        },
        half: Constants { start: four(0x3D55), factor: four(0xBC00), addend: four(0xBFFF) },
        // 1.328125 times 1, less 1.328125 times 0.5.
        brain: Constants { start: 0, factor: four(0x3FAA), addend: two(0xBF00_3F80) },
        // The odd factor is 2 to the 64th over the golden ratio.
        whole: Constants { start: 0, factor: 0x9E37_79B9_7F4A_7C15, addend: 0x5555_5555_5555_5555 },
        product: Constants { start: 1, factor: 0x9E37_79B9_7F4A_7C15, addend: 0 },
        bits: Constants { start: PERMUTED, factor: INDICES, addend: 0 },
        moved: Constants { start: 0x5555_5555_5555_5555, factor: 0, addend: 0xAAAA_AAAA_AAAA_AAAA },
    };
}

/// A 32-bit number in both halves of a lane.
const fn two(part: u32) -> u64 {
    part as u64 * 0x0000_0001_0000_0001
}

/// A 16-bit number in the four quarters of a lane.
const fn four(part: u16) -> u64 {
    part as u64 * 0x0001_0001_0001_0001
}

/// What an op computes, lane by lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "no architecture has an instruction for each of them")
)]
pub(crate) enum Arithmetic {
    /// 64-bit floating point: times factor, plus addend, rounded once.
    Fused,
    /// 64-bit floating point: plus factor times addend, rounded once.
    Accumulate,
    /// 64-bit floating point: plus addend.
    RealSum,
    /// 32-bit floating point: times factor, plus addend, rounded once.
    FusedSingle,
    /// The same in the lower part; the upper one stays.
    FusedOneSingle,
    /// 32-bit floating point: plus factor times addend, rounded once.
    AccumulateSingle,
    /// 16-bit floating point: times factor, plus addend, rounded once.
    FusedHalf,
    /// 16-bit floating point: plus factor times addend, rounded once.
    AccumulateHalf,
    /// 32-bit floating point: plus the two products of bfloat16 factors and addends.
    DotBrain,
    /// 64-bit integers: plus addend.
    Sum,
    /// 32-bit integers: plus the four products of unsigned bytes of the addend and signed bytes of
    /// the factor.
    DotBytes,
    /// 32-bit integers: plus the four products of signed bytes of the addend and of the factor.
    DotSignedBytes,
    /// 32-bit integers: plus the two products of signed 16-bit integers of the addend and of the factor.
    DotWords,
    /// The same, those of the factor without sign.
    DotMixedWords,
    /// Rows of 128 bits, two by two 32-bit integers: plus the products of two rows of eight signed
    /// bytes of the factor and two of the addend.
    MatrixBytes,
    /// The same of 32-bit floating point, plus the products of rows of four numbers of bfloat16.
    MatrixBrain,
    /// Tiles of 32-bit floating point: plus the products of bfloat16 rows of factors and columns of
    /// addends.
    TileBrain,
    /// Tiles of 32-bit floating point: the same of 16-bit floating point.
    TileHalf,
    /// Tiles of 32-bit integers: plus the products of rows of factors and columns of addends, all
    /// of them signed bytes.
    TileBytes,
    /// 64-bit integers: plus the low 52 bits of the product of the low 52 bits of factor and
    /// addend.
    SumOfProducts52,
    /// 64-bit integers: times factor.
    Product,
    /// The signed 64-bit product of the low 32 bits and those of the factor.
    Product32,
    /// The same without sign.
    ProductUnsigned32,
    /// 32-bit parts, shifted to the right by the addend.
    Shift32,
    /// 32-bit parts, in the order of the factor's indices.
    Permutation32,
    /// 16-bit parts, in the order of the factor's indices.
    Permutation16,
    /// The leading zeros of 32-bit parts.
    LeadingZeros32,
    /// The addend, whatever there was.
    Move,
    /// The addend in 32-bit parts with an even number; the others stay.
    Merge,
    /// Zero, whatever there was.
    Zero,
    /// Nothing with any number; ops are counted.
    Count,
    /// Nothing.
    Nothing,
}

/// Says which block of [`Operands`] belongs to which [`Arithmetic`].
macro_rules! blocks {
    ($($block:ident: $($arithmetic:ident)|+,)+) => {
        impl Arithmetic {
            /// Where its block lies within [`Operands`].
            const fn block_offset(self) -> usize {
                match self {
                    $($(Arithmetic::$arithmetic)|+ => offset_of!(Operands, $block),)+
                }
            }

            /// Its block.
            fn constants(self, operands: &Operands) -> &Constants {
                match self {
                    $($(Arithmetic::$arithmetic)|+ => &operands.$block,)+
                }
            }
        }
    };
}

blocks! {
    real: Fused | Accumulate | RealSum,
    single: FusedSingle | FusedOneSingle | AccumulateSingle,
    half: FusedHalf | AccumulateHalf | TileHalf,
    brain: DotBrain | MatrixBrain | TileBrain,
    whole: Sum | DotBytes | DotSignedBytes | DotWords | DotMixedWords | MatrixBytes | TileBytes
        | SumOfProducts52 | Count | Nothing,
    product: Product | Product32 | ProductUnsigned32,
    bits: Shift32 | Permutation32 | Permutation16,
    moved: LeadingZeros32 | Move | Merge | Zero,
}

impl Arithmetic {
    /// Where a chain's first number lies within [`Operands`].
    pub(crate) const fn start_offset(self) -> usize {
        self.block_offset() + offset_of!(Constants, start)
    }

    /// Where the factor lies within [`Operands`].
    pub(crate) const fn factor_offset(self) -> usize {
        self.block_offset() + offset_of!(Constants, factor)
    }

    /// Where the addend lies within [`Operands`].
    pub(crate) const fn addend_offset(self) -> usize {
        self.block_offset() + offset_of!(Constants, addend)
    }

    /// Where the second operand of a scalar op lies within [`Operands`].
    pub(crate) const fn operand_offset(self) -> usize {
        match self {
            Arithmetic::Product => self.factor_offset(),
            _ => self.addend_offset(),
        }
    }

    /// How many of so many ops the kernel must add to its answer, because the numbers do not tell
    /// them: all or none. They come from the loop counter, and prove the trips; what is in each
    /// trip is what the listing proves.
    pub(crate) const fn untold(self, ops: u64) -> u64 {
        match self {
            Arithmetic::Shift32
            | Arithmetic::Permutation32
            | Arithmetic::Permutation16
            | Arithmetic::LeadingZeros32
            | Arithmetic::Move
            | Arithmetic::Merge
            | Arithmetic::Zero
            | Arithmetic::Count => ops,
            _ => 0,
        }
    }

    /// What one op makes of a 64-bit lane.
    ///
    /// # Source
    ///
    /// Intel SDM, volume 2, the pages of the instructions in `streams/`; Arm ARM, C7 and C8.
    fn step(self, lane: u64, constants: &Constants) -> u64 {
        let Constants { factor, addend, .. } = *constants;
        let real = f64::from_bits;
        match self {
            Arithmetic::Fused => real(lane).mul_add(real(factor), real(addend)).to_bits(),
            Arithmetic::Accumulate => real(factor).mul_add(real(addend), real(lane)).to_bits(),
            Arithmetic::RealSum => (real(lane) + real(addend)).to_bits(),
            Arithmetic::FusedSingle => fused_single(lane, factor, addend),
            Arithmetic::FusedOneSingle => {
                let [low, _] = parts32(fused_single(lane, factor, addend));
                from_parts32([low, parts32(lane)[1]])
            }
            Arithmetic::AccumulateSingle => fused_single(factor, addend, lane),
            Arithmetic::FusedHalf => fused_half(lane, factor, addend),
            Arithmetic::AccumulateHalf => fused_half(factor, addend, lane),
            Arithmetic::DotBrain => dot_brain(lane, factor, addend),
            Arithmetic::MatrixBrain => matrix_brain(lane, factor, addend),
            Arithmetic::Sum => lane.wrapping_add(addend),
            Arithmetic::DotBytes => dot_bytes(lane, factor, addend, i32::from),
            Arithmetic::DotSignedBytes => {
                dot_bytes(lane, factor, addend, |byte| i32::from(byte.cast_signed()))
            }
            Arithmetic::DotWords => {
                dot_words(lane, factor, addend, |word| i64::from(word.cast_signed()))
            }
            Arithmetic::DotMixedWords => dot_words(lane, factor, addend, i64::from),
            Arithmetic::MatrixBytes => matrix_bytes(lane, factor, addend),
            Arithmetic::TileBrain => tile_pairs(lane, factor, addend, real_of_brain),
            Arithmetic::TileHalf => {
                tile_pairs(lane, factor, addend, |bits| real_of_half(bits) as f32)
            }
            Arithmetic::TileBytes => tile_bytes(lane, factor, addend),
            Arithmetic::SumOfProducts52 => {
                lane.wrapping_add(factor.wrapping_mul(addend) & ((1 << 52) - 1))
            }
            Arithmetic::Product => lane.wrapping_mul(factor),
            Arithmetic::Product32 => {
                let signed = |number: u64| i64::from(parts32(number)[0].cast_signed());
                (signed(lane) * signed(factor)).cast_unsigned()
            }
            Arithmetic::ProductUnsigned32 => {
                u64::from(parts32(lane)[0]) * u64::from(parts32(factor)[0])
            }
            Arithmetic::Shift32 => {
                let count = parts32(addend);
                let shifted = |at: usize| parts32(lane)[at].checked_shr(count[at]).unwrap_or(0);
                from_parts32(array::from_fn(shifted))
            }
            // All 64-bit lanes hold the same, so only the lowest bits of an index matter.
            Arithmetic::Permutation32 => {
                from_parts32(parts32(factor).map(|index| parts32(lane)[index as usize % 2]))
            }
            Arithmetic::Permutation16 => {
                from_parts16(parts16(factor).map(|index| parts16(lane)[usize::from(index) % 4]))
            }
            Arithmetic::LeadingZeros32 => from_parts32(parts32(lane).map(u32::leading_zeros)),
            Arithmetic::Move => addend,
            Arithmetic::Merge => from_parts32([parts32(addend)[0], parts32(lane)[1]]),
            Arithmetic::Zero => 0,
            Arithmetic::Count | Arithmetic::Nothing => lane,
        }
    }

    /// The answer of a kernel with so many ops on so many chains of such registers: each op is
    /// computed, one after the other.
    pub(crate) fn answer(
        self,
        ops: u64,
        chains: u64,
        registers: Registers,
        operands: &Operands,
    ) -> u64 {
        let constants = self.constants(operands);
        let per_chain = ops / chains.max(1);
        let end = match self {
            Arithmetic::Count | Arithmetic::Nothing => 0,
            _ => (0..per_chain).fold(constants.start, |lane, _| self.step(lane, constants)),
        };
        registers.folded(end, chains).wrapping_add(self.untold(ops))
    }

    /// What a multiply-add is of, and how many additions and multiplications it does in a 64-bit lane.
    pub(crate) const fn multiply_adds(self) -> Option<(Datatype, u32)> {
        Some(match self {
            Arithmetic::Fused | Arithmetic::Accumulate => (Datatype::Fp64, 2),
            Arithmetic::FusedSingle | Arithmetic::AccumulateSingle => (Datatype::Fp32, 4),
            Arithmetic::FusedOneSingle => (Datatype::Fp32, 2),
            Arithmetic::FusedHalf | Arithmetic::AccumulateHalf => (Datatype::Fp16, 8),
            Arithmetic::DotBrain => (Datatype::Bf16, 8),
            Arithmetic::MatrixBrain => (Datatype::Bf16, 16),
            Arithmetic::DotWords | Arithmetic::DotMixedWords => (Datatype::Int16, 8),
            Arithmetic::DotBytes | Arithmetic::DotSignedBytes => (Datatype::Int8, 16),
            Arithmetic::MatrixBytes => (Datatype::Int8, 32),
            // Each of both sums in a lane is of a row and a column of 64 bytes.
            Arithmetic::TileBrain => (Datatype::Bf16, 128),
            Arithmetic::TileHalf => (Datatype::Fp16, 128),
            Arithmetic::TileBytes => (Datatype::Int8, 256),
            _ => return None,
        })
    }
}

/// The registers of a chain, as far as the answer is concerned. All 64-bit lanes hold the same, unless
/// something is wrong.
///
/// An answer is a sum of the bits of all lanes of all chains, as if they were integers: one flipped bit
/// changes it, whichever it is. Before each addition what is there is mixed in a way that loses nothing,
/// lest a bit that is wrong in an even number of lanes add up to nothing: from chain to chain by a shift,
/// from lane to lane by exchanging halves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registers {
    /// So many lanes, a power of 2: half of them are added to the other half, until one is left.
    Vector(u64),
    /// As many lanes as the CPU has: their plain sum, and the lowest one.
    #[cfg_attr(not(any(test, target_arch = "aarch64")), expect(dead_code, reason = "SVE alone"))]
    Scalable(u64),
    /// A tile of 16 rows of 8 lanes: the rows are added up to a vector.
    Tile,
}

/// By how many bits a sum is shifted before a chain is added to its mixture with that. By more than 4, the sum of
/// eight chains comes to nothing again; a test goes over all bits.
pub(crate) const CHAIN_SHIFT: u32 = 3;

impl Registers {
    /// One lane.
    pub(crate) const ONE: Registers = Registers::Vector(1);

    /// The answer of chains in such registers whose lanes all hold the same.
    fn folded(self, lane: u64, chains: u64) -> u64 {
        let of_chain = if self == Registers::Tile { lane.wrapping_mul(16) } else { lane };
        let mixed = |sum: u64| sum ^ sum >> CHAIN_SHIFT;
        let sum = (0..chains).fold(0_u64, |sum, _| mixed(sum).wrapping_add(of_chain));
        let add = |sum: u64, more: u64| sum.rotate_left(32).wrapping_add(more);
        match self {
            Registers::Vector(lanes) => (0..lanes.ilog2()).fold(sum, |sum, _| add(sum, sum)),
            Registers::Tile => Registers::Vector(8).folded(sum, 1),
            Registers::Scalable(lanes) => add(sum.wrapping_mul(lanes), sum),
        }
    }

    /// Its 64-bit lanes.
    pub(crate) fn lanes(self) -> u64 {
        match self {
            Registers::Vector(lanes) | Registers::Scalable(lanes) => lanes,
            Registers::Tile => 16 * 8,
        }
    }
}

fn parts32(lane: u64) -> [u32; 2] {
    [lane as u32, (lane >> 32) as u32]
}

fn from_parts32([low, high]: [u32; 2]) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn parts16(lane: u64) -> [u16; 4] {
    array::from_fn(|at| (lane >> (16 * at)) as u16)
}

fn from_parts16(parts: [u16; 4]) -> u64 {
    parts.into_iter().rev().fold(0, |lane, part| lane << 16 | u64::from(part))
}

fn fused_single(lane: u64, factor: u64, addend: u64) -> u64 {
    let [lane, factor, addend] =
        [lane, factor, addend].map(|bits| parts32(bits).map(f32::from_bits));
    from_parts32(array::from_fn(|at| lane[at].mul_add(factor[at], addend[at]).to_bits()))
}

fn fused_half(lane: u64, factor: u64, addend: u64) -> u64 {
    let [lane, factor, addend] = [lane, factor, addend].map(parts16);
    let real = real_of_half;
    let one = |at: usize| real(lane[at]).mul_add(real(factor[at]), real(addend[at]));
    from_parts16(array::from_fn(|at| half_of_real(one(at))))
}

/// The number that 16 bits of floating point stand for; none of them is an infinity or a NaN.
fn real_of_half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1F), f64::from(bits & 0x3FF));
    let magnitude = match exponent {
        0 => fraction * 2.0_f64.powi(-24),
        _ => (fraction + 1024.0) * 2.0_f64.powi(exponent - 25),
    };
    if bits >> 15 == 0 { magnitude } else { -magnitude }
}

/// The nearest number of 16 bits; of two that are equally near, the even one.
fn half_of_real(number: f64) -> u16 {
    const INFINITY: u16 = 0x7C00;
    // The exponent of the number, but not below that of the smallest one that is no denormal.
    let exponent = ((number.to_bits() >> 52 & 0x7FF) as i32 - 1023).max(-14);
    let units = (number.abs() * 2.0_f64.powi(10 - exponent)).round_ties_even();
    // The leading bit of the units, where there is one, adds 1 to the exponent that was left out.
    let bits = ((exponent + 14) << 10) + units as i32;
    let sign = u16::from(number.is_sign_negative()) << 15;
    sign | u16::try_from(bits).map_or(INFINITY, |bits| bits.min(INFINITY))
}

/// The number that bits of bfloat16 stand for.
fn real_of_brain(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

fn dot_brain(lane: u64, factor: u64, addend: u64) -> u64 {
    let (factor, addend) = (parts16(factor).map(real_of_brain), parts16(addend).map(real_of_brain));
    from_parts32(array::from_fn(|at| {
        let pair = |numbers: &[f32; 4]| [numbers[2 * at], numbers[2 * at + 1]];
        dot_pair(f32::from_bits(parts32(lane)[at]), pair(&factor), pair(&addend)).to_bits()
    }))
}

/// A sum and two products, added one after the other, the upper one first, and rounded each time.
///
/// # Source
///
/// Intel SDM volume 2, VDPBF16PS.
#[cfg(target_arch = "x86_64")]
fn dot_pair(sum: f32, factor: [f32; 2], addend: [f32; 2]) -> f32 {
    let sum = factor[1].mul_add(addend[1], sum);
    factor[0].mul_add(addend[0], sum)
}

/// A sum and the sum of two products, each rounded to an odd number.
///
/// # Source
///
/// Arm ARM, BFDotAdd() without FEAT_EBF16.
#[cfg(target_arch = "aarch64")]
fn dot_pair(sum: f32, factor: [f32; 2], addend: [f32; 2]) -> f32 {
    // Of two numbers with 8 bits each the product is exact in 32 bits, and of such the sum in 64.
    let add = |one: f32, other: f32| {
        let exact = f64::from(one) + f64::from(other);
        let nearest = exact as f32;
        let off = f64::from(nearest) - exact;
        match nearest.to_bits() {
            bits if off == 0.0 => f32::from_bits(bits),
            bits if off.is_sign_negative() == exact.is_sign_negative() => {
                f32::from_bits((bits - 1) | 1)
            }
            bits => f32::from_bits(bits | 1),
        }
    };
    add(sum, add(factor[0] * addend[0], factor[1] * addend[1]))
}

/// Both rows of four numbers of a register hold the same, as both of the other do: so each of its sums
/// is that of one lane by one.
fn matrix_brain(lane: u64, factor: u64, addend: u64) -> u64 {
    let ([f0, f1, f2, f3], [a0, a1, a2, a3]) =
        (parts16(factor).map(real_of_brain), parts16(addend).map(real_of_brain));
    from_parts32(parts32(lane).map(|part| {
        let sum = dot_pair(f32::from_bits(part), [f0, f1], [a0, a1]);
        dot_pair(sum, [f2, f3], [a2, a3]).to_bits()
    }))
}

fn matrix_bytes(lane: u64, factor: u64, addend: u64) -> u64 {
    let signed = |number: u64| number.to_le_bytes().map(|byte| i32::from(byte.cast_signed()));
    let sum: i32 = signed(factor).iter().zip(signed(addend)).map(|(one, other)| one * other).sum();
    from_parts32(parts32(lane).map(|part| part.wrapping_add_signed(sum)))
}

/// A tile's row has 16 parts of 32 bits, as its column has: eight times both parts of a lane.
const LANES_IN_ROW: usize = 8;

fn tile_pairs(lane: u64, factor: u64, addend: u64, real: impl Fn(u16) -> f32) -> u64 {
    let (factor, addend) = (parts16(factor).map(&real), parts16(addend).map(&real));
    from_parts32(array::from_fn(|at| {
        // The instruction adds up the lower and the upper products of all pairs on their own.
        let [mut lower, mut upper] = [0.0, 0.0];
        for pair in factor.chunks_exact(2).cycle().take(2 * LANES_IN_ROW) {
            lower = pair[0].mul_add(addend[2 * at], lower);
            upper = pair[1].mul_add(addend[2 * at + 1], upper);
        }
        (f32::from_bits(parts32(lane)[at]) + (lower + upper)).to_bits()
    }))
}

fn tile_bytes(lane: u64, factor: u64, addend: u64) -> u64 {
    let signed = |number: u64| number.to_le_bytes().map(|byte| i32::from(byte.cast_signed()));
    let (factor, addend) = (signed(factor), signed(addend));
    from_parts32(array::from_fn(|at| {
        let column = addend[4 * at..4 * at + 4].iter().cycle();
        let sum: i32 = factor.iter().zip(column).map(|(one, other)| one * other).sum();
        parts32(lane)[at].wrapping_add_signed(LANES_IN_ROW as i32 * sum)
    }))
}

/// The addend's 16-bit integers are signed; what those of the factor are, the caller says.
fn dot_words(lane: u64, factor: u64, addend: u64, number: fn(u16) -> i64) -> u64 {
    let (factor, addend) = (parts16(factor), parts16(addend));
    let product = |at: usize| number(factor[at]) * i64::from(addend[at].cast_signed());
    from_parts32(array::from_fn(|at| {
        let sum: i64 = (2 * at..2 * at + 2).map(product).sum();
        parts32(lane)[at].wrapping_add(sum as u32)
    }))
}

/// The factor's bytes are signed; what those of the addend are, the caller says.
fn dot_bytes(lane: u64, factor: u64, addend: u64, number: fn(u8) -> i32) -> u64 {
    let (factor, addend) = (factor.to_le_bytes(), addend.to_le_bytes());
    let product = |at: usize| i32::from(factor[at].cast_signed()) * number(addend[at]);
    from_parts32(array::from_fn(|at| {
        let sum: i32 = (4 * at..4 * at + 4).map(product).sum();
        parts32(lane)[at].wrapping_add_signed(sum)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &[Arithmetic] = &[
        Arithmetic::Fused,
        Arithmetic::Accumulate,
        Arithmetic::RealSum,
        Arithmetic::FusedSingle,
        Arithmetic::FusedOneSingle,
        Arithmetic::AccumulateSingle,
        Arithmetic::FusedHalf,
        Arithmetic::AccumulateHalf,
        Arithmetic::DotBrain,
        Arithmetic::MatrixBrain,
        Arithmetic::Sum,
        Arithmetic::DotBytes,
        Arithmetic::DotSignedBytes,
        Arithmetic::DotWords,
        Arithmetic::DotMixedWords,
        Arithmetic::MatrixBytes,
        Arithmetic::TileBrain,
        Arithmetic::TileHalf,
        Arithmetic::TileBytes,
        Arithmetic::SumOfProducts52,
        Arithmetic::Product,
        Arithmetic::Product32,
        Arithmetic::ProductUnsigned32,
        Arithmetic::Shift32,
        Arithmetic::Permutation32,
        Arithmetic::Permutation16,
        Arithmetic::LeadingZeros32,
        Arithmetic::Move,
        Arithmetic::Merge,
        Arithmetic::Zero,
    ];

    /// The first numbers of a chain.
    fn chain(arithmetic: Arithmetic, operands: &Operands) -> impl Iterator<Item = u64> {
        let constants = *arithmetic.constants(operands);
        std::iter::successors(Some(constants.start), move |lane| {
            Some(arithmetic.step(*lane, &constants))
        })
    }

    #[test]
    fn quiet_operands_change_no_bit() {
        for &arithmetic in ALL.iter().filter(|&&one| one != Arithmetic::Zero) {
            let mut numbers = chain(arithmetic, &Operands::QUIET);
            let start = numbers.next();
            assert!(numbers.take(9).all(|number| Some(number) == start), "{arithmetic:?}");
        }
    }

    #[test]
    fn counting_operands_tell_each_op() {
        for &arithmetic in ALL.iter().filter(|one| one.untold(1) == 0) {
            let mut numbers: Vec<u64> = chain(arithmetic, &Operands::COUNTING).take(999).collect();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), 999, "{arithmetic:?}");
        }
    }

    #[test]
    fn counting_operands_count_from_zero() {
        let after = |arithmetic, ops| chain(arithmetic, &Operands::COUNTING).nth(ops).unwrap_or(0);
        for ops in [0_u16, 1, 2, 77, 2000] {
            let at = usize::from(ops);
            let real = f64::from(ops).to_bits();
            assert_eq!(after(Arithmetic::Fused, at), real);
            assert_eq!(after(Arithmetic::Accumulate, at), real);
            assert_eq!(after(Arithmetic::RealSum, at), real);
            let single = two(f32::from(ops).to_bits());
            for sum in [Arithmetic::DotBrain, Arithmetic::FusedSingle, Arithmetic::AccumulateSingle]
            {
                assert_eq!(after(sum, at), single, "{sum:?}");
            }
            assert_eq!(after(Arithmetic::FusedOneSingle, at), single >> 32);
            // Two pairs of a row count.
            let twice = two((2.0 * f32::from(ops)).to_bits());
            assert_eq!(after(Arithmetic::MatrixBrain, at), twice);
            assert_eq!(after(Arithmetic::MatrixBytes, at), two(u32::from(ops)));
            assert_eq!(after(Arithmetic::TileHalf, at), two((32.0 * f32::from(ops)).to_bits()));
            // Each of the 16 pairs of a row counts; of bytes, only those in lower parts.
            assert_eq!(after(Arithmetic::TileBrain, at), two((16.0 * f32::from(ops)).to_bits()));
            assert_eq!(after(Arithmetic::TileBytes, at), 8 * u64::from(ops));
            assert_eq!(after(Arithmetic::FusedHalf, at), four(half_of_real(f64::from(ops))));
            for sum in [
                Arithmetic::Sum,
                Arithmetic::DotBytes,
                Arithmetic::DotSignedBytes,
                Arithmetic::DotWords,
                Arithmetic::DotMixedWords,
                Arithmetic::SumOfProducts52,
            ] {
                assert_eq!(after(sum, at), u64::from(ops), "{sum:?}");
            }
            let power = 3_u64.wrapping_pow(u32::from(ops));
            assert_eq!(after(Arithmetic::Product, at), power);
            for low in [Arithmetic::Product32, Arithmetic::ProductUnsigned32] {
                assert_eq!(parts32(after(low, at))[0], power as u32, "{low:?}");
            }
        }
    }

    /// The bits that change in a hundred ops.
    fn flips(arithmetic: Arithmetic) -> u32 {
        let numbers: Vec<u64> = chain(arithmetic, &Operands::TOGGLING).take(101).collect();
        numbers.windows(2).map(|two| (two[0] ^ two[1]).count_ones()).sum()
    }

    #[test]
    fn toggling_operands_flip_many_bits() {
        for all_bits in [
            Arithmetic::Fused,
            Arithmetic::FusedSingle,
            Arithmetic::FusedHalf,
            Arithmetic::Permutation32,
            Arithmetic::Permutation16,
        ] {
            assert_eq!(flips(all_bits), 6400, "{all_bits:?}");
        }
        for (arithmetic, least) in [
            (Arithmetic::Sum, 4000),
            (Arithmetic::Product, 2800),
            (Arithmetic::Product32, 2800),
            (Arithmetic::ProductUnsigned32, 2800),
            (Arithmetic::SumOfProducts52, 2000),
            (Arithmetic::FusedOneSingle, 3200),
            (Arithmetic::DotBytes, 1200),
            (Arithmetic::DotSignedBytes, 1200),
            (Arithmetic::DotWords, 1200),
            (Arithmetic::DotMixedWords, 1200),
            (Arithmetic::MatrixBytes, 1200),
            (Arithmetic::DotBrain, 1200),
            (Arithmetic::TileBytes, 1200),
            (Arithmetic::TileBrain, 1200),
        ] {
            assert!(flips(arithmetic) >= least, "{arithmetic:?}: {}", flips(arithmetic));
        }
    }

    #[test]
    fn toggling_chains_stay_normal() {
        for number in chain(Arithmetic::Fused, &Operands::TOGGLING).take(99) {
            assert!(f64::from_bits(number).is_normal());
        }
        for number in chain(Arithmetic::FusedHalf, &Operands::TOGGLING).take(99).flat_map(parts16) {
            assert!((1.0..4.0).contains(&real_of_half(number).abs()));
        }
    }

    #[test]
    fn halves_are_rounded_to_the_nearest() {
        for bits in (0..0x7C00).chain(0x8000..0xFC00) {
            assert_eq!(half_of_real(real_of_half(bits)), bits);
        }
        let known = [
            (1.0, 0x3C00),
            (2049.0, 0x6800),
            (2051.0, 0x6802),
            (65_519.0, 0x7BFF),
            (65_520.0, 0x7C00),
            (1e300, 0x7C00),
            (-3.332_031_25, 0xC2AA),
            (2.0_f64.powi(-24), 0x0001),
            (2.0_f64.powi(-25), 0x0000),
        ];
        for (number, bits) in known {
            assert_eq!(half_of_real(number), bits, "{number}");
        }
    }

    #[test]
    fn single_ops_compute_what_the_manuals_say() {
        let step = |arithmetic: Arithmetic, lane, factor, addend| {
            arithmetic.step(lane, &Constants { start: 0, factor, addend })
        };
        let product = step(Arithmetic::Product32, 0xFFFF_FFFF, 2, 0);
        assert_eq!(product.cast_signed(), -2);
        assert_eq!(step(Arithmetic::ProductUnsigned32, 0xFFFF_FFFF, 2, 0), 0x1_FFFF_FFFE);
        // Signed bytes -1 and 2 times unsigned bytes 255 and 3.
        assert_eq!(step(Arithmetic::DotBytes, 249, 0x02FF, 0x03FF), 0);
        // Signed bytes -1 and 2 times signed bytes -1 and 3; then all eight, for both parts.
        assert_eq!(step(Arithmetic::DotSignedBytes, 1, 0x02FF, 0x03FF), 1 + 1 + 6);
        assert_eq!(step(Arithmetic::MatrixBytes, two(1), 0x02FF, 0x03FF), two(1 + 1 + 6));
        // 16-bit integers -1 and 2 times -1 and 3; and 65,535 and 2 times -1 and 3.
        let (factor, addend) = (0x0002_FFFF, 0x0003_FFFF);
        assert_eq!(step(Arithmetic::DotWords, 1, factor, addend), 1 + 1 + 6);
        let mixed = step(Arithmetic::DotMixedWords, 1, factor, addend);
        assert_eq!(mixed as u32 as i32, 1 - 65_535 + 6);
        // The row's bytes are -1, 2, 0, 0 and 1, 0, 0, 0 in turn, eight times; of the columns, the
        // even ones have -1, 3, 0, 0 all the way down, and the odd ones 3, 4, 0, 0.
        let (row, columns) = (0x0000_0001_0000_02FF, 0x0000_0403_0000_03FF);
        let [even, odd] = parts32(step(Arithmetic::TileBytes, two(5), row, columns));
        assert_eq!((even, odd), (5 + 8 * (1 + 6 - 1), 5 + 8 * (8 - 3 + 3)));
        // The row's numbers are 1 and 2, then 0.5 and 0, eight times; the columns have 1 and 2, or 4
        // and 0.
        let (row, columns) = (0x0000_3F00_4000_3F80, 0x0000_4080_4000_3F80);
        let [even, odd] = parts32(step(Arithmetic::TileBrain, two(0), row, columns));
        assert_eq!(even, (8.0 * (1.0 + 4.0 + 0.5_f32)).to_bits());
        assert_eq!(odd, (8.0 * (4.0 + 2.0_f32)).to_bits());
        assert_eq!(step(Arithmetic::SumOfProducts52, 1, 1 << 51, 2), 1);
        assert_eq!(step(Arithmetic::Shift32, two(0xF0), 0, 0x20_0000_0004), 0xF);
        assert_eq!(step(Arithmetic::LeadingZeros32, 1, 0, 0), 32 << 32 | 31);
        assert_eq!(step(Arithmetic::Merge, 0x1_0000_0002, 0, 0x3_0000_0004), 0x1_0000_0004);
        let lane = 0x4444_3333_2222_1111;
        assert_eq!(step(Arithmetic::Permutation16, lane, INDICES, 0), 0x3333_1111_4444_2222);
        assert_eq!(step(Arithmetic::Permutation32, lane, INDICES, 0), 0x2222_1111_4444_3333);
    }

    #[test]
    fn answers_add_up_bits_and_lose_none_of_an_even_number_of_lanes() {
        for registers in [Registers::Vector(2), Registers::Vector(4), Registers::Vector(8)] {
            for chains in 1..=16 {
                for bit in (0..64).map(|place| 1 << place) {
                    assert_ne!(registers.folded(bit, chains), 0, "{registers:?} {chains} {bit:#x}");
                }
            }
        }
        assert_eq!(Registers::ONE.folded(5, 1), 5);
        assert_eq!(Registers::Vector(2).folded(1, 1), 1 << 32 | 1);
        assert_eq!(Registers::Scalable(4).folded(1, 1), 4 << 32 | 1);
        assert_eq!(Registers::Tile.folded(1, 1), 0x40 << 32 | 0x40);
    }

    #[test]
    fn no_block_of_operands_crosses_a_cache_line() {
        assert_eq!(align_of::<Operands>(), 64);
        for arithmetic in ALL {
            let [first, last] = [arithmetic.start_offset(), arithmetic.addend_offset() + 7];
            assert_eq!(first / 64, last / 64, "{arithmetic:?}");
        }
    }
}
