//! The counters of core cycles in a run: found, calibrated, and their row in the record.

use machine::Machine;
use machine::instruments::aperf_mperf::{self, CounterGauge, CycleCounters, MperfRate};
use machine::instruments::clock::{StampClock, StampSource};
use model::record::Instrument;
use model::{CpuId, Finding, Obstacle, Seconds, Unavailable};

use rig::executor::{Executor, RunError};
use rig::job::{Manner, Member, Repeat, Tools};
use rig::protocol;

/// The counters of a run, or why it has none.
pub(super) struct Counters {
    found: Result<CycleCounters, Unavailable>,
    gauge: Option<CounterGauge>,
    rate: Option<Result<MperfRate, Unavailable>>,
}

impl Counters {
    /// Looks for them, and how fine and dear a reading is on this CPU.
    pub(super) fn find(machine: &Machine, clock: &StampClock, cpu: CpuId) -> Counters {
        let found = CycleCounters::find(machine).and_then(|counters| {
            let gauge = gauge(machine, &counters, clock, cpu)?;
            Ok((counters, gauge))
        });
        match found {
            Ok((counters, gauge)) => {
                Counters { found: Ok(counters), gauge: Some(gauge), rate: None }
            }
            Err(reason) => Counters { found: Err(reason), gauge: None, rate: None },
        }
    }

    /// Where threads read them.
    pub(super) fn source(&self) -> Option<CycleCounters> {
        self.found.clone().ok()
    }

    /// Finds the rate of MPERF while that CPU does not halt.
    pub(super) fn calibrate(
        &mut self,
        executor: &mut dyn Executor,
        tools: &Tools,
        clock: &StampClock,
        cpu: CpuId,
    ) -> Result<(), RunError> {
        if self.found.is_err() {
            return Ok(());
        }
        let job = Repeat {
            members: vec![Member::new(cpu, tools.null)],
            phases: vec![protocol::counting(); 8],
            tools: *tools,
            manner: Manner::USUAL,
        };
        let raw = match executor.repeat(&job) {
            Err(error) if error.is_of_one_job() => {
                self.rate = Some(Err(error.reason("core clock by APERF/MPERF")));
                return Ok(());
            }
            done => done?,
        };
        let hertz = executor.rate().hertz();
        let mut windows = Vec::new();
        let mut refused = None;
        for phase in &raw.members[0].phases {
            let Some([before, after]) = &phase.counted else { continue };
            let elapsed = after.stamp.since(before.stamp);
            let delta = match (&before.counts, &after.counts) {
                (Ok(before), Ok(after)) => after.since(*before, elapsed),
                (Err(reason), _) | (_, Err(reason)) => Err(reason.clone()),
            };
            match delta {
                Ok(delta) => windows.push((delta.mperf, elapsed.at(executor.rate()))),
                Err(reason) => refused = Some(reason),
            }
        }
        let tsc = match clock.source {
            StampSource::Tsc(_) | StampSource::Simulated => Some(hertz),
            StampSource::MonotonicRaw(_) | StampSource::Cntvct(_) => None,
        };
        let rate = aperf_mperf::calibrate_mperf(&windows, tsc);
        self.rate = Some(rate.map_err(|reason| refused.unwrap_or(reason)));
        Ok(())
    }

    /// Why there are no numbers by them at all.
    pub(super) fn absent(&self) -> Option<&Unavailable> {
        self.found.as_ref().err()
    }

    /// Their row in the record.
    pub(super) fn instrument(&self) -> Instrument {
        let not_reached = || {
            let why = "the run ended before they were calibrated";
            Unavailable::new(Obstacle::Measurement, "core clock by APERF/MPERF", why)
        };
        let used = || {
            let counters = self.found.as_ref().map_err(Clone::clone)?;
            let gauge = self.gauge.ok_or_else(not_reached)?;
            let rate = self.rate.as_ref().ok_or_else(not_reached)?;
            Ok((counters, &rate.as_ref().map_err(Clone::clone)?.rate, gauge))
        };
        aperf_mperf::instrument(used())
    }

    /// What is to be said of them.
    pub(super) fn finding(&self) -> Option<Finding> {
        self.rate.as_ref()?.as_ref().ok()?.finding.clone()
    }
}

/// On a thread of its own that is pinned there: readings from afar are slower.
fn gauge(
    machine: &Machine,
    counters: &CycleCounters,
    clock: &StampClock,
    cpu: CpuId,
) -> Result<CounterGauge, Unavailable> {
    if let Some(model) = &machine.simulated {
        let stamp = model.clock.stamp_cost_ticks as f64 / clock.rate.hertz().0;
        return Ok(CounterGauge { step_cycles: 1, own_cost: Seconds(stamp) });
    }
    let broken =
        |why: String| Unavailable::new(Obstacle::Permission, "core clock by APERF/MPERF", why);
    let there = || {
        sys::affinity::pin(cpu).map_err(|error| {
            broken(format!("a thread could not be pinned to CPU {cpu}: {error}"))
        })?;
        counters.gauge(cpu)
    };
    std::thread::scope(|scope| {
        let died = |_| Err(broken("the thread that read them died".to_owned()));
        scope.spawn(there).join().unwrap_or_else(died)
    })
}
