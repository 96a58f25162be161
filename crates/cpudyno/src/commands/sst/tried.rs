//! `cpudyno sst try`: without a feature and with it, in turns.

use std::process::ExitCode;

use bench::ab::own::Own;
use bench::ab::{self, Comparing, Metric, Promise, What as Measured};
use levers::journal::Shelf;
use levers::{Levers, Session};
use machine::{Machine, Reading};
use model::record::{PageKind, Record, SpeedSelect, SpeedSelectQuestion};
use model::{CpuSet, Hertz};
use sst::change::{Clocks, Expected, What, Wish};
use sst::model::Megahertz;
use sst::{Levels, Wanted};

use super::super::ab::{Told, compared};
use super::super::{command, presentation, settings, sinks};
use super::change::{base_frequencies, not_changed, remark, undone};
use crate::args::{Chosen, Format, SstArgs, SstFeature, Tried, TriedWorkload, TryArgs};
use crate::failure::Failure;
use crate::signals::Signals;

pub(super) fn run(machine: &Machine, mut args: SstArgs) -> Result<ExitCode, Failure> {
    let sinks = sinks(&args.files, &mut args.look)?;
    if args.look.format == Format::Csv || args.out.is_some() {
        return Err(Failure::usage("cannot tell a comparison as csv or to the file of -o").hint(
            "print it as text, markdown or json: --format json; --json FILE keeps the record",
        ));
    }
    let question = args.question();
    let named = args.cpus.clone();
    let Some(SstFeature::Try(tried)) = args.feature else { return Ok(ExitCode::SUCCESS) };
    let look = args.look;
    // What is asked for wrongly is said before anything is set.
    is_sensible(&tried, named.as_ref())?;
    let signals = Signals::listen()?;
    let shelf = settings::shelf(machine)?;
    // From here on the first wish to stop is heard everywhere, and a second one would leave a mess.
    let _deaf = signals.ignore();
    // What is set before both arms is put back after them, whatever comes in between.
    let mut session = None;
    if let Some(level) = tried.level.filter(|_| tried.feature != Tried::PerfProfile) {
        let what = What::Level { level, with_cpus: false };
        let first = Wish { what, cpus: tried.cpus(named.as_ref()), lenient: false };
        let levers = settings::writer(machine)?;
        remark(&sst::change::planned(machine, &*levers, &first, false).map_err(not_changed)?);
        let mut opened =
            Session::open(machine, levers, &shelf, &who()).map_err(settings::refused)?;
        if let Err(error) = sst::change::apply(machine, &mut opened, &first, false) {
            return Err(undone(opened, not_changed(error)));
        }
        session = Some(opened);
    }
    let prepared = prepared(machine, &tried, (named.as_ref(), question), &shelf, &mut session);
    let (comparing, answered) = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => {
            return Err(match session {
                Some(session) => undone(session, failure),
                None => failure,
            });
        }
    };
    let described = machine::describe(machine, command(), presentation(&look, PageKind::Ab));
    let described = Record { speed_select: Some(answered), ..described };
    let told = Told { described, format: look.format, sinks };
    compared(machine, &comparing, session, &signals, told)
}

/// What is compared, with a session that holds what is set for it.
fn prepared<'m>(
    machine: &'m Machine,
    tried: &TryArgs,
    (named, question): (Option<&CpuSet>, SpeedSelectQuestion),
    shelf: &Shelf,
    session: &mut Option<Session<'m>>,
) -> Result<(Comparing, SpeedSelect), Failure> {
    let Trial { mut comparing, wish, expected } = trial(machine, tried, named)?;
    let wanted = Wanted { levels: Levels::Summary, parts: Vec::new(), cpus: wish.cpus.clone() };
    let snapshot = sst::read(machine, &wanted).map_err(super::refused)?;
    let mut answered = sst::speed_select(&snapshot, question, Vec::new());
    answered.expected = sst::expected(&expected);
    if tried.control {
        comparing.words[1] = vec!["as it is, once more".to_owned()];
        return Ok((comparing, answered));
    }
    let planned = |levers: &dyn Levers| {
        sst::change::planned(machine, levers, &wish, false).map_err(not_changed)
    };
    if session.is_none() {
        let levers = settings::writer(machine)?;
        // What is refused needs no lock; and nobody else changes what is planned under it.
        planned(&*levers)?;
        *session = Some(Session::open(machine, levers, shelf, &who()).map_err(settings::refused)?);
    }
    if let Some(session) = session {
        let plan = planned(session.levers())?;
        remark(&plan);
        comparing.changes = plan.as_arms();
    }
    Ok((comparing, answered))
}

/// Whether it can be measured at all, as far as the words tell.
fn is_sensible(tried: &TryArgs, named: Option<&CpuSet>) -> Result<(), Failure> {
    what(tried)?;
    let on = match (&tried.on, tried.feature) {
        (Some(Chosen::Cpus(cpus)), _) => Some(cpus),
        (_, Tried::TurboFreq) => Some(named.ok_or_else(nobody)?),
        _ => None,
    };
    on.into_iter().chain(&tried.on_a).try_for_each(|cpus| has_ends(tried, cpus))
}

fn nobody() -> Failure {
    Failure::usage("cannot try turbo-freq: nobody said which CPUs are to go first")
        .hint("name them: cpudyno sst try turbo-freq --on 12,13")
}

fn is_pipe(tried: &TryArgs) -> bool {
    tried.command.is_empty() && tried.workload == TriedWorkload::Pipe
}

