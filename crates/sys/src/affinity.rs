//! Which CPUs a thread may run on. The masks grow, because `libc::cpu_set_t` ends at CPU 1,023 and
//! kernels with more CPUs refuse masks that are too short (sched_getaffinity(2), NOTES).

use std::io;

use model::{CpuId, CpuSet};

const BITS: u32 = u64::BITS;

/// The CPUs that the calling thread may run on.
pub fn current() -> io::Result<CpuSet> {
    /// 65,536 CPUs: eight times the kernel's own limit.
    const WORDS_MAX: usize = 1024;
    let mut words = 16;
    loop {
        match read_mask(words) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && words < WORDS_MAX => {
                words *= 2;
            }
            Err(error) => return Err(error),
            Ok(mask) => return Ok(ids(&mask)),
        }
    }
}

fn ids(mask: &[u64]) -> CpuSet {
    let bits = |(word, &bits): (usize, &u64)| {
        (0..BITS).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word as u32 * BITS + bit)
    };
    mask.iter().enumerate().flat_map(bits).map(CpuId).collect()
}

pub(crate) fn mask(cpus: &CpuSet) -> Vec<u64> {
    let words = cpus.iter().last().map_or(1, |last| last.0 / BITS + 1);
    let mut mask = vec![0u64; words as usize];
    for cpu in cpus.iter() {
        mask[(cpu.0 / BITS) as usize] |= 1 << (cpu.0 % BITS);
    }
    mask
}

fn read_mask(words: usize) -> io::Result<Vec<u64>> {
    let mut mask = vec![0u64; words];
    // SAFETY: the kernel writes at most the given number of bytes, which the vector owns.
    let written = unsafe {
        libc::syscall(libc::SYS_sched_getaffinity, 0, words * size_of::<u64>(), mask.as_mut_ptr())
    };
    if written < 0 { Err(io::Error::last_os_error()) } else { Ok(mask) }
}

/// Lets the calling thread run on these CPUs only.
pub fn restrict(cpus: &CpuSet) -> io::Result<()> {
    restrict_to(&mask(cpus))
}

/// The same by a mask, without allocating.
pub(crate) fn restrict_to(mask: &[u64]) -> io::Result<()> {
    // SAFETY: the kernel reads exactly the bytes that the vector owns.
    let done =
        unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(mask), mask.as_ptr()) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Pins the calling thread to one CPU.
pub fn pin(cpu: CpuId) -> io::Result<()> {
    restrict(&std::iter::once(cpu).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_reach_beyond_1023_cpus() {
        let set: CpuSet = "3,64,1500".parse().unwrap();
        assert_eq!(mask(&set).len(), 24);
        assert_eq!(ids(&mask(&set)), set);
    }

    #[test]
    fn a_pinned_thread_runs_where_it_was_pinned() {
        let all = current().unwrap();
        let last = all.iter().last().unwrap();
        std::thread::spawn(move || {
            pin(last).unwrap();
            assert_eq!(current().unwrap().as_slice(), [last]);
            assert_eq!(crate::thread::current_cpu(), Some(last));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn an_absent_cpu_is_an_error() {
        assert!(std::thread::spawn(|| pin(CpuId(60_000))).join().unwrap().is_err());
    }
}
