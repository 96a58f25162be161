//! Exit latencies of idle states, as the kernel's table has them, beside wake-ups that ended them.

use model::record::Record;

use super::shown::idle::{State, staircases};
use super::shown::microseconds;
use crate::claim::{Claim, Verdict};

/// A claim for each state that wake-ups ended.
pub(super) fn claims(record: &Record) -> Vec<Claim> {
    let stairs = staircases(record);
    let usual = stairs.iter().find(|stairs| stairs.limit.is_none());
    usual.into_iter().flat_map(|stairs| &stairs.states).filter_map(claim).collect()
}

fn claim(state: &State<'_>) -> Option<Claim> {
    /// Tables state the worst case, rounded, and a wake-up has its own jitter.
    const OFF_MAX: f64 = 0.5;
    /// Less cannot be told from the way of the signal.
    const JITTER_SECONDS: f64 = 2e-6;
    let (said, beyond) = (state.table?.latency_seconds?, state.beyond?);
    let off = beyond - said;
    let verdict = if beyond <= 0.0 {
        Verdict::CannotTell("it is the lightest sleep that was seen".to_owned())
    } else if off.abs() <= (OFF_MAX * said).max(JITTER_SECONDS) {
        Verdict::AsClaimed
    } else {
        let word = if off > 0.0 { "longer" } else { "shorter" };
        Verdict::Differs(format!("{} us {word}", microseconds(off.abs())))
    };
    Some(Claim {
        what: format!("exit from {}", state.name),
        claimed: format!("{} us", microseconds(said)),
        by: "kernel (cpuidle)".to_owned(),
        measured: format!("{} us beyond lightest sleep", microseconds(beyond)),
        verdict,
        finding: None,
        short: None,
        cause: None,
        command: "cpudyno wake idle",
    })
}

#[cfg(test)]
mod tests {
    use super::super::shown::idle::tests::record;
    use super::*;

    #[test]
    fn an_exit_is_as_claimed_within_half_of_the_table_or_two_microseconds() {
        use Verdict::{AsClaimed, CannotTell, Differs};
        // The lightest sleep takes 5 us.
        let of = |c1: f64, c6: f64| {
            let record = record(&[("10", 5.0, 1.0)], [c1, c6]);
            claims(&record).into_iter().map(|claim| claim.verdict).collect::<Vec<_>>()
        };
        let differs = |words: &str| Differs(words.to_owned());
        // 2 us are claimed of C1, 100 us of C6: 3.9 and 149 beyond it are near enough.
        assert_eq!(of(8.9, 154.0), [AsClaimed, AsClaimed]);
        assert_eq!(of(9.5, 156.0), [differs("2.50 us longer"), differs("51.0 us longer")]);
        assert_eq!(of(5.1, 56.0), [AsClaimed, AsClaimed]);
        assert_eq!(of(5.1, 54.0)[1], differs("51.0 us shorter"));
        assert!(matches!(of(5.0, 154.0)[0], CannotTell(_)));
    }
}
