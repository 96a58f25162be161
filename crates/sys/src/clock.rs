//! Stamps: reading a clock around a kernel, with the fences that keep the kernel inside.

use std::time::Duration;

/// Reads a clock inside a thread. Generic in the timing loop, so that it is inlined there.
pub trait Probe: Copy + Send + Sync + 'static {
    /// Reads the clock after everything before it has finished, and before anything after it starts.
    fn stamp(self) -> u64;
}

/// The time stamp counter of x86, serialised by `lfence; rdtsc; lfence`.
///
/// # Source
/// Intel SDM volume 2B, RDTSC: an LFENCE before it waits for all earlier instructions, one after it
/// keeps later ones from starting. AMD64 APM volume 3, LFENCE: dispatch-serialising where
/// `MSR C001_1029[1]` is set, which Linux does at boot.
#[derive(Debug, Clone, Copy)]
pub struct Tsc(());

/// `CLOCK_MONOTONIC_RAW` in nanoseconds: works everywhere, costs more, steps coarser.
#[derive(Debug, Clone, Copy)]
pub struct MonotonicRaw(());

/// The generic timer of Arm, serialised by `isb`.
///
/// # Source
/// Arm ARM (DDI 0487), D12.1.2: reads of CNTVCT_EL0 may be speculated; an ISB before it prevents that.
#[derive(Debug, Clone, Copy)]
pub struct Cntvct(());

impl Tsc {
    /// The counter, where the CPU has one that runs at a constant rate through all P- and C-states
    /// (CPUID 8000_0007h EDX\[8\]).
    #[cfg(target_arch = "x86_64")]
    pub fn invariant() -> Option<Tsc> {
        Tsc::any().filter(|_| {
            crate::cpuid::leaf(0x8000_0007, 0).is_some_and(|leaf| leaf.edx >> 8 & 1 == 1)
        })
    }

    /// The counter, invariant or not (CPUID 1 EDX\[4\]).
    #[cfg(target_arch = "x86_64")]
    pub fn any() -> Option<Tsc> {
        crate::cpuid::leaf(1, 0).filter(|leaf| leaf.edx >> 4 & 1 == 1).map(|_| Tsc(()))
    }

    /// There is no time stamp counter on this architecture.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn invariant() -> Option<Tsc> {
        None
    }
}

impl Probe for Tsc {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn stamp(self) -> u64 {
        let (high, low): (u64, u64);
        // SAFETY: a `Tsc` exists only where CPUID announces the instruction; it touches no memory.
        // No `nomem`: the compiler must not move the kernel's memory accesses across the stamp.
        unsafe {
            std::arch::asm!(
                "lfence", "rdtsc", "lfence",
                out("rdx") high, out("rax") low,
                options(nostack, preserves_flags),
            );
        }
        high << 32 | low
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn stamp(self) -> u64 {
        unreachable!("BUG: a Tsc cannot be made on this architecture")
    }
}

impl MonotonicRaw {
    /// The clock; Linux has had it since 2.6.28.
    pub fn new() -> Option<MonotonicRaw> {
        read_clock(libc::CLOCK_MONOTONIC_RAW).map(|_| MonotonicRaw(()))
    }
}

impl Probe for MonotonicRaw {
    #[inline(always)]
    fn stamp(self) -> u64 {
        read_clock(libc::CLOCK_MONOTONIC_RAW).map_or(0, |time| time.as_nanos() as u64)
    }
}

impl Cntvct {
    /// The timer and its announced rate in hertz (`CNTFRQ_EL0`).
    #[cfg(target_arch = "aarch64")]
    pub fn with_rate() -> Option<(Cntvct, u64)> {
        let rate: u64;
        // SAFETY: Linux lets user space read CNTFRQ_EL0; reading it has no effect.
        unsafe {
            std::arch::asm!("mrs {}, cntfrq_el0", out(reg) rate, options(nomem, nostack));
        }
        (rate > 0).then_some((Cntvct(()), rate))
    }

    /// There is no generic timer on this architecture.
    #[cfg(not(target_arch = "aarch64"))]
    pub fn with_rate() -> Option<(Cntvct, u64)> {
        None
    }
}

impl Probe for Cntvct {
    #[cfg(target_arch = "aarch64")]
    #[inline(always)]
    fn stamp(self) -> u64 {
        let count: u64;
        // SAFETY: Linux lets user space read CNTVCT_EL0; reading it has no effect.
        unsafe {
            std::arch::asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) count, options(nostack));
        }
        count
    }

    #[cfg(not(target_arch = "aarch64"))]
    fn stamp(self) -> u64 {
        unreachable!("BUG: a Cntvct cannot be made on this architecture")
    }
}

fn read_clock(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel (or the vDSO) writes one timespec, which lives on this stack.
    let done = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (done == 0).then(|| Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32))
}

/// Now, on `CLOCK_MONOTONIC_RAW`: hardware time, not slewed by NTP.
pub fn monotonic_raw() -> Duration {
    read_clock(libc::CLOCK_MONOTONIC_RAW).unwrap_or_default()
}

/// Time since boot, with that in which the machine was suspended (`CLOCK_BOOTTIME`).
pub fn boottime() -> Duration {
    read_clock(libc::CLOCK_BOOTTIME).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_do_not_run_backwards() {
        fn check(probe: impl Probe) {
            let stamps: Vec<u64> = (0..1000).map(|_| probe.stamp()).collect();
            assert!(stamps.is_sorted());
            assert!(stamps[999] > stamps[0]);
        }
        check(MonotonicRaw::new().unwrap());
        if let Some(tsc) = Tsc::invariant() {
            check(tsc);
        }
    }
}
