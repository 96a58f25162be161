//! Comparing two settings, A and B: quads A B B A or B A A B in random order, controls of A with A
//! between them, looks that were planned before.
//!
//! The statistics are [`model::stats::paired`]; here is who measures, and what is set meanwhile.

mod command;
pub mod own;
mod page;
mod subjects;

pub use command::Metric;
pub use page::page;
pub use subjects::{SUBJECTS, Subject, find};

use std::time::Instant;

use fastrand::Rng;
use levers::Session;
use levers::plan::Change;
use machine::Machine;
use model::record::{AbRun, ArmFailure, Proof, Record, Settings};
use model::stats::paired::{
    Arm as Side, BAND, Better, Kind, Looks, Noise, Quad, Rules, Slot, compare, schedule,
};
use model::{Finding, Known, Obstacle, Seconds, Severity, Unavailable};

use crate::proof::{self, Observer};
use crate::rig::executor::{RunError, Stop};
use crate::run::neighbours::Rivals;
use crate::run::single::{Ready, Single};
use crate::run::{Error, Progress};
use own::Own;

/// What is compared, and how.
pub struct Comparing {
    /// How A and B run.
    pub own: [Own; 2],
    /// What A and B were asked to be, as it was typed.
    pub words: [Vec<String>; 2],
    /// What is set on the machine for each, whatever is there already.
    pub changes: [Vec<Change>; 2],
    /// What is measured.
    pub what: What,
    /// The time for all of it.
    pub budget: Seconds,
    /// Relative differences up to this are the same.
    pub band: f64,
    /// Which direction is better, where somebody says so.
    pub better: Option<Better>,
    /// Whether to see if the machine obeys.
    pub prove: bool,
}

/// What is measured.
pub enum What {
    /// A workload of an area, and its quantity where it is not the usual one.
    Area(&'static Subject, Option<String>),
    /// A command.
    Command(Vec<String>, Metric),
}

impl Comparing {
    /// A command, or a workload, with everything as usual.
    pub fn usual(what: What) -> Comparing {
        Comparing {
            own: [Own::default(), Own::default()],
            words: [Vec::new(), Vec::new()],
            changes: [Vec::new(), Vec::new()],
            what,
            budget: Seconds(60.0),
            band: BAND,
            better: None,
            prove: true,
        }
    }

    /// Whether A and B come to the same.
    fn is_equal(&self) -> bool {
        let [a, b] = &self.own;
        a.is_like(b) && difference(&self.changes).is_empty()
    }
}

/// One of so many quads compares A with A.
const CONTROL_EVERY: u64 = 4;

/// So many looks.
const LOOKS: u64 = 5;

/// More quads than this take longer to judge than to measure.
const QUADS_MAX: u64 = 1000;

/// Compares. `described` is the record of the machine, to which the comparison is added. What the session
/// set is for the caller to put back.
pub fn run<'m>(
    machine: &'m Machine,
    comparing: &Comparing,
    session: Option<&mut Session<'m>>,
    described: Record,
    stop: &Stop,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Record, Error> {
    let begun = Instant::now();
    let mut bench = Bench::new(machine, comparing, session, stop)?;
    let proofs = bench.prove(machine)?;
    let rivals = Rivals::watch(machine);
    let run = bench.compare(progress)?;
    let rivals = rivals.finding(machine);
    let mut record = described;
    if machine.simulated.is_none() {
        record.run.seconds = begun.elapsed().as_secs_f64();
    }
    if stop.asked() {
        record.run.interrupted = Some("stopped".to_owned());
    }
    if !proofs.is_empty() {
        record.settings = Some(Settings { proofs, ..Settings::default() });
    }
    record.findings.extend(equal(comparing));
    record.findings.extend(rivals);
    record.comparison = Some(run);
    Ok(record)
}

fn equal(comparing: &Comparing) -> Option<Finding> {
    comparing.is_equal().then(|| Finding {
        id: "ab.equal".to_owned(),
        severity: Severity::Note,
        about: "A and B".to_owned(),
        text: "both are the same: what differs is this machine's noise".to_owned(),
        remedy: None,
    })
}

/// What measures an arm.
enum Measurer<'m> {
    Area { single: Box<Single<'m>>, ready: Box<[Ready; 2]> },
    Command { words: Vec<String>, metric: Metric },
}

struct Bench<'m, 's, 'c> {
    measurer: Measurer<'m>,
    session: Option<&'s mut Session<'m>>,
    comparing: &'c Comparing,
    begun: Instant,
    /// Time within measurements.
    measuring: Seconds,
    random: Rng,
    stop: Stop,
}

