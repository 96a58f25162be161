//! The shapes of kernels on x86-64.
//!
//! `kernel!` turns a register class, an arithmetic and a mnemonic into one naked function called
//! `kernel`. All shapes share a frame: entry and loop head on a cache line of their own; constants
//! and start values loaded before the loop; a test that skips the loop for zero iterations, so that
//! the answer is then made of the start values; and an epilogue that folds every chain, and every
//! lane of a vector, into `rax`. Only registers that a callee may overwrite are used.

/// The mnemonic to use on this architecture: the first one.
macro_rules! native {
    ($here:tt) => {
        $here
    };
    ($here:tt $elsewhere:tt) => {
        $here
    };
}

/// The registers of so many chains, as a list for `.irp`: names for `gpr`, numbers for vectors.
macro_rules! chain_list {
    (gpr 1) => {
        "rax"
    };
    (gpr 5) => {
        "rax,rcx,rdx,r8,r9"
    };
    (vector 1) => {
        "0"
    };
    (vector 10) => {
        "0,1,2,3,4,5,6,7,8,9"
    };
}

/// What copies one 64-bit constant to all lanes; plain AVX for `xmm` and `ymm`.
macro_rules! broadcast {
    (xmm $number:literal $field:literal) => {
        concat!("vmovddup xmm", $number, ", qword ptr [rsi + {", $field, "}]")
    };
    (ymm $number:literal $field:literal) => {
        concat!("vbroadcastsd ymm", $number, ", qword ptr [rsi + {", $field, "}]")
    };
    (zmm $number:literal $field:literal) => {
        concat!("vbroadcastsd zmm", $number, ", qword ptr [rsi + {", $field, "}]")
    };
}

/// The operands of one op on chain `\c`, with the addend in 15 and the factor in 14.
macro_rules! vector_op {
    // 132 is the form that multiplies the destination and adds the middle operand: the product
    // carries the chain, so the whole latency of the instruction is in its way.
    (Real $mnemonic:tt $class:ident) => {
        concat!(
            $mnemonic,
            " ",
            stringify!($class),
            "\\c, ",
            vector_op!($class),
            "15, ",
            vector_op!($class),
            "14"
        )
    };
    (Sum $mnemonic:tt $class:ident) => {
        concat!(
            $mnemonic,
            " ",
            stringify!($class),
            "\\c, ",
            vector_op!($class),
            "\\c, ",
            vector_op!($class),
            "15"
        )
    };
    ($class:ident) => {
        stringify!($class)
    };
}

/// Adds two vectors of the arithmetic's kind.
macro_rules! vector_add {
    (Real) => {
        "vaddpd "
    };
    (Sum) => {
        "vpaddq "
    };
}

/// Adds the lanes of register 13 until one is left, in `xmm13`. Register 12 is scratch.
macro_rules! fold_lanes {
    (xmm $arithmetic:ident) => {
        concat!(
            "vunpckhpd xmm12, xmm13, xmm13\n",
            vector_add!($arithmetic),
            "xmm13, xmm13, xmm12"
        )
    };
    (ymm $arithmetic:ident) => {
        concat!(
            "vextractf128 xmm12, ymm13, 1\n",
            vector_add!($arithmetic),
            "xmm13, xmm13, xmm12\n",
            fold_lanes!(xmm $arithmetic)
        )
    };
    (zmm $arithmetic:ident) => {
        concat!(
            "vextractf64x4 ymm12, zmm13, 1\n",
            vector_add!($arithmetic),
            "ymm13, ymm13, ymm12\n",
            fold_lanes!(ymm $arithmetic)
        )
    };
}

/// Brings the last lane to `rax` as an integer.
macro_rules! take_lane {
    (Real) => {
        "vcvttsd2si rax, xmm13"
    };
    (Sum) => {
        "vmovq rax, xmm13"
    };
}

