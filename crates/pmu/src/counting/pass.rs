//! One pass: events that are counted together while something is executed once.

use machine::Machine;
use machine::perf::{Reader, Sample, Wanted, Way};
use model::{Obstacle, Reading, Unavailable};
use sys::perf_open::{Attributes, Begin, Modes};

use super::{is_share, is_slots, modes_of, needs_counter, slower};
use crate::events::Encoded;

/// What an event counted between two readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CounterReading {
    pub(super) value: u64,
    pub(super) way: Way,
}

/// The counters of a pass, open and counting.
pub(super) struct OpenCounters<'a> {
    machine: &'a Machine,
    /// By event, or why it could not be opened.
    readers: Vec<Reading<Reader>>,
    names: Vec<String>,
    /// Who leads the group of the core's counters, and which of them belong to it.
    leader: Option<usize>,
    grouped: Vec<bool>,
}

/// Readings of an execution that has begun, and room for those of its end: between them nothing is allocated.
pub(super) struct BegunExecution {
    before: Vec<Option<std::io::Result<Sample>>>,
    after: Vec<Option<std::io::Result<Sample>>>,
    ticks: Option<u64>,
}

/// What happened during one execution.
#[derive(Clone)]
pub(super) struct Execution {
    /// By event.
    pub(super) counts: Vec<Reading<CounterReading>>,
    /// Ticks of the time stamp counter.
    pub(super) ticks: Option<u64>,
}

impl Execution {
    /// The least of both, event by event: interrupts only add.
    pub(super) fn keep_least(&mut self, other: Execution) {
        for (one, other) in self.counts.iter_mut().zip(other.counts) {
            if let (Ok(one), Ok(other)) = (one, other) {
                one.value = one.value.min(other.value);
            }
        }
        self.ticks = self.ticks.zip(other.ticks).map(|(one, other)| one.min(other));
    }
}

