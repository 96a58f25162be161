//! Instruction sets that a workload may need.

use serde::{Deserialize, Serialize};

macro_rules! instruction_sets {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal),+ $(,)?) => {
        /// An instruction set that CPU and operating system must both allow.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[derive()]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Isa {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant),+
        }

        impl Isa {
            /// All of them: of x86-64 and then of AArch64, families in order of their appearance.
            pub const ALL: &[Isa] = &[$(Isa::$variant),+];

            /// The name as the Linux kernel writes it among the flags (`avx512f`), but `sse3`; in
            /// the same style where the kernel has no word.
            pub fn name(self) -> &'static str {
                match self { $(Isa::$variant => $name),+ }
            }
        }
    };
}

instruction_sets! {
    /// 128-bit floating point and integers; every x86-64 CPU has it.
    Sse2 = "sse2",
    /// Horizontal additions of 128-bit vectors; the kernel calls it `pni`.
    Sse3 = "sse3",
    /// Shuffles of bytes, 128 bit.
    Ssse3 = "ssse3",
    /// AMD's own additions to 128-bit vectors.
    Sse4a = "sse4a",
    /// Blends, rounding and dot products, 128 bit.
    Sse41 = "sse4_1",
    /// Comparisons of strings and CRC-32.
    Sse42 = "sse4_2",
    /// Counting the bits that are set.
    Popcnt = "popcnt",
    /// Rounds of AES, 128 bit.
    Aes = "aes",
    /// Carry-less multiplication, 128 bit.
    Pclmulqdq = "pclmulqdq",
    /// 128- and 256-bit floating point, VEX encoding.
    Avx = "avx",
    /// Conversion of 16-bit floating point.
    F16c = "f16c",
    /// AMD's extended operations on vectors.
    Xop = "xop",
    /// Fused multiply-add with four operands, of AMD.
    Fma4 = "fma4",
    /// Fused multiply-add, 128 and 256 bit.
    Fma = "fma",
    /// 256-bit integers.
    Avx2 = "avx2",
    /// Bit manipulation, first set.
    Bmi1 = "bmi1",
    /// Bit manipulation, second set.
    Bmi2 = "bmi2",
    /// Additions with two carry chains.
    Adx = "adx",
    /// Rounds of SHA-1 and SHA-256.
    ShaNi = "sha_ni",
    /// AVX-512 Foundation: 512-bit integers and floating point.
    Avx512f = "avx512f",
    /// AVX-512: detection of conflicts.
    Avx512cd = "avx512cd",
    /// AVX-512: exponentials and reciprocals.
    Avx512er = "avx512er",
    /// AVX-512: prefetches.
    Avx512pf = "avx512pf",
    /// AVX-512: integers of 32 and 64 bits.
    Avx512dq = "avx512dq",
    /// AVX-512: integers of 8 and 16 bits.
    Avx512bw = "avx512bw",
    /// AVX-512: the same instructions on 128 and 256 bits.
    Avx512vl = "avx512vl",
    /// AVX-512: fused multiply-add of 52-bit integers.
    Avx512ifma = "avx512ifma",
    /// AVX-512: permutations of bytes.
    Avx512vbmi = "avx512vbmi",
    /// AVX-512: dot products of 16-bit integers, four at once.
    Avx512Vnniw4 = "avx512_4vnniw",
    /// AVX-512: fused multiply-add, four at once.
    Avx512Fmaps4 = "avx512_4fmaps",
    /// AVX-512: counting bits of 32- and 64-bit integers.
    Avx512Vpopcntdq = "avx512_vpopcntdq",
    /// AVX-512: dot products of 8- and 16-bit integers.
    Avx512Vnni = "avx512_vnni",
    /// AVX-512: compression and shifts of small integers.
    Avx512Vbmi2 = "avx512_vbmi2",
    /// AVX-512: counting bits of 8- and 16-bit integers.
    Avx512Bitalg = "avx512_bitalg",
    /// AVX-512: intersections.
    Avx512Vp2intersect = "avx512_vp2intersect",
    /// AVX-512: dot products of bfloat16.
    Avx512Bf16 = "avx512_bf16",
    /// AVX-512: 16-bit floating point.
    Avx512Fp16 = "avx512_fp16",
    /// Arithmetic in the field of 256 elements.
    Gfni = "gfni",
    /// Rounds of AES, 256 bit and wider.
    Vaes = "vaes",
    /// Carry-less multiplication, 256 bit and wider.
    Vpclmulqdq = "vpclmulqdq",
    /// Dot products of small integers, VEX encoding.
    AvxVnni = "avx_vnni",
    /// Fused multiply-add of 52-bit integers, VEX encoding.
    AvxIfma = "avx_ifma",
    /// Conversions of bfloat16 and 16-bit floating point, VEX encoding.
    AvxNeConvert = "avx_ne_convert",
    /// Dot products of 8-bit integers of any sign, VEX encoding.
    AvxVnniInt8 = "avx_vnni_int8",
    /// Dot products of 16-bit integers of any sign, VEX encoding.
    AvxVnniInt16 = "avx_vnni_int16",
    /// AVX10 version 1: AVX-512 as one set.
    Avx10v1 = "avx10.1",
    /// AVX10 version 2.
    Avx10v2 = "avx10.2",
    /// Tiles of AMX; a process asks the kernel before it may use them.
    AmxTile = "amx_tile",
    /// AMX: dot products of 8-bit integers.
    AmxInt8 = "amx_int8",
    /// AMX: dot products of bfloat16.
    AmxBf16 = "amx_bf16",
    /// AMX: dot products of 16-bit floating point.
    AmxFp16 = "amx_fp16",
    /// AMX: complex numbers of 16-bit floating point.
    AmxComplex = "amx_complex",
    /// TSC and CPU number in one instruction.
    Rdtscp = "rdtscp",
    /// The CPU number without the kernel.
    Rdpid = "rdpid",
    /// APERF and MPERF without the kernel, of AMD.
    Rdpru = "rdpru",
    /// MONITOR and MWAIT, which only the kernel may execute.
    Monitor = "monitor",
    /// MONITORX and MWAITX, of AMD.
    Mwaitx = "mwaitx",
    /// UMONITOR, UMWAIT and TPAUSE.
    Waitpkg = "waitpkg",
    /// An instruction that waits for all before it.
    Serialize = "serialize",
    /// Hints that a cache line will be used by another core.
    Cldemote = "cldemote",
    /// Stores that bypass the caches, up to 64 bits.
    Movdiri = "movdiri",
    /// Stores that bypass the caches, 64 bytes at once.
    Movdir64b = "movdir64b",
    /// Fast copies by `rep movsb`.
    Erms = "erms",
    /// Fast short copies by `rep movsb`.
    Fsrm = "fsrm",
    /// 128-bit vectors of AArch64 (NEON).
    Asimd = "asimd",
    /// Atomic operations on memory of AArch64 (LSE).
    Atomics = "atomics",
    /// NEON: 16-bit floating point.
    Asimdhp = "asimdhp",
    /// NEON: dot products of 8-bit integers.
    Asimddp = "asimddp",
    /// Vectors of a length that the CPU chooses (SVE).
    Sve = "sve",
    /// Products of matrices of 8-bit integers.
    I8mm = "i8mm",
    /// Products of matrices of bfloat16.
    Bf16 = "bf16",
    /// SVE, second version.
    Sve2 = "sve2",
    /// Waiting for an event with a limit in time.
    Wfxt = "wfxt",
    /// Matrices of AArch64 (SME).
    Sme = "sme",
    /// SME, second version.
    Sme2 = "sme2",
}

impl std::fmt::Display for Isa {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
