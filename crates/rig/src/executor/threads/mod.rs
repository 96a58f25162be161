//! Real threads: pinned, started together, timed by inlined stamps.

mod alarm;
mod checking;
mod exchange;
mod neighbour;
mod pulse;
mod purse;
mod regions;
mod together;
mod trace;
mod traffic;
mod watch;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kernels::{Operands, Runnable};
use machine::instruments::aperf_mperf::CycleCounters;
use machine::instruments::traffic::TrafficCounters;
use model::ticks::Stamp;
use model::{CpuId, CpuSet, Rate, Seconds, Ticks, Unavailable};
use sys::clock::Probe;

use super::super::alarm::{Alarm, RawAlarm};
use super::super::background_load::Neighbour;
use super::super::checking::{Checking, RawChecked};
use super::super::exchange::{Exchange, RawExchange};
use super::super::in_loop;
use super::super::job::{
    Around, Body, CycleReading, Density, Gaps, Interval, Load, Manner, Member, Mixture, Phase,
    RawMember, RawPhase, RawRepeat, Repeat, Step, StepKind, Tools,
};
use super::super::regions::{RawRegions, Regions};
use super::super::timed_answers::TimedAnswers;
use super::super::trace::{Look, RawTrace, Trace};
use super::super::traffic::{Placed, RawTraffic, Store, Traffic};
use super::super::watch::{Polling, RawPolling};
use super::{Executor, RunError, Stop};
use pulse::Pulse;
use purse::Purse;
pub use regions::nobody;
use together::Meeting;
use traffic::Stores;

/// Runs jobs on pinned threads, with `P` as the clock.
pub struct Threads<P> {
    rig: Arc<Rig<P>>,
    begun: Instant,
    /// How long a job may take.
    limit: Option<Seconds>,
    /// When all jobs have to be over, in time since it began.
    until: Option<Seconds>,
}

/// What threads share with who starts them, and keep where they are left behind.
struct Rig<P> {
    probe: P,
    rate: Rate<Stamp>,
    counters: Option<CycleCounters>,
    stop: Stop,
    paces: Paces,
    stores: Stores,
    /// Memory of neighbours, which nobody measures.
    beside: Stores,
    /// How much both may hold.
    purse: Purse,
    pulse: Pulse,
}

