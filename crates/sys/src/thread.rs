//! What happened to the calling thread.

use std::io;
use std::time::Duration;

use model::CpuId;

/// Counts that only grow, of the calling thread (getrusage(2), `RUSAGE_THREAD`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Times that it gave up the CPU by itself.
    pub voluntary_switches: u64,
    /// Times that the CPU was taken away from it.
    pub involuntary_switches: u64,
    /// Page faults, served from memory or from disk.
    pub page_faults: u64,
}

/// The counts of the calling thread.
pub fn usage() -> io::Result<Usage> {
    // SAFETY: `rusage` consists of integers only, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one `rusage`, which lives on this stack.
    let done = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Usage {
        voluntary_switches: usage.ru_nvcsw.cast_unsigned(),
        involuntary_switches: usage.ru_nivcsw.cast_unsigned(),
        page_faults: (usage.ru_minflt + usage.ru_majflt).cast_unsigned(),
    })
}

/// For how long the calling thread was on a CPU.
pub fn cpu_time() -> io::Result<Duration> {
    time_of(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// What a clock of CPU time says (clock_gettime(2)).
pub(crate) fn time_of(clock: libc::clockid_t) -> io::Result<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one `timespec`, which lives on this stack.
    let done = unsafe { libc::clock_gettime(clock, &raw mut time) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// The CPU that the calling thread runs on at this moment.
pub fn current_cpu() -> Option<CpuId> {
    // SAFETY: takes no pointer.
    let cpu = unsafe { libc::sched_getcpu() };
    u32::try_from(cpu).ok().map(CpuId)
}
