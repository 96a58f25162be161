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

use std::collections::BTreeMap;

use contained::Contained;
use model::Finding;
use model::page::{Block, Text};
use model::record::{Record, Series};

use crate::sheet::claims::{self, Claim};
use crate::sheet::normal::{self, Band};

/// What an area has to say of a record.
pub trait Section: Sync {
    /// Its name: folder, record id and command are this word.
    fn id(&self) -> &'static str;
    /// What tells series of one workload apart beside the active CPUs, in words, by their parameters.
    fn apart(&self, _parameters: &BTreeMap<String, String>) -> Option<String> {
        None
    }
    /// What a series without numbers is called, where that is not its workload.
    fn name_of(&self, _series: &Series) -> Option<String> {
        None
    }
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

/// The one of that area.
pub(crate) fn section(id: &str) -> Option<&'static dyn Section> {
    SECTIONS.iter().copied().find(|section| section.id() == id)
}

/// Adds what areas that took part have to say of a record: findings, numbers that are not where they should be, and
/// claims that are refuted, unless another finding says so. The most serious come first.
pub(crate) fn judge(record: &mut Record) {
    let took_part =
        |section: &&dyn Section| record.run.plan.areas.iter().any(|area| area == section.id());
    let sections: Vec<&dyn Section> = SECTIONS.iter().copied().filter(took_part).collect();
    let mut more: Vec<Finding> =
        sections.iter().flat_map(|section| section.findings(record)).collect();
    more.extend(normal::findings(record, &sections));
    let told: Vec<&Finding> = record.findings.iter().chain(&more).collect();
    let refuted = claims::findings(record, &sections, &told);
    more.extend(refuted);
    record.findings.extend(more);
    record.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
}
