//! An arm in its seat: what is set for it, what measures it, and what is measured beside it.

use std::time::Instant;

use fastrand::Rng;
use levers::Session;
use levers::plan::Change;
use machine::{Machine, facts};
use model::record::{ArmFailure, BusyClocks, CpuRole, Proof, Ran};
use model::stats::paired::{Arm as Side, Better, Kind, Quad, Rules, Slot};
use model::{CpuId, CpuSet, Known, Obstacle, Reading, Seconds, Unavailable};

use super::busy::Busy;
use super::companion::ControlChain;
use super::watch::Watch;
use super::{AbSubject, Comparing, command};
use crate::ab::Metric;
use crate::proof::{self, Observer};
use crate::run::Error;
use crate::run::arm_env::ArmEnv;
use crate::run::single::{Ready, Single};
use rig::executor::{RunError, Stop};
use rig::placement::Choice;

/// What measures an arm.
pub(super) enum Measurer<'m> {
    Area { single: Box<Single<'m>>, ready: Box<[Ready; 2]> },
    Command { words: Vec<String>, metric: Metric },
}

pub(super) struct ArmRunner<'m, 's, 'c> {
    pub(super) measurer: Measurer<'m>,
    session: Option<&'s mut Session<'m>>,
    pub(super) comparing: &'c Comparing,
    begun: Instant,
    /// Time within measurements.
    pub(super) measuring: Seconds,
    /// Time in which settings were written.
    pub(super) setting: Seconds,
    /// Whether any were.
    pub(super) was_set: bool,
    /// When heat has settled after a change; none where settings move no power.
    pub(super) settles: Option<Seconds>,
    /// How long a setting is under load before it is measured.
    pub(super) hold: Option<Seconds>,
    /// The arm whose settings were held as long as that since they were made.
    settled: Option<Side>,
    /// How often they were held so long.
    pub(super) holds: u64,
    pub(super) random: Rng,
    /// The CPUs that are measured, as A and as B.
    cpus: [CpuSet; 2],
    /// What keeps others busy meanwhile.
    busy: Busy<'m>,
    /// The clocks of all of them; none: nobody asked.
    watch: Option<Reading<Watch<'m>>>,
    /// The same work after each measurement; none where it cannot be done.
    pub(super) beside: Option<ControlChain>,
    /// What the kernel says of a command's runs.
    ran: [Ran; 2],
    /// Who is looked at when settings were made, and what was seen of each arm, each answer once.
    machine: &'m Machine,
    looked: Vec<(Side, Proof)>,
    stop: Stop,
}

/// Why there is no measurement.
pub(super) enum Stopped {
    Interrupted,
    /// Somebody disturbed it: the next one may have a number.
    Disturbed(Side, Unavailable),
    Failed(ArmFailure),
    Error(Error),
}

impl From<RunError> for Stopped {
    fn from(error: RunError) -> Stopped {
        match error {
            RunError::Interrupted => Stopped::Interrupted,
            error => Stopped::Error(error.into()),
        }
    }
}

