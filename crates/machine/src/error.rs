/// Why there is no machine of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No simulated machine has that name.
    #[error("cannot find simulated machine `{name}`")]
    UnknownSimulation {
        /// What was asked for, without `sim:`.
        name: String,
        /// The known name most like it.
        suggestion: Option<&'static str>,
        /// All known names.
        known: String,
    },
    /// It does not begin with `sim:`, so it would be a capture.
    #[error(
        "cannot read machine `{name}`: captures are not readable by this version yet; \
         simulated machines are called `sim:NAME`"
    )]
    Capture {
        /// What was asked for.
        name: String,
    },
    /// The description of a simulated machine is wrong.
    #[error("cannot use simulated machine `{file}`: {why}")]
    BrokenSimulation {
        /// The file of the description.
        file: String,
        /// The key, and what is wrong with it.
        why: String,
    },
}
