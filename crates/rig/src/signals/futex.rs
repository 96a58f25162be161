//! A word that the kernel lets threads sleep on.

use std::io;
use std::sync::atomic::Ordering;

use super::{Method, Waits, Words};
use crate::exchange::{Channel, Patience, Side};

/// The method.
pub(super) static FUTEX: Method = Method {
    id: "futex",
    doc: "A store and futex(2) FUTEX_WAKE; the other one sleeps in FUTEX_WAIT. What mutexes, \
          condition variables and OpenMP runtimes are made of.",
    waits: Waits::Sleeping,
    needs: None,
    open: || Ok(Box::new(Futex::default())),
};

#[derive(Default)]
struct Futex(Words);

impl Channel for Futex {
    #[inline(always)]
    fn signal(&self, from: Side, number: u32) -> io::Result<()> {
        let word = self.0.of(from.other());
        word.store(number, Ordering::Release);
        sys::futex::wake(word)
    }

    #[inline(always)]
    fn wait(&self, me: Side, number: u32, patience: &dyn Patience) -> io::Result<()> {
        let word = self.0.of(me);
        loop {
            let seen = word.load(Ordering::Acquire);
            if seen == number {
                return Ok(());
            }
            // Numbers begin at 1: 0 is a word that nobody has written, or a job that was given up.
            if seen == 0 {
                patience.check()?;
            }
            sys::futex::wait(word, seen)?;
        }
    }
}
