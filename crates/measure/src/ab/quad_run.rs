//! The course of a comparison: a pilot, quads, looks, the end, and what may be said.

use std::collections::VecDeque;

use model::record::{AbRun, ArmFailure, LeftOut, Ran};
use model::stats::paired::{
    Arm as Side, Beside, Flag, Kind, Looks, Noise, Order, Quad, Rules, Slot, compare, schedule,
};
use model::{Finding, Known, Obstacle, Seconds, Unavailable};

use super::Comparing;
use crate::arms::{ArmRunner, Stopped};
use crate::proof::SWITCHES;
use crate::run::{Error, Progress};
use rig::executor::RunError;

/// One of so many quads compares A with A.
const CONTROL_EVERY: u64 = 4;

/// So many looks.
const LOOKS: u64 = 5;

/// More quads than this take longer to judge than to measure.
const QUADS_MAX: u64 = 1000;

/// Of so many quads it is judged whether too many have no number.
const TRIED_MIN: usize = 8;

/// Two arms that are compared.
pub(super) struct QuadRun<'r, 'm, 's, 'c> {
    pub(super) bench: &'r mut ArmRunner<'m, 's, 'c>,
    pub(super) comparing: &'c Comparing,
    pub(super) rules: Rules,
}

/// Its place among those that take turns.
fn place(side: Side) -> usize {
    match side {
        Side::A => 0,
        Side::B => 1,
    }
}

/// Who has that place.
fn side(place: usize) -> Side {
    if place == 0 { Side::A } else { Side::B }
}

