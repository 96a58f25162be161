//! The narrow traits through which the machine is read, and a machine as a set of them.

mod counter;
mod message;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use model::record::{Plan, Presentation, Run};
use model::{CpuId, CpuSet, Reading};
use simulated::files::bytes_of;

pub use self::counter::{Reader, Sample, Wanted, Way};
pub use self::message::{Message, Refusal};
use crate::permissions::Permits;

/// The files through which the kernel describes machine and process.
pub trait Tree {
    /// The text of the file at an absolute path, without its final newline.
    fn read(&self, path: &str) -> Reading<String>;
    /// The names of the entries of a directory, sorted.
    fn list(&self, path: &str) -> Reading<Vec<String>>;
    /// The bytes of a file that is no text. Where files are texts, in captures and simulated machines, it is one of
    /// hexadecimal digits.
    fn bytes(&self, path: &str) -> Reading<Vec<u8>> {
        bytes_of(path, &self.read(path)?)
    }
}

impl<T: Tree + ?Sized> Tree for Arc<T> {
    fn read(&self, path: &str) -> Reading<String> {
        (**self).read(path)
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        (**self).list(path)
    }

    fn bytes(&self, path: &str) -> Reading<Vec<u8>> {
        (**self).bytes(path)
    }
}

/// The CPUID instruction.
pub trait Cpuid {
    /// A leaf of the CPU that answers first, where it announces it.
    fn leaf(&self, leaf: u32, subleaf: u32) -> Option<sys::cpuid::Leaf>;
    /// A leaf of one CPU: cores of a hybrid differ, and every thread has numbers of its own.
    fn leaf_of(&self, _cpu: CpuId, leaf: u32, subleaf: u32) -> Option<sys::cpuid::Leaf> {
        self.leaf(leaf, subleaf)
    }
    /// XCR0: the register files that the operating system saves, and so allows.
    fn xcr0(&self) -> Option<u64> {
        None
    }
}

/// Model-specific registers, read only; by several threads at once.
pub trait Msr: Send + Sync {
    /// The register of one CPU.
    fn read(&self, cpu: CpuId, register: u32) -> Reading<u64>;
    /// Several registers of one CPU, each with its own reason.
    fn read_many(&self, cpu: CpuId, registers: &[u32]) -> Vec<Reading<u64>> {
        registers.iter().map(|&register| self.read(cpu, register)).collect()
    }
}

/// Counters of the kernel: they are opened here, and read without it ([`Reader`]).
pub trait Perf {
    /// Opens a counter, in the group of a leader where there is one.
    fn open(&self, wanted: &Wanted<'_>, leader: Option<&Reader>) -> Reading<Reader>;
    /// Lets the calling thread run on these CPUs alone.
    fn run_on(&self, cpus: &CpuSet) -> Reading<()>;
    /// The CPU that the calling thread runs on.
    fn current_cpu(&self) -> Option<CpuId>;
    /// The time stamp counter, serialised, where its rate is constant.
    fn ticks(&self) -> Option<u64>;
    /// For how long the calling thread was on a CPU, by the kernel's own books.
    fn thread_time(&self) -> Option<Duration>;
}

/// Intel Speed Select: the device of the kernel's driver. What is asked through it changes nothing.
pub trait Isst: Send + Sync {
    /// Opens it, for one operation: while it is open, no part of the driver can come or go.
    fn open(&self) -> Reading<Box<dyn IsstDevice + '_>>;
}

/// That device, open. The questions are methods of it, see [`crate::isst`].
pub trait IsstDevice {
    /// One ioctl: the message becomes the answer; the result is what the ioctl returned.
    fn call(&self, message: &mut Message) -> Result<u32, Refusal>;
}

/// What differs between two runs on one machine: time of day, randomness, who asks (invariant I11).
pub trait Host {
    /// Now, in UTC, to the second, as RFC 3339 writes it.
    fn now_utc(&self) -> String;
    /// Twelve hexadecimal digits that tell runs apart.
    fn run_id(&self) -> String;
    /// Where randomness begins.
    fn seed(&self) -> u64;
    /// The CPUs that the calling thread may run on.
    fn affinity(&self) -> Reading<CpuSet>;
    /// Whether the process runs as root.
    fn is_root(&self) -> bool;
}

/// Answers that stay the same.
pub struct KnownHost {
    /// Now.
    pub now_utc: String,
    /// Twelve digits.
    pub run_id: String,
    /// Where randomness begins.
    pub seed: u64,
    /// The CPUs that may be used.
    pub affinity: Reading<CpuSet>,
    /// Whether it is root who asks.
    pub is_root: bool,
}

impl Host for KnownHost {
    fn now_utc(&self) -> String {
        self.now_utc.clone()
    }

    fn run_id(&self) -> String {
        self.run_id.clone()
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn affinity(&self) -> Reading<CpuSet> {
        self.affinity.clone()
    }

    fn is_root(&self) -> bool {
        self.is_root
    }
}

/// Where the answers of a machine come from, in words, of which only files are there.
pub(crate) const FILES_ONLY: &str = "files below a folder";

/// A machine: the ports through which it is read.
pub struct Machine {
    /// Its files.
    pub tree: Box<dyn Tree>,
    /// Its CPUID.
    pub cpuid: Box<dyn Cpuid>,
    /// Its registers.
    pub msr: Arc<dyn Msr>,
    /// Its Speed Select.
    pub isst: Arc<dyn Isst>,
    /// What the kernel lets this process open.
    pub permits: Box<dyn Permits>,
    /// Its counters.
    pub perf: Box<dyn Perf>,
    /// Its surroundings.
    pub host: Box<dyn Host>,
    /// Where the answers come from, in words, where it is not the machine that this process runs
    /// on: nothing can be measured there.
    pub elsewhere: Option<String>,
    /// The model that stands behind the ports, where the machine is simulated.
    pub simulated: Option<simulated::Model>,
    /// The program that does what needs a process of its own there, `cpudyno worker`; none: nobody does.
    pub worker: Option<PathBuf>,
}

impl Machine {
    /// The time that has passed on it, since some moment: of a simulated machine, by its own clock.
    pub fn passed(&self) -> Duration {
        match &self.simulated {
            None => sys::clock::monotonic_raw(),
            Some(model) => Duration::from_secs_f64(model.elapsed.seconds().0),
        }
    }

    /// A run on it that begins now, with nothing planned.
    pub fn begin(&self, command: Vec<String>, presentation: Presentation) -> Run {
        Run {
            id: self.host.run_id(),
            started: self.host.now_utc(),
            seconds: 0.0,
            command,
            simulated: self.simulated.as_ref().map(|model| model.name.clone()),
            elsewhere: self.elsewhere.clone(),
            interrupted: None,
            plan: Plan::nothing(),
            events: Vec::new(),
            presentation,
        }
    }

    /// Whether somebody chose which of its files are there: that one is missing proves nothing.
    pub(crate) fn is_copied(&self) -> bool {
        self.elsewhere.as_deref() == Some(FILES_ONLY)
    }
}
