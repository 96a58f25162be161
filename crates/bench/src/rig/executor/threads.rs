//! Real threads: pinned, started together, timed by inlined stamps.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use kernels::{Operands, Runnable};
use model::ticks::Stamp;
use model::{CpuId, Rate, Seconds, Ticks};
use sys::clock::Probe;

use super::super::job::{
    Body, Exchange, Gaps, Interval, Load, Member, Phase, RawExchange, RawMember, RawPhase,
    RawRepeat, Repeat, Step, Tools, What,
};
use super::{Executor, RunError, Stop};

/// Runs jobs on pinned threads, with `P` as the clock.
pub struct Threads<P> {
    probe: P,
    rate: Rate<Stamp>,
    stop: Stop,
    begun: Instant,
}

impl<P: Probe> Threads<P> {
    /// An executor whose stamps come from `probe`, which ticks at `rate`.
    pub fn new(probe: P, rate: Rate<Stamp>, stop: Stop) -> Self {
        Threads { probe, rate, stop, begun: Instant::now() }
    }

    fn ticks_in(&self, duration: Seconds) -> u64 {
        self.rate.ticks_in(duration).count()
    }

    /// Starts one thread for each CPU, pins it, and lets all of them begin together.
    fn together<T: Send>(
        &self,
        cpus: &[CpuId],
        body: impl Fn(usize, &Meeting<'_>) -> Result<T, RunError> + Sync,
    ) -> Result<Vec<T>, RunError> {
        let meeting = Meeting::new(cpus.len(), &self.stop);
        let (meeting, body) = (&meeting, &body);
        std::thread::scope(|scope| {
            let mut threads = Vec::with_capacity(cpus.len());
            let mut spawn_error = None;
            for (index, &cpu) in cpus.iter().enumerate() {
                let thread = std::thread::Builder::new().name(format!("cpu {cpu}"));
                let begun = thread.spawn_scoped(scope, move || {
                    let attendance = Attendance(meeting);
                    sys::affinity::pin(cpu).map_err(|source| RunError::Pin { cpu, source })?;
                    meeting.wait()?;
                    let result = body(index, meeting)?;
                    attendance.kept();
                    Ok(result)
                });
                match begun {
                    Ok(thread) => threads.push(thread),
                    Err(source) => {
                        meeting.abandon();
                        spawn_error = Some(RunError::Spawn { cpu, source });
                        break;
                    }
                }
            }
            let results: Vec<_> = threads
                .into_iter()
                .map(|thread| {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect();
            match spawn_error {
                Some(error) => Err(error),
                None => first_cause(results),
            }
        })
    }
}

/// All values, or the error that made the others give up.
fn first_cause<T>(results: Vec<Result<T, RunError>>) -> Result<Vec<T>, RunError> {
    let mut values = Vec::with_capacity(results.len());
    let mut error = None;
    for result in results {
        match (result, &error) {
            (Ok(value), _) => values.push(value),
            (Err(cause), None | Some(RunError::Interrupted)) => error = Some(cause),
            (Err(_), Some(_)) => {}
        }
    }
    error.map_or(Ok(values), Err)
}

impl<P: Probe> Executor for Threads<P> {
    fn repeat(&mut self, job: &Repeat) -> Result<RawRepeat, RunError> {
        let cpus: Vec<CpuId> = job.members.iter().map(|member| member.cpu).collect();
        let members = self.together(&cpus, |index, meeting| {
            Worker::new(self, job.members[index], &job.tools, meeting).run(&job.phases)
        })?;
        Ok(RawRepeat { members })
    }

    fn exchange(&mut self, job: &Exchange) -> Result<RawExchange, RunError> {
        let ball = Ball::default();
        let mut sides = self.together(&[job.first, job.second], |side, meeting| {
            play(self.probe, &ball, job, side == 0, meeting)
        })?;
        Ok(RawExchange { stretches: sides.swap_remove(0) })
    }

    fn rate(&self) -> Rate<Stamp> {
        self.rate
    }

    fn elapsed(&self) -> Seconds {
        Seconds(self.begun.elapsed().as_secs_f64())
    }
}

/// Where threads wait for each other: hot, because a futex would put the cores to sleep.
struct Meeting<'a> {
    members: usize,
    arrived: AtomicU64,
    abandoned: AtomicBool,
    stop: &'a Stop,
}

/// Whoever leaves early, by an error or by a panic, must not leave the others waiting for it.
struct Attendance<'a>(&'a Meeting<'a>);

impl Attendance<'_> {
    /// Nobody waits for this thread any more.
    fn kept(self) {
        std::mem::forget(self);
    }
}

impl Drop for Attendance<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl<'a> Meeting<'a> {
    fn new(members: usize, stop: &'a Stop) -> Self {
        Meeting { members, arrived: AtomicU64::new(0), abandoned: AtomicBool::new(false), stop }
    }

    fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
    }

    fn given_up(&self) -> bool {
        self.abandoned.load(Ordering::Acquire) || self.stop.asked()
    }

    /// Waits until every member has come here as often as this one.
    fn wait(&self) -> Result<(), RunError> {
        self.wait_doing(|| {
            std::hint::spin_loop();
        })
    }

    /// The same, doing something useful meanwhile.
    fn wait_doing(&self, mut meanwhile: impl FnMut()) -> Result<(), RunError> {
        /// With fewer CPUs than threads (a cgroup quota) the others need ours to arrive at all.
        const SPINS_BEFORE_YIELD: u32 = 100_000;
        let members = self.members as u64;
        let ticket = self.arrived.fetch_add(1, Ordering::AcqRel);
        let full = (ticket / members + 1) * members;
        let mut spins = 0;
        while self.arrived.load(Ordering::Acquire) < full {
            if self.given_up() {
                return Err(RunError::Interrupted);
            }
            meanwhile();
            spins += 1;
            if spins > SPINS_BEFORE_YIELD {
                std::thread::yield_now();
            }
        }
        if self.given_up() { Err(RunError::Interrupted) } else { Ok(()) }
    }
}

/// A load, resolved to what the timed loop needs.
#[derive(Clone, Copy)]
struct Call {
    kernel: Runnable,
    operands: &'static Operands,
}

impl Call {
    fn of(load: Load) -> Call {
        match load.body {
            Body::Kernel(kernel, operands) => Call { kernel, operands },
            Body::Simulated => panic!("BUG: `{}` is simulated, threads cannot run it", load.id),
        }
    }
}

/// One member at work.
struct Worker<'a, P> {
    probe: P,
    cpu: CpuId,
    payload: Call,
    ruler: Call,
    witness: Call,
    null: Call,
    meeting: &'a Meeting<'a>,
    ticks_per_second: f64,
    gap_short: u64,
    gap_long: u64,
    gaps: Gaps,
}

impl<'a, P: Probe> Worker<'a, P> {
    fn new(rig: &Threads<P>, member: Member, tools: &Tools, meeting: &'a Meeting<'a>) -> Self {
        Worker {
            probe: rig.probe,
            cpu: member.cpu,
            payload: Call::of(member.payload),
            ruler: Call::of(tools.ruler),
            witness: Call::of(tools.witness),
            null: Call::of(tools.null),
            meeting,
            ticks_per_second: rig.rate.hertz().0,
            gap_short: rig.ticks_in(Seconds(1e-6)),
            gap_long: rig.ticks_in(Seconds(10e-6)),
            gaps: Gaps::default(),
        }
    }

