//! What can be read and used here: one row per capability, each with its remedy.
//!
//! Three answers are kept apart ([`model::Obstacle`]): the hardware cannot, the kernel or hypervisor
//! does not allow, cpudyno does not know how.

mod counters;
mod cpus;
mod memory;
mod power;
mod registers;
mod surroundings;

use model::record::{Fact, FactValue};
use model::{Obstacle, Reading, Unavailable};

pub(crate) use self::memory::transparent_huge_pages;
pub use self::surroundings::locked_registers;
use crate::facts::fact_cache::Survey;
use crate::facts::fact_table::{self, FactRow};
use crate::ports::Machine;
use crate::probes::Surroundings;
use crate::{conditions, facts};

/// In reading order.
pub(crate) const TABLES: &[&[FactRow]] =
    &[registers::ROWS, counters::ROWS, power::ROWS, memory::ROWS, cpus::ROWS, surroundings::ROWS];

/// What can be read and used here. It never fails: what is lacking says why.
pub fn capabilities(machine: &Machine) -> Vec<Fact> {
    capabilities_of(&Survey::new(machine))
}

pub(crate) fn capabilities_of(survey: &Survey<'_>) -> Vec<Fact> {
    TABLES.iter().flat_map(|rows| fact_table::read(rows, survey)).collect()
}

/// The ids of all capabilities, in reading order.
pub fn ids() -> impl Iterator<Item = &'static str> {
    TABLES.iter().flat_map(|rows| rows.iter().map(|row| row.id))
}

fn surroundings<'a>(survey: &'a Survey<'_>) -> Surroundings<'a> {
    Surroundings { tree: &*survey.tree, ground: survey.ground() }
}

/// What a row of another table says: a subject is read in one place.
fn said_elsewhere(survey: &Survey<'_>, id: &str) -> Reading<String> {
    let rows = facts::TABLES.iter().copied().chain([conditions::TABLE]).flatten();
    let row = rows.into_iter().find(|row| row.id == id).ok_or_else(|| {
        let why = format!("this version has no fact `{id}`");
        Unavailable::new(Obstacle::Cpudyno, id, why)
    })?;
    match (row.read)(survey)? {
        FactValue::Text(text) => Ok(text),
        FactValue::Number { value, unit } => Ok(model::page::si::format(value, unit)),
    }
}

fn not_permitted(why: impl Into<String>, remedy: impl Into<String>) -> Unavailable {
    Unavailable::new(Obstacle::Permission, "", why).with_remedy(remedy)
}
