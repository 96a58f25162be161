//! `cpudyno sst try`: without a feature and with it, in turns.

use std::process::ExitCode;

use levers::Session;
use levers::journal::JournalDir;
use machine::Machine;
use measure::ab::{AbSubject, Comparing, Metric, Promise};
use measure::areas::subjects;
use measure::run::arm_env::ArmEnv;
use model::record::{PageKind, Proof, ProofAnswer, Record, SpeedSelect, SpeedSelectQuestion};
use model::{CpuSet, Hertz};
use sst::change::{Ceiling, CeilingBy, Clocks, Expected, Time, What, Wish};
use sst::model::Megahertz;
use sst::{Levels, Wanted};

use super::super::ab::{ComparisonOutput, compared};
use super::super::keys::Keys;
use super::super::start::Start;
use super::super::{command, presentation, settings, sinks};
use super::change::{base_frequencies, made, not_changed, open, planned, ready, remark, undone};
use crate::args::{Chosen, Format, SstArgs, SstFeature, Tried, TriedWorkload, TryArgs};
use crate::failure::{Failure, code};
use crate::signals::Signals;

pub(super) fn run(machine: &Machine, args: SstArgs) -> Result<ExitCode, Failure> {
    let (sinks, look) = sinks(args.output.clone())?;
    if look.format == Format::Csv || args.out.is_some() {
        return Err(Failure::usage("cannot tell a comparison as csv or to the file of -o").hint(
            "print it as text, markdown, html or json: --format json; --json FILE keeps the record",
        ));
    }
    let question = args.question();
    let named = args.cpus.clone();
    let Some(SstFeature::Try(tried)) = args.feature else { return Ok(ExitCode::SUCCESS) };
    // What is asked for wrongly is said before anything is set.
    is_sensible(machine, &tried, named.as_ref())?;
    let signals = Signals::listen()?;
    // A command that measures takes its turn itself.
    let is_own = tried.command.is_empty();
    let _turn = is_own.then(|| Start::default().turn(machine, &signals)).transpose()?;
    let shelf = settings::shelf(machine)?;
    is_right_at_level(machine, &tried, named.as_ref())?;
    // From here on the first wish to stop is heard everywhere, and a second one would leave a mess.
    let _deaf = signals.ignore();
    // What is set before both arms is put back after them, whatever comes in between.
    let mut session = None;
    if let Some(level) = tried.level.filter(|_| tried.feature != Tried::PerfProfile) {
        let what = What::Level { level, with_cpus: false };
        let first = Wish { what, cpus: tried.cpus(named.as_ref()), lenient: false };
        let (levers, plan) = ready(machine, &first, false)?;
        remark(&plan);
        let opened = open(machine, levers, &shelf, COMMAND)?;
        session = Some(made(machine, opened, &first, false)?.0);
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
    let told = ComparisonOutput { described, format: look.format, sinks, keys: Keys::new(false) };
    compared(machine, &comparing, session, &signals, told)
}

/// What is compared, with a session that holds what is set for it.
fn prepared<'m>(
    machine: &'m Machine,
    tried: &TryArgs,
    (named, question): (Option<&CpuSet>, SpeedSelectQuestion),
    shelf: &JournalDir,
    session: &mut Option<Session<'m>>,
) -> Result<(Comparing, SpeedSelect), Failure> {
    let Trial { mut comparing, wish, on, expected } = trial(machine, tried, named)?;
    let question =
        SpeedSelectQuestion { on: Some(on), busy: Some(comparing.busy.clone()), ..question };
    let wanted = Wanted { levels: Levels::Summary, parts: Vec::new(), cpus: wish.cpus.clone() };
    let snapshot = sst::read(machine, &wanted).map_err(super::refused)?;
    let mut answered = sst::speed_select(&snapshot, question, Vec::new());
    answered.expected = sst::expected(&expected);
    if tried.control {
        let [as_it_is, again] = &mut comparing.words;
        if let (Some(as_it_is), Some(what)) = (as_it_is.first(), again.first_mut()) {
            *what = format!("{as_it_is}, once more");
        }
        return Ok((comparing, answered));
    }
    if session.is_none() {
        let (levers, _) = ready(machine, &wish, false)?;
        *session = Some(open(machine, levers, shelf, COMMAND)?);
    }
    if let Some(session) = session {
        // Nobody else changes what is planned under the lock.
        let plan = planned(machine, session.levers(), &wish, false)?;
        remark(&plan);
        comparing.changes = sst::change::arms(machine, session, &wish).map_err(not_changed)?;
    }
    // Where B runs elsewhere, that is the difference.
    let is_elsewhere = tried.on_a.as_ref().is_some_and(|on_a| Some(on_a) != wish.cpus.as_ref());
    if comparing.changes.iter().all(Vec::is_empty) && !is_elsewhere {
        return Err(is_so(&wish));
    }
    Ok((comparing, answered))
}

