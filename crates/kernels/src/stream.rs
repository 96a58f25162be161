//! What a stream is: its row, the constants it works on, the right to run it, and the macro that
//! declares it.
//!
//! A row is data about a kernel. The kernel itself is reached only through [`Runnable`], which
//! [`StreamRow::runnable`] hands out after it asked the CPU for the instruction sets of the row.
//! That one check is what makes [`Runnable::run`] safe, and it keeps tests for features out of the
//! timed stretch.

use std::fmt;

use model::{Datatype, Isa, Obstacle, Unavailable};

use crate::arithmetic::{Arithmetic, Registers};
#[cfg(target_arch = "x86_64")]
use crate::xstate::{self, are_tiles_permitted};
use crate::{InLoop, Operands};

/// A kernel: executes so many trips through its body on the constants behind the pointer and
/// returns an answer that depends on each op. The last argument is the number of multiplies in a
/// trip, for those kernels that have the ruler in their loop; the others ignore it.
#[cfg(target_arch = "x86_64")]
pub(crate) type KernelFn = unsafe extern "sysv64" fn(u64, *const Operands, u64) -> u64;
/// A kernel: executes so many trips through its body on the constants behind the pointer and
/// returns an answer that depends on each op. It ignores the last argument.
#[cfg(target_arch = "aarch64")]
pub(crate) type KernelFn = unsafe extern "C" fn(u64, *const Operands, u64) -> u64;

/// What bounds the speed of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Each op waits for the one before it: time per op is the op's latency.
    Latency,
    /// Enough independent chains to keep the execution ports busy: time per op is their throughput.
    Throughput,
    /// Instructions that are done as soon as they are renamed, and occupy no execution port: time
    /// per op is how fast a core renames.
    Rename,
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
            Kind::Rename => "rename",
            Kind::Spin => "spin",
            Kind::Null => "null",
        }
    }
}

/// How much ops ask of a core beside the width of their registers, as frequency licences tell it apart.
///
/// # Source
///
/// Intel 64 and IA-32 Architectures Optimization Reference Manual, "Power management impact" of AVX-512: heavy are
/// floating point and integer multiplication, and what runs on the same units; light are all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// They keep no multiplier busy.
    Light,
    /// They multiply, or add floating-point numbers, wherever one is free.
    Heavy,
}

/// The data on which a stream is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// No op changes a bit: least power.
    Quiet,
    /// Each op changes many bits, where its arithmetic can: most power.
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

/// How often a body of so many ops serves each of its chains.
pub(crate) const fn rounds(ops: u64, chains: u64) -> u64 {
    assert!(ops.is_multiple_of(chains), "the chains of a stream must be equally long");
    ops / chains
}

/// An instruction that stands in each iteration once, beside the ops.
#[derive(Debug, Clone, Copy)]
pub struct CompanionInstruction {
    /// The instruction, as an assembler spells it.
    pub mnemonic: &'static str,
    pub(crate) arithmetic: Arithmetic,
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
    /// Width of the vector registers it works on; none where it works on none, on part of one or on
    /// tiles, or where the CPU chooses the width.
    pub width_bits: Option<u32>,
    /// What bounds its speed.
    pub kind: Kind,
    /// What its ops ask of a core, whose licence follows from that and from the width.
    pub weight: Weight,
    /// Independent chains of ops: one for serial and spin streams, none for the null stream.
    pub chains: u32,
    /// Ops in one iteration. Each is an instruction of [`StreamRow::mnemonic`].
    pub ops_per_iteration: u64,
    /// The instruction under study, as an assembler spells it.
    pub mnemonic: &'static str,
    /// Another name that users may type.
    pub alias: Option<&'static str>,
    /// The instructions that follow the one under study in each op.
    pub followers: &'static [&'static str],
    /// The instruction beside the ops, if there is one.
    pub beside: Option<CompanionInstruction>,
    /// The number of the first chain's vector register.
    pub first_register: u32,
    pub(crate) arithmetic: Arithmetic,
    pub(crate) entry: KernelFn,
    pub(crate) in_loop: &'static [InLoop],
}

impl StreamRow {
    /// The right to run it, or the instruction sets that this CPU and its operating system lack.
    pub fn runnable(&'static self) -> Result<Runnable, Unavailable> {
        if let Some(unavailable) = self.lacking(is_detected) {
            return Err(unavailable);
        }
        if self.needs.contains(&Isa::AmxTile) && !are_tiles_permitted() {
            return Err(self.not_permitted());
        }
        Ok(Runnable { row: self, entry: self.entry })
    }

