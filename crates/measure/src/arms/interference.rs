//! What else went on: the hypervisor, heat, quotas, other processes.

use machine::Machine;
use machine::disturbances::{self, Counters};
use model::record::Fact;
use model::{CpuSet, Finding, Seconds};

use super::CommandRuns;
use crate::run::other_load::OtherLoad;

/// What went on since a moment.
pub(crate) struct InterferenceWatch {
    cpus: CpuSet,
    counters: Counters,
    rivals: OtherLoad,
    begun: Seconds,
}

/// What went on.
pub(crate) struct Around {
    pub(crate) findings: Vec<Finding>,
    pub(crate) conditions: Vec<Fact>,
    /// The share of the CPUs that were measured which other programs used.
    pub(crate) rivals: f64,
}

impl InterferenceWatch {
    /// From now on, about these CPUs.
    pub(crate) fn watch(machine: &Machine, cpus: CpuSet, now: Seconds) -> InterferenceWatch {
        let counters = disturbances::read(machine, &cpus);
        InterferenceWatch { cpus, counters, rivals: OtherLoad::watch(machine), begun: now }
    }

    /// Until now. `ran` is what the kernel says of a command.
    pub(crate) fn end(self, machine: &Machine, now: Seconds, ran: &[CommandRuns]) -> Around {
        let conditions = disturbances::read(machine, &self.cpus).since(&self.counters);
        let seconds = (now - self.begun).0;
        let mut findings = disturbances::findings(&conditions, seconds, self.cpus.len());
        let (rivals, share) = self.rivals.told(machine, &self.cpus);
        findings.extend(rivals);
        findings.extend(preempted(ran));
        Around { findings, conditions, rivals: share }
    }
}

/// CPUs were taken away from the command again and again.
fn preempted(ran: &[CommandRuns]) -> Option<Finding> {
    /// A scheduler gives slices of 3 to 10 ms: who shares a CPU with somebody loses it 100 to 300 times
    /// in each second of CPU time.
    const PER_SECOND_MIN: f64 = 100.0;
    /// Of a short run one is chance.
    const PER_RUN_MIN: f64 = 2.0;
    let sum = |of: fn(&CommandRuns) -> f64| ran.iter().map(of).sum::<f64>();
    let switches = sum(|ran| ran.involuntary_switches as f64);
    let (runs, seconds) = (sum(|ran| ran.runs as f64), sum(|ran| ran.cpu_seconds));
    let often = switches >= PER_RUN_MIN * runs && switches > PER_SECOND_MIN * seconds;
    (runs > 0.0 && often).then(|| {
        let text = format!(
            "its threads lost a CPU {:.0} times in each run, {:.0} times per second of CPU time: \
             other work, or another thread of its own, wanted the same CPU",
            switches / runs,
            switches / seconds.max(1e-6)
        );
        Finding::warning("ab.preempted", "the command", text)
            .remedy("stop other work, or give it as many CPUs as it has threads".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(runs: u64, cpu_seconds: f64, involuntary_switches: u64) -> CommandRuns {
        CommandRuns { runs, cpu_seconds, involuntary_switches }
    }

    #[test]
    fn who_shares_its_cpu_is_told_so() {
        let found = preempted(&[ran(10, 1.0, 150), ran(10, 1.0, 250)]).unwrap();
        assert!(found.text.contains("20 times in each run, 200 times"), "{}", found.text);
        assert_eq!(preempted(&[ran(10, 1.0, 15)]), None);
        // Each run is so short that one switch is as many as 1,000 in a second.
        assert_eq!(preempted(&[ran(10, 0.01, 10)]), None);
        assert_eq!(preempted(&[]), None);
    }
}
