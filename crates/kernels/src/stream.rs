//! What a stream is: its row, the constants it works on, the right to run it, and the macro that
//! declares it.
//!
//! A row is data about a kernel. The kernel itself is reached only through [`Runnable`], which
//! [`StreamRow::runnable`] hands out after it asked the CPU for the instruction sets of the row.
//! That one check is what makes [`Runnable::run`] safe, and it keeps tests for features out of the
//! timed stretch.

use std::fmt;
use std::mem::offset_of;

use model::{Isa, Obstacle, Unavailable};

/// A kernel: executes `iterations` trips through its body on the constants behind the pointer and
/// returns an answer that depends on each op.
#[cfg(target_arch = "x86_64")]
pub(crate) type KernelFn = unsafe extern "sysv64" fn(u64, *const Operands) -> u64;
/// A kernel: executes `iterations` trips through its body on the constants behind the pointer and
/// returns an answer that depends on each op.
#[cfg(target_arch = "aarch64")]
pub(crate) type KernelFn = unsafe extern "C" fn(u64, *const Operands) -> u64;

/// What bounds the speed of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Each op waits for the one before it: time per op is the op's latency.
    Latency,
    /// Enough independent chains to keep the execution ports busy: time per op is their throughput.
    Throughput,
    /// Instructions that wait on purpose.
    Spin,
    /// No op at all: time is the cost of the call.
    Null,
}

impl Kind {
    /// The word for it in records and tables.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Latency => "latency",
            Kind::Throughput => "throughput",
            Kind::Spin => "spin",
            Kind::Null => "null",
        }
    }
}

/// Start, factor and addend of one number type, in the order in which kernels look for them.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Constants<T> {
    pub(crate) start: T,
    pub(crate) factor: T,
    pub(crate) addend: T,
}

/// The constants that kernels load before their loop.
///
/// They fill one cache line, so loading them costs the same wherever they live. Addition streams
/// begin with the start value and use the addend, fused streams use all three, multiplication
/// streams begin with the start value made odd and use the factor.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Operands {
    pub(crate) real: Constants<f64>,
    pub(crate) whole: Constants<u64>,
}

impl Operands {
    /// No op changes a bit: sums and fused chains stay 0, products stay 1.
    pub const QUIET: Operands = Operands {
        real: Constants { start: 0.0, factor: 1.0, addend: 0.0 },
        whole: Constants { start: 0, factor: 1, addend: 0 },
    };

    /// Each op counts: sums and fused chains end with the number of ops, products with 3 to the
    /// power of it, modulo 2 to the 64th. The powers of 3 repeat after 2 to the 62nd, so they
    /// prove a count as well as a sum does.
    pub const COUNTING: Operands = Operands {
        real: Constants { start: 0.0, factor: 1.0, addend: 1.0 },
        whole: Constants { start: 0, factor: 3, addend: 1 },
    };

    /// Each op changes many bits.
    ///
    /// A fused chain alternates between 4/3 and -10/3 as nearly as 53 bits can tell. The two are
    /// bitwise complements and the addend is their exact sum, so that every op flips all 64 bits,
    /// never rounds, and never meets an infinity, a NaN or a denormal. Sums add 0101..., which
    /// flips 43 bits on average; products multiply by an odd number with no regular pattern.
    pub const TOGGLING: Operands = Operands {
        real: Constants {
            start: f64::from_bits(0x3FF5_5555_5555_5555),
            factor: -1.0,
            addend: f64::from_bits(0xBFFF_FFFF_FFFF_FFFF),
        },
        // The odd factor is 2 to the 64th over the golden ratio.
        whole: Constants { start: 0, factor: 0x9E37_79B9_7F4A_7C15, addend: 0x5555_5555_5555_5555 },
    };
}

/// The data on which a stream is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// No op changes a bit: least power.
    Quiet,
    /// Each op changes many bits: most power.
    Toggling,
}

impl Data {
    /// The word for it in records and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Data::Quiet => "quiet",
            Data::Toggling => "toggling",
        }
    }

    /// The constants to give to [`Runnable::run`].
    pub fn operands(self) -> &'static Operands {
        match self {
            Data::Quiet => &Operands::QUIET,
            Data::Toggling => &Operands::TOGGLING,
        }
    }
}

