//! The shapes of memory kernels on x86-64.
//!
//! `mover!` turns a register class, a kind of store and a list of ops into one naked function. An
//! iteration takes a block of each array, in groups of as many registers as `units` says: all loads
//! of a group stand before its stores. One pointer walks through the array that is written; the
//! others are reached by their distance from it, so a store has the simplest address there is, and
//! an iteration has three instructions beside its work. Sub-streams have a pointer each, and take
//! turns group by group.
//!
//! Within the text for the assembler, `\s` is a sub-stream's pointer, `\g` the number of a group
//! and `\r` the number of a register. Register 14 is scratch and 15 holds the factor. No vector
//! register above 15 is used, which `vzeroupper` would leave dirty.

/// Where a register's part of an array lies.
macro_rules! address {
    (a) => {
        "[\\s + {group}*\\g + {bytes}*\\r]"
    };
    (b) => {
        "[\\s + rsi + {group}*\\g + {bytes}*\\r]"
    };
    (c) => {
        "[\\s + rdx + {group}*\\g + {bytes}*\\r]"
    };
    (d) => {
        "[\\s + rcx + {group}*\\g + {bytes}*\\r]"
    };
}

/// Numbers from 0 on, as a list for `.irp`.
macro_rules! numbers {
    (1) => {
        "0"
    };
    (2) => {
        "0,1"
    };
    (4) => {
        "0,1,2,3"
    };
    (8) => {
        "0,1,2,3,4,5,6,7"
    };
    (16) => {
        "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"
    };
}

/// The pointers of so many sub-streams.
macro_rules! pointers {
    (1) => {
        "rax"
    };
    (2) => {
        "rax,r10"
    };
    (4) => {
        "rax,r10,rbx,rbp"
    };
}

/// Where the sub-streams begin: each where the one before it ends.
macro_rules! begin {
    (1) => {
        "mov rax, r11"
    };
    (2) => {
        concat!(begin!(1), "\nmov r10, r8")
    };
    (4) => {
        concat!(begin!(2), "\nlea rbx, [r10 + rdi]\nlea rbp, [rbx + rdi]")
    };
}

/// Keeps the pointers that are the caller's registers, or gives them back.
macro_rules! keep {
    (4) => {
        "push rbx\npush rbp"
    };
    ($streams:tt) => {
        ""
    };
}
macro_rules! give_back {
    (4) => {
        "pop rbp\npop rbx"
    };
    ($streams:tt) => {
        ""
    };
}

/// One op on register `\r`.
macro_rules! op {
    (sse load q) => {
        "movapd xmm\\r, xmm15"
    };
    (sse load $array:ident) => {
        concat!("movupd xmm\\r, ", address!($array))
    };
    (sse mul q) => {
        "mulpd xmm\\r, xmm15"
    };
    // Operands in memory would have to be aligned in this encoding.
    (sse mul $array:ident) => {
        concat!("movupd xmm14, ", address!($array), "\nmulpd xmm\\r, xmm14")
    };
    (sse add $array:ident) => {
        concat!("movupd xmm14, ", address!($array), "\naddpd xmm\\r, xmm14")
    };
    // The one array is that through which the pointer walks.
    (sse sum b) => {
        op!(sse add a)
    };
    ($v:ident load q) => {
        concat!("vmovapd ", stringify!($v), "\\r, ", stringify!($v), "15")
    };
    ($v:ident load $array:ident) => {
        concat!("vmovupd ", stringify!($v), "\\r, ", address!($array))
    };
    ($v:ident mul q) => {
        concat!("vmulpd ", stringify!($v), "\\r, ", stringify!($v), "\\r, ", stringify!($v), "15")
    };
    ($v:ident mul $array:ident) => {
        concat!("vmulpd ", stringify!($v), "\\r, ", stringify!($v), "\\r, ", address!($array))
    };
    ($v:ident add $array:ident) => {
        concat!("vaddpd ", stringify!($v), "\\r, ", stringify!($v), "\\r, ", address!($array))
    };
    ($v:ident sum b) => {
        op!($v add a)
    };
}

