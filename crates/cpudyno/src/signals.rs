//! Ctrl-C and SIGTERM: the first asks the run to stop and write what it has, the second ends the
//! process at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bench::rig::executor::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::{Failure, code};

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
        for signal in [SIGINT, SIGTERM] {
            let registered =
                flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&flagged))
                    .and_then(|_| flag::register(signal, Arc::clone(&flagged)))
                    .and_then(|_| flag::register_usize(signal, Arc::clone(&came), signal as usize));
            registered.map_err(|error| {
                Failure::new(code::BUG, format!("cannot listen for signal {signal}: {error}"))
            })?;
        }
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
}
