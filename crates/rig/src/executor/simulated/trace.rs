//! Traces of a described machine: its licences come and go as the description says, with what each transition
//! costs.

use model::{CpuId, Seconds, Ticks};
use simulated::Model;

use super::super::super::job::{Around, Load};
use super::super::super::trace::{CHAIN, Look, PIECE, RawTrace, RawTraced, Trace};
use super::{CpuTimeline, START, Simulated};

/// Where a core is between two licences.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LicenceState {
    /// The lightest one.
    Light,
    /// It asked for a heavier one, and dispatch is throttled until then.
    Asked { until: Seconds },
    /// It has a heavier one, and used it last then.
    Heavy { used: Seconds },
}

/// What looks wait for at most before they begin.
const DITHER: Seconds = Seconds(40e-9);

/// One core at work.
struct TracedCore<'a> {
    cpu: CpuId,
    line: CpuTimeline<'a>,
    model: &'a Model,
    licence: LicenceState,
    /// When it halted, and for how long; or when it has to, the next one first, because another core does.
    halts: Vec<[Seconds; 2]>,
    /// The licence that its payload needs.
    needs: usize,
    /// The clock with the lightest licence and with the one that its core is given, in hertz.
    clocks: [f64; 2],
    /// When its licence changed, and to what; of a thread that shares the core, when it will, the next one first.
    changes: Vec<(Seconds, LicenceState)>,
}

/// Far less than a step of any stamps: a period has begun then, however its beginning was rounded.
const ROUNDING: Seconds = Seconds(1e-11);

/// Answers a trace.
pub(super) fn simulate(rig: &mut Simulated, job: &Trace) -> RawTrace {
    let model = rig.model.clone();
    let begun = model.elapsed.seconds() + START;
    let mut end = begun;
    let (mut cpus, mut own) = (Vec::new(), None);
    let heavy = job.payload.and_then(|load| model.licence_of(load.id)).unwrap_or(0);
    for cpu in job.cpus() {
        let payload = job.payload.filter(|_| cpu == job.cpu);
        let shares_core = model.core_of(cpu) == model.core_of(job.cpu);
        let clock = |licence| model.hz_at_work(cpu, licence, &job.cpus());
        let clocks = [clock(0), clock(if shares_core { heavy } else { 0 })];
        let line = CpuTimeline { model: &model, now: begun, random: rig.random.fork() };
        let (mut halts, mut changes) = own.take().unwrap_or_default();
        if !(shares_core || model.halts_others) {
            halts = Vec::new();
        }
        if !shares_core {
            changes = Vec::new();
        }
        let (licence, needs) = (LicenceState::Light, if cpu == job.cpu { heavy } else { 0 });
        let mut core =
            TracedCore { cpu, line, model: &model, licence, halts, needs, clocks, changes };
        cpus.push(core.follow(job, cpu, payload));
        end = Seconds(core.line.now.0.max(end.0));
        if payload.is_some() {
            core.halts.reverse();
            core.changes.reverse();
            own = Some((core.halts, core.changes));
        }
    }
    let begun = Ticks::new((begun.0 * model.clock.tsc_hz) as u64);
    rig.worked(end, &job.cpus());
    RawTrace { begun, cpus }
}

