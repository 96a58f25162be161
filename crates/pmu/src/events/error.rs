//! What can be wrong with a name.

/// Why there is no event of that name.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// Nobody knows it.
    #[error("cannot find event `{name}`: {why}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Who was asked.
        why: String,
        /// Names that are like it, the most likely first.
        near: Vec<String>,
    },
    /// No name fits.
    #[error("cannot find events by `{pattern}`: none of {names} names matches")]
    NoMatch {
        /// What was asked for.
        pattern: String,
        /// How many names there are.
        names: usize,
    },
    /// It cannot be read as an expression.
    #[error("cannot read pattern `{pattern}`: {why}")]
    Pattern {
        /// What was asked for.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// It is written wrongly, or means nothing on this machine.
    #[error("cannot encode event `{name}`: {why}")]
    Encoding {
        /// What was asked for.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A CPU of an architecture whose events only its own kernel lists.
    #[error("no events of `{typed}` are known here")]
    OtherArchitecture {
        /// What was asked for.
        typed: String,
    },
    /// No such CPU is known.
    #[error("cannot recognise the CPU `{typed}`")]
    UnknownCpu {
        /// What was asked for.
        typed: String,
        /// The name that was perhaps meant.
        near: Option<String>,
    },
}
