//! Arguments of `cpudyno quiet`.

use std::ffi::OsString;

use clap::Args;

use super::settings::{Changing, Wanted, asked};

/// Run a command while the machine is watched: can its result be trusted?
///
/// What is asked for is set before the command starts and put back after it has ended, also after Ctrl-C or
/// when the command fails; without settings nothing is changed. The command has the terminal, standard
/// input and output for itself, and its exit code is passed on; the report is printed on standard error,
/// --json and --html write it to files.
///
/// Watched are other programs, the hypervisor, quotas, heat, limits of power, CPUs that were taken away, and
/// the clock: under load right before the command and right after it, and by the hardware's counters
/// meanwhile, where they can be read. A setting that cannot be made here is reported, and the command runs
/// all the same; with --strict it does not.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct QuietArgs {
    /// What to set meanwhile, as for `cpudyno set`; `cpudyno settings` lists what there is.
    #[arg(value_parser = asked, value_name = "SETTING[@CPUS]=VALUE")]
    pub(crate) settings: Vec<Wanted>,

    /// Do not run the command unless every setting was made.
    #[arg(long)]
    pub(crate) strict: bool,

    /// Say what would be set, and run nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) changing: Changing,

    /// The command.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno quiet -- make bench                       only watch
  sudo cpudyno quiet governor=performance no_turbo=on -- ./bench
  sudo cpudyno quiet cpu_dma_latency=20 -- ./server-test     a limit for as long as it runs
  cpudyno quiet --json noise.json -- ./bench > result.txt
  cpudyno quiet governor=performance --dry-run -- ./bench    what would be set

Exit codes: the command's own; 128 and the number of the signal that ended it; 126 it cannot be executed,
127 there is no such command; 4 a setting was refused, with --strict.";
