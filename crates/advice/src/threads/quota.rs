//! Quotas of control groups: throughput, and bursts.

use model::Seconds;
use model::record::Record;
use serde::Serialize;

/// The time of CPUs that a control group has in each period.
///
/// # Source
/// The kernel's `scheduler/sched-bwc.rst`: all threads of a group use up one budget in each period; once it is used up,
/// all of them are stopped until the next period begins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quota {
    /// How many CPUs that is.
    pub cpus: f64,
    /// The period.
    pub period: Seconds,
}

impl Quota {
    /// What a record says of it.
    pub(super) fn of(record: &Record) -> Option<Quota> {
        Quota::parse(record.text("cgroup.quota")?)
    }

    /// `8 CPUs (800000 of 100000 us, cpu.max of its control group)`
    fn parse(text: &str) -> Option<Quota> {
        let (_, rest) = text.split_once(" (")?;
        let (budget, rest) = rest.split_once(" of ")?;
        let (period, _) = rest.split_once(" us")?;
        let (budget, period) = (budget.parse::<f64>().ok()?, period.parse::<f64>().ok()?);
        let is_sound = budget > 0.0 && period > 0.0 && budget.is_finite() && period.is_finite();
        is_sound.then(|| Quota { cpus: budget / period, period: Seconds(period / 1e6) })
    }

    /// Whether so many threads are stopped.
    pub fn binds(self, threads: usize) -> bool {
        threads as f64 > self.cpus
    }

    /// The share of the time that so many threads have, all of them busy.
    pub fn share(self, threads: usize) -> f64 {
        (self.cpus / threads.max(1) as f64).min(1.0)
    }

    /// For how long of each period so many busy threads stand still, all together.
    pub fn stall(self, threads: usize) -> Seconds {
        self.period * (1.0 - self.share(threads))
    }

    /// More threads than this do no more work: what they add to speed, they lose of time.
    pub(super) fn team_max(self) -> usize {
        (self.cpus.ceil() as usize).max(1)
    }

    /// So many threads at most are never stopped; one is, where there is less than one CPU.
    pub fn without_stall(self) -> usize {
        (self.cpus.floor() as usize).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_throughput_and_a_burst() {
        let text = "7.65 CPUs (765000 of 100000 us, cpu.max of its control group)";
        let quota = Quota::parse(text).unwrap();
        assert!((quota.cpus - 7.65).abs() < 1e-9 && (quota.period.0 - 0.1).abs() < 1e-12);
        // 96 threads use 765 ms of CPU up in 7.97 ms.
        assert!((quota.stall(96).0 - 0.092_031).abs() < 1e-6, "{:?}", quota.stall(96));
        assert!((quota.stall(8).0 - 0.004_375).abs() < 1e-6 && quota.stall(7).0.abs() < 1e-12);
        assert_eq!(quota.without_stall(), 7);
        assert!(quota.binds(8) && !quota.binds(7));
        for text in ["none", "", "2 CPUs", "x (a of b us)", "1 CPU (0 of 100000 us)"] {
            assert_eq!(Quota::parse(text), None, "{text}");
        }
    }
}