/// Why there is no measurement.
enum Stopped {
    Interrupted,
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

impl<'m, 's, 'c> Bench<'m, 's, 'c> {
    fn new(
        machine: &'m Machine,
        comparing: &'c Comparing,
        session: Option<&'s mut Session<'m>>,
        stop: &Stop,
    ) -> Result<Bench<'m, 's, 'c>, Error> {
        let measurer = match &comparing.what {
            What::Area(subject, quantity) => {
                let mut single = Single::new(machine, stop)?;
                let quantity = quantity.as_deref().unwrap_or(subject.quantity);
                let [a, b] = &comparing.own;
                let a = single.prepare(subject, a, quantity, None)?;
                let b = single.prepare(subject, b, quantity, Some(&a))?;
                Measurer::Area { single: Box::new(single), ready: Box::new([a, b]) }
            }
            What::Command(..) if machine.simulated.is_some() => {
                let why = "a simulated machine executes no programs";
                let reason = Unavailable::new(Obstacle::Permission, "the command", why);
                return Err(Error::Unavailable(
                    reason.with_remedy("compare an area: --area turbo"),
                ));
            }
            What::Command(words, metric) => {
                Measurer::Command { words: words.clone(), metric: metric.clone() }
            }
        };
        let random = Rng::with_seed(machine.host.seed());
        let (begun, measuring) = (Instant::now(), Seconds(0.0));
        let stop = stop.clone();
        Ok(Bench { measurer, session, comparing, begun, measuring, random, stop })
    }

    /// Time since it began: on a simulated machine, that which passed there.
    fn elapsed(&self) -> Seconds {
        match &self.measurer {
            Measurer::Area { single, .. } => single.elapsed(),
            Measurer::Command { .. } => Seconds(self.begun.elapsed().as_secs_f64()),
        }
    }

    fn rules(&self) -> Rules {
        let usual = match &self.measurer {
            Measurer::Area { ready, .. } if ready[0].quantity.better.starts_with("higher") => {
                Better::More
            }
            _ => Better::Less,
        };
        let better = self.comparing.better.unwrap_or(usual);
        Rules { better, band: self.comparing.band, level: 0.05 }
    }

    fn set(&mut self, side: Side) -> Result<(), Error> {
        let Some(session) = &mut self.session else { return Ok(()) };
        let set = session.switch(&self.comparing.changes[index(side)]);
        set.map(drop).map_err(|error| Error::Setting(Box::new(error)))
    }

    /// Whether the machine obeys what differs. That it cannot be seen is an answer, too.
    fn prove(&mut self, machine: &Machine) -> Result<Vec<Proof>, Error> {
        let differing = difference(&self.comparing.changes);
        if self.session.is_none() || differing.is_empty() || !self.comparing.prove {
            return Ok(Vec::new());
        }
        let mut observer = match Observer::new(machine, &self.stop) {
            Ok(observer) => observer,
            Err(reason) => return Ok(proof::unseen_of(&differing, &reason.why)),
        };
        let mut looks = Vec::new();
        for side in [Side::A, Side::B] {
            self.set(side)?;
            match observer.look(&differing) {
                Ok(look) => looks.push(look),
                Err(RunError::Interrupted) => return Ok(Vec::new()),
                Err(error) => return Ok(proof::unseen_of(&differing, &error.to_string())),
            }
        }
        Ok(proof::judge(machine, &differing, &looks[0], &looks[1]))
    }

    /// One measurement of an arm, as it is set up.
    fn measure(&mut self, side: Side) -> Result<f64, Stopped> {
        self.measure_by(side, side)
    }