/// What was found out about loads on each CPU, so that every job need not find it out anew.
#[derive(Default)]
struct Paces {
    /// Ticks of one iteration.
    iteration: Mutex<BTreeMap<(CpuId, &'static str), f64>>,
    /// Time of one op of a payload, as a share of the time of a multiply right after it.
    op_in_multiplies: Mutex<BTreeMap<(CpuId, &'static str), f64>>,
    /// How dense a payload may be in a loop with the ruler.
    densities: Mutex<BTreeMap<(CpuId, &'static str), [u8; 2]>>,
}

/// The value of that key, computed where it is not known yet.
fn known<K: Ord, V: Copy>(map: &Mutex<BTreeMap<K, V>>, key: K, compute: impl FnOnce() -> V) -> V {
    // What a thread that panicked has left behind is whole: values are inserted at once.
    let lock = || map.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(value) = lock().get(&key) {
        return *value;
    }
    let value = compute();
    lock().insert(key, value);
    value
}

impl<P: Probe> Threads<P> {
    /// An executor whose stamps come from `probe`, which ticks at `rate`, and which reads these
    /// counters of core cycles around full phases. Its run begins now.
    pub fn new(probe: P, rate: Rate<Stamp>, counters: Option<CycleCounters>, stop: Stop) -> Self {
        let (paces, stores, beside) = (Paces::default(), Stores::default(), Stores::default());
        let (purse, pulse) = (Purse::default(), Pulse::default());
        let rig = Rig { probe, rate, counters, stop, paces, stores, beside, purse, pulse };
        Threads { rig: Arc::new(rig), begun: Instant::now(), limit: None, until: None }
    }

    /// The same for a run that began then.
    #[must_use]
    pub fn since(self, begun: Instant) -> Self {
        Threads { begun, ..self }
    }

    /// How long the next job may take; without end where nobody said.
    fn patience(&self) -> Option<Seconds> {
        let left = self.until.map(|until| Seconds((until - self.elapsed()).0.max(0.0)));
        match (self.limit, left) {
            (Some(limit), Some(left)) => Some(Seconds(limit.0.min(left.0))),
            (limit, left) => limit.or(left),
        }
    }

    /// Whether the time for all jobs is over.
    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| self.elapsed().0 >= until.0)
    }

    /// Jobs that took too long: in the middle of a run they hung, at its end there was no time for them.
    fn late(&self, cpus: CpuSet, left: CpuSet, limit: Seconds) -> RunError {
        if self.is_over() { RunError::OutOfTime } else { RunError::Hung { cpus, left, limit } }
    }

    /// Does something that may take so much longer than its limit.
    fn patiently<T>(&mut self, longer: Seconds, done: impl FnOnce(&mut Self) -> T) -> T {
        let limit = self.limit;
        self.limit = limit.map(|limit| limit + longer);
        let done = done(self);
        self.limit = limit;
        done
    }
}

impl<P: Probe> Rig<P> {
    fn ticks_in(&self, duration: Seconds) -> u64 {
        self.rate.ticks_in(duration).count()
    }
}

impl<P: Probe> Executor for Threads<P> {
    fn repeat(&mut self, job: &Repeat) -> Result<RawRepeat, RunError> {
        let cpus: Vec<CpuId> = job.members.iter().map(|member| member.cpu).collect();
        let (rig, job) = (Arc::clone(&self.rig), job.clone());
        let members = self.together(&cpus, job.manner, move |index, meeting| {
            Worker::new(&rig, job.members[index], &job, meeting).run(&job.phases)
        })?;
        Ok(RawRepeat { members })
    }

    fn exchange(&mut self, job: &Exchange) -> Result<RawExchange, RunError> {
        self.take_turns(job)
    }

    fn alarm(&mut self, job: &Alarm) -> Result<RawAlarm, RunError> {
        self.sleep(job)
    }

    fn traffic(
        &mut self,
        job: &Traffic,
        tools: &Tools,
        counters: Option<&Arc<TrafficCounters>>,
    ) -> Result<RawTraffic, RunError> {
        let wanted: Vec<(CpuId, Store)> =
            job.members.iter().map(|party| (party.cpu, party.store)).collect();
        let Rig { purse, stores, beside, .. } = &*self.rig;
        purse.take(&wanted, stores, beside)?;
        let until = stores.first_touch(wanted.into_iter());
        self.patiently(until, |threads| threads.move_data(job, tools, counters))
    }

    fn regions(&mut self, job: &Regions) -> Result<Result<RawRegions, Unavailable>, RunError> {
        self.in_a_child(job)
    }

    fn trace(&mut self, job: &Trace) -> Result<RawTrace, RunError> {
        /// What is made of looks takes as much again, and more.
        const TIMES: usize = 3;
        let bytes = job.cpus().len() * job.room() * size_of::<Look>() * TIMES;
        let Rig { purse, stores, beside, .. } = &*self.rig;
        purse.clear(bytes as u64, stores, beside);
        self.follow(job)
    }

    fn watch(&mut self, job: &Polling) -> Result<Vec<RawPolling>, RunError> {
        self.poll(job)
    }

    fn compare(&mut self, job: &Checking) -> Result<Vec<RawChecked>, RunError> {
        Threads::compare(self, job)
    }

