//! Arguments of `cpudyno show`.

use std::path::PathBuf;

use clap::Args;

use super::Output;

/// Print a record again.
///
/// The text is that of the live run, byte for byte, if width, colour and verbosity are the same. Width and
/// verbosity come from the record, unless given here.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ShowArgs {
    /// Record to print; `-` reads standard input.
    ///
    /// A file of --json or --html, or a matrix of core-to-core-latency.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) output: Output,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno show run.json                       the text again
  cpudyno show run.json -v --width 160        with notes, and in more columns
  cpudyno show run.json --html run.html       as a page
  ssh node cpudyno sheet --json - | cpudyno show -    another machine's";
