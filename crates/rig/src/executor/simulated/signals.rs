//! Signals between simulated CPUs, and alarms: what they cost, and the idle states that they end.

use machine::instruments::idle::IdleCounters;
use model::{CpuId, Seconds, Ticks};
use simulated::{Busy, Model, SignalCost};

use super::super::super::alarm::{Alarm, RawAlarm};
use super::super::super::exchange::{Exchange, Pace, RawExchange, Trip};
use super::super::super::job::{Around, Interval};
use super::{CpuTimeline, START, Simulated};

/// A cache line that is polled: nothing beyond its way.
const POLLED: SignalCost = SignalCost { seconds: 0.0, same_cpu_seconds: None, sleeps: false };

/// Two threads that take turns, signal by signal.
pub(super) fn exchange(sim: &mut Simulated, job: &Exchange) -> RawExchange {
    let begun = sim.model.elapsed.seconds() + START;
    let line = CpuTimeline { model: &sim.model, now: begun, random: sim.random.fork() };
    let cost = sim.model.signals.get(job.id).copied().unwrap_or(POLLED);
    let mut game = Game {
        line,
        cost,
        since: [begun; 2],
        cpus: [job.first, job.second],
        slowdowns: [job.first, job.second]
            .map(|cpu| sim.model.slowdown(cpu, &[job.first, job.second])),
        sleeps: [0; 2],
        awake: [Seconds(0.0); 2],
        raw: RawExchange {
            stretches: Vec::new(),
            trips: Vec::new(),
            // Trips hold nothing but the signal.
            stamp_cost: Ticks::new(0),
            around: [Around { settled: true, ..Around::default() }; 2],
            looks: Vec::new(),
        },
    };
    game.play(job);
    let Game { line, cpus, sleeps, awake, mut raw, .. } = game;
    for (around, voluntary_switches) in std::iter::zip(&mut raw.around, sleeps) {
        let usage = sys::thread::Usage { voluntary_switches, ..sys::thread::Usage::default() };
        around.usage = Some(usage);
    }
    let did = std::iter::zip(cpus, awake)
        .map(|(cpu, awake)| (cpu, light(line.model, cpu, &cpus, awake)))
        .collect();
    sim.passed(line.now, did);
    raw
}

struct Game<'a> {
    line: CpuTimeline<'a>,
    cost: SignalCost,
    /// Since when each side waits.
    since: [Seconds; 2],
    cpus: [CpuId; 2],
    /// How much longer the way to each side takes. Nothing is set meanwhile.
    slowdowns: [f64; 2],
    sleeps: [u64; 2],
    /// For how long each side was not halted.
    awake: [Seconds; 2],
    raw: RawExchange,
}

/// What a CPU does in so much time while these are at work.
fn light(model: &Model, cpu: CpuId, at_work: &[CpuId], awake: Seconds) -> Busy {
    Busy { seconds: awake.0, cycles: awake.0 * model.hz_at_work(cpu, 0, at_work) }
}

impl Game<'_> {
    fn play(&mut self, job: &Exchange) {
        self.look(job);
        for _ in 0..job.stretches {
            let start = Ticks::new(self.line.stamp());
            for _ in 0..job.round_trips {
                self.trip(job);
                if job.looks_at_trips() {
                    self.look(job);
                }
            }
            let end = Ticks::new(self.line.stamp());
            self.raw.stretches.push(Interval { start, end });
            if !job.looks_at_trips() {
                self.look(job);
            }
        }
    }

    fn look(&mut self, job: &Exchange) {
        self.raw.looks.extend(job.look.as_deref().and_then(IdleCounters::read));
    }

    fn trip(&mut self, job: &Exchange) {
        if let Pace::Rested(rest) = job.pace {
            self.line.now = self.line.now + rest;
        }
        let sent = Ticks::new(self.line.stamp());
        self.signal(1, self.cost);
        let received = Ticks::new(self.line.stamp());
        let answer = if matches!(job.pace, Pace::Rested(_)) { POLLED } else { self.cost };
        self.signal(0, answer);
        if job.pace != Pace::Rally {
            self.raw.trips.push(Trip { sent, received, returned: Ticks::new(self.line.stamp()) });
        }
    }

    /// A signal to that side.
    fn signal(&mut self, to: usize, cost: SignalCost) {
        let [from, cpu] = [self.cpus[1 - to], self.cpus[to]];
        let model = self.line.model;
        let waited = self.line.now - self.since[to];
        self.since[1 - to] = self.line.now;
        let alone = from == cpu;
        let exit = if cost.sleeps && !alone { model.idle(cpu, waited) } else { Seconds(0.0) };
        self.sleeps[to] += u64::from(cost.sleeps);
        let factor = model.wake_factor(cpu);
        let seconds = match cost.same_cpu_seconds.filter(|_| alone) {
            Some(seconds) => Seconds(seconds) * factor,
            None => Seconds(cost.seconds) * factor + model.distance(from, cpu),
        };
        let seconds = seconds * self.slowdowns[to];
        // Who polls is awake while the other one works.
        let polls = !cost.sleeps && !alone;
        for (side, awake) in self.awake.iter_mut().enumerate() {
            if side == to || polls {
                *awake = *awake + seconds;
            }
        }
        self.line.spend(seconds + exit);
    }
}

/// A thread that sleeps until each of its alarms.
pub(super) fn alarm(sim: &mut Simulated, job: &Alarm) -> RawAlarm {
    let begun = sim.model.elapsed.seconds() + START;
    let mut line = CpuTimeline { model: &sim.model, now: begun, random: sim.random.fork() };
    let cost = sim.model.signals.get(job.id).copied().unwrap_or(POLLED);
    let own = Seconds(cost.seconds) * sim.model.wake_factor(job.cpu);
    let look = || job.look.as_deref().and_then(IdleCounters::read);
    let mut looks: Vec<_> = look().into_iter().collect();
    let mut late = Vec::with_capacity(job.distances.len());
    for &distance in &job.distances {
        line.now = line.now + distance;
        let due = line.now;
        let exit = sim.model.idle(job.cpu, distance);
        line.spend(own + exit);
        late.push(line.now - due);
        looks.extend(look());
    }
    let voluntary_switches = job.distances.len() as u64;
    let usage = sys::thread::Usage { voluntary_switches, ..sys::thread::Usage::default() };
    let awake = own * job.distances.len() as f64;
    let did = light(&sim.model, job.cpu, &[job.cpu], awake);
    sim.passed(line.now, vec![(job.cpu, did)]);
    RawAlarm {
        late,
        around: Around { settled: true, usage: Some(usage), ..Around::default() },
        looks,
    }
}
