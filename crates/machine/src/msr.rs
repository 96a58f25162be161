//! Model-specific registers through the files of the kernel's module `msr`.
//!
//! # Source
//! msr(4); Linux, arch/x86/kernel/msr.c. Eight bytes at the offset that is the register's number;
//! neighbouring registers overlap, so that only reads at a stated place are right.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use model::{CpuId, Obstacle, Reading, Unavailable};

use crate::dir::Folder;
use crate::ports::Msr;
use crate::probes::{Surroundings, no_msr_device};

const DEV_CPU: &str = "/dev/cpu";

/// Error numbers of Linux, which are the same on x86-64 and AArch64.
///
/// # Source
/// include/uapi/asm-generic/errno-base.h
const EPERM: i32 = 1;
const EIO: i32 = 5;
const ENXIO: i32 = 6;
const ENODEV: i32 = 19;

/// A folder of register files: one folder per CPU, each with a file `msr`.
pub struct MsrFolder {
    place: MsrPlace,
    /// Whether a hypervisor is below, where that is known.
    guest: Option<bool>,
    /// Why the machine at hand has no such devices.
    missing: OnceLock<Unavailable>,
}

enum MsrPlace {
    /// The devices of the kernel, or a file system that answers like them.
    Here(PathBuf),
    /// `/dev/cpu` below a root. Its devices would be those of the machine at hand.
    Below(Folder),
}

impl MsrFolder {
    /// Register files in a folder that is laid out like `/dev/cpu`.
    pub fn new(path: impl Into<PathBuf>) -> MsrFolder {
        MsrFolder { place: MsrPlace::Here(path.into()), guest: None, missing: OnceLock::new() }
    }

    /// The devices of the machine that this process runs on.
    pub(crate) fn real() -> MsrFolder {
        let guest = sys::cpuid::leaf(0x4000_0000, 0).is_some();
        MsrFolder {
            place: MsrPlace::Here(DEV_CPU.into()),
            guest: Some(guest),
            missing: OnceLock::new(),
        }
    }

    /// Regular files in `/dev/cpu` below a root.
    pub(crate) fn below(root: &Path) -> MsrFolder {
        MsrFolder {
            place: MsrPlace::Below(Folder::below(root.to_owned())),
            guest: None,
            missing: OnceLock::new(),
        }
    }

    /// The folder as it is called in reasons.
    fn name(&self) -> String {
        match &self.place {
            MsrPlace::Here(path) => path.display().to_string(),
            MsrPlace::Below(_) => DEV_CPU.to_owned(),
        }
    }

    fn open(&self, cpu: CpuId) -> io::Result<File> {
        match &self.place {
            MsrPlace::Here(path) => File::open(path.join(format!("{cpu}/msr"))),
            MsrPlace::Below(folder) => {
                let place = folder.locate(&format!("{DEV_CPU}/{cpu}/msr"))?;
                if !fs::metadata(&place)?.is_file() {
                    return Err(io::Error::from(io::ErrorKind::NotFound));
                }
                File::open(place)
            }
        }
    }

    /// Whether any CPU has a file of registers.
    fn has_any(&self) -> bool {
        let place = match &self.place {
            MsrPlace::Here(path) => Ok(path.clone()),
            MsrPlace::Below(folder) => folder.locate(DEV_CPU),
        };
        let entries = place.and_then(fs::read_dir);
        entries.is_ok_and(|mut all| {
            all.any(|entry| entry.is_ok_and(|e| e.path().join("msr").exists()))
        })
    }

    fn not_opened(&self, cpu: CpuId, error: &io::Error) -> Refusal {
        let path = format!("{}/{cpu}/msr", self.name());
        match (error.kind(), error.raw_os_error()) {
            (io::ErrorKind::NotFound | io::ErrorKind::NotADirectory, _) if self.has_any() => {
                Refusal::hardware(format!(
                    "there is no `{path}`, though other CPUs have theirs: CPU {cpu} is offline or \
                     does not exist"
                ))
            }
            (io::ErrorKind::NotFound | io::ErrorKind::NotADirectory, _) => self.no_module(&path),
            (_, Some(EPERM)) => Refusal::permission(
                format!("opening `{path}` was not permitted: CAP_SYS_RAWIO is lacking"),
                WITH_CAPABILITY,
            ),
            (io::ErrorKind::PermissionDenied, _) => {
                Refusal::permission(format!("this user may not read `{path}`"), "run as root")
            }
            (_, Some(ENXIO | ENODEV)) => Refusal::hardware(format!(
                "opening `{path}` answered `{error}`: CPU {cpu} is offline"
            )),
            _ => Refusal::hardware(format!("opening `{path}` failed: {error}")),
        }
    }

