//! Machines recorded as a text: one file per machine, made by `cpudyno capture`.

use std::path::Path;

use crate::error::Error;
use crate::ports::Machine;

/// The machine of a capture.
pub(crate) fn open(path: &Path) -> Result<Machine, Error> {
    Err(Error::Capture { name: path.display().to_string() })
}
