//! Does this machine pass? Bounds on results, and their place among earlier records.
//!
//! [`judge`] says what came of them as a part of the record, [`page`] shows it.

use std::collections::BTreeMap;

use model::areas::result_name;
use model::page::{Block, Page, Table, Text, Tone, si};
use model::record::{
    Bound, BoundKind, BoundOutcome, DigestResult, GateBound, GateRun, GateVerdict, Measured,
    Record, ReferenceRun, ResultKey,
};
use model::{Finding, Known, Obstacle, Severity, Unavailable};

use report::{parts, reference};

use crate::digest;

/// What came of it.
pub fn judge(record: &Record, bounds: &[Bound], reference: Option<&ReferenceRun>) -> GateRun {
    let results = &digest::at_hand(record).results;
    let bounds: Vec<GateBound> = bounds.iter().map(|bound| bounded(bound, results)).collect();
    let mut failed: Vec<String> = bounds.iter().filter_map(broken).collect();
    let mut open: Vec<String> = bounds.iter().filter_map(not_judged).collect();
    let mut held = Vec::new();
    if !bounds.is_empty() && failed.is_empty() && open.is_empty() {
        held.push(match bounds.as_slice() {
            [one] => told(one),
            several => format!("{} bounds hold", several.len()),
        });
    }
    if let Some(reference) = reference {
        let worse = reference::findings(reference);
        let outside = worse.iter().filter(|finding| finding.severity >= Severity::Warning);
        failed.extend(outside.map(|finding| format!("{}: {}", finding.about, finding.text)));
        let placed =
            reference.positions.iter().filter(|position| position.place.value().is_some()).count();
        if placed == 0 {
            let left_out = reference::left_out(reference);
            let more = left_out.map_or_else(String::new, |some| format!(" ({some}: -v)"));
            open.push(reference::too_few(reference) + &more);
        } else {
            let records = reference.records;
            held.push(format!("{placed} results lie where {records} earlier records do"));
        }
    }
    let measured = results.values().filter(|result| result.outcome.is_ok()).count();
    if held.is_empty() {
        held.push(format!("{measured} results were measured, and nothing was asked of them"));
    }
    let serious = record.findings.iter().find(|finding| finding.severity == Severity::Serious);
    // A run that nobody should rely on lets nobody pass.
    open.extend(serious.filter(|_| failed.is_empty()).map(in_brief));
    if let Some(why) = &record.run.interrupted {
        open.insert(0, format!("the run was {why}"));
    }
    if measured == 0 && failed.is_empty() && open.is_empty() {
        open.push("nothing could be measured".to_owned());
    }
    let (verdict, lines) = match (failed.as_slice(), open.as_slice()) {
        ([_, ..], _) => (GateVerdict::Fail, &failed),
        ([], [_, ..]) => (GateVerdict::CannotJudge, &open),
        ([], []) => (GateVerdict::Pass, &held),
    };
    let reason = match (verdict, lines.as_slice()) {
        (GateVerdict::Pass, all) => all.join("; "),
        (_, [first]) => first.clone(),
        (_, [first, rest @ ..]) => format!("{first}; and {} more", rest.len()),
        (_, []) => String::new(),
    };
    // Whoever drains a machine for it is to know that somebody else was at work.
    let disturbed = record.findings.iter().filter(|finding| is_disturbance(finding));
    let worst =
        disturbed.max_by_key(|finding| finding.severity).filter(|_| verdict == GateVerdict::Fail);
    let reason = match worst {
        Some(finding) => format!("{reason}; this run was disturbed: {}", finding.text),
        None => reason,
    };
    GateRun { verdict, reason, bounds }
}

/// Whether it says that something else than the machine itself may have made numbers worse.
fn is_disturbance(finding: &Finding) -> bool {
    const DISTURBANCES: [&str; 7] = [
        "run.gaps",
        "run.contended",
        "run.preempted",
        "run.rivals",
        "run.busy-",
        "run.stood-still",
        "disturbance.",
    ];
    finding.severity >= Severity::Warning
        && DISTURBANCES.iter().any(|begin| finding.id.starts_with(begin))
}

