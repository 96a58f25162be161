//! Areas: families of workloads with their own questions. One folder each, one line here.

pub(crate) mod contained;
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

use kernels::{Data, StreamRow};
use machine::Machine;
use model::page::{Block, Text};
use model::record::{FactValue, Machine as Description, Record, Series, Topology};
use model::stats::BLOCKS_FOR_INTERVAL;
use model::{CpuId, Finding, Seconds, Unavailable};

pub use self::contained::Contained;
use crate::rig::collect::Quantity;
use crate::rig::executor::{Executor, RunError};
use crate::rig::job::{Around, Load, Member, Phase};
use crate::rig::placement::{Fabric, Placement};
use crate::rig::protocol;
use crate::rig::reduce::{Readings, Witness};
use crate::rig::ruler::Rulers;
use crate::rig::traffic::Traffic;
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

/// What an area means by a quantity's id.
pub(crate) fn quantity(area: &dyn Area, id: &str) -> Option<&'static Quantity> {
    area.quantities().iter().find(|quantity| quantity.id == id)
}

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

    /// What lies between its cores.
    pub fn fabric(&self) -> Fabric {
        let known = self.description.fact("cpu.microarchitecture");
        Fabric::of(known.and_then(|fact| match fact.value.value()? {
            FactValue::Text(name) => Some(name.as_str()),
            FactValue::Number { .. } => None,
        }))
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
    /// What the CPUs do.
    pub work: Work,
    /// What else tells its series apart.
    pub parameters: BTreeMap<String, String>,
}

/// What the CPUs of a cell do.
pub enum Work {
    /// Each repeats a stream between stamps.
    Streams(Streams),
    /// All move data, or follow pointers, together.
    Traffic(Moved),
    /// Something whose numbers the area makes itself.
    Errand(Box<dyn Errand>),
}

/// A job, or a few, whose stamps the area itself turns into samples.
pub trait Errand {
    /// Order of its workload within the area.
    fn order(&self) -> usize;
    /// The workload.
    fn workload(&self) -> &'static str;
    /// The active CPUs.
    fn cpus(&self) -> Vec<CpuId>;
    /// The one that samples with these further parameters are of: see [`Run::parts`].
    fn cpu_of(&self, _part: &BTreeMap<String, String>) -> CpuId {
        self.cpus()[0]
    }
    /// How long one block of it takes, as planned.
    fn duration(&self) -> Seconds;
    /// For how much of that its CPUs are at work.
    fn busy(&self) -> Seconds {
        self.duration()
    }
    /// Whether the placement of its CPUs is probed before and after each sweep. Where they are many
    /// pairs, or what is measured is what a probe would measure, it is not.
    fn is_probed(&self) -> bool {
        true
    }
    /// Whether it is gone through once, after all sweeps: what goes on over time has no blocks.
    fn is_once(&self) -> bool {
        false
    }
    /// Runs one block of it. What the machine says of itself meanwhile may be read.
    fn run(
        &self,
        executor: &mut dyn Executor,
        rulers: &Rulers,
        machine: &Machine,
    ) -> Result<Run, RunError>;
}

/// What one block of an [`Errand`] gave.
#[derive(Default)]
pub struct Run {
    /// What went on around it.
    pub around: Around,
    /// Its samples.
    pub readings: Readings,
    /// What says whether anybody else used the core meanwhile: guards of quantities ask it.
    pub witness: Option<Witness>,
    /// Samples of parts of it, each with what else tells its series apart.
    pub parts: Vec<(BTreeMap<String, String>, Readings)>,
}

impl Run {
    /// A run, or the reason why these quantities of it have no numbers.
    pub(crate) fn or_reason(
        run: Result<Run, Unavailable>,
        quantities: impl IntoIterator<Item = &'static str>,
    ) -> Run {
        let without = |reason: Unavailable| {
            let of = quantities.into_iter().map(|quantity| (quantity, Err(reason.clone())));
            Run { readings: of.collect(), ..Run::default() }
        };
        run.unwrap_or_else(without)
    }
}

/// Streams on CPUs.
pub struct Streams {
    /// The active CPUs, and what they execute.
    pub members: Vec<Active>,
    /// How.
    pub phases: Vec<Phase>,
}

/// An active CPU of a cell.
#[derive(Clone, Copy)]
pub struct Active {
    /// Order of its workload within the area.
    pub order: usize,
    /// What the thread executes, and where.
    pub member: Member,
}

