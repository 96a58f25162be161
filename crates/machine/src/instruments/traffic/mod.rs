//! What the memory controllers of all packages read and write, as they count it themselves: the lines of
//! everybody, those that stores and prefetchers bring in among them.

mod families;

use std::time::Duration;

use model::record::{Instrument, InstrumentState};
use model::{CpuId, Obstacle, Reading, Seconds, Unavailable, Unit};
use simulated::Model;
use sys::perf_open::{self, Event, Scope};

use self::families::counters;
use crate::facts::fact_cache::Survey;
use crate::permissions::Question;
use crate::ports::Machine;
use crate::probes::{Surroundings, refusal};

/// The id of the instrument in the record.
pub const ID: &str = model::areas::memory::CONTROLLERS;

/// What is missing where they cannot be read.
const WHAT: &str = "measured memory traffic";

/// Which way lines go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From memory.
    Read,
    /// To memory.
    Written,
}

/// One counter: of one event, of one PMU, where one CPU reads it.
#[derive(Debug, Clone, PartialEq)]
struct ControllerEvent {
    pmu: String,
    event: String,
    kind: u32,
    config: u64,
    cpu: CpuId,
    way: Way,
    /// What a count stands for.
    bytes: f64,
}

/// The counters of all memory controllers, open.
pub struct TrafficCounters {
    counters: Vec<ControllerEvent>,
    source: TrafficSource,
}

enum TrafficSource {
    /// In the order of the counters.
    Open(Vec<perf_open::Counter>),
    Simulated(Box<Model>),
}

/// A reading of all counters, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct TrafficCounts {
    counts: Vec<DirectedBytes>,
    /// When the first one was about to be read, and when the last one had been.
    between: [Duration; 2],
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct DirectedBytes {
    way: Way,
    bytes: f64,
    reading: perf_open::Count,
}

/// What went through the memory controllers, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Carried {
    /// From memory.
    pub read: f64,
    /// To memory.
    pub written: f64,
}

/// How fine a reading is, and what it costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrafficGauge {
    /// What one count stands for: the least.
    pub step_bytes: f64,
    /// What a reading of all counters costs: the quickest one.
    pub own_cost: Seconds,
}

impl TrafficCounters {
    /// Opens the counters of all memory controllers.
    ///
    /// # Error
    /// Where there are none, where this version does not know them, or where the kernel refuses.
    pub fn find(machine: &Machine) -> Reading<TrafficCounters> {
        if let Some(elsewhere) = &machine.elsewhere {
            let why = format!("nothing can be measured on {elsewhere}");
            return Err(Unavailable::new(Obstacle::Cpudyno, WHAT, why));
        }
        let ground = Survey::new(machine).ground();
        let here = Surroundings { tree: &*machine.tree, ground };
        let counters = counters(&here)?;
        let refused = |counter: &ControllerEvent, error: std::io::Error| {
            let reason = refusal(Question::PerfUncore, &error, &here);
            let ControllerEvent { pmu, event, cpu, .. } = counter;
            let why = format!("`{event}` of `{pmu}` on CPU {cpu}: {}", reason.why);
            Unavailable { what: WHAT.into(), why, ..reason }
        };
        let open = |counter: &ControllerEvent| {
            let event = Event { kind: counter.kind, config: counter.config, kernel: true };
            perf_open::Counter::open(event, Scope::Everybody(counter.cpu))
                .map_err(|error| refused(counter, error))
        };
        let source = match &machine.simulated {
            None => TrafficSource::Open(counters.iter().map(open).collect::<Reading<_>>()?),
            Some(model) => {
                for counter in &counters {
                    let ControllerEvent { pmu, config, cpu, .. } = counter;
                    let count = model.controller_count(pmu, *config, *cpu);
                    count.map_err(|error| refused(counter, error))?;
                }
                TrafficSource::Simulated(Box::new(model.clone()))
            }
        };
        Ok(TrafficCounters { counters, source })
    }

    /// What all counters say now. One after the other, so that it takes a while: what lies between two
    /// readings is counted in full, and so is a part of what goes on during them.
    ///
    /// # Error
    /// Where one cannot be read.
    pub fn read(&self) -> Reading<TrafficCounts> {
        let begun = self.now();
        if let TrafficSource::Simulated(model) = &self.source {
            model.elapsed.advance(self.simulated_cost());
        }
        let one = |(index, counter): (usize, &ControllerEvent)| {
            let reading = match &self.source {
                TrafficSource::Open(open) => open[index].read(),
                TrafficSource::Simulated(model) => {
                    let ControllerEvent { pmu, config, cpu, .. } = counter;
                    model.controller_count(pmu, *config, *cpu)
                }
            };
            let reading = reading.map_err(|error| {
                let ControllerEvent { pmu, event, .. } = counter;
                let why = format!("reading `{event}` of `{pmu}` failed: {error}");
                Unavailable::new(Obstacle::Hardware, WHAT, why)
            })?;
            Ok(DirectedBytes { way: counter.way, bytes: counter.bytes, reading })
        };
        let counts = self.counters.iter().enumerate().map(one).collect::<Reading<_>>()?;
        Ok(TrafficCounts { counts, between: [begun, self.now()] })
    }

