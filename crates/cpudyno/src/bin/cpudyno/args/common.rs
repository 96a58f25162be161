//! Arguments that several commands share.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use kernels::StreamRow;
use model::name::did_you_mean;
use model::{CpuSet, Seconds};

use super::{BadValue, StartArgs};

/// How a record is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The page, for a terminal.
    Text,
    /// The whole record; docs/reference/record.schema.json describes it.
    Json,
    /// One line per sample.
    Csv,
    /// The page, for a ticket.
    Markdown,
    /// The page to forward, as one file that holds the record and needs no network.
    Html,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How text looks.
#[derive(Debug, Clone, Args)]
pub(crate) struct PresentationArgs {
    /// Output format.
    #[arg(long, global = true, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    pub(crate) format: Format,

    /// Columns of text (40 to 400); by default those of the terminal, or 100.
    #[arg(long, global = true, value_parser = width, value_name = "COLUMNS")]
    pub(crate) width: Option<u16>,

    /// Use of colours; the text is complete without them.
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub(crate) color: Colour,

    /// Also print notes, sources, and every fact, condition and instrument.
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,

    /// Print every section, not only the answer.
    #[arg(long, global = true)]
    pub(crate) all: bool,
}

/// Files that the record goes to.
#[derive(Debug, Clone, Args)]
pub(crate) struct Files {
    /// Also write the record to this file as JSON; `-` prints it instead.
    ///
    /// In a folder, which is there or whose name ends in `/`, the file is named by host and time, as `cpudyno fleet`
    /// reads it: HOST_20260131T120000Z.json.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Also write the page to this file as HTML; `-` prints it instead.
    ///
    /// The file holds the record and needs no network.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// Where the record goes, and how it looks.
#[derive(Debug, Clone, Args)]
pub(crate) struct Output {
    #[command(flatten)]
    pub(crate) files: Files,

    #[command(flatten)]
    pub(crate) look: PresentationArgs,
}

/// What every measurement takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Measuring {
    /// Show what would be measured, what not and why; measure nothing.
    #[arg(long, global = true, conflicts_with = "html")]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) start: StartArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// A stream that was asked for.
#[derive(Clone, Copy)]
pub(crate) struct Stream(pub(crate) &'static StreamRow);

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.id)
    }
}

pub(super) fn stream(id: &str) -> Result<Stream, BadValue> {
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

pub(super) fn cpu_list(list: &str) -> Result<CpuSet, BadValue> {
    const HINT: &str =
        "a list of CPUs looks like 0-3,8; without --cpus one CPU of each core is used";
    let cpus: CpuSet = list
        .parse()
        .map_err(|error: model::cpus::CpuListError| BadValue::new(error.to_string(), HINT))?;
    if cpus.is_empty() { Err(BadValue::new("the list names no CPU", HINT)) } else { Ok(cpus) }
}

/// More threads than any machine has.
pub(super) const THREADS_MAX: usize = 1 << 20;

/// A number of threads or CPUs.
pub(super) fn count(text: &str) -> Result<usize, BadValue> {
    counted(text, "give one number, such as 4; --cpus takes ranges of CPUs")
}

/// One of several numbers of threads.
pub(super) fn one_of_counts(text: &str) -> Result<usize, BadValue> {
    counted(text, "give numbers one by one, such as 1,2,4; --cpus takes ranges of CPUs")
}

/// A number of threads or CPUs; who typed a range wants to know what is taken instead.
fn counted(text: &str, instead: &str) -> Result<usize, BadValue> {
    match text.parse::<usize>() {
        Ok(count) if (1..=THREADS_MAX).contains(&count) => Ok(count),
        _ => {
            let is_range = text.starts_with(char::is_numeric) && text.contains(['-', ',', ':']);
            let known = "`cpudyno info` says how many CPUs and cores there are";
            let hint = if is_range { instead } else { known };
            Err(BadValue::new("expected a number of at least 1", hint))
        }
    }
}

/// Columns of text.
fn width(text: &str) -> Result<u16, BadValue> {
    whole(text, 40..=400, "such as --width 100; by default it is as wide as the terminal")
        .map(|columns| columns as u16)
}

/// A whole number in a range.
pub(super) fn whole(
    text: &str,
    range: RangeInclusive<u64>,
    hint: &'static str,
) -> Result<u64, BadValue> {
    text.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
        let (least, most) = (range.start(), range.end());
        BadValue::new(format!("expected a number from {least} to {most}"), hint)
    })
}

