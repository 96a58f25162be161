//! An arm in its seat: what is set for it, what measures it, and what is measured beside it.

use std::time::Instant;

use fastrand::Rng;
use levers::Session;
use levers::plan::Change;
use machine::{Machine, facts};
use model::record::{ArmFailure, BusyClocks, CpuRole, Proof, QuadCost};
use model::stats::paired::Better;
use model::{CpuId, CpuSet, Known, Obstacle, Reading, Seconds, Unavailable};

use super::busy::Busy;
use super::companion::ControlChain;
use super::watch::Watch;
use super::{AbSubject, Metric, Turns, command};
use crate::proof::{self, Observer};
use crate::run::Error;
use crate::run::arm_env::ArmEnv;
use crate::run::single::{Ready, Single};
use rig::executor::{RunError, Stop};
use rig::placement::Choice;

/// What measures an arm.
pub(crate) enum Measurer<'m> {
    /// A workload: what measures it, and what was made ready for each arm.
    Area { single: Box<Single<'m>>, ready: Vec<Ready> },
    /// A command.
    Command { words: Vec<String>, metric: Metric },
}

/// Arms in their seats.
pub(crate) struct ArmRunner<'m, 's, 'c> {
    pub(crate) measurer: Measurer<'m>,
    session: Option<&'s mut Session<'m>>,
    pub(crate) turns: Turns<'c>,
    begun: Instant,
    /// Time within measurements.
    pub(crate) measuring: Seconds,
    /// Time in which settings were written.
    pub(crate) setting: Seconds,
    /// Whether any were.
    pub(crate) was_set: bool,
    /// When heat has settled after a change; none where settings move no power.
    pub(crate) settles: Option<Seconds>,
    /// How long a setting is under load before it is measured.
    pub(crate) hold: Option<Seconds>,
    /// The arm whose settings were held as long as that since they were made.
    settled: Option<usize>,
    /// How often they were held so long.
    pub(crate) holds: u64,
    pub(crate) random: Rng,
    /// The CPUs that are measured, by arm.
    cpus: Vec<CpuSet>,
    /// What keeps others busy meanwhile.
    busy: Busy<'m>,
    /// The clocks of all of them; none: nobody asked.
    watch: Option<Reading<Watch<'m>>>,
    /// The same work after each measurement; none where it cannot be done.
    pub(crate) beside: Option<ControlChain>,
    /// What the kernel says of a command's runs, by arm.
    ran: Vec<CommandRuns>,
    /// Who is looked at when settings were made, and what was seen of each arm, each answer once.
    machine: &'m Machine,
    looked: Vec<(usize, Proof)>,
    stop: Stop,
}

/// The runs of a command in one arm.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CommandRuns {
    /// How many.
    pub(crate) runs: u64,
    /// Time of CPUs, of all of them.
    pub(crate) cpu_seconds: f64,
    /// Times that a CPU was taken away from one of their threads.
    pub(crate) involuntary_switches: u64,
}