/// Nothing would be compared.
fn is_so(wish: &Wish) -> Failure {
    let hint = match wish.what {
        What::BaseFreq { .. } => format!("`{} base-freq disable -a`", wish.face()),
        What::TurboFreq { .. } => format!("`{} turbo-freq disable -a`", wish.face()),
        _ => "choose another one: `cpudyno sst perf-profile info` shows all".to_owned(),
    };
    let text = format!("cannot {}: it is so already, and nothing would change", wish.words());
    Failure::new(code::REFUSED, text).hint(format!("{hint}; --control compares it with itself"))
}

/// Whether it would be refused at the level that is set for both arms, before that is set.
fn is_right_at_level(
    machine: &Machine,
    tried: &TryArgs,
    named: Option<&CpuSet>,
) -> Result<(), Failure> {
    let Some(level) = tried.level.filter(|_| tried.feature != Tried::PerfProfile) else {
        return Ok(());
    };
    let wish = |cpus: Option<CpuSet>| Ok(Wish { what: what(tried)?, cpus, lenient: false });
    let on = match (&tried.on, tried.feature) {
        (Some(Chosen::Cpus(cpus)), _) => Some(cpus.clone()),
        // Of turbo-freq, the CPUs are a part of the wish.
        (_, Tried::TurboFreq) => Some(on(machine, tried, named)?),
        _ => None,
    };
    let meant = wish(on.clone().or_else(|| named.cloned()))?;
    // What firmware locks is said before who has which CPUs.
    let level_first = Wish { what: What::Level { level, with_cpus: false }, ..meant.clone() };
    refusing(sst::change::foreseen(machine, &level_first))?;
    if let Some(on) = &on {
        let expected = refusing(sst::change::expected_at(machine, &meant, level))?;
        are_in_level(tried, &expected, on)?;
    }
    if tried.control {
        return Ok(());
    }
    refusing(sst::change::foreseen_at(machine, &meant, level)).map(drop)
}

/// Whether it can be measured at all, as far as the words tell.
fn is_sensible(machine: &Machine, tried: &TryArgs, named: Option<&CpuSet>) -> Result<(), Failure> {
    what(tried)?;
    if machine.simulated.is_some() && !tried.command.is_empty() {
        let text = "cannot measure the command: a simulated machine executes no programs";
        let hint = "measure what it simulates: --workload pipe, or --workload clock";
        return Err(Failure::new(code::NOT_HERE, text).hint(hint));
    }
    let on = match (&tried.on, tried.feature) {
        (Some(Chosen::Cpus(cpus)), _) => Some(cpus),
        (Some(_), Tried::TurboFreq) => named,
        (None, Tried::TurboFreq) => Some(named.ok_or_else(nobody)?),
        _ => None,
    };
    let option = if matches!(tried.on, Some(Chosen::Cpus(_))) { "--on" } else { "-c" };
    let measured = on.map(|cpus| (option, cpus));
    for (option, cpus) in measured.into_iter().chain(tried.on_a.iter().map(|it| ("--on-a", it))) {
        are_online(machine, option, cpus)?;
        has_ends(tried, cpus)?;
    }
    if let Chosen::Cpus(list) = &tried.busy {
        are_online(machine, "--busy", list)?;
        // Where an arm runs is left alone while it does.
        for on in on.into_iter().chain(&tried.on_a) {
            is_left(list, on)?;
        }
    }
    named.map_or(Ok(()), |named| are_meant(machine, tried, named))
}

/// Somebody is left to be kept busy.
fn is_left(list: &CpuSet, on: &CpuSet) -> Result<(), Failure> {
    if !list.difference(on).is_empty() {
        return Ok(());
    }
    let text = format!("cannot keep {} busy: the workload runs there", list.named());
    Err(Failure::usage(text).hint("name others, or nobody: --busy none"))
}