/// How the answer of a kernel follows from its operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    /// 64-bit floating point: times factor, plus addend.
    #[cfg(target_arch = "x86_64")]
    Real,
    /// 64-bit integers: plus addend.
    Sum,
    /// 64-bit integers: times factor.
    Product,
    /// None: the answer is the number of ops by the loop counter.
    Count,
    /// None: the answer is zero.
    Nothing,
}

impl Arithmetic {
    /// Where the second operand of an integer op lies within [`Operands`].
    pub(crate) const fn operand_offset(self) -> usize {
        match self {
            Arithmetic::Product => offset_of!(Operands, whole.factor),
            _ => offset_of!(Operands, whole.addend),
        }
    }

    /// Where the constants of a vector op lie within [`Operands`].
    #[cfg(target_arch = "x86_64")]
    pub(crate) const fn constants_offset(self) -> usize {
        match self {
            Arithmetic::Real => offset_of!(Operands, real),
            _ => offset_of!(Operands, whole),
        }
    }

    /// The number that changes nothing when chains are folded.
    pub(crate) const fn neutral(self) -> u64 {
        matches!(self, Arithmetic::Product) as u64
    }
}

/// How often a body of so many ops serves each of its chains.
pub(crate) const fn rounds(ops: u64, chains: u64) -> u64 {
    assert!(ops.is_multiple_of(chains), "the chains of a stream must be equally long");
    ops / chains
}

/// One instruction stream.
#[derive(Debug, Clone, Copy)]
pub struct StreamRow {
    /// The name that users type and records keep.
    pub id: &'static str,
    /// A few words for a table.
    pub title: &'static str,
    /// What it executes and what it is good for; for the user.
    pub doc: &'static str,
    /// The instruction sets without which it cannot run.
    pub needs: &'static [Isa],
    /// Width of the vector registers it works on; none where it works on none.
    pub width_bits: Option<u32>,
    /// What bounds its speed.
    pub kind: Kind,
    /// Independent chains of ops: one for serial and spin streams, none for the null stream.
    pub chains: u32,
    /// Ops in one iteration. Each is an instruction of [`StreamRow::mnemonic`].
    pub ops_per_iteration: u64,
    /// The instruction under study, as an assembler spells it.
    pub mnemonic: &'static str,
    /// Another name that users may type.
    pub alias: Option<&'static str>,
    pub(crate) arithmetic: Arithmetic,
    pub(crate) entry: KernelFn,
}

impl StreamRow {
    /// The right to run it, or the instruction sets that this CPU and its operating system lack.
    pub fn runnable(&'static self) -> Result<Runnable, Unavailable> {
        match self.lacking(is_detected) {
            None => Ok(Runnable { row: self, entry: self.entry }),
            Some(unavailable) => Err(unavailable),
        }
    }

    /// What is missing, if anything, where `offered` tells what there is.
    pub fn lacking(&self, offered: impl Fn(Isa) -> bool) -> Option<Unavailable> {
        let missing: Vec<_> =
            self.needs.iter().filter(|&&isa| !offered(isa)).map(|isa| isa.name()).collect();
        if missing.is_empty() {
            return None;
        }
        let why = format!("this CPU, or the system that runs it, lacks {}", missing.join(" and "));
        Some(Unavailable::new(Obstacle::Hardware, self.id, why))
    }

