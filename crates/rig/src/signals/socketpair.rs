//! Two sockets that are connected.

use std::io;
use std::os::unix::net::UnixStream;

use super::{Method, Waits, of, read_whole, write_whole};
use crate::exchange::{Channel, Patience, Side};

/// The method.
pub(super) static SOCKETPAIR: Method = Method {
    id: "socketpair",
    doc: "Four bytes through a socketpair(2) of Unix stream sockets; the other one sleeps in recv(2).",
    waits: Waits::Sleeping,
    needs: None,
    open: || {
        let (first, second) = UnixStream::pair()?;
        Ok(Box::new(Sockets([first, second])))
    },
};

/// The end of each side.
struct Sockets([UnixStream; 2]);

impl Channel for Sockets {
    #[inline(always)]
    fn signal(&self, from: Side, number: u32) -> io::Result<()> {
        write_whole(of(&self.0, from), &number.to_ne_bytes())
    }

    #[inline(always)]
    fn wait(&self, me: Side, number: u32, patience: &dyn Patience) -> io::Result<()> {
        let mut bytes = [0; 4];
        loop {
            read_whole(of(&self.0, me), &mut bytes)?;
            if u32::from_ne_bytes(bytes) == number {
                return Ok(());
            }
            patience.check()?;
        }
    }
}
