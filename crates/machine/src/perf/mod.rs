//! Counters of the kernel: what opens them, and how they are read once they are open.
//!
//! The port [`Perf`] only opens and maps. A reading goes through [`Reader`], whose
//! kind is fixed at opening: no port is asked, nothing is allocated.

mod limits;

use std::io;
use std::time::Duration;

use ::model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};
use sys::perf_open::{Attributes, Begin, Counter, Scope};
use sys::perf_page::UserCounter;

pub(crate) use self::limits::is_amd;
pub use self::limits::limits;
use crate::pmu::{Pmu, user_access};
use crate::ports::{Machine, Perf, Tree};
pub use crate::ports::{Reader, Sample, Wanted, Way};
use crate::probes::{Surroundings, counter_refused};

/// Counters of the kernel that this process runs on.
pub(crate) struct KernelCounters {
    tree: Box<dyn Tree>,
}

impl KernelCounters {
    pub(crate) fn new(tree: Box<dyn Tree>) -> KernelCounters {
        KernelCounters { tree }
    }
}

impl Perf for KernelCounters {
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
