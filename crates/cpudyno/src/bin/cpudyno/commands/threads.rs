//! `cpudyno threads`.

use std::process::ExitCode;

use advice::threads::{Advice, Proposal, STEPS, Work, advice};
use machine::Machine;
use measure::threads;
use model::record::{PageKind, Presentation};

use super::measuring::{Prepared, ended, ending, measure, measured, outline, prepared};
use super::{Delivery, command, presentation};
use crate::args::{KindOfWork, ThreadsArgs};
use crate::failure::{Failure, code};
use crate::output;
use crate::signals::Signals;

pub(super) fn run(machine: &Machine, args: ThreadsArgs) -> Result<ExitCode, Failure> {
    let ThreadsArgs { print, explain, cpus, budget, measuring } = args;
    let Prepared { dry_run, start, sinks, look } = prepared(measuring)?;
    let presentation = presentation(&look, PageKind::Threads);
    let verbosity = presentation.verbosity.max(u8::from(explain));
    let presentation = Presentation { verbosity, ..presentation };
    let request = threads::request(budget, cpus, command(), presentation);
    if dry_run {
        return outline(machine, &request, (look.format, sinks));
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
