//! What one PAUSE costs, on every CPU.
//!
//! Spin loops execute it between two looks at a lock; it takes from 3 to 230 cycles by CPU model, and
//! nothing announces how long. Beside it stand the instructions that wait for a time or a line.

use kernels::{Kind, StreamRow};
use model::areas::pause::{AREA, QUANTITIES};
use model::record::Presentation;
use model::{CpuId, Seconds};

use crate::run::area::{Area, Names};
use crate::run::plan::{Cell, DATA, Planning, Proposal};
use crate::run::{Request, Span};
use rig::collect::{Take, Taken};
use rig::placement::Choice;
use rig::protocol;
use rig::streams;

/// The instructions that wait on purpose, the usual one first.
pub fn waits() -> Vec<&'static StreamRow> {
    kernels::streams::TABLE.iter().copied().filter(|row| row.kind == Kind::Spin).collect()
}

/// The run that measures them, or some of them, on each CPU of that choice.
pub fn request(
    budget: Option<Seconds>,
    cpus: Choice,
    rows: Option<Vec<&'static StreamRow>>,
    command: Vec<String>,
    presentation: Presentation,
) -> Request {
    /// Machines of hundreds of CPUs need a few sweeps.
    const TIME: Seconds = Seconds(5.0);
    let span = Span::All(budget.unwrap_or(TIME));
    let proposal = |plan: &Planning<'_>| Ok(on(plan, &plan.placement.cpus));
    let streams = rows.unwrap_or_else(waits);
    Request { cpus, streams, ..Request::of(&PAUSE, span, proposal, command, presentation) }
}

/// The area.
pub static PAUSE: Area = Area { taken, names, ..Area::new(AREA, QUANTITIES, 1.0, in_brief) };

fn taken(quantity: &str) -> Taken {
    match quantity {
        "time_per_op" => Taken::by(Take::PerOp(|reduced| &reduced.seconds)).always(),
        "cycles_per_op" => Taken::by(Take::PerOp(|reduced| &reduced.cycles)).always(),
        _ => Taken::NAMED,
    }
}

fn names() -> Names {
    Names { workloads: vec!["pause_only"], ..Names::default() }
}

/// For the sheet: some CPUs from all over the machine, for cores of one kind hardly differ.
fn in_brief(plan: &Planning<'_>) -> Proposal {
    on(plan, &some(&plan.placement.cpus))
}

fn some(cpus: &[CpuId]) -> Vec<CpuId> {
    const SOME: usize = 8;
    let count = cpus.len().min(SOME);
    (0..count).map(|at| cpus[at * cpus.len() / count]).collect()
}

/// The instructions that wait, on each of these CPUs alone.
pub(crate) fn on(plan: &Planning<'_>, cpus: &[CpuId]) -> Proposal {
    let mut proposal = Proposal::default();
    let rows = plan.streams.iter().filter(|row| row.kind == Kind::Spin);
    for (order, row) in rows.enumerate() {
        match streams::load(plan.machine, row, DATA) {
            Err(reason) => proposal.absent.push((row.id, reason)),
            Ok(load) => {
                let alone = |cpu: &_| Cell::uniform(order, load, &[*cpu], protocol::cycles());
                proposal.cells.extend(cpus.iter().map(alone));
            }
        }
    }
    proposal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_cpus_are_from_all_over_the_machine() {
        let cpus: Vec<CpuId> = (0..20).map(CpuId).collect();
        assert_eq!(some(&cpus), [0, 2, 5, 7, 10, 12, 15, 17].map(CpuId));
        assert_eq!(some(&cpus[..3]), cpus[..3]);
        assert!(some(&[]).is_empty());
    }
}
