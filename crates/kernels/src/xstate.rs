//! The extended state of a thread: which parts the operating system saves, which are in use, and
//! which this process was permitted to use.
//!
//! # Source
//!
//! Intel SDM volume 1, chapter 13; for the permission the kernel's
//! `Documentation/arch/x86/xstate.rst`.

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};

/// The configuration and the data of tiles.
pub(crate) const TILES: u64 = 0b11 << 17;

/// XCR0: the parts that the operating system saves; none where it saves none by XSAVE.
pub(crate) fn enabled() -> u64 {
    if !has_xsave() {
        return 0;
    }
    // SAFETY: XSAVE is enabled, and XCR0 is there with it.
    unsafe { xgetbv::<0>() }
}

/// XINUSE: the parts that are not in their first state; `None` where the CPU does not tell.
pub(crate) fn in_use() -> Option<u64> {
    const XGETBV_1: u32 = 1 << 2;
    // Where there is XSAVE, there is leaf 0Dh.
    let told = has_xsave() && __cpuid_count(0xD, 1).eax & XGETBV_1 != 0;
    // SAFETY: XSAVE is enabled, and the CPU has this form of the instruction.
    told.then(|| unsafe { xgetbv::<1>() })
}

/// Whether this process was permitted to use tiles: the first one that does so without permission
/// is ended by a signal. Permission is asked for elsewhere, because it changes the process.
pub(crate) fn are_tiles_permitted() -> bool {
    const ARCH_GET_XCOMP_PERM: u64 = 0x1022;
    let mut permitted: u64 = 0;
    let found = arch_prctl(ARCH_GET_XCOMP_PERM, (&raw mut permitted) as u64);
    found == 0 && permitted & TILES == TILES
}

/// The one system call of this crate: the right to run a tile kernel cannot be told otherwise.
fn arch_prctl(operation: u64, argument: u64) -> i64 {
    const ARCH_PRCTL: i64 = 158;
    let mut answer = ARCH_PRCTL;
    // SAFETY: the two operations of this file ask for a permission, or write one number to where
    // the argument points, which is a variable of the caller. The call overwrites rcx and r11.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") answer,
            in("rdi") operation,
            in("rsi") argument,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    answer
}

fn has_xsave() -> bool {
    const OSXSAVE: u32 = 1 << 27;
    __cpuid(1).ecx & OSXSAVE != 0
}

#[target_feature(enable = "xsave")]
unsafe fn xgetbv<const REGISTER: u32>() -> u64 {
    // SAFETY: the caller knows that this register is there.
    unsafe { _xgetbv(REGISTER) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Asks for the permission, so that tile kernels run in tests wherever they can.
    pub(crate) fn ask_for_tiles() {
        const ARCH_REQ_XCOMP_PERM: u64 = 0x1023;
        const TILE_DATA: u64 = 18;
        arch_prctl(ARCH_REQ_XCOMP_PERM, TILE_DATA);
    }

    #[test]
    fn tiles_are_permitted_only_where_the_system_saves_them() {
        const AVX: u64 = 0b110;
        assert_eq!(enabled() & AVX == AVX, std::is_x86_feature_detected!("avx"));
        ask_for_tiles();
        assert!(!are_tiles_permitted() || enabled() & TILES == TILES);
        let flags = std::fs::read_to_string("/proc/cpuinfo").expect("it can be read");
        let listed = flags.split_whitespace().any(|flag| flag == "amx_tile");
        assert!(!listed || are_tiles_permitted(), "the system has tiles and did not permit them");
    }

    #[test]
    fn what_is_in_use_is_enabled() {
        if let Some(in_use) = in_use() {
            assert_eq!(in_use & !enabled(), 0);
        }
    }
}