fn in_brief(finding: &Finding) -> String {
    format!("{}: {}", finding.about, finding.text)
}

/// A bound beside the result that comes nearest to breaking it.
fn bounded(bound: &Bound, results: &BTreeMap<ResultKey, DigestResult>) -> GateBound {
    let about = || results.iter().filter(|(what, _)| bound.is_about(what));
    let measured = about().filter_map(|(what, result)| Some((what, result.outcome.as_ref().ok()?)));
    let reasons =
        || about().filter_map(|(what, result)| Some((what, result.outcome.as_ref().err()?)));
    // What this machine cannot do is no part of it; what there was no time or quiet for is.
    let missed = reasons().filter(|(_, reason)| reason.obstacle == Obstacle::Measurement);
    let mut all: Vec<(&ResultKey, &Measured)> = measured.collect();
    let mut missed: Vec<(&ResultKey, &Unavailable)> = missed.collect();
    let keys = all.iter().map(|(what, _)| *what).chain(missed.iter().map(|(what, _)| *what));
    let most = keys.map(|what| what.active).max();
    all.retain(|(what, _)| Some(what.active) == most);
    missed.retain(|(what, _)| Some(what.active) == most);
    let worst = all.into_iter().reduce(|a, b| {
        let b_is_worse = match bound.kind {
            BoundKind::Min => b.1.median < a.1.median,
            BoundKind::Max => b.1.median > a.1.median,
        };
        if b_is_worse { b } else { a }
    });
    let outcome = worst.map(|(what, measured)| {
        let value = measured.median;
        let holds = match bound.kind {
            BoundKind::Min => value >= bound.limit,
            BoundKind::Max => value <= bound.limit,
        };
        BoundOutcome { what: what.clone(), value, interval: measured.value().interval, holds }
    });
    // What is broken is broken, whatever else is not known.
    let outcome = outcome.filter(|outcome| !outcome.holds || missed.is_empty());
    let absent = || {
        let told = missed.first().map(|(what, reason)| {
            let cores = if what.active == 1 { "core" } else { "cores" };
            format!("{} on {} {cores}: {}", what.workload, what.active, reason.why)
        });
        let told = told.or_else(|| reasons().next().map(|(_, reason)| reason.why.clone()));
        let why = told.unwrap_or_else(|| match bound.cores {
            Some(cores) => format!("it was not measured on {cores} cores here"),
            None => "it was not measured here".to_owned(),
        });
        Unavailable::new(Obstacle::Measurement, bound.name.clone(), why).with_remedy(
            "`cpudyno sheet --dry-run` says what can be measured here; --budget gives it more time",
        )
    };
    GateBound {
        name: bound.name.clone(),
        kind: bound.kind,
        limit: bound.limit,
        unit: bound.unit,
        outcome: outcome.ok_or_else(absent).into(),
    }
}

fn on(active: usize) -> String {
    if active == 1 { "on 1 core".to_owned() } else { format!("on {active} cores") }
}

fn told(bound: &GateBound) -> String {
    let Known::Yes(outcome) = &bound.outcome else { return String::new() };
    let side = match (bound.kind, outcome.holds) {
        (BoundKind::Min, true) => "at least",
        (BoundKind::Max, true) => "at most",
        (BoundKind::Min, false) => "below",
        (BoundKind::Max, false) => "above",
    };
    let (value, limit) =
        (si::format(outcome.value, bound.unit), si::format(bound.limit, bound.unit));
    let workload = &outcome.what.workload;
    let of = if bound.name.contains(workload.as_str()) {
        String::new()
    } else {
        format!(" ({workload})")
    };
    format!("{}{of} is {value} {}, {side} {limit}", bound.name, on(outcome.what.active))
}

fn broken(bound: &GateBound) -> Option<String> {
    bound.outcome.value().filter(|outcome| !outcome.holds).map(|_| told(bound))
}

