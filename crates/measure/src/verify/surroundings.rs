//! How warm CPUs are, and at which clock they run, while answers are compared.

use std::collections::BTreeMap;

use machine::Machine;
use machine::activity::{Activity, Scope};
use model::{CpuId, CpuSet, Hertz, Known, Obstacle, Reading, Seconds, Unavailable};

use crate::proof::Observer;
use rig::executor::{RunError, Stop};
use rig::placement::Placement;

/// The columns that tell it, the nearest to a core first.
const HEADERS: [&str; 2] = ["CoreTmp", "PkgTmp"];

/// How often clock and temperature are read: one CPU's clock takes some milliseconds.
const EVERY: Seconds = Seconds(1.0);

/// What is read beside the answers.
pub(super) struct Surroundings<'m> {
    activity: Reading<Activity<'m>>,
    observer: Reading<Observer<'m>>,
    cpus: Vec<CpuId>,
    /// The CPU whose clock is read next, as an index.
    next: usize,
    last: Option<Seconds>,
    celsius: Option<[f64; 2]>,
    clocks: BTreeMap<CpuId, Reading<[f64; 2]>>,
}

impl<'m> Surroundings<'m> {
    pub(super) fn watch(machine: &'m Machine, placement: &Placement, stop: &Stop) -> Self {
        let cpus: CpuSet = placement.cpus.iter().copied().collect();
        let mut activity = Activity::open(machine, Some(&cpus));
        if let Ok(activity) = &mut activity {
            activity.only(&HEADERS.map(str::to_owned));
            activity.look();
        }
        Surroundings {
            activity,
            observer: Observer::new(machine, stop),
            cpus: placement.cpus.clone(),
            next: 0,
            last: None,
            celsius: None,
            clocks: BTreeMap::new(),
        }
    }

    /// Reads what is due.
    pub(super) fn look(&mut self, now: Seconds) -> Result<(), RunError> {
        if self.last.is_some_and(|last| (now - last).0 < EVERY.0) {
            return Ok(());
        }
        self.last = Some(now);
        let cpu = self.cpus[self.next % self.cpus.len()];
        self.next += 1;
        self.of(cpu).map(drop)
    }

    /// Clock and temperature of a CPU right after its work.
    pub(super) fn of(&mut self, cpu: CpuId) -> Result<(Known<f64>, Known<f64>), RunError> {
        // The temperature first: it falls at once.
        let celsius = self.read(cpu);
        let clock = match &mut self.observer {
            Ok(observer) => observer.clock_of(cpu)?.map(|Hertz(hertz)| hertz),
            Err(reason) => Err(reason.clone()),
        };
        match (&clock, self.clocks.get_mut(&cpu)) {
            (Ok(hertz), Some(Ok(range))) => widen(range, *hertz),
            (Err(_), Some(_)) => {}
            (clock, _) => {
                self.clocks.insert(cpu, clock.clone().map(|hertz| [hertz; 2]));
            }
        }
        Ok((clock.into(), celsius.into()))
    }

    /// The temperature of a CPU's core, or of its package; all of them are looked at.
    fn read(&mut self, cpu: CpuId) -> Reading<f64> {
        let activity = self.activity.as_mut().map_err(|reason| reason.clone())?;
        let missing = activity.missing().iter().find(|it| it.header == HEADERS[1]);
        let none = missing.map_or_else(
            || {
                Unavailable::new(
                    Obstacle::Measurement,
                    "temperature",
                    "no time passed between two looks",
                )
            },
            |missing| missing.reason.clone(),
        );
        let Some(interval) = activity.look() else { return Err(none) };
        let columns: Vec<(Scope, usize)> = HEADERS
            .iter()
            .filter_map(|header| activity.columns().iter().position(|it| it.header == *header))
            .map(|at| (activity.columns()[at].scope, at))
            .collect();
        for (_, at) in &columns {
            for celsius in interval.values[*at].iter().flatten() {
                let range = self.celsius.get_or_insert([*celsius; 2]);
                widen(range, *celsius);
            }
        }
        let own = columns.iter().find_map(|(scope, at)| {
            let carriers = activity.carriers(*scope);
            let carrier =
                carriers.iter().position(|it| activity.sharing(*scope, *it).contains(cpu));
            interval.values[*at].get(carrier?)?.clone().ok()
        });
        own.ok_or(none)
    }

    /// The lowest and the highest temperature.
    pub(super) fn celsius(&self) -> Known<[f64; 2]> {
        let reason = || match &self.activity {
            Err(reason) => reason.clone(),
            Ok(activity) => {
                let missing = activity.missing().iter().find(|it| it.header == HEADERS[1]);
                let unread =
                    || Unavailable::new(Obstacle::Measurement, "temperature", "it was not read");
                missing.map_or_else(unread, |missing| missing.reason.clone())
            }
        };
        self.celsius.ok_or_else(reason).into()
    }

    /// The lowest and the highest clock of a CPU.
    pub(super) fn clock_of(&self, cpu: CpuId) -> Known<[f64; 2]> {
        let unread = || {
            let why = "it was not read: there was no time";
            let reason = Unavailable::new(Obstacle::Measurement, "core clock", why);
            Err(reason.with_remedy("compare for longer: --minutes"))
        };
        self.clocks.get(&cpu).cloned().unwrap_or_else(unread).into()
    }
}

fn widen([low, high]: &mut [f64; 2], value: f64) {
    *low = low.min(value);
    *high = high.max(value);
}