impl TracedCore<'_> {
    fn follow(&mut self, job: &Trace, cpu: CpuId, payload: Option<Load>) -> RawTraced {
        let sized = |load: Load, time: Seconds| {
            let cycles = self.cycles(load, 1);
            ((time.0 * self.clocks[0] / cycles).round() as u64).max(1)
        };
        let (witness, ruler) = (job.tools.witness, job.tools.ruler);
        let iterations = [sized(witness, CHAIN), sized(ruler, CHAIN)];
        let adds = self.cycles(witness, iterations[0]);
        let multiplies = self.cycles(ruler, iterations[1]);
        let piece = payload.map(|load| self.cycles(load, sized(load, PIECE)));
        let begun = self.line.now;
        let (mut looks, mut next): (Vec<Look>, Seconds) = (Vec::new(), begun);
        let mut last = self.line.stamp();
        while self.line.now.0 < begun.0 + job.duration().0 && looks.len() < job.room() {
            let due = Seconds(next.0.max(self.line.now.0));
            next = due + job.pace();
            // Nobody is taken away while it polls: all that is in the way is a piece of the payload.
            let mut waited = [last; 2];
            loop {
                let phase = (self.line.now - begun).0 % job.period.0;
                if let Some(cycles) = piece.filter(|_| phase < job.burst.0) {
                    let begun = self.line.stamp();
                    self.ask();
                    self.execute(cycles, self.stretch(4.0));
                    let piece = [begun, self.line.stamp()];
                    if piece[1] - piece[0] > waited[1] - waited[0] {
                        waited = piece;
                    }
                } else {
                    // Whoever polls sees the next period begin.
                    let period = job.period.0;
                    let next = ((self.line.now - begun).0 / period).floor() + 1.0;
                    let next = begun.0 + next * period + ROUNDING.0;
                    let until = if piece.is_some() { due.0.min(next) } else { due.0 };
                    self.line.now = Seconds(self.line.now.0.max(until));
                }
                if self.line.now.0 >= due.0 {
                    break;
                }
            }
            // Looks begin anywhere between two steps of the stamps, as those of threads do.
            self.line.now = self.line.now + DITHER * self.line.random.f64();
            let first = self.line.stamp();
            self.execute(adds, self.stretch(4.0));
            let second = self.line.stamp();
            // A multiply of three cycles may begin in one cycle of four.
            self.execute(multiplies, self.stretch(4.0 / 3.0));
            last = self.line.stamp();
            looks.push(Look { stamps: [first, second, last], waited });
        }
        let usage = Some(sys::thread::Usage::default());
        let around = Around { settled: true, usage, ..Around::default() };
        RawTraced { cpu, looks, iterations, around }
    }

    /// Cycles of so many iterations.
    fn cycles(&self, load: Load, iterations: u64) -> f64 {
        let per_op = self.model.cycles_per_op_on(self.cpu, load.id).unwrap_or(0.0);
        per_op * (load.ops_per_iteration * iterations) as f64
    }

    /// The payload needs its licence.
    fn ask(&mut self) {
        match self.licence {
            _ if self.needs == 0 => {}
            LicenceState::Light => {
                let until = self.line.now + Seconds(self.model.throttled_seconds);
                self.change(LicenceState::Asked { until });
            }
            LicenceState::Asked { .. } => {}
            LicenceState::Heavy { .. } => {
                self.licence = LicenceState::Heavy { used: self.line.now }
            }
        }
    }

    fn change(&mut self, licence: LicenceState) {
        self.licence = licence;
        self.changes.push((self.line.now, licence));
    }

    /// How much longer ops take at this moment.
    fn stretch(&self, throttled: f64) -> f64 {
        match self.licence {
            LicenceState::Asked { until } if self.line.now.0 < until.0 => throttled,
            _ => 1.0,
        }
    }

    fn halt(&mut self, length: Seconds) {
        self.halts.push([self.line.now, length]);
        self.line.now = self.line.now + length;
    }

    /// What the core of the payload did until now, where it does so to this thread, too.
    fn share(&mut self) {
        let now = self.line.now;
        while let Some([_, length]) = self.halts.pop_if(|[at, _]| at.0 <= now.0) {
            self.line.now = self.line.now + length;
        }
        while let Some((_, licence)) = self.changes.pop_if(|(at, _)| at.0 <= now.0) {
            self.licence = licence;
        }
    }

    /// Lets cycles pass, and halts where a licence changes.
    fn execute(&mut self, cycles: f64, stretch: f64) {
        let now = self.line.now;
        match self.licence {
            _ if self.needs == 0 => self.share(),
            LicenceState::Asked { until } if now.0 >= until.0 => {
                self.change(LicenceState::Heavy { used: now });
                self.halt(Seconds(self.model.halt_seconds));
            }
            LicenceState::Heavy { used } if now.0 > used.0 + self.model.licence_hold_seconds => {
                self.change(LicenceState::Light);
                self.halt(Seconds(self.model.return_halt_seconds));
            }
            _ => {}
        }
        let heavy = usize::from(matches!(self.licence, LicenceState::Heavy { .. }));
        let noise = (1.0 + self.model.noise.relative_sd * self.line.gaussian()).max(0.5);
        self.line.pass(Seconds(cycles * stretch / self.clocks[heavy] * noise));
    }
}
