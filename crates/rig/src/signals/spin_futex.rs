//! A word that is polled for a while, and then slept on.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Method, Waits, Words, of};
use crate::exchange::{Channel, Patience, Side};

/// The method.
pub(super) static SPIN_FUTEX: Method = Method {
    id: "spin-futex",
    doc: "A futex that is polled with 1,000 pauses between looks before the thread sleeps on it; \
          waking needs no system call while the other one still polls.",
    waits: Waits::Both,
    needs: None,
    open: || Ok(Box::new(SpinFutex::default())),
};

/// Looks before it sleeps.
const LOOKS: u32 = 1000;

#[derive(Default)]
struct SpinFutex {
    words: Words,
    /// Whether each side sleeps, or is about to.
    asleep: [AtomicU32; 2],
}

impl Channel for SpinFutex {
    #[inline(always)]
    fn signal(&self, from: Side, number: u32) -> io::Result<()> {
        let to = from.other();
        let word = self.words.of(to);
        // Sequentially consistent, as the announcement of sleep is: one of the two is seen.
        word.store(number, Ordering::SeqCst);
        if of(&self.asleep, to).load(Ordering::SeqCst) == 0 {
            return Ok(());
        }
        sys::futex::wake(word)
    }

    #[inline(always)]
    fn wait(&self, me: Side, number: u32, patience: &dyn Patience) -> io::Result<()> {
        let word = self.words.of(me);
        for _ in 0..LOOKS {
            if word.load(Ordering::Acquire) == number {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        let asleep = of(&self.asleep, me);
        asleep.store(1, Ordering::SeqCst);
        loop {
            let seen = word.load(Ordering::SeqCst);
            if seen == number {
                asleep.store(0, Ordering::Relaxed);
                return Ok(());
            }
            if seen == 0 {
                patience.check()?;
            }
            sys::futex::wait(word, seen)?;
        }
    }
}
