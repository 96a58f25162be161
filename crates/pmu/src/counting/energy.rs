//! The energy that packages drew while something was executed, as a row beside the events.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use machine::Machine;
use machine::activity::{EnergyMeter, EnergyReading};
use model::counts::PACKAGE_ENERGY;
use model::record::{CountedBy, EventCount};
use model::{Known, Obstacle, Unavailable};

use crate::metrics::Metric;

/// The row of a reading. Where there is no number, it is there for those who asked for a metric of it,
/// and for those who may be let read it.
pub(super) fn row(reading: &EnergyReading, asked: &[String]) -> Option<EventCount> {
    let needs_it = |metric: &Metric| {
        metric.formulas.iter().any(|it| it.formula.events().contains(&PACKAGE_ENERGY))
    };
    let is_asked = || asked.iter().filter_map(|id| Metric::find(id)).any(needs_it);
    let may_be =
        |reason: &Unavailable| reason.obstacle == Obstacle::Permission && reading.is_long();
    let count = match &reading.joules {
        Ok(joules) => Known::Yes((joules * 1e9).round() as u64),
        Err(reason) if may_be(reason) || is_asked() => {
            Known::No { unavailable: Unavailable { what: PACKAGE_ENERGY.into(), ..reason.clone() } }
        }
        Err(_) => return None,
    };
    Some(EventCount {
        event: PACKAGE_ENERGY.to_owned(),
        by: CountedBy::Kernel,
        unit: Some("nJ".to_owned()),
        count,
        own: None,
        way: reading.source.clone(),
    })
}

/// The energy of this machine's packages while a command is executed, read by another thread: the one
/// that counts waits for the command, and counters begin again after minutes.
pub(super) struct EnergyWatch {
    signal: Sender<()>,
    /// Says when a stretch has begun.
    begun: Receiver<()>,
    thread: JoinHandle<EnergyReading>,
}

impl EnergyWatch {
    /// Opens counters of energy; those of events are opened later, and do not inherit the thread. `None` where there
    /// may be no more threads.
    pub(super) fn open() -> Option<EnergyWatch> {
        /// No package draws so much that its counter begins again twice meanwhile.
        const OFTEN: Duration = Duration::from_secs(30);
        let (signal, signals) = channel();
        let (begins, begun) = channel();
        let watch = move || {
            let machine = Machine::real();
            let mut meter = EnergyMeter::new(&machine, None);
            if signals.recv().is_ok() {
                meter.begin();
                // Who does not wait for it has no use for it.
                begins.send(()).unwrap_or_default();
            }
            while signals.recv_timeout(OFTEN) == Err(RecvTimeoutError::Timeout) {
                meter.note();
            }
            meter.end()
        };
        let thread = std::thread::Builder::new().name("energy".to_owned()).spawn(watch).ok()?;
        Some(EnergyWatch { signal, begun, thread })
    }

    /// Begins before the command is started, and returns when counters were read.
    pub(super) fn begin(&self) {
        // A thread that has ended says so in the end.
        self.signal.send(()).unwrap_or_default();
        self.begun.recv().unwrap_or_default();
    }

    /// The command has ended.
    pub(super) fn end(self) -> Option<EnergyReading> {
        drop(self.signal);
        self.thread.join().ok()
    }
}
