//! Does this machine pass? Bounds on results, their place among earlier records, and without either what is known
//! anyway.
//!
//! [`judge`] says what came of them as a part of the record, [`page()`] shows it; [`callers`] says it as schedulers and
//! monitors want it, [`verdict`] as an object, [`learn`] makes bounds of records of good machines.

mod answers;
mod bounds;
pub mod callers;
mod known;
pub mod learn;
mod page;
pub mod verdict;

use model::areas;
use model::record::{
    Bound, GateBound, GateCode, GateItem, GateRun, GateState, GateVerdict, Record, ReferenceRun,
};
use model::{Finding, Severity};

use report::reference;

pub use self::page::page;
use crate::digest;

/// What a machine is judged by.
#[derive(Debug, Clone, Copy, Default)]
pub struct Measures<'a> {
    /// Bounds on its results.
    pub bounds: &'a [Bound],
    /// Where its results lie among those of earlier records.
    pub reference: Option<&'a ReferenceRun>,
    /// Why no bound can be used, where they are of another kind of machine.
    pub unfit: Option<&'a str>,
}

impl Measures<'_> {
    /// Whether it is judged by what is known anyway.
    fn are_none(&self) -> bool {
        self.bounds.is_empty() && self.reference.is_none() && self.unfit.is_none()
    }
}

/// What came of it.
pub fn judge(record: &Record, by: &Measures<'_>) -> GateRun {
    let results = &digest::at_hand(record).results;
    let bounds: Vec<GateBound> =
        by.bounds.iter().map(|bound| bounds::bounded(bound, results)).collect();
    let mut items: Vec<GateItem> = if by.are_none() { known::items(record) } else { Vec::new() };
    items
        .extend(by.bounds.iter().zip(&bounds).map(|(bound, outcome)| bounds::item(bound, outcome)));
    items.extend(by.reference.into_iter().flat_map(of_peers));
    items.extend(by.unfit.map(|why| open("bounds", why)));
    items.extend(answers::items(record));
    // What a disturbed run says of a machine, the next one may not.
    if let Some(finding) = disturbance(record) {
        let is_doubtful =
            |item: &&mut GateItem| item.state == GateState::Fails && item.code.is_timed();
        items.iter_mut().filter(is_doubtful).for_each(|item| doubted(item, finding));
    }
    // A run that nobody should rely on lets nobody pass.
    let serious = record.findings.iter().filter(|finding| finding.severity == Severity::Serious);
    let is_of_run =
        |finding: &&Finding| !known::is_of_machine(finding) && !answers::is_of_answers(finding);
    items.extend(serious.filter(is_of_run).map(|finding| {
        let why = format!("{}: {}", finding.about, finding.text);
        GateItem { remedy: finding.remedy.clone(), ..open("this run", &why) }
    }));
    if let Some(why) = &record.run.interrupted {
        items.insert(0, open("this run", &format!("the run was {why}")));
    }
    let has = |state| items.iter().any(|item: &GateItem| item.state == state);
    if !has(GateState::Holds) && !has(GateState::Fails) && !has(GateState::CannotJudge) {
        let first = items.iter().find_map(|item| item.why.as_ref());
        let why = first.map_or_else(
            || "nothing could be measured".to_owned(),
            |why| format!("nothing could be judged: {why}"),
        );
        items.push(open("this run", &why));
    }
    // The worst first; the rest in the order in which it was asked.
    items.sort_by(|a, b| {
        let off = |item: &GateItem| item.off.filter(|_| item.state == GateState::Fails);
        let by_loss = off(b).unwrap_or(0.0).total_cmp(&off(a).unwrap_or(0.0));
        a.state.cmp(&b.state).then(by_loss)
    });
    let verdict = match items.first().map(|item| item.state) {
        Some(GateState::Fails) => GateVerdict::Fail,
        Some(GateState::CannotJudge) | None => GateVerdict::CannotJudge,
        Some(_) => GateVerdict::Pass,
    };
    let reason = reason(verdict, &bounds, by, &items);
    GateRun { verdict, reason, bounds, items }
}