    fn not_permitted(&self) -> Unavailable {
        let why = "the kernel has not permitted this process to use tiles: arch_prctl(2) with \
                   ARCH_GET_XCOMP_PERM does not name XTILEDATA";
        Unavailable::new(Obstacle::Permission, self.id, why)
    }

    /// What is missing, if anything, where `offered` tells what there is.
    pub fn lacking(&self, offered: impl Fn(Isa) -> bool) -> Option<Unavailable> {
        lacking(self.id, self.needs, offered)
    }

    /// The datatype that it multiplies and adds, where it does.
    pub fn datatype(&self) -> Option<Datatype> {
        Some(self.arithmetic.multiply_adds()?.0)
    }

    /// Multiplications and additions in one op, each counted, where it does both: two for each element
    /// that is multiplied.
    ///
    /// # Caveats
    ///
    /// Where the CPU chooses the width of its vectors they are those of this CPU, which must be one that
    /// executes the stream.
    pub fn operations_per_op(&self) -> Option<u32> {
        let (_, per_lane) = self.arithmetic.multiply_adds()?;
        Some(per_lane * self.registers().lanes() as u32).filter(|operations| *operations > 0)
    }

    /// The answer after so many iterations, computed one op at a time and without the kernel.
    pub fn expected(&self, iterations: u64, operands: &Operands) -> u64 {
        let ops = iterations * self.ops_per_iteration;
        match self.beside {
            None => self.after_ops(ops, operands),
            Some(beside) => {
                let ops = self.arithmetic.answer(ops, 1, Registers::ONE, operands);
                let beside = beside.arithmetic.answer(iterations, 1, self.registers(), operands);
                ops.wrapping_add(beside)
            }
        }
    }

    /// The answer after so many ops on all chains, with nothing beside them.
    pub(crate) fn after_ops(&self, ops: u64, operands: &Operands) -> u64 {
        self.arithmetic.answer(ops, u64::from(self.chains), self.registers(), operands)
    }

    /// The registers of a chain.
    fn registers(&self) -> Registers {
        #[cfg(target_arch = "aarch64")]
        if self.needs.contains(&Isa::Sve) {
            return Registers::Scalable(scalable_bits() / 64);
        }
        if self.needs.contains(&Isa::AmxTile) {
            return Registers::Tile;
        }
        Registers::Vector(u64::from(self.width_bits.unwrap_or(64) / 64))
    }
}

/// What is missing for something that needs such instruction sets, if anything.
pub(crate) fn lacking(
    what: &str,
    needs: &[Isa],
    offered: impl Fn(Isa) -> bool,
) -> Option<Unavailable> {
    let missing: Vec<_> =
        needs.iter().filter(|&&isa| !offered(isa)).map(|isa| isa.name()).collect();
    if missing.is_empty() {
        return None;
    }
    let why = format!("this CPU, or the system that runs it, lacks {}", missing.join(" and "));
    Some(Unavailable::new(Obstacle::Hardware, what, why))
}

/// Whether CPU and operating system both offer an instruction set.
#[cfg(target_arch = "x86_64")]
pub(crate) fn is_detected(isa: Isa) -> bool {
    match isa {
        Isa::Sse2 => std::is_x86_feature_detected!("sse2"),
        Isa::Avx => std::is_x86_feature_detected!("avx"),
        Isa::Fma => std::is_x86_feature_detected!("fma"),
        Isa::Avx2 => std::is_x86_feature_detected!("avx2"),
        Isa::Avx512f => std::is_x86_feature_detected!("avx512f"),
        Isa::Avx512cd => std::is_x86_feature_detected!("avx512cd"),
        Isa::Avx512bw => std::is_x86_feature_detected!("avx512bw"),
        Isa::Avx512vl => std::is_x86_feature_detected!("avx512vl"),
        Isa::Avx512ifma => std::is_x86_feature_detected!("avx512ifma"),
        Isa::Avx512Vnni => std::is_x86_feature_detected!("avx512vnni"),
        Isa::Avx512Bf16 => std::is_x86_feature_detected!("avx512bf16"),
        Isa::Avx512Fp16 => std::is_x86_feature_detected!("avx512fp16"),
        Isa::AvxVnni => std::is_x86_feature_detected!("avxvnni"),
        Isa::AvxVnniInt8 => std::is_x86_feature_detected!("avxvnniint8"),
        Isa::AvxVnniInt16 => std::is_x86_feature_detected!("avxvnniint16"),
        Isa::Waitpkg => announces(7, |leaf| leaf.ecx >> 5),
        Isa::Mwaitx => announces(0x8000_0001, |leaf| leaf.ecx >> 29),
        Isa::AmxBf16 => has_tiles(|leaves| leaves[0].edx >> 22),
        Isa::AmxTile => has_tiles(|leaves| leaves[0].edx >> 24),
        Isa::AmxInt8 => has_tiles(|leaves| leaves[0].edx >> 25),
        Isa::AmxFp16 => has_tiles(|leaves| leaves[1].eax >> 21),
        // A stream that needs another one adds its line.
        _ => false,
    }
}

