//! Measuring for any command: progress, signals, the record printed and written.

use std::process::ExitCode;

use machine::Machine;
use measure::run::{Error, Progress, Request};
use model::CpuSet;
use model::page::Block;
use model::record::{CpuPlace, OriginalRun, Record, Series};
use rig::executor::{RunError, Stop};
use rig::placement::Refusal;

use super::start::{Start, Turn};
use super::{Delivery, Sinks, broken, launch, settings, sinks, unrecorded};
use crate::args::{Format, Measuring, PresentationArgs};
use crate::failure::{Failure, code};
use crate::output;
use crate::signals::Signals;

/// The number and the name of the signal that ended a run.
pub(super) type EndingSignal = (i32, &'static str);

/// What every measurement was asked for with.
pub(super) struct Prepared {
    pub(super) dry_run: bool,
    pub(super) start: Start,
    pub(super) sinks: Sinks,
    pub(super) look: PresentationArgs,
}

/// Opens the files that the record goes to.
pub(super) fn prepared(measuring: Measuring) -> Result<Prepared, Failure> {
    let Measuring { dry_run, start, output } = measuring;
    let start = Start::new(start, &output.files);
    let (sinks, look) = sinks(output)?;
    Ok(Prepared { dry_run, start, sinks, look })
}

/// Measures, and prints and writes the record.
pub(super) fn measure(
    machine: &Machine,
    request: &Request,
    output: (Format, Sinks),
    start: &Start,
) -> Result<ExitCode, Failure> {
    measure_after(machine, request, output, start, |_, _| Ok(None))
}

/// The same after something else, which goes into the record, too.
pub(super) fn measure_after(
    machine: &Machine,
    request: &Request,
    (format, sinks): (Format, Sinks),
    start: &Start,
    before: impl FnOnce(&Stop, &mut dyn FnMut(&str)) -> Result<Option<OriginalRun>, Failure>,
) -> Result<ExitCode, Failure> {
    let signals = Signals::listen()?;
    let turn = start.turn(machine, &signals)?;
    let bar = output::progress_bar();
    let original = before(signals.stop(), &mut |doing| bar.set_message(doing.to_owned()));
    bar.finish_and_clear();
    let original = original.map_err(|failure| signals.of(failure))?;
    let (mut record, signal) = measured(machine, request, &signals, &turn)?;
    record.original = original;
    let done = tell(&record, signal, (format, sinks))?;
    Ok(ended(&record, done))
}

/// How a run ends that was through: where nothing of what was asked for could be had, the page says why, and scripts see
/// it.
pub(super) fn ended(record: &Record, done: ExitCode) -> ExitCode {
    let is_whole = record.original.is_none() && record.run.interrupted.is_none();
    if is_whole && has_nothing(record) { ExitCode::from(code::NOT_HERE) } else { done }
}

/// Whether none of what areas were to measure has a number.
fn has_nothing(record: &Record) -> bool {
    let own = |series: &&Series| series.area != model::areas::top::AREA;
    record.measured().filter(own).all(|series| series.summary().is_none())
}

/// Prints and writes what was measured.
pub(super) fn tell(
    record: &Record,
    signal: Option<EndingSignal>,
    (format, sinks): (Format, Sinks),
) -> Result<ExitCode, Failure> {
    Delivery::of(record).deliver(sinks, format)?;
    Ok(ending(signal))
}

/// The exit code of a run that was complete, or that a signal ended.
pub(super) fn ending(signal: Option<EndingSignal>) -> ExitCode {
    signal.map_or(ExitCode::SUCCESS, |(number, _)| ExitCode::from(128 + number as u8))
}

/// Measures, for who does more with the record; with the signal that ended it early.
pub(super) fn measured(
    machine: &Machine,
    request: &Request,
    signals: &Signals,
    turn: &Turn,
) -> Result<(Record, Option<EndingSignal>), Failure> {
    attempted(machine, request, signals, turn).map_err(|error| signals.of(refused(machine, error)))
}

/// The same, for who makes something of the error.
pub(super) fn attempted(
    machine: &Machine,
    request: &Request,
    signals: &Signals,
    turn: &Turn,
) -> Result<(Record, Option<EndingSignal>), Error> {
    let bar = output::progress_bar();
    let mut tell = |progress: Progress<'_>| {
        bar.set_position((progress.share * 1000.0) as u64);
        bar.set_message(progress.doing.to_owned());
    };
    let measured = measure::run::measure(machine, request, signals.stop(), &mut tell);
    bar.finish_and_clear();
    let mut record = measured?;
    report::annotate(&mut record);
    let signal = signals.came();
    if let (Some((_, name)), Some(why)) = (signal, &mut record.run.interrupted) {
        *why = format!("stopped by {name}");
    }
    record.machine.facts.extend(launch::facts(turn.names_hosts));
    record.digest = Some(fleet::digest::of(&record));
    Ok((record, signal))
}

/// What would be measured.
pub(super) fn outline(
    machine: &Machine,
    request: &Request,
    output: (Format, Sinks),
) -> Result<ExitCode, Failure> {
    outline_after(machine, request, output, Vec::new())
}

