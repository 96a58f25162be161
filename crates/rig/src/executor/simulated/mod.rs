//! A model instead of threads: makes the stamps that a described machine would.
//!
//! What is put in (bins by licence and active cores, drift, noise, interrupts, a busy sibling) must
//! come out again as numbers and findings; tests hold the rig to that. One seed, one run.

mod checking;
mod regions;
mod signals;
mod trace;
mod traffic;
mod watch;

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::io;
use std::sync::Arc;

use fastrand::Rng;
use machine::instruments::aperf_mperf::Counts;
use machine::instruments::traffic::TrafficCounters;
use model::ticks::Stamp;
use model::{CpuId, CpuSet, Rate, Seconds, Ticks, Unavailable};
use simulated::{Budget, Busy, Fault, Left, Model, Rise};
use sys::errno::EINVAL;

use super::super::alarm::{Alarm, RawAlarm};
use super::super::background_load::Neighbour;
use super::super::checking::{Checking, RawChecked};
use super::super::exchange::{Exchange, Pace, RawExchange};
use super::super::in_loop;
use super::super::job::{
    Around, CycleReading, Gaps, Interval, Load, Member, Mixture, Phase, RawMember, RawPhase,
    RawRepeat, Repeat, Step, StepKind, Tools,
};
use super::super::regions::{RawRegions, Regions};
use super::super::trace::{RawTrace, Trace};
use super::super::traffic::{Placed, RawTraffic, Traffic};
use super::super::watch::{Polling, RawPolling};
use super::{Executor, RunError, Stop};

/// Answers jobs from a model.
pub struct Simulated {
    model: Model,
    rate: Rate<Stamp>,
    random: Rng,
    stop: Stop,
    /// Who works beside the jobs of this moment.
    neighbours: Vec<Neighbour>,
    /// Bytes of changed lines that the job before has left in caches, by the node that they belong to.
    dirty: BTreeMap<u32, f64>,
    /// How long a job may take.
    limit: Option<Seconds>,
    /// When all jobs have to be over.
    until: Option<Seconds>,
    /// Right answers: of a stream, with operands at that address, after so many iterations.
    right: BTreeMap<(&'static str, usize, u64), u64>,
}

/// What a job costs beside its repetitions.
const START: Seconds = Seconds(0.5e-3);

impl Simulated {
    /// An executor for this model. `rate` is what calibration believes of its clock.
    pub fn new(model: Model, rate: Rate<Stamp>, stop: Stop) -> Self {
        let random = Rng::with_seed(model.seed);
        let (neighbours, dirty) = (Vec::new(), BTreeMap::new());
        let (limit, until, right) = (None, None, BTreeMap::new());
        Simulated { model, rate, random, stop, neighbours, dirty, limit, until, right }
    }

    /// Where the neighbours of this moment are, and what they do.
    fn busy(&self) -> Vec<(CpuId, &'static str)> {
        self.neighbours.iter().map(|it| (it.cpu, it.work.id())).collect()
    }

    /// Time has passed until then, in which a job had CPUs do this, and their neighbours worked all the time.
    fn passed(&self, end: Seconds, mut did: Vec<(CpuId, Busy)>) {
        let seconds = (end - self.model.elapsed.seconds()).0;
        let beside = self.neighbours.iter().map(|it| it.cpu);
        let at_work: Vec<CpuId> = did.iter().map(|(cpu, _)| *cpu).chain(beside).collect();
        did.extend(self.neighbours.iter().map(|Neighbour { cpu, work, .. }| {
            let licence = self.model.licence_of(work.id()).unwrap_or(0);
            let cycles = seconds * self.model.hz_at_work(*cpu, licence, &at_work);
            (*cpu, Busy { seconds, cycles })
        }));
        self.model.worked_until(end, &did);
    }

