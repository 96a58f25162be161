//! Measuring, sweep by sweep: every sweep measures one block of every cell, in random order, so that
//! the blocks of a cell are spread over the whole run and drift shows as spread between them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fastrand::Rng;
use machine::instruments::traffic::TrafficCounters;
use machine::limits::{Looked, Meanwhile, Reasons};
use machine::memory::room;
use model::record::CHANGED;
use model::stats::BLOCKS_FOR_INTERVAL;
use model::{CpuId, Obstacle, Pages, Seconds, Unavailable};

use super::answers::{AnswerLog, Judged};
use super::controllers::Controllers;
use super::events;
use super::variant_trials::{self, Trial};
use super::{Planned, Program, Progress, Request, Rulers, Span};
use crate::run::plan::{
    Active, CellWork, CustomJob, JobContext, JobTarget, MemoryJob, Planning, Streams,
};
use rig::collect::{Collector, Key, rounded};
use rig::executor::{Executor, RunError, guarded};
use rig::job::{Around, Repeat};
use rig::reduce::WITNESS_TOLERANCE;
use rig::{calibration, placement, reduce, ruler, traffic};

/// What was measured.
pub(super) struct Swept {
    pub(super) collector: Collector,
    pub(super) rulers: Rulers,
    /// What the rig measured of itself on each CPU.
    pub(super) own: BTreeMap<CpuId, Own>,
    /// What the probes of each pair saw.
    pub(super) probes: BTreeMap<[CpuId; 2], Vec<placement::Probe>>,
    /// Sweeps in which a class changed, by how many were done before. What comes after all of them is of the last one.
    pub(super) changed: BTreeSet<u64>,
    /// The sweep that is under way.
    sweep: u64,
    pub(super) sweeps_planned: u64,
    pub(super) sweeps_done: u64,
    pub(super) seed: u64,
    /// What was tried before the first sweep.
    pub(super) trials: Vec<Trial>,
    /// By cell of streams: what each reason for a lower clock did in its blocks.
    pub(super) told: BTreeMap<usize, BTreeMap<String, ReasonCounts>>,
    /// Cells that were measured in the time that was left.
    pub(super) spared: BTreeSet<usize>,
    /// By cell: what ended it, while the others went on.
    pub(super) failed: BTreeMap<usize, RunError>,
    /// What belongs to no cell and failed, while the cells went on: what was done, and why it failed.
    pub(super) skipped: BTreeMap<String, RunError>,
    /// What ended it before all was done.
    pub(super) end: Option<End>,
    /// For how long nothing ran in the middle of it.
    pub(super) stood_still: Seconds,
    /// What streams answered.
    answers: AnswerLog,
    /// What came of that, when all was measured.
    pub(super) judged: Judged,
}

impl Swept {
    pub(super) fn new(sweeps_planned: u64, seed: u64) -> Swept {
        Swept {
            collector: Collector::within(WITNESS_TOLERANCE),
            rulers: Rulers::new(),
            own: BTreeMap::new(),
            probes: BTreeMap::new(),
            changed: BTreeSet::new(),
            sweep: 0,
            sweeps_planned,
            sweeps_done: 0,
            seed,
            trials: Vec::new(),
            told: BTreeMap::new(),
            spared: BTreeSet::new(),
            failed: BTreeMap::new(),
            skipped: BTreeMap::new(),
            end: None,
            stood_still: Seconds(0.0),
            answers: AnswerLog::default(),
            judged: Judged::default(),
        }
    }

    /// Judges what streams answered, in a small share of the time of the run.
    pub(super) fn judge(
        &mut self,
        executor: &mut dyn Executor,
        planning: &Planning<'_>,
        time: Seconds,
    ) {
        let cpus = &planning.placement.cpus;
        self.judged = self.answers.judge(executor, cpus, planning.topology(), time);
    }

    /// What was done beside the cells: where it failed by itself they go on without it.
    fn beside<T>(
        &mut self,
        doing: impl FnOnce() -> String,
        done: Result<T, RunError>,
    ) -> Result<Option<T>, RunError> {
        match done {
            Err(error) if error.is_of_one_job() => {
                self.skipped.entry(doing()).or_insert(error);
                Ok(None)
            }
            done => done.map(Some),
        }
    }
}

