//! What the CPUs of a simulated machine do while they wait.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{CpuId, Seconds};
use serde::Deserialize;

use crate::description::{Fault, Model};

/// What a way to signal a thread, or an alarm, costs.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalCost {
    /// From the signal until the other thread goes on, on another CPU, beyond the way of a cache line
    /// and the exit from an idle state, in seconds; of an alarm, how late it is.
    pub seconds: f64,
    /// The same to a thread on the same CPU; absent: there it waits forever.
    pub same_cpu_seconds: Option<f64>,
    /// Whether the other thread sleeps, so that its CPU may idle.
    #[serde(default)]
    pub sleeps: bool,
}

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
struct Log {
    counts: BTreeMap<CpuId, Vec<InState>>,
    /// The greatest exit latencies that somebody asks for, by the number of the request.
    limits: BTreeMap<u64, Seconds>,
    /// Requests until now.
    requests: u64,
}

/// A limit that somebody asks for, until it is dropped.
#[derive(Debug)]
pub struct Request {
    idled: Idled,
    number: u64,
}

impl Drop for Request {
    fn drop(&mut self) {
        self.idled.log().limits.remove(&self.number);
    }
}

impl Log {
    fn add(&mut self, cpu: CpuId, state: usize, states: usize, duration: Seconds) {
        let counts = self.counts.entry(cpu).or_insert_with(|| vec![InState::default(); states]);
        counts[state].entries += 1;
        counts[state].seconds += duration.0;
    }
}

impl Idled {
    fn log(&self) -> MutexGuard<'_, Log> {
        // Counts are whole at any time.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allows only states that are left within this time, for as long as the request is held.
    pub fn request(&self, latency: Seconds) -> Request {
        let mut log = self.log();
        log.requests += 1;
        let number = log.requests;
        log.limits.insert(number, latency);
        Request { idled: self.clone(), number }
    }

    /// The strictest limit that somebody asks for.
    pub fn limit(&self) -> Option<Seconds> {
        self.log().limits.values().copied().reduce(|a, b| if b.0 < a.0 { b } else { a })
    }
}

impl Model {
    /// Lets a CPU idle for so long in the deepest state that is worth it, and says how long it takes
    /// to leave that state.
    pub fn idle(&self, cpu: CpuId, duration: Seconds) -> Seconds {
        let Some(state) = self.deepest(cpu, duration) else { return Seconds(0.0) };
        self.idled.log().add(cpu, state, self.idle.len(), duration);
        Seconds(self.idle[state].exit_latency_seconds)
    }

    /// Lets a CPU idle for so long, in all, in the deepest state that it may enter.
    pub(crate) fn idle_in_all(&self, cpu: CpuId, duration: Seconds) {
        if let Some(state) = self.deepest(cpu, Seconds(f64::INFINITY)).filter(|_| duration.0 > 0.0)
        {
            self.idled.log().add(cpu, state, self.idle.len(), duration);
        }
    }

    /// The deepest state that settings and requests allow, and that is worth it for so long.
    fn deepest(&self, cpu: CpuId, duration: Seconds) -> Option<usize> {
        let limit = self.idled.limit().filter(|_| !self.has(Fault::IgnoresSettings));
        let limit = limit.map_or(f64::INFINITY, |limit| limit.0);
        let fits = |index: &usize| {
            let state = &self.idle[*index];
            state.target_residency_seconds <= duration.0
                && state.exit_latency_seconds <= limit
                && !self.forbids_idle(cpu, *index)
        };
        (0..self.idle.len()).rfind(fits)
    }

    /// What the states of a CPU have counted.
    pub fn idle_counts(&self, cpu: CpuId) -> Vec<InState> {
        let known = self.idled.log().counts.get(&cpu).cloned();
        known.unwrap_or_else(|| vec![InState::default(); self.idle.len()])
    }
}
