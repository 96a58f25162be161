//! What a run would measure, before anything is measured.

use machine::{Machine, facts};
use model::outline::{Outline, OutlinedAbsence, OutlinedCell, OutlinedWorkload, SCHEMA};
use model::record::{Relation, Tool, Topology};
use model::{CpuId, Obstacle, Unavailable};

use super::{Error, Planned, Program, Request, assemble, single};

/// What a run of this request would measure on this machine, what not, and why. It works for
/// machines that are not here, too.
pub fn outline(machine: &Machine, request: &Request) -> Result<Outline, Error> {
    let description = facts::machine(machine);
    let topology = &description.topology;
    let placement = request.cpus.place(topology)?;
    let planning = single::planning(machine, &description, &placement, request);
    let program = Program::new(&planning, request)?;
    let planned = program.cells.iter().map(|planned| cell(&program, topology, planned, true));
    let left_out = program.left_out.iter().map(|planned| cell(&program, topology, planned, false));
    let absent = program.absent.iter().map(|(area, id, reason)| OutlinedAbsence {
        area: program.areas[*area].word(),
        id,
        unavailable: reason.clone(),
    });
    let quota = facts::cpu_quota(machine).ok().flatten();
    Ok(Outline {
        schema: SCHEMA,
        tool: Tool::this(),
        page: request.presentation.page,
        simulated: machine.simulated.as_ref().map(|model| model.name.clone()),
        elsewhere: machine.elsewhere.clone(),
        quota_cpus: quota.map(facts::Quota::cpus),
        quota: quota.map(facts::Quota::words),
        span: request.span,
        seconds_max: program.latest(),
        sweeps: program.sweeps,
        sweep_seconds: program.cost_of(false),
        once_seconds: program.cost_of(true),
        workloads: workloads(&program),
        cells: planned.chain(left_out).collect(),
        absent: absent.collect(),
        left_out: (!program.left_out.is_empty()).then(|| no_time(&program)),
        cpus: placement.cpus,
        placement: placement.reason,
        usable: description.topology.usable,
        online: description.topology.online,
    })
}

fn cell(program: &Program, topology: &Topology, planned: &Planned, fits: bool) -> OutlinedCell {
    let cpus = planned.cell.cpus();
    OutlinedCell {
        area: program.areas[planned.area].word(),
        workloads: planned.cell.workloads().into_iter().map(|workload| workload.id).collect(),
        relation: pair(topology, &cpus),
        cpus,
        parameters: planned.cell.parameters.clone(),
        block_seconds: planned.cell.duration(),
        planned: fits,
    }
}

/// How two CPUs lie to each other, where a cell has two.
fn pair(topology: &Topology, cpus: &[CpuId]) -> Option<Relation> {
    let &[a, b] = cpus else { return None };
    topology.relation(a, b)
}

/// Each once, area by area, as an area orders them.
fn workloads(program: &Program) -> Vec<OutlinedWorkload> {
    let all = program.cells.iter().chain(&program.left_out);
    let of = |planned: &Planned| {
        let area = planned.area;
        planned.cell.workloads().into_iter().map(move |one| (area, one.order, one.id))
    };
    let mut workloads: Vec<(usize, usize, &'static str)> = all.flat_map(of).collect();
    workloads.sort_unstable();
    workloads.dedup();
    let named = |(area, _, id): (usize, usize, &'static str)| OutlinedWorkload {
        area: program.areas[area].word(),
        id,
    };
    workloads.into_iter().map(named).collect()
}

/// Why cells are left out.
fn no_time(program: &Program) -> Unavailable {
    let why = format!("five blocks of each do not fit into half of {} s", program.time.0);
    Unavailable::new(Obstacle::Measurement, "cells", why)
        .with_remedy(assemble::time_for_all(program, program.time.0))
}

#[cfg(test)]
mod tests {
    use model::Seconds;
    use model::record::{PageKind, Presentation};

    use super::*;
    use rig::executor::Stop;

    /// A machine that is not here, with the files of a simulated one: it has no AVX-512.
    fn elsewhere() -> Machine {
        let simulated = Machine::named("sim:1c").unwrap();
        Machine { simulated: None, elsewhere: Some("a capture".to_owned()), ..simulated }
    }

    fn request() -> Request {
        let presentation = Presentation { width: 80, ..Presentation::of(PageKind::Sheet) };
        let streams = kernels::streams::TABLE.to_vec();
        crate::sheet::request(Seconds(30.0), None, Some(streams), Vec::new(), presentation)
    }

    #[test]
    fn elsewhere_is_planned_by_its_own_instruction_sets() {
        let outline = outline(&elsewhere(), &request()).unwrap();
        let planned: Vec<&str> = outline.workloads.iter().map(|workload| workload.id).collect();
        assert!(planned.contains(&"scalar_iadd"), "{planned:?}");
        assert!(!planned.iter().any(|id| id.starts_with("avx512")), "{planned:?}");
        #[cfg(target_arch = "x86_64")]
        {
            let lacks = |absent: &OutlinedAbsence| absent.unavailable.why.contains("lacks avx512f");
            assert!(outline.absent.iter().any(lacks), "{:?}", outline.absent);
            assert!(planned.contains(&"avx256_fma"), "{planned:?}");
        }
    }

    #[test]
    fn elsewhere_is_not_measured() {
        let never = |_: super::super::Progress<'_>| panic!("nothing may be read before");
        let refused =
            super::super::measure(&elsewhere(), &request(), &Stop::default(), &mut { never });
        let Err(Error::Unavailable(reason)) = refused else { panic!("it was measured") };
        assert!(reason.why.contains("a capture"), "{reason:?}");
        assert!(reason.remedy.unwrap().contains("--dry-run"));
    }
}