/// Whether what is measured is in the power domains that -c names, and who is busy in their packages.
fn are_meant(machine: &Machine, tried: &TryArgs, named: &CpuSet) -> Result<(), Failure> {
    let on = match &tried.on {
        Some(Chosen::Cpus(cpus)) => Some(cpus),
        _ => None,
    };
    let busy = match &tried.busy {
        Chosen::Cpus(list) => Some(list),
        Chosen::Usual | Chosen::None => None,
    };
    if on.is_none() && tried.on_a.is_none() && busy.is_none() {
        return Ok(());
    }
    let wanted = Wanted { levels: Levels::None, parts: Vec::new(), cpus: None };
    let domains = sst::read(machine, &wanted).map_err(super::refused)?.domains;
    let meant = |domain: &&sst::Domain| !domain.online().intersection(named).is_empty();
    let of = |is_in: &dyn Fn(&sst::Domain) -> bool| -> CpuSet {
        let all = domains.iter().filter(|it| is_in(it));
        all.flat_map(|domain| domain.online().iter().collect::<Vec<_>>()).collect()
    };
    let domain_of = of(&|it| meant(&it));
    let packages: Vec<u32> = domains.iter().filter(meant).map(|it| it.package).collect();
    let package_of = of(&|it| packages.contains(&it.package));
    let asked = [
        ("--on", on, &domain_of, "power domain"),
        ("--on-a", tried.on_a.as_ref(), &domain_of, "power domain"),
        ("--busy", busy, &package_of, "package"),
    ];
    for (option, cpus, there, place) in asked {
        let elsewhere = cpus.map(|cpus| cpus.difference(there)).unwrap_or_default();
        if !elsewhere.is_empty() {
            let text = format!(
                "cannot use {} of {option}: in another {place} than {} of -c",
                elsewhere.named(),
                named.named()
            );
            return Err(Failure::usage(text).hint(format!("choose among {there}, or leave out -c")));
        }
    }
    Ok(())
}

fn nobody() -> Failure {
    Failure::usage("cannot try turbo-freq: no CPUs were named to go first")
        .hint("name them: cpudyno sst try turbo-freq --on 12,13")
}

fn is_pipe(tried: &TryArgs) -> bool {
    tried.command.is_empty() && tried.workload == TriedWorkload::Pipe
}

fn has_ends(tried: &TryArgs, cpus: &CpuSet) -> Result<(), Failure> {
    if !is_pipe(tried) || cpus.len() == 2 {
        return Ok(());
    }
    let text = format!("cannot measure a pipe on {}: it has two ends", cpus.named());
    Err(Failure::usage(text).hint("name two: --on 12,13; or measure --workload clock"))
}

/// Who holds the machine meanwhile.
const COMMAND: &str = "sst try";

/// What is compared, what B is, and what firmware says of it.
struct Trial {
    comparing: Comparing,
    wish: Wish,
    /// Where A runs, and B.
    on: [CpuSet; 2],
    expected: Vec<Expected>,
}

fn trial(machine: &Machine, tried: &TryArgs, named: Option<&CpuSet>) -> Result<Trial, Failure> {
    is_permitted(machine, tried, named)?;
    let on = on(machine, tried, named)?;
    let on_a = tried.on_a.clone().unwrap_or_else(|| on.clone());
    let wish = Wish { what: what(tried)?, cpus: Some(on.clone()), lenient: false };
    if !tried.control {
        refusing(sst::change::foreseen(machine, &wish))?;
    }
    let arms = [&on_a, &on];
    let with = if tried.control { Time::Now } else { Time::Then };
    let busy =
        [busy(machine, tried, &wish, &on_a, Time::Now)?, busy(machine, tried, &wish, &on, with)?];
    let at_work = [0, 1].map(|arm| arms[arm].iter().chain(busy[arm].iter()).collect::<CpuSet>());
    let expected = everywhere(&wish, arms, |wish| sst::change::expected(machine, wish))?;
    are_in_level(tried, &expected, &on)?;
    let as_it_is = |expected: Vec<Expected>| -> Vec<Expected> {
        let same = |it: Expected| Expected { then: Some(it.now.clone()), ..it };
        if tried.control { expected.into_iter().map(same).collect() } else { expected }
    };
    let mut comparing = comparing(tried, arms)?;
    comparing.look = Some(|machine| base_frequencies(machine, None));
    // Limits above the base frequency go by the number of cores at work.
    if busy.iter().all(|busy| !busy.is_empty()) || !levers::unlimited::allows_turbo(machine) {
        let with = |wish: &Wish| sst::change::expected_with(machine, wish, &at_work);
        let expected = as_it_is(everywhere(&wish, arms, with)?);
        comparing.promises = promises(&expected, arms, &busy);
    } else {
        comparing.unobserved.push(unobserved(arms));
    }
    // Both arms are at that level.
    let what = match tried.level.filter(|_| tried.feature != Tried::PerfProfile) {
        Some(level) => {
            ["as it is otherwise", &wish.words()].map(|it| format!("level {level}, {it}"))
        }
        None => ["as it is".to_owned(), wish.words()],
    };
    for (arm, what) in what.into_iter().enumerate() {
        let told = [("cpus", arms[arm]), ("busy", &busy[arm])].map(|(word, cpus)| {
            if cpus.is_empty() { format!("{word}=none") } else { format!("{word}={cpus}") }
        });
        comparing.words[arm] = std::iter::once(what).chain(told).collect();
    }
    comparing.busy = busy;
    comparing.watches_clocks = true;
    let on = arms.map(CpuSet::clone);
    Ok(Trial { comparing, wish, on, expected: as_it_is(expected) })
}

