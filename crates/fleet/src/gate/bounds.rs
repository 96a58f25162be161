//! Bounds on results, beside the results that come nearest to breaking them.

use std::collections::BTreeMap;

use model::page::si;
use model::record::{
    Bound, BoundKind, BoundOutcome, DigestResult, GateBound, GateItem, GateState, Measured,
    ResultKey,
};
use model::{Known, Obstacle, Unavailable};

use super::code_of;

/// A bound beside the result that comes nearest to breaking it.
pub(super) fn bounded(bound: &Bound, results: &BTreeMap<ResultKey, DigestResult>) -> GateBound {
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

pub(super) fn on(active: usize) -> String {
    if active == 1 { "on 1 core".to_owned() } else { format!("on {active} cores") }
}

pub(super) fn told(bound: &GateBound) -> String {
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

/// What a machine is judged by it.
pub(super) fn item(bound: &Bound, of: &GateBound) -> GateItem {
    let (state, why, remedy) = match &of.outcome {
        Known::Yes(outcome) if outcome.holds => (GateState::Holds, None, None),
        Known::Yes(_) => (GateState::Fails, Some(told(of)), None),
        Known::No { unavailable } => {
            let state = if bound.is_needed { GateState::CannotJudge } else { GateState::NotJudged };
            let why = format!("{}: {}", of.name, unavailable.why);
            (state, Some(why), unavailable.remedy.clone())
        }
    };
    let value = of.outcome.value().map(|outcome| outcome.value);
    GateItem {
        code: code_of(bound.area, bound.quantity),
        name: of.name.clone(),
        state,
        found: value.map(|value| si::format(value, of.unit)),
        expected: Some(si::format(of.limit, of.unit)),
        by: "bound".to_owned(),
        why,
        remedy,
        off: value.map(|value| (value / of.limit).ln().abs()),
    }
}

#[cfg(test)]
mod tests {
    use model::record::BoundKind;

    use super::*;

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
            is_needed: true,
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
