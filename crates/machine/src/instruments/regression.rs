//! The rate of a stamp clock against `CLOCK_MONOTONIC_RAW`.

use std::time::Duration;

use model::stats::median;
use sys::clock::Probe;

/// What the windows said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Regression {
    /// Median of the windows' slopes, in hertz.
    pub(super) hertz: f64,
    /// Largest minus smallest slope, in parts per million of the median.
    pub(super) spread_ppm: f64,
}

/// Windows: enough for a median that survives one interrupted end.
pub(super) const WINDOWS: usize = 3;

/// Length of a window. Ends are known to about 100 ns, so a window is good for about 10 ppm.
pub(super) const WINDOW: Duration = Duration::from_millis(20);

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy)]
struct Moment {
    ticks: u64,
    time: Duration,
}

/// Reads both clocks several times and keeps the tightest pair.
fn moment<P: Probe>(probe: P) -> Moment {
    const ATTEMPTS: usize = 32;
    let attempt = |_| {
        let before = probe.stamp();
        let time = sys::clock::monotonic_raw();
        let width = probe.stamp().saturating_sub(before);
        (width, Moment { ticks: before + width / 2, time })
    };
    let tightest = (0..ATTEMPTS).map(attempt).min_by_key(|(width, _)| *width);
    tightest.map(|(_, moment)| moment).expect("BUG: no attempt was made")
}

/// Sleeps through the windows and takes the median of their slopes; `None` when a clock stands
/// still.
pub(super) fn regress<P: Probe>(probe: P) -> Option<Regression> {
    let moments: [Moment; WINDOWS + 1] = std::array::from_fn(|i| {
        if i > 0 {
            std::thread::sleep(WINDOW);
        }
        moment(probe)
    });
    let slope = |pair: &[Moment]| {
        let ticks = pair[1].ticks.saturating_sub(pair[0].ticks);
        ticks as f64 / pair[1].time.saturating_sub(pair[0].time).as_secs_f64()
    };
    of_slopes(&moments.windows(2).map(slope).collect::<Vec<_>>())
}

fn of_slopes(slopes: &[f64]) -> Option<Regression> {
    let hertz = median(slopes).filter(|hertz| hertz.is_finite() && *hertz > 0.0)?;
    let low = slopes.iter().copied().fold(f64::INFINITY, f64::min);
    let high = slopes.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(Regression { hertz, spread_ppm: (high - low) / hertz * 1e6 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_window_shows_in_the_spread_and_not_in_the_rate() {
        let regression = of_slopes(&[1e9, 1e9, 1.001e9]).unwrap();
        assert!((regression.hertz - 1e9).abs() < 1.0);
        assert!((regression.spread_ppm - 1000.0).abs() < 0.1);
    }

    #[test]
    fn clocks_that_stand_still_have_no_rate() {
        assert_eq!(of_slopes(&[0.0, 0.0, 0.0]), None);
        assert_eq!(of_slopes(&[f64::NAN; 3]), None);
    }
}
