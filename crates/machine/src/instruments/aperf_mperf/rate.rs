//! How fast MPERF counts: measured, not assumed. Pure.

use model::record::{CalibratedRate, RateSource};
use model::{Finding, Hertz, Known, Obstacle, Reading, Seconds, Unavailable};

/// The rate of MPERF, and what is to be said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct MperfRate {
    /// The rate that core clocks are computed from, and the one of the other source.
    pub rate: CalibratedRate,
    /// Said where it is not the TSC's.
    pub finding: Option<Finding>,
}

/// Nearer to the TSC, it is the TSC's rate, which is known better than any window can say.
const LIKE_THE_TSC: f64 = 0.005;

/// So near must two windows be, for one alone may have been cut by an interrupt.
const AGREEMENT: f64 = 0.005;

/// No counter of a CPU's clock is slower or faster.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 1e7..=1e11;

/// The rate of MPERF from windows in which a CPU never halted: how far MPERF moved, and how long
/// that took by the stamp clock. A halt or a host that takes the CPU away makes a window slow, and
/// nothing makes one fast: the greatest is nearest to the truth.
///
/// `tsc`: the rate of the TSC, where stamps are the TSC.
///
/// # Error
/// Where the two greatest windows do not agree within 0.5 %, or say what is no rate of a counter.
pub fn calibrate_mperf(windows: &[(u64, Seconds)], tsc: Option<Hertz>) -> Reading<MperfRate> {
    let rates = windows.iter().map(|(mperf, seconds)| *mperf as f64 / seconds.0);
    let mut rates: Vec<f64> = rates.filter(|rate| rate.is_finite() && *rate > 0.0).collect();
    rates.sort_by(|a, b| b.total_cmp(a));
    let [greatest, second, ..] = rates[..] else {
        return Err(unknown(format!(
            "MPERF moved in {} of {} windows; two are needed",
            rates.len(),
            windows.len()
        )));
    };
    if second < greatest * (1.0 - AGREEMENT) {
        return Err(unknown(format!(
            "the two fastest of {} windows say {:.1} and {:.1} MHz",
            windows.len(),
            greatest / 1e6,
            second / 1e6
        )));
    }
    if !PLAUSIBLE.contains(&greatest) {
        let why = format!("MPERF moved {greatest:.3e} times a second, which is no CPU's clock");
        return Err(unknown(why));
    }
    Ok(chosen(greatest, windows.len(), tsc))
}

fn chosen(measured: f64, windows: usize, tsc: Option<Hertz>) -> MperfRate {
    let near = tsc.filter(|tsc| (measured / tsc.0 - 1.0).abs() <= LIKE_THE_TSC);
    let hertz = near.unwrap_or(Hertz(measured));
    let row = |source: String, says: f64, independent| RateSource {
        source,
        hertz: Known::Yes(says),
        disagreement_ppm: Some((says / hertz.0 - 1.0) * 1e6),
        independent,
    };
    let by_windows = format!("MPERF over the stamp clock, greatest of {windows} windows");
    let by_tsc = "rate of the TSC";
    let name = if near.is_some() { by_tsc } else { &by_windows };
    let mut sources = vec![row(by_windows.clone(), measured, true)];
    sources.extend(tsc.map(|tsc| row(by_tsc.into(), tsc.0, true)));
    MperfRate {
        rate: CalibratedRate { hertz, chosen: name.to_owned(), sources },
        finding: tsc.filter(|_| near.is_none()).map(|tsc| own_rate(measured, tsc.0)),
    }
}

fn own_rate(measured: f64, tsc: f64) -> Finding {
    Finding::note(
        "clock.mperf-rate",
        "aperf_mperf",
        format!(
            "MPERF counts at {:.1} MHz, the TSC at {:.1} MHz ({:+.1} %): core clocks by \
             APERF/MPERF were computed with MPERF's own rate",
            measured / 1e6,
            tsc / 1e6,
            (measured / tsc - 1.0) * 100.0
        ),
    )
}

fn unknown(why: String) -> Unavailable {
    Unavailable::new(Obstacle::Measurement, "rate of MPERF", why)
        .with_remedy("measure when nothing else runs on this CPU")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TSC: Hertz = Hertz(2e9);

    /// 10 ms windows of so many hertz.
    fn of(rates: &[f64]) -> Reading<MperfRate> {
        let windows: Vec<(u64, Seconds)> =
            rates.iter().map(|rate| ((rate * 0.01) as u64, Seconds(0.01))).collect();
        calibrate_mperf(&windows, Some(TSC))
    }

    #[test]
    fn near_the_tsc_it_is_the_tsc_and_halts_do_not_matter() {
        for rates in [&[1.999e9, 1.2e9, 1.9995e9, 0.1e9][..], &[2.009e9, 2.008e9]] {
            let MperfRate { rate, finding } = of(rates).unwrap();
            assert_eq!((rate.hertz, finding), (TSC, None), "{rates:?}");
            assert_eq!(rate.chosen, "rate of the TSC");
            assert_eq!(rate.sources.len(), 2);
        }
    }

    #[test]
    fn another_rate_is_used_and_said() {
        let MperfRate { rate, finding } = of(&[1.6e9, 1.5999e9, 0.3e9]).unwrap();
        assert_eq!(rate.hertz, Hertz(1.6e9));
        assert!(rate.chosen.starts_with("MPERF over the stamp clock, greatest of 3"));
        assert!(finding.unwrap().text.contains("1600.0 MHz, the TSC at 2000.0 MHz (-20.0 %)"));
        assert!((rate.sources[1].disagreement_ppm.unwrap() - 250_000.0).abs() < 1.0);
    }

    #[test]
    fn without_a_tsc_there_is_nothing_to_compare_with() {
        let window = (20_000_000, Seconds(0.01));
        let found = calibrate_mperf(&[window, window], None).unwrap();
        assert_eq!((found.rate.hertz, found.finding), (TSC, None));
        assert_eq!(found.rate.sources.len(), 1);
    }

    #[test]
    fn what_does_not_agree_is_no_rate() {
        for (rates, why) in [
            (&[][..], "MPERF moved in 0 of 0 windows; two are needed"),
            (&[2e9], "MPERF moved in 1 of 1 windows"),
            (&[0.0, 0.0, 2e9], "MPERF moved in 1 of 3 windows"),
            (&[2e9, 1.98e9], "the two fastest of 2 windows say 2000.0 and 1980.0 MHz"),
            (&[1e6, 1e6], "1.000e6 times a second"),
        ] {
            let reason = of(rates).unwrap_err();
            assert!(reason.why.contains(why), "{rates:?}: {reason:?}");
        }
        let none = calibrate_mperf(&[(1, Seconds(0.0)), (1, Seconds(f64::NAN))], Some(TSC));
        assert!(none.unwrap_err().why.contains("0 of 2 windows"));
    }
}
