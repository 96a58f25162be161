//! Multiply-adds of each datatype, as wide as the machine has them.

use kernels::{Kind, StreamRow};
use model::CpuId;
pub(crate) use model::areas::datatypes::AREA;
use model::areas::datatypes::QUANTITIES;
use model::{Datatype, Isa};

use super::turbo::{self, CLOCKS, active, phases};
use crate::run::area::Area;
use crate::run::plan::{Cell, DATA, Planning, Proposal};
use rig::job::Load;
use rig::streams;

/// The area.
pub static DATATYPES: Area =
    Area { taken: turbo::taken, needs: CLOCKS, ..Area::new(AREA, QUANTITIES, 0.25, widest) };

/// The streams that keep the multipliers of a datatype busy, the narrowest first.
pub fn rows() -> impl Iterator<Item = &'static StreamRow> {
    let is_peak = |row: &&StreamRow| row.kind == Kind::Throughput && row.datatype().is_some();
    kernels::streams::TABLE.iter().copied().filter(is_peak)
}

/// For a sheet: of each datatype the widest stream, and the tiles, where its streams of the clock do not tell it; nothing
/// where others than those of a sheet were asked for.
fn widest(plan: &Planning<'_>) -> Proposal {
    let is_asked = |row: &&'static StreamRow| plan.streams.iter().any(|asked| asked.id == row.id);
    if !kernels::streams::SHEET.iter().all(is_asked) {
        return Proposal::default();
    }
    let mut proposal = Proposal::default();
    let of = |datatype, has_tiles| {
        let its = rows().filter(move |row| row.datatype() == Some(datatype));
        let its = its.filter(move |row| row.needs.contains(&Isa::AmxTile) == has_tiles);
        let can = its.filter(|row| streams::load(plan.machine, row, DATA).is_ok());
        can.max_by_key(|row| row.operations_per_op())
    };
    let each = Datatype::ALL.into_iter().flat_map(|it| [of(it, false), of(it, true)]);
    put(plan, &mut proposal, each.flatten().filter(|row| !is_asked(row)));
    proposal
}

/// All of them.
pub(super) fn all(plan: &Planning<'_>) -> Proposal {
    let mut proposal = Proposal::default();
    put(plan, &mut proposal, rows());
    proposal
}

/// Each of these on one core of each type, and on all cores.
fn put(
    plan: &Planning<'_>,
    proposal: &mut Proposal,
    rows: impl Iterator<Item = &'static StreamRow>,
) {
    let all = &plan.placement.cpus;
    let alone = active::kinds(plan).into_iter().map(|(_, cpus)| vec![cpus[0]]);
    let groups: Vec<Vec<CpuId>> = alone.chain((all.len() > 1).then(|| all.clone())).collect();
    let mut loads: Vec<(usize, &StreamRow, Load)> = Vec::new();
    for (order, row) in rows.enumerate() {
        match streams::load(plan.machine, row, DATA) {
            Ok(load) => loads.push((order, row, load)),
            Err(reason) => proposal.absent.push((row.id, reason)),
        }
    }
    for cpus in &groups {
        let cell = |it: &(usize, &StreamRow, Load)| Cell::uniform(it.0, it.2, cpus, phases(it.1));
        proposal.cells.extend(loads.iter().map(cell));
    }
}
