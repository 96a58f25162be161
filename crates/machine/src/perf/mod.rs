//! Counters of the kernel: what opens them, and how they are read once they are open.
//!
//! The port [`Perf`] only opens and maps. A reading goes through [`Reader`], whose
//! kind is fixed at opening: no port is asked, nothing is allocated.

mod fit;
mod limits;

use std::io;
use std::time::Duration;

use ::model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};
use sys::perf_open::{Attributes, Begin, Count, Counter, Modes, Scope, USER_ACCESS};
use sys::perf_page::UserCounter;

pub use self::fit::{Needs, fits, fixed_counter, general_counters};
pub(crate) use self::limits::is_amd;
pub use self::limits::{Limits, limits};
use crate::attempts::{Surroundings, counter_refused};
use crate::pmu::Pmu;
use crate::ports::{Machine, Perf, Tree};
use crate::simulated::SimulatedCounter;

/// A counter that somebody wants.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// What it counts, in the words of tables and refusals.
    pub name: &'a str,
    /// What it is opened with.
    pub attributes: Attributes,
    /// Whose events are counted.
    pub scope: Scope,
    /// Whether it may be read from its page, by instruction. The shares of Intel's slots may not: what
    /// their register holds is no count.
    pub by_page: bool,
}

impl<'a> Wanted<'a> {
    /// Events of the calling thread, read in the quickest way that there is.
    pub fn of_this_thread(name: &'a str, attributes: Attributes) -> Wanted<'a> {
        Wanted { name, attributes, scope: Scope::ThisThread, by_page: true }
    }
}

/// An open counter. How it is read was decided when it was opened.
#[derive(Debug)]
pub enum Reader {
    /// By instruction, from the page that the kernel shares; by system call for as long as it has no
    /// place on the hardware.
    Rdpmc(UserCounter),
    /// By read(2).
    Syscall(Counter),
    /// From the model of a simulated machine.
    Simulated(SimulatedCounter),
}

/// Which way a reading went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By instruction.
    Rdpmc,
    /// By system call.
    Syscall,
    /// From a model.
    Simulated,
}

impl Way {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Way::Rdpmc if cfg!(target_arch = "aarch64") => "mrs",
            Way::Rdpmc => "rdpmc",
            Way::Syscall => "read(2)",
            Way::Simulated => "simulated",
        }
    }
}

/// A reading of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// What it has counted since it was opened.
    pub value: u64,
    /// For how long it had no place on the hardware although it was to count, in nanoseconds: two
    /// readings between which this grows do not tell what happened between them.
    pub waited_ns: u64,
    /// How it was read.
    pub way: Way,
}

impl Sample {
    fn of(count: Count, way: Way) -> Sample {
        let waited_ns = count.enabled_ns.saturating_sub(count.running_ns);
        Sample { value: count.value, waited_ns, way }
    }
}

impl Reader {
    /// What it says now. No allocation; no system call where it is read by instruction.
    ///
    /// # Error
    /// The end of the file where a pinned counter lost its place.
    #[inline]
    pub fn read(&self) -> io::Result<Sample> {
        match self {
            Reader::Rdpmc(counter) => match counter.read() {
                Some(count) => Ok(Sample::of(count, Way::Rdpmc)),
                None => counter.counter().read().map(|count| Sample::of(count, Way::Syscall)),
            },
            Reader::Syscall(counter) => counter.read().map(|count| Sample::of(count, Way::Syscall)),
            Reader::Simulated(counter) => {
                counter.read().map(|count| Sample::of(count, Way::Simulated))
            }
        }
    }

    /// The count with its times, by system call whatever the way: the answer after a run.
    ///
    /// # Error
    /// As [`Reader::read`].
    pub fn count(&self) -> io::Result<Count> {
        match self {
            Reader::Rdpmc(counter) => counter.counter().read(),
            Reader::Syscall(counter) => counter.read(),
            Reader::Simulated(counter) => counter.read(),
        }
    }

    /// Lets it and the group that it leads count.
    ///
    /// # Error
    /// Where the kernel does not.
    pub fn start_group(&self) -> io::Result<()> {
        match self {
            Reader::Rdpmc(counter) => counter.counter().start_group(),
            Reader::Syscall(counter) => counter.start_group(),
            Reader::Simulated(counter) => {
                counter.start_group();
                Ok(())
            }
        }
    }

