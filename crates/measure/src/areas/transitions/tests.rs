//! Traces that something comes into.

use std::sync::Arc;

use machine::Machine;
use machine::instruments::traffic::TrafficCounters;
use model::Rate;
use model::ticks::Stamp;
use rig::alarm::{Alarm, RawAlarm};
use rig::background_load::Neighbour;
use rig::exchange::{Exchange, RawExchange};
use rig::executor::Stop;
use rig::executor::simulated::Simulated;
use rig::job::{RawRepeat, Repeat};
use rig::regions::{RawRegions, Regions};
use rig::traffic::{Placed, RawTraffic, Traffic};
use simulated::Model;

use super::*;

/// A simulated machine that something comes into.
struct Disturbed {
    inner: Simulated,
    /// Jobs without looks that take three times as long, all of them; the next ones.
    slow: usize,
    /// Ticks that every fiftieth look with the payload is late by.
    late: u64,
}

impl Executor for Disturbed {
    fn repeat(&mut self, job: &Repeat) -> Result<RawRepeat, RunError> {
        let mut raw = self.inner.repeat(job)?;
        if self.slow > 0 {
            self.slow -= 1;
            for stamp in raw.members.iter_mut().flat_map(|it| &mut it.phases[0].stamps) {
                let length = stamp.length().count();
                stamp.end = model::Ticks::new(stamp.end.count() + 2 * length);
            }
        }
        Ok(raw)
    }

    fn exchange(&mut self, job: &Exchange) -> Result<RawExchange, RunError> {
        self.inner.exchange(job)
    }

    fn alarm(&mut self, job: &Alarm) -> Result<RawAlarm, RunError> {
        self.inner.alarm(job)
    }

    fn traffic(
        &mut self,
        job: &Traffic,
        tools: &Tools,
        counters: Option<&Arc<TrafficCounters>>,
    ) -> Result<RawTraffic, RunError> {
        self.inner.traffic(job, tools, counters)
    }

    fn regions(&mut self, job: &Regions) -> Result<Result<RawRegions, Unavailable>, RunError> {
        self.inner.regions(job)
    }

    fn watch(
        &mut self,
        job: &rig::watch::Polling,
    ) -> Result<Vec<rig::watch::RawPolling>, RunError> {
        self.inner.watch(job)
    }

    fn compare(
        &mut self,
        job: &rig::checking::Checking,
    ) -> Result<Vec<rig::checking::RawChecked>, RunError> {
        self.inner.compare(job)
    }

    fn trace(&mut self, job: &Trace) -> Result<RawTrace, RunError> {
        let mut raw = self.inner.trace(job)?;
        let late = if job.payload.is_some() { self.late } else { 0 };
        for (at, look) in raw.cpus.iter_mut().flat_map(|cpu| cpu.looks.iter_mut().enumerate()) {
            let late = (at as u64 / 50) * late;
            look.stamps = look.stamps.map(|stamp| stamp + late);
            look.waited = look.waited.map(|stamp| stamp + late);
        }
        Ok(raw)
    }

    fn among(
        &mut self,
        neighbours: &[Neighbour],
        jobs: &mut dyn FnMut(&mut dyn Executor) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        self.inner.among(neighbours, jobs)
    }

    fn placed(&self) -> Vec<Placed> {
        self.inner.placed()
    }

    fn rate(&self) -> Rate<Stamp> {
        self.inner.rate()
    }

    fn rest(&mut self, time: Seconds) -> Result<(), RunError> {
        self.inner.rest(time)
    }

    fn elapsed(&self) -> Seconds {
        self.inner.elapsed()
    }
}

