//! A machine of which only files are there: a mounted disk, an unpacked archive.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use model::{CpuSet, Obstacle, Reading, Unavailable};
use simulated::Files;
use sys::cpuid::Leaf;

use crate::dir::Folder;
use crate::error::Error;
use crate::isst::RecordedIsst;
use crate::links::Linked;
use crate::msr::MsrFolder;
use crate::native::LocalHost;
use crate::parse::{or_empty, value_of};
use crate::pepc;
use crate::perf::Elsewhere;
use crate::permissions::{Permits, Question};
use crate::ports::{Cpuid, FILES_ONLY, Host, Machine, Msr, Tree};

impl Machine {
    /// The machine whose files lie below `folder`: a mounted disk, an unpacked archive.
    pub fn rooted(folder: &Path) -> Result<Machine, Error> {
        machine(folder, LocalHost::drawn())
    }
}

/// The machine whose files lie below `folder`; the time and chance of its runs are `here`.
pub(crate) fn machine(folder: &Path, here: impl Host + 'static) -> Result<Machine, Error> {
    let refused = |why: String| Error { name: folder.display().to_string(), why };
    let found = fs::metadata(folder).map_err(|error| refused(sys::errno::words(&error)))?;
    if !found.is_dir() {
        return Err(refused("it is no folder".to_owned()));
    }
    fs::read_dir(folder).map_err(|error| refused(sys::errno::words(&error)))?;
    let tree = Arc::new(Recording::below(folder));
    let msr: Arc<dyn Msr> = match tree.read(pepc::REGISTERS) {
        Ok(text) => Arc::new(pepc::registers(&text)),
        Err(_) => Arc::new(MsrFolder::below(folder)),
    };
    Ok(Machine {
        tree: Box::new(Linked::new(Arc::clone(&tree))),
        cpuid: Box::new(FilesOnly),
        msr: Arc::clone(&msr),
        isst: Arc::new(RecordedIsst::new(Arc::clone(&tree), msr)),
        permits: Box::new(FilesOnly),
        perf: Box::new(Elsewhere(FILES_ONLY.to_owned())),
        host: Box::new(Visitor { status: status(&tree), here }),
        // Not its path: that may name people (invariant I10).
        elsewhere: Some(FILES_ONLY.to_owned()),
        simulated: None,
        worker: None,
    })
}

/// What is said of everything that is not in files.
fn not_in_files<T>(what: &str) -> Reading<T> {
    let why = "only files of this machine are known, and they do not contain it";
    Err(Unavailable::new(Obstacle::Cpudyno, what, why)
        .with_remedy("run `cpudyno capture FILE` on the machine itself"))
}

/// The files below a folder, and those that a recording of pepc has as one.
struct Recording {
    folder: Folder,
    inline: Files,
}

impl Recording {
    fn below(path: &Path) -> Recording {
        let folder = Folder::below(path.to_owned());
        let inline = folder.read(pepc::FILES).map(|text| pepc::files(&text));
        Recording { folder, inline: inline.unwrap_or_default() }
    }
}

impl Tree for Recording {
    fn read(&self, path: &str) -> Reading<String> {
        self.folder.read(path).or_else(|reason| self.inline.read(path).map_err(|_| reason))
    }

    fn bytes(&self, path: &str) -> Reading<Vec<u8>> {
        self.folder.bytes(path)
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        let Ok(inline) = self.inline.list(path) else { return self.folder.list(path) };
        let mut names = or_empty(path, self.folder.list(path))?;
        names.extend(inline);
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }
}

struct FilesOnly;

impl Cpuid for FilesOnly {
    fn leaf(&self, _leaf: u32, _subleaf: u32) -> Option<Leaf> {
        None
    }
}

impl Permits for FilesOnly {
    fn ask(&self, question: Question) -> Reading<String> {
        not_in_files(question.name())
    }
}

/// The process that the files are of, where they hold its status.
fn status(files: &Recording) -> String {
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
