//! For tests: a file system that answers like the kernel's module `msr`, eight bytes at the offset
//! that is the register's number, and the errors of msr(4). What each register holds, a test says.
//!
//! It needs `/dev/fuse` and the right to mount. Nothing of it is part of the product.

#![forbid(unsafe_code)]

mod files;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fuser::{BackgroundSession, Config, MountOption};
use model::CpuId;
use tempfile::TempDir;

/// What the registers of a machine hold.
pub trait Registers: Send + Sync + 'static {
    /// A register of a CPU, so long after the file system was mounted. An error becomes the error
    /// of the read; [`io::ErrorKind::UnexpectedEof`] a read of no bytes.
    fn read(&self, cpu: CpuId, register: u32, since: Duration) -> io::Result<u64>;

    /// Writes a register.
    fn write(&self, cpu: CpuId, register: u32, value: u64) -> io::Result<()> {
        let _ = (cpu, register, value);
        Err(io::Error::from(io::ErrorKind::PermissionDenied))
    }

    /// Whether the file of a CPU may be opened.
    fn open(&self, cpu: CpuId) -> io::Result<()> {
        let _ = cpu;
        Ok(())
    }
}

impl<F> Registers for F
where
    F: Fn(CpuId, u32, Duration) -> io::Result<u64> + Send + Sync + 'static,
{
    fn read(&self, cpu: CpuId, register: u32, since: Duration) -> io::Result<u64> {
        self(cpu, register, since)
    }
}

/// A mounted file system of registers. It is unmounted when it goes out of scope.
pub struct Mounted {
    _session: BackgroundSession,
    folder: TempDir,
    opened: Arc<AtomicUsize>,
}

impl Mounted {
    /// Mounts the registers of these CPUs in a folder of its own.
    ///
    /// `None` where no such file system can be mounted. That is said on standard error; with
    /// `CPUDYNO_NEEDS_FUSE` in the environment it is a panic, so that who promises that it can be
    /// mounted gets to know.
    pub fn new(cpus: &[CpuId], registers: impl Registers) -> Option<Mounted> {
        let mounted = Mounted::try_new(cpus, registers);
        mounted.map_err(|error| skipped(&error)).ok()
    }

    fn try_new(cpus: &[CpuId], registers: impl Registers) -> io::Result<Mounted> {
        let folder = tempfile::tempdir()?;
        let opened = Arc::new(AtomicUsize::new(0));
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("cpudyno-msr".to_owned())];
        let files = files::Files::new(cpus, registers, Arc::clone(&opened));
        let session = fuser::spawn_mount(files, folder.path(), &config)?;
        Ok(Mounted { _session: session, folder, opened })
    }

    /// The folder, which is laid out like `/dev/cpu`.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// How often a file of registers was opened.
    pub fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }
}

#[expect(clippy::print_stderr, reason = "a test that cannot run says what it needs")]
fn skipped(error: &io::Error) {
    eprintln!("SKIPPED: no FUSE file system can be mounted here: {error}");
    eprintln!("it needs /dev/fuse, and root or fusermount3");
    assert!(std::env::var_os("CPUDYNO_NEEDS_FUSE").is_none(), "{error}");
}
