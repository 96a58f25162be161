//! Areas: families of workloads with their own questions. One folder each, one line here.

pub(crate) mod contained;
pub mod cores;
pub mod known;
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

use std::collections::BTreeMap;

use model::Finding;
use model::areas::Quantity;
use model::page::{Block, Text};
use model::record::{Record, Series};

pub use self::contained::Contained;
use crate::rig::collect::Taken;
use crate::run::plan::{Planning, Wishes};
use crate::sheet::claims::Claim;
use crate::sheet::normal::Band;

/// A family of workloads.
pub trait Area: Sync {
    /// Its name: folder, record id and command are this word.
    fn id(&self) -> &'static str;
    /// What people call it, as a heading.
    fn title(&self) -> &'static str;
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
    /// What tells series of one workload apart beside the active CPUs, in words, by their parameters.
    fn apart(&self, _parameters: &BTreeMap<String, String>) -> Option<String> {
        None
    }
    /// What a series without numbers is called, where that is not its workload.
    fn name_of(&self, _series: &Series) -> Option<String> {
        None
    }
    /// What it would like to measure for the data sheet, most wanted first.
    fn wishes(&self, plan: &Planning<'_>) -> Wishes;
    /// Remarks on its numbers.
    fn findings(&self, record: &Record) -> Vec<Finding>;
    /// Its answer in plain sentences.
    fn sentences(&self, record: &Record) -> Vec<Text>;
    /// What the machine claims of what it measures, and what became of that.
    fn claims(&self, _record: &Record) -> Vec<Claim> {
        Vec::new()
    }
    /// Its numbers beside what theory allows and others found.
    fn bands(&self, _record: &Record) -> Vec<Band> {
        Vec::new()
    }
    /// Its part of the sheet.
    fn section(&self, record: &Record) -> Vec<Block>;
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

/// The area of that id.
pub(crate) fn area(id: &str) -> Option<&'static dyn Area> {
    AREAS.iter().copied().find(|area| area.id() == id)
}

/// The quantities of an area, each with how it is taken.
pub(crate) fn taken(area: &dyn Area) -> Vec<(&'static Quantity, Taken)> {
    area.quantities().iter().map(|quantity| (quantity, area.taken(quantity.id))).collect()
}