/// What stores register `\r`. Ordinary stores are aligned ones too.
macro_rules! store {
    (sse None) => {
        ""
    };
    (sse Ordinary) => {
        concat!("movapd ", address!(a), ", xmm\\r")
    };
    (sse NonTemporal) => {
        concat!("movntpd ", address!(a), ", xmm\\r")
    };
    ($v:ident None) => {
        ""
    };
    ($v:ident Ordinary) => {
        concat!("vmovapd ", address!(a), ", ", stringify!($v), "\\r")
    };
    ($v:ident NonTemporal) => {
        concat!("vmovntpd ", address!(a), ", ", stringify!($v), "\\r")
    };
}

/// Asks for the line that will be written some iterations later, where register `\r` begins one.
/// The line is fetched as one that will be changed, before the store has to wait for it. A line
/// behind the end of the array may be asked for too; that faults nowhere.
///
/// # Source
///
/// Intel SDM volume 2, PREFETCHW: the only exception is that of a LOCK prefix; CPUs without the
/// feature ignore it.
macro_rules! ask {
    ($lines:tt) => {
        concat!(
            ".if {bytes}*\\r % 64 == 0\n",
            "prefetchw [\\s + {group}*\\g + {bytes}*\\r + 64*",
            $lines,
            "]\n",
            ".endif"
        )
    };
}

/// How many lines ahead, if it asks.
macro_rules! lines_ahead {
    () => {
        None
    };
    ($lines:tt) => {
        Some($lines)
    };
}

/// Copies the factor to all of register 15.
macro_rules! take_factor {
    (sse) => {
        "movsd xmm15, qword ptr [rdi + {factor}]\nunpcklpd xmm15, xmm15"
    };
    ($v:ident) => {
        concat!("vbroadcastsd ", stringify!($v), "15, qword ptr [rdi + {factor}]")
    };
}

/// What is done before the first trip with registers in which sums are collected.
macro_rules! clear {
    (sse None) => {
        "xorpd xmm\\r, xmm\\r"
    };
    // It clears the whole register.
    ($v:ident None) => {
        "vxorpd xmm\\r, xmm\\r, xmm\\r"
    };
    ($v:ident $stores:ident) => {
        ""
    };
}

/// What is done after the last trip: adds up the sums, waits for the stores, cleans the registers.
macro_rules! finish {
    (sse None) => {
        ".irp r,1,2,3,4,5,6,7
        addpd xmm0, xmm\\r
        .endr
        movapd xmm1, xmm0
        unpckhpd xmm1, xmm1
        addsd xmm0, xmm1"
    };
    (sse Ordinary) => {
        ""
    };
    (sse NonTemporal) => {
        "sfence"
    };
    (ymm None) => {
        concat!(
            ".irp r,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n",
            "vaddpd ymm0, ymm0, ymm\\r\n",
            ".endr\n",
            "vextractf128 xmm1, ymm0, 1\n",
            "vaddpd xmm0, xmm0, xmm1\n",
            "vunpckhpd xmm1, xmm0, xmm0\n",
            "vaddsd xmm0, xmm0, xmm1\n",
            "vzeroupper"
        )
    };
    (zmm None) => {
        concat!(
            ".irp r,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n",
            "vaddpd zmm0, zmm0, zmm\\r\n",
            ".endr\n",
            "vextractf64x4 ymm1, zmm0, 1\n",
            "vaddpd ymm0, ymm0, ymm1\n",
            "vextractf128 xmm1, ymm0, 1\n",
            "vaddpd xmm0, xmm0, xmm1\n",
            "vunpckhpd xmm1, xmm0, xmm0\n",
            "vaddsd xmm0, xmm0, xmm1\n",
            "vzeroupper"
        )
    };
    ($v:ident Ordinary) => {
        "vzeroupper"
    };
    ($v:ident NonTemporal) => {
        "sfence\nvzeroupper"
    };
}

/// Bytes of a register.
macro_rules! register_bytes {
    (sse) => {
        16
    };
    (ymm) => {
        32
    };
    (zmm) => {
        64
    };
}

