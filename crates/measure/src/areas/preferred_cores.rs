//! Each core alone: which are the fastest, and whether they are those that firmware calls so.

use std::collections::BTreeMap;

pub(super) use model::areas::preferred_cores::{AREA, CLOCK, QUANTITIES, WORKLOAD};
use model::{CpuId, Obstacle, Seconds, Unavailable};

use super::turbo::{CLOCKS, asked, phases};
use crate::run::area::Area;
use crate::run::plan::{
    Cell, CellWork, CustomJob, DATA, JobContext, JobTarget, Planning, Proposal, Run, takes,
};
use rig::collect::{Guard, Taken};
use rig::executor::RunError;
use rig::job::{Load, Manner, Member, Phase, Repeat, Tools};
use rig::protocol;
use rig::reduce::{self, Readings};
use rig::streams;

/// The area.
pub static PREFERRED_CORES: Area =
    Area { taken, needs: CLOCKS, ..Area::new(AREA, QUANTITIES, 0.25, proposal) };

fn taken(_quantity: &str) -> Taken {
    Taken::NAMED.guarded(Guard::Witness)
}

/// Each core alone, where all of them take no more than a twentieth of the time; what does not fit of few is left
/// out as everything else is.
fn proposal(plan: &Planning<'_>) -> Proposal {
    asked::of_heaviest(plan, WORKLOAD, |_| within(plan))
}

fn within(plan: &Planning<'_>) -> Result<Proposal, Unavailable> {
    const SHARE: f64 = 0.05;
    const FEW: usize = 8;
    let cells = cells(plan);
    let seconds = takes(&cells);
    let budget = plan.budget;
    if cells.len() <= FEW || seconds <= budget.0 * SHARE {
        return Ok(Proposal::from(cells));
    }
    let why = format!(
        "five blocks of {} cores, one after the other, take {seconds:.0} s, more than a twentieth of {} s",
        cells.len(),
        budget.0
    );
    let reason = Unavailable::new(Obstacle::Measurement, WORKLOAD, why);
    Err(reason.with_remedy("cpudyno turbo --why"))
}

/// One core alone.
struct Alone {
    cpu: CpuId,
    load: Load,
    phases: Vec<Phase>,
    tools: Tools,
}

/// A cell for each core; none where the stream cannot be run.
pub(super) fn cells(plan: &Planning<'_>) -> Vec<Cell> {
    let row = kernels::streams::TABLE.iter().find(|row| row.id == "scalar_iadd");
    let load = row.and_then(|row| Some((row, streams::load(plan.machine, row, DATA).ok()?)));
    let (Some((row, load)), Ok(tools)) = (load, streams::tools(plan.machine)) else {
        return Vec::new();
    };
    let cell = |&cpu: &CpuId| {
        let alone = Alone { cpu, load, phases: phases(row), tools };
        Cell { work: CellWork::CustomJob(Box::new(alone)), parameters: BTreeMap::new() }
    };
    plan.placement.cpus.iter().map(cell).collect()
}

impl CustomJob for Alone {
    fn aim(&self) -> JobTarget {
        JobTarget { order: 0, workload: WORKLOAD, cpus: vec![self.cpu] }
    }

    fn duration(&self) -> Seconds {
        protocol::duration(&self.phases)
    }

    fn run(&self, means: JobContext<'_>) -> Result<Run, RunError> {
        let JobContext { executor, rulers, .. } = means;
        let job = Repeat {
            members: vec![Member::new(self.cpu, self.load)],
            phases: self.phases.clone(),
            tools: self.tools,
            manner: Manner::USUAL,
        };
        let raw = executor.repeat(&job)?;
        let ruler = match rulers.get(&self.cpu) {
            Some(Ok(ruler)) => ruler,
            Some(Err(reason)) => return Ok(Run::or_reason(Err(reason.clone()), [CLOCK])),
            None => return Ok(Run::default()),
        };
        let Some(member) = raw.members.first() else { return Ok(Run::default()) };
        let reduced = reduce::reduce(member, self.load, &job, Some(ruler), executor.rate());
        let readings = Readings::from([(CLOCK, Ok(reduced.clock))]);
        Ok(Run { around: member.around, readings, witness: reduced.witness, ..Run::default() })
    }
}
