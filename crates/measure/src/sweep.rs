//! Sweeping a setting over many values: each is an arm, all of them take turns in blocks.
//!
//! The statistics are [`model::stats::paired`], as those of [`crate::ab`], whose arms are measured by the same hands.

use std::time::Instant;

use levers::Session;
use levers::plan::Change;
use machine::Machine;
use machine::activity::EnergyMeter;
use model::record::{ArmFailure, LeftOutBlock, Record, Settings, SweepRun, SweptValue};
use model::stats::paired::{
    Better, Looks, Per, Ranking, Rules, SweepBlock, fewest_blocks, rank, shuffled,
};
use model::{CpuSet, Known, Obstacle, Seconds, Unavailable};

use crate::ab;
use crate::arms::interference::InterferenceWatch;
use crate::arms::{AbSubject, Arm, ArmRunner, Stopped, Turns, difference};
use crate::run::arm_env::ArmEnv;
use crate::run::{Error, Progress};
use rig::executor::Stop;

/// Settings that cost less than this, relative, are as good as the best one, unless somebody says otherwise.
pub const BAND: f64 = 0.02;

/// More blocks than this take longer to judge than to measure.
const BLOCKS_MAX: u64 = 500;

/// So many looks.
const LOOKS: u64 = 5;

/// What is swept, and how.
pub struct Sweeping {
    /// The setting, as it was typed.
    pub setting: String,
    /// Its values, in order.
    pub arms: Vec<SweptArm>,
    /// What is measured.
    pub what: AbSubject,
    /// The time for all of it.
    pub budget: Seconds,
    /// Relative losses up to this are as good as the best.
    pub band: f64,
    /// Which direction is better, where somebody says so.
    pub better: Option<Better>,
    /// What measurements are related to.
    pub per: Option<Per>,
    /// Whether to see if the machine obeys, by the first value and the last one.
    pub prove: bool,
}

/// A value of the setting.
pub struct SweptArm {
    /// The value.
    pub value: SweptValue,
    /// How it runs.
    pub own: ArmEnv,
    /// What is set on the machine for it.
    pub changes: Vec<Change>,
}

impl Sweeping {
    /// With everything as usual.
    pub fn usual(setting: String, arms: Vec<SweptArm>, what: AbSubject) -> Sweeping {
        Sweeping {
            setting,
            arms,
            what,
            budget: Seconds(60.0),
            band: BAND,
            better: None,
            per: None,
            prove: true,
        }
    }
}

/// Sweeps. `described` is the record of the machine, to which the sweep is added. What the session set is for the
/// caller to put back.
pub fn run<'m>(
    machine: &'m Machine,
    sweeping: &Sweeping,
    session: Option<&mut Session<'m>>,
    described: Record,
    stop: &Stop,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Record, Error> {
    let begun = Instant::now();
    let nobody = CpuSet::default();
    let arms = sweeping.arms.iter().map(|arm| Arm {
        name: &arm.value.text,
        own: &arm.own,
        changes: &arm.changes,
        busy: &nobody,
    });
    let turns = Turns {
        arms: arms.collect(),
        what: &sweeping.what,
        budget: sweeping.budget,
        watches_clocks: false,
        has_control_chain: false,
        look: None,
    };
    let mut bench = ArmRunner::new(machine, turns, session, stop)?;
    let ends = [0, sweeping.arms.len() - 1];
    let mut proofs = if sweeping.prove { bench.prove(machine, ends)? } else { Vec::new() };
    let surroundings = InterferenceWatch::watch(machine, bench.cpus(), bench.elapsed());
    let better = sweeping.better.unwrap_or(bench.usual_direction());
    let rules = Rules { better, band: sweeping.band, level: 0.05 };
    let meter = sweeping.per.map(|_| EnergyMeter::new(machine, None));
    let mut course = BlockRun { bench, sweeping, rules, meter, source: None };
    let run = course.sweep(progress)?;
    let bench = course.bench;
    let mut record = described;
    // What else was measured keeps its own times and CPUs.
    let is_alone = record.series.is_empty();
    if is_alone {
        record.run.plan.cpus = bench.cpus();
    }
    let around = surroundings.end(machine, bench.elapsed(), bench.ran());
    if is_alone && machine.simulated.is_none() {
        record.run.seconds = begun.elapsed().as_secs_f64();
    }
    if stop.asked() {
        record.run.interrupted = Some("stopped".to_owned());
    }
    if run.held_seconds.is_some() {
        for proof in &mut proofs {
            proof.caveat = None;
        }
    } else if proofs.iter().all(|proof| proof.caveat.is_none()) {
        let [first, last] = ends.map(|arm| &*sweeping.arms[arm].changes);
        record.findings.extend(ab::heat(machine, &difference(first, last)));
    }
    if !proofs.is_empty() {
        record.settings = Some(Settings { proofs, ..Settings::default() });
    }
    record.findings.extend(around.findings);
    record.conditions.after.extend(around.conditions);
    record.sweep = Some(run);
    Ok(record)
}

