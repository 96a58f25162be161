//! Jobs whose answers are compared: the same work again and again on each CPU, each time with the answer that it must have.

use std::sync::Arc;

use kernels::{Operands, StreamRow};
use model::{CpuId, Seconds};

use super::job::Load;
use super::traffic::Transfer;

/// CPUs do the same work at the same time, and compare each answer.
#[derive(Clone)]
pub struct Checking {
    /// Where.
    pub cpus: Vec<CpuId>,
    /// What they do.
    pub work: CheckedWork,
    /// What a call must answer; none: nobody knows yet, and one call is made. Memory is compared with what it must hold.
    pub expected: Option<u64>,
    /// For how long.
    pub time: Seconds,
    /// Not more calls than these, where there is such a limit.
    pub calls_max: Option<u64>,
}

/// Work with an answer.
#[derive(Clone)]
pub enum CheckedWork {
    /// So many trips through a stream, on operands of its own.
    Stream {
        /// How it is executed.
        load: Load,
        /// Its row.
        row: &'static StreamRow,
        /// What it computes with.
        operands: Arc<Operands>,
        /// Trips in a call.
        iterations: u64,
    },
    /// The answer of the same, computed one op at a time without its kernel.
    Reference {
        /// The row.
        row: &'static StreamRow,
        /// What it computes with.
        operands: Arc<Operands>,
        /// Trips in a call.
        iterations: u64,
    },
    /// Trips of a memory kernel over arrays of so many numbers; each number is compared after each call.
    Memory {
        /// What is done to them.
        transfer: Transfer,
        /// Numbers of each array.
        length: usize,
        /// Trips in a call.
        trips: u64,
    },
}

/// The id of the portable computation, where a stream has its own.
pub const REFERENCE: &str = "reference";

impl CheckedWork {
    /// The id of what is done.
    pub fn id(&self) -> &'static str {
        match self {
            CheckedWork::Stream { load, .. } => load.id,
            CheckedWork::Reference { .. } => REFERENCE,
            CheckedWork::Memory { transfer, .. } => transfer.kernel.id,
        }
    }

    /// Ops of a call; of memory kernels, numbers that are written or read.
    pub fn ops(&self) -> u64 {
        match self {
            CheckedWork::Stream { row, iterations, .. }
            | CheckedWork::Reference { row, iterations, .. } => row.ops_per_iteration * iterations,
            CheckedWork::Memory { length, trips, .. } => *length as u64 * trips,
        }
    }
}

/// What one CPU answered.
#[derive(Debug, Clone, PartialEq)]
pub struct RawChecked {
    /// Where.
    pub cpu: CpuId,
    /// Calls that were made.
    pub calls: u64,
    /// Those with a wrong answer.
    pub wrong: u64,
    /// The first of them, [`KEPT`] at most.
    pub first: Vec<WrongCall>,
    /// What the last call answered; of memory nothing.
    pub answer: u64,
}

/// So many wrong answers of a CPU are kept as they are; of more, their number.
pub const KEPT: usize = 4;

/// A wrong answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongCall {
    /// Which call of the job, the first being 0.
    pub call: u64,
    /// What it should have answered.
    pub expected: u64,
    /// What it answered.
    pub got: u64,
    /// The index of the wrong number in memory, where it is one.
    pub index: Option<u64>,
}

impl RawChecked {
    /// Nothing was done yet.
    pub(crate) fn none(cpu: CpuId) -> RawChecked {
        RawChecked { cpu, calls: 0, wrong: 0, first: Vec::new(), answer: 0 }
    }

    /// Takes the answer of the next call.
    #[inline]
    pub(crate) fn take(&mut self, got: u64, expected: Option<u64>) {
        self.answer = got;
        if let Some(expected) = expected.filter(|expected| *expected != got) {
            self.is_wrong(expected, got, None);
        }
        self.calls += 1;
    }

    /// The next call is wrong.
    #[cold]
    pub(crate) fn is_wrong(&mut self, expected: u64, got: u64, index: Option<u64>) {
        self.wrong += 1;
        if self.first.len() < KEPT {
            self.first.push(WrongCall { call: self.calls, expected, got, index });
        }
    }

    /// Whether the job has another call.
    pub(crate) fn goes_on(&self, job: &Checking) -> bool {
        let is_asked = job.expected.is_none() && !matches!(job.work, CheckedWork::Memory { .. });
        let most = if is_asked { Some(1) } else { job.calls_max };
        most.is_none_or(|most| self.calls < most)
    }
}
