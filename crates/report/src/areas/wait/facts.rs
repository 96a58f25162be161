//! The numbers of other areas that advice rests on, read from the record.

use std::collections::BTreeMap;

use model::record::{Record, Series};
use model::stats;

/// Seconds that one PAUSE takes; the middle over CPUs.
pub(super) fn pause(record: &Record) -> Option<f64> {
    let of = record.series_of("pause", "time_per_op").filter(|s| s.workload == "pause_only");
    middle(of.filter_map(median))
}

/// Seconds that a contended line takes from core to core; the middle over pairs.
pub(super) fn line(record: &Record) -> Option<f64> {
    let of = record.series_of("cores", "latency").filter(|s| s.workload == "cas");
    middle(of.filter_map(median))
}

/// Seconds from a futex signal until the other core's thread goes on: the median time per signal, as the
/// area tells it; and the 99th percentile of round trips, of which nobody knows in which half they were late.
pub(super) fn wake_up(record: &Record) -> Option<(f64, f64)> {
    let elsewhere = |series: &&Series| {
        series.workload == "futex"
            && parameter(series, "question") == Some("signals")
            && series.active.len() == 2
    };
    let series = largest(record.series_of("wake", "round_trip").filter(elsewhere))?;
    let per_signal = largest(record.series_of("wake", "time_per_signal").filter(elsewhere))?;
    let samples = series.samples()?.all();
    Some((median(per_signal)?, stats::quantile(&samples, 0.99)?))
}

/// A wake-up after a rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RestWakeUp {
    pub(super) rest_seconds: f64,
    pub(super) median: f64,
    /// The interval of the median, where there were blocks enough.
    pub(super) between: Option<[f64; 2]>,
    pub(super) p99: f64,
}

/// Wake-ups by the rest before them, ascending; of one CPU, with all idle states.
pub(super) fn steps(record: &Record) -> Vec<RestWakeUp> {
    let rested = |series: &&Series| {
        parameter(series, "question") == Some("idle")
            && parameter(series, "limit_us").is_none()
            && parameter(series, "state").is_none()
    };
    let mut by_rest: BTreeMap<u64, Vec<&Series>> = BTreeMap::new();
    for series in record.series_of("wake", "round_trip").filter(rested) {
        if let Some(rest_us) = parameter(series, "rest_us").and_then(|rest| rest.parse().ok()) {
            by_rest.entry(rest_us).or_default().push(series);
        }
    }
    let step = |(rest_us, of_rest): (u64, Vec<&Series>)| {
        let series = largest(of_rest.into_iter())?;
        let samples = series.samples()?.all();
        let (median, p99) = (stats::median(&samples)?, stats::quantile(&samples, 0.99)?);
        let between = series.summary()?.between_blocks;
        Some(RestWakeUp { rest_seconds: rest_us as f64 * 1e-6, median, between, p99 })
    };
    by_rest.into_iter().filter_map(step).collect()
}

/// A runtime with a setting, on the most threads.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Team {
    pub(super) setting: String,
    /// Seconds per region of the loop.
    pub(super) region: f64,
    /// Cores kept busy right after it, where that was measured.
    pub(super) busy_after: Option<f64>,
}

/// The teams of these runtimes whose setting begins so, in the order of the record.
pub(super) fn teams(record: &Record, runtimes: &[&str], prefix: &str) -> Vec<Team> {
    let of = |quantity: &'static str| {
        record
            .series_of("openmp", quantity)
            .filter(|series| runtimes.contains(&series.workload.as_str()))
            .filter(|s| parameter(s, "setting").is_some_and(|setting| setting.starts_with(prefix)))
    };
    let most = of("loop_time").map(|series| series.active.len()).max();
    let widest = |series: &&Series| Some(series.active.len()) == most;
    let team = |series: &Series| {
        let same = |other: &&Series| {
            (&other.workload, &other.parameters, &other.active)
                == (&series.workload, &series.parameters, &series.active)
        };
        Some(Team {
            setting: parameter(series, "setting")?.to_owned(),
            region: median(series)?,
            busy_after: of("rest_busy").find(same).and_then(median),
        })
    };
    of("loop_time").filter(widest).filter_map(team).collect()
}

fn parameter<'a>(series: &'a Series, name: &str) -> Option<&'a str> {
    series.parameters.get(name).map(String::as_str)
}

fn median(series: &Series) -> Option<f64> {
    Some(series.summary()?.median)
}

fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    stats::median(&values.collect::<Vec<_>>())
}

/// Classes of placement are never pooled: of several, the one with the most samples.
fn largest<'a>(series: impl Iterator<Item = &'a Series>) -> Option<&'a Series> {
    series.filter(|s| s.summary().is_some()).max_by_key(|s| s.summary().map_or(0, |s| s.count))
}

