//! Two threads that take turns.

use std::io;
use std::sync::Arc;

use machine::instruments::idle::IdleCount;
use model::ticks::Stamp;
use model::{CpuId, Ticks};
use sys::clock::Probe;

use super::super::super::exchange::{Channel, Exchange, Pace, Patience, RawExchange, Side, Trip};
use super::super::super::job::{Around, Interval, Manner};
use super::super::super::line::Line;
use super::super::RunError;
use super::{Meeting, Threads, difference};

impl Patience for Meeting {
    fn is_over(&self) -> bool {
        self.given_up()
    }
}

impl<P: Probe> Threads<P> {
    /// Lets both sides take turns.
    pub(super) fn take_turns(&self, job: &Exchange) -> Result<RawExchange, RunError> {
        let answers = Line::default();
        let cpus = [job.first, job.second];
        let (rig, job) = (Arc::clone(&self.rig), job.clone());
        let mut sides = self.together(&cpus, Manner::USUAL, move |index, meeting| {
            let side = if index == 0 { Side::First } else { Side::Second };
            let cpu = cpus[index];
            let (probe, answers, job) = (rig.probe, &answers, &job);
            let rest = match job.pace {
                Pace::Rested(rest) => rig.ticks_in(rest),
                Pace::Rally | Pace::Stamped => 0,
            };
            let player = Player { probe, cpu, side, job, answers, rest, meeting };
            player.play().map_err(|source| match source.kind() {
                io::ErrorKind::Interrupted => RunError::Interrupted,
                _ => RunError::Signal { method: job.id, cpu, source },
            })
        })?;
        let (Some(second), Some(first)) = (sides.pop(), sides.pop()) else {
            return Err(RunError::Interrupted);
        };
        let trips = std::iter::zip(&first.trips, &second.trips);
        let trips =
            trips.map(|(&(sent, returned), &(received, _))| Trip { sent, received, returned });
        let (trips, around) = (trips.collect(), [first.around, second.around]);
        let looks: Option<Vec<Vec<IdleCount>>> = first.looks.into_iter().collect();
        let looks = looks.unwrap_or_default();
        let (stretches, stamp_cost) = (first.stretches, first.stamp_cost);
        Ok(RawExchange { stretches, trips, stamp_cost, around, looks })
    }
}

/// What one side saw.
struct SideSamples {
    stretches: Vec<Interval>,
    /// Of the first side: sent and returned; of the second one: received, and when it went on.
    trips: Vec<(Ticks<Stamp>, Ticks<Stamp>)>,
    stamp_cost: Ticks<Stamp>,
    looks: Vec<Option<Vec<IdleCount>>>,
    around: Around,
}

/// One side.
struct Player<'a, P> {
    probe: P,
    cpu: CpuId,
    side: Side,
    job: &'a Exchange,
    answers: &'a Line,
    rest: u64,
    meeting: &'a Meeting,
}