    /// The same, where they did light work all the time.
    fn worked(&self, end: Seconds, cpus: &[CpuId]) {
        let seconds = (end - self.model.elapsed.seconds()).0;
        let did = |cpu: &CpuId| {
            (*cpu, Busy { seconds, cycles: seconds * self.model.hz_at_work(*cpu, 0, cpus) })
        };
        self.passed(end, cpus.iter().map(did).collect());
    }

    /// What they leave a CPU.
    fn left(&self, cpu: CpuId) -> Left {
        self.model.left_by(cpu, &self.busy())
    }

    fn checked(&mut self, cpus: &[CpuId]) -> Result<(), RunError> {
        if self.model.topology.quota_cpus.is_some() {
            self.model.noise.quota_share = self.model.topology.stopped_by_quota(cpus.len());
        }
        if self.stop.asked() {
            return Err(RunError::Interrupted);
        }
        let online = self.model.online();
        let lost = self.model.lost_cpu();
        let is_off = |cpu: &&CpuId| lost == Some(**cpu) || !online.contains(**cpu);
        match cpus.iter().find(is_off) {
            // As sched_setaffinity(2) refuses CPUs that are offline.
            Some(&cpu) => Err(RunError::Pin { cpu, source: io::Error::from_raw_os_error(EINVAL) }),
            None => Ok(()),
        }
    }
}

impl Executor for Simulated {
    fn repeat(&mut self, job: &Repeat) -> Result<RawRepeat, RunError> {
        let cpus: Vec<CpuId> = job.members.iter().map(|member| member.cpu).collect();
        self.checked(&cpus)?;
        let begun = self.model.elapsed.seconds() + START;
        let active: Vec<CpuId> =
            cpus.iter().copied().chain(self.neighbours.iter().map(|it| it.cpu)).collect();
        let budgets = budgets(&self.model, &job.members, &self.neighbours);
        let busy = self.busy();
        let mut cores: Vec<SimulatedCore<'_>> = job
            .members
            .iter()
            .map(|member| {
                let random = self.random.fork();
                let core =
                    SimulatedCore::new(&self.model, &active, *member, &job.tools, begun, random);
                let left = self.model.left_by(member.cpu, &busy);
                let budget = budgets.get(&self.model.package_of(member.cpu)).copied();
                let beside = licence_beside(&self.model, member.cpu, &busy);
                SimulatedCore { budget, left, beside, ..core }
            })
            .collect();
        for phase in &job.phases {
            for core in &mut cores {
                core.run(phase);
            }
            // Members enter the next phase together.
            let last = cores.iter().map(|core| core.line.now.0).fold(begun.0, f64::max);
            for core in &mut cores {
                core.line.now = Seconds(last);
            }
        }
        let end = cores.iter().map(|core| core.line.now.0).fold(begun.0, f64::max);
        let did: Vec<(CpuId, Busy)> =
            cores.iter().map(|core| (core.raw.cpu, core.did(begun))).collect();
        let mut members: Vec<RawMember> = cores.into_iter().map(|core| core.raw).collect();
        self.passed(Seconds(end), did);
        for (package, budget) in &budgets {
            self.model.spend(*package, budget);
        }
        checking::time_answers(self, job, &mut members);
        Ok(RawRepeat { members })
    }

