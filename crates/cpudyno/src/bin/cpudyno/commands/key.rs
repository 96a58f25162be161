//! `cpudyno key`.

use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use fleet::key::{self, KeyVerdict, NoKey};
use machine::Machine;
use model::Seconds;
use model::record::{MachineKey, PageKind, Record};

use super::keys::Keys;
use super::measuring::{EndingSignal, Prepared, ended, ending, measured, outline, prepared};
use super::show::{refused, text};
use super::{Delivery, command, json, presentation, unrecorded};
use crate::args::{Format, KeyArgs};
use crate::failure::{Failure, code};
use crate::output;
use crate::signals::Signals;

pub(super) fn run(machine: &Machine, args: KeyArgs) -> Result<ExitCode, Failure> {
    let KeyArgs { budget, cpus, compare, line, watch, measuring } = args;
    if let Some(file) = &compare {
        output::spare(
            std::slice::from_ref(file),
            &[
                ("--json", measuring.output.files.json.as_deref()),
                ("--html", measuring.output.files.html.as_deref()),
            ],
        )?;
    }
    let files = &measuring.output.files;
    let is_record =
        [&files.json, &files.html].into_iter().flatten().any(|file| *file == Path::new("-"));
    if is_record && (line || compare.is_some()) {
        return Err(Failure::usage(
            "`-` is the record in place of the page, and a line or a comparison is none",
        )
        .hint(
            "write the record to a file: --json FILE; or print the other as JSON: --format json",
        ));
    }
    let Prepared { dry_run, start, sinks, look } = prepared(measuring)?;
    let is_told = match look.format {
        Format::Text | Format::Json => true,
        Format::Markdown | Format::Html => !line,
        Format::Csv => !line && compare.is_none(),
    };
    if !is_told {
        return Err(Failure::usage(
            "a line is text or JSON, and a comparison is no table of samples",
        )
        .hint("leave --format out, or take --format json"));
    }
    // What cannot be read is said before anything is measured.
    let earlier = compare.as_deref().map(earlier).transpose()?;
    let presentation = presentation(&look, PageKind::Key);
    let request = measure::key::request(budget, cpus.clone(), command(), presentation);
    if dry_run {
        return outline(machine, &request, (look.format, sinks));
    }
    let signals = Signals::listen()?;
    let turn = start.turn(machine, &signals)?;
    let (mut record, mut signal) = measured(machine, &request, &signals, &turn)?;
    if let Some(time) = watch {
        let mut keys = Keys::like(budget, cpus);
        watched(machine, &mut keys, time, &signals);
        record.keys = std::iter::once(key::of(&record)).chain(keys.all()).collect();
        signal = signals.came();
    }
    let delivery = Delivery::of(&record);
    let written = delivery.write(sinks);
    let done = match earlier {
        Some(earlier) => compared(&record, &earlier, line, look.format).map(Some),
        None if line => told(&record, look.format).map(|()| None),
        None => output::data(&delivery.told(look.format)?).map(|()| None),
    };
    written?;
    Ok(exit(&record, signal, done?))
}

/// Takes keys from now on, until that time is over or a signal comes.
fn watched(machine: &Machine, keys: &mut Keys, time: Seconds, signals: &Signals) {
    /// So many tell how much a machine varies; of a day one every twelve minutes.
    const MOST: f64 = 120.0;
    let until = Instant::now() + Duration::from_secs_f64(time.0);
    let bar = output::progress_bar();
    let mut left = time.0;
    let every = Duration::from_secs_f64((time.0 / MOST).max(2.0));
    while left > 0.0 && !signals.stop().asked() {
        let next = Instant::now() + every;
        keys.take(machine, signals.stop());
        // No time passes on a simulated machine.
        left = match machine.simulated {
            Some(_) => left - every.as_secs_f64(),
            None => until.saturating_duration_since(Instant::now()).as_secs_f64(),
        };
        bar.set_position(((1.0 - left / time.0) * 1000.0) as u64);
        bar.set_message("watching");
        while machine.simulated.is_none()
            && Instant::now() < next.min(until)
            && !signals.stop().asked()
        {
            thread::sleep(Duration::from_millis(50));
        }
    }
    bar.finish_and_clear();
}

/// A verdict stands, whatever could be measured.
fn exit(record: &Record, signal: Option<EndingSignal>, verdict: Option<KeyVerdict>) -> ExitCode {
    match verdict {
        _ if signal.is_some() => ending(signal),
        None => ended(record, ExitCode::SUCCESS),
        Some(KeyVerdict::Yes) => ExitCode::SUCCESS,
        Some(KeyVerdict::No) => ExitCode::from(code::NO),
        Some(KeyVerdict::CannotTell) => ExitCode::from(code::NOT_HERE),
    }
}

/// The key alone, in one line.
fn told(record: &Record, format: Format) -> Result<(), Failure> {
    let key = key::of(record);
    output::data(&match format {
        Format::Json => json(serde_json::to_string(&key))?,
        _ => key.line + "\n",
    })
}

/// The key beside an earlier one.
fn compared(
    record: &Record,
    earlier: &MachineKey,
    line: bool,
    format: Format,
) -> Result<KeyVerdict, Failure> {
    let comparison = key::compare(earlier, &key::of(record));
    output::data(&match format {
        Format::Json => json(serde_json::to_string(&comparison))?,
        Format::Text if line => key::page::line(&comparison) + "\n",
        format => {
            let page = key::page::compared(&comparison);
            unrecorded("a comparison", &page, format, record.run.presentation)?
        }
    })?;
    Ok(comparison.verdict)
}

/// The key in a file.
fn earlier(file: &Path) -> Result<MachineKey, Failure> {
    let mut buffer = Vec::new();
    let text = text(file, &mut buffer)?;
    key::read(&text).map_err(|error| match error {
        NoKey::Record(error) => refused(file, &text, &error),
        error @ NoKey::OtherMajor(_) => {
            Failure::usage(format!("cannot read `{}`: {error}", file.display()))
                .hint("another version of cpudyno wrote it; compare with that one")
        }
        error => Failure::usage(format!("cannot read `{}`: {error}", file.display()))
            .hint("`cpudyno key --line --format json` writes a key"),
    })
}