/// One naked function.
macro_rules! mover {
    (
        $class:ident $stores:ident [$($op:ident $on:ident),*],
        units $units:tt, groups $groups:tt, streams $streams:tt, ahead [$($lines:tt)?]
    ) => {{
        #[unsafe(naked)]
        unsafe extern "sysv64" fn mover(_: *const $crate::memory::mover::Span) -> f64 {
            core::arch::naked_asm!(
                ".p2align 6",
                take_factor!($class),
                concat!(".irp r,", numbers!($units)),
                clear!($class $stores),
                ".endr",
                "mov r11, [rdi + {lead}]",
                "mov rsi, [rdi + {b}]",
                "mov rdx, [rdi + {c}]",
                "mov rcx, [rdi + {d}]",
                "mov r9, [rdi + {trips}]",
                "mov rdi, [rdi + {length}]",
                "sub rsi, r11",
                "sub rdx, r11",
                "sub rcx, r11",
                "lea r8, [r11 + rdi]",
                keep!($streams),
                "3:",
                begin!($streams),
                ".p2align 6",
                "2:",
                concat!(".irp g,", numbers!($groups)),
                concat!(".irp s,", pointers!($streams)),
                $(
                    concat!(".irp r,", numbers!($units)),
                    ask!($lines),
                    ".endr",
                )?
                $(
                    concat!(".irp r,", numbers!($units)),
                    op!($class $op $on),
                    ".endr",
                )*
                concat!(".irp r,", numbers!($units)),
                store!($class $stores),
                ".endr",
                ".endr",
                ".endr",
                concat!(".irp s,", pointers!($streams)),
                "add \\s, {block}",
                ".endr",
                "cmp rax, r8",
                "jne 2b",
                "dec r9",
                "jnz 3b",
                give_back!($streams),
                finish!($class $stores),
                "ret",
                lead = const $crate::memory::mover::Span::LEAD,
                b = const $crate::memory::mover::Span::B,
                c = const $crate::memory::mover::Span::C,
                d = const $crate::memory::mover::Span::D,
                length = const $crate::memory::mover::Span::BYTES,
                trips = const $crate::memory::mover::Span::TRIPS,
                factor = const $crate::memory::mover::Span::FACTOR,
                bytes = const register_bytes!($class),
                group = const register_bytes!($class) * $units,
                block = const register_bytes!($class) * $units * $groups,
            )
        }
        mover
    }};
}

/// One naked function around an instruction that does the whole array.
macro_rules! string_mover {
    ($instruction:literal) => {{
        #[unsafe(naked)]
        unsafe extern "sysv64" fn mover(_: *const $crate::memory::mover::Span) -> f64 {
            core::arch::naked_asm!(
                ".p2align 6",
                "mov r11, [rdi + {lead}]",
                "mov rdx, [rdi + {b}]",
                "mov r8, [rdi + {length}]",
                "mov r9, [rdi + {trips}]",
                // What fills takes its byte from here.
                "mov rax, [rdi + {factor}]",
                "3:",
                "mov rdi, r11",
                "mov rsi, rdx",
                "mov rcx, r8",
                $instruction,
                "dec r9",
                "jnz 3b",
                "ret",
                lead = const $crate::memory::mover::Span::LEAD,
                b = const $crate::memory::mover::Span::B,
                length = const $crate::memory::mover::Span::BYTES,
                trips = const $crate::memory::mover::Span::TRIPS,
                factor = const $crate::memory::mover::Span::FACTOR,
            )
        }
        mover
    }};
}

/// A variant: name, class, what it needs, how it stores, and how a block is made.
macro_rules! variant {
    (
        $id:literal $class:ident $needs:ident $stores:ident $ops:tt,
        units $units:tt, groups $groups:tt, streams $streams:tt, $(ahead $lines:tt,)? $doc:literal
    ) => {
        $crate::memory::Variant {
            id: $id,
            doc: $doc,
            width_bits: Some(register_bytes!($class) * 8),
            stores: $crate::memory::Stores::$stores,
            lines_ahead: lines_ahead!($($lines)?),
            needs: &[model::Isa::$needs],
            shape: $crate::memory::Shape {
                block_bytes: register_bytes!($class) * $units * $groups,
                streams: $streams,
                alignment: 64,
            },
            entry: mover!(
                $class $stores $ops,
                units $units, groups $groups, streams $streams, ahead [$($lines)?]
            ),
        }
    };
}

