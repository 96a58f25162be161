//! Whether everything stood still while threads worked: a machine that was suspended, a guest or a process that was
//! stopped.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use model::Seconds;
use sys::clock::boottime;

use super::together::ThreadsEnded;

/// How often whoever waits looks at the time: rarely enough to be no work.
const BEAT: Duration = Duration::from_millis(250);
/// Nobody who waits for a beat waits so much longer, unless nothing runs: on busy machines he waits some 0.1 s.
const STILL: Duration = Duration::from_secs(1);

/// For how long nothing ran, in microseconds.
#[derive(Default)]
pub(super) struct Pulse(AtomicU64);

impl Pulse {
    /// Waits until threads have ended, or for so long; whether they are late then. Of time in which nothing ran nobody
    /// is late.
    pub(super) fn is_late(&self, ended: &ThreadsEnded, limit: Option<Duration>) -> bool {
        let begun = Instant::now();
        let mut still = Duration::ZERO;
        loop {
            let waited = begun.elapsed().saturating_sub(still);
            let left = limit.map_or(BEAT, |limit| limit.saturating_sub(waited).min(BEAT));
            let at = Instant::now();
            // Of the clocks that nobody sets only this one goes on while the machine is suspended.
            let before = boottime();
            let is_waiting = matches!(ended.recv_timeout(left), Err(RecvTimeoutError::Timeout));
            let longer = boottime().saturating_sub(before).saturating_sub(left);
            if longer >= STILL {
                // The clock of limits may have stood still as well.
                still += at.elapsed().saturating_sub(left);
                self.0.fetch_add(longer.as_micros() as u64, Ordering::Relaxed);
            }
            if !is_waiting {
                return false;
            }
            if limit.is_some_and(|limit| begun.elapsed().saturating_sub(still) >= limit) {
                return true;
            }
        }
    }

    /// For how long nothing ran so far.
    pub(super) fn stood_still(&self) -> Seconds {
        Seconds(self.0.load(Ordering::Relaxed) as f64 / 1e6)
    }
}
