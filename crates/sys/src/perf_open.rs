//! Opening counters of the kernel (perf_event_open(2)), to see whether it lets us, and to read them.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use model::CpuId;

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
    /// Those of the thread of that number; of a process: of its first thread.
    Process(u32),
}

/// In which modes of the CPU an event is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Modes {
    /// In all: no `exclude_*` bit is set. Some PMUs know nothing else.
    #[default]
    All,
    /// In the program's own mode.
    User,
    /// In the kernel's.
    Kernel,
}

/// What `config1` asks the PMU of Arm's cores for, so that an event is read in user mode: bit 1. A counter
/// of 64 bits (bit 0) is not asked for: most have one alone, and a group with two events of cycles opens
/// behind a leader that waits, to be in error later (seen in Linux 6.1). The page continues 32 bits.
///
/// # Source
/// Linux, `Documentation/arch/arm64/perf.rst`, "Perf Userspace PMU Hardware Counter Access".
pub const USER_ACCESS: u64 = 0b10;

/// When a counter begins to count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Begin {
    /// When it is opened.
    #[default]
    Now,
    /// When the thread that is counted executes another program, and not before.
    AtExec,
    /// When it is started. Leaders are, once their group is complete: what joins a group that counts
    /// already may count nothing (seen with software events in Linux 6.18).
    WhenStarted,
}

/// All that a counter is opened with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The PMU: a number of `perf_type_id`, or of the file `type` of a PMU in sysfs.
    pub kind: u32,
    /// The event of that PMU: `config`, `config1`, `config2` and `config3`.
    pub config: [u64; 4],
    /// In which modes.
    pub modes: Modes,
    /// From when on.
    pub begin: Begin,
    /// Whether threads and processes are counted that the counted one starts. Their counter has no page.
    pub inherit: bool,
    /// Whether it is always on the hardware, or else in error: reading it then gives the end of a file.
    pub pinned: bool,
    /// Whether one reading gives the counts of the whole group that it leads.
    pub group: bool,
}

impl From<Event> for Attributes {
    fn from(event: Event) -> Attributes {
        let modes = if event.kernel { Modes::All } else { Modes::User };
        Attributes {
            kind: event.kind,
            config: [event.config, 0, 0, 0],
            modes,
            ..Attributes::default()
        }
    }
}

/// `perf_event_attr` up to `config3`, its size in Linux 6.3 (`PERF_ATTR_SIZE_VER8`). Older kernels take
/// it where what they do not know is zero.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Raw {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
    /// From `branch_sample_type` to `sig_data`.
    of_samples: [u64; 7],
    config3: u64,
}

/// # Source
/// `include/uapi/linux/perf_event.h`: the bit fields of `perf_event_attr`, from `disabled` on.
mod flag {
    pub(super) const DISABLED: u64 = 1;
    pub(super) const INHERIT: u64 = 1 << 1;
    pub(super) const PINNED: u64 = 1 << 2;
    pub(super) const EXCLUDE_USER: u64 = 1 << 4;
    pub(super) const EXCLUDE_KERNEL: u64 = 1 << 5;
    pub(super) const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
    pub(super) const ENABLE_ON_EXEC: u64 = 1 << 12;
}

/// `PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING`.
const WITH_TIMES: u64 = 1 | 2;
/// `PERF_FORMAT_GROUP`.
const WHOLE_GROUP: u64 = 1 << 3;

