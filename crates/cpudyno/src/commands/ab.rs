//! `cpudyno ab`.

use std::process::ExitCode;

use bench::ab::own::Own;
use bench::ab::{self, Comparing, Metric, What};
use bench::run::{Progress, refuse_elsewhere};
use levers::ask::Asked;
use levers::plan::Plan;
use levers::{Session, port};
use machine::Machine;
use model::Known;
use model::record::{PageKind, Record};
use model::stats::paired::Better;
use regex::Regex;

use super::measure::refused;
use super::{command, presentation, render, settings, sink};
use crate::args::{AbArgs, ArmKind, ArmSetting, Direction, Format};
use crate::failure::{Failure, code};
use crate::output;
use crate::signals::Signals;

pub(super) fn run(machine: &Machine, args: &AbArgs) -> Result<ExitCode, Failure> {
    let mut look = args.look.clone();
    let sink = sink(&args.json, &mut look)?;
    if look.format == Format::Csv {
        return Err(Failure::usage("a comparison has no table of samples")
            .hint("print it as text, markdown or json: --format json"));
    }
    let what = what(machine, args)?;
    let [(mut a, asked_a), (mut b, asked_b)] = [arm(&args.a)?, arm(&args.b)?];
    a.beside = b.variables.keys().cloned().collect();
    b.beside = a.variables.keys().cloned().collect();
    let words = [&args.a, &args.b].map(|arm| arm.iter().map(|s| s.text.clone()).collect());
    let better = args.better.map(|direction| match direction {
        Direction::Less => Better::Less,
        Direction::More => Better::More,
    });
    let mut comparing = Comparing {
        own: [a, b],
        words,
        budget: args.budget,
        band: args.band,
        better,
        prove: !args.manner.no_proof,
        ..Comparing::usual(what)
    };
    let signals = Signals::listen()?;
    let shelf;
    let mut session = None;
    let mut deaf = None;
    if !(asked_a.is_empty() && asked_b.is_empty()) {
        let levers = settings::writer(machine)?;
        let planned = Plan::arms(machine, &*levers, [&asked_a, &asked_b], args.manner.force);
        let (changes, remarks) = planned.map_err(settings::refused)?;
        for remark in remarks {
            output::remark(&format!("note: {remark}"));
        }
        comparing.changes = changes;
        shelf = settings::shelf(machine)?;
        let who = format!("cpudyno ab, process {}", std::process::id());
        let levers = port::of(machine).unwrap_or(levers);
        session = Some(Session::open(machine, levers, &shelf, &who).map_err(settings::refused)?);
        // Who asks twice does not want his settings lost: everything looks at the first wish.
        deaf = Some(signals.ignore());
    }
    let presentation = presentation(&look, PageKind::Ab);
    let described = machine::describe(machine, command(), presentation);
    let bar = output::progress_bar();
    let mut tell = |progress: Progress<'_>| {
        bar.set_position((progress.share * 1000.0) as u64);
        bar.set_message(progress.doing.to_owned());
    };
    let lent = session.as_mut();
    let done = ab::run(machine, &comparing, lent, described, signals.stop(), &mut tell);
    bar.finish_and_clear();
    let restored = session.map(|session| settings::restore(session, &signals, ExitCode::SUCCESS));
    drop(deaf);
    if let (Err(_), Some(Err(failure))) = (&done, &restored) {
        output::remark(&failure.message);
    }
    let record = done.map_err(|error| signals.of(refused(machine, error)))?;
    let written = match sink {
        Some(sink) => sink.write(&render(&record, Format::Json, presentation)?),
        None => Ok(()),
    };
    output::data(&render(&record, look.format, presentation)?)?;
    written?;
    restored.transpose()?;
    Ok(match signals.came() {
        Some((number, _)) => ExitCode::from(128 + number as u8),
        None if is_decided(&record) => ExitCode::SUCCESS,
        None => ExitCode::from(code::NOT_HERE),
    })
}

fn is_decided(record: &Record) -> bool {
    let Some(run) = &record.comparison else { return false };
    matches!(&run.comparison, Known::Yes(found) if found.verdict.is_decided())
}

/// How an arm runs, and what is set for it on the machine.
fn arm(settings: &[ArmSetting]) -> Result<(Own, Vec<Asked>), Failure> {
    let (mut own, mut asked) = (Own::default(), Vec::new());
    for setting in settings {
        match &setting.kind {
            ArmKind::Lever(lever) => asked.push((**lever).clone()),
            ArmKind::Own(name, value) => {
                if let Some(Err(why)) = own.take(name, value) {
                    return Err(Failure::usage(why));
                }
            }
        }
    }
    Ok((own, asked))
}

fn what(machine: &Machine, args: &AbArgs) -> Result<What, Failure> {
    refuse_elsewhere(machine).map_err(|reason| refused(machine, reason.into()))?;
    if let Some(area) = args.area {
        return Ok(What::Area(area.0, args.metric.clone()));
    }
    if args.command.is_empty() {
        return Err(Failure::usage("there is nothing to measure")
            .hint("name a command after --, or an area: --area memory-latency"));
    }
    let metric = match args.metric.as_deref() {
        None | Some("wall") => Metric::Wall,
        Some(metric) => match metric.split_once(':') {
            Some(("json", path)) => Metric::Json(path.split('.').map(str::to_owned).collect()),
            Some(("regex", expression)) => {
                let expression = Regex::new(expression).map_err(|error| {
                    let last = error.to_string();
                    let why = last.lines().last().unwrap_or_default().to_owned();
                    Failure::usage(format!("cannot read the expression `{expression}`: {why}"))
                        .hint("such as regex:'([0-9.]+) ops/s'")
                })?;
                Metric::Printed(expression)
            }
            _ => {
                return Err(Failure::usage(format!("cannot read the metric `{metric}`"))
                    .hint("of a command: wall, json:PATH, regex:EXPRESSION"));
            }
        },
    };
    Ok(What::Command(args.command.clone(), metric))
}
