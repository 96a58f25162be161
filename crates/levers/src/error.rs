use std::path::PathBuf;

use model::{AS_ROOT, Obstacle, Unavailable};

/// What helps where not everything was put back.
pub const LEFT: &str = "`cpudyno undo` tries again, and shows what is still changed";

/// What helps where somebody else writes, too.
pub const RESTLESS: &str =
    "stop the program that also sets it, such as a daemon for power or tuning";

/// Why nothing was set, or not all was put back.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What was typed names no setting.
    #[error("cannot set `{setting}`: there is no such setting")]
    Unknown {
        /// What was typed.
        setting: String,
        /// The known name most like it.
        suggestion: Option<&'static str>,
    },
    /// What was typed is no `SETTING=VALUE`, or names a target wrongly.
    #[error("cannot read `{text}`: {why}")]
    Malformed {
        /// What was typed.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// The setting does not take that value.
    #[error("cannot set `{setting}` to `{value}`: {why}")]
    Value {
        /// The setting.
        setting: String,
        /// What was typed.
        value: String,
        /// What it takes.
        why: String,
    },
    /// This machine does not have it, or it cannot be written.
    #[error("cannot set `{setting}`: {why}")]
    Absent {
        /// The setting.
        setting: String,
        /// What was touched, and what it answered.
        why: String,
        /// What would help.
        remedy: Option<String>,
    },
    /// Rights are missing.
    #[error("cannot set `{setting}`: {why}")]
    Rights {
        /// The setting.
        setting: String,
        /// What was touched, and what it answered.
        why: String,
        /// What would help; none: to be root.
        remedy: Option<String>,
    },
    /// It has effects that cannot be undone.
    #[error("cannot set `{setting}`: {why}")]
    Irreversible {
        /// The setting.
        setting: String,
        /// What would be lost.
        why: String,
    },
    /// Something else comes first.
    #[error("cannot set `{setting}`: {why}")]
    Ordered {
        /// The setting.
        setting: String,
        /// What stands in the way.
        why: String,
        /// What comes first.
        first: String,
    },
    /// The machine refused a write.
    #[error("cannot write `{wanted}` to {object}: {why}{}", told(.deciders))]
    Refused {
        /// What was written to.
        object: String,
        /// What was written.
        wanted: String,
        /// What the kernel answered.
        why: String,
        /// Who else decides about it, in words with evidence.
        deciders: Box<[String]>,
        /// What may have to come first.
        first: Option<&'static str>,
        /// Whether rights are missing.
        is_right: bool,
        /// Whether nothing comes of it later either.
        is_final: bool,
    },
    /// The machine took a write and holds something else.
    #[error(
        "cannot set {object} to `{wanted}`: after the write it reads `{found}`{}", told(.deciders)
    )]
    NotKept {
        /// What was written to.
        object: String,
        /// What was written.
        wanted: String,
        /// What is there.
        found: String,
        /// Who else decides about it, in words with evidence.
        deciders: Box<[String]>,
        /// What may have to come first.
        first: Option<&'static str>,
    },
    /// Firmware took a write and has not done it, and may do so later.
    #[error(
        "{object} was set to `{wanted}` and still reads `{found}`: firmware may get there later"
    )]
    Late {
        /// What was written to.
        object: String,
        /// What was written.
        wanted: String,
        /// What is there.
        found: String,
    },
    /// Somebody else changed what was set.
    #[error(
        "`{setting}` was set to `{held}`, but another program has since changed {object} to \
         `{found}`"
    )]
    Foreign {
        /// The setting.
        setting: String,
        /// What was written to.
        object: String,
        /// What was written.
        held: String,
        /// What is there.
        found: String,
    },
    /// Another process has settings of this machine in its hands.
    #[error("cannot change settings: {holder} is changing them")]
    Locked {
        /// Who.
        holder: String,
    },
    /// The journal cannot be kept or read.
    #[error("cannot use the journal `{}`: {why}", .path.display())]
    Journal {
        /// Its file.
        path: PathBuf,
        /// What failed.
        why: String,
        /// Whether rights are missing, or others have too many.
        is_right: bool,
    },
}

impl Error {
    /// What a setting holds could not be read.
    pub(crate) fn unread(setting: String, reason: Unavailable) -> Error {
        let Unavailable { why, remedy, obstacle, .. } = reason;
        match obstacle {
            Obstacle::Permission => {
                let remedy = remedy.filter(|remedy| !remedy.starts_with(AS_ROOT));
                Error::Rights { setting, why, remedy }
            }
            _ => Error::Absent { setting, why, remedy },
        }
    }
}

fn told(deciders: &[String]) -> String {
    if deciders.is_empty() { String::new() } else { format!("; {}", deciders.join("; ")) }
}
