//! The counters of core cycles behind a model-specific register.

use model::record::{Instrument, InstrumentState};
use model::{Obstacle, Unavailable};

use crate::facts::first_cpu;
use crate::ports::Machine;

/// # Source
/// Intel SDM volume 4, table 2-2: IA32_APERF; the same number on AMD.
const APERF: u32 = 0xe8;

pub(super) fn instrument(machine: &Machine) -> Instrument {
    let reading = first_cpu(machine).and_then(|cpu| machine.msr.read(cpu, APERF));
    let mut unavailable = reading.map_or_else(
        |reason| reason,
        |_| {
            let why = "the register can be read, but this version does not use it yet";
            Unavailable::new(Obstacle::Cpudyno, "", why)
        },
    );
    unavailable.what = "core clock by APERF/MPERF".into();
    Instrument {
        id: "aperf_mperf".into(),
        source: "MSR 0xe8 over 0xe7".into(),
        measures: "core cycles while not halted".into(),
        state: InstrumentState::Unavailable { unavailable },
    }
}