/// Samples by core and quantity.
type TracedSamples = BTreeMap<(String, &'static str), Result<Vec<f64>, Unavailable>>;

/// What is seen of the heaviest stream on CPU 0 of the large server, by core and quantity.
fn seen(slow: usize, late: u64) -> TracedSamples {
    seen_in(Extent::SHORT, slow, late)
}

fn seen_in(extent: Extent, slow: usize, late: u64) -> TracedSamples {
    let mut model = Model::named("2s-56c").unwrap();
    model.noise.drift_amplitude = 0.0;
    let machine = Machine::from(model.clone());
    let tools = streams::tools(&machine).unwrap();
    let row = kernels::streams::find("avx512_fma_t").unwrap();
    let load = streams::load(&machine, row, DATA).unwrap();
    let rate = Rate::new(model::Hertz(model.clock.tsc_hz));
    let mut inner = Simulated::new(model, rate, Stop::default());
    let cpus = [CpuId(0), CpuId(1)];
    let mut rulers = calibration::calibrate(&mut inner, &tools, &cpus).unwrap();
    for _ in 0..calibration::LOOKS {
        calibration::refine(&mut inner, &tools, &mut rulers).unwrap();
    }
    rig::ruler::share(&mut rulers, |_| ());
    let (cpu, beside) = (cpus[0], Some(cpus[1]));
    let followed = TransitionJob { order: 0, load, cpu, beside, extent, tools };
    let mut executor = Disturbed { inner, slow, late };
    let run = followed.measure(&mut executor, &rulers).unwrap().unwrap();
    let of = |(parameters, readings): TraceSeries| {
        let core = parameters[CORE].clone();
        readings.into_iter().map(move |(quantity, samples)| ((core.clone(), quantity), samples))
    };
    run.parts.into_iter().flat_map(of).collect()
}

#[track_caller]
fn one(of: &Result<Vec<f64>, Unavailable>) -> f64 {
    of.as_ref().unwrap()[0]
}

/// Whoever shares a core makes all that it does three times as long for a while, and both rulers agree.
#[test]
fn a_disturbed_quiet_job_sets_no_clock() {
    for slow in [0, 2, 7] {
        let seen = seen(slow, 0);
        for (core, quantity, hertz) in
            [(OWN, LOW, 3.4e9), (OWN, RELAXED, 3.8e9), (OTHER, LOW, 3.8e9)]
        {
            let found = one(&seen[&(core.to_owned(), quantity)]);
            assert!((found / hertz - 1.0).abs() < 0.01, "{core} {quantity}: {found}, {slow} slow");
        }
    }
}

/// Where it does so all the time, there are looks and no clocks; halts need none.
#[test]
fn clocks_that_are_far_off_are_refused() {
    let seen = seen(usize::MAX, 0);
    for core in [OWN, OTHER] {
        for quantity in [HOLD_VISIBLE, FOLDED_CLOCK, TIME, CLOCK, STRETCH] {
            let reason = seen[&(core.to_owned(), quantity)].as_ref().unwrap_err();
            assert!(reason.why.starts_with("contended: "), "{reason:?}");
            assert!(reason.remedy.is_some(), "{reason:?}");
        }
        assert!(!seen.contains_key(&(core.to_owned(), LOW)));
    }
    let halt = one(&seen[&(OWN.to_owned(), HALT)]);
    assert!((halt / 10e-6 - 1.0).abs() < 0.02, "{halt}");
}

/// Gaps that come with the payload alone: the least that could be told is that of the pass that is asked.
#[test]
fn the_least_halt_is_that_of_the_worse_pass() {
    let visible = |late: u64| one(&seen(0, late)[&(OTHER.to_owned(), VISIBLE)]);
    let (quiet, late) = (visible(0), visible(10_000));
    assert!(quiet < 2e-6, "{quiet}");
    assert!((late / 5e-6 - 1.0).abs() < 0.05, "{late}");
}

/// The first looks of one period are in the record, of both cores.
#[test]
fn a_sheet_keeps_some_looks() {
    let seen = seen(0, 0);
    for core in [OWN, OTHER] {
        for quantity in [TIME, CLOCK, STRETCH] {
            let looks = seen[&(core.to_owned(), quantity)].as_ref().unwrap();
            assert_eq!(looks.len(), Extent::SHORT.looks, "{core} {quantity}");
        }
        let last = *seen[&(core.to_owned(), TIME)].as_ref().unwrap().last().unwrap();
        let burst = Extent::SHORT.period.0 * DUTY;
        assert!(last > burst, "{core}: until {last} s");
    }
}

/// Fewer periods than a halt needs tell nothing of throttled dispatch and of clocks, either.
#[test]
fn few_periods_tell_nothing() {
    let few = seen_in(Extent { periods: 16, ..Extent::SHORT }, 0, 0);
    let of = |quantity| few[&(OTHER.to_owned(), quantity)].as_ref().unwrap_err().why.clone();
    for quantity in [HALT, THROTTLED] {
        assert!(of(quantity).contains("of 48 periods have one, and 50 are needed"));
    }
    assert!(of(HOLD_VISIBLE).contains("48 of 48 periods have a clock"), "{}", of(HOLD_VISIBLE));
    assert!(!few.contains_key(&(OTHER.to_owned(), LOW)));
}

/// What one pass does not show enough of, several do; and no more of them than it takes.
#[test]
fn there_are_as_many_passes_as_it_takes() {
    for (periods, looked) in [(60, 60.0), (30, 60.0), (20, 60.0)] {
        let seen = seen_in(Extent { periods, ..Extent::SHORT }, 0, 0);
        for core in [OWN, OTHER] {
            let found = one(&seen[&(core.to_owned(), LOOKED)]);
            assert!((found - looked).abs() <= 2.0, "{core}: {found} of passes of {periods}");
        }
        let halts = seen[&(OWN.to_owned(), HALT)].as_ref().unwrap();
        assert!(halts.len() >= 50, "{} halts of passes of {periods}", halts.len());
    }
}

/// Looks of so many periods, of which so many are stretched.
fn looks(periods: u32, stretched: u32) -> Vec<LookSample> {
    let look = |period: u32| LookSample {
        period,
        phase: 5e-6,
        clock: 3e9,
        adds: 3e9,
        stretch: if period < stretched { 4.0 } else { 1.0 },
        lost: 0.0,
        lost_from: 0.0,
        usual: 1e-6,
    };
    (0..periods).map(look).collect()
}

/// What gaps cover has no looks to keep.
#[test]
fn the_first_periods_that_were_looked_at_are_kept() {
    let of = |counts: &[(u32, usize)]| -> Vec<LookSample> {
        let look = |period: u32| LookSample { period, ..looks(1, 0)[0] };
        counts.iter().flat_map(|&(period, count)| vec![look(period); count]).collect()
    };
    assert_eq!(covered(&of(&[(0, 9), (1, 9), (2, 9), (3, 9)]), 3), [0, 1, 2]);
    assert_eq!(covered(&of(&[(1, 4), (2, 9), (3, 5), (4, 8)]), 3), [2, 3, 4]);
    assert_eq!(covered(&of(&[(1, 4), (2, 9), (5, 5)]), 3), [1, 2, 5], "others where it takes them");
    assert_eq!(covered(&[], 3), [0; 0]);
}

/// The end of a pass that nobody looked at is a gap before the next one's first look.
#[test]
fn periods_of_several_passes_are_one_after_the_other() {
    let machine = Machine::from(Model::named("2s-56c").unwrap());
    let job = Trace {
        cpu: CpuId(0),
        beside: None,
        payload: None,
        period: Seconds(1e-3),
        burst: Seconds(1e-4),
        periods: 2,
        tools: streams::tools(&machine).unwrap(),
    };
    let pass = |from: f64, to: f64| {
        let count = ((to - from) / 1e-6) as usize;
        let look = |at: usize| {
            let at = from + at as f64 * 1e-6;
            let period = (at / 1e-3) as u32;
            LookSample {
                phase: at - f64::from(period) * 1e-3,
                lost_from: at,
                period,
                ..looks(1, 0)[0]
            }
        };
        (0..count).map(look).collect::<Vec<LookSample>>()
    };
    let passes = [pass(0.0, 1.6e-3), pass(0.0, 2e-3), Vec::new(), pass(0.1e-3, 2e-3)];
    let all = trace::joined(passes, &job);
    assert_eq!(all.iter().map(|look| look.period).max(), Some(7));
    assert!(all.windows(2).all(|pair| pair[0].period <= pair[1].period));
    let whole = Trace { periods: 8, ..job };
    let missing = trace::missing(&all, &whole, 10e-6);
    let [end, pass] = missing.as_slice() else { panic!("{missing:?}") };
    assert!((end - 0.4e-3).abs() < 5e-6 && (pass - 2.1e-3).abs() < 5e-6, "{missing:?}");
    let looked = trace::halts(&all, &whole, 10e-6);
    assert_eq!(looked.fewest, 5, "{looked:?}");
}

#[test]
fn throttled_dispatch_is_believed_in_most_of_many_periods() {
    let throttled = trace::Throttled { phase: 4e-6, length: 4e-6, ratio: 4.0 };
    assert!(throttled.is_believed(&looks(60, 48)));
    assert!(!throttled.is_believed(&looks(60, 47)), "fewer than 80 %");
    assert!(!throttled.is_believed(&looks(49, 49)), "fewer than 50 periods");
}
