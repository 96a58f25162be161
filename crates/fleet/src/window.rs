//! Which runs count: from when, until when, and where the time before begins.
//!
//! Times are texts as records have them (RFC 3339, UTC), which are in the order of times.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// Clocks of machines may differ by so much.
const AHEAD_MAX: Duration = Duration::from_hours(24);

/// The runs that count.
#[derive(Debug, Clone)]
pub struct RunWindow {
    first: Option<String>,
    last: String,
    since: Option<String>,
    until: Option<BTreeMap<String, String>>,
}

impl RunWindow {
    /// All runs until now; where there is an age, none that are older.
    pub fn until_now(age_max: Option<Duration>) -> RunWindow {
        let now = SystemTime::now();
        let told = |time| humantime::format_rfc3339_seconds(time).to_string();
        let first = age_max.and_then(|age| now.checked_sub(age)).map(told);
        RunWindow { first, last: told(now + AHEAD_MAX), since: None, until: None }
    }

    /// The same, and what began before this time (its beginning is enough: `2026-11`) is another one than now.
    #[must_use]
    pub fn since(self, time: Option<String>) -> RunWindow {
        RunWindow { since: time, ..self }
    }

    /// Of machines that have a run that began then only what began before it.
    #[must_use]
    pub fn before(self, runs: BTreeMap<String, String>) -> RunWindow {
        RunWindow { until: Some(runs), ..self }
    }

    /// Why a run of a machine is no good.
    pub fn refused(
        &self,
        host: &str,
        started: &str,
        interrupted: Option<&str>,
    ) -> Option<&'static str> {
        let until = self.until.as_ref().and_then(|until| until.get(host));
        let is_old = |first: &String| started < first.as_str() && !self.is_before(started);
        if interrupted.is_some() {
            Some("its run was interrupted")
        } else if started > &*self.last {
            Some("it begins more than a day after now: its machine's clock is wrong")
        } else if self.first.as_ref().is_some_and(is_old) {
            Some("it is older than --max-age")
        } else if until.is_some_and(|until| started >= until.as_str()) {
            Some("it did not begin before the run of now")
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
        assert_eq!(window.refused("n1", "1970-01-01T00:00:00Z", None), None);
        assert!(window.refused("n1", "1970-01-01T00:00:00Z", Some("SIGINT")).is_some());
        assert!(window.refused("n1", "2999-01-01T00:00:00Z", None).is_some());
        let window = RunWindow::until_now(Some(Duration::from_mins(1)));
        assert!(window.refused("n1", "2026-01-01T00:00:00Z", None).is_some());
        let soon = SystemTime::now() + Duration::from_hours(1);
        assert_eq!(window.refused("n1", &humantime::format_rfc3339(soon).to_string(), None), None);
    }

    #[test]
    fn a_date_parts_what_was_before() {
        let window = RunWindow::until_now(None).since(Some("2026-11-02".to_owned()));
        assert!(window.is_before("2026-11-01T23:59:59Z"));
        assert!(!window.is_before("2026-11-02T00:00:00Z"));
        assert!(!RunWindow::until_now(None).is_before("1970-01-01T00:00:00Z"));
        // Its age is that of another time.
        let window = RunWindow::until_now(Some(Duration::from_mins(1)));
        let window = window.since(Some("2026-11-02".to_owned()));
        assert_eq!(window.refused("n1", "2026-11-01T00:00:00Z", None), None);
    }

    #[test]
    fn what_is_before_began_before_the_run_of_now() {
        let now = [("n1".to_owned(), "2026-11-02T00:00:00Z".to_owned())];
        let window = RunWindow::until_now(None).before(now.into());
        assert_eq!(window.refused("n1", "2026-11-01T00:00:00Z", None), None);
        assert!(window.refused("n1", "2026-11-02T00:00:00Z", None).is_some());
        assert_eq!(window.refused("n2", "2026-11-02T00:00:00Z", None), None);
    }
}
