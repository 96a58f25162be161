//! `cpudyno sst`.

mod change;
mod trial;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use machine::Machine;
use model::name::did_you_mean;
use model::record::{
    FeatureState, PageKind, PerformanceLevel, SpeedSelect, SpeedSelectQuestion, TurboFrequencies,
};
use model::{Known, Obstacle, Reading, Unavailable};
use sst::change::{Refused, What, Wish};
use sst::{Calls, Command, Domain, Error, Levels, Snapshot, Wanted};

pub(super) use self::change::not_changed;
use super::{Delivery, command, presentation, sinks};
use crate::args::{SstArgs, SstFeature};
use crate::failure::{Failure, code};
use crate::output::{self, Sink};

pub(super) fn run(mut machine: Machine, args: SstArgs) -> Result<ExitCode, Failure> {
    let calls = args.debug.then(|| Calls::of(&mut machine));
    let (answer, is_told) = match args.wish() {
        Some((wish, change)) => (change::run(&machine, &args, &wish, change), false),
        None if matches!(args.feature, Some(SstFeature::Try(_))) => {
            (trial::run(&machine, args), false)
        }
        None => {
            let answer = shown(&machine, &args, calls.as_ref());
            let is_told = answer.is_ok();
            (answer, is_told)
        }
    };
    // Where they are on no page, they are told beside it; they may say why there is none.
    for line in calls.iter().filter(|_| !is_told).flat_map(Calls::lines) {
        output::remark(&line);
    }
    answer
}

/// What reads, and changes nothing.
fn shown(machine: &Machine, args: &SstArgs, calls: Option<&Calls>) -> Result<ExitCode, Failure> {
    let (sinks, look) = sinks(args.output.clone())?;
    let out = args.out.as_deref().map(Sink::open).transpose()?;
    let presentation = presentation(&look, PageKind::Sst);
    let begin = sys::clock::monotonic_raw();
    let answered = match args.planned() {
        Some(wish) => planned(machine, args.question(), &wish, calls),
        None => answered(machine, args.question(), calls),
    }?;
    let took = sys::clock::monotonic_raw().saturating_sub(begin);
    let words = without_path(command(), args.out.as_deref());
    let mut record = sst::record(machine, answered, words, presentation);
    if machine.simulated.is_none() && machine.elsewhere.is_none() {
        record.run.seconds = took.as_secs_f64();
    }
    let telling = Delivery::of(&record);
    telling.write(sinks)?;
    output::deliver(out, &telling.told(look.format)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Asks, and makes sure that what was asked for is there at all.
fn answered(
    machine: &Machine,
    question: SpeedSelectQuestion,
    calls: Option<&Calls>,
) -> Result<SpeedSelect, Failure> {
    let asked = Command::named(&question.command).expect("BUG: each command has a row");
    let mut wanted = Wanted { cpus: question.cpus.clone(), ..Wanted::by(asked) };
    if let Some(level) = question.level {
        wanted.levels = Levels::Only(level);
    }
    let snapshot = sst::read(machine, &wanted).map_err(refused)?;
    if let Some(reason) = nothing(&snapshot, asked) {
        return Err(refused(Error::Unavailable(reason.clone())));
    }
    let lines = calls.map(Calls::lines).unwrap_or_default();
    let answered = sst::speed_select(&snapshot, question, lines);
    match answered.question.command.as_str() {
        "base-freq info" => has(&answered, "base-freq", |level| &level.base_freq_state)?,
        "turbo-freq info" => {
            has(&answered, "turbo-freq", |level| &level.turbo_freq_state)?;
            parts_are_there(&answered)?;
        }
        _ => {}
    }
    Ok(answered)
}

/// Why nothing is known of what was asked for, where that is so: in all power domains.
fn nothing<'a>(snapshot: &'a Snapshot, asked: &Command) -> Option<&'a Unavailable> {
    fn reason<T>(reading: &Reading<T>) -> Option<&Unavailable> {
        reading.as_ref().err()
    }
    let of = |domain: &'a Domain| -> Vec<Option<&'a Unavailable>> {
        if let Some(profiles) = &domain.profiles {
            return vec![reason(profiles)];
        }
        if let Some(classes) = &domain.classes {
            return classes.iter().map(reason).collect();
        }
        if let Some(all) = &domain.associations {
            return all.iter().map(|(_, class)| reason(class)).collect();
        }
        domain.core_power.iter().map(|of| reason(&of.supported)).collect()
    };
    let reasons: Vec<_> = snapshot.domains.iter().flat_map(of).collect();
    let is_none = !reasons.is_empty() && reasons.iter().all(Option::is_some);
    // That cores have no priorities at all is an answer, and has its page.
    let first = reasons.first().copied().flatten().filter(|_| is_none)?;
    (asked.levels != Levels::None || first.obstacle != Obstacle::Hardware).then_some(first)
}

