/// Why there is no machine of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no such simulated machine.
    #[error(transparent)]
    Simulated(#[from] simulated::Error),
    /// It does not begin with `sim:`, so it is the file of a capture.
    #[error("cannot read machine `{name}`: {why}")]
    Unread {
        /// The file.
        name: String,
        /// What came of opening it.
        why: String,
        /// The simulated machine whose name is most like it.
        suggestion: Option<&'static str>,
    },
    /// The text is no capture, or a broken one.
    #[error("cannot use capture `{name}`, line {line}: {why}")]
    Broken {
        /// The file.
        name: String,
        /// The line, counted from 1.
        line: usize,
        /// What was expected, and what was found.
        why: String,
    },
}
