//! The shapes of kernels on AArch64.
//!
//! The frame is the one of x86-64: aligned entry and loop head, constants loaded before the loop, a
//! test that skips the loop for zero iterations, and an epilogue that folds every chain into `x0`.
//! The loop ends with `subs` and `b.ne`, the same two steps as `dec` and `jnz`. Registers 8 to 15
//! of the vectors are the caller's, and are left alone.

/// The mnemonic to use on this architecture: the last one.
macro_rules! native {
    ($here:tt) => {
        $here
    };
    ($elsewhere:tt $here:tt) => {
        $here
    };
}

/// The registers of so many chains, as a list for `.irp`.
macro_rules! chain_list {
    (gpr 1) => {
        "x2"
    };
    (gpr 5) => {
        "x2,x3,x4,x5,x6"
    };
    (vector 1) => {
        "0"
    };
    (vector 10) => {
        "0,1,2,3,4,5,6,7,16,17"
    };
    (vector 16) => {
        "0,1,2,3,4,5,6,7,16,17,18,19,20,21,22,23"
    };
}

/// The operands of one op on chain `\c`, with the factor in 30 and the addend in 31.
macro_rules! operands {
    (neon Sum) => {
        "v\\c\\().2d, v\\c\\().2d, v31.2d"
    };
    (neon Accumulate) => {
        "v\\c\\().2d, v30.2d, v31.2d"
    };
    (neon AccumulateSingle) => {
        "v\\c\\().4s, v30.4s, v31.4s"
    };
    (neon AccumulateHalf) => {
        "v\\c\\().8h, v30.8h, v31.8h"
    };
    (neon DotSignedBytes) => {
        "v\\c\\().4s, v30.16b, v31.16b"
    };
    (neon MatrixBytes) => {
        "v\\c\\().4s, v30.16b, v31.16b"
    };
    (neon DotBrain) => {
        "v\\c\\().4s, v30.8h, v31.8h"
    };
    (neon MatrixBrain) => {
        "v\\c\\().4s, v30.8h, v31.8h"
    };
    (sve Sum) => {
        "z\\c\\().d, z\\c\\().d, z31.d"
    };
    (sve Fused) => {
        "z\\c\\().d, p0/m, z30.d, z31.d"
    };
    (sve FusedSingle) => {
        "z\\c\\().s, p0/m, z30.s, z31.s"
    };
    (sve FusedHalf) => {
        "z\\c\\().h, p0/m, z30.h, z31.h"
    };
    (sve DotSignedBytes) => {
        "z\\c\\().s, z30.b, z31.b"
    };
}

/// The extension of the architecture that an arithmetic needs in these registers, for the assembler.
macro_rules! extension {
    (sve $arithmetic:ident) => {
        "sve"
    };
    (neon AccumulateHalf) => {
        "fp16"
    };
    (neon DotSignedBytes) => {
        "dotprod"
    };
    (neon MatrixBytes) => {
        "i8mm"
    };
    (neon DotBrain) => {
        "bf16"
    };
    (neon MatrixBrain) => {
        "bf16"
    };
    (neon $other:ident) => {
        "simd"
    };
}

/// The bits of a vector whose length the CPU chooses; none where it has no such vectors.
pub(crate) fn scalable_bits() -> u64 {
    #[unsafe(naked)]
    unsafe extern "C" fn bytes() -> u64 {
        core::arch::naked_asm!(".arch_extension sve", "rdvl x0, #1", "ret", ".arch_extension nosve")
    }
    if !crate::stream::is_detected(model::Isa::Sve) {
        return 0;
    }
    // SAFETY: the CPU has SVE, and the function only reads the length of its vectors.
    8 * unsafe { bytes() }
}

/// The kernels in whose loop the ruler stands beside the stream's ops: none here, where many cores
/// execute in order, and the ruler beside a payload would measure both.
macro_rules! in_loop {
    ($($row:tt)*) => {
        &[]
    };
}

/// A kernel of instructions that compute nothing.
macro_rules! counting_kernel {
    ($op:expr) => {
        #[unsafe(naked)]
        unsafe extern "C" fn kernel<const OPS: u64, const SLED: u32>(
            _: u64,
            _: *const $crate::Operands,
            _: u64,
        ) -> u64 {
            core::arch::naked_asm!(
                ".p2align 6",
                "mov x9, x0",
                "cbz x0, 3f",
                ".p2align 6",
                "2:",
                ".rept {ops}",
                $op,
                ".endr",
                "subs x0, x0, #1",
                "b.ne 2b",
                "3:",
                "sub x9, x9, x0",
                "mov x10, #{ops}",
                "mul x0, x9, x10",
                "ret",
                ops = const OPS,
            )
        }
    };
}

