//! The functions that stand behind ours: those of the C library.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use libc::{DIR, FILE, c_char, c_int, c_uint, c_ulong, c_void, mode_t, uid_t};

/// The function of that name which would have been called without us.
macro_rules! next {
    ($name:ident as $kind:ty) => {{
        const NAME: &CStr =
            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("BUG: a name ends with zero"),
            };
        // SAFETY: the name is a string that ends with zero.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, NAME.as_ptr()) };
        assert!(!found.is_null(), "BUG: the C library has no {}", stringify!($name));
        // SAFETY: the C library declares its function so.
        unsafe { std::mem::transmute::<*mut c_void, $kind>(found) }
    }};
}

pub(crate) fn open(name: &CStr, flags: c_int, mode: mode_t) -> c_int {
    open_raw(name.as_ptr(), flags, mode)
}

pub(crate) fn open_raw(name: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    let next = next!(open64 as unsafe extern "C" fn(*const c_char, c_int, ...) -> c_int);
    // SAFETY: the arguments are the caller's.
    unsafe { next(name, flags, mode) }
}

pub(crate) fn openat_raw(at: c_int, name: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    let next = next!(openat64 as unsafe extern "C" fn(c_int, *const c_char, c_int, ...) -> c_int);
    // SAFETY: the arguments are the caller's.
    unsafe { next(at, name, flags, mode) }
}

pub(crate) fn fopen(name: *const c_char, mode: *const c_char) -> *mut FILE {
    let next = next!(fopen64 as unsafe extern "C" fn(*const c_char, *const c_char) -> *mut FILE);
    // SAFETY: the arguments are the caller's.
    unsafe { next(name, mode) }
}

pub(crate) fn opendir(name: *const c_char) -> *mut DIR {
    let next = next!(opendir as unsafe extern "C" fn(*const c_char) -> *mut DIR);
    // SAFETY: the argument is the caller's, or a string of ours.
    unsafe { next(name) }
}

pub(crate) fn unlink(name: *const c_char) -> c_int {
    let next = next!(unlink as unsafe extern "C" fn(*const c_char) -> c_int);
    // SAFETY: the argument is the caller's, or a string of ours.
    unsafe { next(name) }
}

pub(crate) fn ioctl(descriptor: c_int, code: c_ulong, argument: *mut c_void) -> c_int {
    let next = next!(ioctl as unsafe extern "C" fn(c_int, c_ulong, ...) -> c_int);
    // SAFETY: the arguments are the caller's.
    unsafe { next(descriptor, code, argument) }
}

pub(crate) fn write(descriptor: c_int, text: *const c_void, bytes: usize) -> isize {
    let next = next!(write as unsafe extern "C" fn(c_int, *const c_void, usize) -> isize);
    // SAFETY: the arguments are the caller's.
    unsafe { next(descriptor, text, bytes) }
}

pub(crate) fn close(descriptor: c_int) -> c_int {
    let next = next!(close as unsafe extern "C" fn(c_int) -> c_int);
    // SAFETY: the argument is the caller's.
    unsafe { next(descriptor) }
}

pub(crate) fn geteuid() -> uid_t {
    let next = next!(geteuid as unsafe extern "C" fn() -> uid_t);
    // SAFETY: it has no conditions.
    unsafe { next() }
}

pub(crate) fn usleep(microseconds: c_uint) -> c_int {
    let next = next!(usleep as unsafe extern "C" fn(c_uint) -> c_int);
    // SAFETY: it has no conditions.
    unsafe { next(microseconds) }
}

/// A file in memory that has no path.
pub(crate) fn nameless() -> io::Result<File> {
    // SAFETY: the name is a string that ends with zero.
    let descriptor = unsafe { libc::memfd_create(c"simulated".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }.into())
}