/// What other work may have caused is no failure.
fn doubted(item: &mut GateItem, finding: &Finding) {
    item.state = GateState::CannotJudge;
    let why = item.why.take().unwrap_or_else(|| item.name.clone());
    item.why = Some(format!("{why}; this run was disturbed: {}", finding.text));
    item.remedy.clone_from(&finding.remedy);
}

/// Something that lets nobody pass, as it could not be judged.
fn open(name: &str, why: &str) -> GateItem {
    GateItem {
        code: GateCode::Cfg,
        name: name.to_owned(),
        state: GateState::CannotJudge,
        found: None,
        expected: None,
        by: String::new(),
        why: Some(why.to_owned()),
        remedy: None,
        off: None,
    }
}

/// Where results lie among those of earlier records.
fn of_peers(run: &ReferenceRun) -> Vec<GateItem> {
    let placed =
        || run.positions.iter().filter_map(|position| Some((position, position.place.value()?)));
    let item =
        |(position, place): (&model::record::ReferencePosition, &model::record::ReferencePlace)| {
            let middle = place.quartiles[2];
            let is_worse = position.is_worse();
            GateItem {
                code: code_of(&position.what.area, &position.what.quantity),
                name: areas::result_name(&position.what),
                state: if is_worse { GateState::Fails } else { GateState::Holds },
                found: Some(model::page::si::format(position.value, position.unit)),
                expected: Some(model::page::si::format(middle, position.unit)),
                by: format!("{} peers", position.count),
                why: is_worse.then(|| {
                    format!(
                        "{}: {}",
                        areas::result_name(&position.what),
                        reference::in_words(position)
                    )
                }),
                remedy: None,
                off: Some((position.value / middle).ln().abs()),
            }
        };
    if placed().next().is_none() {
        let left_out = reference::left_out(run);
        let more = left_out.map_or_else(String::new, |some| format!(" ({some}: -v)"));
        return vec![open("peers", &(reference::too_few(run) + &more))];
    }
    placed().map(item).collect()
}

/// The kind of what an area measures.
fn code_of(area: &str, quantity: &str) -> GateCode {
    match area {
        areas::memory::AREA if quantity == "latency" => GateCode::Lat,
        areas::memory::AREA => GateCode::Bw,
        areas::cores::AREA => GateCode::C2c,
        areas::wake::AREA | areas::openmp::AREA | areas::pause::AREA => GateCode::Wake,
        areas::jitter::AREA => GateCode::Noise,
        _ => GateCode::Clk,
    }
}

/// The verdict in one line.
fn reason(
    verdict: GateVerdict,
    bounds: &[GateBound],
    by: &Measures<'_>,
    items: &[GateItem],
) -> String {
    let of = |state| items.iter().filter(move |item| item.state == state);
    let told = |state| {
        let all: Vec<&str> = of(state).filter_map(|item| item.why.as_deref()).collect();
        match all.as_slice() {
            [] => String::new(),
            [one] => (*one).to_owned(),
            [first, rest @ ..] => format!("{first}; and {} more", rest.len()),
        }
    };
    match verdict {
        GateVerdict::Fail => told(GateState::Fails),
        GateVerdict::CannotJudge => told(GateState::CannotJudge),
        GateVerdict::Pass => {
            let mut held = Vec::new();
            let holding: Vec<&GateBound> = bounds
                .iter()
                .filter(|bound| bound.outcome.value().is_some_and(|outcome| outcome.holds))
                .collect();
            match holding.as_slice() {
                [] => {}
                [one] => held.push(bounds::told(one)),
                several => held.push(format!("{} bounds hold", several.len())),
            }
            if let Some(reference) = by.reference {
                let placed = of(GateState::Holds).count() - holding.len();
                let records = reference.records;
                held.push(format!("{placed} results lie where {records} earlier records do"));
            }
            if by.are_none() {
                let count = of(GateState::Holds).count();
                held.push(format!("{count} figures, claims and settings hold"));
            }
            let warns = of(GateState::Warns).count();
            let verb = if warns == 1 { "warns" } else { "warn" };
            held.extend((warns > 0).then(|| format!("{warns} {verb}: {}", told(GateState::Warns))));
            let open = of(GateState::NotJudged).count();
            held.extend((open > 0).then(|| format!("{open} could not be judged (-v)")));
            held.join("; ")
        }
    }
}

