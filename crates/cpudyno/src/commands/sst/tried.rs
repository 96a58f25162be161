//! `cpudyno sst try`: without a feature and with it, in turns.

use std::process::ExitCode;

use bench::ab::own::Own;
use bench::ab::{self, Comparing, Metric, Promise, What as Measured};
use levers::Session;
use machine::{Machine, Reading};
use model::record::{PageKind, Record};
use model::{CpuSet, Hertz};
use sst::change::{Clocks, Expected, What, Wish};
use sst::model::Megahertz;
use sst::{Levels, Wanted};

use super::super::ab::{Told, compared};
use super::super::{command, presentation, settings, sinks};
use super::change::not_changed;
use crate::args::{Chosen, Format, SstArgs, SstFeature, Tried, TriedWorkload, TryArgs};
use crate::failure::Failure;
use crate::output;
use crate::signals::Signals;

pub(super) fn run(machine: &Machine, mut args: SstArgs) -> Result<ExitCode, Failure> {
    let sinks = sinks(&args.files, &mut args.look)?;
    if args.look.format == Format::Csv || args.out.is_some() {
        return Err(Failure::usage("cannot tell a comparison as csv or to the file of -o").hint(
            "print it as text, markdown or json: --format json; --json FILE keeps the record",
        ));
    }
    let question = args.question();
    let Some(SstFeature::Try(tried)) = args.feature else { return Ok(ExitCode::SUCCESS) };
    let on = on(machine, &tried, args.cpus.as_ref())?;
    let wish = Wish { what: what(&tried)?, cpus: Some(on.clone()), lenient: false };
    let busy = match &tried.busy {
        Chosen::Cpus(cpus) => cpus.clone(),
        Chosen::None => CpuSet::default(),
        Chosen::Usual => refusing(sst::change::others(machine, &wish, &on))?,
    };
    let expected = refusing(sst::change::expected(machine, &wish))?;
    let mut comparing = comparing(&tried, &on)?;
    if !busy.is_empty() && !tried.control {
        comparing.promises = promises(machine, &expected, &on);
    }
    comparing.words[1] = vec![wish.words()];
    comparing.busy = busy;
    let presentation = presentation(&args.look, PageKind::Ab);
    let described = machine::describe(machine, command(), presentation);
    let wanted = Wanted { levels: Levels::Summary, parts: Vec::new(), cpus: Some(on) };
    let snapshot = sst::read(machine, &wanted).map_err(super::refused)?;
    let mut answered = sst::speed_select(&snapshot, question, Vec::new());
    answered.expected = sst::expected(&expected);
    let described = Record { speed_select: Some(answered), ..described };
    let told = Told { described, format: args.look.format, sinks };
    let signals = Signals::listen()?;
    if tried.control {
        comparing.words[1] = vec!["as it is, once more".to_owned()];
        return compared(machine, &comparing, None, &signals, told);
    }
    let levers = settings::writer(machine)?;
    // What is refused needs no lock; and nobody else changes what is planned under it.
    sst::change::planned(machine, &*levers, &wish, false).map_err(not_changed)?;
    let shelf = settings::shelf(machine)?;
    let who = format!("cpudyno sst try, process {}", std::process::id());
    let session = Session::open(machine, levers, &shelf, &who).map_err(settings::refused)?;
    let plan =
        sst::change::planned(machine, session.levers(), &wish, false).map_err(not_changed)?;
    for remark in &plan.remarks {
        output::remark(&format!("note: {remark}"));
    }
    comparing.changes = plan.as_arms();
    compared(machine, &comparing, Some(session), &signals, told)
}

fn refusing<T>(answer: Result<T, sst::change::Refused>) -> Result<T, Failure> {
    answer.map_err(|error| not_changed(error.into()))
}

fn what(tried: &TryArgs) -> Result<What, Failure> {
    Ok(match (tried.feature, tried.level) {
        (Tried::PerfProfile, Some(level)) => What::Level { level, with_cpus: false },
        (Tried::PerfProfile, None) => {
            return Err(Failure::usage("cannot try a performance level: nobody said which")
                .hint("cpudyno sst try perf-profile -l 4"));
        }
        (_, Some(_)) => {
            return Err(Failure::usage(
                "cannot try a feature at another level than the one at present",
            )
            .hint("first the level: `cpudyno sst perf-profile set-config-level`"));
        }
        (Tried::BaseFreq, None) => What::BaseFreq { on: true, auto: true },
        (Tried::TurboFreq, None) => What::TurboFreq { on: true, auto: true, limits: None },
    })
}

/// Where the workload runs.
fn on(machine: &Machine, tried: &TryArgs, named: Option<&CpuSet>) -> Result<CpuSet, Failure> {
    match (&tried.on, tried.feature) {
        (Some(Chosen::Cpus(cpus)), _) => Ok(cpus.clone()),
        (_, Tried::TurboFreq) => match named {
            Some(cpus) => Ok(cpus.clone()),
            None => {
                Err(Failure::usage("cannot try turbo-freq: nobody said which CPUs are to go first")
                    .hint("name them: cpudyno sst try turbo-freq --on 12,13"))
            }
        },
        _ => {
            let wish = Wish { what: what(tried)?, cpus: named.cloned(), lenient: false };
            refusing(sst::change::gainers(machine, &wish))
        }
    }
}

fn comparing(tried: &TryArgs, on: &CpuSet) -> Result<Comparing, Failure> {
    let measured = if tried.command.is_empty() {
        let subject = match tried.workload {
            TriedWorkload::Pipe => "wake",
            TriedWorkload::Clock => "turbo",
        };
        let subject = ab::find(subject).expect("BUG: a subject has a row");
        Measured::Area(subject, None)
    } else {
        Measured::Command(tried.command.clone(), Metric::Wall)
    };
    let pipe = tried.command.is_empty() && tried.workload == TriedWorkload::Pipe;
    if pipe && on.len() != 2 {
        let text = format!("cannot measure a pipe on CPUs {on}: it has two ends");
        return Err(Failure::usage(text).hint("name two: --on 12,13; or measure --workload clock"));
    }
    let own = || {
        let mut own = Own { cpus: Some(on.clone()), ..Own::default() };
        match pipe.then(|| own.take("wake", "pipe")).flatten() {
            Some(Err(why)) => Err(Failure::usage(why)),
            _ => Ok(own),
        }
    };
    let usual = Comparing::usual(measured);
    // The levers of Speed Select are proved by clocks, below.
    Ok(Comparing { own: [own()?, own()?], budget: tried.budget, prove: false, ..usual })
}

/// The clocks that firmware promises the measured CPUs while all cores are at work.
fn promises(machine: &Machine, expected: &[Expected], on: &CpuSet) -> Vec<Promise> {
    let no_turbo = "/sys/devices/system/cpu/intel_pstate/no_turbo";
    let is_off = machine.tree.read(no_turbo).is_ok_and(|text| text.trim() == "1");
    let hertz = |reading: &Reading<Megahertz>| {
        reading.as_ref().ok().map(|mhz| Hertz(f64::from(mhz.0) * 1e6))
    };
    let clock = |clocks: &Clocks| hertz(if is_off { &clocks.base } else { &clocks.turbo });
    let promise = |cpu| {
        let it = expected.iter().find(|it| it.cpus.contains(cpu))?;
        let then = it.then.as_ref().and_then(clock);
        Some(Promise { cpu, clocks: [clock(&it.now), then] })
    };
    on.iter().filter_map(promise).collect()
}