impl QuadRun<'_, '_, '_, '_> {
    /// All of it; and a remark where a CPU was lost.
    pub(super) fn compare(
        &mut self,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(AbRun, Option<Finding>), Error> {
        let mut run = self.blank();
        let began = self.bench.elapsed();
        // Nobody knows yet how long it takes, and the first time is never like the others.
        let stopped = match self.pilot() {
            Ok(each) => self.quads(began, each, &mut run, progress),
            Err(stopped) => Some(stopped),
        };
        let lost = match stopped {
            Some(stopped) => end(stopped, &mut run, self.bench.was_set)?,
            None => None,
        };
        self.conclude(&mut run, began);
        Ok((run, lost))
    }

    /// Each arm twice: the seconds of a measurement. One that has no number takes the longer for it.
    fn pilot(&mut self) -> Result<f64, Stopped> {
        let (mut measured, mut disturbed) = (Vec::new(), Vec::new());
        for side in [Side::A, Side::B, Side::A, Side::B] {
            let before = self.bench.elapsed();
            let times = match self.bench.measure(place(side)) {
                Ok(_) => &mut measured,
                Err(Stopped::Disturbed(..)) => &mut disturbed,
                Err(stopped) => return Err(stopped),
            };
            let took = (self.bench.elapsed() - before).0;
            times.push(took);
            // No budget that is a quad long has room for eight.
            if took * 4.0 > self.comparing.budget.0 {
                break;
            }
        }
        let times = if measured.is_empty() { disturbed } else { measured };
        Ok(times.iter().sum::<f64>() / times.len() as f64)
    }

    fn blank(&self) -> AbRun {
        let comparing = self.comparing;
        let [subject, metric, unit] = self.bench.measured();
        let nothing = "nothing was measured";
        AbRun {
            subject,
            metric,
            unit,
            a: comparing.words[0].clone(),
            b: comparing.words[1].clone(),
            looks: Looks { quads: Vec::new(), level: 0.05 },
            rules: self.rules,
            control_every: CONTROL_EVERY,
            quads: Vec::new(),
            comparison: Known::No {
                unavailable: Unavailable::new(Obstacle::Measurement, "verdict", nothing),
            },
            flags: Vec::new(),
            failures: Vec::new(),
            left_out: Vec::new(),
            beside: None,
            ran: Vec::new(),
            busy_clocks: None,
            ended: String::new(),
            cost: None,
            held_seconds: None,
        }
    }

    /// As many quads as the time allows, or as decide. None where it came to an end, with the words for
    /// that in the record.
    fn quads(
        &mut self,
        began: Seconds,
        each: f64,
        run: &mut AbRun,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Option<Stopped> {
        let budget = self.comparing.budget;
        let each = each + self.hold_if_there_is_time((self.bench.elapsed() - began).0, each);
        match self.plan((self.bench.elapsed() - began).0, each) {
            Ok(looks) => run.looks = looks,
            // Whoever made measurements that slow is told with the reason.
            Err(unavailable) => {
                "the time allows too few quads".clone_into(&mut run.ended);
                run.comparison = Known::No { unavailable };
                return None;
            }
        }
        run.rules.level = run.looks.level;
        let random = &mut self.bench.random;
        let slots = schedule(run.looks.last(), CONTROL_EVERY, &mut |below| random.u64(0..below));
        let mut slots = VecDeque::from(slots);
        while let Some(slot) = slots.pop_front() {
            let used = (self.bench.elapsed() - began) / budget;
            progress(Progress { share: used.min(1.0), doing: "comparing" });
            match self.quad(slot) {
                Ok(quad) => {
                    run.quads.push(quad);
                    if let Some(ended) = decided(run, slot) {
                        run.ended = ended;
                        return None;
                    }
                }
                Err(Stopped::Disturbed(arm, unavailable)) => {
                    run.left_out.push(LeftOut { kind: slot.kind, arm: side(arm), unavailable });
                    if let Some(why) = too_many_left_out(run) {
                        run.ended = why;
                        return None;
                    }
                    // Another coin: what was seen of this quad has no part in the order of the next.
                    let order = if self.bench.random.bool() { Order::Abba } else { Order::Baab };
                    slots.push_front(Slot { order, ..slot });
                }
                Err(stopped) => return Some(stopped),
            }
            if (self.bench.elapsed() - began).0 > budget.0 * 1.05 {
                "the budget was spent".clone_into(&mut run.ended);
                return None;
            }
        }
        run.ended = format!("all {} planned quads were measured", run.looks.last());
        None
    }

    fn quad(&mut self, slot: Slot) -> Result<Quad, Stopped> {
        let (mut values, mut chain) = ([0.0; 4], [0.0; 4]);
        for (seat, arm) in slot.order.arms().into_iter().enumerate() {
            values[seat] = match slot.kind {
                Kind::Compared => self.bench.measure(place(arm)),
                Kind::Control => self.bench.control(place(Side::A), place(arm)),
            }?;
            chain[seat] = self.bench.multiply()?;
        }
        let quad = Quad::new(slot, values).map_err(|reason| {
            Stopped::Failed(ArmFailure { arm: "A or B".to_owned(), why: reason.why })
        })?;
        if let Some(beside) = &mut self.bench.beside {
            beside.quads.extend(Quad::new(slot, chain));
        }
        Ok(quad)
    }

    /// Settings that move power are held until heat has settled, where the time allows. Answers what that
    /// adds to a measurement.
    fn hold_if_there_is_time(&mut self, spent: f64, each: f64) -> f64 {
        let Some(settles) = self.bench.settles else { return 0.0 };
        let more = settles.0 * SWITCHES / 4.0;
        if self.plan(spent, each + more).is_err() {
            return 0.0;
        }
        self.bench.hold = Some(settles);
        more
    }

    /// The looks that the time allows, where a measurement takes so long.
    fn plan(&self, spent: f64, each: f64) -> Result<Looks, Unavailable> {
        let share = 1.0 - 1.0 / CONTROL_EVERY as f64;
        let room = (self.comparing.budget.0 - spent) / (4.0 * each) * share;
        let quads = (room.max(0.0) as u64).min(QUADS_MAX);
        let looks = Looks::planned(quads, LOOKS).or_else(|_| Looks::planned(quads, 1));
        looks.map_err(|_| too_short(quads, each, share, spent))
    }

    fn conclude(&self, run: &mut AbRun, began: Seconds) {
        let bench = &*self.bench;
        run.beside = bench.beside.as_ref().and_then(crate::arms::ControlChain::told);
        let ran = bench.ran().iter().enumerate().map(|(arm, ran)| Ran {
            arm: side(arm),
            runs: ran.runs,
            cpu_seconds: ran.cpu_seconds,
            involuntary_switches: ran.involuntary_switches,
        });
        run.ran = ran.collect();
        let refusal = run.failures.first().map(|failure| {
            let why = format!("{} fails: {}", failure.arm, failure.why);
            Unavailable::new(Obstacle::Measurement, "verdict", why)
        });
        let refusal = refusal.or_else(|| disturbed(run));
        let all = (bench.elapsed() - began).0;
        if !run.quads.is_empty() {
            // Four of the measurements were no quad.
            let quads = (run.quads.len() + run.left_out.len() + 1) as f64;
            run.cost = Some(bench.cost(all, quads));
        }
        run.held_seconds = bench.held_seconds();
        let compared = run.quads.iter().filter(|quad| quad.slot.kind == Kind::Compared).count();
        let per_compared = all / compared.max(1) as f64;
        if let Some(found) = compare(&run.quads, &run.rules, Some(Seconds(per_compared))) {
            let (effect, band) = (found.ratio.centre, run.rules.log_band());
            run.flags = Noise::of(&run.quads, effect).flags(band);
            let beside = run.beside.as_ref().map(|beside| Beside::of(&beside.quads));
            run.flags.extend(beside.and_then(|beside| beside.flag(effect, band)));
            run.comparison = Known::Yes(found);
        }
        // A control has measurements of A alone.
        let lost = |arm| {
            let lost = |left: &&LeftOut| left.kind == Kind::Compared && left.arm == arm;
            run.left_out.iter().filter(lost).count() as u64
        };
        run.flags.extend(Flag::lost([Side::A, Side::B].map(lost)));
        if let Some(unavailable) = refusal {
            run.comparison = Known::No { unavailable };
        }
    }
}

/// Why it ended where too many quads have no number.
fn too_many_left_out(run: &AbRun) -> Option<String> {
    let (left_out, measured) = (run.left_out.len(), run.quads.len());
    let tried = left_out + measured;
    (tried >= TRIED_MIN && left_out > measured)
        .then(|| format!("{left_out} of {tried} quads had to be left out"))
}

/// Why nothing can be said, where too many quads have no number: the reason that most of them have.
fn disturbed(run: &AbRun) -> Option<Unavailable> {
    let none = || {
        let count = run.left_out.len();
        let none = !run.quads.iter().any(|quad| quad.slot.kind == Kind::Compared);
        (none && count > 0).then(|| format!("no quad has numbers, {count} had to be left out"))
    };
    let why = too_many_left_out(run).or_else(none)?;
    let of = |left: &LeftOut| left.unavailable.why.clone();
    let count = |why: &str| run.left_out.iter().filter(|left| left.unavailable.why == why).count();
    let most = run.left_out.iter().max_by_key(|left| count(&of(left)))?;
    let Unavailable { what, why: reason, .. } = &most.unavailable;
    let refusal =
        Unavailable::new(Obstacle::Measurement, "verdict", format!("{why}, {what}: {reason}"));
    Some(match &most.unavailable.remedy {
        Some(remedy) => refusal.with_remedy(remedy.clone()),
        None => refusal,
    })
}

/// Why it ended where it is decided at a look that was planned.
fn decided(run: &AbRun, slot: Slot) -> Option<String> {
    let compared = run.quads.iter().filter(|quad| quad.slot.kind == Kind::Compared).count();
    let compared = compared as u64;
    let is_look = slot.kind == Kind::Compared && run.looks.is_due(compared);
    if !is_look || compared >= run.looks.last() {
        return None;
    }
    compare(&run.quads, &run.rules, None)?.verdict.is_decided().then(|| {
        format!("decided at a planned look, after {compared} of {} quads", run.looks.last())
    })
}

/// How it ended where a measurement stopped it. What was measured until then stands; before anything
/// was, the error is the answer; but where an arm was set before, clocks and proofs of that stand.
fn end(stopped: Stopped, run: &mut AbRun, was_set: bool) -> Result<Option<Finding>, Error> {
    match stopped {
        Stopped::Interrupted => "interrupted".clone_into(&mut run.ended),
        // One that is left out is no end.
        Stopped::Disturbed(_, unavailable) => return Err(Error::Unavailable(unavailable)),
        Stopped::Failed(failure) => {
            run.ended = format!("{} failed", failure.arm);
            run.failures.push(failure);
        }
        Stopped::Error(error) if run.quads.is_empty() && !(was_set && is_setting(&error)) => {
            return Err(error);
        }
        Stopped::Error(Error::Run(RunError::Pin { cpu, source })) => {
            let count = run.quads.len();
            run.ended = format!("CPU {cpu} was lost after {count} quads");
            return Ok(Some(
                Finding::serious(
                    "run.cpu-lost",
                    format!("CPU {cpu}"),
                    format!(
                        "lost after {count} quads (cannot pin a thread there: {}); earlier quads \
                         stand",
                        sys::errno::words(&source)
                    ),
                )
                .remedy("bring it online again, or compare on others: --a cpus=LIST".to_owned()),
            ));
        }
        Stopped::Error(Error::Setting(error)) => {
            "a setting could not be made again".clone_into(&mut run.ended);
            run.failures.push(ArmFailure { arm: "A or B".to_owned(), why: error.to_string() });
        }
        Stopped::Error(error) => return Err(error),
    }
    Ok(None)
}

fn is_setting(error: &Error) -> bool {
    matches!(error, Error::Setting(_))
}

fn too_short(quads: u64, each: f64, share: f64, spent: f64) -> Unavailable {
    /// Fewer give no interval.
    const FEWEST: f64 = 8.0;
    let needed = (FEWEST * 4.0 * each / share + spent + 1.0).ceil();
    let why = format!(
        "there is time for {quads} quads, and {FEWEST:.0} are needed; one measurement takes {each:.3} s"
    );
    let refusal = Unavailable::new(Obstacle::Measurement, "verdict", why);
    refusal.with_remedy(format!("give it time: --budget {needed}s"))
}