    fn exchange(&mut self, job: &Exchange) -> Result<RawExchange, RunError> {
        self.checked(&[job.first, job.second])?;
        let is_signal = self.model.signals.contains_key(job.id);
        if let Some(limit) = self.limit.filter(|_| is_signal && self.model.has(Fault::SignalsHang))
        {
            let late = self.elapsed() + limit;
            let until = self.until.filter(|until| until.0 <= late.0);
            self.worked(until.unwrap_or(late), &[]);
            let cpus: CpuSet = [job.first, job.second].into_iter().collect();
            let hung = RunError::Hung { left: cpus.clone(), cpus, limit };
            return Err(until.map_or(hung, |_| RunError::OutOfTime));
        }
        if job.pace != Pace::Rally || is_signal {
            return Ok(signals::exchange(self, job));
        }
        let begun = self.model.elapsed.seconds() + START;
        let mut line = CpuTimeline { model: &self.model, now: begun, random: self.random.fork() };
        let round_trip = self.model.distance(job.first, job.second) * 2.0;
        let stretch = round_trip * f64::from(job.round_trips);
        let stretches = (0..job.stretches).map(|_| line.pass(stretch)).collect();
        let end = line.now;
        self.worked(end, &[job.first, job.second]);
        let around = [Around { settled: true, ..Around::default() }; 2];
        let stamp_cost = Ticks::new(self.model.clock.stamp_cost_ticks);
        let (trips, looks) = (Vec::new(), Vec::new());
        Ok(RawExchange { stretches, trips, stamp_cost, around, looks })
    }

    fn alarm(&mut self, job: &Alarm) -> Result<RawAlarm, RunError> {
        self.checked(&[job.cpu])?;
        Ok(signals::alarm(self, job))
    }

    fn traffic(
        &mut self,
        job: &Traffic,
        _tools: &Tools,
        counters: Option<&Arc<TrafficCounters>>,
    ) -> Result<RawTraffic, RunError> {
        self.checked(&job.cpus())?;
        Ok(traffic::simulate(self, job, counters.map(|counters| &**counters)))
    }

    fn regions(&mut self, job: &Regions) -> Result<Result<RawRegions, Unavailable>, RunError> {
        self.checked(&job.cpus)?;
        Ok(regions::simulate(self, job))
    }

    fn trace(&mut self, job: &Trace) -> Result<RawTrace, RunError> {
        self.checked(&job.cpus())?;
        Ok(trace::simulate(self, job))
    }

    fn watch(&mut self, job: &Polling) -> Result<Vec<RawPolling>, RunError> {
        self.checked(&job.cpus)?;
        Ok(watch::watch(self, job))
    }

    fn compare(&mut self, job: &Checking) -> Result<Vec<RawChecked>, RunError> {
        self.checked(&job.cpus)?;
        Ok(checking::compare(self, job))
    }

    fn among(
        &mut self,
        neighbours: &[Neighbour],
        jobs: &mut dyn FnMut(&mut dyn Executor) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        self.checked(&neighbours.iter().map(|neighbour| neighbour.cpu).collect::<Vec<_>>())?;
        self.neighbours = neighbours.to_vec();
        let done = jobs(self);
        self.neighbours.clear();
        done
    }

    fn placed(&self) -> Vec<Placed> {
        Vec::new()
    }

    fn rate(&self) -> Rate<Stamp> {
        self.rate
    }

    fn limit(&mut self, each: Seconds, all: Option<Seconds>) {
        (self.limit, self.until) = (Some(each), all);
    }

    fn rest(&mut self, time: Seconds) -> Result<(), RunError> {
        self.model.elapsed.advance(time);
        Ok(())
    }

