//! Threads that look at themselves about every microsecond, one of them under a payload.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::{Seconds, Ticks};
use sys::clock::Probe;

use super::super::super::job::{Around, Manner, Member, Repeat};
use super::super::super::trace::{CHAIN, Look, PIECE, RawTrace, RawTraced, Trace};
use super::super::RunError;
use super::{Call, Meeting, Rig, Threads, Worker, difference};

/// What one thread does in each look.
struct LookPlan {
    adds: (Call, u64),
    multiplies: (Call, u64),
    payload: Option<(Call, u64)>,
}

impl<P: Probe> Threads<P> {
    /// Runs a trace; all threads have the same periods.
    pub(super) fn follow(&self, job: &Trace) -> Result<RawTrace, RunError> {
        let begun = Arc::new(AtomicU64::new(0));
        let payload = job.payload.unwrap_or(job.tools.null);
        let member = |&cpu| Member::new(cpu, payload);
        let repeat = Repeat {
            members: job.cpus().iter().map(member).collect(),
            phases: Vec::new(),
            tools: job.tools,
            manner: Manner::USUAL,
        };
        let (rig, job, start) = (Arc::clone(&self.rig), job.clone(), Arc::clone(&begun));
        let cpus = self.together(&job.cpus(), Manner::USUAL, move |index, meeting| {
            let worker = Worker::new(&rig, repeat.members[index], &repeat, meeting);
            let sized = |load, time| (Call::of(load), worker.iterations_in(load, time));
            let plan = LookPlan {
                adds: sized(job.tools.witness, CHAIN),
                multiplies: sized(job.tools.ruler, CHAIN),
                payload: job.payload.filter(|_| index == 0).map(|load| sized(load, PIECE)),
            };
            // Memory that is touched for the first time would be a gap.
            let mut looks = vec![Look { stamps: [1; 3], waited: [1; 2] }; job.room()];
            let before = sys::thread::usage().ok();
            if index == 0 {
                let soon = rig.probe.stamp() + rig.ticks_in(Seconds(0.2e-3));
                start.store(soon, Ordering::Release);
            }
            meeting.wait()?;
            let begun = start.load(Ordering::Acquire);
            let taken = rig.look(&job, &plan, begun, &mut looks, meeting)?;
            looks.truncate(taken);
            let usage = before.zip(sys::thread::usage().ok());
            let usage = usage.map(|(before, after)| difference(before, after));
            let cpu = repeat.members[index].cpu;
            let moved = u64::from(sys::thread::current_cpu() != Some(cpu));
            let around = Around { settled: true, usage, migrations: moved, ..Around::default() };
            Ok(RawTraced { cpu, looks, iterations: [plan.adds.1, plan.multiplies.1], around })
        })?;
        Ok(RawTrace { begun: Ticks::new(begun.load(Ordering::Acquire)), cpus })
    }
}

impl<P: Probe> Rig<P> {
    /// Looks until the last period ends, and how many there were. Nothing but chains, payload and stamps happens
    /// between two of them (invariant I3).
    fn look(
        &self,
        job: &Trace,
        plan: &LookPlan,
        begun: u64,
        looks: &mut [Look],
        meeting: &Meeting,
    ) -> Result<usize, RunError> {
        let (period, burst) = (self.ticks_in(job.period).max(1), self.ticks_in(job.burst));
        let (end, pace) = (begun + period * u64::from(job.periods), self.ticks_in(job.pace()));
        while self.probe.stamp() < begun {
            std::hint::spin_loop();
        }
        let (mut taken, mut next, mut last) = (0, begun, begun);
        let mut dither = Dither(begun);
        for look in looks {
            let mut waited = [last; 2];
            let mut poll = |now: u64| {
                if now.saturating_sub(last) > waited[1] - waited[0] {
                    waited = [last, now];
                }
                last = now;
            };
            // The payload runs on until the look is due.
            let now = loop {
                let now = self.probe.stamp();
                poll(now);
                if let Some((payload, iterations)) = &plan.payload
                    && now.saturating_sub(begun) % period < burst
                {
                    payload.kernel.run(*iterations, payload.operands);
                }
                if now >= next {
                    break now;
                }
            };
            if now >= end {
                break;
            }
            next = now + pace;
            dither.pass();
            let first = self.probe.stamp();
            poll(first);
            plan.adds.0.kernel.run(plan.adds.1, plan.adds.0.operands);
            let second = self.probe.stamp();
            plan.multiplies.0.kernel.run(plan.multiplies.1, plan.multiplies.0.operands);
            last = self.probe.stamp();
            *look = Look { stamps: [first, second, last], waited };
            taken += 1;
            if meeting.given_up() {
                return Err(RunError::Interrupted);
            }
        }
        Ok(taken)
    }
}

/// What looks wait for, so that they begin anywhere between two steps of the stamps: else a loop and a counter whose
/// clocks are multiples of one would always meet at the same few places, and no mean of looks would be free of steps.
struct Dither(u64);

impl Dither {
    /// Lets some cycles pass, up to a hundred or two; no two times the same number but by chance.
    fn pass(&mut self) {
        // The constants are Knuth's (MMIX); upper bits are the random ones.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        for trip in 0..self.0 >> 58 {
            std::hint::black_box(trip);
        }
    }
}
