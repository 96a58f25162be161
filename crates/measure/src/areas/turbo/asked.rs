//! The streams that questions about clocks are asked with.

use kernels::StreamRow;
use model::areas::turbo::{HEAVY, LIGHT};
use model::{Obstacle, Unavailable};

use crate::run::plan::{DATA, Planning, Proposal};
use rig::streams;

/// The lightest stream, and the heavy ones, the heaviest last: those that this architecture lacks are left out.
pub(in crate::areas) fn light_and_heavy() -> Vec<&'static StreamRow> {
    let ids = std::iter::once(LIGHT).chain(HEAVY.into_iter().rev());
    ids.filter_map(|id| kernels::streams::TABLE.iter().find(|row| row.id == id)).copied().collect()
}

/// The heaviest streams of this architecture, the heaviest first; the lightest where there are no others.
fn heavy() -> Vec<&'static StreamRow> {
    let mut all = light_and_heavy();
    all.reverse();
    all.truncate(HEAVY.len().min(all.len().saturating_sub(1)).max(1));
    all
}

/// What a sheet asks of the heaviest of its streams that can be run here; nothing where it was asked for light ones alone.
pub(in crate::areas) fn of_heaviest(
    plan: &Planning<'_>,
    workload: &'static str,
    ask: impl FnOnce(&'static StreamRow) -> Result<Proposal, Unavailable>,
) -> Proposal {
    let heaviest = heaviest(plan, workload).map(|heaviest| heaviest.and_then(ask));
    heaviest.map_or_else(Proposal::default, |proposal| {
        proposal.unwrap_or_else(|reason| Proposal::without(workload, reason))
    })
}

fn heaviest(
    plan: &Planning<'_>,
    workload: &'static str,
) -> Option<Result<&'static StreamRow, Unavailable>> {
    let is_asked = |row: &&'static StreamRow| plan.streams.iter().any(|asked| asked.id == row.id);
    let can = |row: &&'static StreamRow| streams::load(plan.machine, row, DATA).is_ok();
    let mut asked = heavy().into_iter().filter(is_asked).peekable();
    let is_sheet = kernels::streams::SHEET.iter().all(is_asked);
    if asked.peek().is_none() && !is_sheet {
        return None;
    }
    Some(asked.find(can).ok_or_else(|| {
        let why = "none of the heavy streams is measured here";
        let heavy: Vec<&str> = heavy().iter().map(|row| row.id).collect();
        let remedy = format!("measure one of them: --streams {}", heavy.join(","));
        Unavailable::new(Obstacle::Measurement, workload, why).with_remedy(remedy)
    }))
}