impl<'m, 's, 'c> ArmRunner<'m, 's, 'c> {
    pub(super) fn new(
        machine: &'m Machine,
        comparing: &'c Comparing,
        session: Option<&'s mut Session<'m>>,
        stop: &Stop,
    ) -> Result<ArmRunner<'m, 's, 'c>, Error> {
        let (measurer, of_arms) = measurer(machine, comparing, stop)?;
        let [a, b] = &of_arms;
        // On a CPU that only one arm uses it would tell how unlike the CPUs are.
        let shared = a.iter().find(|cpu| b.contains(*cpu));
        let beside = shared.and_then(|cpu| match &measurer {
            Measurer::Area { .. } => Some(ControlChain::shared(cpu)),
            Measurer::Command { .. } => ControlChain::alone(machine, cpu, stop),
        });
        let settles = proof::settles(machine, &difference(&comparing.changes));
        let random = Rng::with_seed(machine.host.seed());
        let (begun, measuring) = (Instant::now(), Seconds(0.0));
        let ran = [Side::A, Side::B].map(|arm| Ran {
            arm,
            runs: 0,
            cpu_seconds: 0.0,
            involuntary_switches: 0,
        });
        let stop = stop.clone();
        let all: CpuSet = of_arms.iter().chain(&comparing.busy).flat_map(CpuSet::iter).collect();
        let watch = comparing.watches_clocks.then(|| Watch::open(machine, &all));
        Ok(ArmRunner {
            measurer,
            session,
            comparing,
            begun,
            measuring,
            setting: Seconds(0.0),
            was_set: false,
            settles,
            hold: None,
            settled: None,
            holds: 0,
            random,
            cpus: of_arms,
            busy: Busy::nowhere(machine),
            watch,
            beside,
            ran,
            machine,
            looked: Vec::new(),
            stop,
        })
    }

    /// Time since it began: on a simulated machine, that which passed there.
    pub(super) fn elapsed(&self) -> Seconds {
        match &self.measurer {
            Measurer::Area { single, .. } => single.elapsed(),
            Measurer::Command { .. } => Seconds(self.begun.elapsed().as_secs_f64()),
        }
    }

    /// The CPUs that are measured: of a command, those that it may use.
    pub(super) fn cpus(&self) -> CpuSet {
        self.cpus.iter().flat_map(CpuSet::iter).collect()
    }

    /// The clocks of CPUs around the measurements, where they were asked for.
    pub(super) fn busy_clocks(&self) -> Option<Known<BusyClocks>> {
        let role = |cpu: CpuId, arm: usize| match () {
            () if self.cpus[arm].contains(cpu) => CpuRole::Measured,
            () if self.comparing.busy[arm].contains(cpu) => CpuRole::Busy,
            () => CpuRole::Idle,
        };
        let watch = self.watch.as_ref()?.as_ref();
        Some(watch.map(|watch| watch.told(role)).map_err(Clone::clone).into())
    }

    /// The clock of a CPU in an arm, in hertz, as far as it was seen.
    pub(super) fn busy_clock(&self, cpu: CpuId, arm: usize) -> Option<f64> {
        self.watch.as_ref()?.as_ref().ok()?.clock(cpu, arm)
    }

    /// What the kernel says of a command's runs.
    pub(super) fn ran(&self) -> Vec<Ran> {
        match &self.measurer {
            Measurer::Area { .. } => Vec::new(),
            Measurer::Command { .. } => self.ran.to_vec(),
        }
    }

    pub(super) fn rules(&self) -> Rules {
        let usual = match &self.measurer {
            Measurer::Area { ready, .. } => ready[0].quantity.better,
            Measurer::Command { .. } => None,
        };
        let usual = usual.unwrap_or(Better::Less);
        let better = self.comparing.better.unwrap_or(usual);
        Rules { better, band: self.comparing.band, level: 0.05 }
    }

    /// Makes the settings of an arm, and keeps busy who is to be busy then.
    pub(super) fn set(&mut self, side: Side) -> Result<(), Error> {
        self.busy.keep(&self.comparing.busy[index(side)]).map_err(Error::Unavailable)?;
        let began = self.elapsed();
        let Some(session) = &mut self.session else { return Ok(()) };
        let set = session.switch(&self.comparing.changes[index(side)]);
        if !set.map_err(|error| Error::Setting(Box::new(error)))?.is_empty() {
            self.settled = None;
            self.was_set = true;
            self.setting = self.setting + (self.elapsed() - began);
            self.look(side);
        }
        Ok(())
    }

    /// Keeps busy who is to be busy in an arm, and all CPUs that are measured then but this one.
    pub(super) fn keep_busy_around(&mut self, cpu: CpuId, arm: usize) -> Result<(), Error> {
        let measured = self.cpus[arm].iter().filter(|other| *other != cpu);
        let all: CpuSet = self.comparing.busy[arm].iter().chain(measured).collect();
        self.busy.keep(&all).map_err(Error::Unavailable)
    }

    /// What is to be seen now that an arm was set.
    fn look(&mut self, side: Side) {
        let proofs = self.comparing.look.map_or_else(Vec::new, |look| look(self.machine));
        for proof in proofs {
            let is_known = |(arm, known): &(Side, Proof)| *arm == side && *known == proof;
            if !self.looked.iter().any(is_known) {
                self.looked.push((side, proof));
            }
        }
    }

    /// What was seen whenever settings were made, that of A first.
    pub(super) fn looked(&mut self) -> Vec<Proof> {
        if self.looked.is_empty() {
            // Nothing was set: it is as it was found.
            self.look(Side::A);
        }
        let looked = std::mem::take(&mut self.looked);
        let (a, b): (Vec<_>, Vec<_>) = looked.into_iter().partition(|(side, _)| *side == Side::A);
        let named = |(side, proof): (Side, Proof)| {
            let arm = if side == Side::A { "A" } else { "B" };
            Proof { id: format!("{} as {arm}", proof.id), ..proof }
        };
        a.into_iter().chain(b).map(named).collect()
    }

    /// Leaves an arm under its own load until its heat is its own, too. What disturbs that costs nothing.
    fn settle(&mut self, side: Side, ready: Side) -> Result<(), Stopped> {
        let Some(hold) = self.hold.filter(|_| self.settled != Some(side)) else { return Ok(()) };
        let began = self.elapsed();
        while (self.elapsed() - began).0 < hold.0 {
            if self.stop.asked() {
                return Err(Stopped::Interrupted);
            }
            match self.value(side, ready) {
                Ok(_) | Err(Stopped::Disturbed(..)) => {}
                Err(stopped) => return Err(stopped),
            }
        }
        self.settled = Some(side);
        self.holds += 1;
        Ok(())
    }

    /// Whether the machine obeys what differs. That it cannot be seen is an answer, too.
    pub(super) fn prove(&mut self, machine: &Machine) -> Result<Vec<Proof>, Error> {
        let differing = difference(&self.comparing.changes);
        if self.session.is_none() || differing.is_empty() || !self.comparing.prove {
            return Ok(Vec::new());
        }
        let mut observer = match Observer::new(machine, &self.stop) {
            Ok(observer) => observer,
            Err(reason) => return Ok(proof::unseen_of(machine, &differing, &reason.why)),
        };
        let mut looks = Vec::new();
        for side in [Side::A, Side::B] {
            self.set(side)?;
            match observer.look(&differing) {
                Ok(look) => looks.push(look),
                Err(RunError::Interrupted) => return Ok(Vec::new()),
                Err(error) => return Ok(proof::unseen_of(machine, &differing, &error.to_string())),
            }
        }
        Ok(proof::judge(machine, &differing, &looks[0], &looks[1]))
    }

    /// One measurement of an arm, as it is set up.
    pub(super) fn measure(&mut self, side: Side) -> Result<f64, Stopped> {
        self.measure_by(side, side)
    }

    /// One measurement with the settings of an arm, by what was made ready for one.
    fn measure_by(&mut self, side: Side, ready: Side) -> Result<f64, Stopped> {
        if self.stop.asked() {
            return Err(Stopped::Interrupted);
        }
        self.set(side).map_err(Stopped::Error)?;
        let before = self.elapsed();
        let value = self.settle(side, ready).and_then(|()| self.watched(side, ready));
        self.measuring = self.measuring + (self.elapsed() - before);
        value
    }

    /// One measurement, and the clocks around it.
    fn watched(&mut self, side: Side, ready: Side) -> Result<f64, Stopped> {
        if let Some(Ok(watch)) = &mut self.watch {
            watch.begin();
        }
        let value = self.value(side, ready)?;
        if let Some(Ok(watch)) = &mut self.watch {
            watch.end(side);
        }
        Ok(value)
    }

    fn value(&mut self, side: Side, ready: Side) -> Result<f64, Stopped> {
        let failed = |why: String| Stopped::Failed(ArmFailure { arm: format!("{side:?}"), why });
        let (own, budget) = (&self.comparing.own[index(side)], self.comparing.budget);
        match &mut self.measurer {
            Measurer::Area { single, ready: both } => {
                single.measure(&both[index(ready)])?.map_err(|unavailable| {
                    if unavailable.obstacle == Obstacle::Measurement {
                        Stopped::Disturbed(side, unavailable)
                    } else {
                        failed(unavailable.why)
                    }
                })
            }
            Measurer::Command { words, metric } => {
                let done = command::run(words, own, metric, budget, &self.stop);
                let done = done.map_err(|error| match error {
                    command::Failed::Interrupted => Stopped::Interrupted,
                    command::Failed::Because(why) => failed(why),
                })?;
                let ran = &mut self.ran[index(side)];
                ran.runs += 1;
                ran.cpu_seconds += done.usage.cpu_time.as_secs_f64();
                ran.involuntary_switches += done.usage.involuntary_switches;
                Ok(done.value)
            }
        }
    }

    /// A measurement of A in the seat of an arm, with all that is done for that arm: its settings come
    /// and go, and where only they differ it is measured by what was made ready for it.
    fn control(&mut self, seat: Side) -> Result<f64, Stopped> {
        self.set(seat).map_err(Stopped::Error)?;
        let [a, b] = &self.comparing.own;
        self.measure_by(Side::A, if a.is_like(b) { seat } else { Side::A })
    }

    pub(super) fn quad(&mut self, slot: Slot) -> Result<Quad, Stopped> {
        let (mut values, mut chain) = ([0.0; 4], [0.0; 4]);
        for (seat, arm) in slot.order.arms().into_iter().enumerate() {
            values[seat] = match slot.kind {
                Kind::Compared => self.measure(arm),
                Kind::Control => self.control(arm),
            }?;
            chain[seat] = self.multiply()?;
        }
        let quad = Quad::new(slot, values).map_err(|reason| {
            Stopped::Failed(ArmFailure { arm: "A or B".to_owned(), why: reason.why })
        })?;
        if let Some(beside) = &mut self.beside {
            beside.quads.extend(Quad::new(slot, chain));
        }
        Ok(quad)
    }

    /// The same work as after every other measurement. Where it cannot be done any more it is done no
    /// more, and nothing is told of it.
    fn multiply(&mut self) -> Result<f64, Stopped> {
        let Some(beside) = &mut self.beside else { return Ok(0.0) };
        let seconds = match &mut self.measurer {
            Measurer::Area { single, ready } => single.multiply(&ready[0], beside.cpu),
            Measurer::Command { .. } => beside.multiply(),
        };
        match seconds {
            Ok(Some(seconds)) => Ok(seconds),
            Err(RunError::Interrupted) => Err(Stopped::Interrupted),
            Ok(None) | Err(_) => {
                self.beside = None;
                Ok(0.0)
            }
        }
    }
}

