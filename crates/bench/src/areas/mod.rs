//! Areas: families of workloads with their own questions. One folder each, one line here.

pub mod pause;
pub mod turbo;

use std::collections::BTreeMap;

use kernels::{Data, StreamRow};
use machine::Machine;
use model::page::{Block, Text};
use model::record::{Machine as Description, Record, Series, Topology};
use model::{CpuId, Finding, Unavailable};

use crate::rig::collect::Quantity;
use crate::rig::job::{Load, Member, Phase};
use crate::rig::placement::Placement;

/// A family of workloads.
pub trait Area: Sync {
    /// Its name: folder, record id and command are this word.
    fn id(&self) -> &'static str;
    /// Its share of the time that is left after the minima of all areas.
    fn weight(&self) -> f64;
    /// What its numbers mean.
    fn quantities(&self) -> &'static [Quantity];
    /// What it would like to measure for the data sheet, most wanted first.
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
    /// What it says of itself.
    pub description: &'a Description,
    /// Who runs where.
    pub placement: &'a Placement,
    /// The streams that were asked for.
    pub streams: &'a [&'static StreamRow],
}

impl Planning<'_> {
    /// Who sits where.
    pub fn topology(&self) -> &Topology {
        &self.description.topology
    }
}

/// What an area would like to measure, and what it already knows that it cannot.
#[derive(Default)]
pub struct Wishes {
    /// Most wanted first.
    pub cells: Vec<Cell>,
    /// Workloads that this machine cannot execute.
    pub absent: Vec<(&'static str, Unavailable)>,
}

/// Workloads on a set of CPUs that are active together; all of them are measured.
pub struct Cell {
    /// The active CPUs, and what they execute.
    pub members: Vec<Active>,
    /// How.
    pub phases: Vec<Phase>,
    /// What else tells its series apart.
    pub parameters: BTreeMap<String, String>,
}

/// An active CPU of a cell.
#[derive(Clone, Copy)]
pub struct Active {
    /// Order of its workload within the area.
    pub order: usize,
    /// What the thread executes, and where.
    pub member: Member,
}

impl Cell {
    /// One load on all of these CPUs.
    pub fn uniform(order: usize, load: Load, cpus: &[CpuId], phases: Vec<Phase>) -> Cell {
        let active = |&cpu: &CpuId| Active { order, member: Member::new(cpu, load) };
        let members = cpus.iter().map(active).collect();
        Cell { members, phases, parameters: stream_parameters() }
    }

    /// The active CPUs.
    pub fn cpus(&self) -> Vec<CpuId> {
        self.members.iter().map(|active| active.member.cpu).collect()
    }

    /// What is executed, each workload once.
    pub fn workloads(&self) -> Vec<(usize, &'static str)> {
        let of = |active: &Active| (active.order, active.member.payload.id);
        let mut workloads: Vec<(usize, &'static str)> = self.members.iter().map(of).collect();
        workloads.sort_unstable();
        workloads.dedup();
        workloads
    }
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
