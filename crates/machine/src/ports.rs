//! The narrow traits through which the machine is read, and a machine as a set of them.

use model::{CpuId, CpuSet, Unavailable};

use crate::error::Error;
use crate::{real, simulated};

/// A value, or the reason why it cannot be read.
pub type Reading<T> = Result<T, Unavailable>;

/// The files through which the kernel describes machine and process.
pub trait Tree {
    /// The text of the file at an absolute path, without its final newline.
    fn read(&self, path: &str) -> Reading<String>;
    /// The names of the entries of a directory, sorted.
    fn list(&self, path: &str) -> Reading<Vec<String>>;
}

/// The CPUID instruction.
pub trait Cpuid {
    /// A leaf, where the CPU announces it.
    fn leaf(&self, leaf: u32, subleaf: u32) -> Option<sys::cpuid::Leaf>;
}

/// Model-specific registers, read only.
pub trait Msr {
    /// The register of one CPU.
    fn read(&self, cpu: CpuId, register: u32) -> Reading<u64>;
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

/// A machine: the ports through which it is read.
pub struct Machine {
    /// Its files.
    pub tree: Box<dyn Tree>,
    /// Its CPUID.
    pub cpuid: Box<dyn Cpuid>,
    /// Its registers.
    pub msr: Box<dyn Msr>,
    /// Its surroundings.
    pub host: Box<dyn Host>,
    /// The model that stands behind the ports, where the machine is simulated.
    pub simulated: Option<simulated::Model>,
}

impl Machine {
    /// The machine that this process runs on.
    pub fn real() -> Machine {
        real::machine()
    }

    /// The machine of that name, such as `sim:2s-56c`.
    pub fn named(name: &str) -> Result<Machine, Error> {
        match name.strip_prefix("sim:") {
            Some(name) => simulated::Model::named(name).map(simulated::machine),
            None => Err(Error::Capture { name: name.into() }),
        }
    }
}
