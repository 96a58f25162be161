//! A sleeper that rests before it is woken, so that its CPU has time to sleep deeply.

use std::collections::BTreeMap;
use std::sync::Arc;

use machine::instruments::idle::{IdleCount, IdleCounters};
use machine::pm_qos::LatencyLimits;
use model::record::Relation;
use model::{Obstacle, Seconds, Unavailable};

use super::pairs::{self, CpuPair};
use super::{IDLE, LIMIT, PAIR, QUESTION, REST, STATE};
use crate::run::plan::{Cell, CellWork, CustomJob, JobContext, JobTarget, Run};
use rig::exchange::{Exchange, Pace, RawExchange};
use rig::executor::{Executor, RunError};
use rig::reduce::Readings;
use rig::signals::Method;

/// How long the sleeper rests.
pub(super) const RESTS: [Seconds; 5] =
    [Seconds(0.0), Seconds(10e-6), Seconds(100e-6), Seconds(1e-3), Seconds(10e-3)];

/// A sleeper with one length of rest.
pub(super) struct Rested {
    pub(super) method: &'static Method,
    pub(super) pair: CpuPair,
    /// How its CPUs lie to each other, where somebody says so.
    pub(super) kind: Option<Relation>,
    pub(super) rest: Seconds,
    /// Limit of the exit latency of idle states, and the right to ask for it.
    pub(super) limit: Option<(Seconds, Arc<LatencyLimits>)>,
    /// What the sleeper's CPU counts.
    pub(super) counters: Option<Arc<IdleCounters>>,
}

impl Rested {
    /// Round trips of a block: about 0.2 s at most.
    fn trips(&self) -> u32 {
        ((0.2 / self.rest.0.max(1e-9)) as u32).clamp(20, 200)
    }

    /// The cell, which says what it is.
    pub(super) fn cell(self) -> Cell {
        let mut parameters = BTreeMap::from([
            (QUESTION.to_owned(), IDLE.to_owned()),
            (PAIR.to_owned(), pairs::word(self.kind).to_owned()),
            (REST.to_owned(), microseconds(self.rest)),
        ]);
        if let Some((limit, _)) = &self.limit {
            parameters.insert(LIMIT.to_owned(), microseconds(*limit));
        }
        Cell { work: CellWork::CustomJob(Box::new(self)), parameters }
    }

    fn measure(&self, executor: &mut dyn Executor) -> Result<Run, RunError> {
        let _held = match &self.limit {
            None => None,
            Some((limit, limits)) => match limits.hold(*limit) {
                Ok(held) => Some(held),
                Err(reason) => return Ok(Run { readings: without(&reason), ..Run::default() }),
            },
        };
        let channel = super::channel(self.method, self.pair.first)?;
        let raw = executor.exchange(&Exchange {
            id: self.method.id,
            first: self.pair.first,
            second: self.pair.second,
            channels: Arc::new([channel]),
            stretches: 1,
            round_trips: self.trips() + 1,
            pace: Pace::Rested(self.rest),
            look: self.counters.clone(),
        })?;
        Ok(self.reduced(&raw, executor))
    }

    fn reduced(&self, raw: &RawExchange, executor: &dyn Executor) -> Run {
        let rate = executor.rate();
        // The first trip warms up.
        let trips: Vec<f64> =
            raw.trips[1..].iter().map(|trip| trip.returned.since(trip.sent).at(rate).0).collect();
        let mut readings = Readings::new();
        if let Some(usage) = raw.around[1].usage {
            let share = usage.voluntary_switches as f64 / raw.trips.len() as f64;
            readings.insert("slept", Ok(vec![share]));
        }
        let names = self.counters.as_deref().map_or(&[][..], IdleCounters::names);
        let attributed = attributed(&raw.looks, &trips, names);
        if let Some(share) = attributed.ambiguous {
            readings.insert("ambiguous", Ok(vec![share]));
        }
        readings.insert("round_trip", Ok(trips));
        let around = raw.around[0].and(raw.around[1]);
        Run { around, readings, parts: attributed.states, ..Run::default() }
    }
}

/// The reason in place of every number.
fn without(reason: &Unavailable) -> Readings {
    Readings::from([("round_trip", Err(reason.clone()))])
}

/// Wake-ups by the idle state that they ended.
pub(super) struct Attributed {
    /// The share of wake-ups before which the CPU left no state or several.
    pub(super) ambiguous: Option<f64>,
    /// What each state has, by its number.
    pub(super) states: Vec<(BTreeMap<String, String>, Readings)>,
}

