//! Arguments of `cpudyno compare`.

use std::path::PathBuf;

use clap::Args;

use super::{BadValue, Output};

/// Hold records against the first of them: which settings differ, which results, and what may be the
/// cause.
///
/// Settings come first, because they explain most differences. A result is better or worse where the 95 %
/// intervals of both runs (94 % of five blocks) lie apart, and more than 1 % may be between them. Intervals come from the spread
/// within each run: what changed between the runs is in none. Of hundreds of results a few would differ by
/// chance: so many are held back that no more than 5 % of those told are such. `cpudyno ab` compares settings of one machine in turns.
///
/// The exit code is 1 where --fail-on says so, and 3 where no result of one of the other records could be judged.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CompareArgs {
    /// Records, as `--json FILE` writes them, pages of `--html FILE`, or matrices by core-to-core-latency; the first
    /// is what the others are held against.
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    pub(crate) records: Vec<PathBuf>,

    /// Exit with 1 where the intervals say that a result is worse by more than this: slower:5%.
    #[arg(long, value_parser = worse_by, value_name = "slower:SHARE")]
    pub(crate) fail_on: Option<f64>,

    #[command(flatten)]
    pub(crate) output: Output,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno compare monday.json today.json       what changed since
  cpudyno compare good.json bad.json -v        every result, also those that are the same
  cpudyno compare good.json bad.json --format markdown     for a ticket
  cpudyno compare base.json new.json --fail-on slower:5%   for a script";

/// `slower:5%` as 0.05.
fn worse_by(text: &str) -> Result<f64, BadValue> {
    const HINT: &str = "such as --fail-on slower:5%";
    let refused = || BadValue::new("not of the form slower:SHARE", HINT);
    let share = text.strip_prefix("slower:").ok_or_else(refused)?;
    let percent = share.strip_suffix('%').ok_or_else(refused)?.trim();
    let percent: f64 = percent.parse().map_err(|_| refused())?;
    if !(0.0..=1000.0).contains(&percent) {
        return Err(BadValue::new("a share is 0% to 1000%", HINT));
    }
    Ok(percent / 100.0)
}
