//! The shapes of kernels on x86-64.
//!
//! `kernel!` turns a register class, an arithmetic and a mnemonic into one naked function called
//! `kernel`. All shapes share a frame: entry and loop head on a cache line of their own; constants
//! and start values loaded before the loop; a test that skips the loop for zero iterations, so that
//! the answer is then made of the start values; and an epilogue that folds every chain, and every
//! lane of a vector, into `rax`, as `arithmetic::Registers` says. Only registers that a callee may overwrite are used.
//!
//! A shape is generic over the ops in an iteration and over the length of the sled, which is 0 for
//! the stream's own kernel: the in-loop kernels are the same text. Registers 8 to 10 are the sled's.
//!
//! Within the text for the assembler, `\v` is the name of the vector registers, `\c` the number of
//! a chain's register, and `\r` the name of a general purpose register.

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
    (vector 1 from 16) => {
        "16"
    };
    (vector 6) => {
        "0,1,2,3,4,5"
    };
    (vector 10) => {
        "0,1,2,3,4,5,6,7,8,9"
    };
    (vector 12) => {
        "0,1,2,3,4,5,6,7,8,9,10,11"
    };
    (vector 16 from 16) => {
        "16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"
    };
}

/// The operands of one op on chain `\c`, with the factor in 14 and the addend in 15.
macro_rules! operands {
    (Sum) => {
        "\\v\\c, \\v\\c, \\v\\()15"
    };
    (Shift32) => {
        "\\v\\c, \\v\\c, \\v\\()15"
    };
    (Product32) => {
        "\\v\\c, \\v\\c, \\v\\()14"
    };
    // The indices come first; the data carries the chain.
    (Permutation32) => {
        "\\v\\c, \\v\\()14, \\v\\c"
    };
    (Permutation16) => {
        "\\v\\c, \\v\\()14, \\v\\c"
    };
    (LeadingZeros32) => {
        "\\v\\c, \\v\\c"
    };
    (Zero) => {
        "\\v\\c, \\v\\c, \\v\\c"
    };
    (Move) => {
        "\\v\\c, \\v\\()15"
    };
    (Merge) => {
        "\\v\\c {{k1}}, \\v\\()15"
    };
    // What multiplies and adds at once. Of the fused forms, 132 is the one that multiplies the
    // destination and adds the middle operand: the product carries the chain, so the whole latency
    // of the instruction is in its way.
    ($other:ident) => {
        "\\v\\c, \\v\\()15, \\v\\()14"
    };
}

/// The operands of one op in the SSE encoding, whose destination is also the first source.
macro_rules! sse_operands {
    (ProductUnsigned32) => {
        "xmm\\c, xmm14"
    };
    ($other:ident) => {
        "xmm\\c, xmm15"
    };
}

/// What an arithmetic needs beside its constants before the loop.
macro_rules! prepare {
    // Parts with an even number.
    (Merge) => {
        "mov eax, 0x5555\nkmovw k1, eax"
    };
    ($other:ident) => {
        ""
    };
}

/// The name of the vector registers of a class.
macro_rules! registers {
    (scalar) => {
        "xmm"
    };
    ($class:ident) => {
        stringify!($class)
    };
}

/// What copies a 64-bit constant to all lanes; plain AVX for `xmm` and `ymm`.
macro_rules! broadcast {
    // There is one, and zero above it.
    (scalar) => {
        "vmovsd"
    };
    (xmm) => {
        "vmovddup"
    };
    ($wider:ident) => {
        "vbroadcastsd"
    };
}

/// Mixes register 13 before a chain is added to it. Register 12 is scratch.
macro_rules! mix_chains {
    (zmm) => {
        "vpsrlq zmm12, zmm13, {mix}\nvpxorq zmm13, zmm13, zmm12"
    };
    ($other:ident) => {
        "vpsrlq \\v\\()12, \\v\\()13, {mix}\nvpxor \\v\\()13, \\v\\()13, \\v\\()12"
    };
}

