//! The shapes of memory kernels on AArch64.
//!
//! The frame is the one of x86-64, but each array has a pointer of its own, and an iteration takes
//! eight registers of each. A register's scratch has its number and 20 more; register 31 holds the
//! factor. Registers 8 to 15 are the caller's, and are left alone. That a store is non-temporal is
//! a hint here, and needs no fence.

/// Where a register's part of an array lies: `\r` is the register's number.
macro_rules! address {
    (a) => {
        "[x8, #16*\\r]"
    };
    (b) => {
        "[x1, #16*\\r]"
    };
    (c) => {
        "[x2, #16*\\r]"
    };
    (d) => {
        "[x3, #16*\\r]"
    };
}

/// One op on register `\r`.
macro_rules! op {
    (load q) => {
        "mov v\\r\\().16b, v31.16b"
    };
    (load $array:ident) => {
        concat!("ldr q\\r, ", address!($array))
    };
    (mul q) => {
        "fmul v\\r\\().2d, v\\r\\().2d, v31.2d"
    };
    (mul $array:ident) => {
        concat!("ldr q2\\r, ", address!($array), "\nfmul v\\r\\().2d, v\\r\\().2d, v2\\r\\().2d")
    };
    (add $array:ident) => {
        concat!("ldr q2\\r, ", address!($array), "\nfadd v\\r\\().2d, v\\r\\().2d, v2\\r\\().2d")
    };
    (sum $array:ident) => {
        op!(add $array)
    };
}

/// What stores all eight registers.
macro_rules! store {
    (None) => {
        ""
    };
    (Ordinary) => {
        "stp q0, q1, [x8]
        stp q2, q3, [x8, #32]
        stp q4, q5, [x8, #64]
        stp q6, q7, [x8, #96]"
    };
    (NonTemporal) => {
        "stnp q0, q1, [x8]
        stnp q2, q3, [x8, #32]
        stnp q4, q5, [x8, #64]
        stnp q6, q7, [x8, #96]"
    };
}

/// What is done after the last trip: adds up the sums.
macro_rules! finish {
    (None) => {
        ".irp r,1,2,3,4,5,6,7
        fadd v0.2d, v0.2d, v\\r\\().2d
        .endr
        faddp d0, v0.2d"
    };
    ($stores:ident) => {
        ""
    };
}

/// One naked function.
macro_rules! mover {
    ($stores:ident [$($op:ident $on:ident),*]) => {{
        #[unsafe(naked)]
        unsafe extern "C" fn mover(_: *const $crate::memory::mover::Span) -> f64 {
            core::arch::naked_asm!(
                ".p2align 6",
                "ldr d31, [x0, #{factor}]",
                "dup v31.2d, v31.d[0]",
                ".irp r,0,1,2,3,4,5,6,7",
                "movi v\\r\\().2d, #0",
                ".endr",
                "ldr x11, [x0, #{lead}]",
                "ldr x12, [x0, #{b}]",
                "ldr x13, [x0, #{c}]",
                "ldr x14, [x0, #{d}]",
                "ldr x9, [x0, #{trips}]",
                "ldr x10, [x0, #{length}]",
                "add x10, x11, x10",
                "3:",
                "mov x8, x11",
                "mov x1, x12",
                "mov x2, x13",
                "mov x3, x14",
                ".p2align 6",
                "2:",
                $(
                    ".irp r,0,1,2,3,4,5,6,7",
                    op!($op $on),
                    ".endr",
                )*
                store!($stores),
                ".irp s,x8,x1,x2,x3",
                "add \\s, \\s, #{block}",
                ".endr",
                "cmp x8, x10",
                "b.ne 2b",
                "subs x9, x9, #1",
                "b.ne 3b",
                finish!($stores),
                "ret",
                lead = const $crate::memory::mover::Span::LEAD,
                b = const $crate::memory::mover::Span::B,
                c = const $crate::memory::mover::Span::C,
                d = const $crate::memory::mover::Span::D,
                length = const $crate::memory::mover::Span::BYTES,
                trips = const $crate::memory::mover::Span::TRIPS,
                factor = const $crate::memory::mover::Span::FACTOR,
                block = const 128,
            )
        }
        mover
    }};
}

/// One variant.
macro_rules! variant {
    ($id:literal $stores:ident $ops:tt, $doc:literal) => {
        $crate::memory::Variant {
            id: $id,
            doc: $doc,
            width_bits: Some(128),
            stores: $crate::memory::Stores::$stores,
            lines_ahead: None,
            needs: &[model::Isa::Asimd],
            shape: $crate::memory::Shape { block_bytes: 128, streams: 1, alignment: 64 },
            entry: mover!($stores $ops),
        }
    };
}

/// All variants of a kernel. No instruction does the whole array on every CPU.
macro_rules! variants {
    ([sum $array:ident]) => {
        &[variant!("neon" None [sum $array], "128-bit loads")]
    };
    ($ops:tt $($string:ident)?) => {
        &[
            variant!("neon" Ordinary $ops, "128-bit registers, ordinary stores in pairs"),
            variant!("neon-nt" NonTemporal $ops,
                "128-bit registers, stores in pairs with a non-temporal hint"),
        ]
    };
}

/// The walk of the chains that are given: their registers, and where their addresses are.
macro_rules! walk {
    ($(($register:literal $at:literal))+) => {{
        #[unsafe(naked)]
        unsafe extern "C" fn walk(_: *mut u64, _: u64) {
            core::arch::naked_asm!(
                ".p2align 6",
                $(concat!("ldr ", $register, ", [x0, #", $at, "]"),)+
                ".p2align 6",
                "2:",
                ".rept {steps}",
                $(concat!("ldr ", $register, ", [", $register, "]"),)+
                ".endr",
                "subs x1, x1, #1",
                "b.ne 2b",
                $(concat!("str ", $register, ", [x0, #", $at, "]"),)+
                "ret",
                steps = const $crate::memory::chase::STEPS_AT_ONCE,
            )
        }
        walk
    }};
}

/// The walks of one chain, of two, and so on.
macro_rules! walks {
    () => {
        walks! {
            [] []
            ("x2" 0) ("x3" 8) ("x4" 16) ("x5" 24) ("x6" 32) ("x7" 40) ("x8" 48) ("x9" 56)
            ("x10" 64) ("x11" 72) ("x12" 80) ("x13" 88)
            ("x14" 96) ("x15" 104) ("x16" 112) ("x17" 120)
        }
    };
    ([$($walk:expr,)*] [$($chain:tt)*]) => {
        [$($walk),*]
    };
    ([$($walk:expr,)*] [$($chain:tt)*] $next:tt $($rest:tt)*) => {
        walks! { [$($walk,)* walk!($($chain)* $next),] [$($chain)* $next] $($rest)* }
    };
}
