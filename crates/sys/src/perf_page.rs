//! The page that the kernel shares with whoever counts an event: its conversion from TSC to time, and
//! what it takes to read the counter by instruction.

use std::io;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

use crate::perf_open::{Attributes, Count, Counter, Event, Scope, open, open_raw};

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

/// Whether a thread may read its own cycle counter without a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserRead {
    /// The kernel allows the instruction (`cap_user_rdpmc`).
    pub allowed: bool,
    /// The counter was on the hardware at that moment (`index` is not 0).
    pub on_hardware: bool,
}

/// Opens an event of this thread, and asks its page.
///
/// # Source
/// `include/uapi/linux/perf_event.h`, `struct perf_event_mmap_page`: `index` at 12, `capabilities`
/// at 40, its bit 2 `cap_user_rdpmc`.
pub fn user_read(event: &Attributes) -> io::Result<UserRead> {
    const CAP_USER_RDPMC: u64 = 1 << 2;
    let page = Page::map(open_raw(&event.raw(false), Scope::ThisThread, None)?)?;
    let capabilities = page.field::<AtomicU64>(40).load(Ordering::Relaxed);
    let index = page.field::<AtomicU32>(12).load(Ordering::Relaxed);
    Ok(UserRead { allowed: capabilities & CAP_USER_RDPMC != 0, on_hardware: index != 0 })
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
        cfg!(any(target_arch = "x86_64", target_arch = "aarch64"))
            && self.page.said(hardware_counter).is_some_and(|said| said.allowed)
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
        self.page.said(hardware_counter)?.count()
    }
}

impl Said {
    /// The count, where the counter is on the hardware.
    #[inline]
    fn count(self) -> Option<Count> {
        let on_hardware = self.allowed && self.index != 0 && (1..=64).contains(&self.width);
        on_hardware.then(|| Count {
            value: extended(self.offset, self.hardware, self.width),
            enabled_ns: self.enabled_ns,
            running_ns: self.running_ns,
        })
    }
}

