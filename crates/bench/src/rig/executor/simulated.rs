//! A model instead of threads: makes the stamps that a described machine would.
//!
//! What is put in (bins by licence and active cores, drift, noise, interrupts, a busy sibling) must
//! come out again as numbers and findings; tests hold the rig to that. One seed, one run.

use std::f64::consts::TAU;

use fastrand::Rng;
use machine::simulated::Model;
use model::ticks::Stamp;
use model::{CpuId, Rate, Seconds, Ticks};

use super::super::job::{
    Exchange, Gaps, Interval, Load, Member, Phase, RawExchange, RawMember, RawPhase, RawRepeat,
    Repeat, Step, Tools, What,
};
use super::{Executor, RunError, Stop};

/// Answers jobs from a model.
pub struct Simulated {
    model: Model,
    rate: Rate<Stamp>,
    random: Rng,
    stop: Stop,
}

/// What a job costs beside its repetitions.
const START: Seconds = Seconds(1e-3);

impl Simulated {
    /// An executor for this model. `rate` is what calibration believes of its clock.
    pub fn new(model: Model, rate: Rate<Stamp>, stop: Stop) -> Self {
        let random = Rng::with_seed(model.seed);
        Simulated { model, rate, random, stop }
    }

    fn checked(&self) -> Result<(), RunError> {
        if self.stop.asked() { Err(RunError::Interrupted) } else { Ok(()) }
    }
}

impl Executor for Simulated {
    fn repeat(&mut self, job: &Repeat) -> Result<RawRepeat, RunError> {
        self.checked()?;
        let cpus: Vec<CpuId> = job.members.iter().map(|member| member.cpu).collect();
        let begun = self.model.elapsed.seconds() + START;
        let mut cores: Vec<Core<'_>> = job
            .members
            .iter()
            .map(|member| {
                Core::new(&self.model, &cpus, *member, &job.tools, begun, self.random.fork())
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
        let members = cores.into_iter().map(|core| core.raw).collect();
        self.model.elapsed.advance(Seconds(end) - self.model.elapsed.seconds());
        Ok(RawRepeat { members })
    }

    fn exchange(&mut self, job: &Exchange) -> Result<RawExchange, RunError> {
        self.checked()?;
        let begun = self.model.elapsed.seconds() + START;
        let mut line = Line { model: &self.model, now: begun, random: self.random.fork() };
        let round_trip = self.model.distance(job.first, job.second) * 2.0;
        let stretch = round_trip * f64::from(job.round_trips);
        let stretches = (0..job.repetitions).map(|_| line.pass(stretch)).collect();
        let end = line.now;
        self.model.elapsed.advance(end - self.model.elapsed.seconds());
        Ok(RawExchange { stretches })
    }

    fn rate(&self) -> Rate<Stamp> {
        self.rate
    }

    fn elapsed(&self) -> Seconds {
        self.model.elapsed.seconds()
    }
}

/// Time passing on one CPU.
struct Line<'a> {
    model: &'a Model,
    now: Seconds,
    random: Rng,
}

/// One core at work.
struct Core<'a> {
    line: Line<'a>,
    payload: Load,
    tools: &'a Tools,
    /// Active cores of the package, this one among them.
    active: u32,
    /// Whether another member runs on the same core.
    sibling_busy: bool,
    /// The heaviest licence in force, and when an op last needed it.
    licence: usize,
    licence_used: Seconds,
    warm: bool,
    raw: RawMember,
}

impl<'a> Core<'a> {
    fn new(
        model: &'a Model,
        cpus: &[CpuId],
        member: Member,
        tools: &'a Tools,
        now: Seconds,
        random: Rng,
    ) -> Self {
        let cpu = member.cpu;
        let mut active: Vec<u32> = cpus
            .iter()
            .filter(|other| model.package_of(**other) == model.package_of(cpu))
            .map(|other| model.core_of(*other))
            .collect();
        active.sort_unstable();
        active.dedup();
        let core = model.core_of(cpu);
        let on_core = cpus.iter().filter(|other| model.core_of(**other) == core).count();
        let raw = RawMember {
            cpu,
            phases: Vec::new(),
            settled: true,
            gaps: Gaps::default(),
            usage: Some(sys::thread::Usage::default()),
            migrations: 0,
        };
        Core {
            line: Line { model, now, random },
            payload: member.payload,
            tools,
            active: active.len() as u32,
            sibling_busy: on_core > 1,
            licence: 0,
            licence_used: now,
            warm: false,
            raw,
        }
    }