/// Adds the lanes of register 13 until one is left, in `xmm13`: to half of them the other half, whose
/// lanes have their own halves exchanged. Register 12 is scratch.
macro_rules! fold_lanes {
    // Above the one lane are zeros.
    (scalar) => {
        ""
    };
    (xmm) => {
        "vpshufd xmm12, xmm13, 0x0b\nvpaddq xmm13, xmm13, xmm12"
    };
    (ymm) => {
        concat!(
            "vextractf128 xmm12, ymm13, 1\n",
            "vpshufd xmm12, xmm12, 0xb1\n",
            "vpaddq xmm13, xmm13, xmm12\n",
            fold_lanes!(xmm)
        )
    };
    (zmm) => {
        concat!(
            "vextractf64x4 ymm12, zmm13, 1\n",
            "vpshufd ymm12, ymm12, 0xb1\n",
            "vpaddq ymm13, ymm13, ymm12\n",
            fold_lanes!(ymm)
        )
    };
}

/// What cleans the registers that `vzeroupper` leaves alone. No wider than the ops, whose licence
/// must not depend on it; it clears the whole register all the same.
macro_rules! clean_registers {
    ($chains:tt) => {
        ""
    };
    ($chains:tt from 16) => {
        concat!(
            ".irp c,",
            chain_list!(vector $chains from 16),
            "\nvpxord \\v\\c, \\v\\c, \\v\\c\n.endr"
        )
    };
}

/// The kernels in whose loop the ruler stands beside the stream's ops.
///
/// The scheduler must hold more than one iteration, or the two chains take turns instead of running
/// side by side, and an iteration should last 10 to 30 cycles, so that whole multiplies meet a
/// wanted density. So serial streams have 6 ops for latencies from 3 cycles on and 24 for shorter
/// ones, parallel streams a round of their chains for ops of half a cycle and longer, and three for
/// shorter ones. Tried on Cascade Lake at a density of 0.83, with ops of half a cycle that share
/// port 1 with the ruler: behind one round the ruler is as fast as alone, behind three it loses 2
/// to 4 %, behind four 4 to 8 %.
macro_rules! in_loop {
    (clean $($other:tt)*) => {
        &[]
    };
    (dirty $($other:tt)*) => {
        &[]
    };
    // An op lasts longer than all multiplies of a sled.
    (tile $($other:tt)*) => {
        &[]
    };
    // It occupies the ruler's own unit, and its registers.
    (gpr Throughput $($other:tt)*) => {
        &[]
    };
    ($class:ident Latency $chains:tt [] $row:ident) => {
        &[in_loop!($row, 6), in_loop!($row, 24)]
    };
    ($class:ident Throughput $chains:tt [] $row:ident) => {
        &[in_loop!($row, $chains), in_loop!($row, 3 * $chains)]
    };
    ($class:ident $kind:ident $($other:tt)*) => {
        &[]
    };
    ($row:ident, $ops:expr) => {
        $crate::InLoop {
            row: &$row,
            ops: $ops,
            entry: kernel::<{ $ops }, { $crate::MULTIPLIES_MAX }>,
        }
    };
}

/// The frame of kernels with a loop. What `$fold` leaves in `rax` is the answer of the ops; the
/// ruler's product is added to it where there is a sled.
macro_rules! looped_kernel {
    (
        before { $($before:expr),+ } body { $($body:expr),+ }
        fold { $($fold:expr),+ } clean { $($clean:expr),* }
        $($constant:ident = $value:expr),+ $(,)?
    ) => {
        #[unsafe(naked)]
        unsafe extern "sysv64" fn kernel<const OPS: u64, const SLED: u32>(
            _: u64,
            _: *const $crate::Operands,
            _: u64,
        ) -> u64 {
            core::arch::naked_asm!(
                ".p2align 6",
                ".if {sled}",
                // The entry into the sled from which on there are as many multiplies as wanted.
                // Each has 4 bytes.
                "lea r8, [rip + 4f]",
                "shl rdx, 2",
                "sub r8, rdx",
                "mov r9, [rsi + {ruler_factor}]",
                "mov r10, [rsi + {ruler_start}]",
                ".endif",
                $($before,)+
                "test rdi, rdi",
                "jz 3f",
                ".p2align 6",
                "2:",
                $($body,)+
                ".if {sled}",
                "jmp r8",
                ".p2align 6",
                ".rept {sled}",
                "imul r10, r9",
                ".endr",
                "4:",
                ".endif",
                "dec rdi",
                "jnz 2b",
                "3:",
                $($fold,)+
                ".if {sled}",
                "add rax, r10",
                ".endif",
                $($clean,)*
                "ret",
                sled = const SLED,
                ruler_factor = const $crate::arithmetic::Arithmetic::Product.factor_offset(),
                ruler_start = const $crate::arithmetic::Arithmetic::Product.start_offset(),
                $($constant = const $value),+
            )
        }
    };
}

