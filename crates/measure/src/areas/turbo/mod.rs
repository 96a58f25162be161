//! Which clock the cores hold, under which instructions, with how many of them active; and what each
//! instruction costs in cycles of that clock.

pub(super) mod active;
pub(super) mod asked;
mod request;

pub use request::{Tests, TurboOptions};

use kernels::{Kind, StreamRow};
pub(crate) use model::areas::turbo::AREA;
use model::areas::turbo::QUANTITIES;

use crate::run::area::{Area, Names, Needs};
use crate::run::plan::{Cell, DATA, Planning, Proposal};
use rig::collect::{Guard, Take, Taken};
use rig::job::Phase;
use rig::protocol;
use rig::streams;

/// What explains a clock: limits and what took time, and what levels and classes take from it.
pub(super) const CLOCKS: Needs = {
    use sst::Part::{Associations, Classes, Properties, TurboFreq};
    const PARTS: &[sst::Part] = &[Properties, TurboFreq, Classes, Associations];
    Needs { clocks: true, activity: None, speed_select: Some(PARTS) }
};

/// The stream that other areas report.
const NOT_HERE: &str = "pause_only";

pub(crate) fn phases(row: &StreamRow) -> Vec<Phase> {
    if is_heavy(row) { protocol::heavy() } else { protocol::serial() }
}

/// Whether a stream saturates execution units, or needs a licence by its width alone.
fn is_heavy(row: &StreamRow) -> bool {
    match row.kind {
        Kind::Throughput | Kind::Rename => true,
        Kind::Latency => row.width_bits == Some(512),
        Kind::Spin | Kind::Null => false,
    }
}

/// The area.
pub static TURBO: Area =
    Area { taken, names, needs: CLOCKS, ..Area::new(AREA, QUANTITIES, 4.0, proposal) };

pub(super) fn taken(quantity: &str) -> Taken {
    match quantity {
        "clock" => {
            Taken::by(Take::Samples(|reduced| reduced.clock.clone())).always().guarded(Guard::Clock)
        }
        "clock_in_loop" => Taken::by(Take::Samples(|reduced| reduced.clock_in_loop.clone()))
            .guarded(Guard::Witness),
        "clock_in_loop_half" => {
            Taken::by(Take::Samples(|reduced| reduced.clock_in_loop_half.clone()))
                .guarded(Guard::Witness)
        }
        "cycles_per_op" => {
            Taken::by(Take::PerOp(|reduced| &reduced.cycles)).always().guarded(Guard::Witness)
        }
        "time_per_op" => Taken::by(Take::PerOp(|reduced| &reduced.seconds)).always(),
        "overlap" => {
            Taken::by(Take::Samples(|reduced| reduced.overlap.into_iter().collect())).always()
        }
        "aperf_per_mperf" => Taken::by(Take::Reading(|reduced| {
            Some(reduced.counters.clone()?.map(|clock| clock.aperf_per_mperf))
        }))
        .always(),
        "mperf_rate" => Taken::by(Take::Reading(|reduced| {
            Some(reduced.counters.clone()?.map(|clock| clock.mperf_hertz))
        }))
        .always(),
        _ => Taken::NAMED,
    }
}

fn names() -> Names {
    let workloads = kernels::streams::TABLE.iter().map(|row| row.id).collect();
    Names { workloads, ..Names::default() }
}

/// All streams on one core, then on all, then on the numbers between, so that a small budget
/// loses the middle of the sweep first.
fn proposal(plan: &Planning<'_>) -> Proposal {
    let mut counts = plan.placement.active_counts(plan.topology());
    if counts.len() > 2 {
        let all = counts.pop();
        counts.splice(1..1, all);
    }
    on(plan, &counts)
}

/// All streams on the first CPUs, so many of them at a time.
pub(crate) fn on(plan: &Planning<'_>, counts: &[usize]) -> Proposal {
    let mut proposal = Proposal::default();
    let mut loads = Vec::new();
    for (order, row) in plan.streams.iter().enumerate().filter(|(_, row)| row.id != NOT_HERE) {
        match streams::load(plan.machine, row, DATA) {
            Ok(load) => loads.push((order, load, phases(row))),
            Err(reason) => proposal.absent.push((row.id, reason)),
        }
    }
    for count in counts {
        let cpus = &plan.placement.cpus[..*count];
        proposal.cells.extend(
            loads
                .iter()
                .map(|(order, load, phases)| Cell::uniform(*order, *load, cpus, phases.clone())),
        );
    }
    proposal
}
