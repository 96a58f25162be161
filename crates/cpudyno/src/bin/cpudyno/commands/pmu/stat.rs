//! `cpudyno pmu stat`.

use std::process::{ExitCode, ExitStatus};

use machine::Machine;
use model::record::{CountsRun, Record};
use model::{CpuId, Datatype, Known};
use pmu::counting::{Core, StatEvents, base_of_all, counters_of, plan, rehearse, software, stat};
use pmu::events::Encoded;

use super::super::{Delivery, Sinks, child, sinks};
use super::counting::{
    Done, EventSelection, GENERIC, budget_file, described, not_csv, save, session,
};
use super::roofline::{self, PlacedWork};
use crate::args::{AskedEvents, Format, PmuStatArgs};
use crate::failure::Failure;
use crate::output;

pub(super) fn run(machine: &Machine, args: PmuStatArgs) -> Result<ExitCode, Failure> {
    let PmuStatArgs { mut events, budget, dry_run, output, command: words, .. } = args;
    let (sinks, look) = sinks(output)?;
    not_csv(look.format)?;
    if dry_run {
        let all = all(machine, &events, true)?;
        return planned(machine, &all, described(machine, &look), look.format);
    }
    let record = described(machine, &look);
    let rooflines = roofline::read(&args.roofline, &record)?;
    let work = PlacedWork::Command {
        datatype: args.datatype.unwrap_or(Datatype::Fp64),
        operations: args.operations,
        bytes: args.bytes,
    };
    if !rooflines.is_empty() {
        events.metrics.extend(work.metrics(&Core::all(machine)));
    }
    let kept = budget_file(&budget)?;
    let (status, mut done) = count(machine, &events, &words)?;
    roofline::place(&mut done.run, rooflines, None, &work);
    // A table that was counted is not lost with the file of its budget.
    print(record, done.run.clone(), sinks, look.format)?;
    save(kept, &budget, &done.run.tables, None)?;
    // The command's own code goes first.
    Ok(if status.success() { done.code() } else { ExitCode::from(child::code(status)) })
}

/// Executes a command and counts it.
pub(super) fn count(
    machine: &Machine,
    events: &AskedEvents,
    words: &[String],
) -> Result<(ExitStatus, Done), Failure> {
    if machine.simulated.is_some() || machine.elsewhere.is_some() {
        return Err(Failure::usage("a command can be counted on the machine at hand alone").hint(
            "leave out --machine and --root; `cpudyno pmu kernel` counts on simulated ones",
        ));
    }
    let asked = all(machine, events, false)?;
    let EventSelection { events, refused, metrics, .. } = &asked;
    let wanted = StatEvents { events, refused, metrics };
    let done = stat(machine, words, &wanted, child::wait);
    let done = done.map_err(|error| child::not_started(&words[0], "pmu stat", &error))?;
    Ok((done.status, asked.done(done.run, events)))
}

/// What is counted in any case, and what was asked for.
fn all(machine: &Machine, events: &AskedEvents, dry_run: bool) -> Result<EventSelection, Failure> {
    let always: Vec<Encoded> = base_of_all(machine).into_iter().chain(software()).collect();
    let mut asked =
        EventSelection::new(machine, &Core::all(machine), events, &[&GENERIC], &always)?;
    if !dry_run {
        // The thread is let go again before the command starts.
        asked.test(&session(machine, None)?.without_canary(), machine, events);
    }
    let is_new = |event: &Encoded| !always.iter().any(|known| known.is_same(event));
    let named = std::mem::take(&mut asked.events).into_iter().filter(is_new);
    asked.events = always.iter().cloned().chain(named).collect();
    Ok(asked)
}

/// Which events would be counted, and whether they have counters at once.
fn planned(
    machine: &Machine,
    asked: &EventSelection,
    mut record: Record,
    format: Format,
) -> Result<ExitCode, Failure> {
    let cpu = machine.host.affinity().ok().and_then(|cpus| cpus.iter().next());
    let cpu = cpu.unwrap_or(CpuId(0));
    let (able, absent) = rehearse(machine, &asked.events);
    let plan = plan(machine, cpu, &able);
    let together = match plan.passes.len() {
        0 | 1 => "all at once",
        _ => "more than there are counters for: each that loses its place is rejected",
    };
    record.counts = Some(CountsRun {
        subject: "a command".to_owned(),
        modes: format!("user mode; events of the kernel in all modes; {together}"),
        limits: Some(Known::from(counters_of(machine, cpu))),
        passes: vec![able.into_iter().map(|event| event.name).collect()],
        absent,
        ..CountsRun::default()
    });
    output::data(&Delivery::of(&record).told(format)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The table goes where the command's own output is not.
pub(super) fn print(
    mut record: Record,
    run: CountsRun,
    sinks: Sinks,
    format: Format,
) -> Result<(), Failure> {
    record.counts = Some(run);
    let telling = Delivery::of(&record);
    let text = telling.told(format)?;
    if matches!(format, Format::Json | Format::Html) {
        output::data(&text)?;
    } else {
        output::remark(text.trim_end());
    }
    telling.write(sinks)
}