/// One naked function called `kernel`.
macro_rules! kernel {
    // The call alone.
    (none Nothing $mnemonic:tt, chains $chains:tt, ops $ops:tt) => {
        #[unsafe(naked)]
        unsafe extern "sysv64" fn kernel(_: u64, _: *const $crate::Operands) -> u64 {
            core::arch::naked_asm!(".p2align 6", "xor eax, eax", "ret")
        }
    };

    // An instruction without operands and without a result. The answer comes from the loop counter:
    // it proves the trips; that each trip holds `ops` instructions is what the listing proves.
    (none Count $mnemonic:tt, chains $chains:tt, ops $ops:tt) => {
        #[unsafe(naked)]
        unsafe extern "sysv64" fn kernel(_: u64, _: *const $crate::Operands) -> u64 {
            core::arch::naked_asm!(
                ".p2align 6",
                "mov rax, rdi",
                "test rdi, rdi",
                "jz 3f",
                ".p2align 6",
                "2:",
                ".rept {ops}",
                $mnemonic,
                ".endr",
                "dec rdi",
                "jnz 2b",
                "3:",
                "sub rax, rdi",
                "imul rax, rax, {ops}",
                "ret",
                ops = const $ops,
            )
        }
    };

    // General purpose registers. The second operand is a register, never an immediate: Golden Cove
    // executes additions of small constants at rename, where they take no cycle of the chain.
    (gpr $arithmetic:ident $mnemonic:tt, chains $chains:tt, ops $ops:tt) => {
        #[unsafe(naked)]
        unsafe extern "sysv64" fn kernel(_: u64, _: *const $crate::Operands) -> u64 {
            core::arch::naked_asm!(
                ".p2align 6",
                "mov r11, [rsi + {operand}]",
                concat!(".irp r,", chain_list!(gpr $chains)),
                "mov \\r, [rsi + {start}]",
                // A product must not begin with zero; a sum may.
                "or \\r, {neutral}",
                ".endr",
                "test rdi, rdi",
                "jz 3f",
                ".p2align 6",
                "2:",
                ".rept {rounds}",
                concat!(".irp r,", chain_list!(gpr $chains)),
                concat!($mnemonic, " \\r, r11"),
                ".endr",
                ".endr",
                "dec rdi",
                "jnz 2b",
                "3:",
                // Chains are folded with their own op: sums are added, products multiplied.
                "mov esi, {neutral}",
                concat!(".irp r,", chain_list!(gpr $chains)),
                concat!($mnemonic, " rsi, \\r"),
                ".endr",
                "mov rax, rsi",
                "ret",
                operand = const $crate::stream::Arithmetic::$arithmetic.operand_offset(),
                start = const core::mem::offset_of!($crate::Operands, whole.start),
                neutral = const $crate::stream::Arithmetic::$arithmetic.neutral(),
                rounds = const $crate::stream::rounds($ops, $chains),
            )
        }
    };

    // Vectors of 64-bit lanes. The sum of floating point and of integers share one frame, so both
    // load a factor; integers have no use for it.
    ($class:ident $arithmetic:ident $mnemonic:tt, chains $chains:tt, ops $ops:tt) => {
        #[unsafe(naked)]
        unsafe extern "sysv64" fn kernel(_: u64, _: *const $crate::Operands) -> u64 {
            core::arch::naked_asm!(
                ".p2align 6",
                broadcast!($class "14" "factor"),
                broadcast!($class "15" "addend"),
                concat!(".irp c,", chain_list!(vector $chains)),
                broadcast!($class "\\c" "start"),
                ".endr",
                "test rdi, rdi",
                "jz 3f",
                ".p2align 6",
                "2:",
                ".rept {rounds}",
                concat!(".irp c,", chain_list!(vector $chains)),
                vector_op!($arithmetic $mnemonic $class),
                ".endr",
                ".endr",
                "dec rdi",
                "jnz 2b",
                "3:",
                "vxorpd xmm13, xmm13, xmm13",
                concat!(".irp c,", chain_list!(vector $chains)),
                concat!(
                    vector_add!($arithmetic), stringify!($class), "13, ",
                    stringify!($class), "13, ", stringify!($class), "\\c"
                ),
                ".endr",
                fold_lanes!($class $arithmetic),
                take_lane!($arithmetic),
                // All lanes hold the same number, so their sum over their count is that number.
                "sar rax, {shift}",
                // Without it, SSE code in the caller may pay for the dirty upper halves.
                "vzeroupper",
                "ret",
                factor = const $crate::stream::Arithmetic::$arithmetic.constants_offset()
                    + core::mem::offset_of!($crate::stream::Constants<u64>, factor),
                addend = const $crate::stream::Arithmetic::$arithmetic.constants_offset()
                    + core::mem::offset_of!($crate::stream::Constants<u64>, addend),
                start = const $crate::stream::Arithmetic::$arithmetic.constants_offset()
                    + core::mem::offset_of!($crate::stream::Constants<u64>, start),
                rounds = const $crate::stream::rounds($ops, $chains),
                shift = const width_bits!($class).unwrap().trailing_zeros() - 6,
            )
        }
    };
}
