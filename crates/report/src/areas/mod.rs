//! What the numbers of each area say: one folder each.

mod contained;
pub mod cores;
pub mod known;
pub mod memory;
pub mod openmp;
pub mod pause;
pub mod pmu;
pub mod sst;
pub mod top;
pub mod turbo;
pub mod wait;
pub mod wake;

use contained::Contained;
use model::Finding;
use model::page::{Block, Text};
use model::record::Record;

use crate::band::Band;
use crate::claim::Claim;

/// What an area has to say of a record.
pub trait Section: Sync {
    /// Its name: folder, record id and command are this word.
    fn id(&self) -> &'static str;
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

/// All of them, in the order of the sheet.
pub static SECTIONS: &[&dyn Section] = &[
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
