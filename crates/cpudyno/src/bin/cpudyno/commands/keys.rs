//! Keys of the machine around something else: was it the same before and after?

use cpudyno::host_lock::{self, Held, Taken};
use fleet::key::around;
use machine::Machine;
use model::record::{MachineKey, PageKind, Presentation, Record};
use model::{CpuSet, Obstacle, Seconds, Severity, Unavailable};
use rig::executor::Stop;

/// Long enough for a few blocks of each cell after calibration, and short beside what is watched.
const TIME: Seconds = Seconds(2.0);

/// Takes keys, or does not.
pub(super) struct Keys {
    taken: Vec<Result<MachineKey, Unavailable>>,
    is_wanted: bool,
    /// Whether nobody has taken this process' turn to measure.
    needs_turn: bool,
    time: Seconds,
    cpus: Option<CpuSet>,
}

impl Keys {
    pub(super) fn new(is_wanted: bool) -> Keys {
        Keys { taken: Vec::new(), is_wanted, needs_turn: false, time: TIME, cpus: None }
    }

    /// Those of a request, one after the other.
    pub(super) fn like(time: Seconds, cpus: Option<CpuSet>) -> Keys {
        Keys { time, cpus, ..Keys::new(true) }
    }

    /// Takes turns with others that measure here, key by key: what is watched takes its own.
    #[must_use]
    pub(super) fn by_turns(self) -> Keys {
        Keys { needs_turn: true, ..self }
    }

    /// Takes one. Where the machine does not allow it there is a reason: what is watched matters more.
    pub(super) fn take(&mut self, machine: &Machine, stop: &Stop) {
        if self.is_wanted && !stop.asked() {
            let taken = self.measured(machine, stop);
            self.taken.push(taken);
        }
    }

    fn measured(&self, machine: &Machine, stop: &Stop) -> Result<MachineKey, Unavailable> {
        let missing = |why: String| Unavailable::new(Obstacle::Measurement, "key", why);
        let _turn = self.turn(machine).map_err(missing)?;
        let look = Presentation::of(PageKind::Key);
        // The clock of a simulated machine goes on from run to run.
        let already = machine.simulated.as_ref().map_or(Seconds(0.0), |it| it.elapsed.seconds());
        let request =
            measure::key::request(self.time + already, self.cpus.clone(), Vec::new(), look);
        let record = measure::run::measure(machine, &request, stop, &mut |_| {});
        record.map(|record| fleet::key::of(&record)).map_err(|error| missing(error.to_string()))
    }

    /// The right to measure for so long, without waiting for it.
    fn turn(&self, machine: &Machine) -> Result<Option<Held>, String> {
        let is_here = machine.simulated.is_none() && machine.elsewhere.is_none();
        let Some(place) = host_lock::place(is_here).filter(|_| self.needs_turn) else {
            return Ok(None);
        };
        match place.take().map_err(|error| error.to_string())? {
            Taken::Held(held) => Ok(held),
            Taken::By(holder) => Err(format!("this host was measured by {holder}")),
        }
    }

    /// Those that were taken.
    pub(super) fn all(self) -> Vec<MachineKey> {
        self.taken.into_iter().filter_map(Result::ok).collect()
    }

    /// Notes them, and what they say, in the record of what was between them: whether the machine moved.
    pub(super) fn note(self, record: &mut Record, area: &str) -> bool {
        let found = around::finding(&self.taken, area);
        let is_moved = found.as_ref().is_some_and(|it| it.severity > Severity::Note);
        record.findings.extend(found);
        record.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        record.keys = self.all();
        is_moved
    }
}
