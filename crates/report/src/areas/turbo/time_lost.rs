//! Time in which a core had work and did none. Several counters see the same moment: gaps in polling, MPERF, the
//! kernel's books of a quota, and the chain itself, which takes a halted cycle for a slow one. Each moment is lost
//! once, to the first that names it.

/// What counters say, as shares of time; none: nothing counts it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CountedShares {
    /// In gaps in polling, whatever took the CPU.
    pub(super) gaps: Option<f64>,
    /// Halted, by MPERF.
    pub(super) halted: Option<f64>,
    /// Stopped by a quota.
    pub(super) quota: Option<f64>,
    /// Taken by the hypervisor, as the kernel counts it.
    pub(super) steal: Option<f64>,
    /// How far the clock by the chain is below the one while not halted.
    pub(super) in_clock: Option<f64>,
}

/// To whom time was lost, as shares of what the clock by the chain has left.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Lost {
    pub(super) quota: f64,
    pub(super) halted: f64,
    pub(super) steal: f64,
    /// By nobody who is named.
    pub(super) taken: f64,
}

impl CountedShares {
    /// Who took what. A core that a quota stops is halted, too, and nobody polls there: what all of them see
    /// is no more than what one of them sees.
    pub(super) fn lost(self) -> Lost {
        let share = |counted: Option<f64>| counted.unwrap_or(0.0).clamp(0.0, 1.0);
        let (gaps, halts) = (share(self.gaps), share(self.halted));
        let (stopped, stolen) = (share(self.quota), share(self.steal));
        let is_measured = self.gaps.is_some() || self.halted.is_some();
        let all = if is_measured { gaps.max(halts) } else { (stopped + stolen).min(1.0) };
        let quota = stopped.min(all);
        let halted = (halts - quota).max(0.0);
        let steal = stolen.min(all - quota - halted);
        let mut parts = [halted, quota, steal, all - quota - halted - steal];
        let mut already = share(self.in_clock).min(all);
        let left = 1.0 - already;
        for part in &mut parts {
            let cut = part.min(already);
            *part -= cut;
            already -= cut;
        }
        let [halted, quota, steal, taken] =
            parts.map(|part| if left > 0.0 { part / left } else { 0.0 });
        Lost { quota, halted, steal, taken }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is(counted: CountedShares, [quota, halted, steal, taken]: [f64; 4]) {
        let lost = counted.lost();
        let found = [lost.quota, lost.halted, lost.steal, lost.taken];
        let expected = [quota, halted, steal, taken];
        let off: Vec<f64> = std::iter::zip(found, expected).map(|(a, b)| a - b).collect();
        assert!(off.iter().all(|off| off.abs() < 1e-12), "{counted:?}: {lost:?}");
    }

    /// A quota of a half: polling finds it, MPERF stands still meanwhile, and the kernel counts it.
    #[test]
    fn a_quota_that_three_counters_see_is_lost_once() {
        let seen = Some(0.5);
        let counted =
            CountedShares { gaps: seen, halted: seen, quota: seen, ..CountedShares::default() };
        is(counted, [0.5, 0.0, 0.0, 0.0]);
        is(CountedShares { quota: seen, ..CountedShares::default() }, [0.5, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn each_takes_what_nobody_before_it_names() {
        let counted = CountedShares {
            gaps: Some(0.3),
            halted: Some(0.2),
            quota: Some(0.05),
            steal: Some(0.04),
            in_clock: None,
        };
        is(counted, [0.05, 0.15, 0.04, 0.06]);
        // The quota stopped others of the group, or while other cells were measured.
        let counted =
            CountedShares { gaps: Some(0.01), quota: Some(0.4), ..CountedShares::default() };
        is(counted, [0.01, 0.0, 0.0, 0.0]);
        is(CountedShares { gaps: Some(0.02), ..CountedShares::default() }, [0.0, 0.0, 0.0, 0.02]);
        is(CountedShares::default(), [0.0; 4]);
    }

    /// Other threads of a guest take half of the time, its host next to nothing: the rest is nobody's.
    #[test]
    fn what_the_hypervisor_took_is_no_more_than_it_counted() {
        let counted =
            CountedShares { gaps: Some(0.5), steal: Some(0.003), ..CountedShares::default() };
        is(counted, [0.0, 0.0, 0.003, 0.497]);
        is(CountedShares { gaps: Some(0.01), steal: Some(0.4), ..counted }, [0.0, 0.0, 0.01, 0.0]);
        is(CountedShares { steal: Some(0.4), ..CountedShares::default() }, [0.0, 0.0, 0.4, 0.0]);
    }

    /// A duty cycle of three quarters whose halts are shorter than a look: the chain reads 75 % of the clock.
    #[test]
    fn halts_that_the_clock_has_lost_already_are_not_lost_again() {
        let halted = Some(0.25);
        let counted = CountedShares {
            halted,
            gaps: halted,
            in_clock: Some(0.25),
            ..CountedShares::default()
        };
        is(counted, [0.0; 4]);
        // A tenth of the time in short halts, and another one in long ones.
        let counted =
            CountedShares { halted: Some(0.2), in_clock: Some(0.1), ..CountedShares::default() };
        is(counted, [0.0, 0.1 / 0.9, 0.0, 0.0]);
    }

    /// Nothing is left to take shares of, and shares are no more than all.
    #[test]
    fn shares_of_lost_time_are_no_more_than_all_of_it() {
        let all = Some(1.0);
        is(CountedShares { gaps: all, in_clock: all, ..CountedShares::default() }, [0.0; 4]);
        // 1.5 of the time is 1; a quota stopped 0.25 of it, so that 0.75 are left.
        let counted =
            CountedShares { gaps: Some(1.5), quota: Some(0.25), ..CountedShares::default() };
        is(counted, [0.25, 0.0, 0.0, 0.75]);
    }
}