impl Page {
    /// One consistent reading of the page and, between its two looks at the lock, of the counter:
    /// by `hardware`, which is asked for no counter that the page does not name and allow.
    #[inline]
    fn said(&self, mut hardware: impl FnMut(u32) -> u64) -> Option<Said> {
        const CAP_USER_RDPMC: u64 = 1 << 2;
        /// The kernel writes the page in nanoseconds; a lock that moves all the time is broken.
        const ATTEMPTS: usize = 1000;
        let lock: &AtomicU32 = self.field(8);
        let word = |offset| self.field::<AtomicU64>(offset).load(Ordering::Relaxed);
        for _ in 0..ATTEMPTS {
            let before = lock.load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            let index = self.field::<AtomicU32>(12).load(Ordering::Relaxed);
            let allowed = word(40) & CAP_USER_RDPMC != 0;
            let mut said = Said {
                allowed,
                index,
                offset: word(16),
                enabled_ns: word(24),
                running_ns: word(32),
                width: self.field::<AtomicU16>(48).load(Ordering::Relaxed),
                hardware: 0,
            };
            if allowed && index != 0 {
                said.hardware = hardware(index - 1);
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

/// A counter of this CPU by instruction. The kernel's page must have named it, and said that the
/// instruction is allowed: of events that were opened for it ([`crate::perf_open::USER_ACCESS`]).
///
/// # Source
/// Linux `drivers/perf/arm_pmuv3.c`, `armv8pmu_user_event_idx`: cycles are number 31, the counters of
/// events begin at 0. Arm ARM, PMCCNTR_EL0 and PMEVCNTR<n>_EL0; an ISB keeps the reading behind what
/// comes before it.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn hardware_counter(number: u32) -> u64 {
    macro_rules! read {
        ($register:expr) => {{
            let value: u64;
            // SAFETY: the callers saw `cap_user_rdpmc` and an index in the page of an event of their own
            // thread, which the page stays mapped for: the kernel lets this thread read the register.
            // Should the counter be taken away in this moment, the lock tells that the answer is void.
            unsafe {
                std::arch::asm!(
                    "isb", concat!("mrs {value}, ", $register), "isb",
                    value = out(reg) value,
                    options(nostack, preserves_flags),
                );
            }
            value
        }};
    }
    macro_rules! counters {
        ($($event:literal)*) => {
            match number {
                $($event => read!(concat!("pmevcntr", $event, "_el0")),)*
                31 => read!("pmccntr_el0"),
                _ => 0,
            }
        };
    }
    counters!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30)
}

/// Counters are read by system call alone here.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
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

    /// A page as the kernel writes it, in a file.
    struct Written(std::fs::File);

    impl Written {
        fn new() -> Written {
            use std::os::fd::{FromRawFd, OwnedFd};
            // SAFETY: the name ends with a zero, and lives as long as the program.
            let fd = unsafe { libc::memfd_create(c"page".as_ptr(), libc::MFD_CLOEXEC) };
            assert!(fd >= 0, "{}", io::Error::last_os_error());
            // SAFETY: the kernel just gave us this descriptor; nobody else owns it.
            let file = std::fs::File::from(unsafe { OwnedFd::from_raw_fd(fd) });
            file.set_len(1 << 16).unwrap();
            let written = Written(file);
            // A counter of 48 bits that was taken over at 1000, on the hardware as number 2.
            written.put(12, &3u32.to_ne_bytes());
            written.put(16, &1000u64.to_ne_bytes());
            written.put(24, &70u64.to_ne_bytes());
            written.put(32, &60u64.to_ne_bytes());
            written.put(40, &4u64.to_ne_bytes());
            written.put(48, &48u16.to_ne_bytes());
            written
        }

        fn put(&self, offset: u64, bytes: &[u8]) {
            use std::os::unix::fs::FileExt;
            self.0.write_all_at(bytes, offset).unwrap();
        }

        fn page(&self) -> Page {
            Page::map(self.0.try_clone().unwrap().into()).unwrap()
        }
    }

    #[test]
    fn a_page_that_stands_still_gives_its_count() {
        let written = Written::new();
        let mut asked = Vec::new();
        let said = written.page().said(|number| {
            asked.push(number);
            5
        });
        let count = said.unwrap().count();
        assert_eq!(count, Some(Count { value: 1005, enabled_ns: 70, running_ns: 60 }));
        assert_eq!(asked, [2]);
    }

    #[test]
    fn a_page_that_is_being_written_gives_nothing() {
        let written = Written::new();
        written.put(8, &7u32.to_ne_bytes());
        assert_eq!(written.page().said(|_| 5), None, "an odd lock is held");
        // One that moves with each reading of the counter is never twice the same.
        let mut lock = 0u32;
        let moving = written.page().said(|_| {
            lock += 2;
            written.put(8, &lock.to_ne_bytes());
            5
        });
        assert_eq!(moving, None);
    }

    /// Written between the two looks at the lock: what was read before is not believed.
    #[test]
    fn a_page_that_changes_meanwhile_is_read_again() {
        let written = Written::new();
        let mut readings = 0;
        let said = written.page().said(|_| {
            readings += 1;
            if readings == 1 {
                written.put(16, &2000u64.to_ne_bytes());
                written.put(8, &2u32.to_ne_bytes());
            }
            5
        });
        assert_eq!((said.unwrap().count().unwrap().value, readings), (2005, 2));
    }

    #[test]
    fn a_counter_that_may_not_be_read_is_not() {
        for (offset, bytes, allowed) in [(12, &[0; 4][..], true), (40, &[0; 8][..], false)] {
            let written = Written::new();
            written.put(offset, bytes);
            let said = written.page().said(|_| panic!("nobody may execute the instruction"));
            let said = said.unwrap();
            assert_eq!((said.allowed, said.count()), (allowed, None), "{offset}");
        }
        let written = Written::new();
        written.put(48, &0u16.to_ne_bytes());
        assert_eq!(written.page().said(|_| 5).unwrap().count(), None, "no counter has no bits");
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