    /// One measurement with the settings of an arm, by what was made ready for one.
    fn measure_by(&mut self, side: Side, ready: Side) -> Result<f64, Stopped> {
        if self.stop.asked() {
            return Err(Stopped::Interrupted);
        }
        self.set(side).map_err(Stopped::Error)?;
        let before = self.elapsed();
        let failed = |why: String| Stopped::Failed(ArmFailure { arm: format!("{side:?}"), why });
        let (own, budget) = (&self.comparing.own[index(side)], self.comparing.budget);
        let value = match &mut self.measurer {
            Measurer::Area { single, ready: both } => {
                single.measure(&both[index(ready)])?.map_err(|reason| failed(reason.why))?
            }
            Measurer::Command { words, metric } => command::run(
                words, own, metric, budget, &self.stop,
            )
            .map_err(|error| match error {
                command::Failed::Interrupted => Stopped::Interrupted,
                command::Failed::Because(why) => failed(why),
            })?,
        };
        self.measuring = self.measuring + (self.elapsed() - before);
        Ok(value)
    }

    /// A measurement of A in the seat of an arm, with all that is done for that arm: its settings come
    /// and go, and where only they differ it is measured by what was made ready for it.
    fn control(&mut self, seat: Side) -> Result<f64, Stopped> {
        self.set(seat).map_err(Stopped::Error)?;
        let [a, b] = &self.comparing.own;
        self.measure_by(Side::A, if a.is_like(b) { seat } else { Side::A })
    }

    fn quad(&mut self, slot: Slot) -> Result<Quad, Stopped> {
        let mut values = [0.0; 4];
        for (value, arm) in std::iter::zip(&mut values, slot.order.arms()) {
            *value = match slot.kind {
                Kind::Compared => self.measure(arm),
                Kind::Control => self.control(arm),
            }?;
        }
        Quad::new(slot, values).map_err(|reason| {
            Stopped::Failed(ArmFailure { arm: "A or B".to_owned(), why: reason.why })
        })
    }

