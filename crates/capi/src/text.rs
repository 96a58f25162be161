//! Strings that callers own: each is known by its address until it is freed.

use std::ffi::{CString, c_char};
use std::ptr;

use crate::border::{Out, slow_call};
use crate::library;
use crate::status::{CallError, CdStatus};

/// Gives a text away.
pub(crate) fn give(text: String, out: Out<*mut c_char>) {
    // No text of ours has a zero in it; one that came from elsewhere ends there.
    let text = CString::new(text).unwrap_or_else(|error| {
        let end = error.nul_position();
        let mut bytes = error.into_vec();
        bytes.truncate(end);
        CString::new(bytes).unwrap_or_default()
    });
    let address = text.into_raw();
    library::locked(|library| library.texts.insert(address.expose_provenance()));
    out.put(address);
}

/// Frees a string that this library gave, and makes the pointer NULL: freeing it twice does nothing the second time.
/// A copy of a pointer that was freed is CD_ERROR_HANDLE, unless a later string of this library lies there.
///
/// `text` points at the pointer. That one may be NULL.
///
/// # Safety
/// `text` is null or points at a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cd_string_free(text: *mut *mut c_char) -> CdStatus {
    slow_call(|| {
        if text.is_null() {
            return Err(CallError::Plain(CdStatus::CdErrorArgument, "`text` is NULL"));
        }
        // SAFETY: it is not null, so the caller promised a pointer there.
        let address = unsafe { text.read() };
        if address.is_null() {
            return Ok(());
        }
        if !library::locked(|library| library.texts.remove(&address.addr())) {
            let why = "this library gave no such string, or it was freed before";
            return Err(CallError::Plain(CdStatus::CdErrorHandle, why));
        }
        // SAFETY: `give` made it by `into_raw`, and it was still among those that are not freed.
        drop(unsafe { CString::from_raw(address) });
        // SAFETY: as above.
        unsafe { text.write(ptr::null_mut()) };
        Ok(())
    })
}
