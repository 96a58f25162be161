//! What a plan is made of: cells, and what the CPUs of each do.

use std::collections::BTreeMap;

use kernels::{Data, StreamRow};
use machine::Machine;
use model::record::{FactValue, Machine as Description, Topology};
use model::stats::BLOCKS_FOR_INTERVAL;
use model::{CpuId, Seconds, Unavailable};

use rig::executor::{Executor, RunError};
use rig::job::{Around, Load, Member, Phase};
use rig::placement::{Fabric, Placement};
use rig::protocol;
use rig::reduce::{Readings, Witness};
use rig::ruler::Rulers;
use rig::traffic::Traffic;

/// The time of a run that ends when everything was measured.
pub const UNLIMITED: Seconds = Seconds(f64::INFINITY);

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
    /// The time for everything, or [`UNLIMITED`].
    pub budget: Seconds,
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
pub struct Proposal {
    /// Most wanted first.
    pub cells: Vec<Cell>,
    /// Workloads that this machine cannot execute.
    pub absent: Vec<(&'static str, Unavailable)>,
}

impl Proposal {
    /// Nothing, because of this.
    pub fn without(workload: &'static str, reason: Unavailable) -> Proposal {
        Proposal { cells: Vec::new(), absent: vec![(workload, reason)] }
    }
}

impl From<Vec<Cell>> for Proposal {
    fn from(cells: Vec<Cell>) -> Proposal {
        Proposal { cells, absent: Vec::new() }
    }
}

/// Seconds that five blocks of some cells take.
pub(crate) fn takes(cells: &[Cell]) -> f64 {
    cells.iter().map(|cell| cell.duration().0).sum::<f64>() * BLOCKS_FOR_INTERVAL as f64
}

/// Workloads on a set of CPUs that are active together; all of them are measured.
pub struct Cell {
    /// What the CPUs do.
    pub work: CellWork,
    /// What else tells its series apart.
    pub parameters: BTreeMap<String, String>,
}

/// What the CPUs of a cell do.
pub enum CellWork {
    /// Each repeats a stream between stamps.
    Streams(Streams),
    /// All move data, or follow pointers, together.
    Traffic(MemoryJob),
    /// Something whose numbers the area makes itself.
    CustomJob(Box<dyn CustomJob>),
}

/// What a custom job measures, and where.
pub struct JobTarget {
    /// Order of its workload within the area.
    pub order: usize,
    /// The workload.
    pub workload: &'static str,
    /// The active CPUs.
    pub cpus: Vec<CpuId>,
}

/// What a custom job works with.
pub struct JobContext<'a> {
    /// What runs its jobs.
    pub executor: &'a mut dyn Executor,
    /// The rulers of CPUs that are known so far.
    pub rulers: &'a Rulers,
    /// The machine: what it says of itself meanwhile may be read.
    pub machine: &'a Machine,
}

/// A job, or a few, whose stamps the area itself turns into samples.
pub trait CustomJob {
    /// What it measures, and where.
    fn aim(&self) -> JobTarget;
    /// The one that samples with these further parameters are of: see [`Run::parts`].
    fn cpu_of(&self, _part: &BTreeMap<String, String>) -> CpuId {
        self.aim().cpus[0]
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
    /// Runs one block of it.
    fn run(&self, means: JobContext<'_>) -> Result<Run, RunError>;
}

/// What one block of an [`CustomJob`] gave.
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
pub struct MemoryJob {
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
        Cell {
            work: CellWork::Streams(Streams { members, phases }),
            parameters: stream_parameters(),
        }
    }

    /// The active CPUs.
    pub fn cpus(&self) -> Vec<CpuId> {
        match &self.work {
            CellWork::Streams(streams) => streams.members.iter().map(|a| a.member.cpu).collect(),
            CellWork::Traffic(moved) => moved.candidates[0].job.cpus(),
            CellWork::CustomJob(job) => job.aim().cpus,
        }
    }

    /// Whether the placement of its CPUs is probed.
    pub fn is_probed(&self) -> bool {
        match &self.work {
            CellWork::Streams(_) | CellWork::Traffic(_) => true,
            CellWork::CustomJob(job) => job.is_probed(),
        }
    }

    /// Whether it is gone through once.
    pub fn is_once(&self) -> bool {
        matches!(&self.work, CellWork::CustomJob(job) if job.is_once())
    }

    /// What is executed, each workload once.
    pub fn workloads(&self) -> Vec<Workload> {
        let mut workloads: Vec<Workload> = match &self.work {
            CellWork::Streams(streams) => {
                let of = |active: &Active| Workload {
                    order: active.order,
                    id: active.member.payload.id,
                    cpu: active.member.cpu,
                };
                streams.members.iter().map(of).collect()
            }
            CellWork::Traffic(moved) => {
                let cpu = moved.candidates[0].job.cpus()[0];
                vec![Workload { order: moved.order, id: moved.workload, cpu }]
            }
            CellWork::CustomJob(job) => {
                let JobTarget { order, workload, cpus } = job.aim();
                vec![Workload { order, id: workload, cpu: cpus[0] }]
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
            CellWork::Streams(streams) => protocol::duration(&streams.phases),
            CellWork::Traffic(moved) => protocol::JOB_OVERHEAD + moved.candidates[0].job.duration(),
            CellWork::CustomJob(job) => protocol::JOB_OVERHEAD + job.duration(),
        }
    }

    /// How long it keeps its CPUs at work.
    pub(crate) fn busy(&self) -> Seconds {
        match &self.work {
            CellWork::CustomJob(job) => protocol::JOB_OVERHEAD + job.busy(),
            CellWork::Streams(_) | CellWork::Traffic(_) => self.duration(),
        }
    }
}

/// The operands that streams run with, and the parameter that says so.
pub(crate) const DATA: Data = Data::Quiet;

/// The parameters of a stream's series.
pub(crate) fn stream_parameters() -> BTreeMap<String, String> {
    BTreeMap::from([("data".to_owned(), DATA.word().to_owned())])
}
