//! The port of registers against a file system that answers like the kernel's module `msr`: eight
//! bytes at the offset that is the register's number, and the errors of msr(4).
//!
//! It needs `/dev/fuse` and the right to mount; without them, each test says so, and that the port
//! has a reason for it.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory,
    ReplyEntry, ReplyOpen, Request,
};
use machine::{Msr, MsrFolder};
use model::{CpuId, Obstacle, Unavailable};
use tempfile::TempDir;

const MPERF: u32 = 0xe7;
const APERF: u32 = 0xe8;
const ABSENT: u32 = 0x123;
const FORBIDDEN: u32 = 0x1a2;
const SHORT: u32 = 0x1a4;
const LAST: u32 = u32::MAX;

/// CPUs 0 and 1 answer; the others show what can go wrong. There is no CPU 2.
const OFFLINE: CpuId = CpuId(3);
const UNPRIVILEGED: CpuId = CpuId(4);
const CLOSED: CpuId = CpuId(5);
const CPUS: &[u64] = &[0, 1, 3, 4, 5];

/// The registers of a machine, and how often a file of them was opened.
struct Registers {
    opened: Arc<AtomicUsize>,
}

/// What the CPU answers, or the error of the read.
fn register(cpu: u64, number: u32) -> Result<u64, Errno> {
    match number {
        MPERF => Ok(0x1111_2222_3333_4400 + cpu),
        APERF => Ok(0x5555_6666_7777_8800 + cpu),
        LAST => Ok(u64::MAX),
        FORBIDDEN => Err(Errno::EACCES),
        _ => Err(Errno::EIO),
    }
}

const FOLDERS: u64 = 100;
const FILES: u64 = 200;

fn attributes(inode: u64) -> FileAttr {
    let folder = inode < FILES;
    FileAttr {
        ino: INodeNo(inode),
        size: 0,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: if folder { FileType::Directory } else { FileType::RegularFile },
        perm: if folder { 0o755 } else { 0o600 },
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        flags: 0,
        blksize: 512,
    }
}

impl Filesystem for Registers {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let name = name.to_str().unwrap_or_default();
        let cpu = u64::from(parent).checked_sub(FOLDERS);
        let inode = match (cpu, name.parse::<u64>()) {
            (None, Ok(cpu)) if CPUS.contains(&cpu) => FOLDERS + cpu,
            (Some(cpu), _) if name == "msr" => FILES + cpu,
            _ => return reply.error(Errno::ENOENT),
        };
        reply.entry(&Duration::ZERO, &attributes(inode), Generation(0));
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&Duration::ZERO, &attributes(u64::from(inode)));
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        for (next, cpu) in (1..).zip(CPUS).skip(offset as usize) {
            if reply.add(INodeNo(FOLDERS + cpu), next, FileType::Directory, cpu.to_string()) {
                break;
            }
        }
        reply.ok();
    }

    fn open(&self, _: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match CpuId((u64::from(inode) - FILES) as u32) {
            OFFLINE => reply.error(Errno::ENXIO),
            UNPRIVILEGED => reply.error(Errno::EPERM),
            CLOSED => reply.error(Errno::EACCES),
            _ => {
                self.opened.fetch_add(1, Ordering::Relaxed);
                // Reads reach us as they are made, not by page.
                reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
            }
        }
    }

    /// As the module does it: whole registers only, and the same one again for each further eight
    /// bytes.
    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if !size.is_multiple_of(8) {
            return reply.error(Errno::EINVAL);
        }
        if offset == u64::from(SHORT) {
            return reply.data(&[]);
        }
        match register(u64::from(inode) - FILES, offset as u32) {
            Ok(value) => reply.data(&value.to_le_bytes().repeat(size as usize / 8)),
            Err(error) => reply.error(error),
        }
    }
}

/// A mounted file system of registers. It is unmounted when it goes out of scope.
struct Mounted {
    _session: BackgroundSession,
    folder: TempDir,
    opened: Arc<AtomicUsize>,
}

impl Mounted {
    fn msr(&self) -> MsrFolder {
        MsrFolder::new(self.folder.path())
    }

    fn path(&self, cpu: CpuId) -> String {
        format!("{}/{cpu}/msr", self.folder.path().display())
    }

    fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }
}

