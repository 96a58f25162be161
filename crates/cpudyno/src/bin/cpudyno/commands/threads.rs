//! `cpudyno threads`.

use std::process::ExitCode;

use advice::threads::{Advice, Proposal, STEPS, Work, advice};
use levers::Session;
use machine::Machine;
use measure::ab::AbSubject;
use measure::run::arm_env::ArmEnv;
use measure::run::{Progress, Request};
use measure::sweep::{self, Sweeping, SweptArm};
use measure::threads;
use model::Seconds;
use model::record::{PageKind, Presentation, SweptValue};
use model::stats::paired::Better;

use super::ab::{self, ComparisonOutput, taking_turns};
use super::keys::Keys;
use super::measuring::{Prepared, ended, ending, measure, measured, outline, prepared};
use super::start::Start;
use super::{Delivery, Sinks, command, presentation};
use crate::args::{Format, KindOfWork, ThreadsArgs};
use crate::failure::{Failure, code};
use crate::output;
use crate::signals::Signals;

pub(super) fn run(machine: &Machine, args: ThreadsArgs) -> Result<ExitCode, Failure> {
    let ThreadsArgs { print, explain, metric, better, cpus, budget, measuring, command: program } =
        args;
    let what = match &program[..] {
        [] => None,
        program => Some(ab::what(machine, None, metric.as_deref(), program)?),
    };
    let Prepared { dry_run, start, sinks, look } = prepared(measuring)?;
    let presentation = presentation(&look, PageKind::Threads);
    let verbosity = presentation.verbosity.max(u8::from(explain));
    let presentation = Presentation { verbosity, ..presentation };
    // With a command, that is the time for its runs.
    let own = budget.filter(|_| what.is_none());
    let request = threads::request(own, cpus, command(), presentation);
    if dry_run {
        return outline(machine, &request, (look.format, sinks));
    }
    if let Some(what) = what {
        let better = better.map(ab::better);
        return tried(
            machine,
            &request,
            ProgramTrial { what, better, budget },
            (look.format, sinks),
            &start,
        );
    }
    let Some(work) = print else {
        return measure(machine, &request, (look.format, sinks), &start);
    };
    let signals = Signals::listen()?;
    let turn = start.turn(machine, &signals)?;
    let (record, signal) = measured(machine, &request, &signals, &turn)?;
    Delivery::of(&record).write(sinks)?;
    let advice = advice(&record);
    let proposal = proposal(&advice, work).ok_or_else(|| {
        let reason = advice.why_not(asked(work));
        let why = reason.map_or("no team was measured", |reason| &reason.why);
        Failure::new(code::NOT_HERE, format!("cannot say how many threads: {why}"))
            .hint("`cpudyno threads` shows what could be measured")
    })?;
    output::data(&format!("{}\n", proposal.threads))?;
    Ok(ended(&record, ending(signal)))
}

/// How a program is tried.
struct ProgramTrial {
    what: AbSubject,
    better: Option<Better>,
    budget: Option<Seconds>,
}

/// The machine first, and then the program with the numbers that it proposes.
fn tried(
    machine: &Machine,
    request: &Request,
    ProgramTrial { what, better, budget }: ProgramTrial,
    (format, sinks): (Format, Sinks),
    start: &Start,
) -> Result<ExitCode, Failure> {
    if machine.simulated.is_some() {
        return Err(Failure::new(code::NOT_HERE, "a simulated machine executes no programs")
            .hint("without a command, `cpudyno threads` shows what it proposes there"));
    }
    let signals = Signals::listen()?;
    let turn = start.turn(machine, &signals)?;
    let (record, signal) = measured(machine, request, &signals, &turn)?;
    // A command that measures takes its turn itself.
    drop(turn);
    if signal.is_some() {
        Delivery::of(&record).deliver(sinks, format)?;
        return Ok(ended(&record, ending(signal)));
    }
    let arm = |threads: usize| SweptArm {
        value: SweptValue { text: threads.to_string(), number: Some(threads as f64) },
        own: ArmEnv { threads: Some(threads), ..ArmEnv::default() },
        changes: Vec::new(),
    };
    let arms = advice(&record).to_try().into_iter().map(arm).collect();
    let usual = Sweeping::usual("threads".to_owned(), arms, what);
    let budget = budget.unwrap_or(usual.budget);
    let sweeping = Sweeping { better, budget, ..usual };
    let told = ComparisonOutput { described: record, format, sinks, keys: Keys::new(false) };
    let swept = |_: Option<&mut Session<'_>>, described, progress: &mut dyn FnMut(Progress<'_>)| {
        sweep::run(machine, &sweeping, None, described, signals.stop(), progress)
    };
    taking_turns(machine, None, &signals, told, ("threads", super::sweep::is_decided), swept)
}

fn asked(work: KindOfWork) -> Work {
    match work {
        KindOfWork::Compute => Work::Vector,
        KindOfWork::EqualParts => Work::EqualParts,
        KindOfWork::Bandwidth => Work::Bandwidth,
        KindOfWork::Barriers => Work::Steps(STEPS[0]),
    }
}

/// The proposal; equal parts are said where they differ.
fn proposal(advice: &Advice, work: KindOfWork) -> Option<&Proposal> {
    let usual = || advice.of(Work::Vector).filter(|_| matches!(work, KindOfWork::EqualParts));
    advice.of(asked(work)).or_else(usual)
}
