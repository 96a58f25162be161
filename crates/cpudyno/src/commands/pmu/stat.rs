//! `cpudyno pmu stat`.

use std::process::{ExitCode, ExitStatus};

use machine::Machine;
use machine::perf::limits;
use model::record::{CountsRun, Record};
use model::{CpuId, Known};
use pmu::counting::{StatEvents, base_of_all, plan, software, stat};
use pmu::events::Encoded;

use super::super::{child, render, sink};
use super::counting::{Asked, GENERIC, budget_file, described, not_csv, save, session};
use crate::args::{AskedEvents, Format, PmuStatArgs};
use crate::failure::Failure;
use crate::output::{self, Sink};

pub(super) fn run(machine: &Machine, args: PmuStatArgs) -> Result<ExitCode, Failure> {
    let PmuStatArgs { events, budget, dry_run, json, mut look, command: words } = args;
    let sink = sink(&json, &mut look)?;
    not_csv(look.format)?;
    if dry_run {
        let all = all(machine, &events)?;
        return planned(machine, &all, described(machine, &look), look.format);
    }
    let kept = budget_file(&budget)?;
    let (status, run) = count(machine, &events, &words)?;
    save(kept, &budget, &run.tables, None)?;
    print(described(machine, &look), run, sink, look.format)?;
    Ok(ExitCode::from(child::code(status)))
}

/// Executes a command and counts it.
pub(super) fn count(
    machine: &Machine,
    events: &AskedEvents,
    words: &[String],
) -> Result<(ExitStatus, CountsRun), Failure> {
    if machine.simulated.is_some() || machine.elsewhere.is_some() {
        return Err(Failure::usage("a command can be counted on the machine at hand alone").hint(
            "leave out --machine and --root; `cpudyno pmu kernel` counts on simulated ones",
        ));
    }
    let asked = all(machine, events)?;
    let Asked { events, refused, metrics, answers } = &asked;
    let wanted = StatEvents { events, refused, metrics };
    let done = stat(machine, words, &wanted, child::wait);
    let done = done.map_err(|error| child::not_started(&words[0], "pmu stat", &error))?;
    Ok((done.status, CountsRun { answers: answers.clone(), ..done.run }))
}

/// What is counted in any case, and what was asked for.
fn all(machine: &Machine, events: &AskedEvents) -> Result<Asked, Failure> {
    let always = base_of_all(machine).into_iter().chain(software());
    let always: Vec<Encoded> = always.collect();
    // The thread is let go again before the command starts.
    let session = session(machine, None)?.without_canary();
    let mut asked = Asked::new(machine, &session, events, &[&GENERIC], &always)?;
    let of_core = |event: &Encoded| !always.iter().any(|it| it.name == event.name);
    let (mut rest, mut all) = (Vec::new(), always.clone());
    for event in std::mem::take(&mut asked.events) {
        if of_core(&event) {
            rest.push(event);
        }
    }
    all.extend(rest);
    asked.events = all;
    Ok(asked)
}

fn first(machine: &Machine) -> CpuId {
    let first = machine.host.affinity().ok().and_then(|cpus| cpus.iter().next());
    first.unwrap_or(CpuId(0))
}

/// Which events would be counted, and whether they have counters at once.
fn planned(
    machine: &Machine,
    asked: &Asked,
    mut record: Record,
    format: Format,
) -> Result<ExitCode, Failure> {
    let cpu = first(machine);
    let plan = plan(machine, cpu, &asked.events);
    let together = match plan.passes.len() {
        0 | 1 => "all at once",
        _ => "more than there are counters for: each that loses its place is rejected",
    };
    record.counts = Some(CountsRun {
        subject: "a command".to_owned(),
        modes: format!("user mode; events of the kernel in all modes; {together}"),
        limits: Some(Known::from(limits(machine, cpu).map(pmu::counting::in_words))),
        passes: vec![asked.events.iter().map(|event| event.name.clone()).collect()],
        ..CountsRun::default()
    });
    let presentation = record.run.presentation;
    output::data(&render(&record, format, presentation)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The table goes where the command's own output is not.
pub(super) fn print(
    mut record: Record,
    run: CountsRun,
    sink: Option<Sink>,
    format: Format,
) -> Result<(), Failure> {
    record.counts = Some(run);
    let presentation = record.run.presentation;
    let text = render(&record, format, presentation)?;
    if let Some(sink) = sink {
        sink.write(&render(&record, Format::Json, presentation)?)?;
    }
    if format == Format::Json {
        output::data(&text)
    } else {
        output::remark(text.trim_end());
        Ok(())
    }
}
