//! A machine of which only files are there: a mounted disk, an unpacked archive.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use model::{CpuId, CpuSet, Obstacle, Unavailable};
use sys::cpuid::Leaf;

use crate::error::Error;
use crate::folder::Folder;
use crate::links::Linked;
use crate::perf::Elsewhere;
use crate::permits::{Permits, Question};
use crate::ports::{Cpuid, Host, Isst, IsstDevice, Machine, Reading, Tree};
use crate::registers::MsrFolder;
use crate::text::value_of;

/// Where the answers of such a machine come from, in words.
pub(crate) const FROM: &str = "files below a folder";

/// The machine whose files lie below `folder`; the time and chance of its runs are `here`.
pub(crate) fn machine(folder: &Path, here: impl Host + 'static) -> Result<Machine, Error> {
    let refused = |why: String| Error::Folder { name: folder.display().to_string(), why };
    let found = fs::metadata(folder).map_err(|error| refused(sys::errno::words(&error)))?;
    if !found.is_dir() {
        return Err(refused("it is no folder".to_owned()));
    }
    fs::read_dir(folder).map_err(|error| refused(sys::errno::words(&error)))?;
    Ok(Machine {
        tree: Box::new(Linked::new(Folder::below(folder.to_owned()))),
        cpuid: Box::new(FilesOnly),
        msr: Arc::new(MsrFolder::below(folder)),
        isst: Arc::new(FilesOnly),
        permits: Box::new(FilesOnly),
        perf: Box::new(Elsewhere(FROM.to_owned())),
        host: Box::new(Visitor { status: status(&Folder::below(folder.to_owned())), here }),
        // Not its path: that may name people (invariant I10).
        elsewhere: Some(FROM.to_owned()),
        simulated: None,
        worker: None,
    })
}

/// What is said of everything that is not in files.
fn not_in_files<T>(what: &str) -> Reading<T> {
    let why = "only files are known of this machine, and they do not say";
    Err(Unavailable::new(Obstacle::Cpudyno, what, why)
        .with_remedy("run `cpudyno capture FILE` on the machine itself"))
}

struct FilesOnly;

impl Cpuid for FilesOnly {
    fn leaf(&self, _leaf: u32, _subleaf: u32) -> Option<Leaf> {
        None
    }

    fn leaf_of(&self, _cpu: CpuId, _leaf: u32, _subleaf: u32) -> Option<Leaf> {
        None
    }

    fn xcr0(&self) -> Option<u64> {
        None
    }
}

impl Permits for FilesOnly {
    fn ask(&self, question: Question) -> Reading<String> {
        not_in_files(question.name())
    }
}

impl Isst for FilesOnly {
    fn open(&self) -> Reading<Box<dyn IsstDevice + '_>> {
        not_in_files("Speed Select")
    }
}

/// The process that the files are of, where they hold its status.
fn status(files: &Folder) -> String {
    files.read("/proc/self/status").unwrap_or_default()
}

/// Who looks at the files now: the time is ours, the place on CPUs and the rights are those of the
/// process that the files are of.
struct Visitor<H> {
    /// `/proc/self/status`.
    status: String,
    here: H,
}

impl<H: Host> Host for Visitor<H> {
    fn now_utc(&self) -> String {
        self.here.now_utc()
    }

    fn run_id(&self) -> String {
        self.here.run_id()
    }

    fn seed(&self) -> u64 {
        self.here.seed()
    }

    /// # Source
    /// proc_pid_status(5): `Cpus_allowed_list`.
    fn affinity(&self) -> Reading<CpuSet> {
        let allowed = value_of(&self.status, "Cpus_allowed_list").and_then(|l| l.parse().ok());
        let some = allowed.filter(|cpus: &CpuSet| !cpus.is_empty());
        some.map_or_else(|| not_in_files("CPU affinity"), Ok)
    }

    /// # Source
    /// proc_pid_status(5): `Uid`, of which the second is the effective one.
    fn is_root(&self) -> bool {
        let effective = value_of(&self.status, "Uid").and_then(|ids| ids.split_whitespace().nth(1));
        effective.map_or_else(|| self.here.is_root(), |id| id == "0")
    }
}
