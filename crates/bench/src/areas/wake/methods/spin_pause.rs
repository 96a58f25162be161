//! A cache line that is polled, with a pause between two looks.

use std::io;
use std::sync::atomic::Ordering;

use super::{Method, Waits, Words};
use crate::rig::exchange::{Channel, Patience, Side};
use crate::rig::line::poll;

/// The method.
pub(super) static SPIN_PAUSE: Method = Method {
    id: "spin-pause",
    doc: "A store to a cache line, which the other one polls with a PAUSE (x86) or an ISB (Arm) \
          between two looks, as locks do.",
    waits: Waits::Polling,
    needs: None,
    open: || Ok(Box::new(SpinPause::default())),
};

#[derive(Default)]
struct SpinPause(Words);

impl Channel for SpinPause {
    #[inline(always)]
    fn signal(&self, from: Side, number: u32) -> io::Result<()> {
        self.0.of(from.other()).store(number, Ordering::Release);
        Ok(())
    }

    #[inline(always)]
    fn wait(&self, me: Side, number: u32, patience: &dyn Patience) -> io::Result<()> {
        let word = self.0.of(me);
        poll(patience, || word.load(Ordering::Acquire) == number, std::hint::spin_loop)
    }
}
