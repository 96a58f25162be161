//! The history of one machine: from which run on it is slower or faster, and what changed with that.

mod moves;
mod page;
mod store;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use model::Unit;
use model::record::{Digest, ResultKey};
use model::stats::paired::Better;
use serde::Serialize;

pub use self::page::page;
pub use self::store::{Entry, KeptRuns, Skipped, Store, StoreError};
use crate::compare::{can_be_chosen, known_cause};
use crate::digest::{AFTER, can_change};

/// Of how many runs a result is asked whether it moved.
pub const RUNS_MIN: usize = 4;

/// What the runs of a machine say, one after the other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct History {
    /// Which form this is.
    pub schema: &'static str,
    /// The runs, the oldest first.
    pub runs: Vec<HistoryRun>,
    /// The results that were asked whether they moved, with their numbers.
    pub results: Vec<ResultSeries>,
    /// What the file has that is no run.
    pub skipped: Vec<Skipped>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistoryRun {
    /// When it began: RFC 3339, UTC.
    pub started: String,
    /// Which of the system's starts it is of, from 1; runs of which nobody knows are of one each.
    pub boot: usize,
    /// The simulated machine, where nothing was measured at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<String>,
    /// What the machine says otherwise than before, what somebody can choose first.
    pub changed: Vec<FactChange>,
    /// What moved with it, the dearest first.
    pub moved: Vec<Move>,
}

/// What a machine says otherwise than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FactChange {
    /// The fact's id.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// What it said.
    pub before: String,
    /// What it says.
    pub now: String,
}

/// A result whose level moved by more than noise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Move {
    /// The result.
    #[serde(flatten)]
    pub what: ResultKey,
    /// Its unit.
    pub unit: Unit,
    /// Its level before, and the new one: medians over runs.
    pub levels: [f64; 2],
    /// The new speed over the former: below 1 is slower.
    pub speed: f64,
    /// How likely such a move is where there is none.
    pub chance: f64,
    /// Whether more runs than the newest one say so.
    pub confirmed: bool,
    /// The last run that had the former level, from 0: what changed since may be the cause.
    pub last_before: usize,
}

/// A result of each run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResultSeries {
    /// The result.
    #[serde(flatten)]
    pub what: ResultKey,
    /// Its unit.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Better,
    /// Its number in each run, the oldest first; `None` where there is none.
    pub values: Vec<Option<f64>>,
}

impl History {
    /// What runs say. Where a number is given, no more than so many of the newest count.
    pub fn of(kept: KeptRuns, last: Option<usize>) -> History {
        let KeptRuns { entries, skipped } = kept;
        let boots = boots(&entries);
        let left_out = entries.len().saturating_sub(last.unwrap_or(usize::MAX));
        let digests: Vec<&Digest> = entries[left_out..].iter().map(|it| &it.digest).collect();
        let run = |(digest, boot): (&&Digest, &usize)| HistoryRun {
            started: digest.run.started.clone(),
            boot: *boot,
            simulated: digest.run.simulated.clone(),
            changed: Vec::new(),
            moved: Vec::new(),
        };
        let mut runs: Vec<HistoryRun> = digests.iter().zip(&boots[left_out..]).map(run).collect();
        let results = moves::series(&digests);
        for (run, moved) in moves::moves(&results) {
            runs[run].moved.push(moved);
        }
        for (run, change) in changes(&digests) {
            runs[run].changed.push(change);
        }
        for run in &mut runs {
            // What comes and goes with each run is told where it may be the cause.
            let has_moved = !run.moved.is_empty();
            run.changed.retain(|change| has_moved || is_lasting(&change.id));
            run.changed.sort_by_key(|change| !can_be_chosen(&change.id));
            run.moved.sort_by(Move::dearest_first);
        }
        History { schema: "cpudyno.history/1", runs, results, skipped }
    }

    /// How many starts of the system the runs are of.
    pub fn boots(&self) -> usize {
        let ends = self.runs.first().zip(self.runs.last());
        ends.map_or(0, |(first, last)| last.boot + 1 - first.boot)
    }

    /// Results whose level of now is worse than that at the beginning by more than this part of their speed, the worst
    /// first; with the speed of now over that of then. One new run is no level.
    pub fn slower_than(&self, share: f64) -> Vec<(&ResultKey, f64)> {
        let mut speeds: BTreeMap<&ResultKey, f64> = BTreeMap::new();
        let moved = self.runs.iter().flat_map(|run| &run.moved);
        for moved in moved.filter(|moved| moved.confirmed) {
            *speeds.entry(&moved.what).or_insert(1.0) *= moved.speed;
        }
        let mut slower: Vec<(&ResultKey, f64)> =
            speeds.into_iter().filter(|(_, speed)| 1.0 - speed > share).collect();
        slower.sort_by(|a, b| a.1.total_cmp(&b.1));
        slower
    }

    /// What changed since the last run that had the former level of what moved at a run.
    fn changed_with(&self, run: usize) -> Vec<&FactChange> {
        let before = self.runs[run].moved.iter().map(|moved| moved.last_before).min();
        let since = before.map_or(run, |before| before + 1);
        self.runs[since..=run].iter().flat_map(|run| &run.changed).collect()
    }
}

impl Move {
    fn dearest_first(&self, other: &Move) -> Ordering {
        other.speed.ln().abs().total_cmp(&self.speed.ln().abs())
    }
}

/// Why a fact that changed may have moved some of these results, where that is known.
fn why(change: &FactChange, moved: &[Move]) -> Option<&'static str> {
    moved.iter().find_map(|it| Some(known_cause(&change.id, &it.what.area)?.1))
}

/// The start of the system that each run is of, from 1.
fn boots(entries: &[Entry]) -> Vec<usize> {
    let is_one = |pair: &[Entry]| pair[0].boot.is_some() && pair[0].boot == pair[1].boot;
    let mut boot = 1;
    let first = entries.first().map(|_| boot);
    let further = entries.windows(2).map(|pair| {
        boot += usize::from(!is_one(pair));
        boot
    });
    first.into_iter().chain(further).collect()
}

/// Whether a fact stays as it is while nobody changes anything.
fn is_lasting(id: &str) -> bool {
    !(id.starts_with("disturbance.") || id.starts_with("busy.") || id.starts_with(AFTER))
}

/// What each run says otherwise than the last one before it that knew.
fn changes(runs: &[&Digest]) -> Vec<(usize, FactChange)> {
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for (run, digest) in runs.iter().enumerate() {
        let has = |id: &str| digest.facts.iter().any(|fact| fact.id == id);
        for fact in digest.facts.iter().filter(|fact| can_change(&fact.id, has)) {
            let Some(now) = fact.text.as_deref() else { continue };
            let Some(before) = known.insert(&fact.id, now).filter(|before| *before != now) else {
                continue;
            };
            let (id, label) = (fact.id.clone(), fact.label.clone());
            found.push((
                run,
                FactChange { id, label, before: before.to_owned(), now: now.to_owned() },
            ));
        }
    }
    found
}
