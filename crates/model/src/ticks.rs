//! Counts that know their clock: ticks of one clock cannot be mistaken for ticks of another.

use std::fmt;
use std::marker::PhantomData;

use crate::quantity::{Hertz, Seconds};

/// The clock domain of stamps: TSC, generic timer or `CLOCK_MONOTONIC_RAW`, whichever the run chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamp {}

/// A number of ticks of clock `C`.
pub struct Ticks<C> {
    count: u64,
    clock: PhantomData<fn() -> C>,
}

impl<C> Ticks<C> {
    /// `count` ticks.
    pub const fn new(count: u64) -> Self {
        Ticks { count, clock: PhantomData }
    }

    /// The bare count, for arithmetic that leaves the domain.
    pub const fn count(self) -> u64 {
        self.count
    }

    /// How long these ticks last at `rate`.
    pub fn at(self, rate: Rate<C>) -> Seconds {
        Seconds(self.count as f64 / rate.hertz.0)
    }

    /// Ticks from `earlier` to `self`; none if `earlier` is later (stamps of two CPUs may be skewed).
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Ticks::new(self.count.saturating_sub(earlier.count))
    }
}

impl<C> Clone for Ticks<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Ticks<C> {}

impl<C> PartialEq for Ticks<C> {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count
    }
}

impl<C> Eq for Ticks<C> {}

impl<C> PartialOrd for Ticks<C> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<C> Ord for Ticks<C> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.count.cmp(&other.count)
    }
}

impl<C> fmt::Debug for Ticks<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ticks", self.count)
    }
}

/// The rate of clock `C`.
pub struct Rate<C> {
    hertz: Hertz,
    clock: PhantomData<fn() -> C>,
}

impl<C> Rate<C> {
    /// A clock that ticks `hertz` times a second.
    ///
    /// # Panics
    /// When the rate is not a positive number: rates come from calibration, which checks them.
    pub fn new(hertz: Hertz) -> Self {
        assert!(hertz.0.is_finite() && hertz.0 > 0.0, "BUG: clock rate {hertz:?}");
        Rate { hertz, clock: PhantomData }
    }

    /// Ticks per second.
    pub const fn hertz(self) -> Hertz {
        self.hertz
    }

    /// The ticks that `duration` lasts, rounded down.
    pub fn ticks_in(self, duration: Seconds) -> Ticks<C> {
        Ticks::new((duration.0 * self.hertz.0) as u64)
    }
}

impl<C> Clone for Rate<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Rate<C> {}

impl<C> fmt::Debug for Rate<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Hz", self.hertz.0)
    }
}
