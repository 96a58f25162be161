//! What is compared: every stream that computes something, and every memory kernel, in each pass in another way and in
//! arrays that fit into the first caches, or in such that do not.

use kernels::memory::{MemoryKernel, TABLE as KERNELS};
use kernels::streams::TABLE;
use kernels::{Data, StreamRow};
use machine::Machine;
use model::name::did_you_mean;
use model::{Obstacle, Unavailable};

use crate::run::Error;
use rig::job::Load;
use rig::streams;
use rig::traffic::Transfer;

/// Numbers of each array: 32 KiB and 1 MiB.
const LENGTHS: [usize; 2] = [1 << 12, 1 << 17];

/// Something whose answers are compared.
pub(super) struct Workload {
    pub(super) id: &'static str,
    pub(super) body: Body,
    /// Another stream that computes the same by other instructions.
    pub(super) second: Option<(&'static StreamRow, Load)>,
}

/// How it is done.
pub(super) enum Body {
    Stream(&'static StreamRow, Load),
    /// In all of these ways.
    Memory(&'static MemoryKernel, Vec<Transfer>),
}

impl Workload {
    /// What is going on, for who waits.
    pub(super) fn doing(&self, is_any_wrong: bool) -> String {
        let found = if is_any_wrong { ", WRONG ANSWERS" } else { "" };
        format!("comparing {}{found}", self.id)
    }
}

/// The way of a pass, and how many numbers its arrays have.
pub(super) fn way(ways: &[Transfer], pass: u64) -> (Transfer, usize) {
    let (way, round) = (pass as usize % ways.len(), pass as usize / ways.len());
    (ways[way], LENGTHS[(way + round) % LENGTHS.len()])
}

/// Trips of a call over arrays of so many numbers: about a tenth of a millisecond.
pub(super) fn trips(length: usize) -> u64 {
    ((1 << 17) / length as u64).max(1)
}

/// The ids of all that can be compared.
pub fn ids() -> impl Iterator<Item = &'static str> {
    let streams = TABLE.iter().filter(|row| row.computes()).map(|row| row.id);
    streams.chain(KERNELS.iter().map(|kernel| kernel.id))
}

/// The id that somebody typed, of a stream or of a memory kernel; or what is near to it.
pub fn named(id: &str) -> Result<&'static str, Unavailable> {
    if let Some(known) = ids().find(|known| *known == id) {
        return Ok(known);
    }
    let unknown =
        Unavailable::new(Obstacle::Cpudyno, "workloads", format!("there is no `{id}` to compare"));
    Err(unknown.with_remedy(did_you_mean(id, ids()).map_or_else(
        || "`cpudyno streams` lists streams".to_owned(),
        |near| format!("did you mean `{near}`?"),
    )))
}

/// All that this machine executes, or those of these ids; and what it does not.
pub(super) fn found(
    machine: &Machine,
    wanted: &[String],
) -> Result<(Vec<Workload>, Vec<Unavailable>), Error> {
    let is_wanted = |id: &str| wanted.is_empty() || wanted.iter().any(|it| it == id);
    let (mut workloads, mut left_out) = (Vec::new(), Vec::new());
    let load = |row| streams::load(machine, row, Data::Toggling);
    for row in TABLE.iter().copied().filter(|row| row.computes() && is_wanted(row.id)) {
        match load(row) {
            Ok(own) => {
                let second = row.second_form(|row| load(row).is_ok());
                let second = second.and_then(|row| Some((row, load(row).ok()?)));
                workloads.push(Workload { id: row.id, body: Body::Stream(row, own), second });
            }
            Err(reason) => left_out.push(reason),
        }
    }
    for kernel in KERNELS.iter().copied().filter(|kernel| is_wanted(kernel.id)) {
        let mut ways = Vec::new();
        for transfer in streams::transfers(machine, kernel, kernel.variants) {
            match transfer {
                Ok(transfer) => ways.push(transfer),
                Err(reason) => left_out.push(reason),
            }
        }
        if !ways.is_empty() {
            let body = Body::Memory(kernel, ways);
            workloads.push(Workload { id: kernel.id, body, second: None });
        }
    }
    match left_out.first() {
        Some(reason) if workloads.is_empty() => Err(Error::Unavailable(reason.clone())),
        _ => Ok((workloads, left_out)),
    }
}