    /// The way by which it is read as a rule.
    pub fn way(&self) -> Way {
        match self {
            Reader::Rdpmc(_) => Way::Rdpmc,
            Reader::Syscall(_) => Way::Syscall,
            Reader::Simulated(_) => Way::Simulated,
        }
    }
}

/// Counters of the kernel that this process runs on.
pub(crate) struct Kernel {
    tree: Box<dyn Tree>,
}

impl Kernel {
    pub(crate) fn new(tree: Box<dyn Tree>) -> Kernel {
        Kernel { tree }
    }
}

impl Perf for Kernel {
    fn open(&self, wanted: &Wanted<'_>, leader: Option<&Reader>) -> Reading<Reader> {
        let leader = match leader {
            Some(Reader::Rdpmc(leader)) => Some(leader.counter()),
            Some(Reader::Syscall(leader)) => Some(leader),
            Some(Reader::Simulated(_)) | None => None,
        };
        if let Some(lacked) = lacked(&*self.tree, wanted) {
            return Err(lacked);
        }
        let own = wanted.scope == Scope::ThisThread && !wanted.attributes.inherit;
        let by_page = own && wanted.by_page && wanted.attributes.begin != Begin::AtExec;
        let as_asked = || {
            let counter = Counter::open_with(&wanted.attributes, wanted.scope, leader)?;
            if !by_page {
                return Ok(Reader::Syscall(counter));
            }
            // Without a page there is still the system call.
            match UserCounter::map(counter) {
                Ok(counter) if counter.is_allowed() => Ok(Reader::Rdpmc(counter)),
                Ok(counter) => Ok(Reader::Syscall(counter.into_counter())),
                Err(_) => Counter::open_with(&wanted.attributes, wanted.scope, leader)
                    .map(Reader::Syscall),
            }
        };
        // Where Arm's kernel lets threads read counters, it wants to be asked for it.
        let readable = || {
            let attributes = user_access(&*self.tree, &wanted.attributes).filter(|_| by_page)?;
            let counter = Counter::open_with(&attributes, wanted.scope, leader).ok()?;
            let counter = UserCounter::map(counter).ok()?;
            counter.is_allowed().then_some(Reader::Rdpmc(counter))
        };
        readable().map_or_else(as_asked, Ok).map_err(|error: io::Error| {
            counter_refused(wanted, &error, &Surroundings::here(&*self.tree))
        })
    }

    fn run_on(&self, cpus: &CpuSet) -> Reading<()> {
        sys::affinity::restrict(cpus).map_err(|error| {
            let what = format!("thread on CPUs {cpus}");
            let why = format!("sched_setaffinity answered `{error}`");
            Unavailable::new(Obstacle::Permission, what, why)
        })
    }

    fn current_cpu(&self) -> Option<CpuId> {
        sys::thread::current_cpu()
    }

    fn ticks(&self) -> Option<u64> {
        use sys::clock::Probe;
        sys::clock::Tsc::invariant().map(Probe::stamp)
    }

    fn thread_time(&self) -> Option<Duration> {
        sys::thread::cpu_time().ok()
    }
}

/// Why an event that the kernel would open counts nothing, if the PMU says that it has none of that number.
pub(crate) fn lacked(tree: &dyn Tree, wanted: &Wanted<'_>) -> Option<Unavailable> {
    let Attributes { kind, config: [number, ..], .. } = wanted.attributes;
    let names = crate::pmu::of_cores(tree);
    let is_it = |name: &&String| {
        crate::pmu::is_of_arm(name) && Pmu::new(tree, name).kind().is_ok_and(|it| it == kind)
    };
    let name = names.iter().find(is_it).filter(|name| Pmu::new(tree, name).lacks(number))?;
    let why = format!("PMU `{name}` does not have event {number:#x}, and would count 0");
    Some(Unavailable::new(Obstacle::Hardware, wanted.name, why))
}

/// The switch of user access on Arm; elsewhere it is not there, or means something else.
pub(crate) const USER_ACCESS_SWITCH: &str = "/proc/sys/kernel/perf_user_access";

