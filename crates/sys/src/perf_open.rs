//! Opening counters of the kernel (perf_event_open(2)), to see whether it lets us, and to read them.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{FromRawFd, OwnedFd};

use model::CpuId;

use crate::perf_page::Page;

/// What is counted.
///
/// # Source
/// `include/uapi/linux/perf_event.h`: `enum perf_type_id`, `perf_hw_id`, `perf_sw_ids`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The PMU: a number of `perf_type_id`, or of the file `type` of a PMU in sysfs.
    pub kind: u32,
    /// The event of that PMU.
    pub config: u64,
    /// Whether the kernel's own work is counted, too.
    pub kernel: bool,
}

impl Event {
    /// Core cycles in user mode, of the hardware's PMU.
    pub const CYCLES_USER: Event = Event { kind: 0, config: 0, kernel: false };
    /// Time on a CPU, of the kernel's own counters: there is no hardware behind it.
    pub const CPU_CLOCK: Event = Event { kind: 1, config: 0, kernel: true };
    /// Counts nothing; its page holds the kernel's conversion of the TSC.
    pub const DUMMY: Event = Event { kind: 1, config: 9, kernel: false };

    /// The same event in user mode only.
    #[must_use]
    pub fn user_only(self) -> Event {
        Event { kernel: false, ..self }
    }
}

/// Whose events are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Those of the calling thread.
    ThisThread,
    /// Those of everybody on one CPU.
    Everybody(CpuId),
}

/// `perf_event_attr` up to `config`, in its first published size (`PERF_ATTR_SIZE_VER0`).
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    /// `sample_period`, `sample_type`, `read_format`, flags, and what follows.
    rest: [u64; 6],
}

/// What a counter says, and for how long it could count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// What it has counted.
    pub value: u64,
    /// For how long it was asked to, in nanoseconds.
    pub enabled_ns: u64,
    /// For how long it did: others may have had its place in the hardware meanwhile.
    pub running_ns: u64,
}

/// A counter that is open.
#[derive(Debug)]
pub struct Counter(File);

impl Counter {
    /// Opens one that counts from now on.
    pub fn open(event: Event, scope: Scope) -> io::Result<Counter> {
        /// `PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING`.
        const WITH_TIMES: u64 = 1 | 2;
        open_reading(event, scope, WITH_TIMES).map(|fd| Counter(fd.into()))
    }

    /// What it says now.
    pub fn read(&self) -> io::Result<Count> {
        let mut bytes = [0; 24];
        (&self.0).read_exact(&mut bytes)?;
        let [value, enabled_ns, running_ns] = std::array::from_fn(|i| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[8 * i..8 * i + 8]);
            u64::from_ne_bytes(word)
        });
        Ok(Count { value, enabled_ns, running_ns })
    }
}

/// Opens a counter; it is closed with the descriptor, and nothing remains.
pub fn open(event: Event, scope: Scope) -> io::Result<OwnedFd> {
    open_reading(event, scope, 0)
}

/// The same, with what reading it gives beside the count.
fn open_reading(event: Event, scope: Scope, read_format: u64) -> io::Result<OwnedFd> {
    const READ_FORMAT: usize = 2;
    const EXCLUDE_KERNEL: u64 = 1 << 5;
    const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
    const FLAG_FD_CLOEXEC: libc::c_ulong = 8;
    const FLAGS: usize = 3;
    let (kind, config) = (event.kind, event.config);
    let mut attributes =
        Attributes { kind, size: size_of::<Attributes>() as u32, config, rest: [0; 6] };
    attributes.rest[READ_FORMAT] = read_format;
    if !event.kernel {
        attributes.rest[FLAGS] = EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR;
    }
    let (process, cpu) = match scope {
        Scope::ThisThread => (0, -1),
        Scope::Everybody(cpu) => (-1, i64::from(cpu.0)),
    };
    // SAFETY: the kernel reads `size` bytes of the attributes, which live on this stack.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            process,
            cpu,
            -1,
            FLAG_FD_CLOEXEC,
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just gave us this descriptor; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Whether a thread may read its own cycle counter without a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserRead {
    /// The kernel allows the instruction (`cap_user_rdpmc`).
    pub allowed: bool,
    /// The counter was on the hardware at that moment (`index` is not 0).
    pub on_hardware: bool,
}

/// Opens cycles of this thread and asks the page of the event.
///
/// # Source
/// `include/uapi/linux/perf_event.h`, `struct perf_event_mmap_page`: `index` at 12, `capabilities`
/// at 40, its bit 2 `cap_user_rdpmc`.
pub fn user_read() -> io::Result<UserRead> {
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    const CAP_USER_RDPMC: u64 = 1 << 2;
    let page = Page::map(open(Event::CYCLES_USER, Scope::ThisThread)?)?;
    let capabilities = page.field::<AtomicU64>(40).load(Ordering::Relaxed);
    let index = page.field::<AtomicU32>(12).load(Ordering::Relaxed);
    Ok(UserRead { allowed: capabilities & CAP_USER_RDPMC != 0, on_hardware: index != 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_says_for_how_long_it_counted() {
        let event = Event::CPU_CLOCK.user_only();
        let counter = match Counter::open(event, Scope::ThisThread) {
            Ok(counter) => counter,
            // The kernel itself refused, whatever we have done.
            Err(error) => return assert!(error.raw_os_error().is_some(), "{error}"),
        };
        let first = counter.read().unwrap();
        let mut last = first;
        while last.value == first.value {
            last = counter.read().unwrap();
        }
        assert!(last.value > first.value && last.enabled_ns > first.enabled_ns, "{last:?}");
        // Nobody else has the place of the kernel's own clock.
        assert_eq!(last.enabled_ns - first.enabled_ns, last.running_ns - first.running_ns);
    }
}
