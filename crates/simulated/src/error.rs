/// Why there is no simulated machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// None has that name.
    #[error("cannot find simulated machine `{name}`")]
    Unknown {
        /// What was asked for, without `sim:`.
        name: String,
        /// The known name most like it.
        suggestion: Option<&'static str>,
        /// All known names.
        known: String,
    },
    /// The description is wrong.
    #[error("cannot use simulated machine `{file}`: {why}")]
    Broken {
        /// The file of the description.
        file: String,
        /// The key, and what is wrong with it.
        why: String,
    },
}