/// All variants of a kernel.
///
/// There are so many because no two machines agree. What was seen with one thread and 152 MiB
/// arrays on Cascade Lake, beside the plainest variant of the same stores: with quiet neighbours
/// ordinary stores are the faster ones, several sub-streams gain up to 12 %, asking for lines ahead
/// gains 5 to 10 %, and registers of 512 bits alone lose up to 30 %, as half the loads make the
/// core prefetch less. With neighbours that fill the memory bus, non-temporal stores are faster by
/// half. On Zen 5 registers of 512 bits with non-temporal stores were best, with few loads before
/// the stores.
///
/// Sums are collected in as many registers as there are, so that no addition waits for another one;
/// the encoding of SSE needs one for loads from addresses that are not aligned.
macro_rules! variants {
    ([sum b]) => {
        &[
            variant!("sse" sse Sse2 None [sum b], units 8, groups 4, streams 1,
                "128-bit loads"),
            variant!("avx" ymm Avx None [sum b], units 16, groups 1, streams 1,
                "256-bit loads"),
            variant!("avx-2s" ymm Avx None [sum b], units 16, groups 1, streams 2,
                "256-bit loads, in two parts of the array at once"),
            variant!("avx-4s" ymm Avx None [sum b], units 16, groups 1, streams 4,
                "256-bit loads, in four parts of the array at once"),
            variant!("avx512" zmm Avx512f None [sum b], units 16, groups 1, streams 1,
                "512-bit loads"),
            variant!("avx512-2s" zmm Avx512f None [sum b], units 16, groups 1, streams 2,
                "512-bit loads, in two parts of the array at once"),
            variant!("avx512-4s" zmm Avx512f None [sum b], units 16, groups 1, streams 4,
                "512-bit loads, in four parts of the array at once"),
        ]
    };
    ($ops:tt $($string:ident)?) => {
        &[
            $(string_variant!($string),)?
            variant!("sse" sse Sse2 Ordinary $ops, units 8, groups 2, streams 1,
                "128-bit registers, ordinary stores"),
            variant!("sse-nt" sse Sse2 NonTemporal $ops, units 8, groups 2, streams 1,
                "128-bit registers, non-temporal stores"),
            variant!("avx" ymm Avx Ordinary $ops, units 4, groups 2, streams 1,
                "256-bit registers, ordinary stores"),
            variant!("avx-2s" ymm Avx Ordinary $ops, units 4, groups 2, streams 2,
                "256-bit registers, ordinary stores, in two parts of the arrays at once"),
            variant!("avx-2s-pw" ymm Avx Ordinary $ops, units 4, groups 2, streams 2, ahead 32,
                "like avx-2s, and asks by prefetchw for lines that will be written"),
            variant!("avx-nt" ymm Avx NonTemporal $ops, units 4, groups 2, streams 1,
                "256-bit registers, non-temporal stores"),
            variant!("avx-nt-2s" ymm Avx NonTemporal $ops, units 4, groups 2, streams 2,
                "256-bit registers, non-temporal stores, in two parts of the arrays at once"),
            variant!("avx-nt-4s" ymm Avx NonTemporal $ops, units 4, groups 2, streams 4,
                "256-bit registers, non-temporal stores, in four parts of the arrays at once"),
            variant!("avx512" zmm Avx512f Ordinary $ops, units 2, groups 4, streams 1,
                "512-bit registers, ordinary stores"),
            variant!("avx512-2s" zmm Avx512f Ordinary $ops, units 2, groups 2, streams 2,
                "512-bit registers, ordinary stores, in two parts of the arrays at once"),
            variant!("avx512-2s-pw" zmm Avx512f Ordinary $ops, units 2, groups 2, streams 2,
                ahead 32, "like avx512-2s, and asks by prefetchw for lines that will be written"),
            variant!("avx512-nt" zmm Avx512f NonTemporal $ops, units 2, groups 4, streams 1,
                "512-bit registers, non-temporal stores"),
            variant!("avx512-nt-4l" zmm Avx512f NonTemporal $ops, units 4, groups 2, streams 1,
                "like avx512-nt, but reads four lines of an array, not two, before it stores"),
            variant!("avx512-nt-2s" zmm Avx512f NonTemporal $ops, units 2, groups 2, streams 2,
                "512-bit registers, non-temporal stores, in two parts of the arrays at once"),
            variant!("avx512-nt-4s" zmm Avx512f NonTemporal $ops, units 2, groups 2, streams 4,
                "512-bit registers, non-temporal stores, in four parts of the arrays at once"),
        ]
    };
}

