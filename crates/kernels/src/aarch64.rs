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
    (neon 1) => {
        "v0.2d"
    };
    (neon 10) => {
        "v0.2d,v1.2d,v2.2d,v3.2d,v4.2d,v5.2d,v6.2d,v7.2d,v16.2d,v17.2d"
    };
    (neon 16) => {
        concat!(
            "v0.2d,v1.2d,v2.2d,v3.2d,v4.2d,v5.2d,v6.2d,v7.2d,",
            "v16.2d,v17.2d,v18.2d,v19.2d,v20.2d,v21.2d,v22.2d,v23.2d"
        )
    };
    (sve 1) => {
        "z0.d"
    };
    (sve 10) => {
        "z0.d,z1.d,z2.d,z3.d,z4.d,z5.d,z6.d,z7.d,z16.d,z17.d"
    };
    (sve 16) => {
        concat!(
            "z0.d,z1.d,z2.d,z3.d,z4.d,z5.d,z6.d,z7.d,",
            "z16.d,z17.d,z18.d,z19.d,z20.d,z21.d,z22.d,z23.d"
        )
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
    (sve Sum) => {
        "\\r, \\r, z31.d"
    };
    (sve Fused) => {
        "\\r, p0/m, z30.d, z31.d"
    };
}

/// The letter in front of what adds numbers for the answer: `f` where they count in floating point.
macro_rules! float {
    (Sum) => {
        ""
    };
    ($other:ident) => {
        "f"
    };
}

/// What brings the lowest lane of register 29 to `x0` as an integer.
macro_rules! take {
    (Sum) => {
        "fmov x0, d29"
    };
    ($other:ident) => {
        "fcvtzs x0, d29"
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
                "mov x17, #{neutral}",
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
                // Chains are folded with their own op: sums are added, products multiplied.
                "mov x0, x17",
                concat!(".irp r,", chain_list!(gpr $chains)),
                concat!($mnemonic, " x0, x0, \\r"),
                ".endr",
                "ret",
                operand = const $crate::arithmetic::Arithmetic::$arithmetic.operand_offset(),
                start = const $crate::arithmetic::Arithmetic::$arithmetic.start_offset(),
                neutral = const $crate::arithmetic::Arithmetic::$arithmetic.neutral(),
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
                ".p2align 6",
                "add x9, x1, #{factor}",
                "ld1r {{v30.2d}}, [x9]",
                "add x9, x1, #{addend}",
                "ld1r {{v31.2d}}, [x9]",
                "add x9, x1, #{start}",
                concat!(".irp r,", chain_list!(neon $chains)),
                "ld1r {{\\r}}, [x9]",
                ".endr",
                "cbz x0, 3f",
                ".p2align 6",
                "2:",
                ".rept {rounds}",
                concat!(".irp r,", chain_list!(neon $chains)),
                concat!($mnemonic, " ", operands!(neon $arithmetic)),
                ".endr",
                ".endr",
                "subs x0, x0, #1",
                "b.ne 2b",
                "3:",
                "movi v29.2d, #0",
                concat!(".irp r,", chain_list!(neon $chains)),
                concat!(float!($arithmetic), "add v29.2d, v29.2d, \\r"),
                ".endr",
                concat!(float!($arithmetic), "addp d29, v29.2d"),
                take!($arithmetic),
                // Both lanes hold the same number, so half their sum is that number.
                "asr x0, x0, #1",
                "ret",
                factor = const $crate::arithmetic::Arithmetic::$arithmetic.factor_offset(),
                addend = const $crate::arithmetic::Arithmetic::$arithmetic.addend_offset(),
                start = const $crate::arithmetic::Arithmetic::$arithmetic.start_offset(),
                rounds = const $crate::stream::rounds(OPS, $chains),
            )
        }
    };

    // Vectors of as many lanes as the CPU has. All hold the same, so the lowest one tells.
    (sve $arithmetic:ident $mnemonic:tt, chains ($chains:tt), []) => {
        #[unsafe(naked)]
        unsafe extern "C" fn kernel<const OPS: u64, const SLED: u32>(
            _: u64,
            _: *const $crate::Operands,
            _: u64,
        ) -> u64 {
            core::arch::naked_asm!(
                ".arch_extension sve",
                ".p2align 6",
                "ptrue p0.d",
                "add x9, x1, #{factor}",
                "ld1rd {{z30.d}}, p0/z, [x9]",
                "add x9, x1, #{addend}",
                "ld1rd {{z31.d}}, p0/z, [x9]",
                "add x9, x1, #{start}",
                concat!(".irp r,", chain_list!(sve $chains)),
                "ld1rd {{\\r}}, p0/z, [x9]",
                ".endr",
                "cbz x0, 3f",
                ".p2align 6",
                "2:",
                ".rept {rounds}",
                concat!(".irp r,", chain_list!(sve $chains)),
                concat!($mnemonic, " ", operands!(sve $arithmetic)),
                ".endr",
                ".endr",
                "subs x0, x0, #1",
                "b.ne 2b",
                "3:",
                "mov z29.d, #0",
                concat!(".irp r,", chain_list!(sve $chains)),
                concat!(float!($arithmetic), "add z29.d, z29.d, \\r"),
                ".endr",
                take!($arithmetic),
                "ret",
                ".arch_extension nosve",
                factor = const $crate::arithmetic::Arithmetic::$arithmetic.factor_offset(),
                addend = const $crate::arithmetic::Arithmetic::$arithmetic.addend_offset(),
                start = const $crate::arithmetic::Arithmetic::$arithmetic.start_offset(),
                rounds = const $crate::stream::rounds(OPS, $chains),
            )
        }
    };
}
