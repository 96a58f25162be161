//! A cache line that is polled, with TPAUSE between two looks.

use std::io;
use std::sync::atomic::Ordering;

use kernels::spin::WaitPkg;

use super::{Method, Needs, Waits, Words};
use crate::rig::exchange::{Channel, Patience, Side};
use crate::rig::line::poll;

/// The method.
pub(super) static TPAUSE: Method = Method {
    id: "tpause",
    doc: "A store to a cache line, which the other one polls with a TPAUSE of 1,000 ticks of the TSC \
          (C0.1) between two looks.",
    waits: Waits::Polling,
    needs: Some(Needs::WaitPkg),
    open: || {
        let token = WaitPkg::detect().ok_or(io::ErrorKind::Unsupported)?;
        Ok(Box::new(Tpause { token, words: Words::default() }))
    },
};

const TICKS: u64 = 1000;

struct Tpause {
    token: WaitPkg,
    words: Words,
}

impl Channel for Tpause {
    #[inline(always)]
    fn signal(&self, from: Side, number: u32) -> io::Result<()> {
        self.words.of(from.other()).store(number, Ordering::Release);
        Ok(())
    }

    #[inline(always)]
    fn wait(&self, me: Side, number: u32, patience: &dyn Patience) -> io::Result<()> {
        let word = self.words.of(me);
        poll(patience, || word.load(Ordering::Acquire) == number, || self.token.pause(TICKS))
    }
}
