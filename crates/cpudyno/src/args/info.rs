//! Arguments of `cpudyno info`.

use std::path::PathBuf;

use clap::Args;

use super::Look;

/// Print what the machine says of itself: CPU, topology, caches, memory, frequencies, idle states.
///
/// Nothing is measured and nothing is changed. As root more is known: registers need it. What is not
/// known comes last, with the reason and what helps.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct InfoArgs {
    /// Also write the record to this file, as JSON; `-` prints it instead of the page.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) look: Look,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno info                           this machine
  sudo cpudyno info -v                   with registers, every fact and every CPU
  cpudyno info --format markdown         for a ticket; no host name and no serial number is in it
  cpudyno info --machine sim:2s-56c      what it looks like on a large server (SIMULATED)";
