//! Memory that is asked for to see whether the kernel gives it, and is given back at once.

use std::io;

use model::Pages;

use super::Mapping;

/// Maps one page of 2 MiB from the reserved ones, brings it in, and unmaps it (mmap(2), `MAP_HUGETLB`). A control
/// group may allow the first and not the second: `EFAULT`.
pub fn try_huge_page() -> io::Result<()> {
    let page = Mapping::new(1, Pages::Huge2M)?;
    page.populate(0..page.bytes()).or_else(|error| {
        // Linux before 5.14 cannot bring it in without a signal where it may not.
        let unknown = error.raw_os_error() == Some(libc::EINVAL);
        if unknown { Ok(()) } else { Err(error) }
    })
}

/// Locks one page in memory, and unmaps it, which unlocks it (mlock(2)).
pub fn try_lock() -> io::Result<()> {
    let page = Mapping::new(1, Pages::Base)?;
    // SAFETY: the range is the mapping's own.
    let done = unsafe { libc::mlock(page.pointer(), page.bytes()) };
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
