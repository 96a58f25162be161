//! A cache line as a channel: what the placement is probed with, and answers go through.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use super::exchange::{Channel, Patience, Side};

/// A cache line of its own (two, because the adjacent line may be fetched with it) that holds the
/// number of the last signal.
#[repr(align(128))]
#[derive(Default)]
pub struct Line(AtomicU32);

/// The workload by which models know it.
pub const LINE: &str = "line";

/// How often a line is polled before looking whether anybody gave up.
pub const POLLS: u32 = 1 << 16;

/// Polls until `arrived`, with `between` after each failure.
#[inline(always)]
pub fn poll(
    patience: &dyn Patience,
    arrived: impl Fn() -> bool,
    between: impl Fn(),
) -> io::Result<()> {
    let mut polls = 0;
    while !arrived() {
        between();
        polls += 1;
        if polls >= POLLS {
            patience.check()?;
            // With fewer CPUs than threads (a cgroup quota) the other one needs ours.
            std::thread::yield_now();
            polls = 0;
        }
    }
    Ok(())
}

impl Channel for Line {
    #[inline(always)]
    fn signal(&self, _from: Side, number: u32) -> io::Result<()> {
        self.0.store(number, Ordering::Release);
        Ok(())
    }

    #[inline(always)]
    fn wait(&self, _me: Side, number: u32, patience: &dyn Patience) -> io::Result<()> {
        poll(patience, || self.0.load(Ordering::Acquire) == number, || ())
    }
}
