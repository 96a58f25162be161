//! `cpudyno verify`.

use std::process::ExitCode;

use machine::Machine;
use measure::run::{Error, Progress};
use measure::verify::Verifying;
use model::record::{PageKind, Record};

use super::measuring::{ending, refused};
use super::start::Start;
use super::{Delivery, command, presentation, sinks};
use crate::args::{Format, VerifyArgs};
use crate::failure::{Failure, code};
use crate::output;
use crate::signals::Signals;

pub(super) fn run(machine: &Machine, args: VerifyArgs) -> Result<ExitCode, Failure> {
    let VerifyArgs { budget, minutes, cpus, streams, start, output } = args;
    let start = Start::new(start, &output.files);
    let (sinks, look) = sinks(output)?;
    if look.format == Format::Csv {
        return Err(Failure::usage("answers that were compared are no table of samples")
            .hint("print them as text, markdown, html or json: --format json"));
    }
    let workloads = streams.into_iter().map(str::to_owned).collect();
    let verifying = Verifying { budget: minutes.unwrap_or(budget), cpus, workloads };
    let signals = Signals::listen()?;
    let _turn = start.turn(machine, &signals)?;
    let described = machine::describe(machine, command(), presentation(&look, PageKind::Verify));
    let done = verified(machine, &verifying, described, &signals);
    let mut record = done.map_err(|error| signals.of(refused(machine, error)))?;
    let signal = signals.came();
    if let (Some((_, name)), Some(why)) = (signal, &mut record.run.interrupted) {
        *why = format!("stopped by {name}");
    }
    record.digest = Some(fleet::digest::of(&record));
    Delivery::of(&record).deliver(sinks, look.format)?;
    Ok(match &record.verify {
        // What is wrong stays wrong, whoever ended the run.
        Some(run) if !run.wrong.is_empty() => ExitCode::from(code::NO),
        _ if signal.is_some() => ending(signal),
        Some(run) if run.cpus.iter().any(|cpu| cpu.calls > 0) => ExitCode::SUCCESS,
        _ => ExitCode::from(code::NOT_HERE),
    })
}

/// Compares answers, and shows how far it is.
pub(super) fn verified(
    machine: &Machine,
    verifying: &Verifying,
    described: Record,
    signals: &Signals,
) -> Result<Record, Error> {
    let bar = output::progress_bar();
    let mut tell = |progress: Progress<'_>| {
        bar.set_position((progress.share * 1000.0) as u64);
        bar.set_message(progress.doing.to_owned());
    };
    let done = measure::verify::run(machine, verifying, described, signals.stop(), &mut tell);
    bar.finish_and_clear();
    done
}
