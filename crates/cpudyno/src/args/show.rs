//! Arguments of `cpudyno show`.

use std::path::PathBuf;

use clap::Args;

use super::Output;

/// Print a record again, as the live run printed it.
///
/// The text is the same byte for byte when width, colour and verbosity are; width and verbosity are
/// taken from the record unless given here.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The record, as written by `--json FILE`, the page that `--html FILE` wrote, or a matrix by
    /// core-to-core-latency; `-` reads standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) output: Output,
}
