//! A caller waits so long and no longer: whatever happens, it has an answer by then.

use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fleet::gate::callers::Answer;
use rig::executor::Stop;

use crate::output;

/// So long before the end the run is asked to stop, and what it has is judged.
const STOP_BEFORE: Duration = Duration::from_millis(800);
/// So long before the end what is known is answered.
const END_BEFORE: Duration = Duration::from_millis(200);

/// The answer as it is known so far; nothing once it was given.
pub(super) struct Deadline(Arc<Mutex<Option<Answer>>>);

impl Deadline {
    /// From now on, somebody answers by then: `late`, if nothing better is known.
    pub(super) fn at(ends: Instant, stop: Stop, late: Answer) -> Deadline {
        let known = Arc::new(Mutex::new(Some(late)));
        let deadline = Deadline(Arc::clone(&known));
        let sleep_until = move |before: Duration| {
            let until = ends.checked_sub(before).unwrap_or(ends);
            thread::sleep(until.saturating_duration_since(Instant::now()));
        };
        // Without a thread the run has its budget all the same.
        let watching = thread::Builder::new().name("deadline".to_owned()).spawn(move || {
            sleep_until(STOP_BEFORE);
            stop.ask();
            sleep_until(END_BEFORE);
            let answer = locked(&known).take();
            if let Some(answer) = answer {
                // Nobody hears a second failure.
                drop(output::data(&(answer.text + "\n")));
                process::exit(answer.code.into());
            }
        });
        drop(watching);
        deadline
    }

    /// What is known from now on.
    pub(super) fn knows(&self, answer: Answer) {
        if let Some(known) = locked(&self.0).as_mut() {
            *known = answer;
        }
    }

    /// Takes the answer, to give it. Where it was given, the process ends before this returns.
    pub(super) fn met(&self) -> Answer {
        let answer = locked(&self.0).take();
        answer.unwrap_or_else(|| {
            loop {
                thread::park();
            }
        })
    }
}

fn locked(known: &Mutex<Option<Answer>>) -> MutexGuard<'_, Option<Answer>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}
