//! Two threads that signal each other as fast as they can.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::record::Relation;
use model::{Obstacle, Seconds, Unavailable, stats};

use super::pairs::{self, CpuPair};
use super::{PAIR, QUESTION, SIGNALS};
use crate::run::plan::{Cell, CellWork, CustomJob, JobContext, JobTarget, Run};
use rig::exchange::{Exchange, Pace, RawExchange};
use rig::executor::{Executor, RunError};
use rig::line::{LINE, Line};
use rig::reduce::Readings;
use rig::signals::{Method, Waits};

/// A method between two CPUs.
pub(super) struct Signals {
    pub(super) method: &'static Method,
    pub(super) pair: CpuPair,
    pub(super) kind: Option<Relation>,
    /// Signals in one block, as many one way as the other.
    pub(super) count: u64,
}

/// Round trips of a block that are stamped one by one.
const STAMPED: u32 = 500;

impl Signals {
    /// Round trips between two stamps.
    fn stretch(&self) -> u32 {
        match self.method.waits {
            Waits::Sleeping => 50,
            Waits::Polling | Waits::Both => 500,
        }
    }

    /// Signals in one block where nobody says.
    pub(super) fn usual(method: &Method) -> u64 {
        match method.waits {
            Waits::Sleeping => 2000,
            Waits::Polling | Waits::Both => 20_000,
        }
    }

    /// What a signal costs at most on machines that were seen; the plan rests on it.
    fn planned(&self) -> Seconds {
        match self.method.waits {
            Waits::Sleeping => Seconds(6e-6),
            Waits::Polling | Waits::Both => Seconds(0.3e-6),
        }
    }

    /// The cell, which says what it is.
    pub(super) fn cell(self) -> Cell {
        let words = [
            (QUESTION, SIGNALS.to_owned()),
            (PAIR, pairs::word(self.kind).to_owned()),
            ("waits", self.method.waits.word().to_owned()),
            ("signals", (u64::from(self.stretches()) * u64::from(self.stretch()) * 2).to_string()),
        ];
        let parameters = words.map(|(name, word)| (name.to_owned(), word));
        Cell { work: CellWork::CustomJob(Box::new(self)), parameters: BTreeMap::from(parameters) }
    }

    /// Timed stretches of a block.
    fn stretches(&self) -> u32 {
        let signals = u64::from(self.stretch()) * 2;
        u32::try_from(self.count.div_ceil(signals)).unwrap_or(u32::MAX - 1).max(1)
    }

    fn exchange(
        &self,
        executor: &mut dyn Executor,
        (stretches, round_trips): (u32, u32),
        pace: Pace,
    ) -> Result<RawExchange, RunError> {
        let channel = super::channel(self.method, self.pair.first)?;
        executor.exchange(&Exchange {
            id: self.method.id,
            first: self.pair.first,
            second: self.pair.second,
            channels: Arc::new([channel]),
            stretches,
            round_trips,
            pace,
            look: None,
        })
    }

    fn measure(&self, executor: &mut dyn Executor) -> Result<Run, RunError> {
        let rate = executor.rate();
        // The first stretch warms up.
        let rally = self.exchange(executor, (self.stretches() + 1, self.stretch()), Pace::Rally)?;
        let each = self.exchange(executor, (STAMPED + 1, 1), Pace::Rally)?;
        let lengths = |raw: &RawExchange| -> Vec<f64> {
            raw.stretches[1..].iter().map(|stretch| stretch.length().at(rate).0).collect()
        };
        let signals = f64::from(self.stretch()) * 2.0;
        let per_signal = lengths(&rally).iter().map(|length| length / signals).collect();
        let mut readings = Readings::from([
            ("time_per_signal", Ok(per_signal)),
            ("round_trip", Ok(lengths(&each))),
        ]);
        let waits = u64::from(self.stretches() + 1) * u64::from(self.stretch()) * 2;
        let around = rally.around[0].and(rally.around[1]);
        if let Some(usage) = around.usage {
            readings.insert("slept", Ok(vec![usage.voluntary_switches as f64 / waits as f64]));
        }
        if self.method.waits == Waits::Sleeping {
            self.one_way(executor, &mut readings)?;
        }
        let around = around.and(each.around[0].and(each.around[1]));
        Ok(Run { around, readings, ..Run::default() })
    }