#[cfg(test)]
mod tests {
    use model::record::{Disturbance, Outcome, Samples};
    use model::{CpuId, Unit};

    use super::*;
    use crate::testing::{blank, described, near, series};

    fn rested(rest_us: u32, class: &str, blocks: &[f64]) -> Series {
        let samples = Samples::Plain(blocks.iter().map(|block| vec![*block]).collect());
        let summary = samples.summary().unwrap();
        let parameters = [("question", "idle".to_owned()), ("rest_us", rest_us.to_string())];
        Series {
            area: "wake".to_owned(),
            workload: "futex".to_owned(),
            quantity: "round_trip".to_owned(),
            unit: Unit::Second,
            parameters: parameters.map(|(key, value)| (key.to_owned(), value)).into(),
            cpu: CpuId(0),
            active: "0-1".parse().unwrap(),
            placement_class: Some(class.to_owned()),
            outcome: Outcome::Measured { samples, summary },
            fixed_cost: None,
            disturbance: Disturbance::default(),
        }
    }

    /// The host moved the CPUs in one block: its number is nobody's step.
    #[test]
    fn a_step_is_of_the_class_with_most_samples() {
        let mut record = described("sim:1c");
        let usual = [5e-6, 5.1e-6, 5.2e-6, 5.3e-6, 5.4e-6];
        record.series = vec![
            rested(1000, "apart", &usual.map(|it| it * 10.0)),
            rested(10, "apart", &[9e-3]),
            rested(10, "same core", &usual),
        ];
        let steps = steps(&record);
        assert_eq!(steps.len(), 2);
        assert_eq!((steps[0].rest_seconds, steps[0].median), (10.0 * 1e-6, 5.2e-6));
        assert_eq!(steps[0].between, Some([5e-6, 5.4e-6]));
        assert!(steps[1].rest_seconds > steps[0].rest_seconds);
    }

    #[test]
    fn a_pause_and_a_line_are_the_middle_ones_and_a_wake_up_is_to_another_core() {
        let mut record = blank();
        let signals = [("question", "signals")];
        for (cpus, ns) in [("0-1", 50.0), ("0,2", 90.0), ("1-2", 70.0)] {
            record.series.push(series(["cores", "cas", "latency"], cpus, &[], &[&[ns * 1e-9]]));
            record.series.push(series(["cores", "one_way", "latency"], cpus, &[], &[&[9.0]]));
        }
        for (cpu, ns) in [("0", 40.0), ("1", 10.0)] {
            record.series.push(series(
                ["pause", "pause_only", "time_per_op"],
                cpu,
                &[],
                &[&[ns * 1e-9]],
            ));
        }
        let trips: Vec<f64> = (0..=100).map(|us| f64::from(us) * 1e-6).collect();
        for (quantity, active, samples) in [
            ("round_trip", "0", &[9.0; 200][..]),
            ("time_per_signal", "0", &[9.0; 3]),
            ("round_trip", "0-1", &trips),
            ("time_per_signal", "0-1", &[24e-6, 26e-6]),
        ] {
            record.series.push(series(["wake", "futex", quantity], active, &signals, &[samples]));
        }
        // 50, 70, 90; between 10 and 40; between 24 and 26, and the 99th of 0 to 100.
        near(line(&record).unwrap(), 70e-9);
        near(pause(&record).unwrap(), 25e-9);
        let (median, p99) = wake_up(&record).unwrap();
        near(median, 25e-6);
        near(p99, 99e-6);
    }

    #[test]
    fn teams_of_a_setting_are_those_on_most_cpus_with_what_stays_busy() {
        let mut record = blank();
        for (quantity, active, setting, value) in [
            ("loop_time", "0-1", "KMP_BLOCKTIME=0", 1e-6),
            ("loop_time", "0-3", "KMP_BLOCKTIME=0", 9e-6),
            ("loop_time", "0-3", "KMP_BLOCKTIME=1", 4e-6),
            ("loop_time", "0-3", "default", 3e-6),
            ("rest_busy", "0-1", "KMP_BLOCKTIME=1", 0.9),
            ("rest_busy", "0-3", "KMP_BLOCKTIME=1", 0.2),
        ] {
            let of = ["openmp", "libomp", quantity];
            let parameters = [("setting", setting)];
            record.series.push(series(of, active, &parameters, &[&[value]]));
        }
        let team = |setting: &str, region, busy_after| Team {
            setting: setting.to_owned(),
            region,
            busy_after,
        };
        let expected =
            [team("KMP_BLOCKTIME=0", 9e-6, None), team("KMP_BLOCKTIME=1", 4e-6, Some(0.2))];
        assert_eq!(teams(&record, &["libomp"], "KMP_BLOCKTIME="), expected);
        assert_eq!(teams(&record, &["libgomp"], "KMP_BLOCKTIME="), []);
    }
}
