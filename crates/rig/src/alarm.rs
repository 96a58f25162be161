//! Jobs in which one thread sleeps until a time, and looks how late it woke up.

use std::sync::Arc;

use machine::instruments::idle::{IdleCount, IdleCounters};
use model::{CpuId, Seconds};

use super::job::Around;

/// A pinned thread asks for one alarm after the other.
#[derive(Clone)]
pub struct Alarm {
    /// What a model knows the cost of.
    pub id: &'static str,
    /// What it asks.
    pub by: By,
    /// Where it sleeps.
    pub cpu: CpuId,
    /// How far away each alarm is when it is asked for.
    pub distances: Vec<Seconds>,
    /// What is read before the first alarm and after each.
    pub look: Option<Arc<IdleCounters>>,
}

/// Ways to sleep until a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// `clock_nanosleep` until a time on `CLOCK_MONOTONIC`.
    Nanosleep,
    /// `read` of a timerfd that was set to a time on `CLOCK_MONOTONIC`.
    TimerFile,
}

/// What it saw.
#[derive(Debug, Clone)]
pub struct RawAlarm {
    /// How much later than asked for it ran again, for each alarm.
    pub late: Vec<Seconds>,
    /// What went on around it.
    pub around: Around,
    /// What was read: before the first alarm, and after each. Empty where nothing was to be read, or
    /// where it could not be read every time.
    pub looks: Vec<Vec<IdleCount>>,
}
