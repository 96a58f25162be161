//! POSIX signals from one thread of this process to another, which waits for them (sigwaitinfo(2)).

use std::io;
use std::ptr;

/// The calling thread, to be signalled. It has the signal blocked, so that it waits for it.
#[derive(Debug, Clone, Copy)]
pub struct Receiver {
    process: libc::pid_t,
    thread: libc::pid_t,
}

/// A real-time signal: several of them wait in a queue, each with its number.
fn number() -> libc::c_int {
    libc::SIGRTMIN()
}

fn set() -> libc::sigset_t {
    // SAFETY: a set of signals consists of integers, for which zero is a value.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: writes to the set on this stack.
    unsafe { libc::sigemptyset(&raw mut set) };
    // SAFETY: writes to the set on this stack; the signal exists.
    unsafe { libc::sigaddset(&raw mut set, number()) };
    set
}

impl Receiver {
    /// Makes the calling thread one, until it ends.
    pub fn this_thread() -> io::Result<Receiver> {
        let set = set();
        // SAFETY: reads the set; nobody asks for the mask as it was.
        let done =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()) };
        if done != 0 {
            return Err(io::Error::from_raw_os_error(done));
        }
        // SAFETY: takes no pointer.
        let process = unsafe { libc::getpid() };
        // SAFETY: takes no pointer.
        let thread = unsafe { libc::gettid() };
        Ok(Receiver { process, thread })
    }

    /// Its number, for whoever wants to signal it.
    pub fn thread(self) -> i32 {
        self.thread
    }

    /// Signals another thread of this process, which must be a receiver. One that has ended gets
    /// nothing, which is no error.
    #[inline(always)]
    pub fn send(self, thread: i32) -> io::Result<()> {
        // SAFETY: takes no pointer.
        let done = unsafe { libc::syscall(libc::SYS_tgkill, self.process, thread, number()) };
        if done == 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            error => Err(error),
        }
    }
}

/// The signal, to be waited for.
#[derive(Clone, Copy)]
pub struct Awaited(libc::sigset_t);

impl Awaited {
    /// For a thread that is a [`Receiver`].
    pub fn new() -> Awaited {
        Awaited(set())
    }

    /// Sleeps until the calling thread is signalled, or something else interrupted it.
    #[inline(always)]
    pub fn wait(&self) -> io::Result<()> {
        // SAFETY: reads the set; nobody asks for details.
        let signal = unsafe { libc::sigwaitinfo(&raw const self.0, ptr::null_mut()) };
        if signal > 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::EINTR) => Ok(()),
            error => Err(error),
        }
    }
}

impl Default for Awaited {
    fn default() -> Self {
        Awaited::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_signalled_as_often_as_it_waits() {
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                tell.send(Receiver::this_thread().unwrap()).unwrap();
                let awaited = Awaited::new();
                for _ in 0..3 {
                    awaited.wait().unwrap();
                }
            });
            let receiver = told.recv().unwrap();
            for _ in 0..3 {
                receiver.send(receiver.thread()).unwrap();
            }
        });
    }
}
