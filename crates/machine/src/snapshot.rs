//! A record of what the machine says of itself; nothing is measured.

use model::record::{Conditions, Machine as Description, PageKind, Presentation, Record, Run};

use crate::facts::fact_cache::Survey;
use crate::ports::Machine;
use crate::{conditions, doctor, facts, limits};
use model::contradictions;

/// Facts, capabilities and conditions as a record without series; for the pages `info` and `doctor` what limits the clock
/// now.
pub fn describe(machine: &Machine, command: Vec<String>, presentation: Presentation) -> Record {
    let run = machine.begin(command, presentation);
    let begin = sys::clock::monotonic_raw();
    let survey = Survey::new(machine);
    let capabilities = doctor::capabilities_of(&survey);
    let description = Description { capabilities, ..facts::machine_of(&survey) };
    let before = conditions::read_of(&survey);
    let mut findings = survey.disputed_places().to_vec();
    findings.extend(contradictions::of(&description, &before));
    // Others look before and after what they measure.
    let clock = matches!(presentation.page, PageKind::Info | PageKind::Doctor)
        .then(|| limits::now(&survey));
    // A simulated machine answers in no time, and so does one that is read elsewhere: the records of
    // both are the same bit by bit (invariant I11).
    let seconds = if machine.simulated.is_some() || machine.elsewhere.is_some() {
        0.0
    } else {
        sys::clock::monotonic_raw().saturating_sub(begin).as_secs_f64()
    };
    Record {
        conditions: Conditions { before, after: Vec::new() },
        clock,
        findings,
        ..Record::new(Run { seconds, ..run }, description)
    }
}
