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

/// The registers of so many chains as an arithmetic sees them, as a list for `.irp`.
macro_rules! arranged {
    (neon Sum $chains:tt) => {
        arranged!("v" ".2d" $chains)
    };
    (neon Accumulate $chains:tt) => {
        arranged!("v" ".2d" $chains)
    };
    (neon AccumulateSingle $chains:tt) => {
        arranged!("v" ".4s" $chains)
    };
    (neon AccumulateHalf $chains:tt) => {
        arranged!("v" ".8h" $chains)
    };
    (neon DotSignedBytes $chains:tt) => {
        arranged!("v" ".4s" $chains)
    };
    (neon MatrixBytes $chains:tt) => {
        arranged!("v" ".4s" $chains)
    };
    (neon DotBrain $chains:tt) => {
        arranged!("v" ".4s" $chains)
    };
    (neon MatrixBrain $chains:tt) => {
        arranged!("v" ".4s" $chains)
    };
    (sve Sum $chains:tt) => {
        arranged!("z" ".d" $chains)
    };
    (sve Fused $chains:tt) => {
        arranged!("z" ".d" $chains)
    };
    (sve FusedSingle $chains:tt) => {
        arranged!("z" ".s" $chains)
    };
    (sve FusedHalf $chains:tt) => {
        arranged!("z" ".h" $chains)
    };
    (sve DotSignedBytes $chains:tt) => {
        arranged!("z" ".s" $chains)
    };
    ($prefix:literal $parts:literal 1) => {
        concat!($prefix, "0", $parts)
    };
    ($prefix:literal $parts:literal 10) => {
        concat!($prefix, "0", $parts, ",", $prefix, "1", $parts, ",", $prefix, "2", $parts, ",", $prefix, "3", $parts, ",", $prefix, "4", $parts, ",", $prefix, "5", $parts, ",", $prefix, "6", $parts, ",", $prefix, "7", $parts, ",", $prefix, "16", $parts, ",", $prefix, "17", $parts)
    };
    ($prefix:literal $parts:literal 16) => {
        concat!($prefix, "0", $parts, ",", $prefix, "1", $parts, ",", $prefix, "2", $parts, ",", $prefix, "3", $parts, ",", $prefix, "4", $parts, ",", $prefix, "5", $parts, ",", $prefix, "6", $parts, ",", $prefix, "7", $parts, ",", $prefix, "16", $parts, ",", $prefix, "17", $parts, ",", $prefix, "18", $parts, ",", $prefix, "19", $parts, ",", $prefix, "20", $parts, ",", $prefix, "21", $parts, ",", $prefix, "22", $parts, ",", $prefix, "23", $parts)
    };
}

/// The operands of one op on chain `\r`, with the factor in 30 and the addend in 31.
macro_rules! operands {
    (neon Sum) => {
        "\\r, \\r, v31.2d"
    };
    (neon Accumulate) => {
        "\\r, v30.2d, v31.2d"
    };
    (neon AccumulateSingle) => {
        "\\r, v30.4s, v31.4s"
    };
    (neon AccumulateHalf) => {
        "\\r, v30.8h, v31.8h"
    };
    (neon DotSignedBytes) => {
        "\\r, v30.16b, v31.16b"
    };
    (neon MatrixBytes) => {
        "\\r, v30.16b, v31.16b"
    };
    (neon DotBrain) => {
        "\\r, v30.8h, v31.8h"
    };
    (neon MatrixBrain) => {
        "\\r, v30.8h, v31.8h"
    };
    (sve Sum) => {
        "\\r, \\r, z31.d"
    };
    (sve Fused) => {
        "\\r, p0/m, z30.d, z31.d"
    };
    (sve FusedSingle) => {
        "\\r, p0/m, z30.s, z31.s"
    };
    (sve FusedHalf) => {
        "\\r, p0/m, z30.h, z31.h"
    };
    (sve DotSignedBytes) => {
        "\\r, z30.b, z31.b"
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
                concat!(".irp r,", arranged!(neon $arithmetic $chains)),
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
                concat!(".irp r,", arranged!(sve $arithmetic $chains)),
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
