//! How calls end, for C and inside.

use model::Unavailable;

/// How a call ended. What is not `CD_OK` has a text: `cd_error_text()`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CdStatus {
    /// Done; what it answers is in its out-pointers.
    CdOk = 0,
    /// An argument makes no sense: a null pointer, text that is not UTF-8, a word or number that is not known.
    CdErrorArgument = 1,
    /// There is nothing of that handle: it was closed, freed or never given.
    CdErrorHandle = 2,
    /// Not now: a region is entered twice or left twice, or the thread is ending.
    CdErrorState = 3,
    /// The number is not there; `cd_error_what()`, `cd_error_why()` and `cd_error_remedy()` say more.
    CdErrorUnavailable = 4,
    /// Another cpudyno measures on this machine.
    CdErrorBusy = 5,
    /// `cd_stop()` ended it before there was a number.
    CdErrorStopped = 6,
    /// The measurement failed.
    CdErrorFailed = 7,
    /// A mistake of cpudyno itself, caught; please report its text, which begins with `BUG:`.
    CdErrorBug = 8,
}

/// Why a call was not done.
#[derive(Debug)]
pub(crate) enum CallError {
    /// In words that are part of the program: nothing is allocated for it.
    Plain(CdStatus, &'static str),
    /// In words that name what was there.
    Worded(CdStatus, String),
    /// An absence.
    Absent(Unavailable),
}

impl From<Unavailable> for CallError {
    fn from(unavailable: Unavailable) -> CallError {
        CallError::Absent(unavailable)
    }
}

/// What calls end with inside.
pub(crate) type Done = Result<(), CallError>;
