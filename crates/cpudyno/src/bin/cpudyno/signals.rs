//! Signals that ask to stop: the first one asks the run to stop and write what it has. One that comes
//! later, and not with the first, ends the process at once, unless settings are held or being put back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rig::executor::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::{flag, iterator, low_level};

use crate::failure::{Failure, code};
use crate::output;

/// Signals that come closer together are one wish: `timeout` sends its own to the process and to its
/// group, and whoever presses Ctrl-C may do so twice.
const ONE_WISH: Duration = Duration::from_millis(500);

/// Ctrl-C, the end of the connection or of the terminal, Ctrl-\, and `kill`.
const ASKING: &[(i32, &str)] =
    &[(SIGINT, "SIGINT"), (SIGTERM, "SIGTERM"), (SIGHUP, "SIGHUP"), (SIGQUIT, "SIGQUIT")];

/// The signals that ask to stop, and which of them came.
pub(crate) struct Signals {
    stop: Stop,
    came: Arc<AtomicUsize>,
    /// By how many.
    deaf: Arc<AtomicUsize>,
}

impl Signals {
    /// Listens from now on.
    pub(crate) fn listen() -> Result<Signals, Failure> {
        let flagged = Arc::new(AtomicBool::new(false));
        let came = Arc::new(AtomicUsize::new(0));
        let deaf = Arc::new(AtomicUsize::new(0));
        let cannot = |error: std::io::Error| {
            Failure::new(code::BUG, format!("cannot listen for signals: {error}"))
        };
        // Who was started with nohup outlives the connection.
        let asking: Vec<i32> = ASKING
            .iter()
            .map(|&(signal, _)| signal)
            .filter(|&signal| signal != SIGHUP || !is_ignored(signal))
            .collect();
        for &signal in &asking {
            // The last one that came is the one that is told.
            let (first, came) = (Arc::clone(&flagged), Arc::clone(&came));
            flag::register_usize(signal, came, signal as usize)
                .and_then(|_| flag::register(signal, first))
                .map_err(cannot)?;
        }
        let signals = iterator::Signals::new(asking).map_err(cannot)?;
        let listener = Arc::clone(&deaf);
        // It sleeps until a signal comes, so that it disturbs no measurement.
        let thread = std::thread::Builder::new().name("signals".to_owned());
        thread.spawn(move || end_at_the_second(signals, &listener)).map_err(cannot)?;
        Ok(Signals { stop: Stop::from_flag(flagged), came, deaf })
    }

    /// What the run looks at.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// The signal that came, with its name.
    pub(crate) fn came(&self) -> Option<(i32, &'static str)> {
        let came = self.came.load(Ordering::Relaxed) as i32;
        ASKING.iter().copied().find(|&(signal, _)| signal == came)
    }

    /// No signal ends the process as long as the answer lives: what is being done must not be left
    /// half done.
    pub(crate) fn ignore(&self) -> Deaf {
        self.deaf.fetch_add(1, Ordering::Relaxed);
        Deaf(Arc::clone(&self.deaf))
    }

    /// A failure, with the code of the signal that led to it, if one did.
    pub(crate) fn of(&self, failure: Failure) -> Failure {
        match self.came() {
            Some((signal, _)) => Failure { code: 128 + signal as u8, ..failure },
            None => failure,
        }
    }
}

/// The time in which no signal ends the process.
pub(crate) struct Deaf(Arc<AtomicUsize>);

impl Drop for Deaf {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether whoever started this process had a signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

fn end_at_the_second(mut signals: iterator::Signals, deaf: &AtomicUsize) {
    let mut first = None;
    for signal in signals.forever() {
        let since_first = first.get_or_insert_with(Instant::now).elapsed();
        match answer(since_first, deaf.load(Ordering::Relaxed) > 0) {
            SignalResponse::Nothing => {}
            SignalResponse::Wait => {
                output::remark("settings are put back first; nothing ends that");
            }
            SignalResponse::End => low_level::exit(128 + signal),
        }
    }
}

/// What a signal brings about beside the wish to stop.
#[derive(Debug, PartialEq)]
enum SignalResponse {
    /// It belongs to the first one, or is it.
    Nothing,
    /// There is something that must not be left half done.
    Wait,
    /// The end.
    End,
}

fn answer(since_first: Duration, deaf: bool) -> SignalResponse {
    match since_first {
        _ if since_first < ONE_WISH => SignalResponse::Nothing,
        _ if deaf => SignalResponse::Wait,
        _ => SignalResponse::End,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_wish_ends_the_process_unless_settings_are_changed() {
        let (soon, late) = (Duration::from_millis(100), Duration::from_millis(600));
        assert_eq!(
            [answer(soon, false), answer(soon, true)],
            [SignalResponse::Nothing, SignalResponse::Nothing]
        );
        assert_eq!(
            [answer(late, false), answer(late, true)],
            [SignalResponse::End, SignalResponse::Wait]
        );
    }
}
