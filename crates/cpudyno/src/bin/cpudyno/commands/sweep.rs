//! `cpudyno sweep`.

use std::process::ExitCode;

use levers::ask::SettingSpec;
use levers::plan::Plan;
use levers::{Levers, Session};
use machine::Machine;
use measure::run::Progress;
use measure::run::arm_env::ArmEnv;
use measure::sweep::{self, Sweeping, SweptArm};
use model::Known;
use model::record::{PageKind, Record, SweptValue};
use model::stats::paired::Per;

use super::ab::{self, ComparisonOutput, taking_turns};
use super::keys::Keys;
use super::start::Start;
use super::{command, presentation, settings, sinks};
use crate::args::{ArmSetting, Format, PerUnit, SweepArgs};
use crate::failure::Failure;
use crate::output;
use crate::signals::Signals;

pub(super) fn run<'m>(machine: &'m Machine, args: &SweepArgs) -> Result<ExitCode, Failure> {
    let (sinks, look) = sinks(args.changing.output.clone())?;
    if look.format == Format::Csv {
        return Err(Failure::usage("a sweep has no table of samples")
            .hint("print it as text, markdown, html or json: --format json"));
    }
    let what = ab::what(machine, args.area, args.metric.as_deref(), &args.command)?;
    let is_area = args.area.is_some();
    let (arms, wishes) = arms(&args.swept.values, &args.with)?;
    let mut sweeping = Sweeping {
        budget: args.budget,
        band: args.band,
        better: args.better.map(ab::better),
        per: args.per.map(|per| match per {
            PerUnit::Watt => Per::Watt,
            PerUnit::Joule => Per::Joule,
        }),
        prove: !args.changing.no_proof,
        ..Sweeping::usual(args.swept.setting.clone(), arms, what)
    };
    let signals = Signals::listen()?;
    // A command that measures takes its turn itself.
    let turn = if is_area { Some(Start::default().turn(machine, &signals)?) } else { None };
    let shelf;
    let mut session = None;
    if wishes.iter().any(|wishes| !wishes.is_empty()) {
        let levers = settings::writer(machine)?;
        let asked: Vec<&[SettingSpec]> = wishes.iter().map(Vec::as_slice).collect();
        let planned = |levers: &dyn Levers| {
            Plan::each_arm(machine, levers, &asked, args.changing.force).map_err(settings::refused)
        };
        // What is refused needs no lock; and nobody else changes what is planned under it.
        planned(&*levers)?;
        shelf = settings::shelf(machine)?;
        let who = format!("cpudyno sweep, process {}", std::process::id());
        let opened = Session::open(machine, levers, &shelf, &who).map_err(settings::refused)?;
        let (changes, remarks) = planned(opened.levers())?;
        for remark in remarks {
            output::remark(&format!("note: {remark}"));
        }
        for (arm, changes) in sweeping.arms.iter_mut().zip(changes) {
            arm.changes = changes;
        }
        session = Some(opened);
    }
    let presentation = presentation(&look, PageKind::Sweep);
    let described = machine::describe(machine, command(), presentation);
    let keys = Keys::new(!args.no_key);
    let keys = if turn.is_some() { keys } else { keys.by_turns() };
    let told = ComparisonOutput { described, format: look.format, sinks, keys };
    let swept =
        |session: Option<&mut Session<'m>>, described, progress: &mut dyn FnMut(Progress<'_>)| {
            sweep::run(machine, &sweeping, session, described, signals.stop(), progress)
        };
    taking_turns(machine, session, &signals, told, ("sweep", is_decided), swept)
}

/// Each value as an arm, with what all of them have; and what is set for it on the machine.
fn arms(
    values: &[(SweptValue, ArmSetting)],
    with: &[ArmSetting],
) -> Result<(Vec<SweptArm>, Vec<Vec<SettingSpec>>), Failure> {
    let mut arms: (Vec<SweptArm>, Vec<Vec<SettingSpec>>) = Default::default();
    for (value, setting) in values {
        let (mut own, mut wishes) = (ArmEnv::default(), Vec::new());
        for setting in with.iter().chain([setting]) {
            match setting {
                ArmSetting::Lever(lever) => wishes.push((**lever).clone()),
                ArmSetting::ArmEnv(name, text) => {
                    if let Some(Err(why)) = own.take(name, text) {
                        return Err(Failure::usage(why));
                    }
                }
            }
        }
        // All arms are measured with what knows the variables.
        own.beside = own.variables.keys().cloned().collect();
        arms.0.push(SweptArm { value: value.clone(), own, changes: Vec::new() });
        arms.1.push(wishes);
    }
    Ok(arms)
}

/// Whether it is known who is best, and who is as good.
pub(super) fn is_decided(record: &Record) -> bool {
    let Some(run) = &record.sweep else { return false };
    matches!(&run.ranking, Known::Yes(found) if found.is_sound(run.rules.band) && found.knee_is_known())
}
