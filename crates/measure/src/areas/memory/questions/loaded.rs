//! How long one pointer takes while others move data.

use kernels::memory::chase::Walk;
use kernels::memory::{MemoryKernel, find};
use model::{Obstacle, Seconds, Unavailable};

use super::super::cells::{self, Arrays, Chase, Effort, Which};
use super::super::size;
use super::{QuestionContext, limit, lines_of, part_of};
use crate::run::Error;
use crate::run::plan::{Planning, Proposal};
use rig::placement::Refusal;
use rig::traffic::{Begin, Store, Transfer};

/// Pauses of loads after each 16 KiB or so, in microseconds: from all that they can to nearly nothing.
pub(super) const PAUSES: &[f64] = &[0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0];
pub(super) const PAUSES_IN_BRIEF: &[f64] = &[0.0, 4.0];

const EFFORT: Effort = Effort { repetitions: 3, target: Seconds(2e-3) };

impl QuestionContext<'_> {
    /// One CPU follows pointers, the others move data with ever longer pauses.
    pub(super) fn loaded(&self, pauses: &[f64]) -> Result<Proposal, Error> {
        let [cpu, others @ ..] = self.asked_cpus() else {
            return Err(Refusal::Nobody.into());
        };
        if others.is_empty() {
            return Err(self.nobody_beside());
        }
        let mixes = mixes(self.plan)?;
        let kernels: Vec<&'static MemoryKernel> =
            mixes.iter().map(|(_, transfer)| transfer.kernel).collect();
        let elements = self.elements(self.asked_cpus());
        let beyond = size::beyond_caches(self.plan, *cpu);
        let reserve = |share: f64| -> (Arrays, Store) {
            let mut arrays = self.arrays(&kernels);
            arrays.reserve(others, part_of(elements, others.len(), share));
            (arrays, Store::of_ring(lines_of(beyond, self.ring_share(share)), self.pages))
        };
        let fit = self.fit(|share| {
            let (arrays, ring) = reserve(share);
            arrays.stores().into_iter().chain([ring]).collect()
        })?;
        let (arrays, store) = reserve(fit.share);
        let loads = part_of(elements, others.len(), fit.share) * others.len() as u64;
        let (walk, begin) = (Walk::Random, Begin::Cold);
        let chase = Chase { cpu: *cpu, store, bytes: store.bytes, walk, chains: 1, begin };
        let mut proposal = Proposal::default();
        proposal.cells.push(chase.cell(EFFORT));
        for &pause in pauses {
            for (name, transfer) in &mixes {
                let load = |&cpu| cells::load(cpu, &arrays, *transfer, Seconds(pause * 1e-6));
                let mut more = cells::of_transfer(transfer);
                let bytes = loads * 8 * u64::from(transfer.kernel.arrays);
                more.extend([
                    (cells::BESIDE_ELEMENTS.to_owned(), loads.to_string()),
                    (cells::BESIDE_FOOTPRINT.to_owned(), bytes.to_string()),
                    ("mix".to_owned(), (*name).to_owned()),
                    ("pause_us".to_owned(), pause.to_string()),
                    ("beside".to_owned(), transfer.kernel.id.to_owned()),
                ]);
                proposal.cells.push(chase.with(others.iter().map(load).collect(), more, EFFORT));
            }
        }
        limit(&mut proposal.cells, &fit);
        Ok(proposal)
    }

    fn nobody_beside(&self) -> Error {
        let why = "it needs two CPUs: one follows pointers, the other moves data";
        let reason = |obstacle| Unavailable::new(obstacle, "loaded latency", why);
        match (self.options.threads, self.plan.topology().usable.len()) {
            (_, 0 | 1) => {
                let remedy = "`cpudyno memory latency` needs one CPU";
                Error::Unavailable(reason(Obstacle::Hardware).with_remedy(remedy))
            }
            (Some(_), _) if self.cpus().len() > 1 => {
                Error::Asked(reason(Obstacle::Measurement).with_remedy("use more: --threads 2"))
            }
            _ => {
                let remedy = "use more CPUs: --cpus names them";
                Error::Unavailable(reason(Obstacle::Measurement).with_remedy(remedy))
            }
        }
    }
}

/// What loads move: by the bytes that really cross the bus, reads to writes. What this machine cannot
/// execute is left out.
fn mixes(plan: &Planning<'_>) -> Result<Vec<(&'static str, Transfer)>, Error> {
    const MIXES: &[(&str, &str, Which)] = &[
        ("read only", "load", Which::WidestOrdinary),
        ("2 reads, 1 write", "copy", Which::WidestOrdinary),
        ("1 read, 1 write", "update", Which::WidestOrdinary),
        ("1 read, 1 non-temporal write", "copy", Which::WidestNonTemporal),
    ];
    let mut known = Vec::new();
    let mut reason = None;
    for (name, id, which) in MIXES {
        let Some(kernel) = find(id) else { continue };
        match which.transfers(plan, kernel) {
            Ok(ways) => known.extend(ways.first().map(|transfer| (*name, *transfer))),
            Err(why) => reason = Some(why),
        }
    }
    match (known.is_empty(), reason) {
        (true, Some(reason)) => Err(Error::Unavailable(reason)),
        _ => Ok(known),
    }
}
