//! Arguments of `cpudyno sheet`.

use std::path::PathBuf;

use clap::Args;
use jiff::SignedDuration;
use kernels::StreamRow;
use model::name::did_you_mean;
use model::{CpuSet, Seconds};

use super::{BadValue, Look};

/// Measure this machine now and print its data sheet.
///
/// Runs each instruction stream on one core and on several, in many short blocks spread over the
/// whole run, and prints what was found: the machine in brief, how far the numbers can be trusted,
/// the answer in plain sentences, findings with their remedy, clock and cycles per op by stream and
/// active cores, the duration of a pause, what could not be measured and why.
///
/// All cores are fully loaded meanwhile. Nothing on the machine is changed.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct SheetArgs {
    /// Time that the run may take, such as 10s or 2m; it may end earlier.
    #[arg(long, default_value = "30s", value_parser = budget, value_name = "TIME")]
    pub(crate) budget: Seconds,

    /// Measure exactly these CPUs, such as 0-3,8; by default one CPU of each core.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// Measure only these streams, such as scalar_iadd,avx256_fma; `cpudyno streams` lists them.
    #[arg(long, value_delimiter = ',', value_parser = stream, value_name = "IDS")]
    pub(crate) streams: Option<Vec<Stream>>,

    /// Print what would be measured, what not and why, and measure nothing.
    #[arg(long, conflicts_with = "json")]
    pub(crate) dry_run: bool,

    /// Also write the record to this file, as JSON; `-` prints it instead of the sheet.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) look: Look,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno sheet                          everything, in half a minute
  cpudyno sheet --budget 5s --json r.json    a quick look, and the record of it
  cpudyno show r.json                    the same text again, on any machine
  cpudyno sheet --dry-run                what it would measure, and how long that takes
  cpudyno sheet --machine sim:2s-56c     what it looks like on a large server (SIMULATED)";

/// A stream that was asked for.
#[derive(Clone, Copy)]
pub(crate) struct Stream(pub(crate) &'static StreamRow);

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.id)
    }
}

fn stream(id: &str) -> Result<Stream, BadValue> {
    let id = id.trim();
    kernels::streams::find(id).map(Stream).ok_or_else(|| {
        let ids = kernels::streams::TABLE.iter().map(|row| row.id);
        let hint = match did_you_mean(id, ids) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`cpudyno streams` lists them".to_owned(),
        };
        BadValue::new("no such stream", hint)
    })
}

fn cpu_list(list: &str) -> Result<CpuSet, BadValue> {
    const HINT: &str =
        "a list of CPUs looks like 0-3,8; without --cpus one CPU of each core is used";
    let cpus: CpuSet = list
        .parse()
        .map_err(|error: model::cpus::CpuListError| BadValue::new(error.to_string(), HINT))?;
    if cpus.is_empty() { Err(BadValue::new("the list names no CPU", HINT)) } else { Ok(cpus) }
}

fn budget(text: &str) -> Result<Seconds, BadValue> {
    let seconds = text.parse::<SignedDuration>().map(|duration| duration.as_secs_f64());
    let expected = "expected a time from 1s to 1h, such as 10s or 2m";
    match seconds {
        Ok(seconds) if (1.0..=3600.0).contains(&seconds) => Ok(Seconds(seconds)),
        _ => Err(BadValue::new(expected, "give it a number with a unit: --budget 30s")),
    }
}

#[cfg(test)]
mod tests {
    use super::budget;
    use model::Seconds;

    #[test]
    fn budgets_have_units_and_bounds() {
        assert_eq!(budget("30s"), Ok(Seconds(30.0)));
        assert_eq!(budget("2m"), Ok(Seconds(120.0)));
        assert_eq!(budget("1500ms"), Ok(Seconds(1.5)));
        for bad in ["30", "0s", "-5s", "2h", "soon", "", "1e9s", "NaNs"] {
            assert!(budget(bad).is_err(), "{bad}");
        }
    }
}
