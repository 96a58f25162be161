//! A cache line that is polled, with an instruction that waits between two looks: one row each.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use kernels::spin::{MwaitX, WaitPkg};

use super::{Method, Needs, Waits, Words};
use crate::exchange::{Channel, Patience, Side};
use crate::line::poll;

/// PAUSE.
pub(super) static SPIN_PAUSE: Method = Method {
    id: "spin-pause",
    doc: "A store to a cache line, which the other one polls with a PAUSE (x86) or an ISB (Arm) \
          between two looks, as locks do.",
    waits: Waits::Polling,
    needs: None,
    open: open::<Pause>,
};

/// TPAUSE.
pub(super) static TPAUSE: Method = Method {
    id: "tpause",
    doc: "A store to a cache line, which the other one polls with a TPAUSE of 1,000 ticks of the TSC \
          (C0.1) between two looks.",
    waits: Waits::Polling,
    needs: Some(Needs::WaitPkg),
    open: open::<Tpause>,
};

/// UMONITOR and UMWAIT.
pub(super) static UMWAIT: Method = Method {
    id: "umwait",
    doc: "A store to a cache line, which the other one monitors with UMONITOR and waits for in UMWAIT \
          (C0.1), without the kernel.",
    waits: Waits::Polling,
    needs: Some(Needs::WaitPkg),
    open: open::<Umwait>,
};

/// MONITORX and MWAITX.
pub(super) static MWAITX: Method = Method {
    id: "mwaitx",
    doc: "A store to a cache line, which the other one monitors with MONITORX and waits for in MWAITX, \
          without the kernel.",
    waits: Waits::Polling,
    needs: Some(Needs::MonitorX),
    open: open::<Mwaitx>,
};

/// What is done between two looks.
trait Between: Sized + Send + Sync {
    /// The right to do it, where the CPU can.
    fn detect() -> Option<Self>;

    /// Waits for a while, or until the word is written.
    fn wait(&self, word: &AtomicU32, arrived: impl Fn() -> bool);
}

/// Ticks of the TSC after which a line that is monitored is looked at again; Linux allows 100,000.
const MONITORED: u32 = 50_000;

struct Pause;

impl Between for Pause {
    fn detect() -> Option<Pause> {
        Some(Pause)
    }

    #[inline(always)]
    fn wait(&self, _word: &AtomicU32, _arrived: impl Fn() -> bool) {
        std::hint::spin_loop();
    }
}

struct Tpause(WaitPkg);

impl Between for Tpause {
    fn detect() -> Option<Tpause> {
        WaitPkg::detect().map(Tpause)
    }

    #[inline(always)]
    fn wait(&self, _word: &AtomicU32, _arrived: impl Fn() -> bool) {
        const TICKS: u64 = 1000;
        self.0.pause(TICKS);
    }
}

struct Umwait(WaitPkg);

impl Between for Umwait {
    fn detect() -> Option<Umwait> {
        WaitPkg::detect().map(Umwait)
    }

    #[inline(always)]
    fn wait(&self, word: &AtomicU32, arrived: impl Fn() -> bool) {
        self.0.monitor(word);
        if !arrived() {
            self.0.wait(MONITORED.into());
        }
    }
}

struct Mwaitx(MwaitX);

impl Between for Mwaitx {
    fn detect() -> Option<Mwaitx> {
        MwaitX::detect().map(Mwaitx)
    }

    #[inline(always)]
    fn wait(&self, word: &AtomicU32, arrived: impl Fn() -> bool) {
        self.0.monitor(word);
        if !arrived() {
            self.0.wait(MONITORED);
        }
    }
}

struct WatchedChannel<B> {
    between: B,
    words: Words,
}

fn open<B: Between + 'static>() -> io::Result<Box<dyn Channel>> {
    let between = B::detect().ok_or(io::ErrorKind::Unsupported)?;
    Ok(Box::new(WatchedChannel { between, words: Words::default() }))
}

impl<B: Between> Channel for WatchedChannel<B> {
    #[inline(always)]
    fn signal(&self, from: Side, number: u32) -> io::Result<()> {
        self.words.of(from.other()).store(number, Ordering::Release);
        Ok(())
    }

    #[inline(always)]
    fn wait(&self, me: Side, number: u32, patience: &dyn Patience) -> io::Result<()> {
        let word = self.words.of(me);
        let arrived = || word.load(Ordering::Acquire) == number;
        poll(patience, arrived, || self.between.wait(word, arrived))
    }
}
