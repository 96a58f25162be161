//! Executors: what runs a job. Real threads, or a model; there is no seam inside the timed loop.

pub mod simulated;
pub mod threads;

pub use crate::stop::Stop;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use machine::instruments::traffic::TrafficCounters;
use model::ticks::Stamp;
use model::{CpuId, CpuSet, Obstacle, Rate, Seconds, Unavailable};

use super::alarm::{Alarm, RawAlarm};
use super::background_load::Neighbour;
use super::checking::{Checking, RawChecked};
use super::exchange::{Exchange, RawExchange};
use super::job::{RawRepeat, Repeat, Tools};
use super::regions::{RawRegions, Regions};
use super::trace::{RawTrace, Trace};
use super::traffic::{Placed, RawTraffic, Store, Traffic};
use super::watch::{Polling, RawPolling};

/// The stack of a thread that measures. It is counted where the address space is limited.
pub const STACK_BYTES: usize = 2 << 20;

/// Runs jobs.
pub trait Executor {
    /// Lets all members repeat their payloads together.
    fn repeat(&mut self, job: &Repeat) -> Result<RawRepeat, RunError>;

    /// Lets two threads send each other signals in turns.
    fn exchange(&mut self, job: &Exchange) -> Result<RawExchange, RunError>;

    /// Lets a thread sleep until each of its alarms.
    fn alarm(&mut self, job: &Alarm) -> Result<RawAlarm, RunError>;

    /// Lets members move data, each in memory of its own; counters are read around each repetition.
    fn traffic(
        &mut self,
        job: &Traffic,
        tools: &Tools,
        counters: Option<&Arc<TrafficCounters>>,
    ) -> Result<RawTraffic, RunError>;

    /// Lets a team go through parallel regions, in a process of its own; or why it could not.
    fn regions(&mut self, job: &Regions) -> Result<Result<RawRegions, Unavailable>, RunError>;

    /// Looks at CPUs about every microsecond, one of them under a payload in a duty cycle.
    fn trace(&mut self, job: &Trace) -> Result<RawTrace, RunError>;

    /// Watches what interrupts busy CPUs, all of them at once.
    fn watch(&mut self, job: &Polling) -> Result<Vec<RawPolling>, RunError>;

    /// Lets CPUs do the same work again and again, and compare each answer.
    fn compare(&mut self, job: &Checking) -> Result<Vec<RawChecked>, RunError>;

    /// Runs jobs while neighbours keep other CPUs busy, from before the first job until after the last.
    fn among(
        &mut self,
        neighbours: &[Neighbour],
        jobs: &mut dyn FnMut(&mut dyn Executor) -> Result<(), RunError>,
    ) -> Result<(), RunError>;

    /// How long each of the next jobs may take, and when all of them have to be over, in time since the run began: one
    /// that takes longer is given up, and its threads are left behind.
    fn limit(&mut self, _each: Seconds, _all: Option<Seconds>) {}

    /// How much memory there is room for now, beside what jobs hold already: they hold no more together, and what a later
    /// job does not need is given back.
    fn allow(&mut self, _bytes: u64) {}

    /// Lets the machine rest: nothing is executed for so long.
    fn rest(&mut self, time: Seconds) -> Result<(), RunError>;

    /// For how long nothing ran while jobs did, as where the machine was suspended.
    fn stood_still(&self) -> Seconds {
        Seconds(0.0)
    }

    /// Where the memory of all jobs so far lies.
    fn placed(&self) -> Vec<Placed>;

    /// The rate of the clock that stamps are taken from.
    fn rate(&self) -> Rate<Stamp>;

    /// Time since the run began.
    fn elapsed(&self) -> Seconds;
}

/// Why a job has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The time that all jobs were given is over.
    #[error("the time of the run was over")]
    OutOfTime,
    /// A thread could not be pinned.
    #[error("cannot pin a thread to CPU {cpu}: {}", sys::errno::words(.source))]
    Pin {
        /// The CPU.
        cpu: CpuId,
        /// What the kernel answered.
        source: std::io::Error,
    },
    /// A thread could not be started.
    #[error("cannot start a thread for CPU {cpu}: {source}")]
    Spawn {
        /// Where it should have run.
        cpu: CpuId,
        /// What the kernel answered.
        source: std::io::Error,
    },
    /// The kernel gave no memory.
    #[error(
        "cannot get {} MiB of memory in pages of {} for CPU {cpu}: {source}", store.bytes >> 20, store.pages
    )]
    Memory {
        /// Whose it should have been.
        cpu: CpuId,
        /// What was asked for.
        store: Store,
        /// What the kernel answered.
        source: std::io::Error,
    },
    /// A signal could not be sent or awaited.
    #[error("cannot signal by {method} on CPU {cpu}: {source}")]
    Signal {
        /// How.
        method: &'static str,
        /// Where.
        cpu: CpuId,
        /// What the kernel answered.
        source: std::io::Error,
    },
    /// A kernel answered wrongly when it was checked.
    #[error(transparent)]
    WrongAnswer(#[from] kernels::WrongAnswer),
    /// Threads did not end in time. Nobody can end them: they may go on on their CPUs.
    #[error("no answer from CPU {cpus} within {:.1} s: {}", .limit.0, left_behind(.left))]
    Hung {
        /// Where they were to run.
        cpus: CpuSet,
        /// Those that have not ended since.
        left: CpuSet,
        /// How long they had.
        limit: Seconds,
    },
    /// It panicked; what it said, in one line.
    #[error("a fault of cpudyno ended it: {0}")]
    Fault(String),
}

impl RunError {
    /// Whether it says nothing of other jobs: they may go on.
    pub fn is_of_one_job(&self) -> bool {
        match self {
            RunError::Spawn { .. }
            | RunError::Memory { .. }
            | RunError::Signal { .. }
            | RunError::Hung { .. }
            | RunError::Fault(_) => true,
            RunError::Interrupted
            | RunError::OutOfTime
            | RunError::Pin { .. }
            | RunError::WrongAnswer(_) => false,
        }
    }

    /// Why a cell of a run has no numbers, where the others have.
    pub fn reason(&self, what: impl Into<String>) -> Unavailable {
        let (obstacle, remedy) = match self {
            RunError::Hung { left, .. } if left.is_empty() => {
                (Obstacle::Measurement, "run it again when other programs use these CPUs less")
            }
            RunError::Fault(_) | RunError::Hung { .. } => {
                (Obstacle::Cpudyno, "please report it, with the record: --json FILE")
            }
            RunError::Memory { .. } => {
                (Obstacle::Permission, "`cpudyno doctor` shows which memory is available")
            }
            _ => (Obstacle::Permission, "use fewer CPUs: --cpus LIST"),
        };
        Unavailable::new(obstacle, what, self.to_string()).with_remedy(remedy)
    }
}

fn left_behind(left: &CpuSet) -> String {
    if left.is_empty() {
        return "its threads were stopped".to_owned();
    }
    format!("its threads on CPU {left} still run, and may disturb later measurements")
}

/// Does a part of a run; where it panics, that is an error of this part.
pub fn guarded<T>(part: impl FnOnce() -> Result<T, RunError>) -> Result<T, RunError> {
    // A part's samples are added when all of them are there, and threads that panic leave nobody waiting:
    // what a panic leaves behind is whole.
    std::panic::catch_unwind(AssertUnwindSafe(part)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let said = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let words: Vec<&str> = said.unwrap_or("it did not say which").split_whitespace().collect();
        Err(RunError::Fault(words.join(" ")))
    })
}
