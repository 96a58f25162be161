//! A cache line that is monitored by UMWAIT.

use std::io;
use std::sync::atomic::Ordering;

use kernels::spin::WaitPkg;

use super::{Method, Needs, Waits, Words};
use crate::rig::exchange::{Channel, Patience, Side};
use crate::rig::line::poll;

/// The method.
pub(super) static UMWAIT: Method = Method {
    id: "umwait",
    doc: "A store to a cache line, which the other one monitors with UMONITOR and waits for in UMWAIT \
          (C0.1), without the kernel.",
    waits: Waits::Polling,
    needs: Some(Needs::WaitPkg),
    open: || {
        let token = WaitPkg::detect().ok_or(io::ErrorKind::Unsupported)?;
        Ok(Box::new(Umwait { token, words: Words::default() }))
    },
};

/// Ticks of the TSC after which it looks again; Linux allows 100,000.
const TICKS: u64 = 50_000;

struct Umwait {
    token: WaitPkg,
    words: Words,
}

impl Channel for Umwait {
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
