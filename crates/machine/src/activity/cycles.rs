//! Clock and busy time by APERF and MPERF.

use std::time::{Duration, Instant};

use model::ticks::Ticks;
use model::{Hertz, Obstacle, Reading, Seconds, Unavailable, Unit};
use sys::clock::{Probe, Tsc};

use super::{Column, ColumnSource, LookContext, Places, Scope, kernel, no_interval};
use crate::instruments::aperf_mperf::{Counts, CycleCounters, calibrate_mperf};
use crate::ports::Machine;

const AVERAGE: (&str, &str, Unit) = ("Avg_MHz", "average_clock", Unit::Hertz);
const BUSY: (&str, &str, Unit) = ("Bzy_MHz", "busy_clock", Unit::Hertz);

pub(super) const COLUMNS: &[(&str, &str, Unit)] = &[AVERAGE, kernel::BUSY, BUSY];

const WHAT: &str = "core clock by APERF/MPERF";

struct Cycles {
    counters: CycleCounters,
    mperf: Hertz,
    last: Option<(Duration, Vec<Reading<Counts>>)>,
}

pub(super) fn open(machine: &Machine, places: &Places) -> Reading<Box<dyn ColumnSource>> {
    let counters = CycleCounters::find(machine)?;
    let mperf = match &machine.simulated {
        Some(model) => Hertz(model.cycle_counters()?.mperf_hz),
        None => mperf_rate(machine, &counters, places)?,
    };
    Ok(Box::new(Cycles { counters, mperf, last: None }))
}

/// What MPERF counts at, by a CPU that stays busy for 16 ms: an idle one does not count.
fn mperf_rate(machine: &Machine, counters: &CycleCounters, places: &Places) -> Reading<Hertz> {
    const WINDOW: Duration = Duration::from_millis(2);
    const WINDOWS: usize = 8;
    let usable = machine.host.affinity()?;
    let of_all = places.cpus.iter().map(|place| place.cpu);
    let cpu = of_all.clone().find(|cpu| usable.contains(*cpu)).or(usable.iter().next());
    let cpu = cpu.ok_or_else(|| broken("this process may use no CPU"))?;
    let there = || -> Reading<Hertz> {
        sys::affinity::pin(cpu)
            .map_err(|error| broken(format!("pinning to CPU {cpu} failed: {error}")))?;
        let tsc = Tsc::invariant();
        let now = || (sys::clock::monotonic_raw(), tsc.map(Probe::stamp));
        let (begun, first) = now();
        let mut windows = Vec::with_capacity(WINDOWS);
        for _ in 0..WINDOWS {
            let (before, at) = (counters.read(cpu)?, sys::clock::monotonic_raw());
            let spinning = Instant::now();
            while spinning.elapsed() < WINDOW {
                std::hint::spin_loop();
            }
            let after = counters.read(cpu)?;
            let elapsed = sys::clock::monotonic_raw().saturating_sub(at);
            let delta = after.since(before, Ticks::new(elapsed.as_nanos() as u64))?;
            windows.push((delta.mperf, Seconds(elapsed.as_secs_f64())));
        }
        let (ended, last) = now();
        let ticks = first.zip(last).map(|(first, last)| last.saturating_sub(first) as f64);
        let tsc = ticks.map(|ticks| Hertz(ticks / ended.saturating_sub(begun).as_secs_f64()));
        calibrate_mperf(&windows, tsc).map(|found| found.rate.hertz)
    };
    std::thread::scope(|scope| {
        let died = |_| Err(broken("the thread that read them died"));
        scope.spawn(there).join().unwrap_or_else(died)
    })
}

impl Cycles {
    fn values(
        &self,
        now: Reading<Counts>,
        then: Reading<Counts>,
        elapsed: Duration,
    ) -> Reading<[Reading<f64>; 3]> {
        let delta = now?.since(then?, Ticks::new(elapsed.as_nanos() as u64))?;
        let seconds = elapsed.as_secs_f64();
        // A reading takes time, and not always the same: no CPU is busy for longer than that.
        let busy = (delta.unhalted(self.mperf).0 / seconds).min(1.0);
        Ok([Ok(delta.aperf as f64 / seconds), Ok(busy), Ok(delta.clock(self.mperf).0)])
    }
}

/// The kernel's counter of a CPU is read there, which wakes it: one that stood still is lost.
fn lost() -> Unavailable {
    let why = "the kernel closed its counters of this CPU, as it does when a CPU goes offline: \
               they stood still, although reading them wakes the CPU";
    Unavailable::new(Obstacle::Measurement, WHAT, why).with_remedy("start `cpudyno top` again")
}

fn halted() -> Unavailable {
    let why = "idle for the whole interval, so it has no clock";
    Unavailable::new(Obstacle::Measurement, WHAT, why)
}

fn broken(why: impl Into<String>) -> Unavailable {
    Unavailable::new(Obstacle::Permission, WHAT, why)
}

impl ColumnSource for Cycles {
    fn columns(&self) -> Vec<Column> {
        super::of_each_cpu(COLUMNS, self.counters.source())
    }

    fn read(&mut self, look: &LookContext<'_>) -> Vec<Vec<Reading<f64>>> {
        let now = look.now;
        let cpus = look.places.carriers(Scope::Cpu);
        let counts = self.counters.read_each(&cpus);
        let last = self.last.replace((now, counts.clone()));
        let mut columns = vec![Vec::with_capacity(cpus.len()); COLUMNS.len()];
        let Some((then, earlier)) = last else {
            return vec![vec![Err(no_interval(WHAT)); cpus.len()]; COLUMNS.len()];
        };
        let elapsed = now.saturating_sub(then);
        let stood = |(now, then): (&Reading<Counts>, &Reading<Counts>)| now.is_ok() && now == then;
        // Where the counters of all stand still, somebody keeps them still.
        let all_stood = counts.iter().zip(&earlier).all(stood);
        for (counts, earlier) in counts.into_iter().zip(earlier) {
            let values = if stood((&counts, &earlier)) && self.counters.are_the_kernels() {
                Err(lost())
            } else if !all_stood && stood((&counts, &earlier)) {
                Ok([Ok(0.0), Ok(0.0), Err(halted())])
            } else {
                self.values(counts, earlier, elapsed)
            };
            for (column, values_of) in columns.iter_mut().enumerate() {
                values_of.push(values.clone().and_then(|values| values[column].clone()));
            }
        }
        columns
    }
}
