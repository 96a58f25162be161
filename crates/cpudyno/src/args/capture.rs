//! Arguments of `cpudyno capture`.

use std::path::PathBuf;

use clap::Args;

/// Write what this machine answers to a text file, so that it can be looked at elsewhere.
///
/// Host names, serial numbers, user names and addresses are left out; the file is text, so look at
/// it before you pass it on. `--machine FILE` replays it in `info` and `doctor`.
#[derive(Debug, Args)]
pub(crate) struct CaptureArgs {
    /// The file to write; `-` prints it.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}
