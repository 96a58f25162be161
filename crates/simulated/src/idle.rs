//! What the CPUs of a simulated machine do while they wait.

use model::{CpuId, Seconds};

use crate::description::Model;
use crate::faults::Fault;
use crate::state::InState;

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