    fn run(mut self, phases: &[Phase]) -> Result<RawMember, RunError> {
        let before = sys::thread::usage().ok();
        let mut raw = Vec::with_capacity(phases.len());
        let (mut settled, mut warm, mut migrations) = (true, false, 0);
        for phase in phases {
            if phase.has_payload() && !warm {
                settled = self.warm_up();
                warm = true;
            }
            let iterations = self.iterations_for(&phase.steps);
            self.meeting.wait()?;
            let stamps = self.measure(phase, &iterations);
            self.finish(phase, &iterations)?;
            migrations += u64::from(sys::thread::current_cpu() != Some(self.cpu));
            raw.push(RawPhase { iterations, stamps });
        }
        let usage =
            before.zip(sys::thread::usage().ok()).map(|(before, after)| difference(before, after));
        let Worker { cpu, gaps, .. } = self;
        Ok(RawMember { cpu, phases: raw, settled, gaps, usage, migrations })
    }

    fn call_of(&self, what: What) -> Call {
        match what {
            What::Payload => self.payload,
            What::Ruler => self.ruler,
            What::Witness => self.witness,
            What::Null | What::Watch => self.null,
        }
    }

    fn ticks(&self, duration: Seconds) -> u64 {
        (duration.0 * self.ticks_per_second) as u64
    }

    /// One repetition. Nothing happens between the stamps but one indirect call (invariant I3).
    #[inline(always)]
    fn repetition(&self, call: Call, iterations: u64) -> Interval {
        let start = self.probe.stamp();
        call.kernel.run(iterations, call.operands);
        let end = self.probe.stamp();
        Interval { start: Ticks::new(start), end: Ticks::new(end) }
    }

    fn measure(&mut self, phase: &Phase, iterations: &[u64]) -> Vec<Interval> {
        let count = phase.steps.len() * phase.rounds as usize;
        let mut stamps = Vec::with_capacity(count);
        let calls: Vec<(What, Call, u64)> = std::iter::zip(&phase.steps, iterations)
            .map(|(step, &iterations)| (step.what, self.call_of(step.what), iterations))
            .collect();
        let watch = self.ticks(Seconds(50e-6));
        for _ in 0..phase.rounds {
            for &(what, call, iterations) in &calls {
                stamps.push(match what {
                    What::Watch => self.watch(watch),
                    _ => self.repetition(call, iterations),
                });
            }
            if self.meeting.given_up() {
                break;
            }
        }
        stamps
    }

    /// Keeps the core busy with the payload until all members are through.
    fn finish(&self, phase: &Phase, iterations: &[u64]) -> Result<(), RunError> {
        let payload = phase.steps.iter().position(|step| step.what == What::Payload);
        self.meeting.wait_doing(|| match payload {
            Some(index) => {
                self.payload.kernel.run(iterations[index], self.payload.operands);
            }
            None => std::hint::spin_loop(),
        })
    }

    /// Reads the clock in a tight loop for as long as `ticks`, and counts where it jumps.
    fn watch(&mut self, ticks: u64) -> Interval {
        let begun = self.probe.stamp();
        let mut last = begun;
        while last.saturating_sub(begun) < ticks && !self.meeting.given_up() {
            let now = self.probe.stamp();
            let step = now.saturating_sub(last);
            if step > self.gap_short {
                self.gaps.lost += step;
                self.gaps.long += u64::from(step > self.gap_long);
            }
            last = now;
        }
        self.gaps.polled += last.saturating_sub(begun);
        Interval { start: Ticks::new(last), end: Ticks::new(last) }
    }

    /// The iterations that take about as long as the steps ask for. Steps of one kind and target are
    /// sized once: n against 2n means exactly twice.
    fn iterations_for(&self, steps: &[Step]) -> Vec<u64> {
        let mut known: Vec<(What, u64, u64)> = Vec::new();
        let mut single = |step: &Step| {
            let target = self.ticks(step.target);
            if matches!(step.what, What::Null | What::Watch) {
                return 1;
            }
            if let Some(known) =
                known.iter().find(|known| (known.0, known.1) == (step.what, target))
            {
                return known.2;
            }
            let iterations = self.sized(self.call_of(step.what), target);
            known.push((step.what, target, iterations));
            iterations
        };
        steps.iter().map(|step| single(step) * step.multiple).collect()
    }