/// What ended a run before all was done. What was measured until then stands.
pub(super) enum End {
    /// Somebody stopped it.
    Interrupted,
    /// Its time was over.
    OutOfTime,
    /// A CPU was there when it began, and threads could not be pinned to it any more.
    Lost {
        /// Which.
        cpu: CpuId,
        /// What the kernel said.
        why: String,
    },
    /// It could not go on.
    Failed(RunError),
}

impl End {
    /// What that error ends; itself where nothing was measured that could stand.
    fn of(error: RunError, is_empty: bool) -> Result<End, RunError> {
        match error {
            RunError::Interrupted => Ok(End::Interrupted),
            RunError::OutOfTime => Ok(End::OutOfTime),
            error if is_empty => Err(error),
            RunError::Pin { cpu, .. } => Ok(End::Lost { cpu, why: error.to_string() }),
            error => Ok(End::Failed(error)),
        }
    }
}

/// In how many blocks of a cell a reason for a lower clock did what. Its log stays set once it came up, so that
/// the blocks after which it was clear are the first ones.
#[derive(Default)]
pub(super) struct ReasonCounts {
    pub(super) clear: u64,
    pub(super) came_up: u64,
    pub(super) untold: u64,
}

/// What the rig measured of itself on one CPU: one sample for each job, one block for each sweep.
#[derive(Default)]
pub(super) struct Own {
    /// Seconds of the empty repetition.
    pub(super) repetition: Vec<Vec<f64>>,
    /// Hertz with nothing but the ruler, while no other core is active.
    pub(super) quiet_clock: Vec<Vec<f64>>,
    /// The same right after a payload.
    pub(super) clock_after: Vec<Vec<f64>>,
}

impl Own {
    fn begin_block(&mut self) {
        self.repetition.push(Vec::new());
        self.quiet_clock.push(Vec::new());
        self.clock_after.push(Vec::new());
    }

    fn note(&mut self, reduced: &reduce::Reduced, alone: bool) {
        if self.repetition.is_empty() {
            self.begin_block();
        }
        let last = self.repetition.len() - 1;
        self.repetition[last].extend(reduced.null_seconds.map(rounded));
        // With other cores active the clock is another one: those samples say nothing of drift.
        let median = |clock| model::stats::median(clock).filter(|_| alone).map(rounded);
        self.quiet_clock[last].extend(median(&reduced.quiet_clock));
        self.clock_after[last].extend(median(&reduced.clock_after));
    }
}

/// What is read while a run goes on.
#[derive(Clone, Copy, Default)]
pub(super) struct Instruments<'a> {
    /// The counters of memory controllers.
    pub(super) memory: Option<&'a Arc<TrafficCounters>>,
    /// The registers of reasons for a lower clock.
    pub(super) reasons: Option<&'a Reasons>,
}

impl<'a> Instruments<'a> {
    pub(super) fn of(controllers: Option<&'a Controllers>, reasons: Option<&'a Reasons>) -> Self {
        Instruments { memory: controllers.and_then(Controllers::source), reasons }
    }
}

pub(super) fn run(
    executor: &mut dyn Executor,
    planning: &Planning<'_>,
    program: &Program,
    request: &Request,
    instruments: Instruments<'_>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Swept, RunError> {
    let mut swept = Swept::new(program.sweeps, planning.machine.host.seed());
    swept.collector = Collector::within(request.witness_tolerance);
    let chosen = vec![0; program.cells.len() + program.left_out.len()];
    let plain = Sweeper::new(executor, planning, program, request, chosen);
    let deadline = deadline(request, program);
    let mut sweeper = Sweeper { instruments, progress: Some(progress), deadline, ..plain };
    if let Err(error) = sweeper.sweeps(&mut swept) {
        swept.end = Some(End::of(error, swept.collector.is_empty())?);
    }
    swept.stood_still = sweeper.executor.stood_still();
    // Where there is nothing to keep, it failed as a whole.
    match swept.failed.pop_first() {
        Some((_, error)) if swept.collector.is_empty() => return Err(error),
        first => swept.failed.extend(first),
    }
    Ok(swept)
}