/// The course of a sweep: a pilot, blocks, looks, the end.
struct BlockRun<'m, 's, 'c> {
    bench: ArmRunner<'m, 's, 'c>,
    sweeping: &'c Sweeping,
    rules: Rules,
    meter: Option<EnergyMeter<'m>>,
    /// What counted the energy.
    source: Option<String>,
}

/// One measurement.
struct SweepSeat {
    value: f64,
    watts: Option<f64>,
}

impl BlockRun<'_, '_, '_> {
    fn sweep(&mut self, progress: &mut dyn FnMut(Progress<'_>)) -> Result<SweepRun, Error> {
        let mut run = self.blank();
        let began = self.bench.elapsed();
        let mut there: Vec<usize> = Vec::new();
        let stopped = match self.pilot(&mut there, &mut run) {
            Ok(round) => self.blocks(began, round, &there, &mut run, progress),
            Err(stopped) => Some(stopped),
        };
        if let Some(stopped) = stopped {
            end(stopped, &mut run)?;
        }
        self.conclude(&mut run, began);
        Ok(run)
    }

    fn blank(&self) -> SweepRun {
        let [subject, metric, unit] = self.bench.measured();
        let nothing = "nothing was measured";
        SweepRun {
            subject,
            metric,
            unit,
            per: self.sweeping.per,
            energy_source: None,
            setting: self.sweeping.setting.clone(),
            arms: self.sweeping.arms.iter().map(|arm| arm.value.clone()).collect(),
            looks: Looks { quads: Vec::new(), level: self.rules.level },
            rules: self.rules,
            blocks: Vec::new(),
            ranking: Known::No {
                unavailable: Unavailable::new(Obstacle::Measurement, "ranking", nothing),
            },
            failures: Vec::new(),
            left_out: Vec::new(),
            ended: String::new(),
            cost: None,
            held_seconds: None,
        }
    }

    /// Each arm once: the seconds of all of them. One that fails is told, and takes no part.
    fn pilot(&mut self, there: &mut Vec<usize>, run: &mut SweepRun) -> Result<f64, Stopped> {
        let before = self.bench.elapsed();
        let mut failing = 0.0;
        for arm in 0..self.sweeping.arms.len() {
            let began = self.bench.elapsed();
            match self.seat(arm) {
                Ok(_) | Err(Stopped::Disturbed(..)) => there.push(arm),
                Err(Stopped::Failed(failure)) => {
                    run.failures.push(failure);
                    failing += (self.bench.elapsed() - began).0;
                }
                Err(stopped) => return Err(stopped),
            }
        }
        Ok((self.bench.elapsed() - before).0 - failing)
    }

    /// As many blocks as the time allows, or as decide. None where it came to an end, with the words for that in the
    /// record.
    fn blocks(
        &mut self,
        began: Seconds,
        round: f64,
        there: &[usize],
        run: &mut SweepRun,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Option<Stopped> {
        let budget = self.sweeping.budget;
        if there.len() < 2 {
            "fewer than two values can be measured".clone_into(&mut run.ended);
            let why = match run.failures.first() {
                Some(failure) => format!("{} fails: {}", failure.arm, failure.why),
                None => run.ended.clone(),
            };
            let reason = Unavailable::new(Obstacle::Measurement, "ranking", why);
            run.ranking = Known::No { unavailable: reason };
            return None;
        }
        // All arms twice, and the control, which is one more of them.
        let block = 2.0 * round * (there.len() + 1) as f64 / there.len() as f64;
        let block = block + self.hold_if_there_is_time(began, block, there.len());
        match self.plan(began, block, there.len()) {
            Ok(looks) => run.looks = looks,
            Err(unavailable) => {
                "the time allows too few blocks".clone_into(&mut run.ended);
                run.ranking = Known::No { unavailable };
                return None;
            }
        }
        run.rules.level = run.looks.level;
        while (run.blocks.len() as u64) < run.looks.last() {
            let used = (self.bench.elapsed() - began) / budget;
            progress(Progress { share: used.min(1.0), doing: "sweeping" });
            match self.block(there) {
                Ok(block) => run.blocks.push(block),
                Err(Stopped::Disturbed(arm, unavailable)) => {
                    let arm = self.sweeping.arms[arm].value.text.clone();
                    run.left_out.push(LeftOutBlock { arm, unavailable });
                    if run.left_out.len() > run.blocks.len() + TRIED_MIN {
                        run.ended = format!("{} blocks had to be left out", run.left_out.len());
                        return None;
                    }
                }
                Err(stopped) => return Some(stopped),
            }
            let count = run.blocks.len() as u64;
            if run.looks.is_due(count) && count < run.looks.last() {
                let ranking = ranking(run);
                if ranking.is_some_and(|it| it.is_decided()) {
                    let last = run.looks.last();
                    run.ended =
                        format!("decided at a planned look, after {count} of {last} blocks");
                    return None;
                }
            }
            if (self.bench.elapsed() - began).0 > budget.0 * 1.05 {
                "the budget was spent".clone_into(&mut run.ended);
                return None;
            }
        }
        run.ended = format!("all {} planned blocks were measured", run.looks.last());
        let fewest = fewest_blocks(there.len(), self.rules.level);
        if run.looks.last() < fewest as u64 {
            let needed = self.needed(block, there.len(), round);
            let more = format!("; {fewest} give intervals: --budget {needed}s");
            run.ended.push_str(&more);
        }
        None
    }

    /// All arms twice, in an order of chance and backwards.
    fn block(&mut self, there: &[usize]) -> Result<SweepBlock, Stopped> {
        let random = &mut self.bench.random;
        let order = shuffled(there.len() + 1, &mut |below| random.u64(0..below));
        let (mut values, mut watts) = (Vec::new(), Vec::new());
        let control = self.sweeping.arms.len();
        // The numbers of a record are those of all arms, also where some take no part.
        let order: Vec<usize> =
            order.into_iter().map(|seat| there.get(seat).copied().unwrap_or(control)).collect();
        for arm in SweepBlock::seats(&order) {
            let seat = self.seat(if arm == control { there[0] } else { arm })?;
            values.push(seat.value);
            watts.extend(seat.watts);
        }
        let bad = |reason: Unavailable| {
            let arm = self.sweeping.setting.clone();
            Stopped::Failed(ArmFailure { arm, why: reason.why })
        };
        SweepBlock::new(order, values, watts).map_err(bad)
    }

    /// One measurement; where the energy is asked for, as many in a row as its counters need, and their mean.
    fn seat(&mut self, arm: usize) -> Result<SweepSeat, Stopped> {
        let BlockRun { bench, meter, .. } = self;
        let Some(meter) = meter else {
            return Ok(SweepSeat { value: bench.measure(arm)?, watts: None });
        };
        // What is written for the arm is not part of what it draws.
        bench.set(arm).map_err(Stopped::Error)?;
        let mut values: Vec<f64> = Vec::new();
        let began = bench.elapsed();
        meter.begin();
        while values.is_empty() || (bench.elapsed() - began).0 < ENERGY_SECONDS {
            values.push(bench.measure(arm)?);
            meter.note();
        }
        let reading = meter.end();
        self.source = reading.source;
        let joules = reading.joules.map_err(|reason| match reason.obstacle {
            Obstacle::Measurement => Stopped::Disturbed(arm, reason),
            _ => Stopped::Error(Error::Unavailable(reason)),
        })?;
        let value = values.iter().sum::<f64>() / values.len() as f64;
        Ok(SweepSeat { value, watts: Some(joules / reading.lasted.as_secs_f64()) })
    }

    /// Settings that move power are held until heat has settled, where that leaves blocks enough. Answers what that
    /// adds to a block.
    fn hold_if_there_is_time(&mut self, began: Seconds, block: f64, arms: usize) -> f64 {
        let Some(settles) = self.bench.settles else { return 0.0 };
        let more = settles.0 * 2.0 * arms as f64;
        let looks = self.plan(began, block + more, arms);
        if !looks.is_ok_and(|looks| looks.last() >= fewest_blocks(arms, looks.level) as u64) {
            return 0.0;
        }
        self.bench.hold = Some(settles);
        more
    }

    /// The looks that the time allows, where a block takes so long.
    fn plan(&self, began: Seconds, block: f64, arms: usize) -> Result<Looks, Unavailable> {
        let spent = (self.bench.elapsed() - began).0;
        let room = ((self.sweeping.budget.0 - spent) / block).max(0.0);
        let blocks = (room as u64).min(BLOCKS_MAX);
        let able = |looks: &Looks| {
            let first = looks.quads.first().copied().unwrap_or(0);
            first >= fewest_blocks(arms, looks.level) as u64
        };
        let looks = Looks::planned(blocks, LOOKS).ok().filter(able);
        let looks = looks.or_else(|| Looks::planned(blocks, 1).ok().filter(able));
        // Few blocks tell who was best then, and leave open whether that was chance.
        let few = Looks { quads: vec![blocks], level: self.rules.level };
        looks.or((blocks > 0).then_some(few)).ok_or_else(|| {
            let needed = self.needed(block, arms, spent);
            let why = format!(
                "one block of {arms} values, each measured twice, takes {block:.3} s, and {room:.0} % of that are left",
                room = room * 100.0
            );
            let reason = Unavailable::new(Obstacle::Measurement, "ranking", why);
            reason.with_remedy(format!("give it time: --budget {needed}s"))
        })
    }

    /// The time for as many blocks as can decide, in whole seconds.
    fn needed(&self, block: f64, arms: usize, spent: f64) -> f64 {
        (fewest_blocks(arms, self.rules.level) as f64 * block + spent + 1.0).ceil()
    }

    fn conclude(&self, run: &mut SweepRun, began: Seconds) {
        run.energy_source.clone_from(&self.source);
        let bench = &self.bench;
        let all = (bench.elapsed() - began).0;
        if !run.blocks.is_empty() {
            // The pilot is half a block.
            let blocks = (run.blocks.len() + run.left_out.len()) as f64 + 0.5;
            run.cost = Some(bench.cost(all, blocks));
        }
        run.held_seconds = bench.held_seconds();
        if let Some(ranking) = ranking(run) {
            run.ranking = Known::Yes(ranking);
        }
    }
}

/// What may be said now.
fn ranking(run: &SweepRun) -> Option<Ranking> {
    let arms = run.arms.len();
    match run.per {
        None => rank(arms, &run.blocks, &run.rules),
        Some(per) => {
            let related = |block: &SweepBlock| block.related(per, run.rules.better);
            let blocks: Option<Vec<SweepBlock>> = run.blocks.iter().map(related).collect();
            rank(arms, &blocks?, &run.rules)
        }
    }
}

/// So many blocks may be left out before it is judged whether they are too many.
const TRIED_MIN: usize = 4;

/// Counters of energy move once in a millisecond: shorter stretches say little.
const ENERGY_SECONDS: f64 = 0.12;

/// How it ended where a measurement stopped it. What was measured until then stands; before anything was, the error
/// is the answer.
fn end(stopped: Stopped, run: &mut SweepRun) -> Result<(), Error> {
    match stopped {
        Stopped::Interrupted => "interrupted".clone_into(&mut run.ended),
        Stopped::Disturbed(_, unavailable) => return Err(Error::Unavailable(unavailable)),
        Stopped::Failed(failure) => {
            run.ended = format!("{} failed", failure.arm);
            run.failures.push(failure);
        }
        Stopped::Error(error) if run.blocks.is_empty() => return Err(error),
        Stopped::Error(error) => {
            run.ended = format!("{error}");
            run.failures.push(ArmFailure { arm: run.setting.clone(), why: error.to_string() });
        }
    }
    Ok(())
}
