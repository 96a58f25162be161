//! Columns in addition to those of [`machine::activity`]: what somebody added, and counters of the CPUs.
//!
//! They are opened by who watches, and not around runs, whose own counters they would take away.

mod added;
mod counters;
mod growing;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use machine::Machine;
use model::record::CpuPlace;
use model::{CpuId, CpuSet, Reading, Unavailable, Unit};

pub use added::AddedColumn;
pub use counters::HEADERS;
pub(super) use counters::open as counters;

/// Whose number an additional column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Cpu,
    Core,
    Package,
    Node,
    Machine,
}

impl Whose {
    /// Whose number of so many a CPU has; none: of none.
    fn of(self, place: &CpuPlace) -> Option<(u32, u32)> {
        match self {
            Whose::Cpu => Some((0, place.cpu.0)),
            Whose::Core => Some((place.package, place.core)),
            Whose::Package => Some((0, place.package)),
            Whose::Node => place.node.map(|node| (0, node)),
            Whose::Machine => Some((0, 0)),
        }
    }

    /// The first watched CPU of each, with the watched CPUs whose number it is.
    fn carriers(self, watched: &[CpuPlace]) -> Vec<(CpuPlace, CpuSet)> {
        let mut sharing: BTreeMap<(u32, u32), Vec<&CpuPlace>> = BTreeMap::new();
        for place in watched {
            if let Some(whose) = self.of(place) {
                sharing.entry(whose).or_default().push(place);
            }
        }
        let carrier = |cpus: Vec<&CpuPlace>| {
            let first = (*cpus.first()?).clone();
            Some((first, cpus.iter().map(|place| place.cpu).collect()))
        };
        let mut carriers: Vec<(CpuPlace, CpuSet)> =
            sharing.into_values().filter_map(carrier).collect();
        carriers.sort_by_key(|(place, _)| place.cpu);
        carriers
    }
}

/// An additional column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BesideColumn {
    pub(super) header: String,
    pub(super) quantity: &'static str,
    pub(super) unit: Unit,
    pub(super) source: String,
    /// The CPUs that carry a value each, with those whose value it is.
    pub(super) carriers: Vec<(CpuId, CpuSet)>,
    /// Whether it never shows: others are weighted by it.
    pub(super) is_weight: bool,
}

/// One that cannot be had.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BesideMissing {
    pub(super) header: String,
    pub(super) quantity: &'static str,
    pub(super) unit: Unit,
    pub(super) reason: Unavailable,
}

/// What fills some of these columns.
pub(super) trait BesideSource {
    /// They.
    fn columns(&self) -> Vec<BesideColumn>;
    /// Reads counters, in the middle of an interval or at its end.
    fn note(&mut self, machine: &Machine);
    /// Whether it takes counters of the cores.
    fn takes_counters(&self) -> bool {
        false
    }
    /// What was noted since this was asked last, in an interval of so many seconds: a value of each
    /// carrier of each column.
    fn take(&mut self, seconds: f64) -> Vec<Vec<Reading<f64>>>;
}

/// What was opened of some columns, and which of them cannot be had.
pub(super) type Opened = (Option<Box<dyn BesideSource>>, Vec<BesideMissing>);

/// Opens a column that was added.
pub(super) fn added(machine: &Machine, watched: &[CpuPlace], column: &AddedColumn) -> Opened {
    match added::open(machine, watched, column) {
        Ok(source) => (Some(source), Vec::new()),
        Err(reason) => (None, vec![column.missing(reason)]),
    }
}