impl<P: Probe> Player<'_, P> {
    /// Plays, and leaves nobody waiting.
    fn play(&self) -> io::Result<SideSamples> {
        let seen = self.turns();
        if seen.is_err() {
            self.meeting.abandon();
            for channel in &*self.job.channels {
                // Who sleeps there wakes up and finds that the job was given up. Nobody may.
                drop(channel.signal(self.side, 0));
            }
        }
        seen
    }

    fn turns(&self) -> io::Result<SideSamples> {
        let Exchange { ref channels, stretches, round_trips, .. } = *self.job;
        for channel in &**channels {
            channel.enter(self.side)?;
        }
        self.meeting.wait().map_err(|_| io::ErrorKind::Interrupted)?;
        let before = sys::thread::usage().ok();
        let each = if self.job.pace == Pace::Rally { 0 } else { stretches * round_trips };
        let mut seen = SideSamples {
            stretches: Vec::with_capacity(stretches as usize),
            trips: Vec::with_capacity(each as usize),
            stamp_cost: self.stamp_cost(),
            looks: Vec::new(),
            around: Around { settled: true, ..Around::default() },
        };
        let (mut sent, mut answered) = (vec![0u32; channels.len()], 0);
        self.look(&mut seen);
        for stretch in 0..stretches as usize {
            let turn = stretch % channels.len();
            let channel = &*channels[turn];
            self.meeting.check()?;
            let start = self.beginning();
            match self.job.pace {
                Pace::Rally => channel.rally(self.side, sent[turn], round_trips, self.meeting)?,
                Pace::Stamped => self.stamped(channel, sent[turn], &mut seen)?,
                Pace::Rested(_) => self.rested(channel, sent[turn], &mut answered, &mut seen)?,
            }
            seen.stretches.push(Interval { start, end: self.beginning() });
            if !self.job.looks_at_trips() {
                self.look(&mut seen);
            }
            sent[turn] = sent[turn].wrapping_add(2 * round_trips);
        }
        let after = sys::thread::usage().ok();
        let moved = sys::thread::current_cpu() != Some(self.cpu);
        seen.around.usage = before.zip(after).map(|(before, after)| difference(before, after));
        seen.around.migrations = u64::from(moved);
        Ok(seen)
    }

    /// Signals there and back, with stamps.
    fn stamped(&self, channel: &dyn Channel, sent: u32, seen: &mut SideSamples) -> io::Result<()> {
        for trip in 0..self.job.round_trips {
            let serve = sent.wrapping_add(2 * trip + 1);
            let (one, other) = match self.side {
                Side::First => {
                    self.meeting.check()?;
                    let one = self.now();
                    channel.signal(self.side, serve)?;
                    channel.wait(self.side, serve.wrapping_add(1), self.meeting)?;
                    (one, self.now())
                }
                Side::Second => {
                    channel.wait(self.side, serve, self.meeting)?;
                    let one = self.now();
                    channel.signal(self.side, serve.wrapping_add(1))?;
                    (one, one)
                }
            };
            seen.trips.push((one, other));
        }
        Ok(())
    }

    /// The second side rests before each signal, and answers by a line that is polled. The numbers of
    /// the channel go on by two, as if it had answered there.
    fn rested(
        &self,
        channel: &dyn Channel,
        sent: u32,
        answered: &mut u32,
        seen: &mut SideSamples,
    ) -> io::Result<()> {
        let mut begun = self.probe.stamp();
        for trip in 0..self.job.round_trips {
            let serve = sent.wrapping_add(2 * trip + 1);
            *answered += 1;
            let (one, other) = match self.side {
                Side::First => {
                    self.rest(begun)?;
                    let one = self.now();
                    channel.signal(self.side, serve)?;
                    self.answers.wait(self.side, *answered, self.meeting)?;
                    let returned = self.now();
                    begun = returned.count();
                    (one, returned)
                }
                Side::Second => {
                    channel.wait(self.side, serve, self.meeting)?;
                    let one = self.now();
                    self.answers.signal(self.side, *answered)?;
                    (one, one)
                }
            };
            seen.trips.push((one, other));
            if self.job.looks_at_trips() {
                self.look(seen);
            }
        }
        Ok(())
    }

    /// Reads what is to be read beside, as a part of the next rest.
    fn look(&self, seen: &mut SideSamples) {
        if let (Side::First, Some(counters)) = (self.side, &self.job.look) {
            seen.looks.push(counters.read());
        }
    }

    /// The time at which a stretch begins or ends, of the first side: a stamp of the second one would
    /// delay its next answer.
    fn beginning(&self) -> Ticks<Stamp> {
        match self.side {
            Side::First => self.now(),
            Side::Second => Ticks::new(0),
        }
    }

    /// Polls the clock until a rest that began then is over, so that this CPU stays awake meanwhile.
    fn rest(&self, begun: u64) -> io::Result<()> {
        while self.probe.stamp().saturating_sub(begun) < self.rest {
            self.meeting.check()?;
        }
        self.meeting.check()
    }

    /// From one stamp to the next one; the least of some.
    fn stamp_cost(&self) -> Ticks<Stamp> {
        const TRIES: usize = 32;
        let step = |_| {
            let before = self.now();
            self.now().since(before)
        };
        (0..TRIES).map(step).min().unwrap_or(Ticks::new(0))
    }

    fn now(&self) -> Ticks<Stamp> {
        Ticks::new(self.probe.stamp())
    }
}