/// When a run has to be over. Its budget is a promise: a tenth more at most, or a second.
fn deadline(request: &Request, program: &Program) -> Option<Seconds> {
    const MORE: (f64, Seconds) = (1.1, Seconds(1.0));
    /// Until threads have noticed, and a page is printed.
    const END: Seconds = Seconds(0.5);
    /// A plan is no promise, but a machine that others use for so long gives no better numbers later.
    const LATER: (f64, Seconds) = (2.0, Seconds(8.0));
    match request.span {
        Span::Budget(time) | Span::All(time) => {
            let promised = (time * MORE.0).0.max((time + MORE.1).0);
            Some(Seconds(promised) + request.patience - END - program.afterwards)
        }
        Span::Bounded(_) => Some(program.latest() * LATER.0 + LATER.1),
        Span::Blocks(_) => None,
    }
}

/// Measures cells of a program.
pub(super) struct Sweeper<'a> {
    executor: &'a mut dyn Executor,
    planning: &'a Planning<'a>,
    program: &'a Program,
    request: &'a Request,
    instruments: Instruments<'a>,
    progress: Option<&'a mut dyn FnMut(Progress<'_>)>,
    random: Rng,
    /// Of each planned cell, the way in which it moves its data.
    chosen: Vec<usize>,
    /// When all has to be over; none where whoever asks for blocks has the time in hand.
    deadline: Option<Seconds>,
}

/// Of more CPUs than this, one look at each is enough: cores of one type share what is fixed.
const REFINED_AT_ONCE: usize = 16;