    fn compare(&mut self, progress: &mut dyn FnMut(Progress<'_>)) -> Result<AbRun, Error> {
        let mut run = self.blank();
        let began = self.elapsed();
        // Both once: the first time is never like the others, and nobody knows yet how long it takes.
        let pilot = self.measure(Side::A).and_then(|_| self.measure(Side::B));
        let ended =
            match pilot.and_then(|_| self.measure(Side::A)).and_then(|_| self.measure(Side::B)) {
                Ok(_) => {
                    let each = (self.elapsed() - began).0 / 4.0;
                    self.quads(began, each, &mut run, progress)?
                }
                Err(stopped) => end(stopped, &mut run)?,
            };
        run.ended = ended;
        self.conclude(&mut run, began);
        Ok(run)
    }

    fn blank(&self) -> AbRun {
        let comparing = self.comparing;
        let (subject, metric, unit) = match (&comparing.what, &self.measurer) {
            (What::Area(subject, _), Measurer::Area { ready, .. }) => {
                let quantity = ready[0].quantity;
                let subject = format!("{}: {}, {}", subject.id, ready[0].workload, subject.doc);
                (subject, quantity.label.to_owned(), quantity.unit.symbol().to_owned())
            }
            (What::Command(words, Metric::Wall), _) => {
                (words.join(" "), "time from start to end".to_owned(), "s".to_owned())
            }
            (What::Command(words, Metric::Printed(expression)), _) => {
                (words.join(" "), format!("printed number /{expression}/"), String::new())
            }
            (What::Command(words, Metric::Json(path)), _) => {
                (words.join(" "), format!("printed number {}", path.join(".")), String::new())
            }
            (What::Area(subject, _), _) => (subject.id.to_owned(), String::new(), String::new()),
        };
        let nothing = "nothing was measured";
        AbRun {
            subject,
            metric,
            unit,
            a: comparing.words[0].clone(),
            b: comparing.words[1].clone(),
            looks: Looks { quads: Vec::new(), level: 0.05 },
            rules: self.rules(),
            control_every: CONTROL_EVERY,
            quads: Vec::new(),
            comparison: Known::No {
                unavailable: Unavailable::new(Obstacle::Measurement, "verdict", nothing),
            },
            flags: Vec::new(),
            failures: Vec::new(),
            ended: String::new(),
            quad_seconds: 0.0,
            own_seconds: 0.0,
        }
    }

    /// As many quads as the time allows, or as decide; says why it ended.
    fn quads(
        &mut self,
        began: Seconds,
        each: f64,
        run: &mut AbRun,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<String, Error> {
        let spent = (self.elapsed() - began).0;
        let share = 1.0 - 1.0 / CONTROL_EVERY as f64;
        let budget = self.comparing.budget;
        let room = (budget.0 - spent) / (4.0 * each) * share;
        let quads = (room.max(0.0) as u64).min(QUADS_MAX);
        let looks = Looks::planned(quads, LOOKS).or_else(|_| Looks::planned(quads, 1));
        run.looks = looks.map_err(|reason| too_short(&reason, each, share, spent))?;
        run.rules.level = run.looks.level;
        let random = &mut self.random;
        let slots = schedule(run.looks.last(), CONTROL_EVERY, &mut |below| random.u64(0..below));
        for slot in slots {
            let used = (self.elapsed() - began) / budget;
            progress(Progress { share: used.min(1.0), doing: "comparing" });
            match self.quad(slot) {
                Ok(quad) => run.quads.push(quad),
                Err(stopped) => return end(stopped, run),
            }
            let compared = run.quads.iter().filter(|quad| quad.slot.kind == Kind::Compared).count();
            let compared = compared as u64;
            let is_look = slot.kind == Kind::Compared && run.looks.is_due(compared);
            if is_look && compared < run.looks.last() {
                let found = compare(&run.quads, &run.rules, None);
                if found.is_some_and(|found| found.verdict.is_decided()) {
                    return Ok(format!(
                        "decided at a planned look, after {compared} of {} quads",
                        run.looks.last()
                    ));
                }
            }
            if (self.elapsed() - began).0 > budget.0 * 1.05 {
                return Ok("the budget was spent".to_owned());
            }
        }
        Ok(format!("all {} planned quads were measured", run.looks.last()))
    }

    fn conclude(&self, run: &mut AbRun, began: Seconds) {
        if let Some(failure) = run.failures.first() {
            let why = format!("{} fails: {}", failure.arm, failure.why);
            run.comparison =
                Known::No { unavailable: Unavailable::new(Obstacle::Measurement, "verdict", why) };
        }
        if run.quads.is_empty() {
            return;
        }
        let all = (self.elapsed() - began).0;
        // Four of the measurements were no quad.
        let quads = (run.quads.len() + 1) as f64;
        run.quad_seconds = all / quads;
        run.own_seconds = (all - self.measuring.0).max(0.0) / quads;
        let compared = run.quads.iter().filter(|quad| quad.slot.kind == Kind::Compared).count();
        let per_compared = all / compared.max(1) as f64;
        if let Some(found) = compare(&run.quads, &run.rules, Some(Seconds(per_compared))) {
            let noise = Noise::of(&run.quads, found.ratio.centre);
            run.flags = noise.flags(run.rules.log_band());
            if run.failures.is_empty() {
                run.comparison = Known::Yes(found);
            }
        }
    }
}

fn index(side: Side) -> usize {
    match side {
        Side::A => 0,
        Side::B => 1,
    }
}

fn end(stopped: Stopped, run: &mut AbRun) -> Result<String, Error> {
    match stopped {
        Stopped::Interrupted => Ok("interrupted".to_owned()),
        Stopped::Failed(failure) => {
            let ended = format!("{} failed", failure.arm);
            run.failures.push(failure);
            Ok(ended)
        }
        Stopped::Error(error) => Err(error),
    }
}

fn too_short(reason: &Unavailable, each: f64, share: f64, spent: f64) -> Error {
    /// Fewer give no interval.
    const FEWEST: f64 = 8.0;
    let needed = (FEWEST * 4.0 * each / share + spent + 1.0).ceil();
    let why = format!("{}; one measurement takes {each:.3} s", reason.why);
    let refusal = Unavailable::new(Obstacle::Measurement, "a comparison", why);
    Error::Unavailable(refusal.with_remedy(format!("give it time: --budget {needed}s")))
}

/// What changes from A to B.
fn difference([a, b]: &[Vec<Change>; 2]) -> Vec<Change> {
    let pairs = b.iter().filter_map(|b| {
        let a = a.iter().find(|a| a.object == b.object)?;
        (a.wanted != b.wanted).then(|| Change { former: a.wanted.clone(), ..b.clone() })
    });
    pairs.collect()
}
