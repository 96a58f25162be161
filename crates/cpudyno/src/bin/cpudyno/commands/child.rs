//! Programs that are executed to be watched: waited for, with their codes passed on.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::mpsc;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGTERM};
use sys::process::ChildUsage;

use crate::failure::{Failure, code};

/// Waits for the command. What asks to stop is the command's business: it has got Ctrl-C itself, and the
/// rest is passed on.
pub(super) fn wait(child: &mut Child) -> io::Result<ExitStatus> {
    wait_and(child, Duration::MAX, || {})
}

/// The same, and does something every so often meanwhile.
pub(super) fn wait_and(
    child: &mut Child,
    every: Duration,
    meanwhile: impl FnMut(),
) -> io::Result<ExitStatus> {
    wait_used(child, every, meanwhile).map(|(status, _)| status)
}

/// The same, with what it and all that it waited for used.
pub(super) fn wait_used(
    child: &mut Child,
    every: Duration,
    mut meanwhile: impl FnMut(),
) -> io::Result<(ExitStatus, ChildUsage)> {
    use signal_hook::consts::{SIGINT, SIGQUIT};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP])?;
    let handle = signals.handle();
    let usage = std::thread::scope(|scope| {
        let waiting: &Child = child;
        scope.spawn(move || {
            for signal in signals.forever().filter(|signal| [SIGTERM, SIGHUP].contains(signal)) {
                // It may have ended meanwhile.
                drop(sys::process::signal(waiting, signal));
            }
        });
        let (send, receive) = mpsc::channel();
        scope.spawn(move || drop(send.send(sys::process::wait_until_ended(waiting))));
        let ended = loop {
            match receive.recv_timeout(every) {
                Ok(ended) => break ended,
                Err(mpsc::RecvTimeoutError::Timeout) => meanwhile(),
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    break Err(io::Error::other("nobody waits for it any more"));
                }
            }
        };
        handle.close();
        ended
    })?;
    Ok((child.wait()?, usage))
}

/// As shells, `env` and `timeout` say it.
pub(super) fn not_started(program: &str, command: &str, error: &io::Error) -> Failure {
    const NOT_FOUND: u8 = 127;
    const NOT_EXECUTABLE: u8 = 126;
    let code = match error.kind() {
        io::ErrorKind::NotFound => NOT_FOUND,
        io::ErrorKind::PermissionDenied => NOT_EXECUTABLE,
        _ => code::NOT_HERE,
    };
    let why = sys::errno::words(error);
    Failure::new(code, format!("cannot execute `{program}`: {why}"))
        .hint(format!("name a program and its arguments: cpudyno {command} -- make -j4"))
}

/// A command's own code; 128 and the number of the signal that ended it.
pub(super) fn code(status: ExitStatus) -> u8 {
    let by_signal = || 128 + status.signal().unwrap_or_default();
    status.code().unwrap_or_else(by_signal) as u8
}