    fn elapsed(&self) -> Seconds {
        self.model.elapsed.seconds()
    }
}

/// The heaviest licence that neighbours have on the core of a CPU: its threads have one clock.
fn licence_beside(model: &Model, cpu: CpuId, neighbours: &[(CpuId, &str)]) -> usize {
    let core = model.core_of(cpu);
    let siblings = neighbours.iter().filter(|(other, _)| model.core_of(*other) == core);
    siblings.filter_map(|(_, id)| model.licence_of(id)).max().unwrap_or(0)
}

/// What each package may draw while these members work, and their neighbours.
fn budgets(model: &Model, members: &[Member], neighbours: &[Neighbour]) -> BTreeMap<u32, Budget> {
    // Threads of one core draw what the heavier of them does.
    let mut cores: BTreeMap<(u32, u32), (CpuId, usize)> = BTreeMap::new();
    let members = members.iter().map(|member| (member.cpu, member.payload.id));
    let all = members.chain(neighbours.iter().map(|it| (it.cpu, it.work.id())));
    for (cpu, id) in all {
        let licence = model.licence_of(id).unwrap_or(0);
        let place = (model.package_of(cpu), model.core_of(cpu));
        let (_, known) = cores.entry(place).or_insert((cpu, licence));
        *known = licence.max(*known);
    }
    let packages = cores.keys().map(|(package, _)| *package);
    let of = |package| {
        let at_work: Vec<(CpuId, usize)> =
            cores.iter().filter(|((of, _), _)| *of == package).map(|(_, it)| *it).collect();
        Some((package, model.budget(package, &at_work)?))
    };
    packages.filter_map(of).collect()
}

/// The hypervisor, or a quota, takes the CPU away for about this long at once.
const AWAY: f64 = 1e-3;

/// The period of a quota, as descriptions have it.
const QUOTA_PERIOD: f64 = 0.1;

/// Time passing on one CPU.
struct CpuTimeline<'a> {
    model: &'a Model,
    now: Seconds,
    random: Rng,
}

/// What a load takes on the machine.
#[derive(Clone, Copy)]
struct Cost {
    id: &'static str,
    cycles_per_op: f64,
    licence: usize,
}

impl Cost {
    fn of(model: &Model, cpu: CpuId, id: &'static str) -> Cost {
        let cycles_per_op = model.cycles_per_op_on(cpu, id).unwrap_or(0.0);
        Cost { id, cycles_per_op, licence: model.licence_of(id).unwrap_or(0) }
    }
}

/// One core at work.
struct SimulatedCore<'a> {
    line: CpuTimeline<'a>,
    payload: Load,
    tools: &'a Tools,
    /// What payload and tools take: looked up once, not with each repetition.
    costs: [Cost; 4],
    /// Active cores of the package, this one among them.
    active: u32,
    /// The clock that settings allow, in hertz.
    ceiling: f64,
    /// The clock that priorities leave it, in hertz, by licence.
    clips: Vec<f64>,
    /// The clock that it is granted, in hertz, by licence: asked for once, since nothing is set within a job.
    granted: Vec<Option<f64>>,
    /// What its package may draw, where that is known.
    budget: Option<Budget>,
    /// What its neighbours leave it.
    left: Left,
    /// The licence that neighbours on its core hold.
    beside: usize,
    /// Until when it last rested, if it did, and how its clock rises from then on.
    woken: Option<(Seconds, Rise)>,
    /// Whether another member runs on the same core.
    sibling_busy: bool,
    /// The heaviest licence in force, and when an op last needed it.
    licence: usize,
    licence_used: Seconds,
    warm: bool,
    /// What APERF and MPERF have counted: core cycles, and time that the core was not halted.
    cycles: f64,
    unhalted: Seconds,
    /// Iterations of the payload, where they are fixed.
    fixed: Option<u64>,
    raw: RawMember,
}

impl<'a> SimulatedCore<'a> {
    fn new(
        model: &'a Model,
        cpus: &[CpuId],
        member: Member,
        tools: &'a Tools,
        now: Seconds,
        random: Rng,
    ) -> Self {
        let cpu = member.cpu;
        let core = model.core_of(cpu);
        let on_core = cpus.iter().filter(|other| model.core_of(**other) == core).count();
        let raw = RawMember {
            cpu,
            phases: Vec::new(),
            around: Around {
                settled: true,
                usage: Some(sys::thread::Usage::default()),
                ..Around::default()
            },
            answers: Vec::new(),
        };
        SimulatedCore {
            line: CpuTimeline { model, now, random },
            payload: member.payload,
            tools,
            costs: [member.payload, tools.ruler, tools.witness, tools.null]
                .map(|load| Cost::of(model, cpu, load.id)),
            active: model.active_cores(cpu, cpus),
            ceiling: model.ceiling_hz(cpu),
            clips: (0..model.licence.len()).map(|it| model.clip_hz(cpu, it)).collect(),
            granted: vec![None; model.licence.len()],
            budget: None,
            left: model.left_by(cpu, &[]),
            beside: 0,
            woken: None,
            sibling_busy: on_core > 1 || model.siblings_are_busy(),
            licence: 0,
            licence_used: now,
            warm: false,
            cycles: now.0 * model.clock.tsc_hz,
            unhalted: now,
            fixed: member.iterations,
            raw,
        }
    }

