//! The ports of the machine that this process runs on.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::SystemTime;

use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};

use crate::dir::Folder;
use crate::isst::real::RealIsst;
use crate::msr::MsrFolder;
use crate::perf::KernelCounters;
use crate::ports::{Cpuid, Host, Machine};
use crate::probes::Attempts;

impl Machine {
    /// The machine that this process runs on.
    pub fn real() -> Machine {
        Machine {
            tree: Box::new(Folder::real()),
            cpuid: Box::new(Instruction),
            msr: Arc::new(MsrFolder::real()),
            isst: Arc::new(RealIsst),
            permits: Box::new(Attempts::new(Box::new(Folder::real()))),
            perf: Box::new(KernelCounters::new(Box::new(Folder::real()))),
            host: Box::new(LocalHost::drawn()),
            elsewhere: None,
            simulated: None,
            worker: None,
        }
    }
}

struct Instruction;

impl Cpuid for Instruction {
    fn leaf(&self, leaf: u32, subleaf: u32) -> Option<sys::cpuid::Leaf> {
        sys::cpuid::leaf(leaf, subleaf)
    }

    fn leaf_of(&self, cpu: CpuId, leaf: u32, subleaf: u32) -> Option<sys::cpuid::Leaf> {
        sys::cpuid::leaf_on(cpu, leaf, subleaf)
    }

    fn xcr0(&self) -> Option<u64> {
        sys::cpuid::xcr0()
    }
}

/// Drawn once, so that a machine gives the same answer whenever it is asked.
pub(crate) struct LocalHost {
    run: u64,
    seed: u64,
}

impl LocalHost {
    pub(crate) fn drawn() -> LocalHost {
        LocalHost { run: random(), seed: random() & JSON_INTEGER_MAX }
    }
}

/// Readers of JSON keep whole numbers exactly up to here; the seed stands in the record.
const JSON_INTEGER_MAX: u64 = (1 << 53) - 1;

/// The keys of `RandomState` come from the operating system.
fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

impl Host for LocalHost {
    fn now_utc(&self) -> String {
        humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
    }

    fn run_id(&self) -> String {
        format!("{:012x}", self.run >> 16)
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn affinity(&self) -> Reading<CpuSet> {
        sys::affinity::current().map_err(|error| {
            let why = format!("sched_getaffinity answered `{error}`");
            Unavailable::new(Obstacle::Permission, "CPU affinity", why)
        })
    }

    fn is_root(&self) -> bool {
        sys::host::effective_user() == 0
    }
}
