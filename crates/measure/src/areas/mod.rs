//! Areas: families of workloads with their own questions. One folder each, one line here.

pub(crate) mod contained;
pub mod cores;
pub mod memory;
pub mod openmp;
pub mod pause;
pub mod pmu;
pub mod sst;
pub mod subjects;
pub mod top;
pub mod turbo;
pub mod wait;
pub mod wake;

use model::areas::Quantity;

pub use self::contained::Contained;
use crate::run::plan::{Planning, Wishes};
use rig::collect::Taken;

/// A family of workloads.
pub trait Area: Sync {
    /// Its name: folder, record id and command are this word.
    fn id(&self) -> &'static str;
    /// Its share of the time that is left after the minima of all areas.
    fn weight(&self) -> f64;
    /// What its numbers mean.
    fn quantities(&self) -> &'static [Quantity];
    /// How a quantity is taken, by its id.
    fn taken(&self, _quantity: &str) -> Taken {
        Taken::NAMED
    }
    /// Whether a workload has that quantity, where it is measured at all.
    fn offers(&self, _workload: &str, _quantity: &Quantity) -> bool {
        true
    }
    /// What it would like to measure for the data sheet, most wanted first.
    fn wishes(&self, plan: &Planning<'_>) -> Wishes;
}

/// All areas, in the order of the sheet.
pub static AREAS: &[&dyn Area] = &[
    &Contained(&turbo::Turbo),
    &Contained(&memory::Memory),
    &Contained(&cores::Cores),
    &Contained(&pause::Pause),
    &Contained(&wake::Wake),
    &Contained(&openmp::Openmp),
    &Contained(&wait::Wait),
    &Contained(&pmu::Pmu),
    &Contained(&sst::Sst),
    &Contained(&top::Top),
];

/// The quantities of an area, each with how it is taken.
pub(crate) fn taken(area: &dyn Area) -> Vec<(&'static Quantity, Taken)> {
    area.quantities().iter().map(|quantity| (quantity, area.taken(quantity.id))).collect()
}
