//! The page of `cpudyno wake`, a pure function of the record (invariant I2).

use model::page::{Page, Text};
use model::record::Record;

use super::shown;
use crate::parts::{self, Leaf, known};

/// What was asked of waking. A verbosity of 1 and more adds every fact, condition and instrument.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let mut blocks = shown::signals::blocks(record);
    blocks.extend(shown::idle::blocks(record));
    blocks.extend(shown::timer::blocks(record));
    // What a reader of such numbers asks first.
    let lines = vec![
        ("CPU", known(record, "cpu.brand")),
        ("Cores", known(record, "cpu.cores")),
        ("Runs on", parts::runs_on(record)),
        ("Idle driver", known(record, "idle.driver")),
        ("Idle states", known(record, "idle.states")),
        ("Other busy CPUs", known(record, "busy.cpus")),
    ];
    let (title, simulated) = ("What waking a thread costs", "wake-ups");
    let mut answer = super::SECTION.sentences(record);
    answer.extend(super::deep_sleep::sentence(record).map(Text::from));
    parts::leaf(record, verbosity, Leaf { answer, title, simulated, lines, blocks })
}
