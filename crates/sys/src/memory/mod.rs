//! Memory to measure with: in pages of a kind, on a node of choice; and attempts at kinds of
//! memory that may be refused.

mod attempts;
mod nodes;

use std::io;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::AtomicU32;

use model::Pages;

pub use self::attempts::{try_huge_page, try_lock};

/// Where transparent huge pages begin and end: the size of one on x86-64, and on AArch64 with base
/// pages of 4 KiB.
const HUGE_BYTES: usize = 2 << 20;

/// Bytes of a base page.
pub fn base_page_bytes() -> usize {
    // SAFETY: takes no pointer.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    // POSIX has no answer but the size of a page, which is at least 1.
    usize::try_from(bytes).ok().filter(|&bytes| bytes > 0).unwrap_or(4096)
}

/// Lets all threads allocate from so many arenas, where no thread has been started yet. The C library sets
/// aside 64 MiB of addresses for each, which counts where the address space is limited (`ulimit -v`), and
/// threads that share one wait for each other. Says whether it does.
pub fn arenas(count: u16) -> bool {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: takes no pointer.
        let done = unsafe { libc::mallopt(libc::M_ARENA_MAX, count.into()) };
        done == 1
    }
    // Others have one anyway.
    #[cfg(not(target_env = "gnu"))]
    {
        count == 1
    }
}

/// Anonymous private memory: zero until it is written, gone when it is dropped.
///
/// Who first touches a page gets it from its own node, unless [`Mapping::bind`] said otherwise.
/// A base page that nobody may touch lies on either side, except beside reserved huge pages: a
/// kernel that runs over the edge is stopped there, and the kernel's counts of this memory
/// (smaps) are those of nobody else's.
pub struct Mapping {
    /// What is unmapped, pages beside it included.
    whole: Region,
    /// Where the memory begins within it.
    offset: usize,
    bytes: usize,
    pages: Pages,
}

impl Mapping {
    /// Maps at least this many bytes, whole pages of the kind asked for.
    ///
    /// Reserved huge pages are set aside here, so that too few of them are an error of this call.
    /// Whether others really are what was asked for is only known once they are touched.
    pub fn new(bytes: usize, pages: Pages) -> io::Result<Mapping> {
        let base = base_page_bytes();
        match pages {
            Pages::Base => {
                let mapping = Mapping::between_guards(bytes, pages, base)?;
                // A kernel without huge pages does not know the advice, and needs none.
                mapping.advise(libc::MADV_NOHUGEPAGE).or_else(|error| {
                    let unknown = error.raw_os_error() == Some(libc::EINVAL);
                    if unknown { Ok(()) } else { Err(error) }
                })?;
                Ok(mapping)
            }
            Pages::Transparent => {
                let mapping = Mapping::between_guards(bytes, pages, HUGE_BYTES.max(base))?;
                mapping.advise(libc::MADV_HUGEPAGE)?;
                Ok(mapping)
            }
            Pages::Huge2M => Mapping::reserved(bytes, pages, 2 << 20, libc::MAP_HUGE_2MB),
            Pages::Huge1G => Mapping::reserved(bytes, pages, 1 << 30, libc::MAP_HUGE_1GB),
        }
    }

    /// Whole pages from those that are set aside (mmap(2), `MAP_HUGETLB`).
    fn reserved(bytes: usize, pages: Pages, page: usize, size: libc::c_int) -> io::Result<Mapping> {
        let bytes = rounded(bytes, page)?;
        let flags = libc::MAP_HUGETLB | size;
        let whole = Region::new(bytes, libc::PROT_READ | libc::PROT_WRITE, flags)?;
        Ok(Mapping { whole, offset: 0, bytes, pages })
    }

