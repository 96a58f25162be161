//! The cells of each question: which kernels, on how many CPUs, over how much memory.

use std::collections::BTreeMap;

use kernels::memory::chase::Walk;
use kernels::memory::{MemoryKernel, Stores, TABLE, Variant};
use model::areas::memory::is_beyond;
pub(super) use model::areas::memory::{BESIDE_ELEMENTS, BESIDE_FOOTPRINT, QUESTION, choice};
use model::record::Topology;
use model::{CpuId, CpuSet, Pages, Seconds, Unavailable};

use super::CHASE;
use crate::run::plan::{Candidate, Cell, CellWork, MemoryJob, Planning};
use rig::streams;
use rig::traffic::{Begin, Party, Store, Task, Traffic, Transfer};

/// Which variants of a kernel may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Which {
    /// All; a trial chooses.
    Any,
    /// Those with ordinary stores; a trial chooses.
    Ordinary,
    /// The widest one with ordinary stores and the widest one without, for questions with so many cells
    /// that trials of all would take longer than the answer; a trial chooses.
    Widest,
    /// The widest one with ordinary stores.
    WidestOrdinary,
    /// The widest one with non-temporal stores.
    WidestNonTemporal,
    /// The one of this name.
    Named(String),
}

impl Which {
    /// The word for it in the parameter `choice`.
    fn word(&self) -> &'static str {
        match self {
            Which::Any => choice::BEST,
            Which::Widest => choice::WIDEST,
            Which::Ordinary | Which::WidestOrdinary => choice::ORDINARY,
            Which::WidestNonTemporal => choice::NON_TEMPORAL,
            Which::Named(_) => choice::AS_ASKED,
        }
    }

    fn admits(&self, variant: &Variant) -> bool {
        let is_ordinary = matches!(variant.stores, Stores::Ordinary | Stores::None);
        let is_non_temporal = variant.stores == Stores::NonTemporal;
        match self {
            Which::Any => true,
            Which::Ordinary | Which::WidestOrdinary => is_ordinary,
            Which::Widest => is_ordinary || is_non_temporal,
            Which::WidestNonTemporal => is_non_temporal,
            Which::Named(name) => variant.id == name,
        }
    }

    /// The ways to run a kernel here that it admits; the reason where there is none.
    pub(super) fn transfers(
        &self,
        plan: &Planning<'_>,
        kernel: &'static MemoryKernel,
    ) -> Result<Vec<Transfer>, Unavailable> {
        let mut known = Vec::new();
        let mut reason = None;
        let admitted = kernel.variants.iter().filter(|variant| self.admits(variant));
        for transfer in streams::transfers(plan.machine, kernel, admitted) {
            match transfer {
                Ok(transfer) => known.push(transfer),
                Err(why) => reason = Some(why),
            }
        }
        if !known.is_empty() {
            return Ok(match self {
                Which::Any | Which::Ordinary | Which::Named(_) => known,
                Which::Widest | Which::WidestOrdinary | Which::WidestNonTemporal => {
                    let (passing, ordinary): (Vec<_>, Vec<_>) =
                        known.into_iter().partition(|t| t.stores() == Stores::NonTemporal);
                    widest(&ordinary).into_iter().chain(widest(&passing)).collect()
                }
            });
        }
        Err(reason.unwrap_or_else(|| {
            let why = match self {
                Which::Named(name) => format!("it has no variant `{name}`"),
                _ => format!("it has no variant with {}", self.word()),
            };
            Unavailable::new(model::Obstacle::Hardware, kernel.id, why)
                .with_remedy("`cpudyno memory --list` prints kernels and variants")
        }))
    }
}

/// The first one with the widest registers.
fn widest(transfers: &[Transfer]) -> Option<Transfer> {
    transfers.iter().copied().reduce(|a, b| if width(&b) > width(&a) { b } else { a })
}

fn width(transfer: &Transfer) -> u32 {
    transfer.variant.width_bits.unwrap_or(0)
}

