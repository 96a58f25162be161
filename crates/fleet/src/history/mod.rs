//! The history of one machine: from which boot on it is slower or faster, and what changed at that boot.

mod moves;
mod page;
mod store;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use model::Unit;
use model::record::{Digest, DigestFact, ResultKey};
use model::stats::paired::Better;
use serde::Serialize;

pub use self::page::page;
pub use self::store::{Entry, KeptRuns, Skipped, Store, StoreError};
use crate::compare::{can_be_chosen, known_cause};
use crate::digest::AFTER;

/// Of how many runs a result is asked whether it moved.
pub const RUNS_MIN: usize = 4;

/// What the runs of a machine say, one after the other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct History {
    /// Which form this is.
    pub schema: &'static str,
    /// The starts of its system, the oldest first.
    pub boots: Vec<Boot>,
    /// The results that were asked whether they moved, with their numbers.
    pub results: Vec<ResultSeries>,
    /// What the file has that is no run.
    pub skipped: Vec<Skipped>,
}

/// One start of the system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Boot {
    /// When each run of it began: RFC 3339, UTC.
    pub runs: Vec<String>,
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
    /// What runs say, the oldest first. Where a number is given, no more than so many of the newest boots count.
    pub fn of(kept: KeptRuns, last: Option<usize>) -> History {
        let KeptRuns { entries, skipped } = kept;
        let all: Vec<&[Entry]> = entries.chunk_by(is_one_boot).collect();
        let all = &all[all.len().saturating_sub(last.unwrap_or(usize::MAX))..];
        let runs: Vec<&Digest> = all.iter().copied().flatten().map(|it| &it.digest).collect();
        let mut boots: Vec<Boot> = all.iter().map(|entries| Boot::of(entries)).collect();
        // The boot of each run.
        let place: Vec<usize> =
            all.iter().enumerate().flat_map(|(boot, entries)| vec![boot; entries.len()]).collect();
        let results = moves::series(&runs);
        for (run, moved) in moves::moves(&results) {
            boots[place[run]].moved.push(moved);
        }
        for (run, change) in changes(&runs) {
            let boot = &mut boots[place[run]];
            // What comes and goes with each run is told where it may be the cause.
            if is_lasting(&change.id) || !boot.moved.is_empty() {
                boot.changed.push(change);
            }
        }
        for boot in &mut boots {
            boot.moved.sort_by(|a, b| a.speed.ln().abs().total_cmp(&b.speed.ln().abs()).reverse());
            boot.changed.sort_by_key(|change| !can_be_chosen(&change.id));
        }
        History { schema: store::FORM, boots, results, skipped }
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        self.boots.iter().map(|boot| boot.runs.len()).sum()
    }

    /// Results whose level of now is worse than that at the beginning by more than this part of their speed, the worst
    /// first; with the speed of now over that of then.
    pub fn slower_than(&self, share: f64) -> Vec<(&ResultKey, f64)> {
        let mut speeds: BTreeMap<&ResultKey, f64> = BTreeMap::new();
        for moved in self.boots.iter().flat_map(|boot| &boot.moved) {
            *speeds.entry(&moved.what).or_insert(1.0) *= moved.speed;
        }
        let mut slower: Vec<(&ResultKey, f64)> =
            speeds.into_iter().filter(|(_, speed)| 1.0 - speed > share).collect();
        slower.sort_by(|a, b| a.1.total_cmp(&b.1));
        slower
    }
}

impl Boot {
    fn of(entries: &[Entry]) -> Boot {
        Boot {
            runs: entries.iter().map(|entry| entry.digest.run.started.clone()).collect(),
            simulated: entries.iter().find_map(|entry| entry.digest.run.simulated.clone()),
            changed: Vec::new(),
            moved: Vec::new(),
        }
    }

    /// Why what changed may move results of these areas, where that is known.
    fn causes<'a>(&'a self, moved: &[&Move]) -> Vec<(&'a FactChange, &'static str)> {
        let why = |change: &FactChange| {
            moved.iter().find_map(|it| Some(known_cause(&change.id, &it.what.area)?.1))
        };
        self.changed.iter().filter_map(|change| Some((change, why(change)?))).collect()
    }
}

/// Runs of which nothing is known of the boot are of one each.
fn is_one_boot(a: &Entry, b: &Entry) -> bool {
    a.boot.is_some() && a.boot == b.boot
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
        // What is known of the time before the run, too, says more; who launched it says nothing of the machine.
        let counts = |fact: &&DigestFact| {
            !fact.id.starts_with("launch.") && !fact.id.strip_prefix(AFTER).is_some_and(has)
        };
        for fact in digest.facts.iter().filter(counts) {
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
