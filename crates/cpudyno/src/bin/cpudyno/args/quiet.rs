//! Arguments of `cpudyno quiet`.

use std::ffi::OsString;

use clap::Args;
use levers::ask::SettingSpec;

use super::settings::{Asked, Changing, asked};

/// Run a command and show what disturbed it.
///
/// The report says whether the result of the command can be trusted. It covers other programs, the
/// hypervisor, quotas, heat, power limits, CPUs that were taken away, and the clock: under load right before
/// and right after the command, and by hardware counters meanwhile, where they can be read. A key of the machine
/// (`cpudyno key`) is taken before and after: a command that began on a machine and ended on one that is no longer
/// comparable has no result that can be compared.
///
/// Settings are made before the command starts and restored after it, also after Ctrl-C or when the command
/// fails. Without settings, nothing is changed. A setting that cannot be made is reported, and the command
/// runs all the same; with --strict it does not.
///
/// The command has the terminal, standard input and standard output; its exit code is passed on. The report
/// goes to standard error; --json and --html write it to files.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct QuietArgs {
    /// Settings to make while the command runs, or plans, as for `cpudyno set`.
    #[arg(value_parser = asked, value_name = "SETTING[@CPUS]=VALUE")]
    pub(crate) settings: Vec<Asked<SettingSpec>>,

    /// Do not run the command unless every setting was made.
    #[arg(long)]
    pub(crate) strict: bool,

    /// Show what would be set; run nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Take no key of the machine before and after: each takes 2 s of one core.
    #[arg(long)]
    pub(crate) no_key: bool,

    #[command(flatten)]
    pub(crate) changing: Changing,

    /// Command to run, after `--`.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno quiet -- make bench                                only watch
  sudo cpudyno quiet governor=performance no_turbo=on -- ./bench
  sudo cpudyno quiet @latency -- ./server-test               a plan: cpudyno settings --plans
  sudo cpudyno quiet cpu_dma_latency=20 -- ./server-test     a limit while it runs
  cpudyno quiet --json noise.json -- ./bench > result.txt
  cpudyno quiet governor=performance --dry-run -- ./bench    what would be set

Exit codes: that of the command; 128 plus the signal that ended it; 126 it cannot be executed;
127 there is no such command; 4 a setting was refused, with --strict.";
