/// Why a folder does not hold the files of a machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot use folder `{name}`: {why}")]
pub struct Error {
    /// The folder.
    pub name: String,
    /// What came of opening it.
    pub why: String,
}