    fn no_module(&self, path: &str) -> Refusal {
        match (&self.place, self.guest) {
            (MsrPlace::Below(_), _) => {
                let why = "there are no files of registers below this folder";
                Refusal { obstacle: Obstacle::Cpudyno, why: why.to_owned(), remedy: None }
            }
            // The machine at hand is asked once why it has no such devices.
            (_, Some(_)) => {
                let missing = self
                    .missing
                    .get_or_init(|| no_msr_device(&Surroundings::here(&Folder::real())));
                Refusal {
                    obstacle: missing.obstacle,
                    why: missing.why.clone(),
                    remedy: missing.remedy.clone(),
                }
            }
            _ => Refusal::permission(
                format!("there is no `{path}`: the kernel's module `msr` is not loaded"),
                "run `modprobe msr` as root",
            ),
        }
    }

    fn not_read(&self, cpu: CpuId, error: &io::Error) -> Refusal {
        let path = format!("{}/{cpu}/msr", self.name());
        match (error.raw_os_error(), self.guest) {
            // The instruction faulted inside the CPU.
            (Some(EIO), Some(true)) => Refusal {
                obstacle: Obstacle::Permission,
                why: format!("`{path}` answered `{error}`: the hypervisor hides the register"),
                remedy: None,
            },
            (Some(EIO), Some(false)) => Refusal::hardware(format!(
                "`{path}` answered `{error}`: this CPU has no such register"
            )),
            (Some(EIO), None) => Refusal::hardware(format!(
                "`{path}` answered `{error}`: this CPU has no such register, or a hypervisor hides it"
            )),
            (Some(ENXIO | ENODEV), _) => {
                Refusal::hardware(format!("`{path}` answered `{error}`: CPU {cpu} went offline"))
            }
            (Some(EPERM), _) => Refusal::permission(
                format!("reading `{path}` was not permitted: CAP_SYS_RAWIO is lacking"),
                WITH_CAPABILITY,
            ),
            _ if error.kind() == io::ErrorKind::PermissionDenied => Refusal::permission(
                format!("this user may not read the register in `{path}`"),
                "run as root",
            ),
            _ => Refusal::hardware(format!("reading `{path}` failed: {error}")),
        }
    }
}

/// Whoever is refused by the capability alone may be root already.
const WITH_CAPABILITY: &str =
    "start it with that capability; in a container: `docker run --cap-add SYS_RAWIO`";

impl Msr for MsrFolder {
    fn read(&self, cpu: CpuId, register: u32) -> Reading<u64> {
        let device = self.open(cpu).map_err(|e| self.not_opened(cpu, &e).of(register))?;
        self.read_open(&device, cpu, register)
    }

    /// Opens the CPU's file once.
    fn read_many(&self, cpu: CpuId, registers: &[u32]) -> Vec<Reading<u64>> {
        match self.open(cpu) {
            Ok(device) => {
                registers.iter().map(|&register| self.read_open(&device, cpu, register)).collect()
            }
            Err(error) => {
                let refusal = self.not_opened(cpu, &error);
                registers.iter().map(|&register| Err(refusal.of(register))).collect()
            }
        }
    }
}

impl MsrFolder {
    fn read_open(&self, device: &File, cpu: CpuId, register: u32) -> Reading<u64> {
        let mut value = [0; 8];
        device
            .read_exact_at(&mut value, u64::from(register))
            .map_err(|error| self.not_read(cpu, &error).of(register))?;
        Ok(u64::from_le_bytes(value))
    }
}

/// Why none of a CPU's registers, or one of them, can be read.
struct Refusal {
    obstacle: Obstacle,
    why: String,
    remedy: Option<String>,
}

impl Refusal {
    fn hardware(why: String) -> Refusal {
        Refusal { obstacle: Obstacle::Hardware, why, remedy: None }
    }

    fn permission(why: String, remedy: &'static str) -> Refusal {
        Refusal { obstacle: Obstacle::Permission, why, remedy: Some(remedy.to_owned()) }
    }

    fn of(&self, register: u32) -> Unavailable {
        Unavailable {
            what: format!("register {register:#x}"),
            why: self.why.clone(),
            remedy: self.remedy.clone(),
            obstacle: self.obstacle,
        }
    }
}
