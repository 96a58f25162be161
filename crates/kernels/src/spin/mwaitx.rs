//! MONITORX and MWAITX: light sleep of user space until a line is written, or for a while.
//!
//! # Source
//! AMD64 APM volume 3, MONITORX and MWAITX: CPUID 8000_0001h ECX\[29\].

use std::sync::atomic::AtomicU32;

/// That this CPU has them.
#[derive(Debug, Clone, Copy)]
pub struct MwaitX(());

impl MwaitX {
    /// The instructions, where CPUID announces them.
    #[cfg(target_arch = "x86_64")]
    pub fn detect() -> Option<MwaitX> {
        let leaves = std::arch::x86_64::__cpuid(0x8000_0000).eax;
        let announced =
            leaves >= 0x8000_0001 && std::arch::x86_64::__cpuid(0x8000_0001).ecx >> 29 & 1 == 1;
        announced.then_some(MwaitX(()))
    }

    /// Other architectures have no such instructions.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn detect() -> Option<MwaitX> {
        None
    }

    /// Arms the monitor with the line of the word; look at the word again after it.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn monitor(self, word: &AtomicU32) {
        // SAFETY: the token says that the CPU has the instruction; it reads nothing and writes
        // nothing. No `nomem`: looks at the word must not move across it.
        unsafe {
            std::arch::asm!(
                "monitorx",
                in("rax") word.as_ptr(), in("ecx") 0, in("edx") 0,
                options(nostack, preserves_flags),
            );
        }
    }

    /// Waits until the monitored line was written, an interrupt came, or about so many ticks of the
    /// TSC passed.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn wait(self, ticks: u32) {
        /// The timer in EBX counts; there is no C-state hint, which is C1.
        const WITH_TIMER: u32 = 0b10;
        // SAFETY: as in `monitor`. LLVM keeps RBX for itself, so that it is put back.
        unsafe {
            std::arch::asm!(
                "xchg rbx, {ticks:r}",
                "mwaitx",
                "xchg rbx, {ticks:r}",
                ticks = inout(reg) u64::from(ticks) => _,
                in("eax") 0, in("ecx") WITH_TIMER,
                options(nostack, preserves_flags),
            );
        }
    }

    /// Never called: there is no token.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn monitor(self, _word: &AtomicU32) {}

    /// Never called: there is no token.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn wait(self, _ticks: u32) {}
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn waits_end() {
        let Some(token) = MwaitX::detect() else {
            return; // This CPU lacks the instructions; the next one may have them.
        };
        let word = AtomicU32::new(0);
        token.monitor(&word);
        token.wait(1000);
    }
}
