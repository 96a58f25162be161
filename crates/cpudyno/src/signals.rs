//! Ctrl-C and SIGTERM: the first asks the run to stop and write what it has. One that comes later, and
//! not with the first, ends the process at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bench::rig::executor::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, iterator, low_level};

use crate::failure::{Failure, code};

/// Signals that come closer together are one wish: `timeout` sends its own to the process and to its
/// group, and whoever presses Ctrl-C may do so twice.
const ONE_WISH: Duration = Duration::from_millis(500);

/// The signals that ask to stop, and which of them came.
pub(crate) struct Signals {
    stop: Stop,
    came: Arc<AtomicUsize>,
}

impl Signals {
    /// Listens from now on.
    pub(crate) fn listen() -> Result<Signals, Failure> {
        let flagged = Arc::new(AtomicBool::new(false));
        let came = Arc::new(AtomicUsize::new(0));
        let cannot = |error: std::io::Error| {
            Failure::new(code::BUG, format!("cannot listen for signals: {error}"))
        };
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&flagged))
                .and_then(|_| flag::register_usize(signal, Arc::clone(&came), signal as usize))
                .map_err(cannot)?;
        }
        let signals = iterator::Signals::new([SIGINT, SIGTERM]).map_err(cannot)?;
        // It sleeps until a signal comes, so that it disturbs no measurement.
        let thread = std::thread::Builder::new().name("signals".to_owned());
        thread.spawn(move || end_at_the_second(signals)).map_err(cannot)?;
        Ok(Signals { stop: Stop::from_flag(flagged), came })
    }

    /// What the run looks at.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// The signal that came, with its name.
    pub(crate) fn came(&self) -> Option<(i32, &'static str)> {
        match self.came.load(Ordering::Relaxed) as i32 {
            SIGINT => Some((SIGINT, "SIGINT")),
            SIGTERM => Some((SIGTERM, "SIGTERM")),
            _ => None,
        }
    }

    /// A failure, with the code of the signal that led to it, if one did.
    pub(crate) fn of(&self, failure: Failure) -> Failure {
        match self.came() {
            Some((signal, _)) => Failure { code: 128 + signal as u8, ..failure },
            None => failure,
        }
    }
}

fn end_at_the_second(mut signals: iterator::Signals) {
    let mut first = None;
    for signal in signals.forever() {
        if first.get_or_insert_with(Instant::now).elapsed() >= ONE_WISH {
            low_level::exit(128 + signal);
        }
    }
}
