//! Arguments of `cpudyno compare`.

use std::path::PathBuf;

use clap::Args;

use super::{BadValue, Output};

/// Compare records: settings, results, likely causes.
///
/// All records are compared with the first. Settings come first, because they explain most differences. A
/// result is better or worse where the 95 % intervals of both runs (94 % of five blocks) lie apart, and the
/// difference may be more than 1 %. Intervals come from the spread within each run; changes between the runs
/// are in none. Of hundreds of results a few would differ by chance; the page holds back so many that at most
/// 5 % of those shown do. `cpudyno ab` compares settings of one machine in turns.
///
/// Exit codes of --fail-on: 1 a result is worse by more than SHARE; 3 no result of one of the other records
/// could be judged.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CompareArgs {
    /// Records, two or more; the first is the baseline.
    ///
    /// Files of --json or --html, or matrices of core-to-core-latency; `-` reads standard input.
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    pub(crate) records: Vec<PathBuf>,

    /// Exit with 1 if a result is worse by more than SHARE: slower:5%.
    ///
    /// The intervals must show it.
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
pub(super) fn worse_by(text: &str) -> Result<f64, BadValue> {
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
