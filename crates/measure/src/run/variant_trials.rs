//! What is tried before the first sweep: of the ways to move the data of a cell, the fastest is found.

use std::collections::BTreeMap;

use fastrand::Rng;
use model::{CpuId, Seconds};

use super::{Program, Span};
use crate::run::plan::{Candidate, CellWork, MemoryJob};
use rig::executor::{Executor, RunError, guarded};
use rig::job::Tools;
use rig::traffic;
use rig::variant_selection::Contest;

/// One of the ways to do a thing, as it was tried.
pub(super) struct Trial {
    pub(super) area: usize,
    pub(super) workload: &'static str,
    pub(super) cpus: Vec<CpuId>,
    pub(super) parameters: BTreeMap<String, String>,
    /// Bytes per second.
    pub(super) samples: Vec<f64>,
}

/// Lets the candidates of each of these cells compete, and notes the winners by cell. What was seen is in the
/// record.
pub(super) fn choose(
    executor: &mut dyn Executor,
    program: &Program,
    among: &[usize],
    [longest, latest]: [Seconds; 2],
    random: &mut Rng,
    chosen: &mut [usize],
) -> Result<Vec<Trial>, RunError> {
    let begun = executor.elapsed();
    let mut trials = Vec::new();
    let open = |index: &usize| match &program.cell(*index).cell.work {
        CellWork::Traffic(moved) => moved.candidates.len() > 1,
        CellWork::Streams(_) | CellWork::CustomJob(_) => false,
    };
    let cells: Vec<usize> = among.iter().copied().filter(open).collect();
    for (done, &cell) in cells.iter().enumerate() {
        let planned = program.cell(cell);
        let CellWork::Traffic(moved) = &planned.cell.work else { continue };
        // Where the kernel hands out memory slowly, cells that are left have no trial: their blocks need that time.
        if executor.elapsed() - begun > latest {
            break;
        }
        // What is not used up is left to those who come later.
        let left = longest - (executor.elapsed() - begun);
        let until = executor.elapsed() + left * (1.0 / (cells.len() - done) as f64);
        let contest = guarded(|| compete(executor, &program.tools, moved, until, random));
        let contest = match contest {
            // Its first block will tell.
            Err(error) if error.is_of_one_job() => continue,
            contest => contest?,
        };
        chosen[cell] = contest.leader().unwrap_or(0);
        trials.extend(moved.candidates.iter().enumerate().map(|(index, candidate)| Trial {
            area: planned.area,
            workload: moved.workload,
            cpus: candidate.job.cpus(),
            parameters: parameters(&planned.cell.parameters, candidate),
            samples: contest.speeds(index),
        }));
    }
    Ok(trials)
}

/// How long all of them together may take, unless the fewest rounds take longer.
pub(super) fn longest(span: Span) -> Seconds {
    const LONGEST: Seconds = Seconds(2.0);
    const SHARE: f64 = 0.1;
    match span {
        Span::Budget(time) | Span::All(time) if time * SHARE < LONGEST => time * SHARE,
        _ => LONGEST,
    }
}

/// When no other one may begin: a budget is for blocks first of all.
pub(super) fn latest(span: Span) -> Seconds {
    const SHARE: f64 = 0.5;
    match span {
        Span::Budget(time) | Span::All(time) => time * SHARE,
        Span::Bounded(_) | Span::Blocks(_) => Seconds(f64::INFINITY),
    }
}

fn parameters(
    of_cell: &BTreeMap<String, String>,
    candidate: &Candidate,
) -> BTreeMap<String, String> {
    let mut parameters = of_cell.clone();
    parameters.extend(candidate.parameters.clone());
    parameters
}

/// Lets the candidates of a cell move a little, in turns.
fn compete(
    executor: &mut dyn Executor,
    tools: &Tools,
    moved: &MemoryJob,
    until: Seconds,
    random: &mut Rng,
) -> Result<Contest, RunError> {
    let mut contest = Contest::new(moved.candidates.len(), random.u64(..));
    while let Some(turns) = contest.turns(executor.elapsed() >= until) {
        let mut reached = Vec::new();
        for candidate in turns {
            let job = moved.candidates[candidate].job.trial();
            let raw = executor.traffic(&job, tools, None)?;
            let haul = traffic::reduce(&raw, &job, executor.rate(), None);
            // Of the trips of one turn the last: the first one finds what others left in caches.
            let speed = haul.ok().and_then(|haul| haul.bandwidth.last().copied());
            reached.extend(speed.map(|speed| (candidate, speed)));
        }
        contest.round(&reached);
    }
    Ok(contest)
}
