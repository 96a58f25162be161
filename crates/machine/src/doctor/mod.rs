//! What can be read and used here: one row per capability, each with its remedy.
//!
//! Three answers are kept apart ([`model::Obstacle`]): the hardware cannot, the kernel or hypervisor
//! does not allow, cpudyno does not know how.

use model::record::Fact;

use crate::ports::Machine;
use crate::rows::{self, Row};
use crate::survey::Survey;

/// In reading order.
pub(crate) const TABLES: &[&[Row]] = &[];

/// What can be read and used here. It never fails: what is lacking says why.
pub fn capabilities(machine: &Machine) -> Vec<Fact> {
    let survey = Survey::new(machine);
    TABLES.iter().flat_map(|rows| rows::read(rows, &survey)).collect()
}

/// The ids of all capabilities, in reading order.
pub fn ids() -> impl Iterator<Item = &'static str> {
    TABLES.iter().flat_map(|rows| rows.iter().map(|row| row.id))
}
