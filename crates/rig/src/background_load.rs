//! Neighbours: threads that keep other CPUs busy while jobs run, and that nobody measures.

use model::CpuId;

use super::job::Load;
use super::traffic::{Store, Transfer};

/// A thread beside the jobs.
#[derive(Clone, Copy)]
pub struct Neighbour {
    /// Where it runs.
    pub cpu: CpuId,
    /// What it does.
    pub work: Busy,
}

/// What a neighbour does, again and again.
#[derive(Clone, Copy)]
pub enum Busy {
    /// It executes a stream.
    Stream(Load),
    /// It moves data in memory of its own.
    Memory {
        /// How.
        transfer: Transfer,
        /// Elements of each array in one trip.
        elements: u64,
        /// The memory.
        store: Store,
    },
    /// It takes a lock that all such neighbours want, again and again, by atomic exchanges of one line.
    Lock,
}

/// What spinning for a lock is called where neighbours are told by what they execute.
pub const LOCK: &str = "lock";

impl Busy {
    /// What it executes: the id of a stream or of a memory kernel.
    pub fn id(&self) -> &'static str {
        match self {
            Busy::Stream(load) => load.id,
            Busy::Memory { transfer, .. } => transfer.kernel.id,
            Busy::Lock => LOCK,
        }
    }

    /// The memory that it works in, where it has some.
    pub fn store(&self) -> Option<Store> {
        match self {
            Busy::Memory { store, .. } => Some(*store),
            Busy::Stream(_) | Busy::Lock => None,
        }
    }
}