/// Gives each time to the state that was left meanwhile; `looks` are those before the first time and
/// after each, preceded by one before the warm-up.
pub(super) fn attributed(looks: &[Vec<IdleCount>], times: &[f64], names: &[String]) -> Attributed {
    let mut states = Vec::new();
    let (Some(first), Some(last)) = (looks.first(), looks.last()) else {
        return Attributed { ambiguous: None, states };
    };
    let by_trip = looks.len() > times.len();
    let state_of = |look: usize| {
        let (before, after) = (&looks[look], &looks[look + 1]);
        // Where a counter fell, nothing says what was left.
        let left: Vec<u64> = std::iter::zip(before, after)
            .map(|(before, after)| after.entries.checked_sub(before.entries))
            .collect::<Option<_>>()?;
        let state = left.iter().position(|entries| *entries == 1)?;
        (left.iter().sum::<u64>() == 1).then_some(state)
    };
    // Looks before the warm-up and after it come first.
    let skipped = looks.len().saturating_sub(times.len() + 1);
    let of_trips: Vec<Option<usize>> = if by_trip {
        (0..times.len()).map(|trip| state_of(trip + skipped)).collect()
    } else {
        Vec::new()
    };
    for (number, name) in names.iter().enumerate() {
        let (Some(before), Some(after)) = (first.get(number), last.get(number)) else { break };
        let grown = grown(before, after);
        if matches!(grown, Ok((0, _))) {
            continue;
        }
        let per_wake = |(entries, _): (u64, f64)| vec![entries as f64 / (times.len() + 1) as f64];
        let mean = |(entries, seconds): (u64, f64)| vec![seconds / entries as f64];
        let mut readings = Readings::from([
            ("entries", grown.clone().map(per_wake)),
            ("residence", grown.map(mean)),
        ]);
        let mine: Vec<f64> = std::iter::zip(times, &of_trips)
            .filter(|(_, state)| **state == Some(number))
            .map(|(time, _)| *time)
            .collect();
        if !mine.is_empty() {
            readings.insert("round_trip", Ok(mine));
        }
        let parameters = [(STATE, number.to_string()), ("state_name", name.clone())];
        states.push((parameters.map(|(name, word)| (name.to_owned(), word)).into(), readings));
    }
    let unclear = of_trips.iter().filter(|state| state.is_none()).count();
    let ambiguous = by_trip.then(|| unclear as f64 / times.len().max(1) as f64);
    Attributed { ambiguous, states }
}

/// By how many entries and seconds a state's counters grew.
fn grown(before: &IdleCount, after: &IdleCount) -> Result<(u64, f64), Unavailable> {
    let seconds = after.seconds - before.seconds;
    match after.entries.checked_sub(before.entries) {
        Some(entries) if seconds >= 0.0 => Ok((entries, seconds)),
        _ => {
            let why = format!(
                "the counters of the state fell: from {} entries and {:.6} s to {} and {:.6} s",
                before.entries, before.seconds, after.entries, after.seconds
            );
            Err(Unavailable::new(Obstacle::Measurement, "idle state", why))
        }
    }
}

/// Whole microseconds, as parameters have them.
pub(super) fn microseconds(seconds: Seconds) -> String {
    format!("{:.0}", seconds.0 * 1e6)
}

impl CustomJob for Rested {
    fn aim(&self) -> JobTarget {
        super::aim(self.method, self.pair)
    }

    fn duration(&self) -> Seconds {
        /// A wake-up from deep sleep, and what reading the counters takes.
        const TRIP: Seconds = Seconds(60e-6);
        (self.rest + TRIP) * f64::from(self.trips() + 1)
    }

    fn run(&self, means: JobContext<'_>) -> Result<Run, RunError> {
        super::or_reason(self.measure(means.executor), &["round_trip"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(entries: [u64; 2]) -> Vec<IdleCount> {
        entries.map(|entries| IdleCount { entries, seconds: entries as f64 * 1e-3 }).to_vec()
    }

    #[test]
    fn wake_ups_go_to_the_state_that_was_left() {
        let names = ["C1".to_owned(), "C6".to_owned()];
        // Warm-up, C6, C1, both, none.
        let looks = [[0, 0], [1, 0], [1, 1], [2, 1], [3, 2], [3, 2]].map(look);
        let attributed = attributed(&looks, &[100.0, 5.0, 70.0, 80.0], &names);
        assert_eq!(attributed.ambiguous, Some(0.5));
        let of = |index: usize| attributed.states[index].1["round_trip"].clone().unwrap();
        assert_eq!((of(0), of(1)), (vec![5.0], vec![100.0]));
        assert_eq!(attributed.states[1].0[STATE], "1");
        assert_eq!(attributed.states[1].0["state_name"], "C6");
    }

    /// As where the kernel starts them anew: the CPU went off and on.
    #[test]
    fn counters_that_fall_are_no_number_and_attribute_nothing() {
        let names = ["C1".to_owned(), "C6".to_owned()];
        let looks = [[9, 9], [9, 9], [10, 2], [11, 2]].map(look);
        let attributed = attributed(&looks, &[5.0, 70.0], &names);
        assert_eq!(attributed.ambiguous, Some(0.5));
        let of = |state: usize, id: &str| attributed.states[state].1[id].clone();
        assert_eq!(of(0, "round_trip"), Ok(vec![70.0]));
        assert_eq!(of(0, "entries"), Ok(vec![2.0 / 3.0]));
        for id in ["entries", "residence"] {
            assert!(of(1, id).unwrap_err().why.contains("fell: from 9 entries"), "{id}");
        }
    }

    #[test]
    fn looks_at_the_ends_count_and_attribute_nothing() {
        let names = ["C1".to_owned(), "C6".to_owned()];
        let attributed = attributed(&[look([5, 0]), look([9, 0])], &[1.0, 2.0, 3.0], &names);
        assert_eq!(attributed.ambiguous, None);
        assert_eq!(attributed.states.len(), 1);
        assert_eq!(attributed.states[0].1["entries"], Ok(vec![1.0]));
        assert!(!attributed.states[0].1.contains_key("round_trip"));
        assert!(super::attributed(&[], &[1.0], &names).states.is_empty());
    }
}