    /// By the clock that goes on while counters count.
    fn now(&self) -> Duration {
        match &self.source {
            TrafficSource::Open(_) => sys::clock::monotonic_raw(),
            TrafficSource::Simulated(model) => Duration::from_secs_f64(model.elapsed.seconds().0),
        }
    }

    /// Bytes per second that are carried while this process sleeps, several times.
    ///
    /// # Error
    /// Where a reading fails, or counters were worth nothing most of the time.
    pub fn idle(&self) -> Reading<Vec<Carried>> {
        const WINDOWS: usize = 5;
        const WINDOW: Duration = Duration::from_millis(20);
        let mut before = self.read()?;
        let mut rates = Vec::with_capacity(WINDOWS);
        let mut refused = None;
        for _ in 0..WINDOWS {
            match &self.source {
                TrafficSource::Open(_) => std::thread::sleep(WINDOW),
                TrafficSource::Simulated(model) => {
                    model.elapsed.advance(Seconds(WINDOW.as_secs_f64()));
                }
            }
            let after = self.read()?;
            let seconds = after.between[0].saturating_sub(before.between[0]).as_secs_f64();
            match after.since(&before) {
                Ok(Carried { read, written }) => {
                    rates.push(Carried { read: read / seconds, written: written / seconds });
                }
                Err(reason) => refused = Some(reason),
            }
            before = after;
        }
        match refused {
            Some(reason) if rates.len() < WINDOWS.div_ceil(2) => Err(reason),
            _ => Ok(rates),
        }
    }

    /// Where they are read, in words, for the record.
    pub fn source(&self) -> String {
        let mut pmus: Vec<&str> = self.counters.iter().map(|counter| &*counter.pmu).collect();
        pmus.dedup();
        let mut events: Vec<&str> = Vec::new();
        for counter in &self.counters {
            if !events.contains(&&*counter.event) {
                events.push(&counter.event);
            }
        }
        let simulated = matches!(self.source, TrafficSource::Simulated(_));
        let prefix = if simulated { "simulated " } else { "" };
        let more = match pmus.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let first = pmus.first().unwrap_or(&"");
        format!("{prefix}PMU `{first}`{more}: {}", events.join(", "))
    }

    /// How fine a reading is, and what it costs: readings back to back.
    ///
    /// # Error
    /// Where a reading fails.
    pub fn gauge(&self) -> Reading<TrafficGauge> {
        const READINGS: usize = 8;
        let step_bytes = self.counters.iter().map(|c| c.bytes).fold(f64::INFINITY, f64::min);
        if let TrafficSource::Simulated(_) = self.source {
            return Ok(TrafficGauge { step_bytes, own_cost: self.simulated_cost() });
        }
        let mut own_cost = Seconds(f64::INFINITY);
        for _ in 0..READINGS {
            let begun = sys::clock::monotonic_raw();
            self.read()?;
            let cost = sys::clock::monotonic_raw().saturating_sub(begun);
            own_cost = Seconds(own_cost.0.min(cost.max(Duration::from_nanos(1)).as_secs_f64()));
        }
        Ok(TrafficGauge { step_bytes, own_cost })
    }

    /// What a reading takes on a simulated machine: a system call for each counter.
    pub fn simulated_cost(&self) -> Seconds {
        const SYSTEM_CALL: Seconds = Seconds(1e-6);
        SYSTEM_CALL * self.counters.len() as f64
    }
}

impl TrafficCounts {
    /// What was carried since an earlier reading.
    ///
    /// # Error
    /// Where a counter ran backwards, or did not count all the time.
    pub fn since(&self, before: &TrafficCounts) -> Reading<Carried> {
        // Each counter was read somewhere within its reading.
        let least = self.between[0].saturating_sub(before.between[1]);
        let most = self.between[1].saturating_sub(before.between[0]);
        let mut carried = Carried::default();
        for (after, before) in std::iter::zip(&self.counts, &before.counts) {
            let count = counted(before.reading, after.reading, [least, most])?;
            let bytes = count as f64 * after.bytes;
            match after.way {
                Way::Read => carried.read += bytes,
                Way::Written => carried.written += bytes,
            }
        }
        Ok(carried)
    }
}

