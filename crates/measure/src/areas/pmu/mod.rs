//! What the counters of a core say of streams: instructions and cycles of an op.
//!
//! The sheet's clock comes from a chain of multiplies. Where the machine has a PMU that this process may
//! use, its own counter of cycles is asked as well, of the same streams on one CPU: that the two agree is
//! evidence for both. Where it has none, the reason stands in place of the numbers.

use std::collections::BTreeMap;

use ::pmu::counting::{KernelCounts, Session, Spec, Under, can_count, difference};
use kernels::{Kind, StreamRow};
use machine::Machine;
use machine::permissions::Question;
use model::areas::pmu::{AREA, CYCLES, INSTRUCTIONS, KNOWN_INSTRUCTIONS, QUANTITIES};
use model::{CpuId, Known, Seconds, Unavailable};
use rig::executor::RunError;
use rig::reduce::Readings;
use simulated::Model;

use crate::run::area::Area;
use crate::run::plan::{
    Cell, CellWork, CustomJob, DATA, JobContext, JobTarget, Planning, Proposal, Run,
};

/// A stream on one CPU, counted.
struct CountedStream {
    order: usize,
    workload: &'static str,
    spec: Spec,
    cpu: CpuId,
    /// Where it is simulated.
    model: Option<Model>,
}

/// Ops that are executed, and then twice as many.
const OPS: u64 = 50_000;

/// How often: the samples of a block.
const TIMES: usize = 3;

impl CustomJob for CountedStream {
    fn aim(&self) -> JobTarget {
        JobTarget { order: self.order, workload: self.workload, cpus: vec![self.cpu] }
    }

    fn duration(&self) -> Seconds {
        /// Counters are opened six times, and ops of a cycle or a few are executed some hundred
        /// thousand times.
        const PLANNED: Seconds = Seconds(1.5e-3);
        PLANNED
    }

    fn is_probed(&self) -> bool {
        false
    }

    /// The calling thread counts itself; the executor has nothing to do.
    fn run(&self, _: JobContext<'_>) -> Result<Run, RunError> {
        let machine = self.model.clone().map_or_else(Machine::real, Machine::from);
        let mut known = None;
        let counted = Session::on(&machine, Some(self.cpu)).and_then(|session| {
            let session = session.without_metrics();
            let plan = session.plan(&[]);
            self.spec.with(&session, |kernel| -> Result<_, Unavailable> {
                known = kernel.per_unit("instructions");
                let mut of = |ops| kernel.count(&session, &plan, ops, Under::default());
                (0..TIMES).map(|_| Ok((of(OPS)?, of(2 * OPS)?))).collect::<Result<Vec<_>, _>>()
            })?
        });
        let of = |event: &str| -> Result<Vec<f64>, Unavailable> {
            let pairs = counted.as_ref().map_err(Clone::clone)?;
            let sample = |(once, twice): &(KernelCounts, KernelCounts)| {
                let count = |of: &KernelCounts| count(&of.counts, event);
                let more = difference(event, count(once)?, count(twice)?)?;
                Ok(more as f64 / (twice.number - once.number) as f64)
            };
            pairs.iter().map(sample).collect()
        };
        let mut readings =
            Readings::from([(INSTRUCTIONS, of("instructions")), (CYCLES, of("cycles"))]);
        readings.extend(known.map(|known| (KNOWN_INSTRUCTIONS, Ok(vec![known]))));
        Ok(Run { readings, ..Run::default() })
    }
}

fn count(counts: &model::record::Counts, event: &str) -> Result<u64, Unavailable> {
    let row = counts.events.iter().find(|row| row.event == event);
    match row.map(|row| &row.count) {
        Some(Known::Yes(count)) => Ok(*count),
        Some(Known::No { unavailable }) => Err(unavailable.clone()),
        None => Err(Unavailable::new(model::Obstacle::Cpudyno, event, "no table has it")),
    }
}

/// The first and the last serial and parallel stream that can be executed: evidence enough, and soon done.
fn chosen(plan: &Planning<'_>) -> Vec<&'static StreamRow> {
    let able = |row: &&&'static StreamRow| rig::streams::load(plan.machine, row, DATA).is_ok();
    let of = |kind: Kind| {
        let rows = plan.streams.iter().filter(move |row| row.kind == kind).filter(able);
        let rows: Vec<&'static StreamRow> = rows.copied().collect();
        let last = rows.last().copied().filter(|_| rows.len() > 1);
        rows.first().copied().into_iter().chain(last)
    };
    of(Kind::Latency).chain(of(Kind::Throughput)).collect()
}

/// The area.
pub static PMU: Area = Area::new(AREA, QUANTITIES, 0.2, proposal);

fn proposal(plan: &Planning<'_>) -> Proposal {
    let mut proposal = Proposal::default();
    let machine = plan.machine;
    let Some(&cpu) = plan.placement.cpus.first() else { return proposal };
    // What was captured can open nothing, and says whether it could.
    let able = match &machine.elsewhere {
        Some(_) => machine.permits.ask(Question::PerfCyclesUser).map(drop),
        None => can_count(machine, cpu),
    };
    if let Err(reason) = able {
        let workload = plan.streams.first().map_or("counters", |row| row.id);
        proposal.absent.push((workload, reason));
        return proposal;
    }
    for (order, row) in chosen(plan).into_iter().enumerate() {
        let counted = CountedStream {
            order,
            workload: row.id,
            spec: Spec::Stream(row),
            cpu,
            model: machine.simulated.clone(),
        };
        let work = CellWork::CustomJob(Box::new(counted));
        proposal.cells.push(Cell { work, parameters: BTreeMap::new() });
    }
    proposal
}