impl Attributes {
    pub(crate) fn raw(&self, with_times: bool) -> Raw {
        let modes = match self.modes {
            Modes::All => 0,
            Modes::User => flag::EXCLUDE_KERNEL | flag::EXCLUDE_HYPERVISOR,
            Modes::Kernel => flag::EXCLUDE_USER | flag::EXCLUDE_HYPERVISOR,
        };
        let begin = match self.begin {
            Begin::Now => 0,
            Begin::AtExec => flag::DISABLED | flag::ENABLE_ON_EXEC,
            Begin::WhenStarted => flag::DISABLED,
        };
        let when = |wanted: bool, bits: u64| if wanted { bits } else { 0 };
        let [config, config1, config2, config3] = self.config;
        Raw {
            kind: self.kind,
            size: size_of::<Raw>() as u32,
            config,
            read_format: when(with_times, WITH_TIMES) | when(self.group, WHOLE_GROUP),
            flags: modes
                | begin
                | when(self.inherit, flag::INHERIT)
                | when(self.pinned, flag::PINNED),
            config1,
            config2,
            config3,
            ..Raw::default()
        }
    }
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
        Counter::open_with(&event.into(), scope, None)
    }

    /// Opens one as the attributes say, in the group of a leader where there is one: a group is on the
    /// hardware as a whole, or not at all.
    pub fn open_with(
        attributes: &Attributes,
        scope: Scope,
        leader: Option<&Counter>,
    ) -> io::Result<Counter> {
        let leader = leader.map(|leader| leader.0.as_fd());
        open_raw(&attributes.raw(true), scope, leader).map(|fd| Counter(fd.into()))
    }

    /// Lets it and the group that it leads count from now on.
    pub fn start_group(&self) -> io::Result<()> {
        /// `PERF_EVENT_IOC_ENABLE` and `PERF_IOC_FLAG_GROUP`.
        const ENABLE: libc::c_ulong = 0x2400;
        const GROUP: libc::c_ulong = 1;
        // SAFETY: takes no pointer.
        let done = unsafe { libc::ioctl(self.0.as_raw_fd(), ENABLE as _, GROUP) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// What it says now.
    ///
    /// # Error
    /// The end of the file where a pinned counter has no place on the hardware any more.
    #[inline]
    pub fn read(&self) -> io::Result<Count> {
        let [value, enabled_ns, running_ns] = self.words()?;
        Ok(Count { value, enabled_ns, running_ns })
    }

    /// What the group of this counter says now, at one moment: the counts in the order in which they were
    /// opened, this one first, into `counts`; answers how many there are.
    ///
    /// # Error
    /// Where it was not opened with `group`, or has more counters than there is room.
    pub fn read_group<const WORDS: usize>(&self, counts: &mut [Count]) -> io::Result<usize> {
        let mut bytes = [[0; 8]; WORDS];
        let length = (&self.0).read(bytes.as_flattened_mut())?;
        let word = |index: usize| u64::from_ne_bytes(bytes[index]);
        let number = if length < 24 { 0 } else { word(0) as usize };
        if number == 0 || length != 8 * (3 + number) || number > counts.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (enabled_ns, running_ns) = (word(1), word(2));
        for (index, count) in counts[..number].iter_mut().enumerate() {
            *count = Count { value: word(3 + index), enabled_ns, running_ns };
        }
        Ok(number)
    }

    fn words<const N: usize>(&self) -> io::Result<[u64; N]> {
        let mut bytes = [[0; 8]; N];
        (&self.0).read_exact(bytes.as_flattened_mut())?;
        Ok(bytes.map(u64::from_ne_bytes))
    }

    /// A second descriptor of the same counter.
    pub(crate) fn again(&self) -> io::Result<OwnedFd> {
        self.0.as_fd().try_clone_to_owned()
    }
}

/// Opens a counter; it is closed with the descriptor, and nothing remains.
pub fn open(event: Event, scope: Scope) -> io::Result<OwnedFd> {
    open_raw(&Attributes::from(event).raw(false), scope, None)
}

pub(crate) fn open_raw(
    raw: &Raw,
    scope: Scope,
    leader: Option<BorrowedFd<'_>>,
) -> io::Result<OwnedFd> {
    const FLAG_FD_CLOEXEC: libc::c_ulong = 8;
    let (process, cpu) = match scope {
        Scope::ThisThread => (0, -1),
        Scope::Everybody(cpu) => (-1, i64::from(cpu.0)),
        Scope::Process(number) => (i64::from(number), -1),
    };
    // SAFETY: the kernel reads `size` bytes of the attributes, which live as long as this call.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            std::ptr::from_ref(raw),
            process,
            cpu,
            leader.map_or(-1, |leader| i64::from(leader.as_raw_fd())),
            FLAG_FD_CLOEXEC,
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just gave us this descriptor; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Refusals are answers of the kernel, whatever we have done; nothing is left to test then.
    fn opened(attributes: &Attributes, leader: Option<&Counter>) -> Option<Counter> {
        match Counter::open_with(attributes, Scope::ThisThread, leader) {
            Ok(counter) => Some(counter),
            Err(error) => {
                assert!(error.raw_os_error().is_some_and(|code| code != libc::EINVAL), "{error}");
                None
            }
        }
    }

    #[test]
    fn a_counter_says_for_how_long_it_counted() {
        let Some(counter) = opened(&Event::CPU_CLOCK.user_only().into(), None) else { return };
        let first = counter.read().unwrap();
        let mut last = first;
        while last.value == first.value {
            last = counter.read().unwrap();
        }
        assert!(last.value > first.value && last.enabled_ns > first.enabled_ns, "{last:?}");
        // Nobody else has the place of the kernel's own clock.
        assert_eq!(last.enabled_ns - first.enabled_ns, last.running_ns - first.running_ns);
    }

    #[test]
    fn attributes_are_where_the_kernel_reads_them() {
        assert_eq!(size_of::<Raw>(), 136);
        assert_eq!(std::mem::offset_of!(Raw, read_format), 32);
        assert_eq!(std::mem::offset_of!(Raw, config1), 56);
        assert_eq!(std::mem::offset_of!(Raw, config2), 64);
        assert_eq!(std::mem::offset_of!(Raw, config3), 128);
        let all = Attributes {
            kind: 4,
            config: [1, 2, 3, 4],
            modes: Modes::Kernel,
            begin: Begin::AtExec,
            inherit: true,
            pinned: true,
            group: true,
        };
        let raw = all.raw(true);
        assert_eq!([raw.config, raw.config1, raw.config2, raw.config3], [1, 2, 3, 4]);
        assert_eq!((raw.kind, raw.read_format, raw.flags), (4, 0b1011, 0b1_0000_0101_0111));
        let user = Attributes::from(Event::CYCLES_USER).raw(false);
        assert_eq!((user.read_format, user.flags), (0, 0b110_0000));
    }

    #[test]
    fn a_group_is_read_at_one_moment() {
        /// `PERF_COUNT_SW_TASK_CLOCK` and `PERF_COUNT_SW_PAGE_FAULTS`.
        const CLOCK: Event = Event { kind: 1, config: 1, kernel: true };
        const FAULTS: Event = Event { config: 2, ..CLOCK };
        let leader = Attributes { group: true, begin: Begin::WhenStarted, ..CLOCK.into() };
        let Some(leader) = opened(&leader, None) else { return };
        let Some(member) = opened(&FAULTS.into(), Some(&leader)) else { return };
        let mut counts = [Count::default(); 2];
        leader.read_group::<5>(&mut counts).unwrap();
        assert_eq!(counts, [Count::default(); 2]);
        leader.start_group().unwrap();
        assert!(leader.read_group::<5>(&mut counts[..1]).is_err(), "there is room for one");
        assert_eq!(leader.read_group::<5>(&mut counts).unwrap(), 2);
        let touched = vec![1u8; 1 << 22];
        std::hint::black_box(&touched);
        let mut after = counts;
        leader.read_group::<5>(&mut after).unwrap();
        assert!(after[0].value > counts[0].value && after[1].value > counts[1].value, "{after:?}");
        assert!(member.read().unwrap().value >= after[1].value);
    }

    #[test]
    fn children_are_counted_from_their_program_on() {
        let clock = Event { kind: 1, config: 1, kernel: true };
        let inherited = Attributes { inherit: true, begin: Begin::AtExec, ..clock.into() };
        // Each counts one program: where the kernel lets parent and child swap their counters, the wish to
        // begin with a program is gone with the first one.
        let counted = |script: &str| {
            let counter = opened(&inherited, None)?;
            assert_eq!(counter.read().unwrap().value, 0);
            Command::new("sh").args(["-c", script]).status().unwrap();
            Some(counter.read().unwrap().value)
        };
        let Some(nothing) = counted(":") else { return };
        assert!(nothing > 0);
        // The shell starts one more, which does all of the work.
        let work = "(i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done) & wait";
        let by_another = counted(work).unwrap();
        assert!(by_another > 2 * nothing, "{by_another} ns, and {nothing} ns for nothing");
    }
}
