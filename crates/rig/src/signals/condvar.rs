//! A number behind a mutex, and a condition variable.

use std::io;

use sys::condvar::Mailbox;

use super::{Method, Waits, of};
use crate::exchange::{Channel, Patience, Side};

/// The method.
pub(super) static CONDVAR: Method = Method {
    id: "condvar",
    doc: "pthread_cond_signal(3) of the C library, after a change behind a mutex; the other one \
          sleeps in pthread_cond_wait.",
    waits: Waits::Sleeping,
    needs: None,
    open: || Ok(Box::new(Condvar([Mailbox::new(), Mailbox::new()]))),
};

/// Where the first side waits, and where the second one does.
struct Condvar([Box<Mailbox>; 2]);

impl Channel for Condvar {
    #[inline(always)]
    fn signal(&self, from: Side, number: u32) -> io::Result<()> {
        of(&self.0, from.other()).put(number)
    }

    #[inline(always)]
    fn wait(&self, me: Side, number: u32, patience: &dyn Patience) -> io::Result<()> {
        let mut over = false;
        // Numbers begin at 1: 0 is a box that nobody has used, or a job that was given up.
        of(&self.0, me).take(|seen| {
            over = seen == 0 && patience.is_over();
            seen == number || over
        })?;
        if over { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }
}
