//! The counters of the memory controllers in a run: found, looked at while nobody is busy, and their row
//! in the record.

use machine::Machine;
use machine::instruments::traffic::{self, Carried, TrafficCounters, TrafficGauge};
use model::Unavailable;
use model::record::Instrument;

/// The counters of a run, or why it has none.
pub(super) struct Controllers(Result<Found, Unavailable>);

struct Found {
    counters: TrafficCounters,
    gauge: TrafficGauge,
    idle: Vec<Carried>,
}

impl Controllers {
    /// Opens them, and looks at what others move while this process sleeps.
    pub(super) fn find(machine: &Machine) -> Controllers {
        let found = || {
            let counters = TrafficCounters::find(machine)?;
            let (gauge, idle) = (counters.gauge()?, counters.idle()?);
            Ok(Found { counters, gauge, idle })
        };
        Controllers(found())
    }

    /// Where threads read them.
    pub(super) fn source(&self) -> Option<&TrafficCounters> {
        self.0.as_ref().ok().map(|found| &found.counters)
    }

    /// Bytes per second before the run.
    pub(super) fn idle(&self) -> &[Carried] {
        self.0.as_ref().map_or(&[], |found| &found.idle)
    }

    /// Their row in the record.
    pub(super) fn instrument(&self) -> Instrument {
        let found = self.0.as_ref().map(|found| (&found.counters, found.gauge));
        traffic::instrument(found.map_err(Clone::clone))
    }
}