fn has_ends(tried: &TryArgs, cpus: &CpuSet) -> Result<(), Failure> {
    if !is_pipe(tried) || cpus.len() == 2 {
        return Ok(());
    }
    let text = format!("cannot measure a pipe on CPUs {cpus}: it has two ends");
    Err(Failure::usage(text).hint("name two: --on 12,13; or measure --workload clock"))
}

fn who() -> String {
    format!("cpudyno sst try, process {}", std::process::id())
}

/// What is compared, what B is, and what firmware says of it.
struct Trial {
    comparing: Comparing,
    wish: Wish,
    expected: Vec<Expected>,
}

fn trial(machine: &Machine, tried: &TryArgs, named: Option<&CpuSet>) -> Result<Trial, Failure> {
    let on = on(machine, tried, named)?;
    let on_a = tried.on_a.clone().unwrap_or_else(|| on.clone());
    let all: CpuSet = on.iter().chain(on_a.iter()).collect();
    let wish = Wish { what: what(tried)?, cpus: Some(on.clone()), lenient: false };
    let busy = match &tried.busy {
        Chosen::Cpus(cpus) => cpus.clone(),
        Chosen::None => CpuSet::default(),
        Chosen::Usual => refusing(sst::change::others(machine, &wish, &all))?,
    };
    let mut expected = refusing(sst::change::expected(machine, &wish))?;
    // Where only A runs, nothing changes.
    let is_told = |it: &Expected| !it.cpus.intersection(&all).is_empty();
    let is_known = |cpu| expected.iter().any(|it: &Expected| it.cpus.contains(cpu));
    let beyond: CpuSet = on_a.iter().filter(|cpu| !is_known(*cpu)).collect();
    if !beyond.is_empty() {
        let there = Wish { cpus: Some(beyond), ..wish.clone() };
        let there = refusing(sst::change::expected(machine, &there))?;
        let as_it_is = |it: Expected| Expected { then: Some(it.now.clone()), ..it };
        expected.extend(there.into_iter().filter(is_told).map(as_it_is));
    }
    let mut comparing = comparing(tried, [&on_a, &on])?;
    comparing.look = Some(|machine| base_frequencies(machine, None));
    // What is promised holds while all cores are at work.
    if !busy.is_empty() && !tried.control {
        comparing.promises = promises(machine, &expected, [&on_a, &on], &busy);
    }
    comparing.words[1] = vec![wish.words()];
    if tried.on_a.is_some() {
        for (words, cpus) in comparing.words.iter_mut().zip([&on_a, &on]) {
            words.push(format!("cpus={cpus}"));
        }
    }
    comparing.busy = busy;
    Ok(Trial { comparing, wish, expected })
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
        (Tried::BaseFreq, _) => What::BaseFreq { on: true, auto: true },
        (Tried::TurboFreq, _) => What::TurboFreq { on: true, auto: true, limits: None },
    })
}

/// Where the workload runs.
fn on(machine: &Machine, tried: &TryArgs, named: Option<&CpuSet>) -> Result<CpuSet, Failure> {
    match (&tried.on, tried.feature) {
        (Some(Chosen::Cpus(cpus)), _) => Ok(cpus.clone()),
        (_, Tried::TurboFreq) => named.cloned().ok_or_else(nobody),
        _ => {
            let wish = Wish { what: what(tried)?, cpus: named.cloned(), lenient: false };
            refusing(sst::change::gainers(machine, &wish))
        }
    }
}

fn comparing(tried: &TryArgs, on: [&CpuSet; 2]) -> Result<Comparing, Failure> {
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
    on.into_iter().try_for_each(|cpus| has_ends(tried, cpus))?;
    let pipe = is_pipe(tried);
    let own = |cpus: &CpuSet| {
        let mut own = Own { cpus: Some(cpus.clone()), ..Own::default() };
        match pipe.then(|| own.take("wake", "pipe")).flatten() {
            Some(Err(why)) => Err(Failure::usage(why)),
            _ => Ok(own),
        }
    };
    let usual = Comparing::usual(measured);
    // The levers of Speed Select are proved by clocks, below.
    Ok(Comparing { own: [own(on[0])?, own(on[1])?], budget: tried.budget, prove: false, ..usual })
}

/// The clocks that firmware promises the CPUs that are measured, and those that are busy, in each arm while all cores
/// are at work.
fn promises(
    machine: &Machine,
    expected: &[Expected],
    on: [&CpuSet; 2],
    busy: &CpuSet,
) -> Vec<Promise> {
    let is_off = !levers::open::allows_turbo(machine);
    let hertz = |reading: &Reading<Megahertz>| {
        reading.as_ref().ok().map(|mhz| Hertz(f64::from(mhz.0) * 1e6))
    };
    let clock = |clocks: &Clocks| hertz(if is_off { &clocks.base } else { &clocks.turbo });
    let promise = |cpu| {
        let it = expected.iter().find(|it| it.cpus.contains(cpu))?;
        let then = it.then.as_ref().and_then(clock);
        let is_used = on.map(|cpus| cpus.contains(cpu));
        Some(Promise { cpu, clocks: [clock(&it.now), then], is_used })
    };
    let measured: CpuSet = on.into_iter().flat_map(CpuSet::iter).collect();
    let beside = busy.difference(&measured);
    measured.iter().chain(beside.iter()).filter_map(promise).collect()
}

impl TryArgs {
    /// The CPUs whose power domains are meant, as far as they are named.
    fn cpus(&self, named: Option<&CpuSet>) -> Option<CpuSet> {
        let on = match &self.on {
            Some(Chosen::Cpus(cpus)) => Some(cpus),
            _ => named,
        };
        on.map(|on| on.iter().chain(self.on_a.iter().flat_map(CpuSet::iter)).collect())
    }
}