/// The time that a run may take.
pub(super) fn budget(text: &str) -> Result<Seconds, BadValue> {
    time(text, 1, "give it a number with a unit: --budget 30s")
}

/// The time that a comparison may take: settings that move power are held.
pub(super) fn long_budget(text: &str) -> Result<Seconds, BadValue> {
    time(text, 24, "give it a number with a unit: --budget 60s")
}

/// The time that a test is held.
pub(super) fn duration(text: &str) -> Result<Seconds, BadValue> {
    time(text, 1, "give it a number with a unit: --duration 30s")
}

/// The time that settings are held.
pub(super) fn hold(text: &str) -> Result<Seconds, BadValue> {
    time(text, 24, "give it a number with a unit: --for 10m")
}

/// The time that a stream is sustained.
pub(super) fn sustained(text: &str) -> Result<Seconds, BadValue> {
    time(text, 1, "give it a number with a unit: --sustain 60s")
}

/// A period of a duty cycle.
pub(super) fn period(text: &str) -> Result<Seconds, BadValue> {
    match with_unit(text) {
        Some(seconds) if (0.5e-3..=0.1).contains(&seconds) => Ok(Seconds(seconds)),
        _ => Err(BadValue::new(
            "expected a time from 0.5 ms to 100 ms",
            "give it a number with a unit: --period 5ms",
        )),
    }
}

/// The seconds of a time such as `1.5s` or `1min 30s`.
pub(super) fn with_unit(text: &str) -> Option<f64> {
    /// No such time has more; humantime 2.4.0 panics where units add up to 2^64 seconds.
    const DIGITS_MAX: usize = 15;
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let parsed = (digits <= DIGITS_MAX).then(|| humantime::parse_duration(text).ok());
    parsed.flatten().map(|time| time.as_secs_f64())
}

/// A bare number is seconds.
pub(super) fn seconds(text: &str) -> Option<f64> {
    text.parse().ok().or_else(|| with_unit(text))
}

/// A time of a second, up to so many hours.
pub(super) fn time(text: &str, hours: u32, hint: &str) -> Result<Seconds, BadValue> {
    match seconds(text) {
        Some(seconds) if (1.0..=f64::from(hours) * 3600.0).contains(&seconds) => {
            Ok(Seconds(seconds))
        }
        _ => {
            let expected = format!("expected a time from 1s to {hours}h, such as 10s or 2m");
            Err(BadValue::new(expected, hint))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{budget, hold, period, sustained};
    use model::Seconds;

    #[test]
    fn budgets_have_units_and_bounds() {
        const BEYOND: &str = "18446744073709551615s 1000000000ns";
        assert_eq!(budget("30s"), Ok(Seconds(30.0)));
        assert_eq!(budget("2m"), Ok(Seconds(120.0)));
        assert_eq!(budget("1500ms"), Ok(Seconds(1.5)));
        assert_eq!(budget("1min 30.5s"), Ok(Seconds(90.5)));
        assert_eq!(budget("30"), Ok(Seconds(30.0)));
        for bad in ["0", "NaN", "inf", "0s", "-5s", "2h", "soon", "", "1e9s", "NaNs", BEYOND] {
            assert!(budget(bad).is_err(), "{bad}");
        }
        assert_eq!(hold("24h"), Ok(Seconds(86_400.0)));
        assert_eq!(hold("1.5h"), hold("1h 30m"));
        assert!(hold("25h").is_err() && hold("0.5s").is_err());
        assert_eq!(sustained("60s"), Ok(Seconds(60.0)));
        assert_eq!(period("5ms"), Ok(Seconds(5e-3)));
        assert_eq!(period("0.5ms"), Ok(Seconds(0.5e-3)));
        for bad in ["5", "0ms", "1s", "-5ms", ""] {
            assert!(period(bad).is_err(), "{bad}");
        }
    }
}