    fn run(&mut self, phase: &Phase) {
        if phase.has_payload() && !self.warm {
            self.warm = true;
            let cycles = self.cycles_of(self.payload, 1);
            self.execute(self.payload, cycles);
            self.line.now = self.line.now + Seconds(0.5e-3);
            self.licence_used = self.line.now;
        }
        let mixtures: Vec<Option<Mixture>> =
            phase.steps.iter().map(|step| self.mixture(step.what)).collect();
        let iterations: Vec<u64> = std::iter::zip(&phase.steps, &mixtures)
            .map(|(step, mixture)| self.iterations_for(step, *mixture))
            .collect();
        let mut stamps = Vec::with_capacity(phase.steps.len() * phase.rounds as usize);
        let begun = self.line.now;
        let mut before = None;
        for _ in 0..phase.rounds {
            if before.is_none() && self.line.now - begun >= phase.settle {
                before = self.counted(phase);
            }
            for (index, step) in phase.steps.iter().enumerate() {
                let iterations = iterations[index];
                stamps.push(match (step.what, mixtures[index]) {
                    (StepKind::Watch, _) => {
                        self.line.watch(step.duration(), &mut self.raw.around.gaps)
                    }
                    (StepKind::Rest, _) => self.rest(step.duration()),
                    (StepKind::InLoop { .. }, None) => self.line.pass(Seconds(0.0)),
                    (StepKind::InLoop { .. }, Some(mixture)) => {
                        let cycles = self.mixed_cycles(mixture, iterations);
                        self.execute(self.payload, cycles)
                    }
                    (what, _) => {
                        let load = self.load(what);
                        let cycles = self.cycles_of(load, iterations);
                        self.execute(load, cycles)
                    }
                });
            }
        }
        let counted = before.and_then(|before| Some([before, self.counted(phase)?]));
        self.raw.phases.push(RawPhase { iterations, mixtures, stamps, counted });
    }

    /// What it did since then.
    fn did(&self, begun: Seconds) -> Busy {
        let cycles = self.cycles - begun.0 * self.line.model.clock.tsc_hz;
        Busy { seconds: (self.unhalted - begun).0, cycles }
    }

    /// The counters of this moment, where the phase has them read and the machine has them.
    fn counted(&self, phase: &Phase) -> Option<CycleReading> {
        let counters = self.line.model.cycle_counters().ok()?;
        let read = || CycleReading {
            stamp: Ticks::new(self.line.stamp()),
            counts: counters.counts(self.line.now, self.cycles, self.unhalted).map(Counts::from),
        };
        phase.purpose.is_counted().then(read)
    }

    fn mixture(&self, what: StepKind) -> Option<Mixture> {
        let StepKind::InLoop { density } = what else { return None };
        let per_op = |load: Load| self.cycles(load, 1) / load.ops_per_iteration as f64;
        let op = per_op(self.payload) / per_op(self.tools.ruler);
        in_loop::nearest(self.payload.in_loop_ops?, op, density.per_cent(in_loop::PAIRS[0]))
    }

    /// Cycles where payload and ruler share a loop: the longer path.
    fn mixed_cycles(&self, mixture: Mixture, iterations: u64) -> f64 {
        let per_op = |load: Load| self.cycles(load, 1) / load.ops_per_iteration as f64;
        let payload = mixture.ops as f64 * per_op(self.payload);
        let chain = f64::from(mixture.multiplies) * per_op(self.tools.ruler);
        payload.max(chain) * iterations as f64
    }

