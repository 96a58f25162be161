//! Arguments of `cpudyno info`.

use clap::Args;

use super::Output;

/// Print what the machine says of itself: CPU, topology, caches, memory, frequencies, idle states.
///
/// Nothing is measured and nothing is changed: frequencies are those that the machine claims. As
/// root more is known, since registers need it. What is not known and can be helped comes last;
/// `-v` prints everything, with the reason for each absence.
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
  cpudyno info --format markdown       for a ticket; names no host, no serial number
  cpudyno info --machine sim:2s-56c    what it looks like on a large server
  cpudyno info --root /mnt             another system's files, as far as they say";