/// Why there is no measurement.
pub(crate) enum Stopped {
    Interrupted,
    /// Somebody disturbed it: the next one may have a number.
    Disturbed(usize, Unavailable),
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
    pub(crate) fn new(
        machine: &'m Machine,
        turns: Turns<'c>,
        session: Option<&'s mut Session<'m>>,
        stop: &Stop,
    ) -> Result<ArmRunner<'m, 's, 'c>, Error> {
        let (measurer, of_arms) = measurer(machine, &turns, stop)?;
        // On a CPU that only some arms use it would tell how unlike the CPUs are.
        let shared = of_arms[0].iter().find(|cpu| of_arms.iter().all(|it| it.contains(*cpu)));
        let beside = shared.filter(|_| turns.has_control_chain).and_then(|cpu| match &measurer {
            Measurer::Area { .. } => Some(ControlChain::shared(cpu)),
            Measurer::Command { .. } => ControlChain::alone(machine, cpu, stop),
        });
        let first = turns.arms[0].changes;
        let differing: Vec<Change> =
            turns.arms[1..].iter().flat_map(|arm| difference(first, arm.changes)).collect();
        let settles = proof::settles(machine, &differing);
        let random = Rng::with_seed(machine.host.seed());
        let (begun, measuring) = (Instant::now(), Seconds(0.0));
        let ran = vec![CommandRuns::default(); turns.arms.len()];
        let stop = stop.clone();
        let busy = turns.arms.iter().map(|arm| arm.busy);
        let all: CpuSet = of_arms.iter().chain(busy).flat_map(CpuSet::iter).collect();
        let arms = turns.arms.len();
        let watch = turns.watches_clocks.then(|| Watch::open(machine, &all, arms));
        Ok(ArmRunner {
            measurer,
            session,
            turns,
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
    pub(crate) fn elapsed(&self) -> Seconds {
        match &self.measurer {
            Measurer::Area { single, .. } => single.elapsed(),
            Measurer::Command { .. } => Seconds(self.begun.elapsed().as_secs_f64()),
        }
    }

    /// The CPUs that are measured: of a command, those that it may use.
    pub(crate) fn cpus(&self) -> CpuSet {
        self.cpus.iter().flat_map(CpuSet::iter).collect()
    }

    /// The clocks of CPUs around the measurements, where they were asked for.
    pub(crate) fn busy_clocks(&self) -> Option<Known<BusyClocks>> {
        let role = |cpu: CpuId, arm: usize| match () {
            () if self.cpus[arm].contains(cpu) => CpuRole::Measured,
            () if self.turns.arms[arm].busy.contains(cpu) => CpuRole::Busy,
            () => CpuRole::Idle,
        };
        let watch = self.watch.as_ref()?.as_ref();
        Some(watch.map(|watch| watch.told(role)).map_err(Clone::clone).into())
    }

    /// The clock of a CPU in an arm, in hertz, as far as it was seen.
    pub(crate) fn busy_clock(&self, cpu: CpuId, arm: usize) -> Option<f64> {
        self.watch.as_ref()?.as_ref().ok()?.clock(cpu, arm)
    }

    /// What the kernel says of a command's runs, by arm; nothing where there is none.
    pub(crate) fn ran(&self) -> &[CommandRuns] {
        match &self.measurer {
            Measurer::Area { .. } => &[],
            Measurer::Command { .. } => &self.ran,
        }
    }

    /// What is measured, the quantity, and its unit; empty: whatever the program says.
    pub(crate) fn measured(&self) -> [String; 3] {
        match (self.turns.what, &self.measurer) {
            (AbSubject::Area(subject, _), Measurer::Area { ready, .. }) => {
                let quantity = ready[0].quantity;
                let subject = format!("{}: {}, {}", subject.id, ready[0].workload, subject.doc);
                [subject, quantity.label.to_owned(), quantity.unit.symbol().to_owned()]
            }
            (AbSubject::Area(subject, _), _) => {
                [subject.id.to_owned(), String::new(), String::new()]
            }
            (AbSubject::Command(words, metric), _) => {
                let (metric, unit) = match metric {
                    Metric::Wall => ("time from start to end".to_owned(), "s"),
                    Metric::Printed(expression) => (format!("printed number /{expression}/"), ""),
                    Metric::Json(path) => (format!("printed number {}", path.join(".")), ""),
                };
                [words.join(" "), metric, unit.to_owned()]
            }
        }
    }

    /// What each of so many quads or blocks took, of all that passed.
    pub(crate) fn cost(&self, all: f64, count: f64) -> QuadCost {
        let own = (all - self.measuring.0 - self.setting.0).max(0.0);
        let [seconds, setting, own] = [all, self.setting.0, own].map(|seconds| seconds / count);
        QuadCost { seconds, setting, own }
    }

    /// How long settings were under load before they were measured, where they were.
    pub(crate) fn held_seconds(&self) -> Option<f64> {
        self.hold.filter(|_| self.holds > 0).map(|hold| hold.0)
    }

    /// Which direction of what is measured is better, unless somebody says otherwise.
    pub(crate) fn usual_direction(&self) -> Better {
        let usual = match &self.measurer {
            Measurer::Area { ready, .. } => ready[0].quantity.better,
            Measurer::Command { .. } => None,
        };
        usual.unwrap_or(Better::Less)
    }

    /// Makes the settings of an arm, and keeps busy who is to be busy then.
    pub(crate) fn set(&mut self, arm: usize) -> Result<(), Error> {
        self.busy.keep(self.turns.arms[arm].busy).map_err(Error::Unavailable)?;
        let began = self.elapsed();
        let Some(session) = &mut self.session else { return Ok(()) };
        let set = session.switch(self.turns.arms[arm].changes);
        if !set.map_err(|error| Error::Setting(Box::new(error)))?.is_empty() {
            self.settled = None;
            self.was_set = true;
            self.setting = self.setting + (self.elapsed() - began);
            self.look(arm);
        }
        Ok(())
    }

    /// Keeps busy who is to be busy in an arm, and all CPUs that are measured then but this one.
    pub(crate) fn keep_busy_around(&mut self, cpu: CpuId, arm: usize) -> Result<(), Error> {
        let measured = self.cpus[arm].iter().filter(|other| *other != cpu);
        let all: CpuSet = self.turns.arms[arm].busy.iter().chain(measured).collect();
        self.busy.keep(&all).map_err(Error::Unavailable)
    }

    /// What is to be seen now that an arm was set.
    fn look(&mut self, arm: usize) {
        let proofs = self.turns.look.map_or_else(Vec::new, |look| look(self.machine));
        for proof in proofs {
            let is_known = |(other, known): &(usize, Proof)| *other == arm && *known == proof;
            if !self.looked.iter().any(is_known) {
                self.looked.push((arm, proof));
            }
        }
    }

    /// What was seen whenever settings were made, that of the first arm first.
    pub(crate) fn looked(&mut self) -> Vec<Proof> {
        if self.looked.is_empty() {
            // Nothing was set: it is as it was found.
            self.look(0);
        }
        let mut looked = std::mem::take(&mut self.looked);
        looked.sort_by_key(|(arm, _)| *arm);
        let named = |(arm, proof): (usize, Proof)| {
            let arm = self.turns.arms[arm].name;
            Proof { id: format!("{} as {arm}", proof.id), ..proof }
        };
        looked.into_iter().map(named).collect()
    }

    /// Leaves an arm under its own load until its heat is its own, too. What disturbs that costs nothing.
    fn settle(&mut self, arm: usize, ready: usize) -> Result<(), Stopped> {
        let Some(hold) = self.hold.filter(|_| self.settled != Some(arm)) else { return Ok(()) };
        let began = self.elapsed();
        while (self.elapsed() - began).0 < hold.0 {
            if self.stop.asked() {
                return Err(Stopped::Interrupted);
            }
            match self.value(arm, ready) {
                Ok(_) | Err(Stopped::Disturbed(..)) => {}
                Err(stopped) => return Err(stopped),
            }
        }
        self.settled = Some(arm);
        self.holds += 1;
        Ok(())
    }

    /// Whether the machine obeys what differs between two arms. That it cannot be seen is an answer, too.
    pub(crate) fn prove(
        &mut self,
        machine: &Machine,
        [a, b]: [usize; 2],
    ) -> Result<Vec<Proof>, Error> {
        let differing = difference(self.turns.arms[a].changes, self.turns.arms[b].changes);
        if self.session.is_none() || differing.is_empty() {
            return Ok(Vec::new());
        }
        let mut observer = match Observer::new(machine, &self.stop) {
            Ok(observer) => observer,
            Err(reason) => return Ok(proof::unseen_of(machine, &differing, &reason.why)),
        };
        let mut looks = Vec::new();
        for arm in [a, b] {
            self.set(arm)?;
            match observer.look(&differing) {
                Ok(look) => looks.push(look),
                Err(RunError::Interrupted) => return Ok(Vec::new()),
                Err(error) => return Ok(proof::unseen_of(machine, &differing, &error.to_string())),
            }
        }
        Ok(proof::judge(machine, &differing, &looks[0], &looks[1]))
    }

    /// One measurement of an arm, as it is set up.
    pub(crate) fn measure(&mut self, arm: usize) -> Result<f64, Stopped> {
        self.measure_by(arm, arm)
    }

    /// One measurement with the settings of an arm, by what was made ready for one.
    fn measure_by(&mut self, arm: usize, ready: usize) -> Result<f64, Stopped> {
        if self.stop.asked() {
            return Err(Stopped::Interrupted);
        }
        self.set(arm).map_err(Stopped::Error)?;
        let before = self.elapsed();
        let value = self.settle(arm, ready).and_then(|()| self.watched(arm, ready));
        self.measuring = self.measuring + (self.elapsed() - before);
        value
    }

    /// One measurement, and the clocks around it.
    fn watched(&mut self, arm: usize, ready: usize) -> Result<f64, Stopped> {
        if let Some(Ok(watch)) = &mut self.watch {
            watch.begin();
        }
        let value = self.value(arm, ready)?;
        if let Some(Ok(watch)) = &mut self.watch {
            watch.end(arm);
        }
        Ok(value)
    }

    fn value(&mut self, arm: usize, ready: usize) -> Result<f64, Stopped> {
        let seat = self.turns.arms[arm];
        let failed = |why: String| Stopped::Failed(ArmFailure { arm: seat.name.to_owned(), why });
        match &mut self.measurer {
            Measurer::Area { single, ready: all } => {
                single.measure(&all[ready])?.map_err(|unavailable| {
                    if unavailable.obstacle == Obstacle::Measurement {
                        Stopped::Disturbed(arm, unavailable)
                    } else {
                        failed(unavailable.why)
                    }
                })
            }
            Measurer::Command { words, metric } => {
                let done = command::run(words, seat.own, metric, self.turns.budget, &self.stop);
                let done = done.map_err(|error| match error {
                    command::Failed::Interrupted => Stopped::Interrupted,
                    command::Failed::Because(why) => failed(why),
                })?;
                let ran = &mut self.ran[arm];
                ran.runs += 1;
                ran.cpu_seconds += done.usage.cpu_time.as_secs_f64();
                ran.involuntary_switches += done.usage.involuntary_switches;
                Ok(done.value)
            }
        }
    }

    /// A measurement of one arm in the seat of another one, with all that is done for that: its settings come and
    /// go, and where only they differ it is measured by what was made ready for it.
    pub(crate) fn control(&mut self, of: usize, seat: usize) -> Result<f64, Stopped> {
        self.set(seat).map_err(Stopped::Error)?;
        let is_like = self.turns.arms[of].own.is_like(self.turns.arms[seat].own);
        self.measure_by(of, if is_like { seat } else { of })
    }

    /// The same work as after every other measurement. Where it cannot be done any more it is done no
    /// more, and nothing is told of it.
    pub(crate) fn multiply(&mut self) -> Result<f64, Stopped> {
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
    turns: &Turns<'_>,
    stop: &Stop,
) -> Result<(Measurer<'m>, Vec<CpuSet>), Error> {
    match turns.what {
        AbSubject::Area(subject, quantity) => {
            let mut single = Single::new(machine, stop)?;
            let quantity = quantity.as_deref().unwrap_or(subject.quantity);
            let mut ready: Vec<Ready> = Vec::new();
            for arm in &turns.arms {
                let one = single.prepare(subject, arm.own, quantity, ready.first())?;
                ready.push(one);
            }
            let cpus = ready.iter().map(Ready::cpus).collect();
            Ok((Measurer::Area { single: Box::new(single), ready }, cpus))
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
                    Choice::usual(Some(cpus.clone())).place(&topology)?;
                    Ok(cpus.clone())
                }
                None => Ok(topology.usable.clone()),
            };
            let cpus: Result<Vec<CpuSet>, Error> =
                turns.arms.iter().map(|arm| of(arm.own)).collect();
            Ok((Measurer::Command { words: words.clone(), metric: metric.clone() }, cpus?))
        }
    }
}

/// What changes from one arm to another.
pub(crate) fn difference(a: &[Change], b: &[Change]) -> Vec<Change> {
    let pairs = b.iter().filter_map(|b| {
        let a = a.iter().find(|a| a.object == b.object)?;
        (a.wanted != b.wanted).then(|| Change { former: a.wanted.clone(), ..b.clone() })
    });
    pairs.collect()
}