impl<'a> Sweeper<'a> {
    /// Tells nobody, reads nothing beside, and ends when it is through.
    fn new(
        executor: &'a mut dyn Executor,
        planning: &'a Planning<'a>,
        program: &'a Program,
        request: &'a Request,
        chosen: Vec<usize>,
    ) -> Sweeper<'a> {
        let random = Rng::with_seed(planning.machine.host.seed());
        let (instruments, progress, deadline) = (Instruments::default(), None, None);
        Sweeper {
            executor,
            planning,
            program,
            request,
            instruments,
            progress,
            random,
            chosen,
            deadline,
        }
    }

    /// Measures the first cell of a program for whoever asks, with that way to move its data.
    pub(super) fn of_one(
        executor: &'a mut dyn Executor,
        planning: &'a Planning<'a>,
        program: &'a Program,
        request: &'a Request,
        chosen: usize,
    ) -> Sweeper<'a> {
        Sweeper::new(executor, planning, program, request, vec![chosen])
    }

    /// The fastest way to move the first cell's data.
    pub(super) fn choose(&mut self) -> Result<usize, RunError> {
        self.trials(&[0], variant_trials::longest(self.request.span))?;
        Ok(self.chosen[0])
    }

    /// One block of the first cell.
    pub(super) fn only(&mut self, swept: &mut Swept) -> Result<Vec<reduce::Reduced>, RunError> {
        Ok(self.attempt(0, swept)?.into_iter().map(|piece| piece.reduced).collect())
    }

    /// Lets each CPU find its rulers, if it has none yet.
    pub(super) fn calibrate(&mut self, swept: &mut Swept) -> Result<Vec<CpuId>, RunError> {
        self.tell("calibrating rulers");
        self.bound(Seconds(0.0))?;
        let cpus: Vec<CpuId> = self.program.used().iter().collect();
        let tools = &self.program.tools;
        let new: Vec<CpuId> =
            cpus.iter().copied().filter(|cpu| !swept.rulers.contains_key(cpu)).collect();
        swept.rulers.extend(calibration::calibrate(self.executor, tools, &new)?);
        if cpus.len() <= REFINED_AT_ONCE {
            for _ in 0..calibration::LOOKS {
                let refined =
                    guarded(|| calibration::refine(self.executor, tools, &mut swept.rulers));
                swept.beside(|| "checking rulers again".to_owned(), refined)?;
            }
        }
        self.share(swept);
        Ok(cpus)
    }

    fn sweeps(&mut self, swept: &mut Swept) -> Result<(), RunError> {
        let cpus = self.calibrate(swept)?;
        let cost = guarded(|| self.own_cost(swept, &cpus));
        swept.beside(|| "measuring the overhead of a repetition".to_owned(), cost)?;
        self.tell("choosing variants");
        let all: Vec<usize> = (0..self.program.cells.len()).collect();
        swept.trials = self.trials(&all, variant_trials::longest(self.request.span))?;
        let of = |once: bool| {
            let all = 0..self.program.cells.len();
            all.filter(|&cell| self.program.cell(cell).cell.is_once() == once).collect()
        };
        let (mut each, mut once): (Vec<usize>, Vec<usize>) = (of(false), of(true));
        // Where nothing else is measured, what goes on over time is the only sweep, in the order of the plan, too.
        let is_over_time = each.is_empty();
        if is_over_time {
            each = std::mem::take(&mut once);
        }
        let kept_back = self.program.cost_of(true) * f64::from(u8::from(!once.is_empty()));
        while swept.sweeps_done < swept.sweeps_planned {
            let begun = self.executor.elapsed();
            swept.sweep = swept.sweeps_done;
            swept.own.values_mut().for_each(Own::begin_block);
            if is_over_time {
                each.iter().try_for_each(|cell| self.sweep(&[*cell], swept))?;
            } else {
                self.sweep(&each, swept)?;
            }
            swept.sweeps_done += 1;
            let took = self.executor.elapsed() - begun;
            // The next sweep takes about as long as this one: it begins only if it can end.
            let budget = match self.request.span {
                Span::Budget(budget) | Span::All(budget) => self.usable(budget),
                Span::Bounded(_) => self.program.latest(),
                Span::Blocks(_) => continue,
            };
            if self.executor.elapsed() + took + kept_back > budget {
                break;
            }
        }
        if let Span::Budget(budget) = self.request.span {
            self.spare(swept, self.usable(budget) - kept_back)?;
        }
        // What heats the machine for a while comes when all else is measured, in the order of the plan.
        once.into_iter().try_for_each(|cell| self.sweep(&[cell], swept))
    }

    /// What of a budget can be measured in: on a slow machine its end is needed for other things.
    fn usable(&self, budget: Seconds) -> Seconds {
        self.deadline.map_or(budget, |deadline| Seconds(budget.0.min(deadline.0)))
    }

    /// Leaves the other cells half of the time that is left, should a job of one that takes so long hang.
    fn bound(&mut self, planned: Seconds) -> Result<(), RunError> {
        /// Memory that is touched for the first time, or a machine that others use, is no hang.
        const PATIENCE: f64 = 10.0;
        const LEAST: Seconds = Seconds(8.0);
        let half = (self.program.time - self.executor.elapsed()) * 0.5;
        let limit = half.0.max(planned.0 * PATIENCE).max(LEAST.0);
        self.executor.limit(Seconds(limit), self.deadline);
        let is_over = self.deadline.is_some_and(|deadline| self.executor.elapsed().0 >= deadline.0);
        if is_over { Err(RunError::OutOfTime) } else { Ok(()) }
    }

    /// Others take memory meanwhile, too: before what needs some it is looked at how much there is.
    fn make_room(&mut self) {
        let machine = self.planning.machine;
        if machine.simulated.is_some() {
            return;
        }
        if let Ok(room) = room(machine, Pages::Base) {
            self.executor.allow(room.usable());
        }
    }

    /// Lets the ways to move the data of these cells compete for so long.
    fn trials(&mut self, cells: &[usize], time: Seconds) -> Result<Vec<Trial>, RunError> {
        self.bound(time)?;
        self.make_room();
        let latest = variant_trials::latest(self.request.span);
        let Sweeper { executor, program, random, chosen, .. } = self;
        variant_trials::choose(&mut **executor, program, cells, [time, latest], random, chosen)
    }

    /// Five blocks of what was left out, as far as they end in time: nothing took longer than planned, or
    /// sweeps would have been fewer.
    fn spare(&mut self, swept: &mut Swept, until: Seconds) -> Result<(), RunError> {
        /// What moves data takes, beside its trial.
        const MARGIN: f64 = 1.3;
        const TRIAL: Seconds = Seconds(0.3);
        let blocks = BLOCKS_FOR_INTERVAL as u64;
        if swept.sweeps_done < blocks || swept.sweeps_done < swept.sweeps_planned {
            return Ok(());
        }
        for cell in self.program.spare() {
            let takes = self.program.cell(cell).cell.duration() * (blocks as f64 * MARGIN) + TRIAL;
            if self.executor.elapsed() + takes > until {
                continue;
            }
            let trials = self.trials(&[cell], TRIAL)?;
            swept.trials.extend(trials);
            swept.spared.insert(cell);
            (0..blocks).try_for_each(|_| self.sweep(&[cell], swept))?;
        }
        Ok(())
    }

    /// One block of each of these cells.
    fn sweep(&mut self, cells: &[usize], swept: &mut Swept) -> Result<(), RunError> {
        let program = self.program;
        let is_alone = |cell: &usize| program.cell(*cell).cell.cpus().len() == 1;
        let (mut alone, mut together): (Vec<usize>, Vec<usize>) =
            cells.iter().copied().partition(is_alone);
        self.random.shuffle(&mut alone);
        self.random.shuffle(&mut together);
        for cell in alone {
            let pieces = self.block(cell, swept)?;
            self.add(swept, cell, None, pieces);
        }
        if together.is_empty() {
            return Ok(());
        }
        let before = self.probes(cells, swept)?;
        let mut blocks = Vec::new();
        let measure = || {
            for cell in together {
                blocks.push((cell, self.block(cell, swept)?));
            }
            self.probes(cells, swept)
        };
        // What ends the run now leaves what was measured, of CPUs that lay as they did before it.
        let after = measure();
        let lay = after.as_ref().unwrap_or(&before);
        for (cell, pieces) in blocks {
            let class = class_of(program.cell(cell), &before, lay);
            swept.changed.extend((class.as_deref() == Some(CHANGED)).then_some(swept.sweep));
            self.add(swept, cell, class.as_deref(), pieces);
        }
        after.map(drop)
    }

    /// Probes the pairs that stand for every number of CPUs that are active together.
    fn probes(
        &mut self,
        cells: &[usize],
        swept: &mut Swept,
    ) -> Result<Vec<placement::Probe>, RunError> {
        self.tell("probing the placement");
        self.bound(Seconds(0.0))?;
        let together = self.program.together(cells);
        let mut pairs: Vec<[CpuId; 2]> =
            together.iter().flat_map(|cpus| placement::pairs(cpus)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let fabric = self.planning.fabric();
        let mut probes = Vec::new();
        for pair in pairs {
            let topology = self.planning.topology();
            let tools = &self.program.tools;
            let probe = guarded(|| placement::probe(self.executor, tools, topology, fabric, pair));
            let [a, b] = pair;
            let doing = || format!("probing the placement of CPUs {a} and {b}");
            if let Some(probe) = swept.beside(doing, probe)? {
                swept.probes.entry(pair).or_default().push(probe);
                probes.push(probe);
            }
        }
        Ok(probes)
    }

    /// One block of a cell; nothing where it failed by itself, now or before.
    fn block(&mut self, cell: usize, swept: &mut Swept) -> Result<Pieces, RunError> {
        if events::end_of(self.program, &swept.failed, cell).is_some() {
            return Ok(Pieces::new());
        }
        match guarded(|| self.attempt(cell, swept)) {
            Err(error) if error.is_of_one_job() => {
                swept.failed.insert(cell, error);
                Ok(Pieces::new())
            }
            done => done,
        }
    }

    fn attempt(&mut self, cell: usize, swept: &mut Swept) -> Result<Pieces, RunError> {
        self.bound(self.program.cell(cell).cell.duration())?;
        if !matches!(self.program.cell(cell).cell.work, CellWork::Streams(_)) {
            self.make_room();
        }
        match &self.program.cell(cell).cell.work {
            CellWork::Streams(streams) => {
                let before = self.look(cell);
                let pieces = self.streams(streams, swept)?;
                self.note_told(cell, before, swept);
                Ok(pieces)
            }
            CellWork::Traffic(moved) => self.moved(moved, self.chosen[cell], swept),
            CellWork::CustomJob(job) => self.custom(&**job, swept),
        }
    }

    fn streams(&mut self, streams: &Streams, swept: &mut Swept) -> Result<Pieces, RunError> {
        self.tell(streams.members[0].member.payload.id);
        let job = Repeat {
            members: streams.members.iter().map(|active| active.member).collect(),
            phases: streams.phases.clone(),
            tools: self.program.tools,
            manner: self.request.manner,
        };
        let raw = self.executor.repeat(&job)?;
        let rate = self.executor.rate();
        let overlap = reduce::overlap(&raw, &job);
        if let [alone] = raw.members.as_slice() {
            // Beside other active cores lengths scatter to one side, and what is fixed with them.
            let look = reduce::fixed(alone, &job);
            let ruler = swept.rulers.get_mut(&alone.cpu).and_then(|ruler| ruler.as_mut().ok());
            if ruler.is_some_and(|ruler| ruler.keep(look)) {
                self.share(swept);
            }
        }
        let alone = streams.members.len() == 1;
        let at = self.executor.elapsed();
        let pieces = std::iter::zip(raw.members, &streams.members).map(|(raw, active)| {
            let member = active.member;
            let ruler = swept.rulers.get(&raw.cpu).and_then(|ruler| ruler.as_ref().ok());
            let reduced = reduce::reduce(&raw, member.payload, &job, ruler, rate);
            let reduced = reduce::Reduced { overlap, ..reduced };
            swept.own.entry(raw.cpu).or_default().note(&reduced, alone);
            swept.answers.note(raw.cpu, member.payload, &raw.answers, (at, alone));
            let Active { order, .. } = *active;
            let (workload, parameters) = (member.payload.id, BTreeMap::new());
            Piece { order, workload, cpu: raw.cpu, parameters, around: raw.around, reduced }
        });
        Ok(pieces.collect())
    }

    /// Reasons for a lower clock on the CPUs of a cell, at this moment.
    fn look(&self, cell: usize) -> Option<Looked> {
        let cpus = self.program.cell(cell).cell.cpus().into_iter().collect();
        Some(self.instruments.reasons?.look_at(self.planning.machine, &cpus))
    }

    /// Notes which reasons came up in a block of a cell, and which did not.
    fn note_told(&self, cell: usize, before: Option<Looked>, swept: &mut Swept) {
        let Some((before, after)) = before.zip(self.look(cell)) else { return };
        let told = swept.told.entry(cell).or_default();
        for (source, did) in before.meanwhile(&after) {
            let told = told.entry(source).or_default();
            *match did {
                Meanwhile::Clear => &mut told.clear,
                Meanwhile::CameUp => &mut told.came_up,
                Meanwhile::Untold => &mut told.untold,
            } += 1;
        }
    }

    /// Data moved in one way: one piece for all members.
    fn moved(
        &mut self,
        moved: &MemoryJob,
        candidate: usize,
        swept: &mut Swept,
    ) -> Result<Pieces, RunError> {
        self.tell(moved.workload);
        let job = &moved.candidates[candidate].job;
        let counters = self.instruments.memory.filter(|_| moved.counted);
        let raw = self.executor.traffic(job, &self.program.tools, counters)?;
        let cpu = job.cpus()[0];
        let ruler = swept.rulers.get(&cpu).and_then(|ruler| ruler.as_ref().ok());
        let ops = self.program.tools.ruler.ops_per_iteration as f64;
        let ruler_cycles = ruler.map(|ruler| ops * f64::from(ruler.latency_cycles));
        let haul = traffic::reduce(&raw, job, self.executor.rate(), ruler_cycles);
        let around = raw
            .members
            .iter()
            .map(|member| member.around)
            .fold(Around { settled: true, ..Around::default() }, Around::and);
        let reduced = reduce::Reduced { haul: Some(haul), ..reduce::Reduced::default() };
        let MemoryJob { order, workload, .. } = *moved;
        Ok(vec![Piece { order, workload, cpu, parameters: BTreeMap::new(), around, reduced }])
    }

    /// What the area makes of its own jobs: one piece for all of its CPUs, and one for each part.
    fn custom(&mut self, job: &dyn CustomJob, swept: &mut Swept) -> Result<Pieces, RunError> {
        let JobTarget { order, workload, .. } = job.aim();
        self.tell(workload);
        let machine = self.planning.machine;
        let run =
            job.run(JobContext { executor: self.executor, rulers: &swept.rulers, machine })?;
        // Where all numbers are of parts, there are none of the whole.
        let is_split = run.readings.is_empty() && !run.parts.is_empty();
        let whole = (!is_split).then(|| (BTreeMap::new(), run.readings));
        let pieces = whole.into_iter().chain(run.parts).map(|(parameters, readings)| {
            let readings = numbers_only(workload, readings);
            let witness = run.witness;
            let reduced = reduce::Reduced { readings, witness, ..reduce::Reduced::default() };
            let cpu = job.cpu_of(&parameters);
            Piece { order, workload, cpu, parameters, around: run.around, reduced }
        });
        Ok(pieces.collect())
    }

    /// What a repetition costs by itself, where no stream will tell.
    fn own_cost(&mut self, swept: &mut Swept, cpus: &[CpuId]) -> Result<(), RunError> {
        let streams = |planned: &Planned| matches!(planned.cell.work, CellWork::Streams(_));
        if self.program.cells.iter().any(streams) {
            return Ok(());
        }
        for &cpu in cpus.iter().take(REFINED_AT_ONCE) {
            let job = calibration::quiet(&self.program.tools, cpu);
            let raw = self.executor.repeat(&job)?;
            let ruler = swept.rulers.get(&cpu).and_then(|ruler| ruler.as_ref().ok());
            let null = self.program.tools.null;
            let reduced = reduce::reduce(&raw.members[0], null, &job, ruler, self.executor.rate());
            swept.own.entry(cpu).or_default().note(&reduced, true);
        }
        Ok(())
    }

    /// Lets cores of one type share what is fixed about their rulers.
    fn share(&self, swept: &mut Swept) {
        let topology = self.planning.topology();
        let type_of = |cpu| topology.place(cpu).and_then(|place| place.kind.as_deref());
        ruler::share(&mut swept.rulers, type_of);
    }

    /// One block of every member of a cell.
    fn add(&self, swept: &mut Swept, cell: usize, class: Option<&str>, pieces: Pieces) {
        let (planned, chosen) = (self.program.cell(cell), self.chosen[cell]);
        let area = self.program.areas[planned.area];
        let cell = &planned.cell;
        let mut parameters = cell.parameters.clone();
        if let CellWork::Traffic(moved) = &cell.work {
            parameters.extend(moved.candidates[chosen].parameters.clone());
        }
        let active = cell.cpus();
        for piece in pieces {
            let mut parameters = parameters.clone();
            parameters.extend(piece.parameters);
            let key = Key {
                area_order: planned.area,
                area: area.word(),
                workload_order: piece.order,
                workload: piece.workload,
                active_count: active.len(),
                active: active.clone(),
                cpu: piece.cpu,
                class: class.map(str::to_owned),
                parameters,
            };
            swept.collector.add(key, || area.taken(), &piece.around, &piece.reduced);
        }
    }

    fn tell(&mut self, doing: &str) {
        let share = (self.executor.elapsed() / self.program.time).min(1.0);
        if let Some(progress) = &mut self.progress {
            progress(Progress { share, doing });
        }
    }
}