/// The worst finding that says that something else than the machine itself may have made numbers worse.
fn disturbance(record: &Record) -> Option<&Finding> {
    const DISTURBANCES: [&str; 6] = [
        "run.gaps",
        "run.contended",
        "run.preempted",
        "run.stood-still",
        "disturbance.steal",
        "disturbance.cgroup-throttle",
    ];
    /// Of more CPUs than these, one that somebody else used changes little.
    const FEW_CPUS: usize = 16;
    let is_few = record.run.plan.cpus.len() <= FEW_CPUS;
    let is_one = |finding: &&Finding| {
        let is_busy = finding.id.starts_with("run.busy-") && is_few;
        finding.severity >= Severity::Warning
            && (is_busy || DISTURBANCES.contains(&finding.id.as_str()))
    };
    record.findings.iter().filter(is_one).max_by_key(|finding| finding.severity)
}

/// The verdict as a word.
pub fn word(verdict: GateVerdict) -> &'static str {
    match verdict {
        GateVerdict::Pass => "PASS",
        GateVerdict::Fail => "FAIL",
        GateVerdict::CannotJudge => "CANNOT JUDGE",
    }
}

/// The answer in one line.
pub fn line(record: &Record) -> String {
    let Some(run) = &record.gate else { return String::new() };
    let simulated = if record.run.simulated.is_some() { "SIMULATED " } else { "" };
    format!("{simulated}{}: {}", word(run.verdict), run.reason)
}

#[cfg(test)]
mod tests {
    use measure::gate::read;
    use model::Seconds;
    use model::record::{BoundKind, PageKind, Presentation};

    use super::*;

    fn by(bounds: &[Bound]) -> Measures<'_> {
        Measures { bounds, ..Measures::default() }
    }

    /// A record of the clocks of a simulated machine, for these bounds.
    fn clocks(bounds: &[Bound]) -> Record {
        let look = Presentation::of(PageKind::Gate);
        let asked = measure::gate::Wanted::Bounds(bounds.to_vec());
        let request = measure::gate::request(Seconds(3.0), None, asked, Vec::new(), look);
        let machine = machine::Machine::named("sim:4c").unwrap();
        let stop = rig::executor::Stop::default();
        let mut record = measure::run::measure(&machine, &request, &stop, &mut |_| {}).unwrap();
        report::annotate(&mut record);
        record
    }

    #[test]
    fn a_stopped_run_lets_nobody_pass() {
        let bound = |text| vec![read(text, BoundKind::Min).unwrap()];
        let (held, broken) = (bound("turbo.clock@1=1MHz"), bound("turbo.clock@1=1000GHz"));
        let mut record = clocks(&held);
        assert_eq!(judge(&record, &by(&held)).verdict, GateVerdict::Pass);
        record.run.interrupted = Some("stopped by SIGINT".to_owned());
        let stopped = judge(&record, &by(&held));
        assert_eq!(stopped.verdict, GateVerdict::CannotJudge);
        assert_eq!(stopped.reason, "the run was stopped by SIGINT");
        // What is broken is broken.
        assert_eq!(judge(&record, &by(&broken)).verdict, GateVerdict::Fail);
        record.series.clear();
        let nothing = judge(&record, &by(&held)).reason;
        assert!(nothing.starts_with("the run was stopped by SIGINT; and "), "{nothing}");
    }

    #[test]
    fn a_failure_of_a_disturbed_run_is_no_judgement_and_says_so() {
        let bounds = vec![read("turbo.clock@1=1000GHz", BoundKind::Min).unwrap()];
        let mut record = clocks(&bounds);
        let quiet = judge(&record, &by(&bounds));
        assert!(quiet.verdict == GateVerdict::Fail && !quiet.reason.contains("disturbed"));
        record.findings.push(Finding::warning(
            "run.gaps",
            "this run",
            "25 % of the time polled was lost in gaps",
        ));
        let disturbed = judge(&record, &by(&bounds));
        assert_eq!(disturbed.verdict, GateVerdict::CannotJudge);
        let reason = disturbed.reason;
        assert!(
            reason.ends_with("disturbed: 25 % of the time polled was lost in gaps"),
            "{reason}"
        );
    }
}
