//! A cache line that is monitored by MWAITX.

use std::io;
use std::sync::atomic::Ordering;

use kernels::spin::MwaitX;

use super::{Method, Needs, Waits, Words};
use crate::rig::exchange::{Channel, Patience, Side};
use crate::rig::line::poll;

/// The method.
pub(super) static MWAITX: Method = Method {
    id: "mwaitx",
    doc: "A store to a cache line, which the other one monitors with MONITORX and waits for in MWAITX, \
          without the kernel.",
    waits: Waits::Polling,
    needs: Some(Needs::MonitorX),
    open: || {
        let token = MwaitX::detect().ok_or(io::ErrorKind::Unsupported)?;
        Ok(Box::new(Mwaitx { token, words: Words::default() }))
    },
};

/// Ticks of the TSC after which it looks again.
const TICKS: u32 = 50_000;

struct Mwaitx {
    token: MwaitX,
    words: Words,
}

impl Channel for Mwaitx {
    #[inline(always)]
    fn signal(&self, from: Side, number: u32) -> io::Result<()> {
        self.words.of(from.other()).store(number, Ordering::Release);
        Ok(())
    }

    #[inline(always)]
    fn wait(&self, me: Side, number: u32, patience: &dyn Patience) -> io::Result<()> {
        let word = self.words.of(me);
        let arrived = || word.load(Ordering::Acquire) == number;
        let between = || {
            self.token.monitor(word);
            if !arrived() {
                self.token.wait(TICKS);
            }
        };
        poll(patience, arrived, between)
    }
}
