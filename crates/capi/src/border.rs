//! What every call from C passes: panics end here, errors are kept for the thread, pointers are looked at.

use std::ffi::{CStr, c_char};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use machine::Machine;
use pmu::counting::RegionPlan;

use crate::status::{CallError, CdStatus, Done};
use crate::{last_error, library};

/// Does what a function of C is for.
#[inline]
pub(crate) fn call(function: impl FnOnce() -> Done) -> CdStatus {
    match catch_unwind(AssertUnwindSafe(function)) {
        Ok(Ok(())) => CdStatus::CdOk,
        Ok(Err(refusal)) => last_error::keep(&refusal),
        Err(panic) => last_error::keep(&bug(&*panic)),
    }
}

/// The same of what takes its time: a panic inside prints nothing, its place is in the text of the error.
pub(crate) fn slow_call(function: impl FnOnce() -> Done) -> CdStatus {
    call(|| {
        prepare();
        Ok(())
    });
    last_error::inside(|| call(function))
}

/// Makes tables that are made at their first use, under the lock that forks wait for: a child must not find them half
/// made by a thread that it does not have.
fn prepare() {
    static PREPARED: AtomicBool = AtomicBool::new(false);
    if PREPARED.load(Ordering::Acquire) {
        return;
    }
    library::locked(|_| {
        if PREPARED.load(Ordering::Relaxed) {
            return;
        }
        keep_panics_quiet();
        let doctor = cpudyno::doctor_of("sim:4c");
        drop(doctor.map(|record| cpudyno::record::text(&record)));
        if let Ok(machine) = Machine::named("4c") {
            drop(RegionPlan::of(&machine, &["instructions"]));
        }
        PREPARED.store(true, Ordering::Release);
    });
}

/// Panics inside calls print nothing. Once is enough.
fn keep_panics_quiet() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
        if !last_error::notes_place(info.location()) {
            before(info);
        }
    }));
}

#[cold]
fn bug(panic: &(dyn std::any::Any + Send)) -> CallError {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a panic without a text");
    let begin = if text.starts_with("BUG:") { "" } else { "BUG: " };
    let place = last_error::place();
    CallError::Worded(CdStatus::CdErrorBug, format!("{begin}{text}{place}"))
}

/// The text of an argument; none for a null pointer.
///
/// # Safety
/// `text` is null, or points at bytes that end with a zero and stay as they are for `'a`.
pub(crate) unsafe fn optional<'a>(
    name: &str,
    text: *const c_char,
) -> Result<Option<&'a str>, CallError> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: it is not null, so the caller's promise holds.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|error| {
        let why = format!("`{name}` is not UTF-8 from byte {} on", error.valid_up_to());
        CallError::Worded(CdStatus::CdErrorArgument, why)
    })
}

/// The text of an argument that has to be there.
///
/// # Safety
/// As of [`optional`].
pub(crate) unsafe fn text<'a>(name: &str, text: *const c_char) -> Result<&'a str, CallError> {
    // SAFETY: the caller's promise is the same.
    let text = unsafe { optional(name, text) }?;
    text.ok_or_else(|| CallError::Worded(CdStatus::CdErrorArgument, format!("`{name}` is NULL")))
}

/// Where an answer goes; written once it is there.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// # Safety
    /// `place` is null, or a `T` may be written there until the call ends.
    pub(crate) unsafe fn new(name: &str, place: *mut T) -> Result<Out<T>, CallError> {
        if place.is_null() {
            let why = format!("`{name}` is NULL");
            return Err(CallError::Worded(CdStatus::CdErrorArgument, why));
        }
        Ok(Out(place))
    }

    /// Writes it.
    pub(crate) fn put(self, value: T) {
        // SAFETY: `new` was promised that a `T` may be written there. C knows no destructors, so none is lost.
        unsafe { self.0.write(value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_text() -> String {
        // SAFETY: the text lives as long as the thread.
        unsafe { CStr::from_ptr(crate::cd_error_text()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn panics_become_errors_with_a_place() {
        assert_eq!(call(|| panic!("BUG: it is odd")), CdStatus::CdErrorBug);
        assert!(error_text().starts_with("BUG: it is odd"), "{}", error_text());
        assert_eq!(slow_call(|| panic!("{} is odd", 3)), CdStatus::CdErrorBug);
        assert!(error_text().starts_with("BUG: 3 is odd, at "), "{}", error_text());
        assert!(error_text().contains("border.rs:"), "{}", error_text());
        assert_eq!(slow_call(|| std::panic::panic_any(7)), CdStatus::CdErrorBug);
        assert!(error_text().starts_with("BUG: a panic without a text"), "{}", error_text());
    }

    #[test]
    fn what_is_no_text_is_named() {
        // SAFETY: the bytes end with a zero.
        let bad = unsafe { text("events", c"a\xff".as_ptr()) };
        let Err(CallError::Worded(CdStatus::CdErrorArgument, why)) = bad else { panic!("{bad:?}") };
        assert_eq!(why, "`events` is not UTF-8 from byte 1 on");
        // SAFETY: it is null.
        let none = unsafe { text("events", std::ptr::null()) };
        assert!(matches!(none, Err(CallError::Worded(_, why)) if why == "`events` is NULL"));
    }
}