fn not_judged(bound: &GateBound) -> Option<String> {
    match &bound.outcome {
        Known::Yes(_) => None,
        Known::No { unavailable } => Some(format!("{}: {}", bound.name, unavailable.why)),
    }
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

/// The page: verdict, bounds, the place among earlier records, findings.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let tone = match record.gate.as_ref().map(|run| run.verdict) {
        Some(GateVerdict::Pass) => Tone::Good,
        Some(GateVerdict::Fail) => Tone::Serious,
        Some(GateVerdict::CannotJudge) | None => Tone::Warning,
    };
    let title = match &record.run.simulated {
        Some(name) => format!("SIMULATED gate: machine sim:{name}, nothing was measured"),
        None => "Does this machine pass?".to_owned(),
    };
    let mut blocks = vec![
        Block::Title { text: title, subtitle: parts::subtitle(record) },
        Block::Paragraph(Text::toned(line(record), tone)),
    ];
    let Some(run) = &record.gate else { return Page { blocks } };
    blocks.push(parts::quality(record));
    if !run.bounds.is_empty() {
        blocks.push(bounds_table(&run.bounds));
    }
    if let Some(reference) = &record.reference {
        blocks.push(reference::table(reference, verbosity));
    }
    blocks.push(Block::Heading("Findings".to_owned()));
    blocks.push(parts::findings(record));
    if verbosity > 0 {
        blocks.extend(parts::missing(record));
        blocks.extend(parts::details(record));
    }
    Page { blocks }
}

fn bounds_table(bounds: &[GateBound]) -> Block {
    let row = |bound: &GateBound| {
        let side = if bound.kind == BoundKind::Min { "at least" } else { "at most" };
        let limit = format!("{side} {}", si::format(bound.limit, bound.unit));
        let (found, of, word) = match &bound.outcome {
            Known::Yes(outcome) => (
                Text::from(si::format(outcome.value, bound.unit)),
                Text::from(format!("{}, {}", result_name(&outcome.what), on(outcome.what.active))),
                if outcome.holds {
                    Text::toned("holds", Tone::Good)
                } else {
                    Text::toned("fails", Tone::Serious)
                },
            ),
            Known::No { unavailable } => (
                Text::toned("-", Tone::Faint),
                Text::from(unavailable.why.as_str()),
                Text::toned("cannot judge", Tone::Warning),
            ),
        };
        vec![Text::from(bound.name.as_str()), limit.into(), found, word, of]
    };
    Table::of("bounds")
        .label("bound")
        .right("is")
        .right("found")
        .left("")
        .left("the result that comes nearest")
        .rows(bounds.iter().map(row))
        .into()
}

#[cfg(test)]
mod tests {
    use measure::gate::read;
    use model::Seconds;
    use model::record::{BoundKind, PageKind, Presentation};

    use super::*;

    /// A record of the clocks of a simulated machine, for these bounds.
    fn clocks(bounds: &[Bound]) -> Record {
        let look = Presentation::of(PageKind::Gate);
        let asked = Some(bounds.to_vec());
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
        assert_eq!(judge(&record, &held, None).verdict, GateVerdict::Pass);
        record.run.interrupted = Some("stopped by SIGINT".to_owned());
        let stopped = judge(&record, &held, None);
        assert_eq!(stopped.verdict, GateVerdict::CannotJudge);
        assert_eq!(stopped.reason, "the run was stopped by SIGINT");
        // What is broken is broken.
        assert_eq!(judge(&record, &broken, None).verdict, GateVerdict::Fail);
        record.series.clear();
        let nothing = judge(&record, &held, None).reason;
        assert!(nothing.starts_with("the run was stopped by SIGINT; and "), "{nothing}");
    }

    #[test]
    fn a_failure_of_a_disturbed_run_says_so() {
        let bounds = vec![read("turbo.clock@1=1000GHz", BoundKind::Min).unwrap()];
        let mut record = clocks(&bounds);
        let quiet = judge(&record, &bounds, None);
        assert!(quiet.verdict == GateVerdict::Fail && !quiet.reason.contains("disturbed"));
        record.findings.push(Finding::warning(
            "run.gaps",
            "this run",
            "25 % of the time polled was lost in gaps",
        ));
        let reason = judge(&record, &bounds, None).reason;
        assert!(
            reason.ends_with("disturbed: 25 % of the time polled was lost in gaps"),
            "{reason}"
        );
    }

