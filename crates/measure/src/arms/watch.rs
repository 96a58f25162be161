//! The clock of CPUs around each measurement, as turbostat shows it while work goes on: Bzy_MHz.

use std::collections::BTreeMap;

use machine::Machine;
use machine::activity::Activity;
use model::record::{ArmClock, BusyClock, BusyClocks, ClockSpread, CpuPlace, CpuRole};
use model::stats::{median, quantile};
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};

/// Its name in turbostat, and here.
const CLOCK: &str = "Bzy_MHz";

/// CPUs under watch.
pub(super) struct Watch<'m> {
    activity: Activity<'m>,
    /// Which column the clock is.
    column: usize,
    /// What was seen of each CPU, by arm.
    seen: Vec<BTreeMap<CpuId, WatchedClock>>,
}

/// What was seen of a CPU.
#[derive(Default)]
struct WatchedClock {
    hertz: Vec<f64>,
    /// Why there was nothing to be seen the last time.
    missed: Option<Unavailable>,
}

impl<'m> Watch<'m> {
    /// These CPUs in so many arms; or why their clock cannot be read.
    pub(super) fn open(machine: &'m Machine, cpus: &CpuSet, arms: usize) -> Reading<Watch<'m>> {
        let mut activity = Activity::open(machine, Some(cpus))?;
        activity.only(&[CLOCK.to_owned()]);
        match activity.columns().iter().position(|column| column.header == CLOCK) {
            Some(column) => {
                let seen = (0..arms).map(|_| BTreeMap::new()).collect();
                Ok(Watch { activity, column, seen })
            }
            None => Err(activity.missing().first().map_or_else(
                || Unavailable::new(Obstacle::Hardware, CLOCK, "nothing here counts it"),
                |missing| missing.reason.clone(),
            )),
        }
    }

    /// A measurement begins.
    pub(super) fn begin(&mut self) {
        self.activity.look();
    }

    /// A measurement of that arm ended.
    pub(super) fn end(&mut self, arm: usize) {
        let Some(interval) = self.activity.look() else { return };
        let cpus = self.activity.cpus().iter().map(|place| place.cpu);
        for (cpu, value) in cpus.zip(&interval.values[self.column]) {
            let seen = self.seen[arm].entry(cpu).or_default();
            match value {
                Ok(hertz) => seen.hertz.push(*hertz),
                Err(reason) => seen.missed = Some(reason.clone()),
            }
        }
    }

    /// The clock of a CPU in an arm, in hertz.
    pub(super) fn clock(&self, cpu: CpuId, arm: usize) -> Option<f64> {
        median(&self.seen[arm].get(&cpu)?.hertz)
    }

    /// All that was seen in the first two arms, of CPUs that did so and so in each.
    pub(super) fn told(&self, role: impl Fn(CpuId, usize) -> CpuRole) -> BusyClocks {
        let of = |cpu: CpuId, arm: usize| {
            let clock = match self.seen[arm].get(&cpu) {
                Some(seen) => seen.told(),
                None => Err(not_measured()),
            };
            ArmClock { role: role(cpu, arm), clock: clock.into() }
        };
        let one = |&CpuPlace { cpu, package, core, .. }: &CpuPlace| BusyClock {
            cpu,
            package,
            core,
            a: of(cpu, 0),
            b: of(cpu, 1),
        };
        BusyClocks {
            source: self.activity.columns()[self.column].source.to_string(),
            cpus: self.activity.cpus().iter().map(one).collect(),
        }
    }
}

impl WatchedClock {
    fn told(&self) -> Reading<ClockSpread> {
        let at = |share| quantile(&self.hertz, share);
        match (at(0.1), at(0.5), at(0.9)) {
            (Some(p10), Some(median), Some(p90)) => {
                Ok(ClockSpread { count: self.hertz.len() as u64, p10, median, p90 })
            }
            _ => Err(self.missed.clone().unwrap_or_else(not_measured)),
        }
    }
}

fn not_measured() -> Unavailable {
    Unavailable::new(Obstacle::Measurement, CLOCK, "this arm was not measured")
}
