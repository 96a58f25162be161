//! Records that simulated machines gave, for the tests of what is read from them.

use machine::Machine;
use measure::areas::memory::{MemoryOptions, Question};
use measure::run::{Request, measure};
use model::Seconds;
use model::record::{Bound, PageKind, Presentation, Record};
use rig::executor::Stop;

fn look(page: PageKind) -> Presentation {
    Presentation { width: 80, colour: false, verbosity: 0, page }
}

/// The machine of that name, without a measurement.
pub(crate) fn described(name: &str) -> Record {
    machine::describe(&Machine::named(name).unwrap(), Vec::new(), look(PageKind::Sheet))
}

fn measured(name: &str, request: &Request) -> Record {
    let machine = Machine::named(name).unwrap();
    let mut record = measure(&machine, request, &Stop::default(), &mut |_| {}).unwrap();
    crate::annotate(&mut record);
    record
}

/// What `cpudyno memory` measures of it.
pub(crate) fn memory(
    name: &str,
    question: Question,
    change: impl FnOnce(&mut MemoryOptions),
) -> Record {
    let mut options = MemoryOptions::about(question);
    change(&mut options);
    measured(name, &options.request(vec!["test".to_owned()], look(PageKind::Memory)))
}

/// What `cpudyno sheet` measures of it.
pub(crate) fn sheet(name: &str, budget: f64) -> Record {
    let command = vec!["test".to_owned()];
    let look = look(PageKind::Sheet);
    measured(name, &measure::sheet::request(Seconds(budget), None, None, command, look))
}

/// What `cpudyno gate` measures of it.
pub(crate) fn gate(name: &str, bounds: &[Bound]) -> Record {
    let look = look(PageKind::Gate);
    measured(
        name,
        &measure::gate::request(Seconds(3.0), None, Some(bounds.to_vec()), Vec::new(), look),
    )
}
