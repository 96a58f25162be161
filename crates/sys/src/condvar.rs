//! A number behind a mutex with a condition variable, both of the C library (pthread_cond_wait(3)).

use std::cell::UnsafeCell;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

/// The last number that was put in. It must not move once it was used, which a `Box` sees to.
pub struct Mailbox {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    arrived: UnsafeCell<libc::pthread_cond_t>,
    number: AtomicU32,
}

// SAFETY: mutex and condition variable are made to be used by several threads; the number is atomic.
unsafe impl Sync for Mailbox {}
// SAFETY: nothing in it belongs to a thread while nobody holds the mutex, and guards do not leave it.
unsafe impl Send for Mailbox {}

fn checked(answer: libc::c_int) -> io::Result<()> {
    if answer == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(answer)) }
}

impl Mailbox {
    /// An empty one, which holds 0.
    pub fn new() -> Box<Mailbox> {
        Box::new(Mailbox {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            arrived: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
            number: AtomicU32::new(0),
        })
    }

    #[inline(always)]
    fn lock(&self) -> io::Result<()> {
        // SAFETY: initialised statically, and it stays where it is.
        checked(unsafe { libc::pthread_mutex_lock(self.mutex.get()) })
    }

    #[inline(always)]
    fn unlock(&self) -> io::Result<()> {
        // SAFETY: initialised statically; called only by who has locked it.
        checked(unsafe { libc::pthread_mutex_unlock(self.mutex.get()) })
    }

    /// Puts a number in, and wakes who waits for one.
    #[inline(always)]
    pub fn put(&self, number: u32) -> io::Result<()> {
        self.lock()?;
        self.number.store(number, Ordering::Relaxed);
        self.unlock()?;
        // SAFETY: initialised statically, and it stays where it is.
        checked(unsafe { libc::pthread_cond_signal(self.arrived.get()) })
    }

    /// Sleeps until the number is one that is `wanted`.
    #[inline(always)]
    pub fn take(&self, mut wanted: impl FnMut(u32) -> bool) -> io::Result<()> {
        self.lock()?;
        while !wanted(self.number.load(Ordering::Relaxed)) {
            // SAFETY: both are initialised, stay where they are, and this thread holds the mutex.
            let woken = unsafe { libc::pthread_cond_wait(self.arrived.get(), self.mutex.get()) };
            checked(woken)?;
        }
        self.unlock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_comes_out() {
        let mailbox = Mailbox::new();
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| mailbox.take(|number| number == 7).unwrap());
            mailbox.put(3).unwrap();
            mailbox.put(7).unwrap();
            sleeper.join().unwrap();
        });
    }
}