/// The same event, asked for such that its counter may be read by instruction: none where nothing has to be
/// asked for, or asking is in vain.
pub(crate) fn user_access(tree: &dyn Tree, attributes: &Attributes) -> Option<Attributes> {
    /// `PERF_TYPE_SOFTWARE`.
    const SOFTWARE: u32 = 1;
    let [config, config1, config2, config3] = attributes.config;
    let is_free = attributes.kind != SOFTWARE && config1 == 0;
    let is_on = || tree.read(USER_ACCESS_SWITCH).is_ok_and(|value| value.trim() == "1");
    let is_arm = || crate::pmu::of_cores(tree).iter().any(|name| crate::pmu::is_of_arm(name));
    let config = [config, USER_ACCESS, config2, config3];
    (is_free && is_on() && is_arm()).then_some(Attributes { config, ..*attributes })
}

/// Counters of a machine that is not this one: there are none.
pub struct Elsewhere(pub String);

impl Perf for Elsewhere {
    fn open(&self, wanted: &Wanted<'_>, _leader: Option<&Reader>) -> Reading<Reader> {
        Err(self.nothing(wanted.name))
    }

    fn run_on(&self, cpus: &CpuSet) -> Reading<()> {
        Err(self.nothing(&format!("thread on CPUs {cpus}")))
    }

    fn current_cpu(&self) -> Option<CpuId> {
        None
    }

    fn ticks(&self) -> Option<u64> {
        None
    }

    fn thread_time(&self) -> Option<Duration> {
        None
    }
}

impl Elsewhere {
    fn nothing(&self, what: &str) -> Unavailable {
        let why = format!("nothing can be counted on {}", self.0);
        Unavailable::new(Obstacle::Cpudyno, what, why).with_remedy("count on the machine itself")
    }
}

/// The PMU of a CPU's kind of core: its name in sysfs. On machines with one kind it is `cpu`, or the
/// only one that names its CPUs.
pub fn core_pmu(machine: &Machine, cpu: CpuId) -> Option<String> {
    let tree = &*machine.tree;
    let names = crate::pmu::names(tree).ok()?;
    let counts_on = |name: &&String| {
        let cpus = tree.read(&format!("{}/{name}/cpus", crate::pmu::PMUS));
        cpus.is_ok_and(|cpus| cpus.trim().parse().is_ok_and(|cpus: CpuSet| cpus.contains(cpu)))
    };
    let of_kind = names.iter().find(counts_on);
    of_kind.or_else(|| names.iter().find(|name| *name == "cpu")).cloned()
}

/// The modes of a counter in the words of a refusal.
pub(crate) fn in_modes(modes: Modes) -> &'static str {
    match modes {
        Modes::All => "in all modes",
        Modes::User => "in user mode",
        Modes::Kernel => "in kernel mode",
    }
}

#[cfg(test)]
mod tests {
    use sys::perf_open::Event;

    use super::*;
    use crate::files::Files;

    /// The switch is there on every kernel of Arm since 5.17, and off as a rule.
    #[test]
    fn on_arm_counters_are_read_by_instruction_where_the_switch_is_on() {
        let asked = |pmu: &str, switch: Option<&str>, attributes: Attributes| {
            let mut tree = Files::default();
            tree.put(format!("{}/{pmu}/type", crate::pmu::PMUS), "8");
            if let Some(value) = switch {
                tree.put(USER_ACCESS_SWITCH, value);
            }
            user_access(&tree, &attributes).map(|attributes| attributes.config[1])
        };
        let cycles = || Attributes::from(Event::CYCLES_USER);
        assert_eq!(asked("armv8_pmuv3", Some("1\n"), cycles()), Some(0b10));
        assert_eq!(asked("armv8_pmuv3", Some("0\n"), cycles()), None);
        assert_eq!(asked("armv8_pmuv3", None, cycles()), None);
        assert_eq!(asked("cpu", Some("1\n"), cycles()), None);
        assert_eq!(asked("armv8_pmuv3", Some("1"), Event::CPU_CLOCK.into()), None);
        let own = Attributes { config: [0x11, 1, 0, 0], ..cycles() };
        assert_eq!(asked("armv8_pmuv3", Some("1"), own), None, "what was asked for stays");
    }
}
