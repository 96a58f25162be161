//! Shared libraries that stay open.

use std::ffi::{CStr, CString, OsStr, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr::NonNull;

/// Whether this program is a static one: its C library has no loader, so that it calls no other library.
pub const IS_STATIC: bool = cfg!(target_feature = "crt-static");

/// Why a library cannot be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotLoaded {
    /// The loader's own words.
    Refused(String),
    /// It was loaded, and lacks the functions that are called here.
    NoRuntime,
}

/// A library that was opened, and is never closed.
pub(crate) struct Library(NonNull<c_void>);

impl Library {
    pub(crate) fn open(name: &str) -> Result<Library, NotLoaded> {
        if IS_STATIC {
            return Err(NotLoaded::Refused("a static program loads no libraries".to_owned()));
        }
        let name = CString::new(name).map_err(|error| NotLoaded::Refused(error.to_string()))?;
        // SAFETY: the name ends with zero. What initialises the library is executed, which is what is
        // asked for.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_NODELETE) };
        NonNull::new(handle).map(Library).ok_or_else(|| NotLoaded::Refused(why()))
    }

    fn address(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the handle is of a library that is never closed, and the name ends with zero.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }

    /// A function.
    ///
    /// # Safety
    ///
    /// `F` must be the type of a pointer to a function with the arguments of the one of that name.
    pub(crate) unsafe fn function<F: Copy>(&self, name: &CStr) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let address = self.address(name)?.as_ptr();
        // SAFETY: the sizes are equal, and the caller vouches for the type.
        Some(unsafe { std::mem::transmute_copy(&address) })
    }

    /// The file that a function is in, without links on the way to it.
    pub(crate) fn path(&self, name: &CStr) -> Option<PathBuf> {
        let address = self.address(name)?;
        // SAFETY: `Dl_info` consists of pointers, for which zero is a value.
        let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: any address may be asked for; the answer is written to this stack.
        let found = unsafe { libc::dladdr(address.as_ptr(), &raw mut info) };
        if found == 0 || info.dli_fname.is_null() {
            return None;
        }
        // SAFETY: the loader's own copy of the name, which ends with zero and lives as long as the
        // library.
        let file = unsafe { CStr::from_ptr(info.dli_fname) };
        let path = PathBuf::from(OsStr::from_bytes(file.to_bytes()));
        Some(path.canonicalize().unwrap_or(path))
    }
}

/// The loader's words for what just failed.
fn why() -> String {
    // SAFETY: takes no pointer.
    let words = unsafe { libc::dlerror() };
    if words.is_null() {
        return "the loader does not say why".to_owned();
    }
    // SAFETY: what dlerror(3) answers ends with zero, and stays until this thread's next call of it.
    let words = unsafe { CStr::from_ptr(words) };
    words.to_string_lossy().into_owned()
}