    /// The answer after so many iterations, computed one op at a time and without the kernel.
    pub(crate) fn expected(&self, iterations: u64, operands: &Operands) -> u64 {
        let ops = iterations * self.ops_per_iteration;
        let ops_per_chain = ops / u64::from(self.chains.max(1));
        let lanes = u64::from(self.width_bits.unwrap_or(64) / 64);
        let whole = &operands.whole;
        match self.arithmetic {
            #[cfg(target_arch = "x86_64")]
            Arithmetic::Real => {
                let real = &operands.real;
                let step = |value: f64, _| value.mul_add(real.factor, real.addend);
                let end_of_chain = (0..ops_per_chain).fold(real.start, step);
                let chains = (0..self.chains).fold(0.0, |sum, _| sum + end_of_chain);
                ((chains * lanes as f64) as i64 >> lanes.ilog2()).cast_unsigned()
            }
            Arithmetic::Sum => {
                let end_of_chain =
                    whole.start.wrapping_add(whole.addend.wrapping_mul(ops_per_chain));
                let all = end_of_chain.wrapping_mul(u64::from(self.chains)).wrapping_mul(lanes);
                (all.cast_signed() >> lanes.ilog2()).cast_unsigned()
            }
            Arithmetic::Product => {
                let step = |value: u64, _| value.wrapping_mul(whole.factor);
                let end_of_chain = (0..ops_per_chain).fold(whole.start | 1, step);
                end_of_chain.wrapping_pow(self.chains)
            }
            Arithmetic::Count => ops,
            Arithmetic::Nothing => 0,
        }
    }
}

/// Whether CPU and operating system both offer an instruction set.
#[cfg(target_arch = "x86_64")]
fn is_detected(isa: Isa) -> bool {
    match isa {
        Isa::Avx => std::is_x86_feature_detected!("avx"),
        Isa::Fma => std::is_x86_feature_detected!("fma"),
        Isa::Avx2 => std::is_x86_feature_detected!("avx2"),
        Isa::Avx512f => std::is_x86_feature_detected!("avx512f"),
        // A stream that needs another one adds its line.
        _ => false,
    }
}

/// Whether CPU and operating system both offer an instruction set: no stream here needs one.
#[cfg(target_arch = "aarch64")]
fn is_detected(_: Isa) -> bool {
    false
}

/// A stream that can run here. Only [`StreamRow::runnable`] makes one.
#[derive(Debug, Clone, Copy)]
pub struct Runnable {
    row: &'static StreamRow,
    // A copy of the row's, so that the timed stretch need not load it through the row.
    entry: KernelFn,
}

impl Runnable {
    /// The row it belongs to.
    pub fn row(&self) -> &'static StreamRow {
        self.row
    }

    /// Executes `iterations` trips through the body and returns the kernel's answer.
    ///
    /// One indirect call and nothing else, so it may stand between two stamps. With zero iterations
    /// no op is executed; the kernel tests for it once, before its loop, and the answer is made of
    /// the start values.
    ///
    /// # Unit
    ///
    /// None. With [`Operands::COUNTING`] it is the number of ops, or 3 to the power of it for the
    /// streams that multiply; spin streams tell their number of ops whatever the operands.
    ///
    /// # Caveats
    ///
    /// Fused streams count in 64-bit floating point: a chain's count stands still at 2 to the 53rd.
    #[inline]
    pub fn run(&self, iterations: u64, operands: &Operands) -> u64 {
        // SAFETY: the row's instruction sets were found by `StreamRow::runnable`, the only maker of
        // this type. Kernels come from `stream!` alone: they read the block of operands, which is
        // borrowed for the call, write no memory, and change only registers that are the callee's.
        unsafe { (self.entry)(iterations, operands) }
    }

    /// Runs a few small counts and compares the answers with those that plain arithmetic gives
    /// (invariant I9). It takes well under a millisecond.
    pub fn verify(&self) -> Result<(), WrongAnswer> {
        // Odd, so that a chain which runs twice or half as often cannot end where it should.
        for iterations in [1, 3, 7, 33] {
            for operands in [&Operands::COUNTING, &Operands::TOGGLING] {
                let expected = self.row.expected(iterations, operands);
                let found = self.run(iterations, operands);
                if found != expected {
                    return Err(WrongAnswer { stream: self.row.id, iterations, expected, found });
                }
            }
        }
        Ok(())
    }
}

/// A stream did not compute what its row promises: none of its numbers may be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongAnswer {
    /// The stream's id.
    pub stream: &'static str,
    /// Iterations that were asked for.
    pub iterations: u64,
    /// The right answer.
    pub expected: u64,
    /// The kernel's answer.
    pub found: u64,
}