    fn sized(&self, call: Call, target: u64) -> u64 {
        /// The least of a few is the one that nothing interrupted.
        const TRIES: usize = 4;
        /// A clock that stands still must not keep us: no kernel does more in a tenth of a second.
        const ITERATIONS_MAX: u64 = 1 << 24;
        let fastest = |iterations| {
            let lengths = (0..TRIES).map(|_| self.repetition(call, iterations).length().count());
            lengths.min().unwrap_or(1).max(1)
        };
        let mut iterations = 1;
        loop {
            let length = fastest(iterations);
            // Half of the target is enough to extrapolate from: stamps cost a few per cent of it.
            if length * 2 >= target || iterations >= ITERATIONS_MAX || self.meeting.given_up() {
                return (iterations * target / length).clamp(1, ITERATIONS_MAX);
            }
            iterations *= 2;
        }
    }

    /// Repeats the payload until its timings agree, and says whether they did before the time limit.
    fn warm_up(&self) -> bool {
        const AGREEING: u32 = 5;
        const TOLERANCE: f64 = 0.005;
        let target = self.ticks(Seconds(10e-6));
        let limit = self.ticks(Seconds(20e-3));
        let iterations = self.sized(self.payload, target);
        let begun = self.probe.stamp();
        let mut reference = f64::NAN;
        let mut agreeing = 0;
        loop {
            let interval = self.repetition(self.payload, iterations);
            let length = interval.length().count() as f64;
            let agrees = (length / reference - 1.0).abs() <= TOLERANCE;
            agreeing = if agrees { agreeing + 1 } else { 0 };
            if !agrees {
                reference = length;
            }
            if agreeing >= AGREEING {
                return true;
            }
            if interval.end.count().saturating_sub(begun) > limit || self.meeting.given_up() {
                return false;
            }
        }
    }
}

fn difference(before: sys::thread::Usage, after: sys::thread::Usage) -> sys::thread::Usage {
    sys::thread::Usage {
        voluntary_switches: after.voluntary_switches - before.voluntary_switches,
        involuntary_switches: after.involuntary_switches - before.involuntary_switches,
        page_faults: after.page_faults - before.page_faults,
    }
}

/// A cache line of its own (two, because the adjacent line may be fetched with it).
#[repr(align(128))]
#[derive(Default)]
struct Ball(AtomicU32);

/// One side of the exchange: odd numbers are served, even ones returned.
fn play<P: Probe>(
    probe: P,
    ball: &Ball,
    job: &Exchange,
    serves: bool,
    meeting: &Meeting<'_>,
) -> Result<Vec<Interval>, RunError> {
    /// How often the other side is polled before looking whether anybody gave up.
    const POLLS: u32 = 1 << 16;
    let mut stretches = Vec::with_capacity(job.repetitions as usize);
    let mut number = 0;
    let await_number = |number: u32| -> Result<(), RunError> {
        let mut polls = 0;
        while ball.0.load(Ordering::Acquire) != number {
            polls += 1;
            if polls >= POLLS {
                if meeting.given_up() {
                    return Err(RunError::Interrupted);
                }
                std::thread::yield_now();
                polls = 0;
            }
        }
        Ok(())
    };
    for _ in 0..job.repetitions {
        let start = probe.stamp();
        for _ in 0..job.round_trips {
            if serves {
                ball.0.store(number + 1, Ordering::Release);
                await_number(number + 2)?;
            } else {
                await_number(number + 1)?;
                ball.0.store(number + 2, Ordering::Release);
            }
            number += 2;
        }
        let end = probe.stamp();
        stretches.push(Interval { start: Ticks::new(start), end: Ticks::new(end) });
    }
    Ok(stretches)
}
