//! Arguments of `cpudyno key`.

use std::path::PathBuf;

use clap::Args;
use model::{CpuSet, Seconds};

use super::BadValue;
use super::common::{Measuring, budget, cpu_list, long_budget};

/// Show by behaviour which machine this is, and how it is now.
///
/// Three seconds of one core: latencies of instructions and caches, clock, where the last-level cache ends, memory, a
/// line from core to core, and what takes CPUs away; beside it what the machine says of itself. A last-level cache that
/// the kernel lists for cores between which a line takes too long is refuted. The first line is the key: short, ASCII,
/// the same order always.
///
/// --compare holds it against an earlier key or record: is it the same kind of machine, and is it as it was? What a
/// machine is (its claims, cycles of instructions and caches) makes its kind; clock, caches, memory, placement and lost
/// time may move by a stated band beyond noise.
///
/// Exit codes of --compare: 0 comparable; 1 not; 3 cannot tell.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct KeyArgs {
    /// Time limit of the run (1s to 1h).
    #[arg(long, default_value = "3s", value_parser = budget, value_name = "TIME")]
    pub(crate) budget: Seconds,

    /// CPUs to measure, such as 0-3,8; by default one of each core.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// Compare with an earlier key, or the key of a record: a file of --json, or of --line --format json.
    ///
    /// Of several keys, one a line, the last counts; of a record of quiet or ab the key after the command.
    #[arg(long, value_name = "FILE")]
    pub(crate) compare: Option<PathBuf>,

    /// Print one line: the key, or the verdict of --compare; with --format json that as JSON.
    #[arg(long)]
    pub(crate) line: bool,

    /// Take a key again and again for so long (10s to 24h): how much does this machine vary?
    ///
    /// The page grades clock, latency and reads of memory, usable cache and lost time. Each key takes the time and the CPUs
    /// of --budget and --cpus. Ctrl-C ends it early; what was seen stands.
    #[arg(long, value_parser = watch, value_name = "TIME", conflicts_with_all = ["compare", "line", "dry_run"])]
    pub(crate) watch: Option<Seconds>,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

fn watch(text: &str) -> Result<Seconds, BadValue> {
    const LEAST: Seconds = Seconds(10.0);
    let time = long_budget(text)?;
    if time < LEAST {
        return Err(BadValue::new("expected a time from 10s to 24h", "such as --watch 10m"));
    }
    Ok(time)
}

const EXAMPLES: &str = "\
Examples:
  cpudyno key                                    what this machine is, in 3 s
  cpudyno key --line --format json > key.json    one line of JSON, for a dashboard
  cpudyno key --compare key.json                 is it the same machine, as it was?
  cpudyno key --compare key.json --line || exit  before a benchmark in CI
  cpudyno key --watch 10m                        how much it varies, with a grade
  cpudyno key --json today.json                  the record, with every sample";