    fn load(&self, what: StepKind) -> Load {
        match what {
            StepKind::Payload | StepKind::InLoop { .. } => self.payload,
            StepKind::Ruler => self.tools.ruler,
            StepKind::Witness => self.tools.witness,
            StepKind::Null | StepKind::Watch | StepKind::Rest => self.tools.null,
        }
    }

    fn iterations_for(&self, step: &Step, mixture: Option<Mixture>) -> u64 {
        let cycles = match (step.what, mixture) {
            (StepKind::Null | StepKind::Watch | StepKind::Rest, _) => return 1,
            (StepKind::InLoop { .. }, None) => return 0,
            (StepKind::InLoop { .. }, Some(mixture)) => self.mixed_cycles(mixture, 1),
            (StepKind::Payload, _) if self.fixed.is_some() => {
                return self.fixed.unwrap_or(1) * step.multiple;
            }
            (what, _) => self.cycles(self.load(what), 1),
        };
        let per_iteration = cycles / self.line.model.bin_hz(0, self.active);
        ((step.target.0 / per_iteration).round() as u64).max(1) * step.multiple
    }

    /// Cycles of a repetition.
    fn cycles_of(&self, load: Load, iterations: u64) -> f64 {
        let model = self.line.model;
        let fixed = if load.ops_per_iteration == 0 { 0.0 } else { model.overhead_cycles };
        self.cycles(load, iterations) + fixed
    }

    fn cost(&self, load: Load) -> Cost {
        let known = self.costs.iter().find(|cost| cost.id == load.id);
        known.copied().unwrap_or_else(|| Cost::of(self.line.model, self.raw.cpu, load.id))
    }

    /// Cycles of so many iterations, without fixed cost.
    fn cycles(&self, load: Load, iterations: u64) -> f64 {
        let model = self.line.model;
        let per_op = self.cost(load).cycles_per_op;
        let slowdown = match self.sibling_busy {
            true if load.saturates => 2.0 / model.topology.smt_yield.unwrap_or(1.0),
            true if load.id == self.tools.witness.id => {
                1.0 + model.noise.sibling_busy_witness_slowdown
            }
            _ => 1.0,
        };
        let left = if load.id == self.payload.id { self.left.ops } else { 1.0 };
        per_op * slowdown / left * (load.ops_per_iteration * iterations) as f64
    }

    /// Lets a load take so many cycles at the clock of this moment, which it may change.
    fn execute(&mut self, load: Load, cycles: f64) -> Interval {
        let model = self.line.model;
        if self.line.now > self.licence_used + Seconds(model.licence_hold_seconds) {
            self.licence = 0;
        }
        let needs = self.cost(load).licence;
        let mut halted = Seconds(0.0);
        if needs > self.licence {
            self.licence = needs;
            halted = Seconds(model.halt_seconds);
        }
        if needs > 0 && needs == self.licence {
            self.licence_used = self.line.now;
        }
        let noise = 1.0 + model.noise.relative_sd * self.line.gaussian();
        let (clock, begun) = (self.clock(), self.line.now);
        let interval = self.line.pass(Seconds(cycles / clock * noise.max(0.5)) + halted);
        if needs > 0 && needs == self.licence {
            self.licence_used = self.line.now;
        }
        // Interrupts are work, too: only a halted core does not count.
        let busy = self.line.now - begun - halted;
        self.cycles += busy.0 * clock;
        self.unhalted = self.unhalted + busy;
        interval
    }

