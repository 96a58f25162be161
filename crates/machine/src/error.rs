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
    /// It does not begin with `sim:`, so it is the file of a capture.
    #[error("cannot read machine `{name}`: {why}")]
    Capture {
        /// The file.
        name: String,
        /// What came of opening it.
        why: String,
        /// The simulated machine whose name is most like it.
        suggestion: Option<&'static str>,
    },
    /// The text is no capture, or a broken one.
    #[error("cannot use capture `{name}`, line {line}: {why}")]
    BrokenCapture {
        /// The file.
        name: String,
        /// The line, counted from 1.
        line: usize,
        /// What was expected, and what was found.
        why: String,
    },
    /// The folder does not hold the files of a machine.
    #[error("cannot use folder `{name}`: {why}")]
    Folder {
        /// The folder.
        name: String,
        /// What came of opening it.
        why: String,
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
