//! Which runs count: from when, until when, and where the time before begins.
//!
//! Times are texts as records have them (RFC 3339, UTC), which are in the order of times.

use std::time::{Duration, SystemTime};

/// Clocks of machines may differ by so much.
const AHEAD_MAX: Duration = Duration::from_hours(24);

/// The runs that count.
#[derive(Debug, Clone)]
pub struct RunWindow {
    first: Option<String>,
    last: String,
    since: Option<String>,
}

impl RunWindow {
    /// All runs until now; where there is an age, none that are older.
    pub fn until_now(age_max: Option<Duration>) -> RunWindow {
        let now = SystemTime::now();
        let told = |time| humantime::format_rfc3339_seconds(time).to_string();
        let first = age_max.and_then(|age| now.checked_sub(age)).map(told);
        RunWindow { first, last: told(now + AHEAD_MAX), since: None }
    }

    /// The same, and what began before this time (its beginning is enough: `2026-11`) is another one than now.
    #[must_use]
    pub fn since(self, time: Option<String>) -> RunWindow {
        RunWindow { since: time, ..self }
    }

    /// Why a run is no good.
    pub fn refused(&self, started: &str, interrupted: Option<&str>) -> Option<&'static str> {
        if interrupted.is_some() {
            Some("its run was interrupted")
        } else if started > &*self.last {
            Some("it begins more than a day after now: its machine's clock is wrong")
        } else if self.first.as_deref().is_some_and(|first| started < first) {
            Some("it is older than --max-age")
        } else {
            None
        }
    }

    /// Whether it began before the time since which changes are asked for.
    pub fn is_before(&self, started: &str) -> bool {
        self.since.as_deref().is_some_and(|since| started < since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_were_interrupted_or_begin_after_now_are_no_good() {
        let window = RunWindow::until_now(None);
        assert_eq!(window.refused("1970-01-01T00:00:00Z", None), None);
        assert!(window.refused("1970-01-01T00:00:00Z", Some("SIGINT")).is_some());
        assert!(window.refused("2999-01-01T00:00:00Z", None).is_some());
        let window = RunWindow::until_now(Some(Duration::from_mins(1)));
        assert!(window.refused("2026-01-01T00:00:00Z", None).is_some());
        let soon = SystemTime::now() + Duration::from_hours(1);
        assert_eq!(window.refused(&humantime::format_rfc3339(soon).to_string(), None), None);
    }

    #[test]
    fn a_date_parts_what_was_before() {
        let window = RunWindow::until_now(None).since(Some("2026-11-02".to_owned()));
        assert!(window.is_before("2026-11-01T23:59:59Z"));
        assert!(!window.is_before("2026-11-02T00:00:00Z"));
        assert!(!RunWindow::until_now(None).is_before("1970-01-01T00:00:00Z"));
    }
}
