//! `cpudyno turbo`.

use std::process::ExitCode;

use kernels::{DirtyUpper, StreamRow};
use machine::Machine;
use machine::instruments::clock::RateChoice;
use measure::areas::turbo::{Tests, TurboOptions};
use model::Seconds;
use model::record::PageKind;
use rig::job::Manner;
use rig::placement::Choice;

use super::measuring::{
    Prepared, ended, ending, measure, measured, once_each, outline_after, prepared,
};
use super::{Delivery, command, presentation};
use crate::args::{MixPart, Stream, Test, TurboArgs};
use crate::failure::{Failure, code};
use crate::output;
use crate::signals::Signals;

pub(super) fn run(machine: &Machine, args: TurboArgs) -> Result<ExitCode, Failure> {
    if let (Some(min), Some(max)) = (args.min_threads, args.max_threads)
        && min > max
    {
        return Err(Failure::usage(format!(
            "--min-threads {min} is more than --max-threads {max}"
        ))
        .hint("give the lesser one first: --min-threads 1 --max-threads 4"));
    }
    let Prepared { dry_run, start, sinks, look } = prepared(args.measuring.clone())?;
    let (why, classic) = (args.why, args.classic);
    let request = options(args)?.request(command(), presentation(&look, PageKind::Turbo));
    if dry_run {
        // What is known before anything was measured, and of machines where nothing can be.
        let described =
            || machine::describe(machine, command(), presentation(&look, PageKind::Info));
        let known = if why { report::limits_of_clock(&described()) } else { Vec::new() };
        return outline_after(machine, &request, (look.format, sinks), known);
    }
    if classic {
        let signals = Signals::listen()?;
        let turn = start.turn(machine, &signals)?;
        let (record, signal) = measured(machine, &request, &signals, &turn)?;
        Delivery::of(&record).write(sinks)?;
        output::data(&report::areas::turbo::classic::classic(&record))?;
        return Ok(ended(&record, ending(signal)));
    }
    measure(machine, &request, (look.format, sinks), &start)
}

fn rows(test: Test) -> Vec<&'static StreamRow> {
    match test {
        Test::All => kernels::streams::TABLE.to_vec(),
        Test::One(Stream(row)) => vec![row],
    }
}

fn options(args: TurboArgs) -> Result<TurboOptions, Failure> {
    let tests = match (args.sustain, args.spec, args.test) {
        _ if args.why => Tests::Why,
        _ if args.trace.is_some() => {
            let asked = args.trace.unwrap_or_default().into_iter().map(|Stream(row)| row);
            Tests::Trace(once_each(asked, |row| row.id), args.period)
        }
        _ if args.neighbours => Tests::Neighbours,
        _ if args.datatypes => Tests::Datatypes,
        (Some(duration), ..) => Tests::Sustain(duration),
        (_, Some(parts), _) => {
            Tests::Spec(parts.iter().map(|MixPart(row, n)| (*row, *n)).collect())
        }
        (.., Some(asked)) => {
            Tests::Streams(once_each(asked.into_iter().flat_map(rows), |row| row.id))
        }
        (None, None, None) => Tests::Streams(kernels::streams::CLASSIC.to_vec()),
    };
    let dirty = match (args.dirty_upper, args.dirty_upper16) {
        (true, _) => Some(DirtyUpper::Register15),
        (_, true) => Some(DirtyUpper::Register16),
        (false, false) => None,
    };
    let dirty = dirty.map(DirtyUpper::available).transpose().map_err(|lacking| {
        Failure::new(code::NOT_HERE, format!("cannot dirty upper halves: {}", lacking.why))
    })?;
    let manner = Manner {
        pinned: !args.no_pin,
        together: !args.no_barrier,
        warm_up_max: Seconds(f64::from(args.warmup_ms) * 1e-3),
        dirty,
        ..Manner::USUAL
    };
    Ok(TurboOptions {
        tests,
        threads_min: args.min_threads,
        threads_max: args.max_threads,
        all_alone: false,
        ops: args.iters,
        duration: args.duration,
        budget: args.budget,
        cpus: Choice {
            cpus: args.cpus,
            siblings: args.allow_hyperthreads,
            order: args.order.into(),
            at_most: args.num_cpus,
        },
        manner,
        rate: if args.force_tsc_calibrate { RateChoice::Measured } else { RateChoice::Best },
    })
}