    /// The clock of this moment, in hertz.
    fn clock(&mut self) -> f64 {
        let noise = &self.line.model.noise;
        let phase = TAU * self.line.now.0 / noise.drift_period_seconds;
        let swing = phase.sin() * noise.drift_amplitude;
        let licence = self.licence.max(self.beside);
        let (model, cpu, active) = (self.line.model, self.raw.cpu, self.active);
        let bin =
            *self.granted[licence].get_or_insert_with(|| model.granted_hz(cpu, licence, active));
        let clip = self.clips.get(licence).copied().unwrap_or(f64::INFINITY);
        let power = self.budget.map_or(f64::INFINITY, |budget| budget.ceiling(self.line.now));
        let bin = bin * (1.0 + swing) * self.left.clock;
        let full = bin.min(self.ceiling).min(clip).min(power);
        self.woken.map_or(full, |(woken, rise)| rise.hertz(self.line.now - woken, full))
    }

    /// Lets the CPU idle for so long.
    fn rest(&mut self, duration: Seconds) -> Interval {
        let model = self.line.model;
        let exit = model.idle(self.raw.cpu, duration);
        self.line.now = self.line.now + duration + exit;
        self.woken = Some((self.line.now, model.rise(self.raw.cpu)));
        let now = Ticks::new(self.line.stamp());
        Interval { start: now, end: now }
    }
}

impl CpuTimeline<'_> {
    /// Lets work of that length pass between two stamps, with what interrupts it.
    fn pass(&mut self, work: Seconds) -> Interval {
        let start = self.stamp();
        self.now = self.now + work + self.interruptions(work);
        let clock = &self.model.clock;
        self.now = self.now + Seconds(clock.stamp_cost_ticks as f64 / clock.tsc_hz);
        Interval { start: Ticks::new(start), end: Ticks::new(self.stamp()) }
    }

    /// Lets a piece of work pass that takes about so long, without a stamp.
    fn spend(&mut self, work: Seconds) {
        let noise = 1.0 + self.model.noise.relative_sd * self.gaussian();
        let work = work * noise.max(0.5);
        self.now = self.now + work + self.interruptions(work);
    }

    fn stamp(&self) -> u64 {
        let step = self.model.clock.tsc_step_ticks;
        (self.now.0 * self.model.clock.tsc_hz) as u64 / step * step
    }

    fn interruptions(&mut self, work: Seconds) -> Seconds {
        let noise = &self.model.noise;
        let hits = |random: &mut Rng, per_second: f64| {
            let expected = per_second * work.0;
            let more = random.f64() < expected - expected.floor();
            expected.floor() + if more { 1.0 } else { 0.0 }
        };
        let interrupted = hits(&mut self.random, noise.interrupts_per_second);
        let stolen = hits(&mut self.random, noise.steal_share / AWAY);
        // Where nobody is stopped no chance is drawn: all other numbers stay as they are.
        let is_stopped = noise.quota_share > 0.0;
        let once = self.model.topology.quota_cpus.map_or(AWAY, |_| {
            // Once in each period, for all of it that is left.
            QUOTA_PERIOD * noise.quota_share / (1.0 + noise.quota_share)
        });
        let stopped =
            if is_stopped { hits(&mut self.random, noise.quota_share / once) } else { 0.0 };
        Seconds(interrupted * noise.interrupt_seconds + stolen * AWAY + stopped * once)
    }

    fn watch(&mut self, duration: Seconds, gaps: &mut Gaps) -> Interval {
        let gap = self.interruptions(duration);
        let ticks = |seconds: Seconds| (seconds.0 * self.model.clock.tsc_hz) as u64;
        gaps.polled += ticks(duration + gap);
        gaps.lost += ticks(gap);
        gaps.long += u64::from(gap > Seconds(10e-6));
        self.now = self.now + duration + gap;
        let now = Ticks::new(self.stamp());
        Interval { start: now, end: now }
    }

    /// Standard normal (Box and Muller, 1958).
    fn gaussian(&mut self) -> f64 {
        let (u, v) = (1.0 - self.random.f64(), self.random.f64());
        (-2.0 * u.ln()).sqrt() * (TAU * v).cos()
    }
}
