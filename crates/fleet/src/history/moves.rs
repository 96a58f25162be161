//! Which results moved between the runs of a machine, and at which run.

use std::collections::BTreeMap;

use model::record::{Digest, DigestResult, ResultKey};
use model::stats::paired::{BAND, Better};
use model::stats::steps::{Levels, Step, StepRules};
use model::stats::welch::false_shares;

use super::{Move, RUNS_MIN, ResultSeries};
use crate::threads::each;

/// Of the moves that are told, the share that may be chance. Where nothing moved, that is how often one is told at all.
const FALSE_MAX: f64 = 0.05;

/// One run is often off in one result. Before another run confirms it, so many of a quantity are that move alike.
const ALIKE_MIN: usize = 3;

/// The results that enough runs have, in the unit of the newest.
pub(super) fn series(runs: &[&Digest]) -> Vec<ResultSeries> {
    let mut found: BTreeMap<&ResultKey, Vec<(usize, &DigestResult)>> = BTreeMap::new();
    for (run, digest) in runs.iter().enumerate() {
        for (what, result) in &digest.results {
            found.entry(what).or_default().push((run, result));
        }
    }
    let made = |(what, found): (&ResultKey, Vec<(usize, &DigestResult)>)| {
        let newest = found.last()?.1;
        let (unit, better) = (newest.unit, newest.better?);
        let mut values = vec![None; runs.len()];
        for (run, result) in found.iter().filter(|it| it.1.unit == unit) {
            let value = result.outcome.as_ref().ok().map(|measured| measured.median);
            // Levels are compared by their ratio.
            values[*run] = value.filter(|value| *value > 0.0);
        }
        let count = values.iter().flatten().count();
        (count >= RUNS_MIN).then(|| ResultSeries { what: what.clone(), unit, better, values })
    };
    found.into_iter().filter_map(made).collect()
}

/// What moved, with the run that it moved at.
///
/// Each result is asked twice: whether its level stepped, and whether its newest number stands apart. What is told are the
/// answers that are so clear that, of all of them, a twentieth may be chance.
pub(super) fn moves(results: &[ResultSeries]) -> Vec<(usize, Move)> {
    let numbers: Vec<Vec<f64>> =
        results.iter().map(|result| result.values.iter().copied().flatten().collect()).collect();
    let levels = each(numbers.len(), |place| Levels::of(&numbers[place]));
    let asked = |rules: StepRules| {
        let told = |levels: &Levels<'_>| {
            let steps = levels.steps(&rules);
            let apart = levels.apart(&steps, &rules);
            (steps, apart)
        };
        levels.iter().map(told).collect::<Vec<_>>()
    };
    let all = asked(StepRules { least: BAND, chance: FALSE_MAX });
    let surest = |found: &[Step]| found.iter().map(|step| step.chance).fold(1.0, f64::min);
    let chances: Vec<f64> =
        all.iter().flat_map(|(steps, apart)| [surest(steps), surest(apart.as_slice())]).collect();
    let shares = false_shares(&chances);
    let told = chances.iter().zip(&shares).filter(|(_, share)| **share <= FALSE_MAX);
    let Some(chance) = told.map(|(chance, _)| *chance).reduce(f64::max) else { return Vec::new() };
    let mut found = Vec::new();
    let mut newest: BTreeMap<_, Vec<(usize, Move)>> = BTreeMap::new();
    for (result, (steps, apart)) in results.iter().zip(asked(StepRules { least: BAND, chance })) {
        let runs = result.values.iter().enumerate().filter(|(_, value)| value.is_some());
        let runs: Vec<usize> = runs.map(|(run, _)| run).collect();
        let told = |step: &Step, confirmed| {
            let moved = moved(result, step, confirmed, runs[step.at - 1]);
            (runs[step.at], moved)
        };
        found.extend(steps.iter().map(|step| told(step, true)));
        if let Some(step) = apart {
            let (run, moved) = told(&step, false);
            let alike = (&*result.what.area, &*result.what.quantity, moved.speed < 1.0);
            newest.entry(alike).or_default().push((run, moved));
        }
    }
    found.extend(newest.into_values().filter(|alike| alike.len() >= ALIKE_MIN).flatten());
    found
}

fn moved(result: &ResultSeries, step: &Step, confirmed: bool, last_before: usize) -> Move {
    let ratio = step.ratio();
    Move {
        what: result.what.clone(),
        unit: result.unit,
        levels: step.levels,
        speed: if result.better == Better::More { ratio } else { 1.0 / ratio },
        chance: step.chance,
        confirmed,
        last_before,
    }
}
