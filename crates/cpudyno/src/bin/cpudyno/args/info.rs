//! Arguments of `cpudyno info`.

use clap::Args;

use super::Output;

/// Show what the machine says of itself.
///
/// CPU, topology, caches, memory, frequencies, idle states. Nothing is measured and nothing is changed:
/// frequencies are claims of the machine. Root sees more, because registers need it. Facts that are missing
/// and can be helped come last; `-v` prints everything, with the reason for each absence.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    pub(crate) output: Output,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno info                         this machine
  sudo cpudyno info -v                 with registers, every fact and every CPU
  cpudyno info --format markdown       for a ticket, without host name and serial numbers
  cpudyno info --machine sim:2s-56c    a large server (SIMULATED)
  cpudyno info --root /mnt             another system, as far as its files say";
