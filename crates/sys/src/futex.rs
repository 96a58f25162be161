//! Words that threads sleep on (futex(2)).

use std::io;
use std::ptr;
use std::sync::atomic::AtomicU32;

/// Sleeps until somebody wakes, unless the word holds something else than `expected` already.
///
/// It also returns when it was woken for no reason, and when a signal came: look at the word again.
#[inline(always)]
pub fn wait(word: &AtomicU32, expected: u32) -> io::Result<()> {
    const OPERATION: libc::c_int = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    let no_limit = ptr::null::<libc::timespec>();
    // SAFETY: the word lives as long as the borrow; the kernel only reads it.
    let done =
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), OPERATION, expected, no_limit) };
    if done == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => Ok(()),
        error => Err(error),
    }
}

/// Wakes one thread that sleeps on the word, where one does.
#[inline(always)]
pub fn wake(word: &AtomicU32) -> io::Result<()> {
    wake_at_most(word, 1)
}

/// Wakes everybody who sleeps on the word.
pub fn wake_all(word: &AtomicU32) -> io::Result<()> {
    wake_at_most(word, libc::c_int::MAX)
}

#[inline(always)]
fn wake_at_most(word: &AtomicU32, count: libc::c_int) -> io::Result<()> {
    const OPERATION: libc::c_int = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word lives as long as the borrow; the kernel takes its address as a name.
    let done = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), OPERATION, count) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn who_sleeps_is_woken() {
        for wake in [wake, wake_all] {
            let word = AtomicU32::new(0);
            std::thread::scope(|scope| {
                let sleeper = scope.spawn(|| {
                    while word.load(Ordering::Acquire) == 0 {
                        wait(&word, 0).unwrap();
                    }
                });
                word.store(1, Ordering::Release);
                wake(&word).unwrap();
                sleeper.join().unwrap();
            });
            // A word that holds something else is not slept on.
            wait(&word, 0).unwrap();
        }
    }
}