    /// Memory that begins and ends at multiples of `align`, a page that nobody may touch on
    /// either side.
    fn between_guards(bytes: usize, pages: Pages, align: usize) -> io::Result<Mapping> {
        let guard = base_page_bytes();
        let bytes = rounded(bytes, align)?;
        let total = bytes.checked_add(align).and_then(|sum| sum.checked_add(guard));
        let whole = Region::new(total.ok_or_else(too_large)?, libc::PROT_NONE, 0)?;
        let start = (whole.start() + guard).next_multiple_of(align);
        let mapping = Mapping { offset: start - whole.start(), whole, bytes, pages };
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the range lies within the region, see `total`; nobody holds a reference into it.
        let done = unsafe { libc::mprotect(mapping.pointer(), bytes, access) };
        if done == 0 { Ok(mapping) } else { Err(io::Error::last_os_error()) }
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The pages that were asked for.
    pub fn pages(&self) -> Pages {
        self.pages
    }

    /// Where it begins, a number to look up in `/proc/self/smaps`.
    pub fn address(&self) -> usize {
        self.pointer().addr()
    }

    /// The memory as floating-point numbers.
    pub fn words_mut(&mut self) -> &mut [f64] {
        let first = self.pointer().cast::<f64>();
        // SAFETY: begins at a page, is ours and readable and writable from end to end, and every
        // bit pattern is a number; `self` stays borrowed as long as the slice lives.
        unsafe { std::slice::from_raw_parts_mut(first, self.bytes / size_of::<f64>()) }
    }

    /// The memory as integers.
    pub fn integers_mut(&mut self) -> &mut [u64] {
        let first = self.pointer().cast::<u64>();
        // SAFETY: as in `words_mut`.
        unsafe { std::slice::from_raw_parts_mut(first, self.bytes / size_of::<u64>()) }
    }

    /// The memory as integers that several threads may change.
    pub fn atomics(&self) -> &[AtomicU32] {
        let first = self.pointer().cast::<AtomicU32>();
        // SAFETY: as in `words_mut`; who shares `self` changes the memory in no other way.
        unsafe { std::slice::from_raw_parts(first, self.bytes / size_of::<AtomicU32>()) }
    }

    /// Brings the pages of a part in, by the calling thread: what it holds stays as it is.
    ///
    /// Where there is no page left (reserved ones of the bound node, say), this is an error,
    /// while touching the memory would be a signal. Linux before 5.14 answers `EINVAL`.
    pub fn populate(&self, part: Range<usize>) -> io::Result<()> {
        if part.start > part.end || part.end > self.bytes {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let start = part.start - part.start % self.step();
        self.advise_part(start..part.end, libc::MADV_POPULATE_WRITE)
    }

    fn advise(&self, advice: libc::c_int) -> io::Result<()> {
        self.advise_part(0..self.bytes, advice)
    }

    /// madvise(2) for a part that lies within, and begins at a page.
    fn advise_part(&self, part: Range<usize>, advice: libc::c_int) -> io::Result<()> {
        let start = self.pointer().wrapping_byte_add(part.start);
        // SAFETY: the range is the mapping's own, and none of our advices changes what it holds.
        let done = unsafe { libc::madvise(start, part.len(), advice) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The distance of addresses that are certainly in different pages, and at page boundaries.
    fn step(&self) -> usize {
        let reserved = self.pages.reserved_bytes();
        reserved.map_or_else(base_page_bytes, |bytes| bytes as usize)
    }

    fn pointer(&self) -> *mut libc::c_void {
        self.whole.address.wrapping_byte_add(self.offset)
    }
}

/// Whole pages. Nothing is not mapped, as mmap(2) has it.
fn rounded(bytes: usize, page: usize) -> io::Result<usize> {
    if bytes == 0 {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    bytes.checked_next_multiple_of(page).ok_or_else(too_large)
}

fn too_large() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOMEM)
}

/// A part of the address space, unmapped when it is dropped.
struct Region {
    address: *mut libc::c_void,
    bytes: usize,
}

impl Region {
    fn new(bytes: usize, access: libc::c_int, flags: libc::c_int) -> io::Result<Region> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
        // SAFETY: a new mapping at an address of the kernel's choice; it aliases nothing of ours.
        let address = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Region { address, bytes })
    }

    fn start(&self) -> usize {
        self.address.addr()
    }
}

// SAFETY: the address is that of memory which belongs to the region alone, not to a thread.
unsafe impl Send for Region {}
// SAFETY: a shared region gives no access to its memory, only its address.
unsafe impl Sync for Region {}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `new` mapped; slices of it borrow the mapping it is in.
        unsafe { libc::munmap(self.address, self.bytes) };
    }
}