    /// Results of a kernel on so many cores: GB/s, or none for that reason.
    fn results(of: &[(&str, usize, Result<f64, Obstacle>)]) -> BTreeMap<ResultKey, DigestResult> {
        let result = |(workload, active, outcome): &(&str, usize, Result<f64, Obstacle>)| {
            let what = ResultKey {
                area: "memory".to_owned(),
                workload: (*workload).to_owned(),
                quantity: "bandwidth".to_owned(),
                active: *active,
                cpus: None,
                parameters: BTreeMap::new(),
            };
            let outcome = outcome
                .map(|gigabytes| Measured::of(&[gigabytes * 1e9], 0.0).unwrap())
                .map_err(|obstacle| Unavailable::new(obstacle, "result", "a reason"));
            (what, DigestResult { unit: model::Unit::BytePerSecond, better: None, outcome })
        };
        of.iter().map(result).collect()
    }

    /// Workload, GB/s, and whether the bound holds.
    fn outcome(
        kind: BoundKind,
        limit: f64,
        cores: Option<usize>,
        of: &[(&str, usize, Result<f64, Obstacle>)],
    ) -> Option<(String, f64, bool)> {
        let bound = Bound {
            name: "memory.bandwidth".to_owned(),
            kind,
            limit: limit * 1e9,
            unit: model::Unit::BytePerSecond,
            area: "memory",
            quantity: "bandwidth",
            workload: None,
            cores,
        };
        let outcome = bounded(&bound, &results(of)).outcome.value().cloned()?;
        Some((outcome.what.workload, (outcome.value / 1e9).round(), outcome.holds))
    }

    #[test]
    fn a_bound_holds_at_its_limit_and_fails_a_millionth_beyond() {
        let holds =
            |kind, gigabytes| outcome(kind, 100.0, None, &[("copy", 1, Ok(gigabytes))]).unwrap().2;
        let values = [99.9999, 100.0, 100.0001];
        assert_eq!(values.map(|value| holds(BoundKind::Min, value)), [false, true, true]);
        assert_eq!(values.map(|value| holds(BoundKind::Max, value)), [true, true, false]);
    }

    #[test]
    fn a_bound_is_on_the_worst_result_of_most_cores() {
        let all = [
            ("copy", 1, Ok(12.0)),
            ("copy", 4, Ok(90.0)),
            ("scale", 4, Ok(80.0)),
            ("triad", 4, Ok(110.0)),
        ];
        let of = |kind, cores| outcome(kind, 85.0, cores, &all);
        let told = |workload: &str, value, holds| Some((workload.to_owned(), value, holds));
        assert_eq!(of(BoundKind::Min, None), told("scale", 80.0, false));
        assert_eq!(of(BoundKind::Max, None), told("triad", 110.0, false));
        assert_eq!(of(BoundKind::Min, Some(1)), told("copy", 12.0, false));
        assert_eq!(of(BoundKind::Min, Some(2)), None);
    }

    #[test]
    fn a_bound_is_open_where_a_result_was_missed_unless_another_breaks_it() {
        let of = |obstacle, limit, cores| {
            let all = [("copy", 4, Ok(90.0)), ("triad", cores, Err(obstacle))];
            outcome(BoundKind::Min, limit, None, &all).map(|(.., holds)| holds)
        };
        assert_eq!(of(Obstacle::Measurement, 85.0, 4), None);
        assert_eq!(of(Obstacle::Measurement, 95.0, 4), Some(false));
        // What the hardware cannot do is no part of it, nor is what fewer cores lack.
        assert_eq!(of(Obstacle::Hardware, 85.0, 4), Some(true));
        assert_eq!(of(Obstacle::Measurement, 85.0, 2), Some(true));
        // On more cores nothing was measured at all.
        assert_eq!(of(Obstacle::Measurement, 95.0, 8), None);
    }
}
