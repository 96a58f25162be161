//! The shapes of kernels on AArch64: general purpose registers only.
//!
//! The frame is the one of x86-64: aligned entry and loop head, constants loaded before the loop, a
//! test that skips the loop for zero iterations, and an epilogue that folds every chain into `x0`.
//! The loop ends with `subs` and `b.ne`, the same two steps as `dec` and `jnz`.

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
}

/// One naked function called `kernel`.
macro_rules! kernel {
    // The call alone.
    (none Nothing $mnemonic:tt, chains $chains:tt, ops $ops:tt) => {
        #[unsafe(naked)]
        unsafe extern "C" fn kernel(_: u64, _: *const $crate::Operands) -> u64 {
            core::arch::naked_asm!(".p2align 6", "mov x0, #0", "ret")
        }
    };

    // An instruction without operands and without a result. The answer comes from the loop counter.
    (none Count $mnemonic:tt, chains $chains:tt, ops $ops:tt) => {
        #[unsafe(naked)]
        unsafe extern "C" fn kernel(_: u64, _: *const $crate::Operands) -> u64 {
            core::arch::naked_asm!(
                ".p2align 6",
                "mov x9, x0",
                "cbz x0, 3f",
                ".p2align 6",
                "2:",
                ".rept {ops}",
                $mnemonic,
                ".endr",
                "subs x0, x0, #1",
                "b.ne 2b",
                "3:",
                "sub x9, x9, x0",
                "mov x10, #{ops}",
                "mul x0, x9, x10",
                "ret",
                ops = const $ops,
            )
        }
    };

    // General purpose registers, chain and operand both in registers.
    (gpr $arithmetic:ident $mnemonic:tt, chains $chains:tt, ops $ops:tt) => {
        #[unsafe(naked)]
        unsafe extern "C" fn kernel(_: u64, _: *const $crate::Operands) -> u64 {
            core::arch::naked_asm!(
                ".p2align 6",
                "ldr x16, [x1, #{operand}]",
                "mov x17, #{neutral}",
                concat!(".irp r,", chain_list!(gpr $chains)),
                "ldr \\r, [x1, #{start}]",
                // A product must not begin with zero; a sum may.
                "orr \\r, \\r, x17",
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
                operand = const $crate::stream::Arithmetic::$arithmetic.operand_offset(),
                start = const core::mem::offset_of!($crate::Operands, whole.start),
                neutral = const $crate::stream::Arithmetic::$arithmetic.neutral(),
                rounds = const $crate::stream::rounds($ops, $chains),
            )
        }
    };
}
