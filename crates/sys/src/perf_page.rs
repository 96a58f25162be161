//! The kernel's own conversion from TSC to time, as the perf mmap page publishes it.

use std::io;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

use crate::perf_open::{Event, Scope, open};

/// `time_mult` and `time_shift` of the page: nanoseconds = (ticks * mult) >> shift.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeConversion {
    /// Multiplier.
    pub mult: u32,
    /// Shift.
    pub shift: u16,
}

impl TimeConversion {
    /// The tick rate in hertz that the conversion stands for.
    pub fn hertz(self) -> f64 {
        1e9 * (f64::from(self.shift)).exp2() / f64::from(self.mult)
    }
}

/// Opens a software event of this thread, reads its page, closes it again.
///
/// # Source
/// `include/uapi/linux/perf_event.h`, `struct perf_event_mmap_page`: offsets of `lock` 8,
/// `capabilities` 40 (bit 3: `cap_user_time`), `time_shift` 50, `time_mult` 52 hold since Linux 3.12.
pub fn time_conversion() -> io::Result<Option<TimeConversion>> {
    let page = Page::map(open(Event::DUMMY, Scope::ThisThread)?)?;
    Ok(page.conversion())
}

/// One read-only page shared with the kernel; keeps its event open.
pub(crate) struct Page {
    address: *mut libc::c_void,
    size: usize,
    _event: std::os::fd::OwnedFd,
}

impl Page {
    pub(crate) fn map(event: std::os::fd::OwnedFd) -> io::Result<Page> {
        use std::os::fd::AsRawFd;
        // SAFETY: takes no pointer.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        // SAFETY: a new mapping at an address of the kernel's choice; it aliases nothing of ours.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Page { address, size, _event: event })
    }

    /// The field at `offset`, as an atomic because the kernel writes it at any time.
    pub(crate) fn field<T>(&self, offset: usize) -> &T {
        assert!(offset + size_of::<T>() <= self.size, "BUG: field beyond the perf page");
        assert!(offset.is_multiple_of(align_of::<T>()), "BUG: unaligned field of the perf page");
        // SAFETY: inside the mapping by the assertion above.
        let field = unsafe { self.address.cast::<u8>().add(offset) };
        // SAFETY: the mapping lives as long as `self`; `T` is an atomic integer (see the callers),
        // aligned by the assertion above, and valid for every bit pattern.
        unsafe { &*field.cast::<T>() }
    }

    fn conversion(&self) -> Option<TimeConversion> {
        const CAP_USER_TIME: u64 = 1 << 3;
        /// The kernel writes the page in nanoseconds; a lock that stays odd is broken.
        const ATTEMPTS: usize = 1000;
        let lock: &AtomicU32 = self.field(8);
        for _ in 0..ATTEMPTS {
            let before = lock.load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            let capabilities = self.field::<AtomicU64>(40).load(Ordering::Relaxed);
            let shift = self.field::<AtomicU16>(50).load(Ordering::Relaxed);
            let mult = self.field::<AtomicU32>(52).load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            if before.is_multiple_of(2) && lock.load(Ordering::Relaxed) == before {
                let known = capabilities & CAP_USER_TIME != 0 && mult != 0 && shift < 64;
                return known.then_some(TimeConversion { mult, shift });
            }
        }
        None
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `map` mapped; `field` borrows cannot outlive `self`.
        unsafe { libc::munmap(self.address, self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_is_plausible_where_there_is_one() {
        // May be refused (seccomp, paranoid level 3): then there is a reason and nothing to test.
        if let Ok(Some(conversion)) = time_conversion() {
            let hertz = conversion.hertz();
            assert!((1e6..1e11).contains(&hertz), "{conversion:?} = {hertz} Hz");
        }
    }
}