    fn among(
        &mut self,
        neighbours: &[Neighbour],
        jobs: &mut dyn FnMut(&mut dyn Executor) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let wanted: Vec<(CpuId, Store)> =
            neighbours.iter().filter_map(|it| Some((it.cpu, it.work.store()?))).collect();
        let Rig { purse, stores, beside, .. } = &*self.rig;
        purse.used_by_neighbours(purse.take(&wanted, beside, stores)?);
        let until = beside.first_touch(wanted.into_iter());
        let done = self.patiently(until, |threads| threads.with_neighbours(neighbours, jobs));
        self.rig.purse.used_by_neighbours(0);
        done
    }

    fn allow(&mut self, bytes: u64) {
        let Rig { purse, stores, beside, .. } = &*self.rig;
        purse.allow(bytes.saturating_add(stores.held()).saturating_add(beside.held()));
    }

    fn stood_still(&self) -> Seconds {
        self.rig.pulse.stood_still()
    }

    fn placed(&self) -> Vec<Placed> {
        self.rig.stores.placed()
    }

    fn rate(&self) -> Rate<Stamp> {
        self.rig.rate
    }

    fn limit(&mut self, each: Seconds, all: Option<Seconds>) {
        (self.limit, self.until) = (Some(each), all);
    }

    fn rest(&mut self, time: Seconds) -> Result<(), RunError> {
        /// How soon an interruption is noticed.
        const NAP: Duration = Duration::from_millis(50);
        let end = Instant::now() + Duration::from_secs_f64(time.0.max(0.0));
        loop {
            if self.rig.stop.asked() {
                return Err(RunError::Interrupted);
            }
            if self.is_over() {
                return Err(RunError::OutOfTime);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(NAP));
        }
    }

    fn elapsed(&self) -> Seconds {
        Seconds(self.begun.elapsed().as_secs_f64())
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
            Body::Simulated(_) => panic!("BUG: `{}` is simulated, threads cannot run it", load.id),
        }
    }
}

/// What a step executes.
#[derive(Clone, Copy)]
enum StepWork {
    Call(Call),
    Mixed(Mixture),
    Watch,
    Rest(Duration),
    Nothing,
}

/// A step, resolved.
struct Planned {
    work: StepWork,
    iterations: u64,
    mixture: Option<Mixture>,
    /// Whether its answers are compared.
    compared: bool,
}

/// One member at work.
struct Worker<'a, P> {
    probe: P,
    cpu: CpuId,
    member: Member,
    manner: Manner,
    payload: Call,
    tools: &'a Tools,
    counters: Option<&'a CycleCounters>,
    paces: &'a Paces,
    meeting: &'a Meeting,
    ticks_per_second: f64,
    gap_short: u64,
    gap_long: u64,
    gaps: Gaps,
}

