//! A run: what areas ask for, measured within its time, as one record.

mod answers;
pub mod area;
pub mod arm_env;
mod assemble;
mod controllers;
mod counters;
pub(crate) mod events;
pub(crate) mod other_load;
mod outline;
pub mod plan;
pub mod single;
pub(crate) mod speed_select;
mod sweep;
mod variant_trials;

pub use model::outline::Span;
pub use outline::outline;

use std::collections::BTreeSet;
use std::time::Instant;

use kernels::StreamRow;
use levers::NotMade;
use machine::Machine;
use machine::activity::Activity;
use machine::instruments::aperf_mperf::CycleCounters;
use machine::instruments::clock::{self, RateChoice, StampClock, StampSource};
use machine::limits::Reasons;
use machine::{conditions, disturbances, doctor, facts};
use model::record::{
    ByteCount, ClockRecord, Fact, Machine as Description, Presentation, Record, Series,
};
use model::stats::BLOCKS_FOR_INTERVAL;
use model::{CpuId, CpuSet, Obstacle, Seconds, Unavailable};

use crate::run::area::Area;
use crate::run::plan::{Cell, CellWork, Planning, Proposal};
use controllers::Controllers;
use counters::Counters;
use other_load::Watch;
use rig::executor::simulated::Simulated;
use rig::executor::threads::Threads;
use rig::executor::{Executor, RunError, Stop};
use rig::job::{Manner, Tools};
use rig::placement::{self, Choice};
use rig::reduce::WITNESS_TOLERANCE;
use rig::ruler::Rulers;
use rig::schedule;
use rig::streams;

/// What a run is asked for.
pub struct Request {
    /// How long it measures.
    pub span: Span,
    /// How much later the first sweep over everything may end, where others use the machine.
    pub patience: Seconds,
    /// Which CPUs it uses, and in which order.
    pub cpus: Choice,
    /// The streams that its areas choose from.
    pub streams: Vec<&'static StreamRow>,
    /// What each area is to measure, as soon as the machine is known.
    pub ask: Box<Ask>,
    /// How threads take part.
    pub manner: Manner,
    /// How far the add chain beside a stream may be from one cycle before the core counts as shared.
    pub witness_tolerance: f64,
    /// Whose word is taken for the rate of the stamp clock.
    pub rate: RateChoice,
    /// What else is to be said of how it measures.
    pub remark: Option<String>,
    /// What is tried beside, and kept: ids of capabilities.
    pub capabilities: &'static [&'static str],
    /// How bytes are counted on the page, where they are.
    pub bytes: Option<ByteCount>,
    /// The command with its arguments, without paths.
    pub command: Vec<String>,
    /// How the live text is laid out.
    pub presentation: Presentation,
}