/// Kernels with vector chains, around a loop of `$per_trip` vector ops.
macro_rules! vector_kernel {
    (
        $class:ident $arithmetic:ident chains ($($chains:tt)+), ops $per_trip:tt,
        before { $($before:expr),* } body { $($body:expr),+ } after { $($after:expr),* }
        $($constant:ident = $value:expr),+
    ) => {
        looped_kernel! {
            before {
                concat!(".irp v,", registers!($class)),
                concat!(broadcast!($class), " \\v\\()14, qword ptr [rsi + {factor}]"),
                concat!(broadcast!($class), " \\v\\()15, qword ptr [rsi + {addend}]"),
                concat!(".irp c,", chain_list!(vector $($chains)+)),
                concat!(broadcast!($class), " \\v\\c, qword ptr [rsi + {start}]"),
                ".endr",
                prepare!($arithmetic),
                $($before,)*
                "mov rdx, rdi"
            }
            body { $($body),+ }
            fold {
                "vpxor xmm13, xmm13, xmm13",
                concat!(".irp c,", chain_list!(vector $($chains)+)),
                mix_chains!($class),
                "vpaddq \\v\\()13, \\v\\()13, \\v\\c",
                ".endr",
                fold_lanes!($class),
                "vmovq rax, xmm13",
                // The trips, times the ops in each that the numbers do not tell.
                "sub rdx, rdi",
                "imul rdx, rdx, {untold}",
                "add rax, rdx"
                $(, $after)*
            }
            clean {
                clean_registers!($($chains)+),
                // Without it, SSE code in the caller may pay for the dirty upper halves.
                "vzeroupper",
                ".endr"
            }
            factor = $crate::arithmetic::Arithmetic::$arithmetic.factor_offset(),
            addend = $crate::arithmetic::Arithmetic::$arithmetic.addend_offset(),
            start = $crate::arithmetic::Arithmetic::$arithmetic.start_offset(),
            untold = $crate::arithmetic::Arithmetic::$arithmetic.untold($per_trip),
            mix = $crate::arithmetic::CHAIN_SHIFT,
            $($constant = $value),+
        }
    };
}

/// Kernels that add, compare and branch on scalar floating-point numbers. Their encoding keeps the
/// upper halves of registers as it finds them: clean or dirty, as the constants were loaded.
macro_rules! compare_kernel {
    ($load:expr) => {
        looped_kernel! {
            before {
                $load
            }
            body {
                ".rept {ops}",
                "addsd xmm0, xmm15",
                "ucomisd xmm0, xmm15",
                // Taken where one of the two is no number: never.
                "jp 3f",
                ".endr"
            }
            fold { "movq rax, xmm0" }
            clean { "vzeroupper" }
            addend = $crate::arithmetic::Arithmetic::RealSum.addend_offset(),
            start = $crate::arithmetic::Arithmetic::RealSum.start_offset(),
            ops = OPS,
        }
    };
}

/// Fills 64 bytes with a constant: a row of a tile, which is loaded into all its rows.
macro_rules! tile_row {
    ($constant:literal) => {
        concat!(
            "mov rax, [rsi + {",
            $constant,
            "}]\n.irp at,64,72,80,88,96,104,112,120\nmov [rsp + \\at], rax\n.endr"
        )
    };
}