/// Where the data of a kernel is, and how much of it.
pub(super) struct Arrays {
    /// How many arrays each thread has room for.
    pub(super) count: u32,
    /// The pages that they come in.
    pub(super) pages: Pages,
    /// The node that they lie on; none: that of their thread.
    pub(super) node: Option<u32>,
    /// Elements that each thread has room for in each array.
    pub(super) room: BTreeMap<CpuId, u64>,
}

/// Arrays that these kernels need: one that is written, where any is, and those that are only read.
pub(super) fn arrays_of(kernels: &[&MemoryKernel]) -> u32 {
    let sources = kernels.iter().map(|kernel| kernel.arrays - kernel.writes).max();
    let written = kernels.iter().map(|kernel| kernel.writes).max();
    sources.unwrap_or(0) + written.unwrap_or(0)
}

impl Arrays {
    /// The memory of one thread.
    pub(super) fn store(&self, cpu: CpuId) -> Store {
        let elements = self.room.get(&cpu).copied().unwrap_or(0);
        Store { node: self.node, ..Store::of_arrays(self.count, elements, self.pages) }
    }

    /// The memory of all threads.
    pub(super) fn stores(&self) -> Vec<Store> {
        self.room.keys().map(|&cpu| self.store(cpu)).collect()
    }

    /// Makes room for so many elements of a thread.
    pub(super) fn reserve(&mut self, cpus: &[CpuId], elements: u64) {
        for &cpu in cpus {
            let room = self.room.entry(cpu).or_default();
            *room = (*room).max(elements);
        }
    }
}

/// How often, and how long at least.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    pub(super) repetitions: u32,
    pub(super) target: Seconds,
}

/// A kernel on CPUs that work together, each over so many elements of its own.
pub(super) fn trips(
    kernel: &'static MemoryKernel,
    (which, transfers): (&Which, &[Transfer]),
    cpus: &[CpuId],
    arrays: &Arrays,
    elements: u64,
    effort: Effort,
) -> Cell {
    let candidate = |transfer: &Transfer| {
        let task =
            Task::Trips { transfer: *transfer, elements, moving: false, pause: Seconds(0.0) };
        let party = |&cpu: &CpuId| Party { cpu, store: arrays.store(cpu), task, background: false };
        Candidate {
            parameters: of_transfer(transfer),
            job: Traffic {
                members: cpus.iter().map(party).collect(),
                repetitions: effort.repetitions,
                target: effort.target,
            },
        }
    };
    let moved = MemoryJob {
        order: order(kernel),
        workload: kernel.id,
        candidates: transfers.iter().map(candidate).collect(),
        counted: false,
    };
    let total = elements * cpus.len() as u64;
    let parameters = BTreeMap::from([
        ("choice".to_owned(), which.word().to_owned()),
        ("elements".to_owned(), total.to_string()),
        ("formula".to_owned(), kernel.formula.to_owned()),
        ("footprint".to_owned(), (total * 8 * u64::from(kernel.arrays)).to_string()),
        ("pages".to_owned(), arrays.pages.name().to_owned()),
    ]);
    Cell { work: CellWork::Traffic(moved), parameters }
}

/// Where a kernel stands among the workloads.
fn order(kernel: &MemoryKernel) -> usize {
    TABLE.iter().position(|known| known.id == kernel.id).unwrap_or(TABLE.len())
}

/// What a variant adds to the parameters of its series.
pub(super) fn of_transfer(transfer: &Transfer) -> BTreeMap<String, String> {
    let mut parameters = BTreeMap::from([
        ("variant".to_owned(), transfer.variant.id.to_owned()),
        ("stores".to_owned(), transfer.stores().word().to_owned()),
    ]);
    let asked = transfer.kernel.bytes_per_element();
    if let Some(moved) = transfer.kernel.moved_bytes_per_element(transfer.stores()) {
        // A fraction, because 4/3 has no decimals.
        parameters.insert("moved_per_asked".to_owned(), format!("{moved}/{asked}"));
    }
    parameters
}

