//! A preload library: a program that is started with it finds the Speed Select of a simulated machine
//! where the kernel's would be.
//!
//! ```text
//! LD_PRELOAD=libisst_shim.so CPUDYNO_SHIM_MACHINE=sim:guide CPUDYNO_SHIM_FOLDER=/tmp/some program
//! ```
//!
//! | variable | |
//! |---|---|
//! | `CPUDYNO_SHIM_MACHINE` | the machine: `sim:guide`, or `sim:guide@FILE` with a file that keeps its state |
//! | `CPUDYNO_SHIM_FOLDER` | a folder for what the program keeps in `/run`, and for `ioctls`: a line each |
//! | `CPUDYNO_SHIM_CPUID` | `1`: CPUID is that of the machine, too, which changes the program in memory |
//!
//! The functions of the C library that open, list and ask stand in the last part of this file; which
//! answer they get is decided in `served`, without unsafe code. Threads are not served alike: each has a
//! machine of its own, whose state is shared through the file.

#[cfg(target_arch = "x86_64")]
mod cpuid;
mod next;
mod served;

use std::ffi::{CStr, CString};
use std::os::fd::IntoRawFd;
use std::os::unix::ffi::OsStrExt;

use libc::{DIR, FILE, c_char, c_int, c_uint, c_ulong, c_void, mode_t, uid_t};
use sys::errno::{EFAULT, ENOTTY};
use sys::isst::Request;

use self::served::{Opened, served};

/// What the kernel answers instead of a file, a folder or a number.
fn fails(code: i32) -> c_int {
    // SAFETY: it has no conditions.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the C library gives each thread a place of its own.
    unsafe { *place = code };
    -1
}

/// The path that a caller handed over.
fn path(text: *const c_char) -> Option<std::path::PathBuf> {
    if text.is_null() {
        return None;
    }
    // SAFETY: who calls a function that takes a path hands over a string that ends with zero.
    let text = unsafe { CStr::from_ptr(text) };
    Some(std::ffi::OsStr::from_bytes(text.to_bytes()).into())
}

/// A path as the C library takes it; its parts came from such paths, and hold no zero.
fn text(path: &std::path::Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

/// Opens what is ours; `None`: it is the program's own business.
fn opened(name: *const c_char, flags: c_int, mode: mode_t) -> Option<c_int> {
    let path = path(name)?;
    Some(match served(&path, |served| served.open(&path, flags & libc::O_ACCMODE))? {
        Ok(Opened::Content(file)) => file.into_raw_fd(),
        Ok(Opened::Setting(file, path)) => {
            let descriptor = file.into_raw_fd();
            served::note_setting(descriptor, path);
            descriptor
        }
        Ok(Opened::Other(path)) => next::open(&text(&path), flags, mode),
        Err(code) => fails(code),
    })
}

/// What the modes of `fopen` mean.
fn flags(mode: *const c_char) -> c_int {
    let letters = path(mode).unwrap_or_default();
    let letters = letters.as_os_str().as_bytes();
    let plus = letters.contains(&b'+');
    match letters.first() {
        Some(b'w') => {
            libc::O_CREAT | libc::O_TRUNC | if plus { libc::O_RDWR } else { libc::O_WRONLY }
        }
        Some(b'a') => {
            libc::O_CREAT | libc::O_APPEND | if plus { libc::O_RDWR } else { libc::O_WRONLY }
        }
        _ if plus => libc::O_RDWR,
        _ => libc::O_RDONLY,
    }
}

/// As a stream; a descriptor below zero has its error number set.
fn stream(descriptor: c_int, mode: *const c_char) -> *mut FILE {
    if descriptor < 0 {
        return std::ptr::null_mut();
    }
    // SAFETY: the descriptor is open and nobody else's, the mode is the caller's.
    unsafe { libc::fdopen(descriptor, mode) }
}

/// What new files may be.
const NEW: mode_t = 0o666;

macro_rules! opens {
    ($($name:ident)*) => {$(
        /// # Safety
        /// As of the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(name: *const c_char, flags: c_int, mode: mode_t) -> c_int {
            opened(name, flags, mode).unwrap_or_else(|| next::open_raw(name, flags, mode))
        }
    )*};
}

opens!(open open64);

macro_rules! opens_checked {
    ($($name:ident)*) => {$(
        /// # Safety
        /// As of the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(name: *const c_char, flags: c_int) -> c_int {
            opened(name, flags, 0).unwrap_or_else(|| next::open_raw(name, flags, 0))
        }
    )*};
}

