//! The ports of the machine that this process runs on.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use model::{CpuId, CpuSet, Obstacle, Unavailable};

use crate::attempts::Attempts;
use crate::error::Error;
use crate::ports::{Cpuid, Host, Machine, Msr, Reading, Tree};

pub(crate) fn machine() -> Machine {
    Machine {
        tree: Box::new(Root),
        cpuid: Box::new(Instruction),
        msr: Box::new(MsrDevice),
        permits: Box::new(Attempts::new(Box::new(Root))),
        host: Box::new(Surroundings { run: random(), seed: random() & JSON_INTEGER_MAX }),
        elsewhere: None,
        simulated: None,
    }
}

/// The machine whose files lie below a folder.
pub(crate) fn rooted(folder: &Path) -> Result<Machine, Error> {
    Err(Error::Capture { name: folder.display().to_string() })
}

struct Root;

impl Tree for Root {
    fn read(&self, path: &str) -> Reading<String> {
        let bytes = fs::read(path).map_err(|error| refusal(path, &error))?;
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\n').into())
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        let entries = fs::read_dir(path).map_err(|error| refusal(path, &error))?;
        let mut names: Vec<String> =
            entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        Ok(names)
    }
}

fn refusal(path: &str, error: &io::Error) -> Unavailable {
    let what = format!("`{path}`");
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            Unavailable::new(Obstacle::Hardware, what, format!("there is no `{path}` here"))
        }
        io::ErrorKind::PermissionDenied => {
            let why = format!("this user may not read `{path}`");
            Unavailable::new(Obstacle::Permission, what, why).with_remedy("run as root")
        }
        _ => {
            let why = format!("reading `{path}` failed: {error}");
            Unavailable::new(Obstacle::Hardware, what, why)
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

struct MsrDevice;

impl Msr for MsrDevice {
    fn read(&self, cpu: CpuId, register: u32) -> Reading<u64> {
        let path = format!("/dev/cpu/{cpu}/msr");
        let mut value = [0; 8];
        File::open(&path)
            .and_then(|device| device.read_exact_at(&mut value, u64::from(register)))
            .map_err(|error| msr_refusal(&path, register, &error))?;
        Ok(u64::from_le_bytes(value))
    }
}

fn msr_refusal(path: &str, register: u32, error: &io::Error) -> Unavailable {
    let what = format!("register {register:#x}");
    let guest = sys::cpuid::leaf(0x4000_0000, 0).is_some();
    match error.kind() {
        io::ErrorKind::NotFound => {
            let hidden = if guest { "; guests often have none" } else { "" };
            let why = format!("there is no `{path}`{hidden}");
            Unavailable::new(Obstacle::Permission, what, why)
                .with_remedy("run `modprobe msr` as root")
        }
        io::ErrorKind::PermissionDenied => {
            let why = format!("this user may not read `{path}`");
            Unavailable::new(Obstacle::Permission, what, why)
                .with_remedy("run as root (kernel lockdown refuses root, too)")
        }
        // EIO: the read faulted inside the CPU (msr(4)).
        _ if guest => {
            let why = format!("`{path}` answered `{error}`: the hypervisor hides the register");
            Unavailable::new(Obstacle::Permission, what, why)
        }
        _ => {
            let why = format!("`{path}` answered `{error}`: this CPU has no such register");
            Unavailable::new(Obstacle::Hardware, what, why)
        }
    }
}

/// Drawn once, so that a machine gives the same answer whenever it is asked.
struct Surroundings {
    run: u64,
    seed: u64,
}

/// Readers of JSON keep whole numbers exactly up to here; the seed stands in the record.
const JSON_INTEGER_MAX: u64 = (1 << 53) - 1;

/// The keys of `RandomState` come from the operating system.
fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

impl Host for Surroundings {
    fn now_utc(&self) -> String {
        let now = jiff::Timestamp::now();
        jiff::Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
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