impl<'a> OpenCounters<'a> {
    /// Opens counters for the calling thread: those of the cores as one pinned group, so that all of them
    /// have their place or none has, the others beside it.
    pub(super) fn of(machine: &'a Machine, events: &[&Encoded], usual: Modes) -> OpenCounters<'a> {
        let mut readers: Vec<Reading<Reader>> = Vec::with_capacity(events.len());
        let mut leader: Option<usize> = None;
        let has_shares = events.iter().any(|event| is_share(event));
        for event in events {
            let grouped = needs_counter(event);
            let first = grouped && leader.is_none();
            let attributes = Attributes {
                kind: event.kind.unwrap_or_default(),
                config: event.config,
                modes: modes_of(event, usual),
                begin: if first { Begin::WhenStarted } else { Begin::Now },
                pinned: first,
                ..Attributes::default()
            };
            // What the registers of slots and their shares hold is no count: the kernel makes one of it.
            let by_page = !(is_share(event) || has_shares && is_slots(event));
            let wanted = Wanted { by_page, ..Wanted::of_this_thread(&event.name, attributes) };
            let of_group = leader.filter(|_| grouped).and_then(|at| readers[at].as_ref().ok());
            let opened = machine.perf.open(&wanted, of_group);
            if first && opened.is_ok() {
                leader = Some(readers.len());
            }
            readers.push(opened);
        }
        let names: Vec<String> = events.iter().map(|event| event.name.clone()).collect();
        if let Some(Ok(leader)) = leader.map(|at| &readers[at])
            && let Err(error) = leader.start_group()
        {
            let why = format!("the kernel does not start the group: {error}");
            for (reader, name) in readers.iter_mut().zip(&names) {
                *reader = Err(Unavailable::new(Obstacle::Permission, name, &why));
            }
        }
        let grouped = events.iter().map(|event| needs_counter(event)).collect();
        OpenCounters { machine, readers, names, leader, grouped }
    }

    /// What the measurement counts by itself: nothing is executed, and the least counts of several
    /// times.
    pub(super) fn own(&self, nothing: &mut dyn FnMut()) -> Execution {
        const TIMES: usize = 9;
        let mut own = self.execute(nothing);
        for _ in 1..TIMES {
            own.keep_least(self.execute(nothing));
        }
        own
    }

    /// Counts what is executed.
    pub(super) fn execute(&self, work: &mut dyn FnMut()) -> Execution {
        let begun = self.begin();
        work();
        self.end(begun)
    }

    /// Reads each counter before an execution.
    pub(super) fn begin(&self) -> BegunExecution {
        let room = || {
            let mut samples: Vec<Option<std::io::Result<Sample>>> = Vec::new();
            samples.resize_with(self.readers.len(), || None);
            samples
        };
        let mut begun = BegunExecution { before: room(), after: room(), ticks: None };
        begun.ticks = self.machine.perf.ticks();
        for (reader, sample) in self.readers.iter().zip(&mut begun.before) {
            *sample = reader.as_ref().ok().map(Reader::read);
        }
        begun
    }

    /// Reads each counter after it. Readings are nested like brackets, so that an event's own two are equally
    /// far from the work.
    pub(super) fn end(&self, begun: BegunExecution) -> Execution {
        let BegunExecution { mut before, mut after, ticks: begun } = begun;
        for (reader, sample) in self.readers.iter().zip(&mut after).rev() {
            *sample = reader.as_ref().ok().map(Reader::read);
        }
        let ended = self.machine.perf.ticks();
        let counts = (0..self.readers.len()).map(|at| {
            let reason = || self.readers[at].as_ref().err().cloned();
            match (before[at].take(), after[at].take()) {
                (Some(before), Some(after)) => self.between(at, before, after),
                _ => Err(reason().unwrap_or_else(|| self.lost(at, "its counter was not read"))),
            }
        });
        let mut counts: Vec<Reading<CounterReading>> = counts.collect();
        // Members of a group whose leader is in error stand still, and say nothing of it.
        if let Some(Err(reason)) = self.leader.map(|leader| counts[leader].clone()) {
            for (at, count) in counts.iter_mut().enumerate() {
                if self.grouped[at] && count.is_ok() {
                    *count = Err(Unavailable { what: self.names[at].clone(), ..reason.clone() });
                }
            }
        }
        Execution {
            counts,
            ticks: begun.zip(ended).map(|(begun, ended)| ended.wrapping_sub(begun)),
        }
    }

    fn between(
        &self,
        at: usize,
        before: std::io::Result<Sample>,
        after: std::io::Result<Sample>,
    ) -> Reading<CounterReading> {
        let (before, after) = match (before, after) {
            (Ok(before), Ok(after)) => (before, after),
            (Err(error), _) | (_, Err(error)) => {
                let taken = error.kind() == std::io::ErrorKind::UnexpectedEof;
                let why = if taken {
                    "another program took its counter".to_owned()
                } else {
                    format!("reading its counter answered {error}")
                };
                return Err(self.lost(at, &why));
            }
        };
        if after.waited_ns != before.waited_ns {
            let waited = after.waited_ns.saturating_sub(before.waited_ns);
            let why = format!(
                "its counter was off the hardware for {waited} ns of the measurement; the count is \
                 rejected, not scaled"
            );
            let absent = Unavailable::new(Obstacle::Measurement, &self.names[at], why);
            return Err(
                absent.with_remedy("end other programs that count on this CPU: `perf`, profilers")
            );
        }
        let Some(value) = after.value.checked_sub(before.value) else {
            let why = format!(
                "its counter fell from {} to {}; the count is rejected",
                before.value, after.value
            );
            return Err(Unavailable::new(Obstacle::Measurement, &self.names[at], why));
        };
        Ok(CounterReading { value, way: slower(before.way, after.way) })
    }

    fn lost(&self, at: usize, why: &str) -> Unavailable {
        let watchdog = self.machine.tree.read("/proc/sys/kernel/nmi_watchdog");
        let remedy = match watchdog.as_deref().map(str::trim) {
            Ok("1") => {
                "`sudo sysctl kernel.nmi_watchdog=0`; end other programs that count on this CPU"
            }
            _ => "end other programs that count on this CPU: `perf`, profilers",
        };
        Unavailable::new(Obstacle::Measurement, &self.names[at], why).with_remedy(remedy)
    }

    /// Why a counter could not be opened, by its place.
    pub(super) fn refusal(&self, at: usize) -> Option<&Unavailable> {
        self.readers.get(at)?.as_ref().err()
    }

    /// How the counters that are open are read.
    pub(super) fn readers(self) -> Vec<Reading<Reader>> {
        self.readers
    }
}
