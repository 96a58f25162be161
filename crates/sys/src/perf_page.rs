//! The page that the kernel shares with whoever counts an event: its conversion from TSC to time, and
//! what it takes to read the counter by instruction.

use std::io;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

use crate::perf_open::{Count, Counter, Event, Scope, open};

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

/// A counter of the calling thread with its page: read by instruction where the kernel allows that, and
/// by a system call otherwise. It cannot go to another thread, whose counters the instruction would read.
pub struct UserCounter {
    page: Page,
    counter: Counter,
}

impl std::fmt::Debug for UserCounter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("UserCounter").field(&self.counter).finish()
    }
}

/// What a page says of its counter.
///
/// # Source
/// `include/uapi/linux/perf_event.h`, `struct perf_event_mmap_page`: `lock` at 8, `index` 12, `offset`
/// 16, `time_enabled` 24, `time_running` 32, `capabilities` 40 (bit 2: `cap_user_rdpmc`), `pmc_width` 48.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Said {
    allowed: bool,
    index: u32,
    offset: u64,
    enabled_ns: u64,
    running_ns: u64,
    width: u16,
    hardware: u64,
}

impl UserCounter {
    /// Maps the page of a counter of the calling thread.
    pub fn map(counter: Counter) -> io::Result<UserCounter> {
        let page = Page::map(counter.again()?)?;
        Ok(UserCounter { page, counter })
    }

    /// Whether the kernel allows the instruction, and this program knows it on this architecture.
    pub fn is_allowed(&self) -> bool {
        cfg!(target_arch = "x86_64") && self.said().is_some_and(|said| said.allowed)
    }

    /// The counter without its page.
    pub fn into_counter(self) -> Counter {
        self.counter
    }

    /// The counter, for readings by system call.
    pub fn counter(&self) -> &Counter {
        &self.counter
    }

    /// What it says now, by instruction; none where it has no place on the hardware at the moment, or
    /// the kernel does not allow the instruction.
    ///
    /// The times are those of the moment when it was put on the hardware: since then both have grown
    /// alike, so that their difference holds.
    #[inline]
    pub fn read(&self) -> Option<Count> {
        let said = self.said()?;
        let on_hardware = said.allowed && said.index != 0 && (1..=64).contains(&said.width);
        on_hardware.then(|| Count {
            value: extended(said.offset, said.hardware, said.width),
            enabled_ns: said.enabled_ns,
            running_ns: said.running_ns,
        })
    }

    /// One consistent reading of the page and, between its two looks at the lock, of the counter.
    #[inline]
    fn said(&self) -> Option<Said> {
        const CAP_USER_RDPMC: u64 = 1 << 2;
        /// The kernel writes the page in nanoseconds; a lock that moves all the time is broken.
        const ATTEMPTS: usize = 1000;
        let lock: &AtomicU32 = self.page.field(8);
        let word = |offset| self.page.field::<AtomicU64>(offset).load(Ordering::Relaxed);
        for _ in 0..ATTEMPTS {
            let before = lock.load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            let index = self.page.field::<AtomicU32>(12).load(Ordering::Relaxed);
            let allowed = word(40) & CAP_USER_RDPMC != 0;
            let mut said = Said {
                allowed,
                index,
                offset: word(16),
                enabled_ns: word(24),
                running_ns: word(32),
                width: self.page.field::<AtomicU16>(48).load(Ordering::Relaxed),
                hardware: 0,
            };
            if allowed && index != 0 {
                said.hardware = hardware_counter(index - 1);
            }
            fence(Ordering::Acquire);
            if before.is_multiple_of(2) && lock.load(Ordering::Relaxed) == before {
                return Some(said);
            }
        }
        None
    }
}

/// A hardware counter of so many bits, continued from where the kernel last took it over: the
/// difference between the two may be negative, and the sum begins again at zero as 64 bits do.
///
/// # Source
/// `include/uapi/linux/perf_event.h`, at `pmc_width`: shift up and back down as a signed number.
///
/// A width beyond 1 to 64 is no counter's: all bits are taken.
pub fn extended(offset: u64, hardware: u64, width: u16) -> u64 {
    let beyond = match u32::from(width) {
        width @ 1..=u64::BITS => u64::BITS - width,
        _ => 0,
    };
    offset.wrapping_add(((hardware << beyond).cast_signed() >> beyond).cast_unsigned())
}

/// A counter of this CPU by instruction. The kernel's page must have named it, and said that the
/// instruction is allowed.
///
/// # Source
/// Intel SDM volume 2B, RDPMC: it is no serialising instruction; an LFENCE before it waits for all
/// earlier instructions, one after it keeps later ones from starting.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn hardware_counter(number: u32) -> u64 {
    let (high, low): (u64, u64);
    // SAFETY: the callers saw `cap_user_rdpmc` and an index in the page of an event of their own
    // thread, which the page stays mapped for: the kernel lets this thread execute it. Should the counter
    // be taken away in this moment, it still answers, and the lock tells that the answer is void.
    unsafe {
        std::arch::asm!(
            "lfence", "rdpmc", "lfence",
            in("ecx") number, out("rax") low, out("rdx") high,
            options(nostack, preserves_flags),
        );
    }
    high << 32 | low
}

/// Counters are read by system call alone here: AArch64 wants events that were opened for user access.
#[cfg(not(target_arch = "x86_64"))]
fn hardware_counter(_number: u32) -> u64 {
    0
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

    /// The kernel starts counters below zero, so that they interrupt it in time.
    #[test]
    fn counters_of_any_width_go_on_where_they_were_taken_over() {
        for width in [40, 48] {
            let top = 1u64 << (width - 1);
            let begun = (1u64 << width) - top;
            // It stood at -top when the kernel added it to the sum; 5 events later ...
            assert_eq!(extended(top, begun + 5, width), 5);
            // ... and when it has passed zero.
            assert_eq!(extended(top, 7, width), top + 7);
            assert_eq!(extended(1000, 0, width), 1000);
        }
        assert_eq!(extended(u64::MAX, 2, 48), 1);
        assert_eq!(extended(3, u64::MAX, 64), 2);
        assert_eq!([extended(3, 4, 0), extended(3, 4, 65)], [7, 7]);
    }

    #[test]
    fn a_page_without_a_counter_on_the_hardware_gives_no_number() {
        let Ok(counter) = Counter::open(Event::CPU_CLOCK.user_only(), Scope::ThisThread) else {
            return; // The kernel refuses: there is nothing to map.
        };
        let counter = UserCounter::map(counter).unwrap();
        assert!(!counter.is_allowed(), "the kernel's own clock has no counter");
        assert_eq!(counter.read(), None);
        assert!(counter.counter().read().unwrap().enabled_ns > 0);
    }

    /// Where the machine has a PMU and the kernel allows it: both ways say the same.
    #[test]
    fn by_instruction_and_by_system_call_a_counter_says_the_same() {
        let Ok(counter) = Counter::open(Event::CYCLES_USER, Scope::ThisThread) else { return };
        let counter = UserCounter::map(counter).unwrap();
        let (first, Some(second), third) =
            (counter.counter().read().unwrap(), counter.read(), counter.counter().read().unwrap())
        else {
            return;
        };
        assert!((first.value..=third.value).contains(&second.value), "{first:?} {second:?}");
    }
}