/// The file system; where it cannot be mounted, that is said, and the port's reason is checked.
fn mounted() -> Option<Mounted> {
    let folder = tempfile::tempdir().unwrap();
    let opened = Arc::new(AtomicUsize::new(0));
    let mut config = Config::default();
    config.mount_options = vec![MountOption::FSName("cpudyno-msr".to_owned()), MountOption::RO];
    let registers = Registers { opened: Arc::clone(&opened) };
    match fuser::spawn_mount(registers, folder.path(), &config) {
        Ok(session) => Some(Mounted { _session: session, folder, opened }),
        Err(error) => {
            skipped(&error.to_string());
            let reason = MsrFolder::new(folder.path()).read(CpuId(0), APERF).unwrap_err();
            assert_eq!(reason.remedy.as_deref(), Some("run `modprobe msr` as root"));
            None
        }
    }
}

#[expect(clippy::print_stderr, reason = "a test that cannot run says what it needs")]
fn skipped(error: &str) {
    eprintln!("SKIPPED: no FUSE file system can be mounted here: {error}");
    eprintln!("it needs /dev/fuse, and root or fusermount3");
    // Whoever promises that it can be mounted wants to know.
    assert!(std::env::var_os("CPUDYNO_NEEDS_FUSE").is_none(), "{error}");
}

#[test]
fn overlapping_registers_are_read_apart() {
    let Some(mounted) = mounted() else { return };
    let msr = mounted.msr();
    for cpu in [CpuId(0), CpuId(1)] {
        assert_eq!(msr.read(cpu, MPERF), Ok(0x1111_2222_3333_4400 + u64::from(cpu.0)));
        assert_eq!(msr.read(cpu, APERF), Ok(0x5555_6666_7777_8800 + u64::from(cpu.0)));
    }
    assert_eq!(msr.read(CpuId(0), LAST), Ok(u64::MAX));
}

#[test]
fn many_registers_are_read_through_one_open_file() {
    let Some(mounted) = mounted() else { return };
    let readings = mounted.msr().read_many(CpuId(1), &[APERF, ABSENT, MPERF, FORBIDDEN, SHORT]);
    assert_eq!(mounted.opened(), 1);
    let path = mounted.path(CpuId(1));
    let refused = |register: u32, obstacle, why: String| {
        Err(Unavailable::new(obstacle, format!("register {register:#x}"), why))
    };
    let eio = format!(
        "`{path}` answered `Input/output error (os error 5)`: this CPU has no such register, or a \
         hypervisor hides it"
    );
    assert_eq!(readings[0], Ok(0x5555_6666_7777_8801));
    assert_eq!(readings[1], refused(ABSENT, Obstacle::Hardware, eio));
    assert_eq!(readings[2], Ok(0x1111_2222_3333_4401));
    let shut = format!("this user may not read the register in `{path}`");
    let shut = Unavailable::new(Obstacle::Permission, "register 0x1a2", shut);
    assert_eq!(readings[3], Err(shut.with_remedy("run as root")));
    let short = format!("reading `{path}` failed: failed to fill whole buffer");
    assert_eq!(readings[4], refused(SHORT, Obstacle::Hardware, short));
}

#[test]
fn each_refusal_has_its_own_reason() {
    let Some(mounted) = mounted() else { return };
    let msr = mounted.msr();
    let reason = |cpu| {
        let all = msr.read_many(cpu, &[APERF, MPERF]);
        assert_eq!(all.len(), 2);
        let one = msr.read(cpu, APERF).unwrap_err();
        assert_eq!(all[0], Err(one.clone()));
        (one.obstacle, one.why, one.remedy.unwrap_or_default())
    };
    let (obstacle, why, _) = reason(CpuId(2));
    assert_eq!(obstacle, Obstacle::Hardware);
    assert!(why.ends_with("CPU 2 is offline or does not exist"), "{why}");
    let (obstacle, why, _) = reason(OFFLINE);
    assert_eq!(obstacle, Obstacle::Hardware);
    assert!(why.ends_with("CPU 3 is offline"), "{why}");
    let (obstacle, why, remedy) = reason(UNPRIVILEGED);
    assert_eq!(obstacle, Obstacle::Permission);
    assert!(why.contains("CAP_SYS_RAWIO") && remedy.contains("SYS_RAWIO"), "{why}: {remedy}");
    let (obstacle, why, remedy) = reason(CLOSED);
    assert_eq!(obstacle, Obstacle::Permission);
    assert_eq!(why, format!("this user may not read `{}`", mounted.path(CLOSED)));
    assert_eq!(remedy, "run as root");
}

#[test]
fn a_folder_without_registers_names_the_module() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path(), Path::new("/nonexistent")] {
        let reason = MsrFolder::new(path).read(CpuId(0), APERF).unwrap_err();
        assert_eq!(reason.obstacle, Obstacle::Permission);
        assert!(reason.why.ends_with("the kernel's module `msr` is not loaded"), "{reason:?}");
        assert_eq!(reason.remedy.as_deref(), Some("run `modprobe msr` as root"));
    }
}
