//! How a remedy names the time that a run would need.

/// The longest that a run may be given, in seconds.
pub const BUDGET_MAX: f64 = 3600.0;

/// What stands before the seconds of a remedy.
const MORE_TIME: &str = "give it more time: --budget ";

/// The remedy of what would fit into a run of so many seconds.
pub fn more_time(seconds: f64) -> String {
    format!("{MORE_TIME}{:.0}s", seconds.ceil().max(1.0))
}

/// The seconds that such a remedy names.
pub fn seconds_in(remedy: &str) -> Option<f64> {
    let seconds = remedy.strip_prefix(MORE_TIME)?.split('s').next()?;
    seconds.parse().ok()
}
