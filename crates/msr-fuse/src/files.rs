//! The file system: a folder for each CPU, in it a file `msr`.

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEntry, ReplyOpen, ReplyWrite, Request,
    WriteFlags,
};
use model::CpuId;

use crate::Registers;

pub(crate) struct Files<R> {
    cpus: Vec<CpuId>,
    registers: R,
    began: Instant,
    opened: Arc<AtomicUsize>,
}

impl<R> Files<R> {
    pub(crate) fn new(cpus: &[CpuId], registers: R, opened: Arc<AtomicUsize>) -> Files<R> {
        Files { cpus: cpus.to_vec(), registers, began: Instant::now(), opened }
    }
}

/// Inodes: 1 is the root, `FOLDERS + cpu` a folder, `FILES + cpu` the file in it.
const FOLDERS: u64 = 1 << 32;
const FILES: u64 = 1 << 33;

fn cpu_of(file: INodeNo) -> CpuId {
    CpuId((u64::from(file) - FILES) as u32)
}

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

fn errno(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_i32)
}

impl<R: Registers> Filesystem for Files<R> {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let name = name.to_str().unwrap_or_default();
        let folder = u64::from(parent).checked_sub(FOLDERS);
        let inode = match (folder, name.parse::<u32>()) {
            (None, Ok(cpu)) if self.cpus.contains(&CpuId(cpu)) => FOLDERS + u64::from(cpu),
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
        for (next, cpu) in (1..).zip(&self.cpus).skip(offset as usize) {
            let inode = INodeNo(FOLDERS + u64::from(cpu.0));
            if reply.add(inode, next, FileType::Directory, cpu.to_string()) {
                break;
            }
        }
        reply.ok();
    }

    fn open(&self, _: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        if let Err(error) = self.registers.open(cpu_of(inode)) {
            return reply.error(errno(&error));
        }
        self.opened.fetch_add(1, Ordering::Relaxed);
        // Reads reach us as they are made, not by page.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
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
        match self.registers.read(cpu_of(inode), offset as u32, self.began.elapsed()) {
            Ok(value) => reply.data(&value.to_le_bytes().repeat(size as usize / 8)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => reply.data(&[]),
            Err(error) => reply.error(errno(&error)),
        }
    }

    fn write(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let Ok(bytes) = data.try_into() else { return reply.error(Errno::EINVAL) };
        let value = u64::from_le_bytes(bytes);
        match self.registers.write(cpu_of(inode), offset as u32, value) {
            Ok(()) => reply.written(8),
            Err(error) => reply.error(errno(&error)),
        }
    }
}
