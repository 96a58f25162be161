//! Arguments of `cpudyno history`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use model::Seconds;

use super::BadValue;
use super::common::{Measuring, Output, budget};
use super::compare::worse_by;

/// Find since when this machine is slower, and what changed.
///
/// Takes the runs that `cpudyno history add` keeps: a line for each run, with what changed (kernel, microcode,
/// firmware, settings, memory) and the results whose level moved by more than noise. A level is judged over all runs, not
/// by the last two. One new run moves no level: it is said to stand apart until another one confirms it.
///
/// Exit codes of --fail-on: 1 a result is slower by more than SHARE; 3 there are too few runs.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct HistoryArgs {
    #[command(subcommand)]
    pub(crate) command: Option<HistoryCommand>,

    /// Show the newest runs only, so many (4 to 10,000).
    #[arg(long, value_parser = runs, value_name = "N")]
    pub(crate) last: Option<usize>,

    /// Exit with 1 if a result is slower than in the first run shown by more than SHARE: slower:5%.
    #[arg(long, value_parser = worse_by, value_name = "slower:SHARE")]
    pub(crate) fail_on: Option<f64>,

    #[command(flatten)]
    pub(crate) store: StoreArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HistoryCommand {
    Add(HistoryAddArgs),
}

/// Measure this machine and keep the run in its history.
///
/// Takes ten seconds, and keeps at most 32 kB: facts and results, no samples. `cpudyno-boot.service` does this after each
/// start of the system, once it is enabled. All cores are fully loaded meanwhile. Nothing on the machine is changed.
#[derive(Debug, Args)]
#[command(after_long_help = ADD_EXAMPLES)]
pub(crate) struct HistoryAddArgs {
    /// Keep the runs of these records instead of measuring.
    #[arg(value_name = "RECORD", conflicts_with_all = ["budget", "dry_run", "json", "html"])]
    pub(crate) records: Vec<PathBuf>,

    /// Time limit of the run (1s to 1h); it may end earlier.
    #[arg(long, default_value = "10s", value_parser = budget, value_name = "TIME")]
    pub(crate) budget: Seconds,

    #[command(flatten)]
    pub(crate) store: StoreArgs,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

/// Where a history is kept.
#[derive(Debug, Clone, Args)]
pub(crate) struct StoreArgs {
    /// Name the file of the history; by default one for root, and one for each user.
    ///
    /// Root's is /var/lib/cpudyno/history, which others may read; a user's is ~/.local/state/cpudyno/history. A user
    /// who has none sees root's. Beside it is the former one, once it is full.
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno history                              what changed, and what it cost
  cpudyno history --last 10 --fail-on slower:5%    for a script
  cpudyno history --format json                the numbers of each run
  sudo systemctl enable cpudyno-boot           from now on at each start";

const ADD_EXAMPLES: &str = "\
Examples:
  cpudyno history add                          measure for ten seconds
  cpudyno history add --json records/          and keep the whole record, too
  cpudyno history add records/*.json           what was measured before";

fn runs(text: &str) -> Result<usize, BadValue> {
    let count = text.trim().parse().ok().filter(|count| (4..=10_000).contains(count));
    count.ok_or_else(|| BadValue::new("not a number of runs from 4 to 10,000", "such as --last 10"))
}
