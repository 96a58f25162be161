//! The last error of each thread. It has its place in the thread from the first: a signal handler may be refused, too,
//! and keeping why allocates nothing.

use std::cell::Cell;
use std::ffi::c_char;
use std::fmt::{self, Write};
use std::panic::Location;

use crate::status::{CallError, CdStatus};

/// A text that ends with a zero; what does not fit is cut off between two characters. A signal handler may write it in
/// the middle of this thread's writing: the text is mixed then, and still ends with a zero.
struct Text<const N: usize> {
    bytes: [Cell<u8>; N],
    length: Cell<usize>,
}

impl<const N: usize> Text<N> {
    const fn empty() -> Text<N> {
        Text { bytes: [const { Cell::new(0) }; N], length: Cell::new(0) }
    }

    fn clear(&self) {
        self.length.set(0);
        self.bytes[0].set(0);
    }

    /// Adds a byte, where there is room for it and the zero behind it: the last one is never anything else.
    fn push(&self, byte: u8) {
        let at = self.length.get();
        if at + 1 < N {
            // C takes a zero for the end.
            self.bytes[at].set(if byte == 0 { b'?' } else { byte });
            self.bytes[at + 1].set(0);
            self.length.set(at + 1);
        }
    }

    fn to_text(&self) -> String {
        let bytes: Vec<u8> = self.bytes[..self.length.get()].iter().map(Cell::get).collect();
        String::from_utf8(bytes).unwrap_or_default()
    }

    fn pointer(&self) -> *const c_char {
        self.bytes.as_ptr().cast()
    }
}

impl<const N: usize> Write for &Text<N> {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = N - 1 - self.length.get();
        let mut fits = more.len().min(room);
        while !more.is_char_boundary(fits) {
            fits -= 1;
        }
        more.bytes().take(fits).for_each(|byte| self.push(byte));
        if fits < more.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

struct LastError {
    status: Cell<CdStatus>,
    text: Text<2048>,
    what: Text<256>,
    why: Text<1024>,
    remedy: Text<768>,
}

thread_local! {
    static LAST: LastError = const {
        LastError {
            status: Cell::new(CdStatus::CdOk),
            text: Text::empty(),
            what: Text::empty(),
            why: Text::empty(),
            remedy: Text::empty(),
        }
    };
    /// How many calls deep this thread is inside, and where it panicked last.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static PLACE: Text<256> = const { Text::empty() };
}

/// Keeps why a call of this thread was refused, and answers its status.
#[cold]
pub(crate) fn keep(refusal: &CallError) -> CdStatus {
    LAST.with(|last| last.keep(refusal))
}

impl LastError {
    fn keep(&self, refusal: &CallError) -> CdStatus {
        let LastError { status, text, what, why, remedy } = self;
        let (mut text, mut what, mut why, mut remedy) = (text, what, why, remedy);
        text.clear();
        what.clear();
        why.clear();
        remedy.clear();
        // What does not fit is cut off.
        let kept = match refusal {
            CallError::Plain(status, words) => {
                _ = text.write_str(words);
                *status
            }
            CallError::Worded(status, words) => {
                _ = text.write_str(words);
                *status
            }
            CallError::Absent(absent) => {
                _ = write!(text, "{}: {}", absent.what, absent.why);
                _ = what.write_str(&absent.what);
                _ = why.write_str(&absent.why);
                if let Some(help) = &absent.remedy {
                    _ = write!(text, "\nhint: {help}");
                    _ = remedy.write_str(help);
                }
                CdStatus::CdErrorUnavailable
            }
        };
        status.set(kept);
        kept
    }
}

/// Does something during which panics of this thread print nothing.
pub(crate) fn inside(call: impl FnOnce() -> CdStatus) -> CdStatus {
    DEPTH.with(|depth| depth.set(depth.get() + 1));
    PLACE.with(Text::clear);
    let status = call();
    DEPTH.with(|depth| depth.set(depth.get() - 1));
    status
}

/// Notes where a panic happened, where this thread is inside a call.
pub(crate) fn notes_place(location: Option<&Location<'_>>) -> bool {
    let is_inside = DEPTH.with(Cell::get) > 0;
    if let Some(location) = location.filter(|_| is_inside) {
        PLACE.with(|mut place| {
            place.clear();
            // What does not fit is cut off.
            _ = write!(place, ", at {}:{}", location.file(), location.line());
        });
    }
    is_inside
}

/// Where this thread panicked, as the end of a sentence.
pub(crate) fn place() -> String {
    PLACE.with(Text::to_text)
}

/// How the last call of this thread that failed ended; `CD_OK` where none has.
#[unsafe(no_mangle)]
pub extern "C" fn cd_error_status() -> CdStatus {
    LAST.with(|last| last.status.get())
}

/// Why the last call of this thread that failed was not done: a sentence, and on a second line what helps. Empty
/// where none has failed. It stays until the next failure in this thread; do not free it.
#[unsafe(no_mangle)]
pub extern "C" fn cd_error_text() -> *const c_char {
    LAST.with(|last| last.text.pointer())
}

/// What is not there, after `CD_ERROR_UNAVAILABLE`: a quantity, an event, an instrument. Empty after another error.
#[unsafe(no_mangle)]
pub extern "C" fn cd_error_what() -> *const c_char {
    LAST.with(|last| last.what.pointer())
}

/// Why it is not there, after `CD_ERROR_UNAVAILABLE`. Empty after another error.
#[unsafe(no_mangle)]
pub extern "C" fn cd_error_why() -> *const c_char {
    LAST.with(|last| last.why.pointer())
}

/// What would make it available, after `CD_ERROR_UNAVAILABLE`: a command where there is one. Empty where nothing is
/// known to help, and after another error.
#[unsafe(no_mangle)]
pub extern "C" fn cd_error_remedy() -> *const c_char {
    LAST.with(|last| last.remedy.pointer())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_between_characters() {
        let text = Text::<6>::empty();
        assert!((&text).write_str("aböüc").is_err());
        assert_eq!((text.to_text().as_str(), text.length.get()), ("abö", 4));
        assert_eq!(text.bytes.iter().map(Cell::get).collect::<Vec<_>>(), "abö\0\0".as_bytes());
        text.clear();
        (&text).write_str("a\0b").unwrap();
        assert_eq!(text.to_text(), "a?b");
    }

    /// A signal handler writes while this thread does.
    #[test]
    fn a_mixed_text_ends_with_a_zero() {
        let text = Text::<6>::empty();
        (0..20).for_each(|_| text.push(b'a'));
        assert_eq!(text.to_text(), "aaaaa");
        assert_eq!(text.bytes[5].get(), 0);
    }
}
