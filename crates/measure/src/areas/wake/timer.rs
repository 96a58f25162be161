//! Alarms: how late a thread wakes up that asked for a time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use machine::instruments::idle::IdleCounters;
use model::areas::wake::{self as ids, RANGES};
use model::{CpuId, Seconds};

use super::idle::attributed;
use super::{DISTANCE, QUESTION, TIMER};
use crate::run::plan::{Cell, CellWork, CustomJob, JobContext, JobTarget, Run};
use rig::alarm::{Alarm, By};
use rig::executor::{Executor, RunError};
use rig::reduce::Readings;

/// A way to ask for an alarm.
pub(super) struct Way {
    pub(super) id: &'static str,
    by: By,
}

/// All of them.
pub(super) static WAYS: [Way; 2] =
    [Way { id: ids::WAYS[0], by: By::Nanosleep }, Way { id: ids::WAYS[1], by: By::TimerFile }];

/// Alarms of each range in one block.
const EACH: usize = 8;

/// Alarms on one CPU.
pub(super) struct Alarms {
    pub(super) way: &'static Way,
    pub(super) cpu: CpuId,
    pub(super) counters: Option<Arc<IdleCounters>>,
    pub(super) random: RefCell<Rng>,
}

impl Alarms {
    /// How long one block of such a cell takes, as planned.
    pub(super) fn planned() -> Seconds {
        // The mean of a distance whose logarithm is evenly distributed.
        let mean = |(_, least, most): &(&str, f64, f64)| (most - least) / (most / least).ln();
        Seconds(RANGES.iter().map(mean).sum::<f64>() * EACH as f64)
    }

    /// The cell, which says what it is.
    pub(super) fn cell(self) -> Cell {
        let parameters = BTreeMap::from([(QUESTION.to_owned(), TIMER.to_owned())]);
        Cell { work: CellWork::CustomJob(Box::new(self)), parameters }
    }

    /// Every logarithm of a distance is as likely as another one, within each range.
    fn distances(&self) -> Vec<(usize, Seconds)> {
        let mut random = self.random.borrow_mut();
        let mut distances = Vec::with_capacity(RANGES.len() * EACH);
        for (range, (_, least, most)) in RANGES.iter().enumerate() {
            for _ in 0..EACH {
                let exponent = random.f64();
                distances.push((range, Seconds(least * (most / least).powf(exponent))));
            }
        }
        random.shuffle(&mut distances);
        distances
    }

    fn measure(&self, executor: &mut dyn Executor) -> Result<Run, RunError> {
        let mut distances = self.distances();
        // The first alarm warms up.
        distances.insert(0, (usize::MAX, Seconds(100e-6)));
        let asked: Vec<Seconds> = distances.iter().map(|(_, distance)| *distance).collect();
        let raw = executor.alarm(&Alarm {
            id: self.way.id,
            by: self.way.by,
            cpu: self.cpu,
            distances: asked,
            look: self.counters.clone(),
        })?;
        let late: Vec<f64> = raw.late[1..].iter().map(|late| late.0).collect();
        let mut parts = Vec::new();
        for (range, (word, ..)) in RANGES.iter().enumerate() {
            let of_range: Vec<f64> = std::iter::zip(&distances[1..], &late)
                .filter(|((of, _), _)| *of == range)
                .map(|(_, late)| *late)
                .collect();
            let parameters = BTreeMap::from([(DISTANCE.to_owned(), (*word).to_owned())]);
            parts.push((parameters, Readings::from([("lateness", Ok(of_range))])));
        }
        let names = self.counters.as_deref().map_or(&[][..], IdleCounters::names);
        let states = attributed(&raw.looks, &late, names).states;
        parts.extend(states.into_iter().filter_map(|(parameters, mut readings)| {
            let late = readings.remove("round_trip")?;
            Some((parameters, Readings::from([("lateness", late)])))
        }));
        let mut readings = Readings::from([("lateness", Ok(late))]);
        if let Some(usage) = raw.around.usage {
            let share = usage.voluntary_switches as f64 / distances.len() as f64;
            readings.insert("slept", Ok(vec![share]));
        }
        Ok(Run { around: raw.around, readings, parts, ..Run::default() })
    }
}

impl CustomJob for Alarms {
    fn aim(&self) -> JobTarget {
        let order = rig::signals::TABLE.len() + usize::from(self.way.by == By::TimerFile);
        JobTarget { order, workload: self.way.id, cpus: vec![self.cpu] }
    }

    fn duration(&self) -> Seconds {
        Alarms::planned()
    }

    fn run(&self, means: JobContext<'_>) -> Result<Run, RunError> {
        super::or_reason(self.measure(means.executor), &["lateness"])
    }
}
