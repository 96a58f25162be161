//! Areas: families of workloads with their own questions. One folder each, one line here.

pub mod pause;
pub mod turbo;

use std::collections::BTreeMap;

use kernels::{Data, StreamRow};
use machine::Machine;
use model::page::{Block, Text};
use model::record::{Record, Series, Topology};
use model::{CpuId, Finding, Unavailable};

use crate::rig::collect::Quantity;
use crate::rig::job::{Load, Phase};
use crate::rig::placement::Placement;

/// A family of workloads.
pub trait Area: Sync {
    /// Its name: folder, record id and command are this word.
    fn id(&self) -> &'static str;
    /// Its share of the time that is left after the minima of all areas.
    fn weight(&self) -> f64;
    /// What its numbers mean.
    fn quantities(&self) -> &'static [Quantity];
    /// What it would like to measure, most wanted first.
    fn wishes(&self, plan: &Planning<'_>) -> Wishes;
    /// Remarks on its numbers.
    fn findings(&self, record: &Record) -> Vec<Finding>;
    /// Its answer in plain sentences.
    fn sentences(&self, record: &Record) -> Vec<Text>;
    /// Its part of the sheet.
    fn section(&self, record: &Record) -> Vec<Block>;
}

/// All areas, in the order of the sheet.
pub static AREAS: &[&dyn Area] = &[&turbo::Turbo, &pause::Pause];

/// What areas plan with.
pub struct Planning<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// Who sits where.
    pub topology: &'a Topology,
    /// Who runs where.
    pub placement: &'a Placement,
    /// The streams that were asked for.
    pub streams: &'a [&'static StreamRow],
}

/// What an area would like to measure, and what it already knows that it cannot.
#[derive(Default)]
pub struct Wishes {
    /// Most wanted first.
    pub cells: Vec<Cell>,
    /// Workloads that this machine cannot execute.
    pub absent: Vec<(&'static str, Unavailable)>,
}

/// One workload on one set of CPUs.
pub struct Cell {
    /// Order of the workload within its area.
    pub order: usize,
    /// What the CPUs execute.
    pub load: Load,
    /// The active CPUs; all of them are measured.
    pub cpus: Vec<CpuId>,
    /// How.
    pub phases: Vec<Phase>,
    /// What else tells its series apart.
    pub parameters: BTreeMap<String, String>,
}

/// The operands that streams run with, and the parameter that says so.
pub(crate) const DATA: Data = Data::Quiet;

/// The parameters of a stream's series.
pub(crate) fn stream_parameters() -> BTreeMap<String, String> {
    BTreeMap::from([("data".to_owned(), DATA.word().to_owned())])
}

/// The series of one area and quantity.
pub(crate) fn series_of<'a>(
    record: &'a Record,
    area: &'a str,
    quantity: &'a str,
) -> impl Iterator<Item = &'a Series> {
    record.series.iter().filter(move |s| s.area == area && s.quantity == quantity)
}
