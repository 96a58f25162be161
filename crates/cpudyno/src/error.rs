//! Why there is no answer.

use std::path::PathBuf;

use model::Unavailable;

/// Why there is no answer. Its text says what failed and why; [`Error::hint`] what would help.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Somebody else measures this host: two would measure each other. [`Builder::wait`](crate::Builder::wait) waits.
    #[cfg(feature = "measure")]
    #[error("cannot measure: this host is measured by {holder}")]
    Busy {
        /// The process, its command, since when.
        holder: String,
    },
    /// It was asked to stop before anything was measured.
    #[cfg(feature = "measure")]
    #[error("stopped before anything was measured")]
    Stopped,
    /// The file that `CPUDYNO_LOCK` names cannot be locked.
    #[cfg(feature = "measure")]
    #[error(transparent)]
    Lock(#[from] crate::host_lock::NotLocked),
    /// There is no machine of that name.
    #[cfg(feature = "measure")]
    #[error(transparent)]
    Machine(#[from] recorded::Error),
    /// The machine does not allow it, or what was asked for does not go together.
    #[cfg(feature = "measure")]
    #[error(transparent)]
    Measure(measure::run::Error),
    /// An argument means nothing.
    #[error("{why}")]
    Argument {
        /// Which, and why.
        why: String,
        /// What helps.
        hint: Option<String>,
    },
    /// A file cannot be read, or written.
    #[error("cannot {verb} `{}`: {why}", .path.display())]
    File {
        /// `read` or `write`.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system answered.
        why: String,
    },
    /// A text is no record.
    #[error("no record: {why}")]
    NoRecord {
        /// What it lacks, and where.
        why: String,
    },
    /// A record cannot be written in that format.
    #[error(transparent)]
    View(#[from] views::Error),
}

#[cfg(feature = "measure")]
impl From<measure::run::Error> for Error {
    fn from(error: measure::run::Error) -> Error {
        match error {
            measure::run::Error::Run(rig::executor::RunError::Interrupted) => Error::Stopped,
            error => Error::Measure(error),
        }
    }
}

impl Error {
    /// What would help, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            #[cfg(feature = "measure")]
            Error::Busy { .. } => {
                Some("wait for it (`wait`); CPUDYNO_LOCK=off measures beside it".to_owned())
            }
            #[cfg(feature = "measure")]
            Error::Lock(_) => Some(crate::host_lock::HINT.to_owned()),
            #[cfg(feature = "measure")]
            Error::Measure(
                measure::run::Error::Unavailable(reason) | measure::run::Error::Asked(reason),
            ) => reason.remedy.clone(),
            Error::Argument { hint, .. } => hint.clone(),
            Error::NoRecord { .. } => {
                Some("`cpudyno sheet --json FILE` writes a record".to_owned())
            }
            _ => None,
        }
    }

    /// The absence behind it, where the machine does not allow it.
    pub fn unavailable(&self) -> Option<&Unavailable> {
        match self {
            #[cfg(feature = "measure")]
            Error::Measure(measure::run::Error::Unavailable(reason)) => Some(reason),
            _ => None,
        }
    }
}