/// The same with what comes before.
pub(super) fn outline_after(
    machine: &Machine,
    request: &Request,
    (format, sinks): (Format, Sinks),
    before: Vec<Block>,
) -> Result<ExitCode, Failure> {
    let outline =
        measure::run::outline(machine, request).map_err(|error| refused(machine, error))?;
    let mut page = report::outline(&outline);
    // After the title and the run in brief.
    let at = page.blocks.len().min(2);
    page.blocks.splice(at..at, before);
    let told = |format| match format {
        Format::Json => views::json::outline(&outline).map_err(|error| broken(&error)),
        _ => unrecorded("what --dry-run prints", &page, format, request.presentation),
    };
    sinks.write(told)?;
    output::data(&told(format)?)?;
    Ok(ExitCode::SUCCESS)
}

/// What was asked for twice, or by id and alias, is measured once.
pub(super) fn once_each<T: Copy>(
    asked: impl Iterator<Item = T>,
    id: fn(T) -> &'static str,
) -> Vec<T> {
    let mut rows: Vec<T> = Vec::new();
    for row in asked {
        if !rows.iter().any(|known| id(*known) == id(row)) {
            rows.push(row);
        }
    }
    rows
}

/// How CPUs are named to a command.
pub(super) struct Naming {
    /// What stands before a list.
    pub(super) cpus: &'static str,
    /// What is said of too many threads.
    pub(super) more: &'static str,
}

/// By options.
const OPTIONS: Naming =
    Naming { cpus: "--cpus ", more: "; --allow-hyperthreads adds SMT siblings" };

pub(super) fn refused(machine: &Machine, error: Error) -> Failure {
    refused_of(machine, error, &OPTIONS)
}

pub(super) fn refused_of(machine: &Machine, error: Error, naming: &Naming) -> Failure {
    let text = error.to_string();
    let Naming { cpus, more } = naming;
    match error {
        Error::Placement(Refusal::Missing { asked, usable }) => {
            let among = format!("choose among {cpus}{usable}");
            // Processes inherit an affinity without isolated CPUs, and may leave it.
            Failure::usage(text).hint(if machine::facts::can_be_pinned_to(machine, &asked) {
                let all: CpuSet = usable.iter().chain(asked.iter()).collect();
                format!("`taskset -c {all} cpudyno ...` lets this process use it, or {among}")
            } else {
                among
            })
        }
        Error::Placement(Refusal::TooMany { chosen, .. }) => {
            // Under `nosmt`, in a guest or in a cpuset there may be none to add.
            let more = if has_siblings(machine) { more } else { "" };
            Failure::usage(text).hint(format!("ask for at most {chosen}{more}"))
        }
        Error::Placement(Refusal::Nobody) | Error::Run(RunError::Interrupted) => {
            Failure::new(code::NOT_HERE, text)
        }
        Error::Asked(reason) => {
            Failure { hint: reason.remedy, ..Failure::usage(format!("cannot measure {text}")) }
        }
        Error::Unavailable(reason) => Failure {
            code: code::NOT_HERE,
            message: format!("cannot measure {text}"),
            hint: reason.remedy,
        },
        Error::Run(RunError::Memory { .. }) => {
            Failure::new(code::NOT_HERE, text).hint(less(machine))
        }
        Error::Setting(error) => settings::not_made(*error),
        Error::Run(RunError::Signal { .. }) => Failure::new(code::NOT_HERE, text),
        Error::Run(RunError::OutOfTime) => {
            Failure::new(code::NOT_HERE, text).hint("give it more time: --budget SECONDS")
        }
        Error::Run(RunError::Hung { .. }) => Failure::new(code::NOT_HERE, text)
            .hint("please report it if it comes again: `cpudyno doctor -v` says what is here"),
        Error::Run(RunError::Fault(_)) => {
            Failure::new(code::BUG, text).hint("please report it, with the lines above")
        }
        Error::Run(RunError::WrongAnswer(_)) => Failure::new(code::BUG, text)
            .hint("please report it: a kernel computed something wrong, so its time means nothing"),
        Error::Run(RunError::Pin { .. } | RunError::Spawn { .. }) => {
            Failure::new(code::NOT_HERE, text).hint(format!("name CPUs that stay online: {cpus}0"))
        }
    }
}

/// Whether this process may use several threads of a core.
fn has_siblings(machine: &Machine) -> bool {
    let topology = machine::facts::machine(machine).topology;
    let is_shared = |place: &CpuPlace| place.siblings.intersection(&topology.usable).len() > 1;
    topology.usable_places().any(is_shared)
}

/// A length that leaves room, where memory was refused although there was room for it: half of what
/// there is, for as many arrays as any kernel has.
fn less(machine: &Machine) -> String {
    const DOCTOR: &str = "`cpudyno doctor` says which pages there are";
    let arrays = kernels::memory::TABLE.iter().map(|kernel| u64::from(kernel.arrays)).max();
    let room = machine::memory::room(machine, model::Pages::Base);
    match (room, arrays) {
        (Ok(room), Some(arrays)) if room.usable() > 0 => {
            let length = (room.usable() / 2 / arrays / 8).max(1);
            format!("{DOCTOR}; ask for less: --length {length}")
        }
        _ => DOCTOR.to_owned(),
    }
}
