//! Pipes.

use std::io::{self, PipeReader, PipeWriter};

use super::{Method, Waits, of, read_whole, write_whole};
use crate::exchange::{Channel, Patience, Side};

/// The method.
pub(super) static PIPE: Method = Method {
    id: "pipe",
    doc: "write(2) of four bytes to a pipe; the other one sleeps in read(2), as in `perf bench sched \
          pipe`.",
    waits: Waits::Sleeping,
    needs: None,
    open: || Ok(Box::new(Pipes([io::pipe()?, io::pipe()?]))),
};

/// What the first side reads, and what the second one does.
struct Pipes([(PipeReader, PipeWriter); 2]);

impl Channel for Pipes {
    #[inline(always)]
    fn signal(&self, from: Side, number: u32) -> io::Result<()> {
        write_whole(&of(&self.0, from.other()).1, &number.to_ne_bytes())
    }

    #[inline(always)]
    fn wait(&self, me: Side, number: u32, patience: &dyn Patience) -> io::Result<()> {
        let mut bytes = [0; 4];
        loop {
            read_whole(&of(&self.0, me).0, &mut bytes)?;
            if u32::from_ne_bytes(bytes) == number {
                return Ok(());
            }
            patience.check()?;
        }
    }
}