/// One naked function called `kernel`, generic over the ops in an iteration and the multiplies in
/// the sled.
macro_rules! kernel {
    // The call alone.
    (none Nothing $mnemonic:tt, chains $chains:tt, []) => {
        #[unsafe(naked)]
        unsafe extern "sysv64" fn kernel<const OPS: u64, const SLED: u32>(
            _: u64,
            _: *const $crate::Operands,
            _: u64,
        ) -> u64 {
            core::arch::naked_asm!(".p2align 6", "xor eax, eax", "ret")
        }
    };

    // An instruction without operands and without a result. The answer comes from the loop counter:
    // it proves the trips; that each trip holds `ops` instructions is what the listing proves.
    (none Count $mnemonic:tt, chains $chains:tt, []) => {
        looped_kernel! {
            before { "mov r11, rdi", "xor eax, eax", "xor ecx, ecx" }
            body {
                ".rept {ops}",
                $mnemonic,
                ".endr"
            }
            fold {
                "mov rax, r11",
                "sub rax, rdi",
                "imul rax, rax, {ops}"
            }
            clean {}
            ops = OPS,
        }
    };

    // The same with a time as the operand: the one at which the counter began, and the fast state.
    (timed Count $mnemonic:tt, chains $chains:tt, []) => {
        looped_kernel! {
            before { "mov r11, rdi", "xor eax, eax", "xor edx, edx", "mov ecx, 1" }
            body {
                ".rept {ops}",
                concat!($mnemonic, " ecx"),
                ".endr"
            }
            fold {
                "mov rax, r11",
                "sub rax, rdi",
                "imul rax, rax, {ops}"
            }
            clean {}
            ops = OPS,
        }
    };

    // General purpose registers. The second operand is a register, never an immediate: Golden Cove
    // executes additions of small constants at rename, where they take no cycle of the chain.
    (gpr $arithmetic:ident $mnemonic:tt, chains ($chains:tt), []) => {
        looped_kernel! {
            before {
                "mov r11, [rsi + {operand}]",
                concat!(".irp r,", chain_list!(gpr $chains)),
                "mov \\r, [rsi + {start}]",
                ".endr"
            }
            body {
                ".rept {rounds}",
                concat!(".irp r,", chain_list!(gpr $chains)),
                concat!($mnemonic, " \\r, r11"),
                ".endr",
                ".endr"
            }
            fold {
                "xor esi, esi",
                concat!(".irp r,", chain_list!(gpr $chains)),
                "mov r11, rsi",
                "shr r11, {mix}",
                "xor rsi, r11",
                "add rsi, \\r",
                ".endr",
                "mov rax, rsi"
            }
            clean {}
            operand = $crate::arithmetic::Arithmetic::$arithmetic.operand_offset(),
            start = $crate::arithmetic::Arithmetic::$arithmetic.start_offset(),
            mix = $crate::arithmetic::CHAIN_SHIFT,
            rounds = $crate::stream::rounds(OPS, $chains),
        }
    };

    (clean RealSum $mnemonic:tt, chains (1), []) => {
        compare_kernel! {
            "vzeroupper
            movsd xmm15, qword ptr [rsi + {addend}]
            movsd xmm0, qword ptr [rsi + {start}]"
        }
    };
    (dirty RealSum $mnemonic:tt, chains (1), []) => {
        // Each is written by one load, as wide as it gets dirty, of constants that follow one another. A
        // register that an arithmetic or shuffle instruction has written, or that `movsd` has merged
        // into, was seen to make each op a cycle slower, in some calls and not in others (Cascade Lake):
        // results cross from one kind of unit to another as long as the register is read.
        compare_kernel! {
            "vmovupd ymm15, ymmword ptr [rsi + {addend}]
            vmovupd ymm0, ymmword ptr [rsi + {start}]"
        }
    };

    // Vectors of 64-bit lanes in the SSE encoding.
    (sse $arithmetic:ident $mnemonic:tt, chains ($chains:tt), []) => {
        looped_kernel! {
            before {
                "movsd xmm14, qword ptr [rsi + {factor}]",
                "movsd xmm15, qword ptr [rsi + {addend}]",
                "movsd xmm0, qword ptr [rsi + {start}]",
                ".irp c,14,15,0",
                "unpcklpd xmm\\c, xmm\\c",
                ".endr",
                concat!(".irp c,", chain_list!(vector $chains)),
                "movapd xmm\\c, xmm0",
                ".endr"
            }
            body {
                ".rept {rounds}",
                concat!(".irp c,", chain_list!(vector $chains)),
                concat!($mnemonic, " ", sse_operands!($arithmetic)),
                ".endr",
                ".endr"
            }
            fold {
                "pxor xmm13, xmm13",
                concat!(".irp c,", chain_list!(vector $chains)),
                "movdqa xmm12, xmm13",
                "psrlq xmm12, {mix}",
                "pxor xmm13, xmm12",
                "paddq xmm13, xmm\\c",
                ".endr",
                "pshufd xmm12, xmm13, 0x0b",
                "paddq xmm13, xmm12",
                "movq rax, xmm13"
            }
            clean {}
            factor = $crate::arithmetic::Arithmetic::$arithmetic.factor_offset(),
            addend = $crate::arithmetic::Arithmetic::$arithmetic.addend_offset(),
            start = $crate::arithmetic::Arithmetic::$arithmetic.start_offset(),
            mix = $crate::arithmetic::CHAIN_SHIFT,
            rounds = $crate::stream::rounds(OPS, $chains),
        }
    };

    // Tiles, all of 16 rows of 64 bytes. The configuration, a row and a tile have their places on the
    // stack.
    //
    // Source: Intel SDM volume 1, chapter 18; volume 2, LDTILECFG.
    (tile $arithmetic:ident $mnemonic:tt, chains ($chains:tt), []) => {
        looped_kernel! {
            before {
                "mov r11, rsp",
                "sub rsp, 1152",
                "and rsp, -64",
                "xor eax, eax",
                ".irp at,0,8,32,40,56",
                "mov [rsp + \\at], rax",
                ".endr",
                // Palette 1.
                "mov byte ptr [rsp], 1",
                // The bytes in a row of each of the eight tiles, then their rows.
                "movabs rax, 0x0040004000400040",
                "mov [rsp + 16], rax",
                "mov [rsp + 24], rax",
                "movabs rax, 0x1010101010101010",
                "mov [rsp + 48], rax",
                "ldtilecfg [rsp]",
                // No step from row to row.
                "xor ecx, ecx",
                tile_row!("factor"),
                "tileloadd tmm6, [rsp + rcx + 64]",
                tile_row!("addend"),
                "tileloadd tmm7, [rsp + rcx + 64]",
                tile_row!("start"),
                concat!(".irp c,", chain_list!(vector $chains)),
                "tileloadd tmm\\c, [rsp + rcx + 64]",
                ".endr"
            }
            body {
                ".rept {rounds}",
                concat!(".irp c,", chain_list!(vector $chains)),
                concat!($mnemonic, " tmm\\c, tmm6, tmm7"),
                ".endr",
                ".endr"
            }
            fold {
                "vpxor xmm13, xmm13, xmm13",
                "mov ecx, 64",
                concat!(".irp c,", chain_list!(vector $chains)),
                "tilestored [rsp + rcx + 64], tmm\\c",
                "vpsrlq zmm12, zmm13, {mix}",
                "vpxorq zmm13, zmm13, zmm12",
                ".irp row,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
                "vpaddq zmm13, zmm13, [rsp + 64 + 64 * \\row]",
                ".endr",
                ".endr",
                fold_lanes!(zmm),
                "vmovq rax, xmm13"
            }
            clean {
                "vzeroupper",
                "tilerelease",
                "mov rsp, r11"
            }
            factor = $crate::arithmetic::Arithmetic::$arithmetic.factor_offset(),
            addend = $crate::arithmetic::Arithmetic::$arithmetic.addend_offset(),
            start = $crate::arithmetic::Arithmetic::$arithmetic.start_offset(),
            mix = $crate::arithmetic::CHAIN_SHIFT,
            rounds = $crate::stream::rounds(OPS, $chains),
        }
    };

    // Vectors of 64-bit lanes.
    ($class:ident $arithmetic:ident $mnemonic:tt, chains ($chains:tt $($from:tt)*), []) => {
        vector_kernel! {
            $class $arithmetic chains ($chains $($from)*), ops OPS,
            before {}
            body {
                ".rept {rounds}",
                concat!(".irp c,", chain_list!(vector $chains $($from)*)),
                concat!($mnemonic, " ", operands!($arithmetic)),
                ".endr",
                ".endr"
            }
            after {}
            rounds = $crate::stream::rounds(OPS, $chains)
        }
    };

    // Scalar ops, and one vector instruction beside them in each iteration.
    ($class:ident Sum $mnemonic:tt, chains (1), [$arithmetic:ident $simd:literal]) => {
        vector_kernel! {
            $class $arithmetic chains (1), ops 1,
            before { "mov r11, [rsi + {operand}]", "mov rcx, [rsi + {first}]" }
            body {
                ".irp c,0",
                concat!($simd, " ", operands!($arithmetic)),
                ".endr",
                ".rept {ops}",
                concat!($mnemonic, " rcx, r11"),
                ".endr"
            }
            after { "add rax, rcx" }
            operand = $crate::arithmetic::Arithmetic::Sum.operand_offset(),
            first = $crate::arithmetic::Arithmetic::Sum.start_offset(),
            ops = OPS
        }
    };
}