#[cfg(test)]
#[expect(clippy::print_stderr, reason = "a test that cannot run says what it needs")]
fn skipped(needs: &str) {
    eprintln!("SKIPPED: this test needs {needs}");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of `/proc/self/maps` that overlap a range: start, end, permissions.
    fn mapped(range: &Range<usize>) -> Vec<(usize, usize, String)> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = |line: &str| {
            let mut words = line.split(' ');
            let (start, end) = words.next()?.split_once('-')?;
            let number = |text| usize::from_str_radix(text, 16).ok();
            Some((number(start)?, number(end)?, words.next()?.to_owned()))
        };
        let overlaps =
            |(start, end, _): &(usize, usize, String)| *start < range.end && range.start < *end;
        maps.lines().filter_map(line).filter(overlaps).collect()
    }

    /// A mapping; `None` with a note where this machine has no such pages.
    fn mapping(bytes: usize, pages: Pages) -> Option<Mapping> {
        match Mapping::new(bytes, pages) {
            Ok(mapping) => Some(mapping),
            Err(error) if pages == Pages::Base => panic!("cannot map {bytes} bytes: {error}"),
            Err(error) => {
                skipped(&format!("{}: {error}", pages.title()));
                None
            }
        }
    }

    #[test]
    fn memory_is_zero_and_holds_what_is_written_to_both_ends() {
        for pages in Pages::ALL.iter().copied() {
            let Some(mut mapping) = mapping(3 << 20, pages) else { continue };
            assert!(mapping.bytes() >= 3 << 20);
            let words = mapping.words_mut();
            assert_eq!(size_of_val(words), mapping.bytes());
            let integers = mapping.integers_mut();
            assert!(integers.iter().all(|&integer| integer == 0));
            *integers.first_mut().unwrap() = 1.5_f64.to_bits();
            *integers.last_mut().unwrap() = (-2.0_f64).to_bits();
            let words = mapping.words_mut();
            assert_eq!((words.first(), words.last()), (Some(&1.5), Some(&-2.0)));
        }
    }

    #[test]
    fn sizes_are_whole_pages_of_the_kind() {
        let base = base_page_bytes();
        for (bytes, pages, expected) in [
            (1, Pages::Base, base),
            (base, Pages::Base, base),
            (base + 1, Pages::Base, 2 * base),
            (1, Pages::Transparent, HUGE_BYTES),
            (HUGE_BYTES + 1, Pages::Transparent, 2 * HUGE_BYTES),
            (1, Pages::Huge2M, 2 << 20),
            (1, Pages::Huge1G, 1 << 30),
        ] {
            let Some(mapping) = mapping(bytes, pages) else { continue };
            assert_eq!(mapping.bytes(), expected, "{bytes} bytes of {pages}");
            assert!(mapping.address().is_multiple_of(expected.min(mapping.step())));
            if pages == Pages::Transparent {
                assert!(mapping.address().is_multiple_of(HUGE_BYTES));
            }
        }
    }

    #[test]
    fn nobody_may_touch_what_lies_beside() {
        for pages in [Pages::Base, Pages::Transparent] {
            let Some(mapping) = mapping(5 << 20, pages) else { continue };
            let (start, end) = (mapping.address(), mapping.address() + mapping.bytes());
            let maps = mapped(&(start - 1..end + 1));
            let inside: Vec<_> = maps.iter().filter(|(_, _, access)| access == "rw-p").collect();
            assert_eq!(inside, [&(start, end, "rw-p".to_owned())], "{maps:?}");
            let beside: Vec<_> = maps.iter().filter(|(_, _, access)| access == "---p").collect();
            assert_eq!(beside.len(), 2, "{maps:?}");
        }
    }

    #[test]
    fn dropped_memory_is_unmapped_with_what_lies_beside() {
        // Nothing else is nearly as large, so that whatever another thread maps there meanwhile
        // is no remainder.
        let Ok(region) = Region::new(2 << 40, libc::PROT_NONE, 0) else {
            skipped("2 TiB of address space, untouched");
            return;
        };
        let whole = region.start()..region.start() + region.bytes;
        let left = || -> usize {
            let size = |(start, end, _): &(usize, usize, String)| {
                end.min(&whole.end) - start.max(&whole.start)
            };
            mapped(&whole).iter().map(size).sum()
        };
        assert_eq!(left(), 2 << 40);
        drop(Mapping { whole: region, offset: 0, bytes: 1, pages: Pages::Base });
        assert!(left() < 1 << 40, "{} bytes are left", left());
    }

    #[test]
    fn sizes_that_nobody_has_are_errors() {
        for pages in Pages::ALL.iter().copied() {
            for bytes in [0, usize::MAX, usize::MAX - (4 << 30)] {
                assert!(Mapping::new(bytes, pages).is_err(), "{bytes} bytes of {pages}");
            }
        }
    }

    #[test]
    fn populating_keeps_what_is_there_and_refuses_what_is_not() {
        let mut mapping = Mapping::new(1 << 20, Pages::Base).unwrap();
        let bytes = mapping.bytes();
        mapping.integers_mut()[1] = 7;
        match mapping.populate(8..bytes) {
            Ok(()) => assert_eq!(mapping.integers_mut()[1], 7),
            Err(error) => skipped(&format!("Linux 5.14: {error}")),
        }
        assert!(mapping.populate(0..bytes + 1).is_err());
    }

    #[test]
    fn threads_share_a_mapping_and_pass_it_on() {
        let mut mapping = Mapping::new(1 << 16, Pages::Base).unwrap();
        let half = mapping.words_mut().len() / 2;
        std::thread::scope(|scope| {
            let (low, high) = mapping.words_mut().split_at_mut(half);
            scope.spawn(|| low.fill(1.0));
            scope.spawn(|| high.fill(2.0));
        });
        let last = std::thread::spawn(move || {
            let words = mapping.words_mut();
            (words[half - 1].to_bits(), words[half].to_bits())
        });
        assert_eq!(last.join().unwrap(), (1.0_f64.to_bits(), 2.0_f64.to_bits()));
    }
}
