//! What a machine says of itself, without measuring.

use model::record::{PageKind, Presentation, Record};

use crate::Error;
use crate::builder::machine;

/// What this machine is: facts by their ids, such as `record.fact("cpu.brand")`.
pub fn info() -> Record {
    describe(&machine::Machine::real(), "cpudyno::info", PageKind::Info)
}

/// The same of another machine, such as `sim:2s-56c`.
///
/// # Errors
/// Where there is no such machine.
pub fn info_of(name: &str) -> Result<Record, Error> {
    Ok(describe(&machine(Some(name))?, "cpudyno::info", PageKind::Info))
}

/// What can be measured here and what not, and which settings are not as they should be.
pub fn doctor() -> Record {
    describe(&machine::Machine::real(), "cpudyno::doctor", PageKind::Doctor)
}

/// The same of another machine.
///
/// # Errors
/// Where there is no such machine.
pub fn doctor_of(name: &str) -> Result<Record, Error> {
    Ok(describe(&machine(Some(name))?, "cpudyno::doctor", PageKind::Doctor))
}

fn describe(machine: &machine::Machine, command: &str, page: PageKind) -> Record {
    machine::describe(machine, vec![command.to_owned()], Presentation::of(page))
}
