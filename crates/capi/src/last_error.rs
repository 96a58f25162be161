//! The last error of each thread. It has its place in the thread from the first: a signal handler may be refused, too,
//! and keeping why allocates nothing.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ffi::c_char;
use std::fmt::{self, Write};
use std::panic::Location;

use model::Unavailable;

use crate::status::{CallError, CdStatus};

/// A text that ends with a zero; what does not fit is cut off between two characters.
struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Text<N> {
    const EMPTY: Text<N> = Text { bytes: [0; N], length: 0 };

    fn clear(&mut self) {
        self.length = 0;
        self.bytes[0] = 0;
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }

    fn pointer(&self) -> *const c_char {
        self.bytes.as_ptr().cast()
    }
}

impl<const N: usize> Write for Text<N> {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = N - 1 - self.length;
        let mut fits = more.len().min(room);
        while !more.is_char_boundary(fits) {
            fits -= 1;
        }
        for &byte in &more.as_bytes()[..fits] {
            // C takes a zero for the end.
            self.bytes[self.length] = if byte == 0 { b'?' } else { byte };
            self.length += 1;
        }
        self.bytes[self.length] = 0;
        if fits < more.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

struct LastError {
    status: CdStatus,
    text: Text<2048>,
    what: Text<256>,
    why: Text<1024>,
    remedy: Text<768>,
}

thread_local! {
    static LAST: UnsafeCell<LastError> = const {
        UnsafeCell::new(LastError {
            status: CdStatus::CdOk,
            text: Text::EMPTY,
            what: Text::EMPTY,
            why: Text::EMPTY,
            remedy: Text::EMPTY,
        })
    };
    /// How many calls deep this thread is inside, and where it panicked last.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static PLACE: RefCell<Text<256>> = const { RefCell::new(Text::EMPTY) };
}

/// Keeps why a call of this thread was refused, and answers its status.
#[cold]
pub(crate) fn keep(refusal: &CallError) -> CdStatus {
    LAST.with(|last| {
        // SAFETY: no reference to it outlives a function of this file, and none of them calls another one
        // while it has one. A signal handler that is refused in the middle of this leaves a mixed text, and
        // bytes that end with a zero: the last one is never written.
        let last = unsafe { &mut *last.get() };
        last.write(refusal)
    })
}

impl LastError {
    fn write(&mut self, refusal: &CallError) -> CdStatus {
        self.text.clear();
        self.what.clear();
        self.why.clear();
        self.remedy.clear();
        // What does not fit is cut off.
        self.status = match refusal {
            CallError::Plain(status, text) => {
                _ = self.text.write_str(text);
                *status
            }
            CallError::Worded(status, text) => {
                _ = self.text.write_str(text);
                *status
            }
            CallError::Absent(Unavailable { what, why, remedy, .. }) => {
                _ = write!(self.text, "{what}: {why}");
                _ = self.what.write_str(what);
                _ = self.why.write_str(why);
                if let Some(remedy) = remedy {
                    _ = write!(self.text, "\nhint: {remedy}");
                    _ = self.remedy.write_str(remedy);
                }
                CdStatus::CdErrorUnavailable
            }
        };
        self.status
    }
}

/// Does something during which panics of this thread print nothing.
pub(crate) fn inside(call: impl FnOnce() -> CdStatus) -> CdStatus {
    DEPTH.with(|depth| depth.set(depth.get() + 1));
    PLACE.with(|place| place.borrow_mut().clear());
    let status = call();
    DEPTH.with(|depth| depth.set(depth.get() - 1));
    status
}

/// Notes where a panic happened, where this thread is inside a call.
pub(crate) fn notes_place(location: Option<&Location<'_>>) -> bool {
    let is_inside = DEPTH.with(Cell::get) > 0;
    if let Some(location) = location.filter(|_| is_inside) {
        PLACE.with(|place| {
            let mut place = place.borrow_mut();
            place.clear();
            // What does not fit is cut off.
            _ = write!(place, ", at {}:{}", location.file(), location.line());
        });
    }
    is_inside
}

/// Where this thread panicked, as the end of a sentence.
pub(crate) fn place() -> String {
    PLACE.with(|place| place.borrow().as_str().to_owned())
}

/// The bytes of a text of this thread's last error.
fn pointer(of: impl FnOnce(&LastError) -> *const c_char) -> *const c_char {
    LAST.with(|last| {
        // SAFETY: as in `keep`: nobody of this thread writes it meanwhile.
        of(unsafe { &*last.get() })
    })
}

/// How the last call of this thread that failed ended; `CD_OK` where none has.
#[unsafe(no_mangle)]
pub extern "C" fn cd_error_status() -> CdStatus {
    // SAFETY: as in `keep`.
    LAST.with(|last| unsafe { (*last.get()).status })
}

/// Why the last call of this thread that failed was not done: a sentence, and on a second line what helps. Empty
/// where none has failed. It stays until the next failure in this thread; do not free it.
#[unsafe(no_mangle)]
pub extern "C" fn cd_error_text() -> *const c_char {
    pointer(|last| last.text.pointer())
}

/// What is not there, after `CD_ERROR_UNAVAILABLE`: a quantity, an event, an instrument. Empty after another error.
#[unsafe(no_mangle)]
pub extern "C" fn cd_error_what() -> *const c_char {
    pointer(|last| last.what.pointer())
}

/// Why it is not there, after `CD_ERROR_UNAVAILABLE`. Empty after another error.
#[unsafe(no_mangle)]
pub extern "C" fn cd_error_why() -> *const c_char {
    pointer(|last| last.why.pointer())
}

/// What would make it available, after `CD_ERROR_UNAVAILABLE`: a command where there is one. Empty where nothing is
/// known to help, and after another error.
#[unsafe(no_mangle)]
pub extern "C" fn cd_error_remedy() -> *const c_char {
    pointer(|last| last.remedy.pointer())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_between_characters() {
        let mut text = Text::<6>::EMPTY;
        assert!(text.write_str("aböüc").is_err());
        assert_eq!(&text.bytes, "abö\0\0".as_bytes());
        assert_eq!(text.length, 4);
        text.clear();
        text.write_str("a\0b").unwrap();
        assert_eq!(&text.bytes[..4], b"a?b\0");
    }
}
