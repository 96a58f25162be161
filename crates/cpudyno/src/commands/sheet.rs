//! `cpudyno sheet`.

use std::process::ExitCode;

use bench::rig::executor::RunError;
use bench::sheet::{Progress, Request, SheetError};
use machine::Machine;
use model::record::PageKind;

use super::{command, presentation, render, sink, text};
use crate::args::{Format, SheetArgs, Stream};
use crate::failure::{Failure, code};
use crate::output;
use crate::signals::Signals;

pub(super) fn run(machine: &Machine, args: SheetArgs) -> Result<ExitCode, Failure> {
    let SheetArgs { budget, cpus, streams, dry_run, json, mut look } = args;
    let sink = sink(json.as_deref(), &mut look)?;
    let request = Request {
        budget,
        cpus,
        streams: streams.map(once_each),
        command: command(),
        presentation: presentation(&look, PageKind::Sheet),
    };
    if dry_run {
        return outline(machine, &request, look.format);
    }

    let signals = Signals::listen()?;
    let bar = output::progress_bar();
    let mut tell = |progress: Progress<'_>| {
        bar.set_position((progress.share * 1000.0) as u64);
        bar.set_message(progress.doing.to_owned());
    };
    let measured = bench::sheet::measure(machine, &request, signals.stop(), &mut tell);
    bar.finish_and_clear();
    let mut record = measured.map_err(refused)?;
    let signal = signals.came();
    if let (Some((_, name)), Some(why)) = (signal, &mut record.run.interrupted) {
        *why = format!("stopped by {name}");
    }

    let written = match sink {
        Some(sink) => sink.write(&render(&record, Format::Json, request.presentation)?),
        None => Ok(()),
    };
    // Also when the file could not be written: the time to measure was spent already.
    output::data(&render(&record, look.format, request.presentation)?)?;
    written?;
    Ok(signal.map_or(ExitCode::SUCCESS, |(number, _)| ExitCode::from(128 + number as u8)))
}

/// What would be measured.
fn outline(machine: &Machine, request: &Request, format: Format) -> Result<ExitCode, Failure> {
    let page = bench::sheet::outline(machine, request).map_err(refused)?;
    let printed = match format {
        Format::Text => text(&page, request.presentation),
        Format::Markdown => views::markdown::render(&page),
        Format::Json | Format::Csv => {
            return Err(Failure::usage("what --dry-run prints is no record")
                .hint("print it as text or markdown: --format markdown"));
        }
    };
    output::data(&printed)?;
    Ok(ExitCode::SUCCESS)
}

/// Streams that were asked for twice, or by id and alias, are measured once.
fn once_each(asked: Vec<Stream>) -> Vec<&'static kernels::StreamRow> {
    let mut rows: Vec<&'static kernels::StreamRow> = Vec::new();
    for Stream(row) in asked {
        if !rows.iter().any(|known| known.id == row.id) {
            rows.push(row);
        }
    }
    rows
}

fn refused(error: SheetError) -> Failure {
    let text = error.to_string();
    match error {
        SheetError::Cpus { usable, .. } => {
            Failure::usage(text).hint(format!("choose among --cpus {usable}"))
        }
        SheetError::Unavailable(reason) => Failure {
            code: code::NOT_HERE,
            message: format!("cannot measure {text}"),
            hint: reason.remedy,
        },
        SheetError::Run(RunError::WrongAnswer(_)) => Failure::new(code::BUG, text)
            .hint("please report it: a kernel computed something wrong, so its time means nothing"),
        SheetError::Run(RunError::Pin { .. } | RunError::Spawn { .. }) => {
            Failure::new(code::NOT_HERE, text).hint("name CPUs that stay online: --cpus 0")
        }
        SheetError::Run(RunError::Interrupted) => Failure::new(code::NOT_HERE, text),
    }
}