/// Who would get which clock.
fn planned(
    machine: &Machine,
    question: SpeedSelectQuestion,
    wish: &Wish,
    calls: Option<&Calls>,
) -> Result<SpeedSelect, Failure> {
    if matches!(wish.what, What::TurboFreq { .. }) && wish.cpus.is_none() {
        return Err(Failure::usage("cannot plan turbo-freq: no CPUs were named to go first")
            .hint("name them before the feature: cpudyno sst -c 12,13 plan turbo-freq"));
    }
    let refusing = |refused: Refused| change::not_changed(refused.into());
    let wanted = Wanted { levels: Levels::Summary, parts: Vec::new(), cpus: question.cpus.clone() };
    let snapshot = sst::read(machine, &wanted).map_err(refused)?;
    let is_there = |level: u8| {
        let profiles = snapshot.domains.iter().filter_map(|it| it.profiles.as_ref()?.as_ref().ok());
        profiles.into_iter().all(|profiles| profiles.current == level)
    };
    let other = question.level.filter(|_| !matches!(wish.what, What::Level { .. }));
    let other = other.filter(|level| !is_there(*level));
    let answers = match other {
        // The level comes first.
        Some(level) => {
            let what = What::Level { level, with_cpus: false };
            let first = Wish { what, ..wish.clone() };
            let expected = sst::change::expected_at(machine, wish, level);
            let foreseen = sst::change::foreseen(machine, &first).and_then(|mut remarks| {
                remarks.insert(0, format!(
                    "this is at level {level}: `{} perf-profile set-config-level -l {level}` comes first",
                    wish.face()
                ));
                remarks.extend(sst::change::foreseen_at(machine, wish, level)?);
                Ok(remarks)
            });
            (expected, foreseen)
        }
        None => (sst::change::expected(machine, wish), sst::change::foreseen(machine, wish)),
    };
    let (expected, to_know) = match answers {
        (Ok(expected), Ok(remarks)) => (expected, remarks),
        (Ok(expected), Err(refused @ (Refused::Order { .. } | Refused::Unread(_)))) => {
            let hint = refused.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            (expected, vec![format!("as things are, it would be refused: {refused}{hint}")])
        }
        // Who would refuse it says more than who cannot tell the clocks; and no clocks come of what cannot be.
        (_, Err(refused @ (Refused::NotHere { .. } | Refused::Usage { .. })))
        | (Err(_), Err(refused))
        | (Err(refused), Ok(_)) => return Err(refusing(refused)),
    };
    let lines = calls.map(Calls::lines).unwrap_or_default();
    let answered = sst::speed_select(&snapshot, question, lines);
    Ok(SpeedSelect { expected: sst::expected(&expected), to_know, ..answered })
}

pub(super) fn refused(error: Error) -> Failure {
    const LOOK: &str = "`cpudyno sst --machine sim:guide` shows what it looks like where it is";
    let message = error.to_string();
    let code = if error.is_right() { code::REFUSED } else { code::NOT_HERE };
    match error {
        Error::Unavailable(reason) => {
            let hint = reason.remedy.unwrap_or_else(|| LOOK.to_owned());
            Failure::new(code, message).hint(hint)
        }
        Error::Cpus { online, .. } => {
            Failure::usage(message).hint(format!("choose among -c {online}"))
        }
        Error::Unplaced { reason, .. } => Failure { code, message, hint: reason.remedy },
        Error::Level { .. } => Failure::new(code::NOT_HERE, message)
            .hint("leave out -l: `cpudyno sst perf-profile info` shows all levels"),
    }
}

fn levels(answered: &SpeedSelect) -> impl Iterator<Item = &PerformanceLevel> {
    let profiles = answered.domains.iter().filter_map(|domain| domain.profiles.as_ref()?.value());
    profiles.flat_map(|profiles| &profiles.levels)
}

/// Some power domain has the feature at that level; those that do not are not in the way.
fn has(
    answered: &SpeedSelect,
    feature: &str,
    state: fn(&PerformanceLevel) -> &Known<FeatureState>,
) -> Result<(), Failure> {
    let is_not =
        |level: &PerformanceLevel| matches!(state(level), Known::Yes(FeatureState::Unsupported));
    let Some(level) = levels(answered).next().filter(|_| levels(answered).all(is_not)) else {
        return Ok(());
    };
    let text = format!("cannot describe {feature}: level {} does not support it", level.number);
    Err(Failure::new(code::NOT_HERE, text)
        .hint("`cpudyno sst info` says at which levels it is; name one: -l 0"))
}

/// A group of cores or a licence that is named is there.
fn parts_are_there(answered: &SpeedSelect) -> Result<(), Failure> {
    let of = |level| -> Option<&TurboFrequencies> {
        let level: &PerformanceLevel = level;
        level.turbo_freq.as_ref()?.value()
    };
    let all = || levels(answered).filter_map(of).flat_map(|of| &of.chosen);
    let names: BTreeSet<&str> = all().map(|it| it.licence.as_str()).collect();
    if let Some(asked) = answered.question.licence.as_deref().filter(|it| !names.contains(it)) {
        let known: Vec<&str> = names.iter().copied().collect();
        let hint = match did_you_mean(asked, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("licences: {}", known.join(", ")),
        };
        let text = format!("cannot describe limits under `{asked}`: there is no such licence here");
        return Err(Failure::new(code::NOT_HERE, text).hint(hint));
    }
    let groups = all().map(|it| it.steps.len()).max().unwrap_or(0);
    match answered.question.bucket {
        Some(bucket) if usize::from(bucket) >= groups && groups > 0 => {
            let text = format!(
                "cannot describe group {bucket} of chosen cores: there are groups 0 to {}",
                groups - 1
            );
            Err(Failure::new(code::NOT_HERE, text).hint("leave out -b to see all of them"))
        }
        _ => Ok(()),
    }
}

/// Where the page goes is nobody's business (invariant I10).
pub(super) fn without_path(words: Vec<String>, out: Option<&Path>) -> Vec<String> {
    let Some(out) = out.map(Path::to_string_lossy) else { return words };
    let hidden = |word: String| match word.strip_suffix(&*out) {
        Some(option @ ("" | "-o" | "--out=")) => format!("{option}FILE"),
        _ => word,
    };
    words.into_iter().map(hidden).collect()
}
