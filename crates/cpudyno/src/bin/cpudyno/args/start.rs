//! When a measurement begins, of commands that load the machine.

use std::time::Duration;

use clap::Args;

use super::BadValue;
use super::common::time;

/// When to begin.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct StartArgs {
    /// Wait at most so long for another cpudyno that measures here (1s to 24h).
    ///
    /// By default it is refused. CPUDYNO_LOCK=FILE names another lock, for containers that share a folder;
    /// CPUDYNO_LOCK=off takes none.
    #[arg(long, global = true, value_parser = patience, value_name = "TIME")]
    pub(crate) wait_lock: Option<Duration>,

    /// Begin at a moment within this time, chosen by the name of the host (1s to 24h).
    ///
    /// Thousands of hosts then do not begin, and write, in the same second. Each has always the same moment.
    #[arg(long, global = true, value_parser = spread, value_name = "TIME")]
    pub(crate) stagger: Option<Duration>,

    /// Begin at this time: 14:30, 14:30:05 (UTC), or 2026-01-31T14:30:00Z.
    ///
    /// An hour without a day is the nearest one. What has passed is refused.
    #[arg(long, global = true, value_parser = moment, value_name = "TIME")]
    pub(crate) at: Option<StartTime>,
}

/// A time to begin at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum StartTime {
    /// Seconds since 1970, in UTC.
    Moment(f64),
    /// Seconds since midnight, in UTC.
    OfDay(f64),
}

impl StartArgs {
    /// Whether it may begin later.
    pub(crate) fn waits(&self) -> bool {
        self.wait_lock.is_some() || self.stagger.is_some() || self.at.is_some()
    }
}

const DAY: f64 = 86_400.0;

impl StartTime {
    /// The seconds from that moment, in seconds since 1970, until then; negative where it has passed. An hour
    /// is that of yesterday, today or tomorrow that is nearest.
    pub(crate) fn from(self, now: f64) -> f64 {
        match self {
            StartTime::Moment(moment) => moment - now,
            StartTime::OfDay(of_day) => (of_day - now + DAY / 2.0).rem_euclid(DAY) - DAY / 2.0,
        }
    }
}

fn patience(text: &str) -> Result<Duration, BadValue> {
    of(text, "give it a number with a unit: --wait-lock 60s")
}

fn spread(text: &str) -> Result<Duration, BadValue> {
    of(text, "give it a number with a unit: --stagger 60s")
}

fn of(text: &str, hint: &str) -> Result<Duration, BadValue> {
    time(text, 24, hint).map(|seconds| Duration::from_secs_f64(seconds.0))
}

fn moment(text: &str) -> Result<StartTime, BadValue> {
    let read = of_day(text).map(StartTime::OfDay);
    read.or_else(|| of_rfc3339(text).map(StartTime::Moment)).ok_or_else(|| {
        let hint = "times are UTC: --at 14:30, --at 14:30:05 or --at 2026-01-31T14:30:00Z";
        BadValue::new("expected a time of day, or a day and a time as RFC 3339 has it", hint)
    })
}

/// `14:30` or `14:30:05.5`, in seconds.
fn of_day(text: &str) -> Option<f64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b":.".contains(&byte));
    let (hours, rest) = text.split_once(':').filter(|_| is_plain)?;
    let (minutes, seconds) = rest.split_once(':').unwrap_or((rest, "0"));
    let whole = |text: &str, end: u32| {
        text.parse::<u32>().ok().filter(|it| text.len() == 2 && *it < end).map(f64::from)
    };
    let seconds: f64 = seconds.parse().ok().filter(|it| (0.0..60.0).contains(it))?;
    Some(whole(hours, 24)? * 3600.0 + whole(minutes, 60)? * 60.0 + seconds)
}

/// `2026-01-31T14:30:00Z`, or with `+01:00` in place of `Z`, in seconds since 1970.
fn of_rfc3339(text: &str) -> Option<f64> {
    let (local, east) = match text.len().checked_sub(6).and_then(|at| text.split_at_checked(at)) {
        Some((local, zone)) if zone.starts_with(['+', '-']) && local.contains('T') => {
            let sign = if zone.starts_with('-') { -1.0 } else { 1.0 };
            (format!("{local}Z"), sign * of_day(&zone[1..])?)
        }
        _ => (text.to_owned(), 0.0),
    };
    let moment = humantime::parse_rfc3339(&local).ok()?;
    let since = moment.duration_since(std::time::SystemTime::UNIX_EPOCH).ok()?;
    // The last moment that can be told.
    Some(since.as_secs_f64() - east).filter(|it| *it < 253_402_300_800.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_and_of_rfc_3339_are_read_and_others_refused() {
        assert_eq!(moment("14:30"), Ok(StartTime::OfDay(52_200.0)));
        assert_eq!(moment("00:00:01.5"), Ok(StartTime::OfDay(1.5)));
        let time = StartTime::Moment(1_769_869_800.0);
        assert_eq!(moment("2026-01-31T14:30:00Z"), Ok(time));
        assert_eq!(moment("2026-01-31T15:30:00+01:00"), Ok(time));
        assert_eq!(moment("2026-01-31T09:00:00-05:30"), Ok(time));
        for bad in [
            "",
            "14",
            "24:00",
            "12:60",
            "12:00:60",
            "1:2:3",
            "-1:00",
            "+1:00",
            "12:00:1e1",
            "now",
            "2026-01-31",
            "2026-01-31T14:30:00",
            "2026-13-31T14:30:00Z",
            "14:30+01:00",
            "äöü12:00",
        ] {
            assert!(moment(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_hour_is_the_nearest_one() {
        let midnight = 20_000.0 * DAY;
        let until =
            |text: &str, now: f64| moment(text).unwrap().from(midnight + now).round() as i64;
        assert_eq!(until("14:30", 52_190.0), 10);
        assert_eq!(until("14:30", 52_205.0), -5);
        assert_eq!(until("00:10", 86_000.0), 1_000);
        assert_eq!(until("23:50", 600.0), -1_200);
    }
}
