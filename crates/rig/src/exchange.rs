//! Jobs in which two threads hand each other signals, in turns.
//!
//! The rig knows how turns are taken and when stamps are; what a signal is, a [`Channel`] knows: a
//! cache line that the other one polls, or a system call that wakes it.

use std::io;
use std::sync::Arc;

use machine::instruments::idle::{IdleCount, IdleCounters};
use model::ticks::Stamp;
use model::{CpuId, Seconds, Ticks};

use super::job::{Around, Interval};

/// Two pinned threads send each other signals in turns.
#[derive(Clone)]
pub struct Exchange {
    /// What a model knows the cost of.
    pub id: &'static str,
    /// Who begins, and takes the stamps of round trips.
    pub first: CpuId,
    /// Who answers.
    pub second: CpuId,
    /// What signals go through: the stretches take turns. A model needs none.
    pub channels: Arc<[Box<dyn Channel>]>,
    /// Timed stretches.
    pub stretches: u32,
    /// Round trips in one stretch.
    pub round_trips: u32,
    /// How stretches are gone through.
    pub pace: Pace,
    /// What the first side reads before the first signal and after each stretch, and of stretches with
    /// a rest of [`LOOK_REST_MIN`] and more after each round trip.
    pub look: Option<Arc<IdleCounters>>,
}

impl Exchange {
    /// Whether there is a look after each round trip.
    pub fn looks_at_trips(&self) -> bool {
        let long = matches!(self.pace, Pace::Rested(rest) if rest >= LOOK_REST_MIN);
        self.look.is_some() && long
    }
}

/// In a shorter rest a look, which takes some microseconds, is a disturbance.
pub const LOOK_REST_MIN: Seconds = Seconds(50e-6);

/// How a stretch is gone through.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// One round trip right after the other; the first side stamps the beginning and the end.
    Rally,
    /// The same, with stamps of each signal.
    Stamped,
    /// The first one polls the clock for so long before each signal, so that the second one rests;
    /// the answer is a cache line, which the first one polls. Stamps of each signal.
    Rested(Seconds),
}

/// Who of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Begins.
    First,
    /// Answers.
    Second,
}

impl Side {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Side {
        match self {
            Side::First => Side::Second,
            Side::Second => Side::First,
        }
    }
}

/// Whether there is anybody left to wait for.
pub trait Patience {
    /// Whether waiting is of no use any more.
    fn is_over(&self) -> bool;

    /// [`io::ErrorKind::Interrupted`] where it is.
    fn check(&self) -> io::Result<()> {
        if self.is_over() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }
}

/// A way from one thread to another one. Signals of both sides are numbered together, from 1 on.
pub trait Channel: Send + Sync {
    /// Each side comes here once, in its own thread, before the first signal.
    fn enter(&self, _side: Side) -> io::Result<()> {
        Ok(())
    }

    /// Sends the signal of that number to the other side.
    fn signal(&self, from: Side, number: u32) -> io::Result<()>;

    /// Returns when the signal of that number has come from the other side. When a job is given up,
    /// the other side sends once more: who sleeps looks at `patience` after it was woken, who polls
    /// looks at it now and then.
    fn wait(&self, me: Side, number: u32, patience: &dyn Patience) -> io::Result<()>;

    /// So many round trips, the first signal having the number after `sent`. One for each kind of
    /// channel, so that nothing in it is called through a table.
    fn rally(
        &self,
        side: Side,
        sent: u32,
        round_trips: u32,
        patience: &dyn Patience,
    ) -> io::Result<()> {
        for trip in 0..round_trips {
            let serve = sent.wrapping_add(2 * trip + 1);
            match side {
                Side::First => {
                    self.signal(side, serve)?;
                    self.wait(side, serve.wrapping_add(1), patience)?;
                }
                Side::Second => {
                    self.wait(side, serve, patience)?;
                    self.signal(side, serve.wrapping_add(1))?;
                }
            }
        }
        Ok(())
    }
}

/// What both sides saw.
#[derive(Debug, Clone)]
pub struct RawExchange {
    /// Of the first side: one for each stretch.
    pub stretches: Vec<Interval>,
    /// One for each round trip of stamped stretches.
    pub trips: Vec<Trip>,
    /// What one stamp costs: each interval between two stamps holds as much.
    pub stamp_cost: Ticks<Stamp>,
    /// What went on around each side, the first one first.
    pub around: [Around; 2],
    /// What was read: before the first signal, and then after each stretch or round trip. Empty where
    /// nothing was to be read, or where it could not be read every time.
    pub looks: Vec<Vec<IdleCount>>,
}

/// One round trip.
#[derive(Debug, Clone, Copy)]
pub struct Trip {
    /// When the first side sent it.
    pub sent: Ticks<Stamp>,
    /// When the second side had received it, by its own clock.
    pub received: Ticks<Stamp>,
    /// When the first side had the answer.
    pub returned: Ticks<Stamp>,
}