/// The variant that is one instruction.
macro_rules! string_variant {
    (movsb) => {
        string_variant!("rep-movsb", "rep movsb", "one instruction copies all bytes: rep movsb")
    };
    (stosb) => {
        string_variant!("rep-stosb", "rep stosb", "one instruction fills all bytes: rep stosb")
    };
    ($id:literal, $instruction:literal, $doc:literal) => {
        $crate::memory::Variant {
            id: $id,
            doc: $doc,
            width_bits: None,
            stores: $crate::memory::Stores::String,
            lines_ahead: None,
            needs: &[],
            shape: $crate::memory::Shape { block_bytes: 8, streams: 1, alignment: 8 },
            entry: string_mover!($instruction),
        }
    };
}

/// What a chain does: reads and writes its address in the table, and takes a step. Where there is
/// no general purpose register for it, a step leads through a vector register and `rdi`.
macro_rules! chain {
    (begin gpr $register:literal $at:literal) => {
        concat!("mov ", $register, ", [rdi + ", $at, "]")
    };
    (begin xmm $register:literal $at:literal) => {
        concat!("movq ", $register, ", qword ptr [rdi + ", $at, "]")
    };
    (step gpr $register:literal $at:literal) => {
        concat!("mov ", $register, ", [", $register, "]")
    };
    (step xmm $register:literal $at:literal) => {
        concat!("movq rdi, ", $register, "\nmovq ", $register, ", qword ptr [rdi]")
    };
    (end gpr $register:literal $at:literal) => {
        concat!("mov [rdi + ", $at, "], ", $register)
    };
    (end xmm $register:literal $at:literal) => {
        concat!("movq qword ptr [rdi + ", $at, "], ", $register)
    };
}

/// The walk of the chains that are given.
macro_rules! walk {
    ($(($($chain:tt)+))+) => {{
        #[unsafe(naked)]
        unsafe extern "sysv64" fn walk(_: *mut u64, _: u64) {
            core::arch::naked_asm!(
                ".p2align 6",
                ".irp r,rbx,rbp,r12,r13,r14,r15,rdi,rsi",
                "push \\r",
                ".endr",
                $(chain!(begin $($chain)+),)+
                ".p2align 6",
                "2:",
                ".rept {steps}",
                $(chain!(step $($chain)+),)+
                ".endr",
                // The trips are in memory, so that there is a register more for a chain.
                "dec qword ptr [rsp]",
                "jnz 2b",
                "mov rdi, [rsp + 8]",
                $(chain!(end $($chain)+),)+
                "add rsp, 16",
                ".irp r,r15,r14,r13,r12,rbp,rbx",
                "pop \\r",
                ".endr",
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
            (gpr "rax" 0) (gpr "rcx" 8) (gpr "rdx" 16) (gpr "rsi" 24)
            (gpr "r8" 32) (gpr "r9" 40) (gpr "r10" 48) (gpr "r11" 56)
            (gpr "rbx" 64) (gpr "rbp" 72) (gpr "r12" 80) (gpr "r13" 88)
            (gpr "r14" 96) (gpr "r15" 104) (xmm "xmm0" 112) (xmm "xmm1" 120)
        }
    };
    ([$($walk:expr,)*] [$($chain:tt)*]) => {
        [$($walk),*]
    };
    ([$($walk:expr,)*] [$($chain:tt)*] $next:tt $($rest:tt)*) => {
        walks! { [$($walk,)* walk!($($chain)* $next),] [$($chain)* $next] $($rest)* }
    };
}
