//! The character device of Intel Speed Select, whose only interface are ioctls.
//!
//! # Source
//! Linux, include/uapi/linux/isst_if.h, drivers/platform/x86/intel/speed_select_if.

pub mod layout;
pub mod structures;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// What the kernel reads and writes behind the pointer of an ioctl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The last byte of its number.
    pub number: u8,
    /// Whether the number says that user space reads, writes, or both; the kernel heeds it not.
    direction: u32,
    /// Bytes before the first entry, or of the whole structure.
    pub header_bytes: usize,
    /// Bytes of an entry; 0: there are none.
    pub entry_bytes: usize,
    /// Bytes of the count of entries, which stands first.
    count_bytes: usize,
}

const READ: u32 = 2;
const WRITE: u32 = 1;
const BOTH: u32 = READ | WRITE;

const fn single(number: u8, direction: u32, header_bytes: usize) -> Request {
    Request { number, direction, header_bytes, entry_bytes: 0, count_bytes: 0 }
}

const fn list(
    number: u8,
    direction: u32,
    header_bytes: usize,
    entry_bytes: usize,
    count_bytes: usize,
) -> Request {
    Request { number, direction, header_bytes, entry_bytes, count_bytes }
}

/// All requests, in the order of their numbers.
pub const REQUESTS: &[Request] = &[
    single(0, READ, 8),
    list(1, BOTH, 4, 8, 4),
    list(2, WRITE, 4, 16, 4),
    list(3, BOTH, 4, 24, 4),
    list(4, BOTH, 8, 24, 4),
    single(5, READ, 4),
    single(6, BOTH, 6),
    single(7, BOTH, 10),
    list(8, BOTH, 6, 6, 2),
    single(9, BOTH, 11),
    single(10, WRITE, 3),
    single(11, WRITE, 3),
    single(12, READ, 154),
    single(13, READ, 24),
    single(14, READ, 12),
    single(15, READ, 24),
    single(16, READ, 134),
    single(17, READ, 54),
];

impl Request {
    /// The second byte of the number of each ioctl of the driver.
    pub const TYPE: u8 = 0xfe;

    /// The number of the ioctl: its size field is that of a pointer, not of the structure.
    pub const fn code(self) -> u32 {
        let kind = (Request::TYPE as u32) << 8;
        self.direction << 30 | (size_of::<usize>() as u32) << 16 | kind | self.number as u32
    }

    /// The request of a code. Callers that kept it in a signed number pass its sign in the upper half.
    pub fn of_code(code: u64) -> Option<&'static Request> {
        REQUESTS.iter().find(|request| request.code() == code as u32)
    }

    /// The bytes that the kernel touches, where the argument says how many entries it has.
    pub fn bytes(self, argument: &[u8]) -> Option<usize> {
        let mut count = [0; 8];
        count[..self.count_bytes].copy_from_slice(argument.get(..self.count_bytes)?);
        let count = usize::try_from(u64::from_le_bytes(count)).ok()?;
        self.entry_bytes.checked_mul(count)?.checked_add(self.header_bytes)
    }
}

/// The device, open.
#[derive(Debug)]
pub struct Device(File);

impl Device {
    /// Opens it. While it is open, no part of the driver can come or go.
    pub fn open(path: &Path) -> io::Result<Device> {
        File::open(path).map(Device)
    }

    /// One ioctl; what it answers stands in `argument`. The result is what it returned.
    pub fn call(&self, request: Request, argument: &mut [u8]) -> io::Result<u32> {
        if request.bytes(argument).is_none_or(|bytes| bytes > argument.len()) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // The C library decides whether the number is signed, and how wide it is.
        let code = u64::from(request.code()) as libc::Ioctl;
        // SAFETY: the driver touches as many bytes as `bytes` says, and they are there.
        let answer = unsafe { libc::ioctl(self.0.as_raw_fd(), code, argument.as_mut_ptr()) };
        u32::try_from(answer).map_err(|_| io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_kernel() {
        let codes: Vec<u32> = REQUESTS.iter().map(|request| request.code()).collect();
        assert_eq!(
            codes,
            [
                0x8008_fe00,
                0xc008_fe01,
                0x4008_fe02,
                0xc008_fe03,
                0xc008_fe04,
                0x8008_fe05,
                0xc008_fe06,
                0xc008_fe07,
                0xc008_fe08,
                0xc008_fe09,
                0x4008_fe0a,
                0x4008_fe0b,
                0x8008_fe0c,
                0x8008_fe0d,
                0x8008_fe0e,
                0x8008_fe0f,
                0x8008_fe10,
                0x8008_fe11,
            ]
        );
        assert_eq!(Request::of_code(0xffff_ffff_8008_fe05), Some(&REQUESTS[5]));
        assert_eq!(Request::of_code(0x8008_fe12), None);
    }

    #[test]
    fn entries_that_are_not_there_are_not_asked_for() {
        let request = REQUESTS[3];
        let mut argument = [0; 28];
        argument[0] = 1;
        assert_eq!(request.bytes(&argument), Some(28));
        argument[0] = 2;
        assert_eq!(request.bytes(&argument), Some(52));
        let device = Device::open(Path::new("/dev/null")).unwrap();
        let error = device.call(request, &mut argument).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        argument[0] = 1;
        let error = device.call(request, &mut argument).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
        assert_eq!(request.bytes(&[]), None);
    }
}