    fn run(&mut self, phase: &Phase) {
        if phase.has_payload() && !self.warm {
            self.warm = true;
            self.execute(self.payload, 1);
            self.line.now = self.line.now + Seconds(2e-3);
            self.licence_used = self.line.now;
        }
        let iterations: Vec<u64> =
            phase.steps.iter().map(|step| self.iterations_for(step)).collect();
        let mut stamps = Vec::with_capacity(phase.steps.len() * phase.rounds as usize);
        for _ in 0..phase.rounds {
            for (step, &iterations) in std::iter::zip(&phase.steps, &iterations) {
                stamps.push(match step.what {
                    What::Watch => self.line.watch(step.duration(), &mut self.raw.gaps),
                    what => {
                        let duration = self.execute(self.load(what), iterations);
                        self.line.pass(duration)
                    }
                });
            }
        }
        self.raw.phases.push(RawPhase { iterations, stamps });
    }

    fn load(&self, what: What) -> Load {
        match what {
            What::Payload => self.payload,
            What::Ruler => self.tools.ruler,
            What::Witness => self.tools.witness,
            What::Null | What::Watch => self.tools.null,
        }
    }

    fn iterations_for(&self, step: &Step) -> u64 {
        let cycles = match step.what {
            What::Null | What::Watch => return 1,
            what => self.cycles(self.load(what), 1),
        };
        let per_iteration = cycles / self.line.model.bin_hz(0, self.active);
        ((step.target.0 / per_iteration).round() as u64).max(1) * step.multiple
    }

    /// Cycles of so many iterations, without fixed cost.
    fn cycles(&self, load: Load, iterations: u64) -> f64 {
        let model = self.line.model;
        let per_op = model.cycles_per_op(load.id).unwrap_or(0.0);
        let slowdown = match self.sibling_busy {
            true if load.saturates => 2.0,
            true if load.id == self.tools.witness.id => {
                1.0 + model.noise.sibling_busy_witness_slowdown
            }
            _ => 1.0,
        };
        per_op * slowdown * (load.ops_per_iteration * iterations) as f64
    }

    /// How long the ops take at the clock of this moment, which they may change.
    fn execute(&mut self, load: Load, iterations: u64) -> Seconds {
        let model = self.line.model;
        if self.line.now > self.licence_used + Seconds(model.licence_hold_seconds) {
            self.licence = 0;
        }
        let needs = model.licence_of(load.id).unwrap_or(0);
        let mut halted = Seconds(0.0);
        if needs > self.licence {
            self.licence = needs;
            halted = Seconds(model.halt_seconds);
        }
        if needs > 0 && needs == self.licence {
            self.licence_used = self.line.now;
        }
        let fixed = if load.ops_per_iteration == 0 { 0.0 } else { model.overhead_cycles };
        let cycles = self.cycles(load, iterations) + fixed;
        let noise = 1.0 + model.noise.relative_sd * self.line.gaussian();
        Seconds(cycles / self.clock() * noise.max(0.5)) + halted
    }

    /// The clock of this moment, in hertz.
    fn clock(&self) -> f64 {
        let noise = &self.line.model.noise;
        let phase = TAU * self.line.now.0 / noise.drift_period_seconds;
        let swing = phase.sin() * noise.drift_amplitude;
        self.line.model.bin_hz(self.licence, self.active) * (1.0 + swing)
    }
}

impl Line<'_> {
    /// Lets work of that length pass between two stamps, with what interrupts it.
    fn pass(&mut self, work: Seconds) -> Interval {
        let start = self.stamp();
        self.now = self.now + work + self.interruptions(work);
        let clock = &self.model.clock;
        self.now = self.now + Seconds(clock.stamp_cost_ticks as f64 / clock.tsc_hz);
        Interval { start: Ticks::new(start), end: Ticks::new(self.stamp()) }
    }

    fn stamp(&self) -> u64 {
        let step = self.model.clock.tsc_step_ticks;
        (self.now.0 * self.model.clock.tsc_hz) as u64 / step * step
    }

    fn interruptions(&mut self, work: Seconds) -> Seconds {
        /// The hypervisor takes the CPU away for about this long at once.
        const STEAL: f64 = 1e-3;
        let noise = &self.model.noise;
        let hits = |random: &mut Rng, per_second: f64| {
            let expected = per_second * work.0;
            let more = random.f64() < expected - expected.floor();
            expected.floor() + if more { 1.0 } else { 0.0 }
        };
        let interrupted = hits(&mut self.random, noise.interrupts_per_second);
        let stolen = hits(&mut self.random, noise.steal_share / STEAL);
        Seconds(interrupted * noise.interrupt_seconds + stolen * STEAL)
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
