//! One cell: two CPUs tell each other something, over many lines.

use model::ticks::Stamp;
use model::{CpuId, Obstacle, Rate, Seconds, Ticks, Unavailable, stats};

use super::LATENCY;
use super::messages::Message;
use crate::run::plan::{CustomJob, JobContext, JobTarget, Run};
use rig::exchange::{Exchange, Pace, RawExchange, Trip};
use rig::executor::{Executor, RunError};
use rig::job::Interval;

/// Lines of each pair.
pub(super) const LINES: usize = 64;

/// Stretches on each line; the first ones wake both cores up and bring the line.
const TURNS: usize = 3;

/// Round trips in a stretch.
const ROUND_TRIPS: u32 = 25;

/// What a slow round trip takes, for the plan.
const ROUND_TRIP: Seconds = Seconds(0.4e-6);

/// Two CPUs and how they tell each other.
pub(super) struct MessageJob {
    pub(super) order: usize,
    pub(super) message: &'static Message,
    pub(super) pair: [CpuId; 2],
    /// The node that lines are at home on; none: wherever the kernel puts them.
    pub(super) home: Option<u32>,
    pub(super) is_probed: bool,
    pub(super) is_simulated: bool,
}

impl MessageJob {
    /// How long one block of such a cell takes, as planned.
    pub(super) fn planned(message: &Message) -> Seconds {
        let (rest, directions) = match message.pace {
            Pace::Rested(rest) => (rest, 2.0),
            Pace::Rally | Pace::Stamped => (Seconds(0.0), 1.0),
        };
        (ROUND_TRIP + rest) * (directions * (LINES * TURNS) as f64 * f64::from(ROUND_TRIPS))
    }

    fn exchange(
        &self,
        executor: &mut dyn Executor,
        [first, second]: [CpuId; 2],
    ) -> Result<Result<RawExchange, Unavailable>, RunError> {
        let channels = match self.message.channels(LINES, self.home.filter(|_| !self.is_simulated))
        {
            Ok(channels) => channels,
            Err(error) => {
                let node = self.home.map_or(String::new(), |node| format!(" on node {node}"));
                let why = format!("cannot get memory for {LINES} lines{node}: {error}");
                return Ok(Err(Unavailable::new(Obstacle::Measurement, self.message.id, why)));
            }
        };
        let job = Exchange {
            id: self.message.id,
            first,
            second,
            channels: channels.into(),
            stretches: (LINES * TURNS) as u32,
            round_trips: ROUND_TRIPS,
            pace: self.message.pace,
            look: None,
        };
        executor.exchange(&job).map(Ok)
    }
}

impl CustomJob for MessageJob {
    fn aim(&self) -> JobTarget {
        JobTarget { order: self.order, workload: self.message.id, cpus: self.pair.to_vec() }
    }

    fn duration(&self) -> Seconds {
        MessageJob::planned(self.message)
    }

    fn is_probed(&self) -> bool {
        self.is_probed
    }

    fn run(&self, means: JobContext<'_>) -> Result<Run, RunError> {
        self.block(means.executor)
    }
}

impl MessageJob {
    /// One block of it.
    pub(super) fn block(&self, executor: &mut dyn Executor) -> Result<Run, RunError> {
        let [a, b] = self.pair;
        let mut run = Run::default();
        let there = match self.exchange(executor, [a, b])? {
            Ok(raw) => raw,
            Err(reason) => {
                run.readings.insert(LATENCY, Err(reason));
                return Ok(run);
            }
        };
        let rate = executor.rate();
        run.around = there.around[0].and(there.around[1]);
        let samples = if self.message.pace == Pace::Rally {
            halves(&there, rate)
        } else {
            let back = match self.exchange(executor, [b, a])? {
                Ok(raw) => raw,
                Err(reason) => {
                    run.readings.insert(LATENCY, Err(reason));
                    return Ok(run);
                }
            };
            run.around = run.around.and(back.around[0]).and(back.around[1]);
            one_way(&there, &back, rate)
        };
        run.readings.insert(LATENCY, Ok(samples));
        Ok(run)
    }
}

/// What is left when the first turns are dropped.
fn last_turn<T>(of_stretches: &[T], per_stretch: usize) -> &[T] {
    let dropped = (TURNS - 1) * LINES * per_stretch;
    of_stretches.get(dropped..).unwrap_or_default()
}

/// Half of a round trip on each line, less the stamp that each stretch holds.
fn halves(raw: &RawExchange, rate: Rate<Stamp>) -> Vec<f64> {
    let half = |stretch: &Interval| {
        let ticks = stretch.length().count().saturating_sub(raw.stamp_cost.count());
        Ticks::<Stamp>::new(ticks).at(rate).0 / f64::from(ROUND_TRIPS) / 2.0
    };
    last_turn(&raw.stretches, 1).iter().map(half).collect()
}

/// From one core to the other on each line, the mean of both directions: by how much the clocks of two
/// CPUs differ counts for one and against the other. A stamp ends within the interval, and one begins.
fn one_way(there: &RawExchange, back: &RawExchange, rate: Rate<Stamp>) -> Vec<f64> {
    let hertz = rate.hertz().0;
    let own = (there.stamp_cost.count() + back.stamp_cost.count()) as f64 / 2.0;
    let of_lines = |raw: &RawExchange| -> Vec<f64> {
        let trips = last_turn(&raw.trips, ROUND_TRIPS as usize);
        let median = |trips: &[Trip]| {
            let ticks = |trip: &Trip| {
                // Clocks may differ by more than a line takes, to either side.
                trip.received.count().wrapping_sub(trip.sent.count()).cast_signed() as f64
            };
            stats::median(&trips.iter().map(ticks).collect::<Vec<_>>())
        };
        trips.chunks(ROUND_TRIPS as usize).filter_map(median).collect()
    };
    let mean = |(there, back): (f64, f64)| (f64::midpoint(there, back) - own) / hertz;
    std::iter::zip(of_lines(there), of_lines(back)).map(mean).filter(|mean| *mean > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use model::Hertz;

    use super::*;
    use rig::job::Around;

    /// One tick is one nanosecond; the second CPU's clock is `ahead`, and a line takes 50 ns.
    fn raw(ahead: i64) -> RawExchange {
        let count = (TURNS * LINES * ROUND_TRIPS as usize) as u64;
        let trip = |index: u64| Trip {
            sent: Ticks::new(10_000 + index * 1000),
            received: Ticks::new((10_000 + index * 1000 + 70).wrapping_add_signed(ahead)),
            returned: Ticks::new(10_000 + index * 1000 + 140),
        };
        RawExchange {
            stretches: Vec::new(),
            trips: (0..count).map(trip).collect(),
            stamp_cost: Ticks::new(20),
            around: [Around::default(); 2],
            looks: Vec::new(),
        }
    }

    #[test]
    fn the_difference_of_clocks_cancels() {
        for ahead in [0, 300, -300] {
            let samples = one_way(&raw(ahead), &raw(-ahead), Rate::new(Hertz(1e9)));
            assert_eq!(samples.len(), LINES);
            assert!(samples.iter().all(|s| (s - 50e-9).abs() < 1e-12), "{samples:?}");
        }
    }
}
