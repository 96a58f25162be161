//! A caller waits so long and no longer: whatever happens, it has an answer by then.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fleet::gate::callers::Answer;
use rig::executor::Stop;

use crate::output;

/// So long before the end the run is asked to stop, and what it has is judged.
const STOP_BEFORE: Duration = Duration::from_millis(800);
/// So long before the end the answer is that there is none.
const END_BEFORE: Duration = Duration::from_millis(200);

/// The right to answer, which one has.
pub(super) struct Deadline(Arc<AtomicBool>);

impl Deadline {
    /// From now on, somebody answers by then: `late`, if nobody else has.
    pub(super) fn at(ends: Instant, stop: Stop, late: Answer) -> Deadline {
        let is_answered = Arc::new(AtomicBool::new(false));
        let deadline = Deadline(Arc::clone(&is_answered));
        let sleep_until = move |before: Duration| {
            let until = ends.checked_sub(before).unwrap_or(ends);
            thread::sleep(until.saturating_duration_since(Instant::now()));
        };
        // Without a thread the run has its budget all the same.
        let watching = thread::Builder::new().name("deadline".to_owned()).spawn(move || {
            sleep_until(STOP_BEFORE);
            stop.ask();
            sleep_until(END_BEFORE);
            if !is_answered.swap(true, Ordering::SeqCst) {
                // Nobody hears a second failure.
                drop(output::data(&(late.text + "\n")));
                process::exit(late.code.into());
            }
        });
        drop(watching);
        deadline
    }

    /// Takes the right to answer. Where it is gone, the process ends before this returns.
    pub(super) fn met(&self) {
        if self.0.swap(true, Ordering::SeqCst) {
            loop {
                thread::park();
            }
        }
    }
}
