//! Alarms at a time on `CLOCK_MONOTONIC`, and how exactly a thread asks for them.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

/// Lets alarms of the calling thread be late by this at most, for the kernel's convenience
/// (prctl(2), `PR_SET_TIMERSLACK`); usually it is 50 us. It ends with the thread.
pub fn set_slack(slack: Duration) -> io::Result<()> {
    let nanoseconds = slack.as_nanos() as libc::c_ulong;
    // SAFETY: takes no pointer.
    let done = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Now, on `CLOCK_MONOTONIC`.
#[inline(always)]
pub fn now() -> io::Result<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel (or the vDSO) writes one timespec, which lives on this stack.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32))
}

fn timespec(time: Duration) -> libc::timespec {
    libc::timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() }
}

/// Sleeps until then (clock_nanosleep(2), `TIMER_ABSTIME`), signals or not.
#[inline(always)]
pub fn sleep_until(time: Duration) -> io::Result<()> {
    let time = timespec(time);
    loop {
        // SAFETY: reads one timespec, which lives on this stack; with an absolute time nothing is
        // written back.
        let done = unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &raw const time,
                ptr::null_mut(),
            )
        };
        match done {
            0 => return Ok(()),
            libc::EINTR => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// An alarm that is a file (timerfd_create(2)).
pub struct TimerFile(File);

impl TimerFile {
    /// One on `CLOCK_MONOTONIC`.
    pub fn new() -> io::Result<TimerFile> {
        // SAFETY: takes no pointer.
        let number = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just opened it, and nobody else knows its number.
        let owned = unsafe { OwnedFd::from_raw_fd(number) };
        Ok(TimerFile(File::from(owned)))
    }

    /// Sets it to that time, in place of another one.
    #[inline(always)]
    pub fn arm(&self, time: Duration) -> io::Result<()> {
        let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let alarm = libc::itimerspec { it_interval: never, it_value: timespec(time) };
        let file = self.0.as_raw_fd();
        // SAFETY: reads one itimerspec, which lives on this stack; nobody asks for the old one.
        let set = unsafe {
            libc::timerfd_settime(file, libc::TFD_TIMER_ABSTIME, &raw const alarm, ptr::null_mut())
        };
        if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Sleeps until then, signals or not.
    #[inline(always)]
    pub fn sleep_until(&self, time: Duration) -> io::Result<()> {
        self.arm(time)?;
        let mut times = [0; 8];
        (&self.0).read_exact(&mut times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_wakes_too_early() {
        set_slack(Duration::from_nanos(1)).unwrap();
        let file = TimerFile::new().unwrap();
        for nanoseconds in [1, 1000, 300_000] {
            let time = now().unwrap() + Duration::from_nanos(nanoseconds);
            sleep_until(time).unwrap();
            assert!(now().unwrap() >= time);
            let time = now().unwrap() + Duration::from_nanos(nanoseconds);
            file.sleep_until(time).unwrap();
            assert!(now().unwrap() >= time);
        }
    }
}