impl<'a, P: Probe> Worker<'a, P> {
    fn new(rig: &'a Rig<P>, member: Member, job: &'a Repeat, meeting: &'a Meeting) -> Self {
        Worker {
            probe: rig.probe,
            cpu: member.cpu,
            member,
            manner: job.manner,
            payload: Call::of(member.payload),
            tools: &job.tools,
            counters: rig.counters.as_ref(),
            paces: &rig.paces,
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
        let mut answers = Vec::new();
        let (mut settled, mut warm, mut migrations) = (true, false, 0);
        for phase in phases {
            if phase.has_payload() && !warm {
                settled = self.warm_up();
                warm = true;
            }
            let plan = self.plan(&phase.steps);
            self.meeting.wait()?;
            let (stamps, counted, answered) = self.measure(phase, &plan);
            self.finish(phase, &plan)?;
            for more in answered {
                RawMember::answered(&mut answers, more);
            }
            let moved = self.manner.pinned && sys::thread::current_cpu() != Some(self.cpu);
            migrations += u64::from(moved);
            let iterations = plan.iter().map(|planned| planned.iterations).collect();
            let mixtures = plan.iter().map(|planned| planned.mixture).collect();
            raw.push(RawPhase { iterations, mixtures, stamps, counted });
        }
        let usage =
            before.zip(sys::thread::usage().ok()).map(|(before, after)| difference(before, after));
        let Worker { cpu, gaps, .. } = self;
        let around = Around { settled, gaps, usage, migrations };
        Ok(RawMember { cpu, phases: raw, around, answers })
    }

    fn ticks(&self, duration: Seconds) -> u64 {
        (duration.0 * self.ticks_per_second) as u64
    }

    /// One repetition and its answer. Nothing happens between the stamps but one indirect call (invariant I3): the answer
    /// waits in its register.
    #[inline(always)]
    fn answered(&self, call: Call, iterations: u64) -> (Interval, u64) {
        self.dirty();
        let start = self.probe.stamp();
        let answer = call.kernel.run(iterations, call.operands);
        let end = self.probe.stamp();
        (Interval { start: Ticks::new(start), end: Ticks::new(end) }, answer)
    }

    /// One repetition whose answer nobody asks for.
    #[inline(always)]
    fn repetition(&self, call: Call, iterations: u64) -> Interval {
        self.answered(call, iterations).0
    }

    /// The kernels of AVX streams leave upper halves clean.
    #[inline(always)]
    fn dirty(&self) {
        if let Some(dirty) = self.manner.dirty {
            dirty.run();
        }
    }

    /// One repetition of payload and ruler in one loop.
    #[inline(always)]
    fn mixed(&self, mixture: Mixture, iterations: u64) -> Interval {
        let kernel = self.payload.kernel.in_loop()[mixture.kernel];
        self.dirty();
        let start = self.probe.stamp();
        kernel.run(iterations, mixture.multiplies, self.payload.operands);
        let end = self.probe.stamp();
        Interval { start: Ticks::new(start), end: Ticks::new(end) }
    }

    fn measure(
        &mut self,
        phase: &Phase,
        plan: &[Planned],
    ) -> (Vec<Interval>, Option<[CycleReading; 2]>, Vec<TimedAnswers>) {
        let mut stamps = Vec::with_capacity(phase.steps.len() * phase.rounds as usize);
        let mut answers: Vec<TimedAnswers> =
            plan.iter().map(|planned| TimedAnswers::of(planned.iterations)).collect();
        let (watch, settle) = (self.ticks(Seconds(50e-6)), self.ticks(phase.settle));
        let counters = self.counters.filter(|_| phase.purpose.is_counted());
        let begun = self.probe.stamp();
        let mut before = None;
        for round in 0.. {
            let elapsed = self.probe.stamp().saturating_sub(begun);
            if self.meeting.given_up() || !self.goes_on(phase, round, elapsed) {
                break;
            }
            if let (Some(counters), None, true) = (counters, &before, elapsed >= settle) {
                before = Some(self.counted(counters));
            }
            for (planned, answers) in std::iter::zip(plan, &mut answers) {
                stamps.push(match planned.work {
                    StepWork::Watch => self.watch(watch),
                    // One place that calls, whatever is compared: what a CPU predicts there stays as it is.
                    StepWork::Call(call) => {
                        let (interval, answer) = self.answered(call, planned.iterations);
                        if planned.compared {
                            answers.take(answer, 1);
                        }
                        interval
                    }
                    StepWork::Mixed(mixture) => self.mixed(mixture, planned.iterations),
                    StepWork::Rest(duration) => {
                        std::thread::sleep(duration);
                        self.moment()
                    }
                    StepWork::Nothing => self.moment(),
                });
            }
        }
        let counted = before.zip(counters).map(|(before, c)| [before, self.counted(c)]);
        (stamps, counted, answers)
    }

    /// An empty interval, now.
    fn moment(&self) -> Interval {
        let now = Ticks::new(self.probe.stamp());
        Interval { start: now, end: now }
    }

    /// Whether a phase has another round: as planned, or, where the iterations are fixed, as many as
    /// take the planned time.
    fn goes_on(&self, phase: &Phase, round: u32, elapsed: u64) -> bool {
        const ROUNDS_MIN: u32 = 3;
        const ROUNDS_MAX: u32 = 10_000;
        match self.member.iterations.filter(|_| phase.has_payload()) {
            None => round < phase.rounds,
            Some(_) if round < ROUNDS_MIN => true,
            Some(_) => round < ROUNDS_MAX && elapsed < self.ticks(phase.duration()),
        }
    }

    fn counted(&self, counters: &CycleCounters) -> CycleReading {
        let stamp = Ticks::new(self.probe.stamp());
        CycleReading { stamp, counts: counters.read(self.cpu) }
    }

    /// Keeps the core busy with the payload until all members are through.
    fn finish(&self, phase: &Phase, plan: &[Planned]) -> Result<(), RunError> {
        let payload = phase.steps.iter().position(|step| step.what == StepKind::Payload);
        self.meeting.wait_doing(|| match payload {
            Some(index) => {
                self.payload.kernel.run(plan[index].iterations, self.payload.operands);
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

    /// What each step executes, and the iterations that take about as long as it asks for. Steps of
    /// one kind and target are sized alike: n against 2n means exactly twice.
    fn plan(&self, steps: &[Step]) -> Vec<Planned> {
        steps.iter().map(|step| self.planned(step)).collect()
    }

    fn planned(&self, step: &Step) -> Planned {
        let plain = |work, iterations| Planned { work, iterations, mixture: None, compared: false };
        let target = self.ticks(step.target) as f64;
        let sized = |iteration: f64| ((target / iteration) as u64).max(1) * step.multiple;
        let tool = |load: Load| plain(StepWork::Call(Call::of(load)), sized(self.pace(load)));
        match step.what {
            StepKind::Watch => plain(StepWork::Watch, 1),
            StepKind::Rest => plain(StepWork::Rest(Duration::from_secs_f64(step.duration().0)), 1),
            StepKind::Null => plain(StepWork::Call(Call::of(self.tools.null)), 1),
            StepKind::Ruler => tool(self.tools.ruler),
            StepKind::Witness => tool(self.tools.witness),
            StepKind::Payload => {
                let planned = match self.member.iterations {
                    Some(fixed) => plain(StepWork::Call(self.payload), fixed * step.multiple),
                    None => tool(self.member.payload),
                };
                Planned { compared: self.manner.compared, ..planned }
            }
            StepKind::InLoop { density } => {
                let Some(mixture) = self.mixture(density) else {
                    return plain(StepWork::Nothing, 0);
                };
                Planned {
                    work: StepWork::Mixed(mixture),
                    iterations: sized(self.mixed_pace(mixture)),
                    mixture: Some(mixture),
                    compared: false,
                }
            }
        }
    }

    fn ruler_ops(&self) -> f64 {
        self.tools.ruler.ops_per_iteration as f64
    }

    /// Payload and ruler in one loop, about as dense as this.
    fn mixture(&self, density: Density) -> Option<Mixture> {
        let payload = self.member.payload;
        payload.in_loop_ops?;
        let per_cent = match density {
            Density::PerCent(per_cent) => per_cent,
            Density::Dense | Density::Sparse => {
                density.per_cent(known(&self.paces.densities, (self.cpu, payload.id), || {
                    self.densities()
                }))
            }
        };
        self.mixture_of(per_cent)
    }

    fn mixture_of(&self, per_cent: u8) -> Option<Mixture> {
        let payload = self.member.payload;
        let paces = &self.paces.op_in_multiplies;
        let op = known(paces, (self.cpu, payload.id), || self.op_in_multiplies());
        in_loop::nearest(payload.in_loop_ops?, op, per_cent)
    }

    /// Ticks of one iteration of payload and ruler in one loop, where the ruler takes the longer.
    fn mixed_pace(&self, mixture: Mixture) -> f64 {
        self.pace(self.tools.ruler) / self.ruler_ops() * f64::from(mixture.multiplies)
    }

    /// The first pair of densities at which a multiply takes the same time: where the denser payload holds the chain up,
    /// it takes longer.
    fn densities(&self) -> [u8; 2] {
        const ROUNDS: usize = 9;
        /// Half of what refutes a clock.
        const NEAR: f64 = 0.005;
        let payload_iterations = self.iterations_in(self.member.payload, Seconds(45e-6));
        let multiply = |mixture: Mixture| {
            let target = self.ticks(Seconds(10e-6)) as f64;
            let iterations = ((target / self.mixed_pace(mixture)) as u64).max(1);
            self.repetition(self.payload, payload_iterations);
            let ticks = self.mixed(mixture, iterations).length().count();
            ticks as f64 / (iterations as f64 * f64::from(mixture.multiplies))
        };
        let agree = |pair: &[u8; 2]| {
            let [Some(dense), Some(sparse)] = pair.map(|density| self.mixture_of(density)) else {
                return false;
            };
            let ratios: Vec<f64> = std::iter::repeat_n((), ROUNDS)
                .map(|()| multiply(dense) / multiply(sparse))
                .collect();
            model::stats::median(&ratios).is_some_and(|ratio| (ratio - 1.0).abs() <= NEAR)
        };
        let is_over = || self.meeting.given_up();
        let found = in_loop::PAIRS.iter().find(|pair| is_over() || agree(pair));
        *found.unwrap_or(&in_loop::PAIRS[0])
    }

    /// Time of one op of the payload, as a share of the time of a multiply right after it.
    fn op_in_multiplies(&self) -> f64 {
        const PAIRS: usize = 9;
        let ruler = Call::of(self.tools.ruler);
        let payload_iterations = self.iterations_in(self.member.payload, Seconds(45e-6));
        let ruler_iterations = self.iterations_in(self.tools.ruler, Seconds(3e-6));
        let ops = (payload_iterations * self.member.payload.ops_per_iteration) as f64;
        let multiplies = ruler_iterations as f64 * self.ruler_ops();
        let ratio = |()| {
            let payload = self.repetition(self.payload, payload_iterations).length().count();
            let ruler = self.repetition(ruler, ruler_iterations).length().count().max(1);
            (payload as f64 / ops) / (ruler as f64 / multiplies)
        };
        let ratios: Vec<f64> = std::iter::repeat_n((), PAIRS).map(ratio).collect();
        model::stats::median(&ratios).unwrap_or(f64::NAN)
    }

    fn iterations_in(&self, load: Load, duration: Seconds) -> u64 {
        ((self.ticks(duration) as f64 / self.pace(load)) as u64).max(1)
    }

    /// Ticks of one iteration of a load.
    fn pace(&self, load: Load) -> f64 {
        known(&self.paces.iteration, (self.cpu, load.id), || self.measured_pace(Call::of(load)))
    }

    fn measured_pace(&self, call: Call) -> f64 {
        /// The least of a few is the one that nothing interrupted.
        const TRIES: usize = 4;
        /// A clock that stands still must not keep us: no kernel does more in a tenth of a second.
        const ITERATIONS_MAX: u64 = 1 << 24;
        let enough = self.ticks(Seconds(10e-6));
        let fastest = |iterations| {
            let lengths = (0..TRIES).map(|_| self.repetition(call, iterations).length().count());
            lengths.min().unwrap_or(1).max(1)
        };
        let mut iterations = 1;
        loop {
            let length = fastest(iterations);
            if length >= enough || iterations >= ITERATIONS_MAX || self.meeting.given_up() {
                return length as f64 / iterations as f64;
            }
            iterations *= 2;
        }
    }

    /// Repeats the payload until its timings agree, and says whether they did before the time limit.
    fn warm_up(&self) -> bool {
        const AGREEING: u32 = 5;
        const TOLERANCE: f64 = 0.005;
        let limit = self.ticks(self.manner.warm_up_max);
        if limit == 0 {
            return true;
        }
        let begun = self.probe.stamp();
        let iterations = self.iterations_in(self.member.payload, Seconds(10e-6));
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
