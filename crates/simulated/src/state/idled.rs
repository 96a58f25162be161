//! What CPUs idled, and what limits it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{CpuId, Seconds};

/// What a CPU was in one idle state.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct InState {
    /// How often it was left.
    pub entries: u64,
    /// How long the CPU was in it, in seconds.
    pub seconds: f64,
}

/// What CPUs idled, and what limits it; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Idled(Arc<Mutex<Log>>);

#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) counts: BTreeMap<CpuId, Vec<InState>>,
    /// The greatest exit latencies that somebody asks for, by the number of the request.
    limits: BTreeMap<u64, Seconds>,
    /// Requests until now.
    requests: u64,
}

/// A limit that somebody asks for, until it is dropped.
#[derive(Debug)]
pub struct LatencyRequest {
    idled: Idled,
    number: u64,
}

impl Drop for LatencyRequest {
    fn drop(&mut self) {
        self.idled.log().limits.remove(&self.number);
    }
}

impl Log {
    pub(crate) fn add(&mut self, cpu: CpuId, state: usize, states: usize, duration: Seconds) {
        let counts = self.counts.entry(cpu).or_insert_with(|| vec![InState::default(); states]);
        counts[state].entries += 1;
        counts[state].seconds += duration.0;
    }
}

impl Idled {
    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        // Counts are whole at any time.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allows only states that are left within this time, for as long as the request is held.
    pub fn request(&self, latency: Seconds) -> LatencyRequest {
        let mut log = self.log();
        log.requests += 1;
        let number = log.requests;
        log.limits.insert(number, latency);
        LatencyRequest { idled: self.clone(), number }
    }

    /// The strictest limit that somebody asks for.
    pub fn limit(&self) -> Option<Seconds> {
        self.log().limits.values().copied().reduce(|a, b| if b.0 < a.0 { b } else { a })
    }
}