/// Whether CPUID has a leaf, and this bit of it.
///
/// # Source
///
/// Intel SDM volume 2A, CPUID; AMD64 APM volume 3, CPUID Fn8000_0001.
#[cfg(target_arch = "x86_64")]
fn announces(leaf: u32, bit: fn(std::arch::x86_64::CpuidResult) -> u32) -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    __cpuid(leaf & 0x8000_0000).eax >= leaf && bit(__cpuid_count(leaf, 0)) & 1 == 1
}

/// Whether CPUID 7.0 or 7.1 has this bit of AMX, and the system saves tiles. The permission that a
/// process needs besides is no property of the machine.
///
/// # Source
///
/// Intel SDM volume 2A, CPUID.
#[cfg(target_arch = "x86_64")]
fn has_tiles(bit: fn([std::arch::x86_64::CpuidResult; 2]) -> u32) -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    let offered = __cpuid(0).eax >= 7 && bit([0, 1].map(|leaf| __cpuid_count(7, leaf))) & 1 == 1;
    offered && xstate::enabled() & xstate::TILES == xstate::TILES
}

/// No stream of this architecture has tiles.
#[cfg(target_arch = "aarch64")]
fn are_tiles_permitted() -> bool {
    false
}

/// Whether CPU and operating system both offer an instruction set.
#[cfg(target_arch = "aarch64")]
pub(crate) fn is_detected(isa: Isa) -> bool {
    match isa {
        Isa::Asimd => std::arch::is_aarch64_feature_detected!("neon"),
        Isa::Asimdhp => std::arch::is_aarch64_feature_detected!("fp16"),
        Isa::Asimddp => std::arch::is_aarch64_feature_detected!("dotprod"),
        Isa::I8mm => std::arch::is_aarch64_feature_detected!("i8mm"),
        Isa::Bf16 => std::arch::is_aarch64_feature_detected!("bf16"),
        Isa::Sve => std::arch::is_aarch64_feature_detected!("sve"),
        // A stream that needs another one adds its line.
        _ => false,
    }
}

/// The bits of a vector whose length the CPU chooses; none where it has no such vectors.
#[cfg(target_arch = "aarch64")]
fn scalable_bits() -> u64 {
    #[unsafe(naked)]
    unsafe extern "C" fn bytes() -> u64 {
        core::arch::naked_asm!(".arch_extension sve", "rdvl x0, #1", "ret", ".arch_extension nosve")
    }
    if !is_detected(Isa::Sve) {
        return 0;
    }
    // SAFETY: the CPU has SVE, and the function only reads the length of its vectors.
    8 * unsafe { bytes() }
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
    /// None. It is a sum of the bits of all registers that hold a result: one flipped bit changes it,
    /// whichever it is. With [`Operands::COUNTING`] it depends on each op. Streams whose op forgets,
    /// repeats or has no numbers take the count from the loop counter, whatever the operands, and add
    /// what is left of the numbers.
    ///
    /// # Caveats
    ///
    /// Floating point counts until it rounds: a chain's count stands still at 2 to the 53rd in 64
    /// bits, at 2 to the 24th in 32 bits, and at 2048 in 16 bits.
    #[inline]
    pub fn run(&self, iterations: u64, operands: &Operands) -> u64 {
        // SAFETY: the row's instruction sets were found by `StreamRow::runnable`, the only maker of
        // this type. Kernels come from `stream!` alone: they read the block of operands, which is
        // borrowed for the call, write nothing but their own stack, and change only registers that
        // are the callee's.
        unsafe { (self.entry)(iterations, operands, 0) }
    }

    /// Its kernels with the ruler in their loop, those with fewer ops first: none, or two.
    ///
    /// There is none for streams that occupy no execution unit, wait on purpose, or have other
    /// instructions beside their ops; and none on AArch64.
    pub fn in_loop(&self) -> &'static [InLoop] {
        self.row.in_loop
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
                    let stream = self.row.id;
                    let multiplies = 0;
                    return Err(WrongAnswer { stream, iterations, multiplies, expected, found });
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
    /// The ruler's multiplies in each iteration; 0 where the ruler was not in the loop.
    pub multiplies: u32,
    /// The right answer.
    pub expected: u64,
    /// The kernel's answer.
    pub found: u64,
}

