//! `cpudyno ab`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use levers::ask::SettingSpec;
use levers::plan::Plan;
use levers::{Levers, Session};
use machine::Machine;
use measure::ab::{self, AbSubject, Comparing, Metric};
use measure::run::arm_env::ArmEnv;
use measure::run::{Progress, refuse_elsewhere};
use model::record::{PageKind, Record};
use model::stats::paired::Better;
use model::{Known, in_order};
use regex_lite::Regex;

use super::keys::Keys;
use super::measuring::{Naming, refused_of};
use super::plans::{self, Wishes};
use super::start::Start;
use super::{Delivery, Sinks, command, presentation, settings, sinks};
use crate::args::{AbArgs, Area, ArmSetting, Asked, Direction, Format, arm_setting};
use crate::failure::{Failure, code};
use crate::output;
use crate::signals::Signals;

/// By settings of an arm.
const ARMS: Naming = Naming { cpus: "--a cpus=", more: " threads" };

pub(super) fn refused(machine: &Machine, error: measure::run::Error) -> Failure {
    refused_of(machine, error, &ARMS)
}

pub(super) fn run(machine: &Machine, args: &AbArgs) -> Result<ExitCode, Failure> {
    let (sinks, look) = sinks(args.changing.output.clone())?;
    if look.format == Format::Csv {
        return Err(Failure::usage("a comparison has no table of samples")
            .hint("print it as text, markdown, html or json: --format json"));
    }
    let (mut comparing, wishes) = comparing(machine, args)?;
    let signals = Signals::listen()?;
    // A command that measures takes its turn itself.
    let turn = match comparing.what {
        AbSubject::Area(..) => Some(Start::default().turn(machine, &signals)?),
        AbSubject::Command(..) => None,
    };
    let shelf;
    let mut session = None;
    if wishes.iter().any(|wishes| !wishes.all.is_empty()) {
        let levers = settings::writer(machine)?;
        let [a, b] = wishes.map(|wishes| wishes.here(machine, &*levers, args.changing.force));
        let (a, b) = (a?, b?);
        if a.asked.is_empty() && b.asked.is_empty() && comparing.own[0].runs_as(&comparing.own[1]) {
            let why = "nothing of these plans is on this machine: A would be compared with A";
            return Err(Failure::new(code::NOT_HERE, why)
                .hint("`cpudyno set @PLAN --dry-run` says what is left out, and why"));
        }
        let asked = [a.asked.as_slice(), b.asked.as_slice()];
        let planned = |levers: &dyn Levers| {
            Plan::arms(machine, levers, asked, args.changing.force).map_err(settings::refused)
        };
        // What is refused needs no lock; and nobody else changes what is planned under it.
        planned(&*levers)?;
        shelf = settings::shelf(machine)?;
        let who = format!("cpudyno ab, process {}", std::process::id());
        let opened = Session::open(machine, levers, &shelf, &who).map_err(settings::refused)?;
        let (changes, remarks) = planned(opened.levers())?;
        comparing.remarks = in_order(a.remarks().into_iter().chain(b.remarks()));
        for remark in in_order(a.left_out.into_iter().chain(b.left_out).chain(remarks)) {
            output::remark(&format!("note: {remark}"));
        }
        comparing.changes = changes;
        session = Some(opened);
    }
    let presentation = presentation(&look, PageKind::Ab);
    let described = machine::describe(machine, command(), presentation);
    let keys = Keys::new(!args.no_key);
    let keys = if turn.is_some() { keys } else { keys.by_turns() };
    let told = ComparisonOutput { described, format: look.format, sinks, keys };
    compared(machine, &comparing, session, &signals, told)
}

/// What is told, and where.
pub(super) struct ComparisonOutput {
    pub(super) described: Record,
    pub(super) format: Format,
    pub(super) sinks: Sinks,
    pub(super) keys: Keys,
}

/// Compares two arms, and tells what came of it.
pub(super) fn compared<'m>(
    machine: &'m Machine,
    comparing: &Comparing,
    session: Option<Session<'m>>,
    signals: &Signals,
    told: ComparisonOutput,
) -> Result<ExitCode, Failure> {
    let run =
        |session: Option<&mut Session<'m>>, described, progress: &mut dyn FnMut(Progress<'_>)| {
            ab::run(machine, comparing, session, described, signals.stop(), progress)
        };
    taking_turns(machine, session, signals, told, ("ab", is_decided), run)
}