/// A chase.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chase {
    pub(super) cpu: CpuId,
    pub(super) store: Store,
    pub(super) bytes: u64,
    pub(super) walk: Walk,
    pub(super) chains: usize,
    pub(super) begin: Begin,
}

impl Chase {
    fn party(&self) -> Party {
        let Chase { cpu, store, bytes, walk, chains, begin } = *self;
        Party { cpu, store, task: Task::Chase { chains, bytes, walk, begin }, background: false }
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        let walk = match self.walk {
            Walk::Random => "random".to_owned(),
            Walk::Windows { bytes } => format!("within {bytes} bytes at a time"),
            Walk::Ascending => "ascending".to_owned(),
            Walk::Apart => "every second line".to_owned(),
        };
        BTreeMap::from([
            ("chains".to_owned(), self.chains.to_string()),
            ("footprint".to_owned(), self.bytes.to_string()),
            ("pages".to_owned(), self.store.pages.name().to_owned()),
            ("walk".to_owned(), walk),
        ])
    }

    /// Alone.
    pub(super) fn cell(&self, effort: Effort) -> Cell {
        self.with(Vec::new(), BTreeMap::new(), effort)
    }

    /// Beside others that move data all the time.
    pub(super) fn with(
        &self,
        beside: Vec<Party>,
        more: BTreeMap<String, String>,
        effort: Effort,
    ) -> Cell {
        let Effort { repetitions, target } = effort;
        let members = std::iter::once(self.party()).chain(beside).collect();
        let candidate = Candidate {
            parameters: BTreeMap::new(),
            job: Traffic { members, repetitions, target },
        };
        let (order, candidates) = (TABLE.len(), vec![candidate]);
        let moved = MemoryJob { order, workload: CHASE, candidates, counted: false };
        let mut parameters = self.parameters();
        parameters.extend(more);
        Cell { work: CellWork::Traffic(moved), parameters }
    }
}

/// A thread that moves data all the time, with a pause after each small trip.
pub(super) fn load(cpu: CpuId, arrays: &Arrays, transfer: Transfer, pause: Seconds) -> Party {
    /// As often as this a loaded thread looks whether it shall end, and rests.
    const ELEMENTS: u64 = 2048;
    let store = arrays.store(cpu);
    let task =
        Task::Trips { transfer, elements: ELEMENTS.min(store.elements()), moving: true, pause };
    Party { cpu, store, task, background: true }
}

/// Lets cells whose arrays are beyond all caches be counted by the memory controllers.
pub(super) fn counted(cells: &mut [Cell], topology: &Topology) {
    for cell in cells {
        let cpus: CpuSet = cell.cpus().into_iter().collect();
        let elements = cell.parameters.get("elements").and_then(|text| text.parse::<u64>().ok());
        if let (CellWork::Traffic(moved), Some(elements)) = (&mut cell.work, elements) {
            moved.counted = is_beyond(topology, &cpus, elements.saturating_mul(8));
        }
    }
}

/// Lets all cells say what they are for.
pub(super) fn asked(cells: &mut [Cell], question: &str) {
    for cell in cells {
        cell.parameters.insert(QUESTION.to_owned(), question.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use kernels::memory::find;

    use super::arrays_of;

    #[test]
    fn no_array_is_asked_for_that_no_kernel_uses() {
        let of =
            |ids: &[&str]| arrays_of(&ids.iter().filter_map(|id| find(id)).collect::<Vec<_>>());
        assert_eq!([of(&["load"]), of(&["store"]), of(&["update"]), of(&["copy"])], [1, 1, 1, 2]);
        assert_eq!([of(&["store", "update"]), of(&["load", "store"])], [1, 2]);
        assert_eq!([of(&["copy", "triad"]), of(&["striad", "load"]), of(&[])], [3, 4, 0]);
    }
}
