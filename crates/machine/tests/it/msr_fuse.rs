//! The port of registers against a file system that answers like the kernel's module `msr`: eight
//! bytes at the offset that is the register's number, and the errors of msr(4).
//!
//! It needs `/dev/fuse` and the right to mount; without them, each test says so.

use std::io;
use std::path::Path;
use std::time::Duration;

use machine::{Msr, MsrFolder};
use model::{CpuId, Obstacle, Unavailable};
use msr_fuse::Mounted;
use sys::errno::{EACCES, EIO, ENXIO, EPERM};

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
const CPUS: &[CpuId] = &[CpuId(0), CpuId(1), OFFLINE, UNPRIVILEGED, CLOSED];

struct Registers;

impl msr_fuse::Registers for Registers {
    fn read(&self, cpu: CpuId, register: u32, _: Duration) -> io::Result<u64> {
        match register {
            MPERF => Ok(0x1111_2222_3333_4400 + u64::from(cpu.0)),
            APERF => Ok(0x5555_6666_7777_8800 + u64::from(cpu.0)),
            LAST => Ok(u64::MAX),
            FORBIDDEN => Err(error(EACCES)),
            SHORT => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Err(error(EIO)),
        }
    }

    fn open(&self, cpu: CpuId) -> io::Result<()> {
        match cpu {
            OFFLINE => Err(error(ENXIO)),
            UNPRIVILEGED => Err(error(EPERM)),
            CLOSED => Err(error(EACCES)),
            _ => Ok(()),
        }
    }
}

fn error(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

fn mounted() -> Option<Mounted> {
    Mounted::new(CPUS, Registers)
}

fn msr(mounted: &Mounted) -> MsrFolder {
    MsrFolder::new(mounted.folder())
}

fn path(mounted: &Mounted, cpu: CpuId) -> String {
    format!("{}/{cpu}/msr", mounted.folder().display())
}

#[test]
fn overlapping_registers_are_read_apart() {
    let Some(mounted) = mounted() else { return };
    let msr = msr(&mounted);
    for cpu in [CpuId(0), CpuId(1)] {
        assert_eq!(msr.read(cpu, MPERF), Ok(0x1111_2222_3333_4400 + u64::from(cpu.0)));
        assert_eq!(msr.read(cpu, APERF), Ok(0x5555_6666_7777_8800 + u64::from(cpu.0)));
    }
    assert_eq!(msr.read(CpuId(0), LAST), Ok(u64::MAX));
}

#[test]
fn many_registers_are_read_through_one_open_file() {
    let Some(mounted) = mounted() else { return };
    let readings = msr(&mounted).read_many(CpuId(1), &[APERF, ABSENT, MPERF, FORBIDDEN, SHORT]);
    assert_eq!(mounted.opened(), 1);
    let path = path(&mounted, CpuId(1));
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
    let msr = msr(&mounted);
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
    assert_eq!(why, format!("this user may not read `{}`", path(&mounted, CLOSED)));
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