/// What one block gave to one series.
struct Piece {
    order: usize,
    workload: &'static str,
    cpu: CpuId,
    /// What tells it from the other pieces of its cell.
    parameters: BTreeMap<String, String>,
    around: Around,
    reduced: reduce::Reduced,
}

type Pieces = Vec<Piece>;

/// The readings, each of them in numbers that a record can hold, or absent with that reason.
fn numbers_only(workload: &str, readings: reduce::Readings) -> reduce::Readings {
    let checked = |(quantity, samples): (&'static str, Result<Vec<f64>, Unavailable>)| {
        let samples = samples.and_then(|samples| {
            if samples.iter().all(|sample| sample.is_finite()) {
                return Ok(samples);
            }
            let why = "a sample of it is no finite number: a fault of cpudyno";
            Err(Unavailable::new(Obstacle::Cpudyno, format!("{quantity} of {workload}"), why)
                .with_remedy("please report it, with the command that was given"))
        });
        (quantity, samples)
    };
    readings.into_iter().map(checked).collect()
}

/// The class of a cell's CPUs, if it was the same before and after.
fn class_of(
    planned: &Planned,
    before: &[placement::Probe],
    after: &[placement::Probe],
) -> Option<String> {
    let is_in = |probes: &[placement::Probe], pair| probes.iter().any(|probe| probe.pair == pair);
    let mut pairs = placement::pairs(&planned.cell.cpus());
    pairs.retain(|pair| is_in(before, *pair) && is_in(after, *pair));
    let of = |probes: &[placement::Probe]| {
        let probes: Vec<placement::Probe> =
            probes.iter().filter(|probe| pairs.contains(&probe.pair)).copied().collect();
        placement::class_word(&probes)
    };
    let (before, after) = (of(before), of(after));
    if before == after { before } else { Some(CHANGED.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_never_becomes_a_sample() {
        let readings = [("clock", Ok(vec![3.0e9, f64::NAN])), ("rate", Ok(vec![1.0]))];
        let checked = numbers_only("scalar", readings.into_iter().collect());
        assert_eq!(checked["rate"], Ok(vec![1.0]));
        let absent = checked["clock"].as_ref().unwrap_err();
        assert_eq!(absent.what, "clock of scalar");
    }
}