/// What a counter has counted between two readings that were at least and at most so far apart.
///
/// # Source
/// Linux, `perf_event_open(2)`: the time enabled goes on while the event's context is scheduled in, so
/// that a CPU that went offline stops it. The kernel sums up what counters of 32 to 48 bits count in 64
/// bits; where one does not, a difference of 48 bits is right as well.
fn counted(
    before: perf_open::Count,
    after: perf_open::Count,
    [least, most]: [Duration; 2],
) -> Reading<u64> {
    const BITS: u32 = 48;
    const TOLERANCE: f64 = 0.1;
    let refused = |obstacle, why: String| Unavailable::new(obstacle, WHAT, why);
    let enabled = after.enabled_ns.saturating_sub(before.enabled_ns);
    let running = after.running_ns.saturating_sub(before.running_ns);
    let seconds = Duration::from_nanos(enabled).as_secs_f64();
    let [least, most] = [least, most].map(|duration| duration.as_secs_f64());
    let expected = least * (1.0 - TOLERANCE)..=most * (1.0 + TOLERANCE);
    if enabled == 0 || !expected.contains(&seconds) {
        let why = format!(
            "a counter stands still: it was enabled for {:.3} of {:.3} ms; the CPU that reads it \
             may have gone offline",
            seconds * 1e3,
            most * 1e3
        );
        return Err(refused(Obstacle::Measurement, why));
    }
    if running < enabled {
        let share = 100.0 * running as f64 / enabled as f64;
        let why = format!(
            "a counter counted only {share:.0} % of the time: another program uses the same PMU"
        );
        let reason = refused(Obstacle::Permission, why);
        return Err(reason.with_remedy("end other programs that count, such as `perf stat -a`"));
    }
    let count = after.value.wrapping_sub(before.value) & (u64::MAX >> (u64::BITS - BITS));
    if count >> (BITS - 1) == 1 {
        return Err(refused(Obstacle::Hardware, "a counter ran backwards".to_owned()));
    }
    Ok(count)
}

/// The row of the record: how the counters were read and how well, or why they were not.
pub fn instrument(outcome: Result<(&TrafficCounters, TrafficGauge), Unavailable>) -> Instrument {
    let (source, state) = match outcome {
        Ok((counters, gauge)) => {
            let state = InstrumentState::Used {
                unit: Unit::Byte,
                resolution: gauge.step_bytes,
                own_cost_seconds: gauge.own_cost.0,
                rate: None,
            };
            (counters.source(), state)
        }
        Err(unavailable) => {
            let unavailable = Unavailable { what: WHAT.into(), ..unavailable };
            ("PMUs of the memory controllers".into(), InstrumentState::Unavailable { unavailable })
        }
    };
    Instrument {
        id: ID.into(),
        source,
        measures: "memory traffic of the whole machine".into(),
        state,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(value: u64, enabled_ns: u64, running_ns: u64) -> perf_open::Count {
        perf_open::Count { value, enabled_ns, running_ns }
    }

    /// The two readings were this far apart, or twice as far.
    const BETWEEN: [Duration; 2] = [Duration::from_nanos(100), Duration::from_nanos(200)];

    #[test]
    fn counters_of_48_bits_begin_again_at_zero() {
        let of = |before, after| counted(count(before, 0, 0), count(after, 100, 100), BETWEEN);
        assert_eq!(of(5, 12), Ok(7));
        assert_eq!(of((1 << 48) - 5, 2), Ok(7));
        assert_eq!(of((1 << 48) - 5, (1 << 48) + 2), Ok(7), "as the kernel goes on");
        assert_eq!(of(u64::MAX - 4, 2), Ok(7));
        assert_eq!(of(12, 5).unwrap_err().why, "a counter ran backwards");
    }

    #[test]
    fn what_others_took_from_a_counter_is_no_number() {
        let reason = counted(count(0, 100, 100), count(50, 200, 175), BETWEEN).unwrap_err();
        assert!(reason.why.contains("only 75 % of the time"), "{reason:?}");
        assert!(reason.remedy.is_some());
        let before = counted(count(0, 100, 40), count(50, 200, 140), BETWEEN);
        assert_eq!(before, Ok(50), "it was so before");
    }

    #[test]
    fn a_counter_that_was_not_enabled_all_the_time_stands_still() {
        let of =
            |enabled: u64| counted(count(0, 7, 7), count(50, 7 + enabled, 7 + enabled), BETWEEN);
        for enabled in [0, 1, 50, 89, 221, 1000] {
            let reason = of(enabled).unwrap_err();
            assert!(reason.why.starts_with("a counter stands still"), "{enabled}: {reason:?}");
        }
        for enabled in [91, 100, 200, 219] {
            assert_eq!(of(enabled), Ok(50), "{enabled}");
        }
    }

    #[test]
    fn reads_and_writes_are_summed_apart_over_all_counters() {
        let reading = |values: [u64; 3], at| {
            let ways = [(Way::Read, 64.0), (Way::Written, 64.0), (Way::Read, 32.0)];
            let one =
                |(value, (way, bytes))| DirectedBytes { way, bytes, reading: count(value, at, at) };
            let counts = values.into_iter().zip(ways).map(one).collect();
            TrafficCounts { counts, between: [Duration::from_nanos(at); 2] }
        };
        let carried = reading([11, 27, 104], 300).since(&reading([1, 7, 100], 200)).unwrap();
        assert_eq!(carried, Carried { read: 640.0 + 128.0, written: 1280.0 });
    }
}