impl fmt::Display for WrongAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WrongAnswer { stream, iterations, expected, found } = self;
        write!(
            f,
            "stream `{stream}` answered {found} after {iterations} iterations, expected {expected}"
        )
    }
}

impl std::error::Error for WrongAnswer {}

/// The width of a class of vector registers.
macro_rules! width_bits {
    (xmm) => {
        Some(128_u32)
    };
    (ymm) => {
        Some(256_u32)
    };
    (zmm) => {
        Some(512_u32)
    };
    ($other:ident) => {
        None
    };
}

/// A row's title: the family's, with the width in front where there is one.
macro_rules! title {
    (none $title:literal) => {
        $title
    };
    (gpr $title:literal) => {
        concat!("64-bit ", $title)
    };
    (xmm $title:literal) => {
        concat!("128-bit ", $title)
    };
    (ymm $title:literal) => {
        concat!("256-bit ", $title)
    };
    (zmm $title:literal) => {
        concat!("512-bit ", $title)
    };
}

/// A row's second name, if it has one.
macro_rules! alias {
    () => {
        None
    };
    ($alias:literal) => {
        Some($alias)
    };
}

/// Declares a stream, in as many register classes as it has rows: kernel, row and help at once.
///
/// The doc comment is the help of every row. `op` is an [`Arithmetic`] and the mnemonic that
/// performs it, followed by the one of AArch64 where that differs. A row is a class of registers
/// (`none`, `gpr`, `xmm`, `ymm` or `zmm`), the name of the static, the id, and what it needs.
macro_rules! stream {
    (
        $(#[doc = $doc:literal])+
        title: $title:literal,
        kind: $kind:ident, chains: $chains:tt, ops: $ops:tt,
        op: $arithmetic:ident $mnemonic:tt $(($elsewhere:tt on aarch64))?,
        rows: { $($row:tt)+ }
    ) => {
        stream_rows! {
            concat!($($doc),+), $title, $kind, $chains, $ops,
            $arithmetic (native!($mnemonic $($elsewhere)?)), $($row)+
        }
    };
}

/// The part of `stream!` that repeats for each row.
macro_rules! stream_rows {
    (
        $doc:expr, $title:literal, $kind:ident, $chains:tt, $ops:tt,
        $arithmetic:ident ($mnemonic:expr),
        $($class:ident $name:ident = $id:literal
            needs [$($isa:ident),*] $(alias $alias:literal)?),+ $(,)?
    ) => {
        $(
            #[doc = $doc]
            pub static $name: $crate::StreamRow = {
                kernel!($class $arithmetic $mnemonic, chains $chains, ops $ops);
                $crate::StreamRow {
                    id: $id,
                    title: title!($class $title),
                    doc: $doc.trim_ascii(),
                    needs: &[$(model::Isa::$isa),*],
                    width_bits: width_bits!($class),
                    kind: $crate::Kind::$kind,
                    chains: $chains,
                    ops_per_iteration: $ops,
                    mnemonic: $mnemonic,
                    alias: alias!($($alias)?),
                    arithmetic: $crate::stream::Arithmetic::$arithmetic,
                    entry: kernel,
                }
            };
        )+
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ruler::{self, every_row};
    use crate::streams;

    /// The rows that can run on this machine; for the others, the reason is checked.
    fn runnables() -> impl Iterator<Item = Runnable> {
        every_row().filter_map(|row| match row.runnable() {
            Ok(runnable) => Some(runnable),
            Err(unavailable) => {
                let missing =
                    |isa: &Isa| !is_detected(*isa) && unavailable.why.contains(isa.name());
                assert!(row.needs.iter().any(missing), "{unavailable:?}");
                None
            }
        })
    }

    #[test]
    fn every_stream_gives_the_right_answer() {
        for runnable in runnables() {
            assert_eq!(runnable.verify(), Ok(()));
        }
    }

    #[test]
    fn counting_operands_count_the_ops() {
        for runnable in runnables() {
            let row = runnable.row();
            for iterations in [0, 1, 5, 111] {
                let ops = iterations * row.ops_per_iteration;
                let expected = match row.arithmetic {
                    Arithmetic::Product => 3_u64.wrapping_pow(ops as u32),
                    _ => ops,
                };
                let found = runnable.run(iterations, &Operands::COUNTING);
                assert_eq!(found, expected, "{} after {iterations}", row.id);
            }
        }
    }

    #[test]
    fn quiet_operands_leave_sums_at_zero_and_products_at_one() {
        for runnable in runnables() {
            let row = runnable.row();
            for iterations in [0, 1, 5, 111] {
                let expected = match row.arithmetic {
                    Arithmetic::Product => 1,
                    Arithmetic::Count => iterations * row.ops_per_iteration,
                    _ => 0,
                };
                assert_eq!(runnable.run(iterations, &Operands::QUIET), expected, "{}", row.id);
            }
        }
    }

    #[test]
    fn toggling_operands_flip_all_bits_of_a_fused_chain_and_stay_finite() {
        let Constants { start, factor, addend } = Operands::TOGGLING.real;
        let other = start.mul_add(factor, addend);
        assert_eq!(other.to_bits(), !start.to_bits());
        assert_eq!(other.mul_add(factor, addend).to_bits(), start.to_bits());
        assert!(start.is_normal() && other.is_normal());
    }

    #[test]
    fn toggling_operands_flip_many_bits_of_a_sum() {
        let addend = Operands::TOGGLING.whole.addend;
        let mut sum = 0_u64;
        let mut flips = 0;
        for _ in 0..1000 {
            let next = sum.wrapping_add(addend);
            flips += (sum ^ next).count_ones();
            sum = next;
        }
        assert!((40_000..=48_000).contains(&flips), "{flips} bits in 1000 ops");
    }

    #[test]
    fn toggling_answers_do_not_grow() {
        // An answer that is no number converts to the largest negative integer, one that grows to
        // anything; the chains end at 4/3 after an even number of ops, in every lane.
        for runnable in runnables().filter(|one| one.row().width_bits.is_some()) {
            let row = runnable.row();
            for iterations in [0, 1, 3, 1001] {
                let expected = row.expected(iterations, &Operands::TOGGLING);
                let found = runnable.run(iterations, &Operands::TOGGLING);
                assert_eq!(found, expected, "{} after {iterations}", row.id);
                #[cfg(target_arch = "x86_64")]
                if row.arithmetic == Arithmetic::Real {
                    assert!(found <= u64::from(row.chains) * 4 / 3, "{} answered {found}", row.id);
                }
            }
        }
    }

    #[test]
    fn a_wrong_count_is_found() {
        static LIAR: StreamRow =
            StreamRow { ops_per_iteration: 99, ..streams::scalar::SCALAR_IADD };
        let wrong = LIAR.runnable().expect("it needs nothing").verify().unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "stream `scalar_iadd` answered 100 after 1 iterations, expected 99"
        );
    }

    #[test]
    fn a_lacking_instruction_set_is_named() {
        let row = StreamRow { needs: &[Isa::Avx2, Isa::Fma], ..ruler::NULL };
        assert_eq!(row.lacking(|_| true), None);
        let partly = row.lacking(|isa| isa == Isa::Avx2).expect("one is missing");
        assert_eq!(partly.what, "null");
        assert_eq!(partly.why, "this CPU, or the system that runs it, lacks fma");
        assert_eq!(partly.obstacle, Obstacle::Hardware);
        let fully = row.lacking(|_| false).expect("both are missing");
        assert!(fully.why.ends_with("lacks avx2 and fma"), "{}", fully.why);
    }

    #[test]
    fn operands_fill_one_cache_line() {
        assert_eq!(align_of::<Operands>(), 64);
        assert_eq!(size_of::<Operands>(), 64);
    }

    #[test]
    fn data_chooses_its_operands() {
        assert_eq!(Data::Quiet.operands().whole.addend, 0);
        assert_ne!(Data::Toggling.operands().whole.addend, 0);
        assert_ne!(Data::Quiet.word(), Data::Toggling.word());
    }
}
