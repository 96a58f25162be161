//! Keys of the machine around something else: was it the same before and after?

use fleet::key::{KeyVerdict, compare};
use machine::Machine;
use model::record::{MachineKey, PageKind, Presentation, Record};
use model::{Finding, Seconds};
use rig::executor::Stop;

/// Long enough for a few blocks of each cell after calibration, and short beside what is watched.
const TIME: Seconds = Seconds(2.0);

/// Takes keys, or does not.
pub(super) struct Keys {
    taken: Vec<MachineKey>,
    is_wanted: bool,
}

impl Keys {
    pub(super) fn new(is_wanted: bool) -> Keys {
        Keys { taken: Vec::new(), is_wanted }
    }

    /// Takes one. Where the machine does not allow it there is none: what is watched matters more.
    pub(super) fn take(&mut self, machine: &Machine, stop: &Stop) {
        if !self.is_wanted || stop.asked() {
            return;
        }
        let look = Presentation::of(PageKind::Key);
        // The clock of a simulated machine goes on from run to run.
        let already = machine.simulated.as_ref().map_or(Seconds(0.0), |it| it.elapsed.seconds());
        let request = measure::key::request(TIME + already, None, Vec::new(), look);
        let measured = measure::run::measure(machine, &request, stop, &mut |_| {});
        self.taken.extend(measured.ok().as_ref().map(fleet::key::of));
    }

    /// Those that were taken.
    pub(super) fn all(self) -> Vec<MachineKey> {
        self.taken
    }

    /// Notes them, and what they say, in the record of what was between them: whether the machine moved.
    pub(super) fn note(self, record: &mut Record, area: &str) -> bool {
        let mut is_moved = false;
        if let [before, after] = self.taken.as_slice() {
            let found = compare(before, after);
            is_moved = found.verdict == KeyVerdict::No;
            if is_moved {
                let text = format!("not comparable with itself before: {}", found.text);
                let remedy = "hold fast what can be (`cpudyno settings`), run it again, or take a quieter machine";
                record.findings.push(
                    Finding::warning(format!("{area}.machine-moved"), "this machine", text)
                        .remedy(remedy.to_owned()),
                );
                record.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
            }
        }
        record.keys = self.taken;
        is_moved
    }
}