fn measurer<'m>(
    machine: &'m Machine,
    comparing: &Comparing,
    stop: &Stop,
) -> Result<(Measurer<'m>, [CpuSet; 2]), Error> {
    match &comparing.what {
        AbSubject::Area(subject, quantity) => {
            let mut single = Single::new(machine, stop)?;
            let quantity = quantity.as_deref().unwrap_or(subject.quantity);
            let [a, b] = &comparing.own;
            let a = single.prepare(subject, a, quantity, None)?;
            let b = single.prepare(subject, b, quantity, Some(&a))?;
            let cpus = [&a, &b].map(|ready| ready.cpus().clone());
            Ok((Measurer::Area { single: Box::new(single), ready: Box::new([a, b]) }, cpus))
        }
        AbSubject::Command(..) if machine.simulated.is_some() => {
            let why = "a simulated machine executes no programs";
            let reason = Unavailable::new(Obstacle::Permission, "the command", why);
            Err(Error::Unavailable(reason.with_remedy("compare an area: --area turbo")))
        }
        AbSubject::Command(words, metric) => {
            let topology = facts::machine(machine).topology;
            let of = |own: &ArmEnv| match &own.cpus {
                Some(cpus) => {
                    Choice::usual(Some(cpus.clone())).place(&topology).map(|_| cpus.clone())
                }
                None => Ok(topology.usable.clone()),
            };
            let [a, b] = &comparing.own;
            let cpus = [of(a)?, of(b)?];
            Ok((Measurer::Command { words: words.clone(), metric: metric.clone() }, cpus))
        }
    }
}

pub(super) fn index(side: Side) -> usize {
    match side {
        Side::A => 0,
        Side::B => 1,
    }
}

/// What changes from A to B.
pub(super) fn difference([a, b]: &[Vec<Change>; 2]) -> Vec<Change> {
    let pairs = b.iter().filter_map(|b| {
        let a = a.iter().find(|a| a.object == b.object)?;
        (a.wanted != b.wanted).then(|| Change { former: a.wanted.clone(), ..b.clone() })
    });
    pairs.collect()
}
