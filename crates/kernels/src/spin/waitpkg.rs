//! UMONITOR, UMWAIT and TPAUSE: light sleep of user space until a line is written, or until a time.
//!
//! # Source
//! Intel SDM volume 2, TPAUSE, UMONITOR and UMWAIT: CPUID 7 ECX\[5\]; the operating system limits how
//! long they wait (IA32_UMWAIT_CONTROL, 100,000 ticks of the TSC in Linux).

use std::sync::atomic::AtomicU32;

/// That this CPU has them.
#[derive(Debug, Clone, Copy)]
pub struct WaitPkg(());

/// C0.1: it is left faster than C0.2, and saves less.
#[cfg(target_arch = "x86_64")]
const FAST: u32 = 1;

impl WaitPkg {
    /// The instructions, where CPUID announces them.
    #[cfg(target_arch = "x86_64")]
    pub fn detect() -> Option<WaitPkg> {
        let leaves = std::arch::x86_64::__cpuid(0).eax;
        let announced = leaves >= 7 && std::arch::x86_64::__cpuid_count(7, 0).ecx >> 5 & 1 == 1;
        announced.then_some(WaitPkg(()))
    }

    /// Other architectures have no such instructions.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn detect() -> Option<WaitPkg> {
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
                "umonitor {}",
                in(reg) word.as_ptr(),
                options(nostack, preserves_flags),
            );
        }
    }

    /// Waits until the monitored line was written, an interrupt came, or so many ticks of the TSC
    /// passed.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn wait(self, ticks: u64) {
        let until = now() + ticks;
        // SAFETY: as in `monitor`; it changes flags alone.
        unsafe {
            std::arch::asm!(
                "umwait {:e}",
                in(reg) FAST, in("eax") until as u32, in("edx") (until >> 32) as u32,
                options(nostack),
            );
        }
    }

    /// Waits until an interrupt came, or so many ticks of the TSC passed.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn pause(self, ticks: u64) {
        let until = now() + ticks;
        // SAFETY: as in `wait`.
        unsafe {
            std::arch::asm!(
                "tpause {:e}",
                in(reg) FAST, in("eax") until as u32, in("edx") (until >> 32) as u32,
                options(nostack),
            );
        }
    }

    /// Never called: there is no token.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn monitor(self, _word: &AtomicU32) {}

    /// Never called: there is no token.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn wait(self, _ticks: u64) {}

    /// Never called: there is no token.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn pause(self, _ticks: u64) {}
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn now() -> u64 {
    // SAFETY: every CPU of x86-64 has it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn waits_end() {
        let Some(token) = WaitPkg::detect() else {
            return; // This CPU lacks the instructions; the next one may have them.
        };
        let word = AtomicU32::new(0);
        token.monitor(&word);
        token.wait(1000);
        token.pause(1000);
    }
}