opens_checked!(__open_2 __open64_2);

macro_rules! opens_at {
    ($($name:ident)*) => {$(
        /// # Safety
        /// As of the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            at: c_int,
            name: *const c_char,
            flags: c_int,
            mode: mode_t,
        ) -> c_int {
            opened(name, flags, mode).unwrap_or_else(|| next::openat_raw(at, name, flags, mode))
        }
    )*};
}

opens_at!(openat openat64);

macro_rules! opens_streams {
    ($($name:ident)*) => {$(
        /// # Safety
        /// As of the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(name: *const c_char, mode: *const c_char) -> *mut FILE {
            let ours = opened(name, flags(mode), NEW);
            ours.map_or_else(|| next::fopen(name, mode), |descriptor| stream(descriptor, mode))
        }
    )*};
}

opens_streams!(fopen fopen64);

/// # Safety
/// As of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opendir(name: *const c_char) -> *mut DIR {
    let ours = path(name).and_then(|path| served(&path, |served| served.list(&path)));
    match ours {
        None => next::opendir(name),
        Some(Ok(folder)) => next::opendir(text(&folder).as_ptr()),
        Some(Err(code)) => {
            fails(code);
            std::ptr::null_mut()
        }
    }
}

/// # Safety
/// As of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unlink(name: *const c_char) -> c_int {
    let ours = path(name).and_then(|path| served(&path, |served| served.removable(&path)));
    match ours {
        None => next::unlink(name),
        Some(Ok(path)) => next::unlink(text(&path).as_ptr()),
        Some(Err(code)) => fails(code),
    }
}

/// # Safety
/// As of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(descriptor: c_int, text: *const c_void, bytes: usize) -> isize {
    if text.is_null() {
        return next::write(descriptor, text, bytes);
    }
    // SAFETY: the caller hands over so many bytes.
    let content = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), bytes) };
    match served::set(descriptor, content) {
        None => next::write(descriptor, text, bytes),
        Some(Ok(())) => bytes as isize,
        Some(Err(code)) => fails(code) as isize,
    }
}

/// # Safety
/// As of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(descriptor: c_int) -> c_int {
    served::forget_setting(descriptor);
    next::close(descriptor)
}

/// # Safety
/// As of the C library's: for a request of the driver, the structure that it takes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioctl(descriptor: c_int, code: c_ulong, argument: *mut c_void) -> c_int {
    // Who keeps the number in a signed variable hands its sign over, too.
    if (code >> 8) as u8 != Request::TYPE || !served::is_on() {
        return next::ioctl(descriptor, code, argument);
    }
    let Some(request) = Request::of_code(code) else { return fails(ENOTTY) };
    if argument.is_null() {
        return fails(EFAULT);
    }
    let argument = argument.cast::<u8>();
    // SAFETY: the caller hands over a structure, whose first part has this length.
    let header = unsafe { std::slice::from_raw_parts(argument, request.header_bytes) };
    let bytes = request.bytes(header).filter(|bytes| *bytes <= served::BYTES_MAX);
    let bytes = bytes.unwrap_or(request.header_bytes);
    // SAFETY: it is as long as its own count says.
    let argument = unsafe { std::slice::from_raw_parts_mut(argument, bytes) };
    match served::call(*request, argument) {
        Ok(answer) => answer as c_int,
        Err(code) => fails(code),
    }
}

/// Root, except where the machine is that of a plain user.
#[unsafe(no_mangle)]
pub extern "C" fn geteuid() -> uid_t {
    /// The first one that Linux gives to people.
    const SOMEBODY: uid_t = 1000;
    served::is_root().map_or_else(next::geteuid, |is| if is { 0 } else { SOMEBODY })
}

/// Nobody waits for a simulated firmware.
#[unsafe(no_mangle)]
pub extern "C" fn usleep(microseconds: c_uint) -> c_int {
    if served::is_on() { 0 } else { next::usleep(microseconds) }
}

/// The loader calls it before the program begins.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGINS: extern "C" fn() = begins;

extern "C" fn begins() {
    #[cfg(target_arch = "x86_64")]
    if std::env::var_os("CPUDYNO_SHIM_CPUID").is_some_and(|value| value == "1")
        && let Some(leaves) = served::leaves()
    {
        cpuid::replace(leaves);
    }
}