/// One naked function called `kernel`, generic over the ops in an iteration. No multiplies of the
/// ruler are beside them.
macro_rules! kernel {
    // The call alone.
    (none Nothing $mnemonic:tt, chains $chains:tt, []) => {
        #[unsafe(naked)]
        unsafe extern "C" fn kernel<const OPS: u64, const SLED: u32>(
            _: u64,
            _: *const $crate::Operands,
            _: u64,
        ) -> u64 {
            core::arch::naked_asm!(".p2align 6", "mov x0, #0", "ret")
        }
    };

    // An instruction without operands and without a result. The answer comes from the loop counter.
    (none Count $mnemonic:tt, chains $chains:tt, []) => {
        counting_kernel! { $mnemonic }
    };

    // One that needs an event to return.
    (event Count $mnemonic:tt, chains $chains:tt, []) => {
        counting_kernel! { concat!("sevl\n", $mnemonic) }
    };

    // General purpose registers, chain and operand both in registers.
    (gpr $arithmetic:ident $mnemonic:tt, chains ($chains:tt), []) => {
        #[unsafe(naked)]
        unsafe extern "C" fn kernel<const OPS: u64, const SLED: u32>(
            _: u64,
            _: *const $crate::Operands,
            _: u64,
        ) -> u64 {
            core::arch::naked_asm!(
                ".p2align 6",
                "ldr x16, [x1, #{operand}]",
                concat!(".irp r,", chain_list!(gpr $chains)),
                "ldr \\r, [x1, #{start}]",
                ".endr",
                "cbz x0, 3f",
                ".p2align 6",
                "2:",
                ".rept {rounds}",
                concat!(".irp r,", chain_list!(gpr $chains)),
                concat!($mnemonic, " \\r, \\r, x16"),
                ".endr",
                ".endr",
                "subs x0, x0, #1",
                "b.ne 2b",
                "3:",
                "mov x0, #0",
                concat!(".irp r,", chain_list!(gpr $chains)),
                "eor x0, x0, x0, lsr #{mix}",
                "add x0, x0, \\r",
                ".endr",
                "ret",
                operand = const $crate::arithmetic::Arithmetic::$arithmetic.operand_offset(),
                start = const $crate::arithmetic::Arithmetic::$arithmetic.start_offset(),
                mix = const $crate::arithmetic::CHAIN_SHIFT,
                rounds = const $crate::stream::rounds(OPS, $chains),
            )
        }
    };

    // Vectors of two 64-bit lanes.
    (neon $arithmetic:ident $mnemonic:tt, chains ($chains:tt), []) => {
        #[unsafe(naked)]
        unsafe extern "C" fn kernel<const OPS: u64, const SLED: u32>(
            _: u64,
            _: *const $crate::Operands,
            _: u64,
        ) -> u64 {
            core::arch::naked_asm!(
                concat!(".arch_extension ", extension!(neon $arithmetic)),
                ".p2align 6",
                "add x9, x1, #{factor}",
                "ld1r {{v30.2d}}, [x9]",
                "add x9, x1, #{addend}",
                "ld1r {{v31.2d}}, [x9]",
                "add x9, x1, #{start}",
                concat!(".irp c,", chain_list!(vector $chains)),
                "ld1r {{v\\c\\().2d}}, [x9]",
                ".endr",
                "cbz x0, 3f",
                ".p2align 6",
                "2:",
                ".rept {rounds}",
                concat!(".irp c,", chain_list!(vector $chains)),
                concat!($mnemonic, " ", operands!(neon $arithmetic)),
                ".endr",
                ".endr",
                "subs x0, x0, #1",
                "b.ne 2b",
                "3:",
                "movi v29.2d, #0",
                concat!(".irp c,", chain_list!(vector $chains)),
                "ushr v28.2d, v29.2d, #{mix}",
                "eor v29.16b, v29.16b, v28.16b",
                "add v29.2d, v29.2d, v\\c\\().2d",
                ".endr",
                "ext v28.16b, v29.16b, v29.16b, #8",
                "rev64 v28.4s, v28.4s",
                "add v29.2d, v29.2d, v28.2d",
                "fmov x0, d29",
                "ret",
                factor = const $crate::arithmetic::Arithmetic::$arithmetic.factor_offset(),
                addend = const $crate::arithmetic::Arithmetic::$arithmetic.addend_offset(),
                start = const $crate::arithmetic::Arithmetic::$arithmetic.start_offset(),
                mix = const $crate::arithmetic::CHAIN_SHIFT,
                rounds = const $crate::stream::rounds(OPS, $chains),
            )
        }
    };

    // Vectors of as many lanes as the CPU has.
    (sve $arithmetic:ident $mnemonic:tt, chains ($chains:tt), []) => {
        #[unsafe(naked)]
        unsafe extern "C" fn kernel<const OPS: u64, const SLED: u32>(
            _: u64,
            _: *const $crate::Operands,
            _: u64,
        ) -> u64 {
            core::arch::naked_asm!(
                concat!(".arch_extension ", extension!(sve $arithmetic)),
                ".p2align 6",
                // Of all bytes, and so of all numbers whatever their size.
                "ptrue p0.b",
                "add x9, x1, #{factor}",
                "ld1rd {{z30.d}}, p0/z, [x9]",
                "add x9, x1, #{addend}",
                "ld1rd {{z31.d}}, p0/z, [x9]",
                "add x9, x1, #{start}",
                concat!(".irp c,", chain_list!(vector $chains)),
                "ld1rd {{z\\c\\().d}}, p0/z, [x9]",
                ".endr",
                "cbz x0, 3f",
                ".p2align 6",
                "2:",
                ".rept {rounds}",
                concat!(".irp c,", chain_list!(vector $chains)),
                concat!($mnemonic, " ", operands!(sve $arithmetic)),
                ".endr",
                ".endr",
                "subs x0, x0, #1",
                "b.ne 2b",
                "3:",
                "mov z29.d, #0",
                concat!(".irp c,", chain_list!(vector $chains)),
                "lsr z28.d, z29.d, #{mix}",
                "eor z29.d, z29.d, z28.d",
                "add z29.d, z29.d, z\\c\\().d",
                ".endr",
                "uaddv d28, p0, z29.d",
                "fmov x0, d28",
                "ror x0, x0, #32",
                "fmov x9, d29",
                "add x0, x0, x9",
                "ret",
                ".arch_extension nosve",
                factor = const $crate::arithmetic::Arithmetic::$arithmetic.factor_offset(),
                addend = const $crate::arithmetic::Arithmetic::$arithmetic.addend_offset(),
                start = const $crate::arithmetic::Arithmetic::$arithmetic.start_offset(),
                mix = const $crate::arithmetic::CHAIN_SHIFT,
                rounds = const $crate::stream::rounds(OPS, $chains),
            )
        }
    };
}
