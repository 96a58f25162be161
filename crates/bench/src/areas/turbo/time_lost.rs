//! Time in which a core had work and did none. Several counters see the same moment: gaps in polling, MPERF, the
//! kernel's books of a quota, and the chain itself, which takes a halted cycle for a slow one. Each moment is lost
//! once, to the first that names it.

/// What counters say, as shares of time; none: nothing counts it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    /// In gaps in polling, whatever took the CPU.
    pub(super) gaps: Option<f64>,
    /// Halted, by MPERF.
    pub(super) halted: Option<f64>,
    /// Stopped by a quota.
    pub(super) quota: Option<f64>,
    /// How far the clock by the chain is below the one while not halted.
    pub(super) in_clock: Option<f64>,
}

/// To whom time was lost, as shares of what the clock by the chain has left.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Lost {
    pub(super) quota: f64,
    pub(super) halted: f64,
    pub(super) taken: f64,
}

impl Counted {
    /// Who took what. A core that a quota stops is halted, too, and nobody polls there: what all of them see
    /// is no more than what one of them sees.
    pub(super) fn lost(self) -> Lost {
        let share = |counted: Option<f64>| counted.unwrap_or(0.0).clamp(0.0, 1.0);
        let (gaps, halts, stopped) = (share(self.gaps), share(self.halted), share(self.quota));
        let is_measured = self.gaps.is_some() || self.halted.is_some();
        let all = if is_measured { gaps.max(halts) } else { stopped };
        let quota = stopped.min(all);
        let halted = (halts - quota).max(0.0);
        let mut parts = [halted, quota, all - quota - halted];
        let mut already = share(self.in_clock).min(all);
        let left = 1.0 - already;
        for part in &mut parts {
            let cut = part.min(already);
            *part -= cut;
            already -= cut;
        }
        let [halted, quota, taken] = parts.map(|part| if left > 0.0 { part / left } else { 0.0 });
        Lost { quota, halted, taken }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is(counted: Counted, [quota, halted, taken]: [f64; 3]) {
        let lost = counted.lost();
        let off = [lost.quota - quota, lost.halted - halted, lost.taken - taken];
        assert!(off.iter().all(|off| off.abs() < 1e-12), "{counted:?}: {lost:?}");
    }

    /// A quota of a half: polling finds it, MPERF stands still meanwhile, and the kernel counts it.
    #[test]
    fn a_quota_that_three_counters_see_is_lost_once() {
        let seen = Some(0.5);
        is(Counted { gaps: seen, halted: seen, quota: seen, in_clock: None }, [0.5, 0.0, 0.0]);
        is(Counted { quota: seen, ..Counted::default() }, [0.5, 0.0, 0.0]);
    }

    #[test]
    fn each_takes_what_nobody_before_it_names() {
        let counted =
            Counted { gaps: Some(0.3), halted: Some(0.2), quota: Some(0.05), in_clock: None };
        is(counted, [0.05, 0.15, 0.1]);
        // The quota stopped others of the group, or while other cells were measured.
        is(Counted { gaps: Some(0.01), quota: Some(0.4), ..Counted::default() }, [0.01, 0.0, 0.0]);
        is(Counted { gaps: Some(0.02), ..Counted::default() }, [0.0, 0.0, 0.02]);
        is(Counted::default(), [0.0; 3]);
    }

    /// A duty cycle of three quarters whose halts are shorter than a look: the chain reads 75 % of the clock.
    #[test]
    fn halts_that_the_clock_has_lost_already_are_not_lost_again() {
        let halted = Some(0.25);
        is(Counted { halted, gaps: halted, quota: None, in_clock: Some(0.25) }, [0.0; 3]);
        // A tenth of the time in short halts, and another one in long ones.
        let counted = Counted { halted: Some(0.2), in_clock: Some(0.1), ..Counted::default() };
        is(counted, [0.0, 0.1 / 0.9, 0.0]);
    }
}
