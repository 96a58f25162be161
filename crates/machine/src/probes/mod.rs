//! The answers of the kernel that this process runs on: each question is tried.

mod refusal;

use std::fs::{File, OpenOptions};
use std::io;

use model::{CpuId, Reading};
use sys::perf_open::{self, Event, Scope};

pub(crate) use self::refusal::{
    MOUNT_PROC, PARANOID, Surroundings, counter_refused, for_everybody, load_uncore, no_msr_device,
    no_speed_select, refusal, setcap,
};
use crate::permissions::{Permits, Question};
use crate::pmu::{self, Pmu, user_access};
use crate::ports::Tree;

/// Tries on this machine; the files tell why the kernel refused.
pub(crate) struct Attempts {
    tree: Box<dyn Tree>,
}

impl Attempts {
    pub(crate) fn new(tree: Box<dyn Tree>) -> Attempts {
        Attempts { tree }
    }

    fn attempt(&self, question: Question) -> io::Result<String> {
        match question {
            Question::CpuDmaLatency => {
                let device = OpenOptions::new().write(true).open("/dev/cpu_dma_latency");
                device.map(|_| "opens for writing".into())
            }
            Question::IsstInterface => File::open("/dev/isst_interface").map(|_| "opens".into()),
            Question::MsrDevice => {
                let path = format!("/dev/cpu/{}/msr", first_usable()?);
                File::open(&path).map(|_| format!("`{path}` opens for reading"))
            }
            Question::PerfUser => {
                perf(Event::CPU_CLOCK.user_only(), Scope::ThisThread, "user mode of own threads")
            }
            Question::PerfKernel => {
                perf(Event::CPU_CLOCK, Scope::ThisThread, "the kernel's work for own threads")
            }
            Question::PerfSystemWide => {
                let scope = Scope::Everybody(first_usable()?);
                perf(Event::CPU_CLOCK, scope, "every process on a CPU")
            }
            Question::PerfCyclesUser => perf(Event::CYCLES_USER, Scope::ThisThread, "cycles"),
            Question::PerfUncore => self.uncore(),
            Question::PerfEnergy => self.energy(),
            Question::Rdpmc => self.rdpmc(),
            Question::HugePage => sys::memory::try_huge_page().map(|()| "2 MiB mapped".into()),
            Question::MemoryLock => sys::memory::try_lock().map(|()| "a page was locked".into()),
            Question::Affinity => {
                let usable = sys::affinity::current()?;
                sys::affinity::restrict(&usable)?;
                Ok("threads can be pinned".into())
            }
            Question::RealTime => sys::scheduler::try_realtime().map(|()| "SCHED_FIFO".into()),
        }
    }

    fn uncore(&self) -> io::Result<String> {
        /// How the PMUs of memory controllers, caches and meshes are called.
        const NAMES: &[&str] = &["uncore_", "amd_df", "amd_l3", "amd_umc", "arm_cmn", "arm_dsu"];
        let names = pmu::names(&*self.tree).unwrap_or_default();
        let found: Vec<&String> =
            names.iter().filter(|name| NAMES.iter().any(|start| name.starts_with(start))).collect();
        let first = found.first().ok_or(io::ErrorKind::NotFound)?;
        let (kind, cpu) = self.described(first).ok_or(io::ErrorKind::InvalidData)?;
        let event = Event { kind, config: 0, kernel: true };
        perf_open::open(event, Scope::Everybody(cpu))?;
        Ok(format!("{} PMUs, such as `{first}`", found.len()))
    }

    fn energy(&self) -> io::Result<String> {
        const EVENT: &str = "energy-pkg";
        let power = Pmu::new(&*self.tree, "power");
        if !power.events().unwrap_or_default().iter().any(|name| name == EVENT) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let [config, ..] = power.event(EVENT).map_err(|_| io::ErrorKind::InvalidData)?.config;
        let (kind, cpu) = self.described("power").ok_or(io::ErrorKind::InvalidData)?;
        perf_open::open(Event { kind, config, kernel: true }, Scope::Everybody(cpu))?;
        Ok("package, by `perf_event_open`".into())
    }

    /// Whether the page of cycles lets this thread read them by instruction; on Arm it is asked for.
    fn rdpmc(&self) -> io::Result<String> {
        let cycles = Event::CYCLES_USER.into();
        let read = sys::perf_page::user_read(&user_access(&*self.tree, &cycles).unwrap_or(cycles))?;
        if !read.allowed {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let now = if read.on_hardware { "" } else { "; no counter was free at that moment" };
        Ok(format!("allowed by the event's page{now}"))
    }

    /// The number of a PMU, and a CPU that reads it for all.
    fn described(&self, pmu: &str) -> Option<(u32, CpuId)> {
        let pmu = Pmu::new(&*self.tree, pmu);
        Some((pmu.kind().ok()?, *pmu.cpus().ok()?.first()?))
    }
}

impl Permits for Attempts {
    fn ask(&self, question: Question) -> Reading<String> {
        self.attempt(question)
            .map_err(|error| refusal(question, &error, &Surroundings::here(&*self.tree)))
    }
}

fn first_usable() -> io::Result<CpuId> {
    sys::affinity::current()?.iter().next().ok_or(io::ErrorKind::NotFound.into())
}

fn perf(event: Event, scope: Scope, what: &str) -> io::Result<String> {
    perf_open::open(event, scope).map(|_| format!("counts {what}"))
}
