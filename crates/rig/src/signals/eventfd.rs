//! Counters that are waited for as files.

use std::fs::File;
use std::io;

use super::{Method, Waits, of, read_whole, write_whole};
use crate::exchange::{Channel, Patience, Side};

/// The method.
pub(super) static EVENTFD: Method = Method {
    id: "eventfd",
    doc: "write(2) of eight bytes to an eventfd; the other one sleeps in read(2).",
    waits: Waits::Sleeping,
    needs: None,
    open: || Ok(Box::new(EventFd([sys::event::counter()?, sys::event::counter()?]))),
};

/// What the first side reads, and what the second one does.
struct EventFd([File; 2]);

impl Channel for EventFd {
    #[inline(always)]
    fn signal(&self, from: Side, number: u32) -> io::Result<()> {
        // What is written is added up, and 0 would wake nobody.
        let added = u64::from(number) + 1;
        write_whole(of(&self.0, from.other()), &added.to_ne_bytes())
    }

    #[inline(always)]
    fn wait(&self, me: Side, number: u32, patience: &dyn Patience) -> io::Result<()> {
        let mut bytes = [0; 8];
        loop {
            read_whole(of(&self.0, me), &mut bytes)?;
            if u64::from_ne_bytes(bytes) == u64::from(number) + 1 {
                return Ok(());
            }
            patience.check()?;
        }
    }
}
