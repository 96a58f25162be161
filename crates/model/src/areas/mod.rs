//! The words of each area's records: its id, its workloads and parameters, and what its numbers mean.
//!
//! Who measures writes them, and who explains reads them; neither knows the other.

pub mod cores;
pub mod memory;
pub mod openmp;
pub mod pause;
pub mod pmu;
pub mod sst;
pub mod top;
pub mod turbo;
pub mod wake;

use crate::Unit;

/// What a number means: one row for each quantity of an area.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    /// Its id in records.
    pub id: &'static str,
    /// What people call it, with its unit.
    pub label: &'static str,
    /// The unit of its samples.
    pub unit: Unit,
    /// Which direction is better, in words; empty where neither is.
    pub better: &'static str,
    /// What it is and how it is obtained.
    pub doc: &'static str,
    /// Bins of this relative width lose nothing that matters when samples are packed; 0: their order matters,
    /// and they never are.
    pub packing: f64,
}

const HIGHER: &str = "higher is better";
const LOWER: &str = "lower is better";
const NEITHER: &str = "";

impl Quantity {
    /// One whose samples may be packed in bins of a thousandth.
    pub const fn new(
        id: &'static str,
        label: &'static str,
        unit: Unit,
        better: &'static str,
        doc: &'static str,
    ) -> Quantity {
        Quantity { id, label, unit, better, doc, packing: 1e-3 }
    }

    const fn packed(self, packing: f64) -> Quantity {
        Quantity { packing, ..self }
    }

    const fn in_order(self) -> Quantity {
        self.packed(0.0)
    }
}

/// What people call each area, in the order of a sheet.
const TITLES: &[(&str, &str)] = &[
    (turbo::AREA, "Clock"),
    (memory::AREA, "Memory"),
    (cores::AREA, "Core to core"),
    (pause::AREA, "Pause"),
    (wake::AREA, "Wake-ups"),
    (openmp::AREA, "OpenMP regions"),
    (WAIT, "Spin or sleep"),
    (pmu::AREA, "Counters"),
    (sst::AREA, "Speed Select"),
    (top::AREA, "What the CPUs did meanwhile"),
];

/// The area that only reads what others measured.
pub const WAIT: &str = "wait";

/// What people call an area, as a heading; its id where this build does not know it.
pub fn title(area: &str) -> &str {
    TITLES.iter().find(|(known, _)| *known == area).map_or(area, |(_, title)| title)
}

/// The quantities of areas that have any.
const QUANTITIES: &[(&str, &[Quantity])] = &[
    (turbo::AREA, turbo::QUANTITIES),
    (memory::AREA, memory::QUANTITIES),
    (cores::AREA, cores::QUANTITIES),
    (pause::AREA, pause::QUANTITIES),
    (wake::AREA, wake::QUANTITIES),
    (openmp::AREA, openmp::QUANTITIES),
    (pmu::AREA, pmu::QUANTITIES),
    (top::AREA, top::QUANTITIES),
];

/// What an area means by a quantity's id; none where neither is known to this build.
pub fn quantity(area: &str, id: &str) -> Option<&'static Quantity> {
    let (_, all) = QUANTITIES.iter().find(|(known, _)| *known == area)?;
    all.iter().find(|quantity| quantity.id == id)
}