/// What firmware refuses whichever CPUs are measured comes before who gains by it.
fn is_permitted(machine: &Machine, tried: &TryArgs, named: Option<&CpuSet>) -> Result<(), Failure> {
    let cpus = match &tried.on {
        Some(Chosen::Cpus(cpus)) => Some(cpus.clone()),
        _ => named.cloned(),
    };
    // Of turbo-freq, the CPUs are a part of the wish.
    if tried.control || tried.feature == Tried::TurboFreq && cpus.is_none() {
        return Ok(());
    }
    let wish = Wish { what: what(tried)?, cpus, lenient: false };
    refusing(sst::change::foreseen(machine, &wish)).map(drop)
}

/// Whether the level has the CPUs that are measured, and those that are kept busy by name.
fn are_in_level(tried: &TryArgs, expected: &[Expected], on: &CpuSet) -> Result<(), Failure> {
    let of = |is_in: bool| -> CpuSet {
        let some = expected.iter().filter(|it| it.then.is_some() == is_in);
        some.flat_map(|it| it.cpus.iter()).collect()
    };
    let (with, without) = (of(true), of(false));
    let busy = match &tried.busy {
        Chosen::Cpus(list) => Some(("keep", list, "busy")),
        Chosen::Usual | Chosen::None => None,
    };
    for (option, (verb, cpus, what)) in
        std::iter::once(("--on", ("measure on", on, ""))).chain(busy.map(|it| ("--busy", it)))
    {
        let lacking = cpus.intersection(&without);
        if !lacking.is_empty() {
            let text = format!("cannot {verb} {} {what}", lacking.named());
            let text = format!("{}: not in the level", text.trim_end());
            let hint = format!("choose among {option} {with}");
            return Err(Failure::new(code::NOT_HERE, text).hint(hint));
        }
    }
    Ok(())
}

/// That the clocks of measured CPUs cannot be held against a promise.
fn unobserved(on: [&CpuSet; 2]) -> Proof {
    let cpus: CpuSet = on.into_iter().flat_map(CpuSet::iter).collect();
    Proof {
        id: format!("clock of {}", cpus.named()),
        load: "none".to_owned(),
        answer: ProofAnswer::NotObservable,
        seen: "nobody is kept busy beside them: how many cores are at work is not known, and firmware's turbo \
               limits go by that (--busy rest)"
            .to_owned(),
        caveat: None,
    }
}

/// Who is kept busy while an arm runs on these CPUs: where it runs, nobody else does.
fn busy(
    machine: &Machine,
    tried: &TryArgs,
    wish: &Wish,
    on: &CpuSet,
    time: Time,
) -> Result<CpuSet, Failure> {
    let list = match &tried.busy {
        Chosen::None => return Ok(CpuSet::default()),
        Chosen::Usual => return refusing(sst::change::others(machine, wish, on, time)),
        Chosen::Cpus(list) => list,
    };
    is_left(list, on)?;
    Ok(list.difference(on))
}

/// Whether CPUs that an option names are there.
fn are_online(machine: &Machine, option: &str, cpus: &CpuSet) -> Result<(), Failure> {
    let online = machine::facts::machine(machine).topology.online;
    let gone = cpus.difference(&online);
    if gone.is_empty() { Ok(()) } else { Err(Failure::not_online(&gone, &online, option)) }
}

