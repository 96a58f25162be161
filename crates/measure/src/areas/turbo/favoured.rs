//! Each core alone: which are the fastest, and whether they are those that firmware calls so.

use std::collections::BTreeMap;

pub(super) use model::areas::turbo::favoured::{CLOCK, WORKLOAD};
use model::{CpuId, Seconds};

use super::phases;
use crate::run::plan::{Aim, Cell, CellWork, DATA, Errand, Means, Planning, Run};
use rig::executor::RunError;
use rig::job::{Load, Manner, Member, Phase, Repeat, Tools};
use rig::protocol;
use rig::reduce::{self, Readings};
use rig::streams;

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
        Cell { work: CellWork::Errand(Box::new(alone)), parameters: BTreeMap::new() }
    };
    plan.placement.cpus.iter().map(cell).collect()
}

impl Errand for Alone {
    fn aim(&self) -> Aim {
        Aim { order: super::ORDER_OF_QUESTIONS, workload: WORKLOAD, cpus: vec![self.cpu] }
    }

    fn duration(&self) -> Seconds {
        protocol::duration(&self.phases)
    }

    fn run(&self, means: Means<'_>) -> Result<Run, RunError> {
        let Means { executor, rulers, .. } = means;
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
