//! The rate of the time stamp counter, by the time that passes.

use std::time::Duration;

use model::{Obstacle, Reading, Unavailable, Unit};
use simulated::Model;
use sys::clock::{Probe, Tsc};

use super::{Column, ColumnSource, LookContext, Places, Scope, no_interval};
use crate::ports::Machine;

const HEADER: &str = "TSC_MHz";
const QUANTITY: &str = "tsc_rate";

pub(super) const COLUMNS: &[(&str, &str, Unit)] = &[(HEADER, QUANTITY, Unit::Hertz)];

enum TscCounter {
    Real(Tsc),
    Simulated(Box<Model>),
}

impl TscCounter {
    fn read(&self) -> f64 {
        match self {
            TscCounter::Real(tsc) => tsc.stamp() as f64,
            TscCounter::Simulated(model) => model.elapsed.seconds().0 * model.clock.tsc_hz,
        }
    }
}

struct Stamps {
    counter: TscCounter,
    last: Option<(Duration, f64)>,
}

pub(super) fn open(machine: &Machine, _: &Places) -> Reading<Box<dyn ColumnSource>> {
    let counter = match (&machine.simulated, &machine.elsewhere) {
        (Some(model), _) => TscCounter::Simulated(Box::new(model.clone())),
        (None, Some(elsewhere)) => return Err(super::not_in_files(HEADER, elsewhere)),
        (None, None) => TscCounter::Real(Tsc::invariant().ok_or_else(|| {
            let why = "this CPU has no time stamp counter that runs at one rate";
            Unavailable::new(Obstacle::Hardware, HEADER, why)
        })?),
    };
    Ok(Box::new(Stamps { counter, last: None }))
}

impl ColumnSource for Stamps {
    fn columns(&self) -> Vec<Column> {
        vec![Column {
            header: HEADER.into(),
            quantity: QUANTITY,
            part: None,
            unit: Unit::Hertz,
            scope: Scope::Cpu,
            source: "RDTSC of the CPU that reads; all counters run alike".into(),
        }]
    }

    fn read(&mut self, look: &LookContext<'_>) -> Vec<Vec<Reading<f64>>> {
        // Anew: other sources were read since the look began.
        let now = look.machine.passed();
        let ticks = self.counter.read();
        let rate = match self.last.replace((now, ticks)) {
            None => Err(no_interval(HEADER)),
            Some((then, earlier)) => {
                let seconds = now.saturating_sub(then).as_secs_f64();
                model::growth::grown(HEADER, ticks, earlier).map(|ticks| ticks / seconds)
            }
        };
        vec![vec![rate; look.places.cpus.len()]]
    }
}