/// Measures arms in turns, puts the settings back, and tells what came of it. Signals are heard by everything
/// meanwhile. `kind` is the name of that in remarks, and whether a record of it has an answer.
pub(super) fn taking_turns<'m>(
    machine: &'m Machine,
    mut session: Option<Session<'m>>,
    signals: &Signals,
    told: ComparisonOutput,
    (kind, is_decided): (&str, fn(&Record) -> bool),
    run: impl FnOnce(
        Option<&mut Session<'m>>,
        Record,
        &mut dyn FnMut(Progress<'_>),
    ) -> Result<Record, measure::run::Error>,
) -> Result<ExitCode, Failure> {
    let ComparisonOutput { described, format, sinks, mut keys } = told;
    // Who asks twice does not want his settings lost: everything looks at the first wish.
    let deaf = session.is_some().then(|| signals.ignore());
    keys.take(machine, signals.stop());
    let bar = output::progress_bar();
    let mut tell = |progress: Progress<'_>| {
        bar.set_position((progress.share * 1000.0) as u64);
        bar.set_message(progress.doing.to_owned());
    };
    let lent = session.as_mut();
    let done = run(lent, described, &mut tell);
    bar.finish_and_clear();
    let restored = session.map(|session| settings::restore(session, signals, ExitCode::SUCCESS));
    keys.take(machine, signals.stop());
    drop(deaf);
    if let (Err(_), Some(Err(failure))) = (&done, &restored) {
        output::remark(&failure.message);
    }
    let is_left = done.is_err() && matches!(restored, Some(Err(_)));
    let mut record = done.map_err(|error| {
        let failure = signals.of(refused(machine, error));
        if is_left { failure.hint(levers::LEFT) } else { failure }
    })?;
    if let (Some((_, name)), Some(why)) = (signals.came(), &mut record.run.interrupted) {
        *why = format!("stopped by {name}");
    }
    keys.note(&mut record, kind);
    Delivery::of(&record).deliver(sinks, format)?;
    restored.transpose()?;
    Ok(match signals.came() {
        Some((number, _)) => ExitCode::from(128 + number as u8),
        None if is_decided(&record) => ExitCode::SUCCESS,
        None => ExitCode::from(code::NOT_HERE),
    })
}

/// What is compared, and what is set on the machine for each arm.
fn comparing(
    machine: &Machine,
    args: &AbArgs,
) -> Result<(Comparing, [Wishes<SettingSpec>; 2]), Failure> {
    let what = what(machine, args.area, args.metric.as_deref(), &args.command)?;
    let [(mut a, wishes_a), (mut b, wishes_b)] = [arm(&args.a)?, arm(&args.b)?];
    a.beside = b.variables.keys().cloned().collect();
    b.beside = a.variables.keys().cloned().collect();
    let words = [&args.a, &args.b].map(|arm| arm.iter().map(|s| plans::called(&s.text)).collect());
    let comparing = Comparing {
        own: [a, b],
        words,
        budget: args.budget,
        band: args.band,
        better: args.better.map(better),
        prove: !args.changing.no_proof,
        remarks: in_order([&wishes_a, &wishes_b].into_iter().flat_map(Wishes::remarks)),
        ..Comparing::usual(what)
    };
    Ok((comparing, [wishes_a, wishes_b]))
}

/// The direction that was asked for.
pub(super) fn better(direction: Direction) -> Better {
    match direction {
        Direction::Less => Better::Less,
        Direction::More => Better::More,
    }
}

fn is_decided(record: &Record) -> bool {
    let Some(run) = &record.comparison else { return false };
    matches!(&run.comparison, Known::Yes(found) if found.verdict.is_decided())
}

/// How an arm runs, and what is set for it on the machine.
fn arm(settings: &[Asked<ArmSetting>]) -> Result<(ArmEnv, Wishes<SettingSpec>), Failure> {
    let (mut own, mut names) = (ArmEnv::default(), BTreeSet::new());
    let Wishes { all, told, left_out } = plans::read(settings.to_vec(), arm_setting)?;
    let mut wishes = Wishes { all: Vec::new(), told, left_out };
    for wish in all {
        match &wish.setting {
            ArmSetting::Lever(lever) => {
                let lever = (**lever).clone();
                wishes.all.push(wish.with(|_| lever));
            }
            ArmSetting::ArmEnv(name, value) => {
                if !names.insert(name.clone()) {
                    return Err(Failure::usage(format!("an arm has one `{name}`, and not two")));
                }
                if let Some(Err(why)) = own.take(name, value) {
                    return Err(Failure::usage(why));
                }
                wishes.told.extend(wish.told());
            }
        }
    }
    Ok((own, wishes))
}

/// What is measured.
pub(super) fn what(
    machine: &Machine,
    area: Option<Area>,
    metric: Option<&str>,
    command: &[String],
) -> Result<AbSubject, Failure> {
    refuse_elsewhere(machine).map_err(|reason| refused(machine, reason.into()))?;
    if let Some(area) = area {
        return Ok(AbSubject::Area(area.0, metric.map(str::to_owned)));
    }
    if command.is_empty() {
        return Err(Failure::usage("there is nothing to measure")
            .hint("name a command after --, or an area: --area memory-latency"));
    }
    let metric = match metric {
        None | Some("wall") => Metric::Wall,
        Some(metric) => match metric.split_once(':') {
            Some(("json", path)) => Metric::Json(path.split('.').map(str::to_owned).collect()),
            Some(("regex", expression)) => {
                let expression = Regex::new(expression).map_err(|why| {
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
    Ok(AbSubject::Command(command.to_vec(), metric))
}
