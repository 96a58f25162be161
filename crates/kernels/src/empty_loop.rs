//! A loop that does nothing but end: two instructions and one branch by iteration, as a known answer
//! for counters.

/// Goes so many times through a loop of a decrement and a conditional jump; at least once.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub fn count_down(iterations: u64) {
    // SAFETY: it changes the one register and the flags, and touches no memory.
    unsafe {
        std::arch::asm!(
            ".p2align 5",
            "2: dec {0}",
            "jnz 2b",
            inout(reg) iterations.max(1) => _,
            options(nomem, nostack),
        );
    }
}

/// Goes so many times through a loop of a decrement and a conditional jump; at least once.
#[cfg(target_arch = "aarch64")]
#[inline(never)]
pub fn count_down(iterations: u64) {
    // SAFETY: it changes the one register and the flags, and touches no memory.
    unsafe {
        std::arch::asm!(
            ".p2align 5",
            "2: subs {0}, {0}, #1",
            "b.ne 2b",
            inout(reg) iterations.max(1) => _,
            options(nomem, nostack),
        );
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_ends() {
        super::count_down(0);
        super::count_down(1000);
    }
}
