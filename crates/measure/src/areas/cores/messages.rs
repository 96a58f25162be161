//! How one core tells another one something: one row each.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use model::areas::cores as ids;
use model::{Pages, Seconds};
use sys::memory::Mapping;

use rig::exchange::{Channel, Pace, Patience, Side};
use rig::line::poll;

/// A way to tell.
pub struct Message {
    /// Its id, which is the workload's.
    pub id: &'static str,
    /// What goes on, in words.
    pub doc: &'static str,
    /// Lines of memory that one channel needs.
    lines: usize,
    /// How turns are taken.
    pub(super) pace: Pace,
    /// A channel on these lines, from that one on.
    open: fn(Arc<Lines>, usize) -> Box<dyn Channel>,
}

/// How long the line is left alone before a message that nobody answers by it.
const ALONE: Seconds = Seconds(300e-9);

/// All of them, the usual one first.
pub static MESSAGES: &[Message] = &[
    Message {
        id: ids::MESSAGES[0].0,
        doc: ids::MESSAGES[0].1,
        lines: 1,
        pace: Pace::Rally,
        open: |lines, first| Box::new(Swapped { lines, line: first }),
    },
    Message {
        id: ids::MESSAGES[1].0,
        doc: ids::MESSAGES[1].1,
        lines: 2,
        pace: Pace::Rally,
        open: |lines, first| Box::new(Stored { lines, first }),
    },
    Message {
        id: ids::MESSAGES[2].0,
        doc: ids::MESSAGES[2].1,
        lines: 2,
        pace: Pace::Rested(ALONE),
        open: |lines, first| Box::new(Stored { lines, first }),
    },
];

impl Message {
    /// So many channels on fresh lines of memory of that node; none: wherever the kernel puts them.
    pub(super) fn channels(
        &self,
        count: usize,
        node: Option<u32>,
    ) -> io::Result<Vec<Box<dyn Channel>>> {
        let lines = Arc::new(Lines::new(count * self.lines, node)?);
        let channel = |index: usize| (self.open)(lines.clone(), index * self.lines);
        Ok((0..count).map(channel).collect())
    }
}

/// Cache lines on pages of their own, each at another place of its page, so that neither sets nor
/// slices of caches are always the same ones.
struct Lines(Mapping);

/// Bytes from line to line: a page, and a pair of lines, because the adjacent one may be fetched, too.
const STEP: usize = 4096 + 128;

impl Lines {
    fn new(count: usize, node: Option<u32>) -> io::Result<Lines> {
        let bytes = count * STEP;
        let mut memory = Mapping::new(bytes, Pages::Base)?;
        if let Some(node) = node {
            memory.bind(node)?;
        }
        memory.integers_mut().fill(0);
        Ok(Lines(memory))
    }

    #[inline(always)]
    fn line(&self, index: usize) -> &AtomicU32 {
        &self.0.atomics()[index * STEP / size_of::<AtomicU32>()]
    }
}

/// One line that both sides write: odd numbers are the first side's, even ones the second's.
struct Swapped {
    lines: Arc<Lines>,
    line: usize,
}

impl Swapped {
    /// Swaps as soon as the number is `from`.
    #[inline(always)]
    fn swap(&self, from: u32, to: u32, patience: &dyn Patience) -> io::Result<()> {
        let line = self.lines.line(self.line);
        let swapped =
            || line.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        poll(patience, swapped, || ())
    }
}

impl Channel for Swapped {
    fn signal(&self, _from: Side, number: u32) -> io::Result<()> {
        self.lines.line(self.line).store(number, Ordering::Release);
        Ok(())
    }

    fn wait(&self, _me: Side, number: u32, patience: &dyn Patience) -> io::Result<()> {
        self.swap(number, number, patience)
    }

    /// Nobody stores: what was waited for and what is sent is one swap.
    fn rally(
        &self,
        side: Side,
        sent: u32,
        round_trips: u32,
        patience: &dyn Patience,
    ) -> io::Result<()> {
        let mine = match side {
            Side::First => 0,
            Side::Second => 1,
        };
        for trip in 0..round_trips {
            let from = sent.wrapping_add(2 * trip + mine);
            self.swap(from, from.wrapping_add(1), patience)?;
        }
        match side {
            // The last answer is awaited within the stretch.
            Side::First => self.wait(side, sent.wrapping_add(2 * round_trips), patience),
            Side::Second => Ok(()),
        }
    }
}

/// A line for each direction.
struct Stored {
    lines: Arc<Lines>,
    first: usize,
}

impl Stored {
    #[inline(always)]
    fn from(&self, side: Side) -> &AtomicU32 {
        self.lines.line(self.first + usize::from(side == Side::Second))
    }
}

impl Channel for Stored {
    #[inline(always)]
    fn signal(&self, from: Side, number: u32) -> io::Result<()> {
        self.from(from).store(number, Ordering::Release);
        Ok(())
    }

    #[inline(always)]
    fn wait(&self, me: Side, number: u32, patience: &dyn Patience) -> io::Result<()> {
        let line = self.from(me.other());
        poll(patience, || line.load(Ordering::Acquire) == number, || ())
    }
}
