//! How tests on the machine at hand wait for a quiet moment.

use std::fmt::Debug;
use std::time::{Duration, Instant};

/// What an attempt gives once the machine is quiet enough: noise spoils some attempts, and on a shared
/// machine all of them for a while.
#[track_caller]
pub(crate) fn patiently<T, E: Debug>(mut attempt: impl FnMut() -> Result<T, E>) -> T {
    const PATIENCE: Duration = Duration::from_mins(3);
    let begun = Instant::now();
    let mut pause = Duration::ZERO;
    loop {
        let spoilt = match attempt() {
            Ok(value) => return value,
            Err(spoilt) => spoilt,
        };
        assert!(begun.elapsed() < PATIENCE, "no quiet moment within {PATIENCE:?}: {spoilt:?}");
        std::thread::sleep(pause);
        pause = (pause + Duration::from_millis(50)).min(Duration::from_secs(2));
    }
}