/// Data that is moved.
pub struct Moved {
    /// Order of its workload within the area.
    pub order: usize,
    /// The workload.
    pub workload: &'static str,
    /// The ways to do it; of several, a short trial chooses the fastest before the first sweep.
    pub candidates: Vec<Candidate>,
    /// Whether all of it goes through memory controllers, so that it is worth counting there.
    pub counted: bool,
}

/// A way to move data.
pub struct Candidate {
    /// What it adds to the parameters of the cell.
    pub parameters: BTreeMap<String, String>,
    /// The job.
    pub job: Traffic,
}

/// A workload of a cell, and the first CPU that it runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Workload {
    /// Order within the area.
    pub order: usize,
    /// Its id.
    pub id: &'static str,
    /// Where.
    pub cpu: CpuId,
}

impl Cell {
    /// One load on all of these CPUs.
    pub fn uniform(order: usize, load: Load, cpus: &[CpuId], phases: Vec<Phase>) -> Cell {
        let active = |&cpu: &CpuId| Active { order, member: Member::new(cpu, load) };
        Cell::streams(cpus.iter().map(active).collect(), phases)
    }

    /// Streams, with the parameters that all of them have.
    pub fn streams(members: Vec<Active>, phases: Vec<Phase>) -> Cell {
        Cell { work: Work::Streams(Streams { members, phases }), parameters: stream_parameters() }
    }

    /// The active CPUs.
    pub fn cpus(&self) -> Vec<CpuId> {
        match &self.work {
            Work::Streams(streams) => streams.members.iter().map(|a| a.member.cpu).collect(),
            Work::Traffic(moved) => moved.candidates[0].job.cpus(),
            Work::Errand(errand) => errand.cpus(),
        }
    }

    /// Whether the placement of its CPUs is probed.
    pub fn is_probed(&self) -> bool {
        match &self.work {
            Work::Streams(_) | Work::Traffic(_) => true,
            Work::Errand(errand) => errand.is_probed(),
        }
    }

    /// Whether it is gone through once.
    pub fn is_once(&self) -> bool {
        matches!(&self.work, Work::Errand(errand) if errand.is_once())
    }

    /// What is executed, each workload once.
    pub fn workloads(&self) -> Vec<Workload> {
        let mut workloads: Vec<Workload> = match &self.work {
            Work::Streams(streams) => {
                let of = |active: &Active| Workload {
                    order: active.order,
                    id: active.member.payload.id,
                    cpu: active.member.cpu,
                };
                streams.members.iter().map(of).collect()
            }
            Work::Traffic(moved) => {
                let cpu = moved.candidates[0].job.cpus()[0];
                vec![Workload { order: moved.order, id: moved.workload, cpu }]
            }
            Work::Errand(errand) => {
                let (order, cpu) = (errand.order(), errand.cpus()[0]);
                vec![Workload { order, id: errand.workload(), cpu }]
            }
        };
        workloads.sort_by_key(|workload| (workload.order, workload.id));
        workloads.dedup_by_key(|workload| (workload.order, workload.id));
        workloads
    }

    /// What it takes of the time that five blocks of everything have, for one of them.
    pub fn cost(&self) -> Seconds {
        if self.is_once() { self.duration() / BLOCKS_FOR_INTERVAL as f64 } else { self.duration() }
    }

    /// How long one block of it takes, as planned.
    pub fn duration(&self) -> Seconds {
        match &self.work {
            Work::Streams(streams) => protocol::duration(&streams.phases),
            Work::Traffic(moved) => protocol::JOB_OVERHEAD + moved.candidates[0].job.duration(),
            Work::Errand(errand) => protocol::JOB_OVERHEAD + errand.duration(),
        }
    }

    /// How long it keeps its CPUs at work.
    pub(crate) fn busy(&self) -> Seconds {
        match &self.work {
            Work::Errand(errand) => protocol::JOB_OVERHEAD + errand.busy(),
            Work::Streams(_) | Work::Traffic(_) => self.duration(),
        }
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
) -> impl Iterator<Item = &'a Series> + Clone {
    // Of two, the quantity tells more of them apart.
    record.series.iter().filter(move |s| s.quantity == quantity && s.area == area)
}

/// Distinct values in the order of their first appearance.
pub(crate) fn in_order<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}