impl Request {
    /// A run in the usual manner on the usual CPUs, without streams to choose from.
    pub fn new(
        span: Span,
        ask: impl Fn(&Planning<'_>) -> Result<Vec<AreaRequest>, Error> + 'static,
        command: Vec<String>,
        presentation: Presentation,
    ) -> Request {
        Request {
            span,
            patience: Seconds(0.0),
            cpus: Choice::usual(None),
            streams: Vec::new(),
            ask: Box::new(ask),
            manner: Manner::USUAL,
            witness_tolerance: WITNESS_TOLERANCE,
            rate: RateChoice::Best,
            remark: None,
            capabilities: &[],
            bytes: None,
            command,
            presentation,
        }
    }

    /// The same of one area.
    pub fn of(
        area: &'static Area,
        span: Span,
        proposal: impl Fn(&Planning<'_>) -> Result<Proposal, Error> + 'static,
        command: Vec<String>,
        presentation: Presentation,
    ) -> Request {
        let ask =
            move |plan: &Planning<'_>| Ok(vec![AreaRequest { area, proposal: proposal(plan)? }]);
        Request::new(span, ask, command, presentation)
    }
}

/// What each area is to measure on a machine.
pub type Ask = dyn Fn(&Planning<'_>) -> Result<Vec<AreaRequest>, Error>;

/// An area and what it is to measure.
pub struct AreaRequest {
    /// The area.
    pub area: &'static Area,
    /// Its cells.
    pub proposal: Proposal,
}

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine does not allow it.
    #[error("{}: {}", .0.what, .0.why)]
    Unavailable(Unavailable),
    /// What was asked for does not go together.
    #[error("{}: {}", .0.what, .0.why)]
    Asked(Unavailable),
    /// CPUs were asked for that there are not.
    #[error(transparent)]
    Placement(#[from] placement::Refusal),
    /// A job failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Something could not be set.
    #[error(transparent)]
    Setting(Box<NotMade>),
}

impl From<Unavailable> for Error {
    fn from(reason: Unavailable) -> Self {
        Error::Unavailable(reason)
    }
}

/// How far the run is, for whoever shows it.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Share of the budget that is used, 0 to 1.
    pub share: f64,
    /// What is going on.
    pub doing: &'a str,
}

/// Measures this machine. An interrupted run is a record too, marked as such by the caller's signal.
pub fn measure(
    machine: &Machine,
    request: &Request,
    stop: &Stop,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Record, Error> {
    refuse_elsewhere(machine)?;
    progress(Progress { share: 0.0, doing: "reading the machine" });
    let begun = Instant::now();
    let as_begun = machine.begin(request.command.clone(), request.presentation);
    let description =
        Description { capabilities: tried(machine, request), ..facts::machine(machine) };
    let placement = request.cpus.place(&description.topology)?;
    let cpus: CpuSet = placement.cpus.iter().copied().collect();
    let mut conditions_before = conditions::read(machine);
    let disturbances_before = disturbances::read(machine, &cpus);
    let reading = Seconds(begun.elapsed().as_secs_f64());
    progress(Progress { share: 0.0, doing: "calibrating clocks" });
    // Meanwhile this process sleeps nearly all the time: who is busy then is somebody else.
    let watch = Watch::begin(machine);
    let stamp_clock = clock::calibrate_by(machine, request.rate)?;
    watch.wait(machine);
    conditions_before.push(watch.end(machine, &CpuSet::default()));
    let mut counters = Counters::find(machine, &stamp_clock, placement.cpus[0]);
    let planning = single::planning(machine, &description, &placement, request);
    let mut program = Program::new(&planning, request)?;
    program.keep_back(machine, reading);
    let mut controllers = program.is_counted().then(|| Controllers::find(machine));
    let mut executor = executor_since(begun, machine, &stamp_clock, counters.source(), stop)?;
    counters.calibrate(&mut *executor, &program.tools, &stamp_clock, placement.cpus[0])?;
    if let Some(found) = controllers.take() {
        progress(Progress { share: 0.0, doing: "checking the memory controllers" });
        let own = || executor_since(begun, machine, &stamp_clock, None, stop);
        controllers = Some(found.proven(own, &planning, &program)?);
    }
    let reasons = program.has_clocks().then(|| Reasons::of(machine, &cpus));
    let before = reasons.as_ref().map(|reasons| reasons.look(machine));
    let watch = Watch::begin(machine);
    let mut activity = program.activity(machine);
    let instruments = sweep::Instruments::of(controllers.as_ref(), reasons.as_ref());
    let mut run = sweep::run(&mut *executor, &planning, &program, request, instruments, progress)?;
    let clock = reasons.zip(before).map(|(reasons, before)| {
        let clock = before.and(&reasons.look(machine), machine, &cpus);
        let busy_seconds = Some(program.busy_seconds(&run, executor.elapsed()));
        ClockRecord { busy_seconds, ..assemble::tell(clock, &program, &run.told) }
    });
    let activity = activity.as_mut().map_or_else(Vec::new, ActivityWatch::end);
    let seconds = executor.elapsed();
    run.judge(&mut *executor, &planning, program.time);
    watch.wait(machine);
    let neighbours = watch.end(machine, &program.used());
    if let Some(controllers) = controllers.as_mut().filter(|_| run.end.is_none()) {
        controllers.look_again();
    }

    progress(Progress { share: 1.0, doing: "writing the record" });
    let placed = assemble::placed(machine, &executor.placed());
    // The record needs memory, too.
    drop(executor);
    let disturbed = disturbances::read(machine, &cpus).since(&disturbances_before);
    Ok(assemble::record(assemble::Parts {
        machine,
        request,
        begun: as_begun,
        description,
        conditions_before,
        disturbed,
        neighbours,
        clock,
        activity,
        stamp_clock,
        counters,
        controllers,
        placement: &placement,
        program: &program,
        run,
        placed,
        seconds,
    }))
}

/// The capabilities that were asked for.
fn tried(machine: &Machine, request: &Request) -> Vec<Fact> {
    if request.capabilities.is_empty() {
        return Vec::new();
    }
    let mut capabilities = doctor::capabilities(machine);
    capabilities.retain(|fact| request.capabilities.contains(&fact.id.as_str()));
    capabilities
}

/// Only the machine that this process runs on can be measured.
pub fn refuse_elsewhere(machine: &Machine) -> Result<(), Unavailable> {
    match &machine.elsewhere {
        None => Ok(()),
        Some(elsewhere) => {
            let why = format!("cpudyno reads it from {elsewhere}, so nothing can run on it");
            let refusal = Unavailable::new(Obstacle::Permission, "this machine", why);
            Err(refusal.with_remedy("`cpudyno sheet --dry-run` says what would be measured there, `cpudyno info -v` what limits its clocks"))
        }
    }
}

/// What runs jobs on this machine, by that clock, from now on.
pub fn executor(
    machine: &Machine,
    clock: &StampClock,
    counters: Option<CycleCounters>,
    stop: &Stop,
) -> Result<Box<dyn Executor>, Unavailable> {
    executor_since(Instant::now(), machine, clock, counters, stop)
}

/// The same for a run that began then.
fn executor_since(
    begun: Instant,
    machine: &Machine,
    clock: &StampClock,
    counters: Option<CycleCounters>,
    stop: &Stop,
) -> Result<Box<dyn Executor>, Unavailable> {
    if machine.simulated.is_none() {
        refuse_at_level(kernels::OPT_LEVEL)?;
    }
    let (rate, stop) = (clock.rate, stop.clone());
    Ok(match (&clock.source, &machine.simulated) {
        (StampSource::Tsc(probe), _) => {
            Box::new(Threads::new(*probe, rate, counters, stop).since(begun))
        }
        (StampSource::MonotonicRaw(probe), _) => {
            Box::new(Threads::new(*probe, rate, counters, stop).since(begun))
        }
        (StampSource::Cntvct(probe), _) => {
            Box::new(Threads::new(*probe, rate, counters, stop).since(begun))
        }
        (StampSource::Simulated, Some(model)) => {
            Box::new(Simulated::new(model.clone(), rate, stop))
        }
        (StampSource::Simulated, None) => {
            let why = "only a simulated machine can run on a simulated clock";
            return Err(Unavailable::new(Obstacle::Cpudyno, "stamp clock", why));
        }
    })
}

/// Loops that nobody optimised move half of what the CPU could: such numbers are none.
fn refuse_at_level(level: &str) -> Result<(), Unavailable> {
    if level != "0" {
        return Ok(());
    }
    let why = "this program was built with cpudyno's kernels at opt-level 0, which are slower than the CPU";
    let remedy = "build it with --release, or add to its Cargo.toml: [profile.dev.package.\"*\"] opt-level = 3";
    Err(Unavailable::new(Obstacle::Cpudyno, "measurements", why).with_remedy(remedy))
}

/// CPUs that are watched meanwhile, for an area that makes series of what they did.
struct ActivityWatch<'a> {
    activity: Activity<'a>,
    series: fn(&mut Activity<'_>) -> Vec<Series>,
}

impl ActivityWatch<'_> {
    fn end(&mut self) -> Vec<Series> {
        (self.series)(&mut self.activity)
    }
}

/// A cell and the area that it belongs to.
struct Planned {
    area: usize,
    cell: Cell,
}

/// What a run measures, and what it does not.
struct Program {
    tools: Tools,
    /// Area by area; cells name theirs by index.
    areas: Vec<&'static Area>,
    cells: Vec<Planned>,
    left_out: Vec<Planned>,
    absent: Vec<(usize, &'static str, Unavailable)>,
    /// Blocks of every cell.
    sweeps: u64,
    /// The time that the run is given.
    time: Seconds,
    /// What of it is kept for what comes after the last block.
    afterwards: Seconds,
}

impl Program {
    fn new(planning: &Planning<'_>, request: &Request) -> Result<Program, Error> {
        let tools = streams::tools(planning.machine)?;
        for tool in [tools.ruler, tools.witness, tools.null, tools.contention] {
            streams::verify(&tool).map_err(RunError::from)?;
        }
        let mut asked = (request.ask)(planning)?;
        let mut program = Program {
            tools,
            areas: asked.iter().map(|asked| asked.area).collect(),
            cells: Vec::new(),
            left_out: Vec::new(),
            absent: Vec::new(),
            sweeps: 0,
            time: Seconds(0.0),
            afterwards: Seconds(0.0),
        };
        let admitted = admitted(&asked, request.span);
        let mut verified = BTreeSet::new();
        for (area, asked) in asked.iter_mut().enumerate() {
            let absent = std::mem::take(&mut asked.proposal.absent);
            program.absent.extend(absent.into_iter().map(|(id, reason)| (area, id, reason)));
            for (index, cell) in std::mem::take(&mut asked.proposal.cells).into_iter().enumerate() {
                verify(&cell, &mut verified)?;
                let admitted = admitted[area][index];
                let list = if admitted { &mut program.cells } else { &mut program.left_out };
                list.push(Planned { area, cell });
            }
        }
        program.settle_time(request.span);
        Ok(program)
    }

    /// Blocks and time, now that the cells are known.
    fn settle_time(&mut self, span: Span) {
        /// More blocks than this make no number better on a machine whose clock drifts.
        const SWEEPS_MAX: u64 = 30;
        /// Calibration, and what jobs take beyond their plan.
        const CALIBRATION: Seconds = Seconds(0.5);
        const OVERHEAD: f64 = 1.2;
        let (sweep, once) = (self.cost_of(false), self.cost_of(true));
        (self.sweeps, self.time) = match span {
            Span::Budget(budget) if self.cells.is_empty() => (0, budget),
            Span::Budget(budget) if sweep.0 <= 0.0 => (1, budget),
            Span::Budget(budget) => {
                ((((budget - once) / sweep) as u64).clamp(1, SWEEPS_MAX), budget)
            }
            Span::All(time) if self.cells.is_empty() => (0, time),
            // What moving data takes is known when it was moved: sweeps end with the time.
            Span::All(time) => (SWEEPS_MAX, time),
            Span::Blocks(_) | Span::Bounded(_) if self.cells.is_empty() => (0, CALIBRATION),
            Span::Blocks(blocks) | Span::Bounded(blocks) => {
                (blocks, CALIBRATION + (sweep * blocks as f64 + once) * OVERHEAD)
            }
        };
    }

    /// Keeps time for reading the machine once more and for a page, which took so long before: much on one that others
    /// use, or that is emulated. A simulated machine has a time of its own.
    fn keep_back(&mut self, machine: &Machine, reading: Seconds) {
        const AS_LONG: f64 = 1.5;
        const SHARE_MAX: f64 = 0.25;
        if machine.simulated.is_some() {
            return;
        }
        self.afterwards = Seconds((reading.0 * AS_LONG).min(self.time.0 * SHARE_MAX));
    }

    /// The cells that are measured, then those that may be where time is left.
    fn cell(&self, index: usize) -> &Planned {
        let left_out = || &self.left_out[index - self.cells.len()];
        self.cells.get(index).unwrap_or_else(left_out)
    }

    /// Cells that were left out, as [`Program::cell`] counts them: the most wanted of each area first, then
    /// the second. Their CPUs are those of others, too.
    fn spare(&self) -> Vec<usize> {
        let used = self.used();
        let mut rank = vec![0; self.areas.len()];
        let mut spare = Vec::new();
        for (index, planned) in self.left_out.iter().enumerate() {
            if !planned.cell.is_once() && planned.cell.cpus().iter().all(|cpu| used.contains(*cpu))
            {
                spare.push((rank[planned.area], self.cells.len() + index));
            }
            rank[planned.area] += 1;
        }
        spare.sort_unstable();
        spare.into_iter().map(|(_, index)| index).collect()
    }

    /// When a run that is bounded ends at the latest, but for its first sweep.
    fn latest(&self) -> Seconds {
        const LATE: f64 = 1.5;
        self.time * LATE
    }

    /// Whether memory controllers are asked what some cell moves.
    fn is_counted(&self) -> bool {
        let counted = |planned: &Planned| match &planned.cell.work {
            CellWork::Traffic(moved) => moved.counted,
            CellWork::Streams(_) | CellWork::CustomJob(_) => false,
        };
        self.cells.iter().any(counted)
    }

    /// Whether clocks are measured.
    fn has_clocks(&self) -> bool {
        self.areas.iter().any(|area| area.needs.clocks)
    }

    /// What its CPUs do meanwhile, where that was asked for. Simulated jobs leave no trace there.
    fn activity<'a>(&self, machine: &'a Machine) -> Option<ActivityWatch<'a>> {
        let series = self.areas.iter().find_map(|area| area.needs.activity)?;
        if machine.simulated.is_some() {
            return None;
        }
        let mut activity = Activity::open(machine, Some(&self.used())).ok()?;
        activity.look();
        Some(ActivityWatch { activity, series })
    }

    /// Seconds of one block of every cell that has several, or of those that are gone through once, as planned.
    fn cost_of(&self, once: bool) -> Seconds {
        let cells = self.cells.iter().map(|planned| &planned.cell);
        let mine = cells.filter(|cell| cell.is_once() == once);
        mine.fold(Seconds(0.0), |sum, cell| sum + cell.duration())
    }

    /// Seconds for which sweeps, and what is gone through once, kept CPUs busy, of all CPUs together: as planned, but
    /// blocks may have taken less, and no CPU was busy for longer than the run.
    fn busy_seconds(&self, run: &sweep::Swept, elapsed: Seconds) -> f64 {
        let of = |planned: &Planned| {
            let blocks = if planned.cell.is_once() { 1 } else { run.sweeps_done };
            planned.cell.busy().0 * planned.cell.cpus().len() as f64 * blocks as f64
        };
        let blocks = BLOCKS_FOR_INTERVAL as f64;
        let spare = run.spared.iter().map(|index| &self.cell(*index).cell);
        let spare = spare.map(|cell| cell.busy().0 * cell.cpus().len() as f64 * blocks);
        let planned: f64 = self.cells.iter().map(of).chain(spare).sum();
        planned.min(elapsed.0 * self.used().len() as f64)
    }

    /// The CPUs that it keeps busy.
    fn used(&self) -> CpuSet {
        self.cells.iter().flat_map(|planned| planned.cell.cpus()).collect()
    }

    /// The CPUs that are active together in some of these cells, where their placement is to be probed.
    fn together(&self, cells: &[usize]) -> Vec<Vec<CpuId>> {
        let cells = cells.iter().map(|&cell| &self.cell(cell).cell);
        let mut together: Vec<Vec<CpuId>> =
            cells.filter(|cell| cell.is_probed()).map(Cell::cpus).collect();
        together.sort_unstable();
        together.dedup();
        together.retain(|cpus| cpus.len() > 1);
        together
    }
}

/// Lets each stream of a cell prove its answer once; data that was moved is checked in each block.
fn verify(cell: &Cell, verified: &mut BTreeSet<&'static str>) -> Result<(), RunError> {
    let CellWork::Streams(streams) = &cell.work else { return Ok(()) };
    for active in &streams.members {
        let payload = active.member.payload;
        if verified.insert(payload.id) {
            streams::verify(&payload)?;
        }
    }
    Ok(())
}

/// Which cells of each area are measured.
fn admitted(asked: &[AreaRequest], span: Span) -> Vec<Vec<bool>> {
    let Span::Budget(budget) = span else {
        return asked.iter().map(|asked| vec![true; asked.proposal.cells.len()]).collect();
    };
    // Areas within one other share the time of all of them: one costly cell has no room in a part of it.
    let share_time = |a: &AreaRequest, b: &AreaRequest| {
        a.area.word() == b.area.word() && a.area.is_within_another() == b.area.is_within_another()
    };
    let groups: Vec<&[AreaRequest]> = asked.chunk_by(share_time).collect();
    let demand = |group: &&[AreaRequest]| schedule::AreaDemand {
        weight: group.iter().map(|asked| asked.area.weight).sum(),
        costs: group.iter().flat_map(|asked| asked.proposal.cells.iter().map(Cell::cost)).collect(),
    };
    let demands: Vec<schedule::AreaDemand> = groups.iter().map(demand).collect();
    let mut answers = schedule::admit(&demands, budget).into_iter().flatten();
    asked.iter().map(|asked| answers.by_ref().take(asked.proposal.cells.len()).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::refuse_at_level;

    #[test]
    fn loops_that_nobody_optimised_measure_nothing() {
        let refusal = refuse_at_level("0").unwrap_err();
        assert!(refusal.remedy.is_some_and(|it| it.contains("[profile.dev.package")));
        assert!(["1", "2", "3", "s", "z"].iter().all(|level| refuse_at_level(level).is_ok()));
        // These tests measure, too.
        assert_eq!(refuse_at_level(kernels::OPT_LEVEL), Ok(()));
    }
}