    /// From the signal until the other one goes on, by the clocks of both CPUs, where they agree.
    fn one_way(
        &self,
        executor: &mut dyn Executor,
        readings: &mut Readings,
    ) -> Result<(), RunError> {
        let rate = executor.rate();
        if self.kind != Some(Relation::SameCpu) {
            let bounds = offset(executor, self.pair)?;
            readings.insert("clock_offset_low", Ok(vec![bounds[0].0]));
            readings.insert("clock_offset_high", Ok(vec![bounds[1].0]));
            if let Some(reason) = disagree(bounds) {
                readings.insert("one_way", Err(reason));
                return Ok(());
            }
        }
        let raw = self.exchange(executor, (1, STAMPED), Pace::Stamped)?;
        let trips = raw.trips.iter().skip(1);
        // The clocks agree within the bound only: a difference may come out as less than nothing.
        let ticks =
            |trip: &rig::exchange::Trip| trip.received.count() as f64 - trip.sent.count() as f64;
        let times: Vec<f64> = trips.map(|trip| ticks(trip) / rate.hertz().0).collect();
        if stats::median(&times).is_some_and(|median| median >= ONE_WAY_MIN.0) {
            readings.insert("one_way", Ok(times));
        }
        Ok(())
    }
}

/// Shorter ways than this are no longer than what is uncertain about the clocks.
const ONE_WAY_MIN: Seconds = Seconds(1e-6);

/// How far the second clock may be ahead of the first, at least and at most: a cache line was sent
/// after the first stamp and before the second, and the answer after the second and before the third.
fn offset(executor: &mut dyn Executor, pair: CpuPair) -> Result<[Seconds; 2], RunError> {
    const TRIPS: u32 = 500;
    let raw = executor.exchange(&Exchange {
        id: LINE,
        first: pair.first,
        second: pair.second,
        channels: Arc::new([Box::new(Line::default())]),
        stretches: 1,
        round_trips: TRIPS,
        pace: Pace::Stamped,
        look: None,
    })?;
    let hertz = executor.rate().hertz().0;
    let ahead = |after: u64, before: u64| (after as f64 - before as f64) / hertz;
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    for trip in &raw.trips {
        low = low.max(ahead(trip.received.count(), trip.returned.count()));
        high = high.min(ahead(trip.received.count(), trip.sent.count()));
    }
    Ok([Seconds(low), Seconds(high)])
}

/// Why no time can be taken from one clock to the other.
fn disagree([low, high]: [Seconds; 2]) -> Option<Unavailable> {
    /// A way of 1 us and more is known to a few per cent, at worst.
    const WIDTH_MAX: f64 = 0.5e-6;
    let why = if low.0 > 0.0 || high.0 < 0.0 {
        format!(
            "the clocks of the two CPUs differ: the second is {:.0} to {:.0} ns ahead",
            low.0 * 1e9,
            high.0 * 1e9
        )
    } else if high.0 - low.0 > WIDTH_MAX {
        format!(
            "the offset between the clocks of the two CPUs is known only to {:.0} ns",
            (high.0 - low.0) * 1e9
        )
    } else {
        return None;
    };
    Some(Unavailable::new(Obstacle::Measurement, "one-way time", why))
}

impl CustomJob for Signals {
    fn aim(&self) -> JobTarget {
        super::aim(self.method, self.pair)
    }

    fn duration(&self) -> Seconds {
        /// Threads of four jobs.
        const JOBS: Seconds = Seconds(1e-3);
        JOBS + self.planned() * (self.count as f64 + 4.0 * f64::from(STAMPED))
    }

    fn run(&self, means: JobContext<'_>) -> Result<Run, RunError> {
        super::or_reason(self.measure(means.executor), &["time_per_signal", "round_trip"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_differ_or_that_nobody_knows_give_no_one_way_time() {
        let of = |low: f64, high: f64| disagree([Seconds(low * 1e-9), Seconds(high * 1e-9)]);
        assert_eq!(of(-40.0, 60.0), None);
        assert_eq!(of(-40.0, 0.0), None);
        assert!(of(20.0, 90.0).unwrap().why.contains("20 to 90 ns ahead"));
        assert!(of(-90.0, -20.0).is_some());
        assert!(of(-400.0, 400.0).unwrap().why.contains("only to 800 ns"));
    }
}