/// What is expected where an arm runs. Where only A runs, nothing changes.
fn everywhere(
    wish: &Wish,
    [on_a, on]: [&CpuSet; 2],
    expected: impl Fn(&Wish) -> Result<Vec<Expected>, sst::change::Refused>,
) -> Result<Vec<Expected>, Failure> {
    let mut found = refusing(expected(wish))?;
    let is_known = |cpu| found.iter().any(|it: &Expected| it.cpus.contains(cpu));
    let beyond: CpuSet = on_a.iter().filter(|cpu| !is_known(*cpu)).collect();
    if !beyond.is_empty() {
        let all: CpuSet = on_a.iter().chain(on.iter()).collect();
        let there = refusing(expected(&Wish { cpus: Some(beyond), ..wish.clone() }))?;
        let there = there.into_iter().filter(|it| !it.cpus.intersection(&all).is_empty());
        found.extend(there.map(|it| Expected { then: Some(it.now.clone()), ..it }));
    }
    Ok(found)
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
        (Some(_), Tried::TurboFreq) if named.is_none() => {
            let wish = Wish { what: what(tried)?, cpus: None, lenient: false };
            refusing(sst::change::first_class(machine, &wish))
        }
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
        let subject = subjects::find(subject).expect("BUG: a subject has a row");
        AbSubject::Area(subject, None)
    } else {
        AbSubject::Command(tried.command.clone(), Metric::Wall)
    };
    on.into_iter().try_for_each(|cpus| has_ends(tried, cpus))?;
    let pipe = is_pipe(tried);
    let own = |cpus: &CpuSet| {
        let mut own = ArmEnv { cpus: Some(cpus.clone()), ..ArmEnv::default() };
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
fn promises(expected: &[Expected], on: [&CpuSet; 2], busy: &[CpuSet; 2]) -> Vec<Promise> {
    let hertz = |mhz: &Megahertz| Hertz(f64::from(mhz.0) * 1e6);
    let clock = |clocks: &Clocks| clocks.turbo.as_ref().ok().map(hertz);
    let promise = |cpu| {
        let it = expected.iter().find(|it| it.cpus.contains(cpu))?;
        let then = it.then.as_ref();
        let held_by = [Some(&it.now), then].map(|clocks| held_by(clocks?));
        let is_used = on.map(|cpus| cpus.contains(cpu));
        let is_busy = busy.each_ref().map(|cpus| cpus.contains(cpu));
        Some(Promise {
            cpu,
            clocks: [clock(&it.now), then.and_then(clock)],
            held_by,
            is_used,
            is_busy,
        })
    };
    let all: CpuSet = on.into_iter().chain(busy).flat_map(CpuSet::iter).collect();
    all.iter().filter_map(promise).collect()
}

/// Who holds a promised clock down, where somebody does.
fn held_by(clocks: &Clocks) -> Option<String> {
    let Ceiling { by, .. } = clocks.ceiling.filter(|it| clocks.turbo == Ok(it.mhz))?;
    Some(match by {
        CeilingBy::Class(number) => format!("at most, by class {number}"),
        CeilingBy::Kernel => "at most, by scaling_max_freq".to_owned(),
        CeilingBy::TurboLimits => "at most, by register 1ADh".to_owned(),
        CeilingBy::NoTurbo => "at most, turbo is off".to_owned(),
    })
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

#[cfg(test)]
mod tests {
    use clap::Parser;
    use model::Seconds;

    use super::*;
    use crate::args::{Cli, Command};

    /// A simulated machine executes no programs, and there is no Speed Select where tests run: what a command comes to is
    /// looked at here, and what becomes of it with an engine in `tests/sst_try.rs`.
    #[test]
    fn a_command_is_measured_by_its_time_where_each_arm_runs() {
        let line = "cpudyno sst try turbo-freq --on-a 3 --on 12,13 --budget 5s -- ./job --on 7";
        let Command::Sst(args) = Cli::parse_from(line.split(' ')).command else { panic!("{line}") };
        let Some(SstFeature::Try(tried)) = args.feature else { panic!("{line}") };
        let [on_a, on]: [CpuSet; 2] = ["3", "12-13"].map(|cpus| cpus.parse().unwrap());
        let comparing = comparing(&tried, [&on_a, &on]).unwrap();
        let AbSubject::Command(words, Metric::Wall) = &comparing.what else { panic!("{line}") };
        assert_eq!(words, &["./job", "--on", "7"]);
        assert_eq!(comparing.own.each_ref().map(|own| own.cpus.clone()), [Some(on_a), Some(on)]);
        assert_eq!((comparing.budget, comparing.prove), (Seconds(5.0), false));
        // A pipe has two ends; a command runs on as many CPUs as are there.
        let line = "cpudyno sst try turbo-freq --on 12";
        let Command::Sst(args) = Cli::parse_from(line.split(' ')).command else { panic!("{line}") };
        let Some(SstFeature::Try(tried)) = args.feature else { panic!("{line}") };
        let one: CpuSet = "12".parse().unwrap();
        assert!(super::comparing(&tried, [&one, &one]).is_err());
    }
}
