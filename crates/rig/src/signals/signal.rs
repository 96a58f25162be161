//! POSIX signals to a thread.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use sys::signal::{Awaited, Receiver};

use super::{Method, Waits, of};
use crate::exchange::{Channel, Patience, Side};

/// The method.
pub(super) static SIGNAL: Method = Method {
    id: "signal",
    doc: "A real-time signal to the other thread (tgkill(2)), which has it blocked and sleeps in \
          sigwaitinfo(2).",
    waits: Waits::Sleeping,
    needs: None,
    open: || {
        let inbox = || Inbox { receiver: OnceLock::new(), last: AtomicU32::new(0) };
        Ok(Box::new(Signals { inboxes: [inbox(), inbox()], awaited: Awaited::new() }))
    },
};

struct Signals {
    /// Where the first side waits, and where the second one does.
    inboxes: [Inbox; 2],
    awaited: Awaited,
}

struct Inbox {
    receiver: OnceLock<Receiver>,
    /// The number of the last signal; the signal itself has none.
    last: AtomicU32,
}

impl Channel for Signals {
    fn enter(&self, side: Side) -> io::Result<()> {
        let receiver = Receiver::this_thread()?;
        let _ = of(&self.inboxes, side).receiver.set(receiver);
        Ok(())
    }

    #[inline(always)]
    fn signal(&self, from: Side, number: u32) -> io::Result<()> {
        let inbox = of(&self.inboxes, from.other());
        inbox.last.store(number, Ordering::Release);
        // Who has not entered waits for nothing, and would be killed by it.
        match inbox.receiver.get() {
            Some(receiver) => receiver.send(receiver.thread()),
            None => Ok(()),
        }
    }

    #[inline(always)]
    fn wait(&self, me: Side, number: u32, patience: &dyn Patience) -> io::Result<()> {
        loop {
            self.awaited.wait()?;
            if of(&self.inboxes, me).last.load(Ordering::Acquire) == number {
                return Ok(());
            }
            patience.check()?;
        }
    }
}
