//! The counters of core cycles and of time, APERF and MPERF: their ratio is the core clock, without
//! a kernel of known length, and without the time that a CPU was halted.

mod counts;
mod perf;
mod rate;

use std::sync::Arc;
use std::time::Duration;

use model::record::{CalibratedRate, Instrument, InstrumentState};
use model::{CpuId, Obstacle, Reading, Seconds, Unavailable, Unit};
use simulated::Model;
use sys::rdpru::Rdpru;

pub use self::counts::{Counts, CountsDelta};
use self::perf::Events;
pub use self::rate::{MperfRate, calibrate_mperf};
use crate::facts::ON_THE_HOST;
use crate::ports::{Machine, Msr};

/// The id of the instrument in the record.
pub const ID: &str = "aperf_mperf";

/// What is missing where they cannot be read.
const WHAT: &str = "core clock by APERF/MPERF";

/// # Source
/// Intel SDM volume 4, table 2-2: IA32_MPERF and IA32_APERF; the same numbers on AMD.
const MPERF: u32 = 0xe7;
const APERF: u32 = 0xe8;

/// Where the counters are read.
#[derive(Clone)]
pub struct CycleCounters {
    source: CounterSource,
}

#[derive(Clone)]
enum CounterSource {
    Msr(Arc<dyn Msr>),
    Rdpru(Rdpru),
    Perf(Arc<Events>),
    Simulated(Arc<Model>),
}

impl std::fmt::Debug for CycleCounters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CycleCounters").field(&self.source()).finish()
    }
}

impl CycleCounters {
    /// The first source that gives a reading on the first CPU that this process may use:
    /// registers, the instruction RDPRU, the kernel's PMU `msr`.
    ///
    /// # Error
    /// Where none does: the reason of the registers, which are the usual way.
    pub fn find(machine: &Machine) -> Reading<CycleCounters> {
        if let Some(elsewhere) = &machine.elsewhere {
            let why = format!("nothing can be measured on {elsewhere}");
            return Err(Unavailable::new(Obstacle::Cpudyno, WHAT, why));
        }
        if let Some(model) = &machine.simulated {
            let source = CounterSource::Simulated(Arc::new(model.clone()));
            return model.cycle_counters().map(|_| CycleCounters { source });
        }
        let usable = machine.host.affinity()?;
        let cpu = usable.iter().next().ok_or_else(|| {
            Unavailable::new(Obstacle::Permission, WHAT, "this process may use no CPU")
        })?;
        let tried = |source| {
            let counters = CycleCounters { source };
            counters.try_on(cpu).map(|_| counters)
        };
        let by_registers = tried(CounterSource::Msr(Arc::clone(&machine.msr)));
        by_registers.or_else(|reason| {
            let rdpru = Rdpru::new().and_then(|rdpru| tried(CounterSource::Rdpru(rdpru)).ok());
            let by_perf = || {
                let events = Events::named(machine.tree.as_ref(), "aperf", "mperf").ok()?;
                tried(CounterSource::Perf(Arc::new(events))).ok()
            };
            rdpru.or_else(by_perf).ok_or(reason)
        })
    }

    /// One reading by a short-lived thread that is pinned there.
    fn try_on(&self, cpu: CpuId) -> Reading<Counts> {
        let there = || {
            sys::affinity::pin(cpu).map_err(|error| {
                let why = format!("a thread could not be pinned to CPU {cpu}: {error}");
                Unavailable::new(Obstacle::Permission, WHAT, why)
            })?;
            self.read(cpu)
        };
        std::thread::scope(|scope| {
            let died = |_| Err(Unavailable::new(Obstacle::Cpudyno, WHAT, "the thread died"));
            scope.spawn(there).join().unwrap_or_else(died)
        })
    }

    /// Both counters of a CPU, MPERF first, always in the same order and by the same way, so that
    /// the time between the two is nearly the same in each reading.
    ///
    /// The calling thread must be pinned to that CPU: RDPRU knows no other, and everything else is
    /// slower from afar.
    ///
    /// # Error
    /// Where the source refuses, or the calling thread is on another CPU and the source is RDPRU.
    pub fn read(&self, cpu: CpuId) -> Reading<Counts> {
        match &self.source {
            CounterSource::Msr(msr) => of_registers(msr.read_many(cpu, &[MPERF, APERF])),
            CounterSource::Rdpru(rdpru) => of_rdpru(*rdpru, cpu),
            CounterSource::Perf(events) => events.read(cpu),
            // Within jobs the executor computes them.
            CounterSource::Simulated(model) => model.counts_of_work(cpu).map(Counts::from),
        }
    }

    /// The same of several CPUs, by a thread that may be on any. Where only the CPU itself can read
    /// them, the thread goes there, and returns.
    pub fn read_each(&self, cpus: &[CpuId]) -> Vec<Reading<Counts>> {
        if !matches!(self.source, CounterSource::Rdpru(_)) {
            return cpus.iter().map(|&cpu| self.read(cpu)).collect();
        }
        let home = sys::affinity::current();
        let there = |&cpu: &CpuId| {
            sys::affinity::pin(cpu).map_err(|error| {
                let why = format!("this thread could not go to CPU {cpu}: {error}");
                Unavailable::new(Obstacle::Permission, WHAT, why)
            })?;
            self.read(cpu)
        };
        let counts = cpus.iter().map(there).collect();
        if let Ok(home) = home {
            // Where it cannot return it reads from where it is.
            drop(sys::affinity::restrict(&home));
        }
        counts
    }

