//! Arguments of `cpudyno pmu`.

mod counting;

pub(crate) use counting::{AskedEvents, PmuKernel, PmuKernelArgs, PmuStatArgs};

use clap::{Args, Subcommand};

/// Count events of the CPU's performance monitoring unit.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct PmuArgs {
    #[command(subcommand)]
    pub(crate) command: PmuCommand,
}

/// The sub-commands, in the order of their help.
#[derive(Debug, Subcommand)]
pub(crate) enum PmuCommand {
    Stat(PmuStatArgs),
    Kernel(PmuKernelArgs),
}

const EXAMPLES: &str = "\
Examples:
  cpudyno pmu stat -- make -j4                      count a command and all that it starts
  cpudyno pmu kernel checksum                       compare checksum routines, by byte and packet
  cpudyno pmu kernel loop -e 'retired.*all_branches$'";