impl fmt::Display for WrongAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WrongAnswer { stream, iterations, multiplies, expected, found } = self;
        write!(f, "stream `{stream}` answered {found} after {iterations} iterations")?;
        if *multiplies != 0 {
            write!(f, " with {multiplies} multiplies in each")?;
        }
        write!(f, ", expected {expected}")
    }
}

impl std::error::Error for WrongAnswer {}

/// The mnemonic without the encoding that an assembler is asked for in front of it: `{vex}`, its
/// braces doubled as in all text for the assembler.
pub(crate) const fn without_encoding(spelled: &'static str) -> &'static str {
    const VEX: &str = "{{vex}} ";
    if matches!(spelled.as_bytes(), [b'{', ..]) { spelled.split_at(VEX.len()).1 } else { spelled }
}

/// The width of a class of vector registers; of those that hold one number in it, none.
macro_rules! width_bits {
    (sse) => {
        Some(128_u32)
    };
    (xmm) => {
        Some(128_u32)
    };
    (ymm) => {
        Some(256_u32)
    };
    (zmm) => {
        Some(512_u32)
    };
    (neon) => {
        Some(128_u32)
    };
    ($other:ident) => {
        None
    };
}

/// A row's title: the family's, with what its class of registers adds.
macro_rules! title {
    (none $title:literal) => {
        $title
    };
    (timed $title:literal) => {
        $title
    };
    (event $title:literal) => {
        $title
    };
    (gpr $title:literal) => {
        concat!("64-bit ", $title)
    };
    (scalar $title:literal) => {
        concat!("scalar ", $title)
    };
    (clean $title:literal) => {
        concat!($title, ", upper halves clean")
    };
    (tile $title:literal) => {
        concat!("tile ", $title)
    };
    (dirty $title:literal) => {
        concat!($title, ", upper halves dirty")
    };
    (ymm $title:literal) => {
        concat!("256-bit ", $title)
    };
    (zmm $title:literal) => {
        concat!("512-bit ", $title)
    };
    (sve $title:literal) => {
        concat!("SVE ", $title)
    };
    ($other:ident $title:literal) => {
        concat!("128-bit ", $title)
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

/// The instructions that follow each op of a class and belong to it.
macro_rules! followers {
    (clean) => {
        &["ucomisd", "jp"]
    };
    (dirty) => {
        &["ucomisd", "jp"]
    };
    ($other:ident) => {
        &[]
    };
}

/// The instruction beside the ops, if there is one.
macro_rules! beside {
    () => {
        None
    };
    ($arithmetic:ident $mnemonic:literal) => {
        Some($crate::stream::CompanionInstruction {
            mnemonic: $mnemonic,
            arithmetic: $crate::arithmetic::Arithmetic::$arithmetic,
        })
    };
}

/// What ops ask of a core: little, where a family says nothing.
macro_rules! weight {
    () => {
        $crate::Weight::Light
    };
    ($weight:ident) => {
        $crate::Weight::$weight
    };
}

/// The number of the first chain's vector register.
macro_rules! first_register {
    ($chains:tt) => {
        0
    };
    ($chains:tt from $first:tt) => {
        $first
    };
}

/// Declares a stream, in as many register classes as it has rows: kernel, row and help at once.
///
/// The doc comment is the help of every row. `chains` are in the registers from 0 on, or `from`
/// another one. `op` is an [`Arithmetic`] and the mnemonic that performs it, followed by the one of
/// AArch64 where that differs; with `beside`, the ops are scalar and one vector instruction stands
/// in each iteration beside them. `weight` is that of the ops where they are not light. A row is a class of registers, the name of the static, the id,
/// and what it needs. Classes are `none`, `timed`, `gpr`, and `clean` and `dirty` for scalar floating point
/// with such upper halves; `scalar`, `sse`, `xmm`, `ymm`, `zmm` and `tile` on x86-64; `neon` and `sve` on
/// AArch64.
macro_rules! stream {
    (
        $(#[doc = $doc:literal])+
        title: $title:literal,
        kind: $kind:ident, chains: $chains:tt $(from $first:tt)?, ops: $ops:tt,
        op: $arithmetic:ident $mnemonic:tt $(($elsewhere:tt on aarch64))?,
        $(beside: $side:ident $simd:literal,)?
        $(weight: $weight:ident,)?
        rows: { $($row:tt)+ }
    ) => {
        stream_rows! {
            concat!($($doc),+), $title, $kind, $chains, ($chains $(from $first)?), $ops,
            $arithmetic (native!($mnemonic $($elsewhere)?)), [$($side $simd)?], [$($weight)?],
            $($row)+
        }
    };
}

/// The part of `stream!` that repeats for each row.
macro_rules! stream_rows {
    (
        $doc:expr, $title:literal, $kind:ident, $chains:tt, $registers:tt, $ops:tt,
        $arithmetic:ident ($mnemonic:expr), $beside:tt, $weight:tt,
        $($class:ident $name:ident = $id:literal
            needs [$($isa:ident),*] $(alias $alias:literal)?),+ $(,)?
    ) => {
        $(
            #[doc = $doc]
            pub static $name: $crate::StreamRow = {
                kernel!($class $arithmetic $mnemonic, chains $registers, $beside);
                $crate::StreamRow {
                    id: $id,
                    title: title!($class $title),
                    doc: $doc.trim_ascii(),
                    needs: &[$(model::Isa::$isa),*],
                    width_bits: width_bits!($class),
                    kind: $crate::Kind::$kind,
                    weight: weight! $weight,
                    chains: $chains,
                    ops_per_iteration: $ops,
                    mnemonic: $crate::stream::without_encoding($mnemonic),
                    alias: alias!($($alias)?),
                    arithmetic: $crate::arithmetic::Arithmetic::$arithmetic,
                    followers: followers!($class),
                    beside: beside! $beside,
                    first_register: first_register! $registers,
                    entry: kernel::<$ops, 0>,
                    in_loop: in_loop!($class $kind $chains $beside $name),
                }
            };
        )+
    };
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::ruler::{self, every_row};
    use crate::streams;

    /// The rows that can run on this machine; for the others, the reason is checked.
    pub(crate) fn runnables() -> impl Iterator<Item = Runnable> {
        #[cfg(target_arch = "x86_64")]
        xstate::tests::ask_for_tiles();
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
                // Of several numbers the answer is a sum of bits: the next tests are for those.
                let is_one = row.chains == 1 && row.registers() == Registers::ONE;
                let expected = match row.arithmetic {
                    Arithmetic::Sum | Arithmetic::Count if is_one && row.beside.is_none() => ops,
                    Arithmetic::RealSum | Arithmetic::Fused if is_one => (ops as f64).to_bits(),
                    Arithmetic::FusedOneSingle if is_one => u64::from((ops as f32).to_bits()),
                    _ => continue,
                };
                let found = runnable.run(iterations, &Operands::COUNTING);
                assert_eq!(found, expected, "{} after {iterations}", row.id);
            }
        }
    }

    #[test]
    fn answers_tell_counts_apart() {
        for runnable in runnables().filter(|one| one.row().kind != Kind::Null) {
            let answers = (0..=20).map(|iterations| runnable.run(iterations, &Operands::COUNTING));
            let different: BTreeSet<u64> = answers.collect();
            assert_eq!(different.len(), 21, "{}", runnable.row().id);
        }
    }

    #[test]
    fn answers_are_right_for_any_data_and_count() {
        for runnable in runnables() {
            let row = runnable.row();
            for operands in [&Operands::QUIET, &Operands::COUNTING, &Operands::TOGGLING] {
                for iterations in [0, 1, 3, 1001] {
                    let expected = row.expected(iterations, operands);
                    let found = runnable.run(iterations, operands);
                    assert_eq!(found, expected, "{} after {iterations}", row.id);
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

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn tiles_need_a_permission() {
        let row = &streams::tiles::AMX_INT8;
        let reason = row.not_permitted();
        assert_eq!((reason.what.as_str(), reason.obstacle), ("amx_int8", Obstacle::Permission));
        xstate::tests::ask_for_tiles();
        assert_eq!(row.runnable().is_ok(), are_tiles_permitted() && is_detected(Isa::AmxInt8));
    }

    #[test]
    fn encodings_are_no_part_of_a_mnemonic() {
        assert_eq!(without_encoding("{{vex}} vpdpbusd"), "vpdpbusd");
        assert_eq!(without_encoding("vpdpbusd"), "vpdpbusd");
    }

    #[test]
    fn data_chooses_its_operands() {
        assert_eq!(Data::Quiet.operands().whole.addend, 0);
        assert_ne!(Data::Toggling.operands().whole.addend, 0);
        assert_ne!(Data::Quiet.word(), Data::Toggling.word());
    }
}