    /// Whether they are events of the kernel, which it closes when a CPU goes offline.
    pub(crate) fn are_the_kernels(&self) -> bool {
        matches!(self.source, CounterSource::Perf(_))
    }

    /// Where the counters are read, in words, for the record.
    pub fn source(&self) -> &'static str {
        match self.source {
            CounterSource::Msr(_) => "MSR 0xe8 over 0xe7",
            CounterSource::Rdpru(_) => "RDPRU, register 1 over 0",
            CounterSource::Perf(_) => "perf PMU `msr`, aperf over mperf",
            CounterSource::Simulated(_) => "simulated MSR 0xe8 over 0xe7",
        }
    }

    /// How fine a reading of `cpu` is, and what it costs: readings back to back.
    ///
    /// # Error
    /// Where a reading fails.
    pub fn gauge(&self, cpu: CpuId) -> Reading<CounterGauge> {
        /// Enough for a minimum, and at most some milliseconds by the slowest source.
        const READINGS: usize = 64;
        let mut gauge = CounterGauge { step_cycles: u64::MAX, own_cost: Seconds(f64::INFINITY) };
        let mut last = self.read(cpu)?;
        let mut began = sys::clock::monotonic_raw();
        for _ in 0..READINGS {
            let counts = self.read(cpu)?;
            let now = sys::clock::monotonic_raw();
            let step = counts.aperf.wrapping_sub(last.aperf);
            if step > 0 {
                gauge.step_cycles = gauge.step_cycles.min(step);
            }
            let cost = now.saturating_sub(began).max(Duration::from_nanos(1));
            gauge.own_cost = Seconds(gauge.own_cost.0.min(cost.as_secs_f64()));
            (last, began) = (counts, now);
        }
        if gauge.step_cycles == u64::MAX {
            let why = format!("APERF of CPU {cpu} stood still in {READINGS} readings");
            let stuck = Unavailable::new(Obstacle::Hardware, WHAT, why);
            return Err(stuck.with_remedy(ON_THE_HOST));
        }
        Ok(gauge)
    }
}

fn of_registers(mut readings: Vec<Reading<u64>>) -> Reading<Counts> {
    let mut next = || readings.pop().unwrap_or_else(|| Err(unanswered()));
    let (aperf, mperf) = (next(), next());
    let mut reason = match (aperf, mperf) {
        (Ok(aperf), Ok(mperf)) => return Ok(Counts { aperf, mperf }),
        // It is not this one register.
        (Err(_), Err(reason)) => reason,
        (Err(reason), Ok(_)) | (Ok(_), Err(reason)) => {
            let why = format!("{}: {}", reason.what, reason.why);
            Unavailable { why, ..reason }
        }
    };
    reason.what = WHAT.into();
    Err(reason)
}

fn unanswered() -> Unavailable {
    Unavailable::new(Obstacle::Cpudyno, WHAT, "the port of registers gave too few answers")
}

fn of_rdpru(rdpru: Rdpru, cpu: CpuId) -> Reading<Counts> {
    let before = sys::thread::current_cpu();
    let pair = rdpru.read();
    if before == Some(cpu) && sys::thread::current_cpu() == Some(cpu) {
        return Ok(Counts { aperf: pair.aperf, mperf: pair.mperf });
    }
    let why = format!("RDPRU reads the CPU that it runs on, and this thread is not on CPU {cpu}");
    Err(Unavailable::new(Obstacle::Cpudyno, WHAT, why))
}

/// How fine a reading is, and what it costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CounterGauge {
    /// The smallest step of APERF between two readings, in core cycles: never less than a reading
    /// costs, so a bound on the step of the counter itself.
    pub step_cycles: u64,
    /// What a reading of both counters costs: the quickest one.
    pub own_cost: Seconds,
}

/// The row of the record: how the counters were read and how well, or why they were not.
pub fn instrument(
    outcome: Result<(&CycleCounters, &CalibratedRate, CounterGauge), Unavailable>,
) -> Instrument {
    let (source, state) = match outcome {
        Ok((counters, rate, gauge)) => {
            let state = InstrumentState::Used {
                unit: Unit::Cycle,
                resolution: gauge.step_cycles as f64,
                own_cost_seconds: gauge.own_cost.0,
                rate: Some(rate.clone()),
            };
            (counters.source(), state)
        }
        Err(mut unavailable) => {
            unavailable.what = WHAT.into();
            ("MSR 0xe8 over 0xe7", InstrumentState::Unavailable { unavailable })
        }
    };
    Instrument {
        id: ID.into(),
        source: source.into(),
        measures: "core cycles while not halted".into(),
        state,
    }
}
