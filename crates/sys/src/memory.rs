//! Mappings that are made to see whether the kernel makes them, and are gone at once.

use std::io;

/// A mapping that nobody touches.
struct Mapping {
    address: *mut libc::c_void,
    bytes: usize,
}

impl Mapping {
    fn new(bytes: usize, flags: libc::c_int) -> io::Result<Mapping> {
        // SAFETY: a new mapping at an address of the kernel's choice; it aliases nothing of ours.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Mapping { address, bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `new` mapped.
        unsafe { libc::munmap(self.address, self.bytes) };
    }
}

/// Maps one page of 2 MiB from the reserved ones, and unmaps it (mmap(2), `MAP_HUGETLB`).
pub fn try_huge_page() -> io::Result<()> {
    Mapping::new(2 << 20, libc::MAP_HUGETLB | libc::MAP_HUGE_2MB).map(drop)
}

/// Locks one page in memory, and unmaps it, which unlocks it (mlock(2)).
pub fn try_lock() -> io::Result<()> {
    let page = Mapping::new(4096, 0)?;
    // SAFETY: the range is the mapping's own.
    let done = unsafe { libc::mlock(page.address, page.bytes) };
    if done != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_attempt_leaves_nothing_locked() {
        // May be refused (limit 0): then there is a reason and nothing to test.
        if super::try_lock().is_ok() {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let locked = status.lines().find(|line| line.starts_with("VmLck:")).unwrap();
            assert_eq!(locked.split_whitespace().nth(1), Some("0"), "{locked}");
        }
    }
}
