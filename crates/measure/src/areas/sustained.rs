//! Heat: clock, power and temperature over minutes, under a light and a heavy stream on all cores.
//!
//! A window is a few jobs; after its last one sensors are read. Windows end by time: on CPUs that others take,
//! jobs take longer, and there are fewer of them in each. The clock of a window is the median over its looks and
//! cores: 10 us of the chain after each half millisecond of the stream, while what the stream took of the clock
//! is still held.
//!
//! The heavier stream runs first, and the machine rests before the lighter one: limits of power hold on averages
//! of many seconds, and a stream that began with the average of another one would not show its own step from PL2
//! to PL1.

use std::collections::BTreeMap;

use kernels::StreamRow;
use machine::Machine;
use machine::activity::{Activity, Column, Interval};
use machine::limits::{Looked, Reasons};
pub(super) use model::areas::sustained::{
    AREA, CLOCK, GROUP, LIMIT, LIMITED, LOST, POWER, QUANTITIES, REST, TEMPERATURE, TIME,
    TIME_CONSTANTS, WINDOWS_MIN, WORKLOAD, time_constant,
};
use model::areas::{Quantity, STREAM, TIMELINE};
use model::{CpuId, CpuSet, Obstacle, Seconds, Unavailable, in_order};

use super::turbo::{CLOCKS, asked};
use crate::run::area::Area;
use crate::run::plan::{
    Cell, CellWork, CustomJob, DATA, JobContext, JobTarget, Planning, Proposal, Run,
};
use crate::run::speed_select;
use model::areas::turbo::promise;
use rig::executor::{Executor, RunError};
use rig::job::{
    Around, Load, Manner, Member, Phase, Purpose, RawMember, RawRepeat, Repeat, Step, StepKind,
    Tools,
};
use rig::reduce::{self, Readings};
use rig::ruler::Rulers;
use rig::streams;

/// More windows than this are too many to read, fewer than ten too few.
const WINDOWS_MAX: f64 = 600.0;
const WINDOW: Seconds = Seconds(1.0);
/// So many jobs are a window that nobody disturbs.
const JOBS: f64 = 5.0;

/// The area.
pub static SUSTAINED: Area =
    Area { offers, needs: CLOCKS, ..Area::new(AREA, QUANTITIES, 0.5, proposal) };

fn offers(_workload: &str, quantity: &Quantity) -> bool {
    ![LIMITED, REST].contains(&quantity.id)
}

/// The lightest stream and the heaviest for some seconds on all cores.
fn proposal(plan: &Planning<'_>) -> Proposal {
    /// The share of the sheet's time that is sustained, and its ends.
    const SHARE: f64 = 0.05;
    const SUSTAINED: [f64; 2] = [0.5, 3.0];
    let seconds = Seconds((plan.budget.0 * SHARE).clamp(SUSTAINED[0], SUSTAINED[1]));
    asked::of_heaviest(plan, WORKLOAD, |heaviest| {
        let light = asked::light_and_heavy().first().copied().unwrap_or(heaviest);
        // Two streams, and a rest between them.
        let cell = cell(plan, seconds / 3.0, &[light, heaviest])?;
        Ok(Proposal::from(vec![cell]))
    })
}

/// One stream after the other on all of these CPUs.
struct SustainedJob {
    cpus: Vec<CpuId>,
    /// The same by type of core.
    kinds: Vec<CpuSet>,
    loads: Vec<(&'static str, Load)>,
    /// How long each stream runs.
    duration: Seconds,
    /// How long the machine rests between two of them.
    rest: Seconds,
    tools: Tools,
}

/// The last and the first of these streams that can be run, lightest first, each for so long; or why there is
/// none.
pub(super) fn cell(
    plan: &Planning<'_>,
    duration: Seconds,
    rows: &[&'static StreamRow],
) -> Result<Cell, Unavailable> {
    let tools = streams::tools(plan.machine)?;
    let load =
        |row: &&'static StreamRow| Some((row.id, streams::load(plan.machine, row, DATA).ok()?));
    let known: Vec<(&'static str, Load)> = rows.iter().filter_map(load).collect();
    let (Some(light), Some(heavy)) = (known.first(), known.last()) else {
        return Err(Unavailable::new(Obstacle::Hardware, "sustain", "no stream can be run here"));
    };
    let mut loads = vec![*heavy, *light];
    loads.dedup_by_key(|(id, _)| *id);
    let cpus = plan.placement.cpus.clone();
    let rest = rest(plan.machine, &cpus, duration);
    let kind = |cpu: &CpuId| plan.topology().place(*cpu).and_then(|place| place.kind.as_deref());
    let of_kind = |wanted| cpus.iter().filter(|cpu| kind(cpu) == wanted).copied().collect();
    let kinds = in_order(cpus.iter().map(kind)).into_iter().map(of_kind).collect();
    let soak = SustainedJob { cpus, kinds, loads, duration, rest, tools };
    let parameters = BTreeMap::from([(TIMELINE.to_owned(), "windows".to_owned())]);
    Ok(Cell { work: CellWork::CustomJob(Box::new(soak)), parameters })
}

/// Until averages of power have forgotten a stream, but no longer than that stream took; half of that where
/// nobody says how long they are.
fn rest(machine: &Machine, cpus: &[CpuId], duration: Seconds) -> Seconds {
    let cpus: CpuSet = cpus.iter().copied().collect();
    let limits = machine::limits::power_limits(machine, &cpus).unwrap_or_default();
    let wanted =
        time_constant(&limits).map_or(duration.0 / 2.0, |seconds| TIME_CONSTANTS * seconds);
    Seconds(wanted.min(duration.0))
}

/// What was read of the windows of one stream.
#[derive(Default)]
struct Windows {
    time: Vec<f64>,
    /// By group of CPUs, which is none but in order.
    clocks: Vec<SoakClock>,
    /// The share of time that was taken away.
    lost: Vec<f64>,
    power: Vec<f64>,
    temperature: Vec<f64>,
    /// What lowers clocks, and the windows in which it came up or after which it was in force, by their times.
    limits: BTreeMap<&'static str, Vec<f64>>,
    around: Option<Around>,
}

/// The clock of CPUs of one type and with the same limits: of others, a median would be no clock of any.
struct SoakClock {
    cpus: CpuSet,
    /// One for each window.
    hertz: Vec<f64>,
    /// One for each job of this window.
    of_jobs: Vec<f64>,
    /// Why there is none.
    absent: Option<Unavailable>,
}

impl SoakClock {
    fn of(cpus: CpuSet) -> SoakClock {
        SoakClock { cpus, hertz: Vec::new(), of_jobs: Vec::new(), absent: None }
    }

    fn end_window(&mut self) {
        self.hertz.extend(model::stats::median(&std::mem::take(&mut self.of_jobs)));
    }
}

/// A load on these CPUs for so long, with a look at the clock after each half millisecond.
pub(super) fn rounds(cpus: &[CpuId], load: Load, window: Seconds, tools: &Tools) -> Repeat {
    let step = |what, seconds| Step { what, target: Seconds(seconds), multiple: 1 };
    let steps = vec![
        step(StepKind::Payload, 490e-6),
        step(StepKind::Ruler, 10e-6),
        step(StepKind::Null, 0.1e-6),
    ];
    let rounds = (window.0 / 0.5e-3).round().max(1.0) as u32;
    let phase = Phase { purpose: Purpose::Sandwich, steps, rounds, settle: Seconds(0.0) };
    Repeat {
        members: cpus.iter().map(|&cpu| Member::new(cpu, load)).collect(),
        phases: vec![phase],
        tools: *tools,
        manner: Manner::USUAL,
    }
}

impl SustainedJob {
    /// The CPUs by type, and by what they are allowed.
    fn groups(&self, machine: &Machine) -> Vec<CpuSet> {
        let cpus: CpuSet = self.cpus.iter().copied().collect();
        let looked = Reasons::of(machine, &cpus).look(machine);
        let clock = looked.and(&looked, machine, &cpus);
        let said = speed_select::told(machine, &[&SUSTAINED]);
        let alike = |kind: &CpuSet| promise::alike(Some(&clock), said.as_ref(), kind);
        self.kinds.iter().flat_map(alike).collect()
    }

    fn window(&self) -> Seconds {
        let windows = (self.duration / WINDOW).clamp(WINDOWS_MIN, WINDOWS_MAX);
        self.duration / windows
    }

    /// The clock over these cores, or why there is none.
    fn clock(
        job: &Repeat,
        raw: &RawRepeat,
        cpus: &CpuSet,
        executor: &dyn Executor,
        rulers: &Rulers,
    ) -> Result<f64, Unavailable> {
        let mut clocks = Vec::new();
        let mut reason = None;
        for member in raw.members.iter().filter(|member| cpus.contains(member.cpu)) {
            match rulers.get(&member.cpu) {
                Some(Ok(ruler)) => {
                    let load = job.members[0].payload;
                    let rate = executor.rate();
                    let reduced = reduce::reduce(member, load, job, Some(ruler), rate);
                    clocks.extend(model::stats::median(&reduced.clock));
                }
                Some(Err(refused)) => reason = Some(refused.clone()),
                None => {}
            }
        }
        model::stats::median(&clocks).ok_or_else(|| {
            let none = || Unavailable::new(Obstacle::Measurement, CLOCK, "no core has a ruler");
            reason.unwrap_or_else(none)
        })
    }

    /// The share of a job's time that its members did not work, though they had to: what rounds of the payload, all of
    /// them alike, took longer than the median of those near them. Of all rounds together a clock that falls
    /// meanwhile would look as if time were taken.
    fn lost(raw: &RawRepeat) -> Option<f64> {
        const NEAR: usize = 20;
        let of_member = |member: &RawMember| {
            let phase = member.phases.first()?;
            let rounds = phase.stamps.iter().step_by(phase.iterations.len().max(1));
            let lengths: Vec<f64> = rounds.map(|it| it.length().count() as f64).collect();
            let chunks = lengths.chunks(NEAR);
            let usual = chunks.filter_map(|it| Some(model::stats::median(it)? * it.len() as f64));
            let (sum, usual) = (lengths.iter().sum::<f64>(), usual.sum::<f64>());
            (sum > 0.0).then(|| (1.0 - usual / sum).max(0.0))
        };
        let shares: Vec<f64> = raw.members.iter().filter_map(of_member).collect();
        model::stats::mean(&shares)
    }

    /// The jobs of one window, which ends at that time of the run, and the shares of time that they lost.
    fn one(
        job: &Repeat,
        end: Seconds,
        windows: &mut Windows,
        executor: &mut dyn Executor,
        rulers: &Rulers,
    ) -> Result<Vec<f64>, RunError> {
        let mut lost = Vec::new();
        loop {
            let begun = executor.elapsed();
            let raw = executor.repeat(job)?;
            lost.extend(SustainedJob::lost(&raw));
            for clock in &mut windows.clocks {
                match SustainedJob::clock(job, &raw, &clock.cpus, executor, rulers) {
                    Ok(hertz) => clock.of_jobs.push(hertz),
                    Err(reason) => clock.absent = Some(reason),
                }
            }
            for member in &raw.members {
                let around = windows.around.map_or(member.around, |it| it.and(member.around));
                windows.around = Some(around);
            }
            let now = executor.elapsed();
            // The next one would end beyond it by more than this one ends before it.
            if (now + (now - begun) / 2.0).0 >= end.0 {
                return Ok(lost);
            }
        }
    }

    fn soak(
        &self,
        load: Load,
        executor: &mut dyn Executor,
        rulers: &Rulers,
        machine: &Machine,
    ) -> Result<Windows, RunError> {
        let cpus: CpuSet = self.cpus.iter().copied().collect();
        let mut sensors = Sensors::open(machine, &cpus);
        let clocks = self.groups(machine).into_iter().map(SoakClock::of).collect();
        let (mut windows, window) = (Windows { clocks, ..Windows::default() }, self.window());
        let job = rounds(&self.cpus, load, window / JOBS, &self.tools);
        let mut limits = Limits::begin(machine, &cpus);
        let begun = executor.elapsed();
        sensors.look();
        loop {
            let at = executor.elapsed() - begun;
            if at.0 >= self.duration.0 - window.0 / 2.0 {
                break;
            }
            // Windows end on a grid, so that those which last too long do not move the others.
            let end = begun + window * ((at / window).round() + 1.0);
            let lost = match SustainedJob::one(&job, end, &mut windows, executor, rulers) {
                // What was seen until then stands.
                Err(RunError::Interrupted | RunError::OutOfTime) if !windows.time.is_empty() => {
                    break;
                }
                found => found?,
            };
            let until = executor.elapsed() - begun;
            let middle = f64::midpoint(at.0, until.0);
            windows.time.push(middle);
            for limit in limits.look(machine, &cpus) {
                windows.limits.entry(limit).or_default().push(middle);
            }
            windows.clocks.iter_mut().for_each(SoakClock::end_window);
            // Jobs of a window last as long as each other, about; what was taken of one is no median of them.
            windows.lost.extend(model::stats::mean(&lost));
            let (watts, celsius) = sensors.look();
            windows.power.extend(watts);
            windows.temperature.extend(celsius);
        }
        Ok(windows)
    }
}

/// What lowers clocks, as registers and the kernel's counters say it from look to look.
struct Limits {
    reasons: Reasons,
    before: Looked,
    throttles: Option<u64>,
}

/// How often these CPUs were throttled by heat, where the kernel counts it.
fn throttles(machine: &Machine, cpus: &CpuSet) -> Option<u64> {
    Some(machine::disturbances::throttles(machine, cpus).ok()?.values().sum())
}

impl Limits {
    fn begin(machine: &Machine, cpus: &CpuSet) -> Limits {
        let reasons = Reasons::of(machine, cpus);
        let before = reasons.look(machine);
        Limits { reasons, before, throttles: throttles(machine, cpus) }
    }

    /// What came up since the last look, or is in force.
    fn look(&mut self, machine: &Machine, cpus: &CpuSet) -> Vec<&'static str> {
        let now = self.reasons.look(machine);
        let came_up = self.before.came_up(&now);
        self.before = now;
        let heat = throttles(machine, cpus);
        let is_more = heat.zip(self.throttles).is_some_and(|(now, before)| now > before);
        self.throttles = heat;
        came_up.into_iter().chain(is_more.then_some("throttling by heat")).collect()
    }
}

impl Windows {
    /// What there is of all CPUs, and of groups of them where they are several. A series with a hole would put its samples
    /// to wrong times: such a one is absent.
    fn readings(self, sensors: &Sensors<'_>) -> (Readings, Vec<(CpuSet, Readings)>) {
        let count = self.time.len();
        let whole = |samples: Vec<f64>, reason: Option<Unavailable>| match reason {
            Some(reason) => Err(reason),
            None if samples.len() == count => Ok(samples),
            None => {
                let why = format!("{} of {count} windows have it", samples.len());
                Err(Unavailable::new(Obstacle::Measurement, "windows", why))
            }
        };
        let mut readings = Readings::from([
            (TIME, Ok(self.time)),
            (LOST, whole(self.lost, None)),
            (POWER, whole(self.power, sensors.without(POWER_HEADERS))),
            (TEMPERATURE, whole(self.temperature, sensors.without(TEMPERATURE_HEADERS))),
        ]);
        let clocks = self.clocks.into_iter();
        let mut clocks: Vec<(CpuSet, Readings)> = clocks
            .map(|it| (it.cpus, Readings::from([(CLOCK, whole(it.hertz, it.absent))])))
            .collect();
        if clocks.len() == 1 {
            readings.extend(clocks.drain(..).flat_map(|(_, of_all)| of_all));
        }
        (readings, clocks)
    }
}

impl CustomJob for SustainedJob {
    fn aim(&self) -> JobTarget {
        // What a duty cycle does is seen before cores are hot, and stands before it.
        JobTarget { order: 0, workload: WORKLOAD, cpus: self.cpus.clone() }
    }

    fn cpu_of(&self, part: &BTreeMap<String, String>) -> CpuId {
        let group = part.get(GROUP).and_then(|cpus| cpus.parse::<CpuSet>().ok());
        group.and_then(|cpus| cpus.iter().next()).unwrap_or(self.cpus[0])
    }

    fn duration(&self) -> Seconds {
        let rests = self.loads.len().saturating_sub(1) as f64;
        self.duration * self.loads.len() as f64 + self.rest * rests
    }

    fn busy(&self) -> Seconds {
        self.duration * self.loads.len() as f64
    }

    fn is_probed(&self) -> bool {
        false
    }

    fn is_once(&self) -> bool {
        true
    }

    fn run(&self, means: JobContext<'_>) -> Result<Run, RunError> {
        let JobContext { executor, rulers, machine } = means;
        let cpus: CpuSet = self.cpus.iter().copied().collect();
        let sensors = Sensors::open(machine, &cpus);
        let mut run = Run::default();
        for (index, (id, load)) in self.loads.iter().enumerate() {
            let rested = if index == 0 { Ok(()) } else { executor.rest(self.rest) };
            let windows = rested.and_then(|()| self.soak(*load, executor, rulers, machine));
            let windows = match windows {
                Err(RunError::Interrupted | RunError::OutOfTime) if !run.parts.is_empty() => break,
                windows => windows?,
            };
            let around = windows.around.unwrap_or_default();
            run.around = if index == 0 { around } else { run.around.and(around) };
            for (limit, times) in windows.limits.clone() {
                let named = [(STREAM, *id), (LIMIT, limit)];
                let parameters = named.map(|(key, value)| (key.to_owned(), value.to_owned()));
                run.parts.push((parameters.into(), Readings::from([(LIMITED, Ok(times))])));
            }
            let parameters = BTreeMap::from([(STREAM.to_owned(), (*id).to_owned())]);
            let (mut readings, of_groups) = windows.readings(&sensors);
            if index > 0 {
                readings.insert(REST, Ok(vec![self.rest.0]));
            }
            let of_group = |(cpus, readings): (CpuSet, Readings)| {
                let mut parameters = parameters.clone();
                parameters.insert(GROUP.to_owned(), cpus.to_string());
                (parameters, readings)
            };
            run.parts.extend(of_groups.into_iter().map(of_group));
            run.parts.push((parameters, readings));
        }
        Ok(run)
    }
}

/// Columns of [`Activity`] that tell power and temperature, the first that is there counts.
const POWER_HEADERS: &[&str] = &["PkgWatt"];
const TEMPERATURE_HEADERS: &[&str] = &["PkgTmp", "CoreTmp"];

/// Power and temperature, where they can be read.
struct Sensors<'a> {
    activity: Result<Activity<'a>, Unavailable>,
}

impl<'a> Sensors<'a> {
    fn open(machine: &'a Machine, cpus: &CpuSet) -> Sensors<'a> {
        let mut activity = Activity::open(machine, Some(cpus));
        if let Ok(activity) = &mut activity {
            let wanted = POWER_HEADERS.iter().chain(TEMPERATURE_HEADERS);
            activity.only(&wanted.map(|header| (*header).to_owned()).collect::<Vec<_>>());
        }
        Sensors { activity }
    }

    /// Watts of all packages since the last look, and the hottest sensor.
    fn look(&mut self) -> (Option<f64>, Option<f64>) {
        let Ok(activity) = &mut self.activity else { return (None, None) };
        let Some(interval) = activity.look() else { return (None, None) };
        let columns = activity.columns();
        let watts = values(columns, &interval, POWER_HEADERS).map(|all| all.iter().sum());
        let degrees = values(columns, &interval, TEMPERATURE_HEADERS);
        (watts, degrees.and_then(|all| all.into_iter().reduce(f64::max)))
    }

    /// Why none of these columns is there; none: one is.
    fn without(&self, headers: &[&str]) -> Option<Unavailable> {
        let activity = match &self.activity {
            Ok(activity) => activity,
            Err(reason) => return Some(reason.clone()),
        };
        let is_ours = |header: &str| headers.contains(&header);
        if activity.columns().iter().any(|column| is_ours(&column.header)) {
            return None;
        }
        let missing = activity.missing().iter().find(|missing| is_ours(missing.header));
        missing.map(|missing| missing.reason.clone())
    }
}

/// What all carriers of the first of these columns say.
fn values(columns: &[Column], interval: &Interval, headers: &[&str]) -> Option<Vec<f64>> {
    let place = |header: &&str| columns.iter().position(|column| column.header == **header);
    let place = headers.iter().find_map(place)?;
    interval.values.get(place)?.iter().cloned().collect::<Result<Vec<f64>, _>>().ok()
}

#[cfg(test)]
mod tests {
    use model::Ticks;

    use super::*;
    use rig::job::{Interval, RawPhase};

    /// A job of one member whose rounds took so many ticks, one after the other.
    fn rounds(lengths: impl IntoIterator<Item = u64>) -> RawRepeat {
        let mut now = 0;
        let stamps = lengths.into_iter().map(|length| {
            let start = Ticks::new(now);
            now += length;
            Interval { start, end: Ticks::new(now) }
        });
        let (stamps, mixtures) = (stamps.collect(), vec![None]);
        let phase = RawPhase { iterations: vec![1], mixtures, stamps, counted: None };
        let around = Around::default();
        let answers = Vec::new();
        RawRepeat {
            members: vec![RawMember { cpu: CpuId(0), phases: vec![phase], around, answers }],
        }
    }

    #[test]
    fn a_clock_that_falls_takes_no_time() {
        let falls = rounds((0..400).map(|round| 1000 + 2 * round));
        assert!(SustainedJob::lost(&falls).unwrap() < 1e-4);
        let steps = rounds((0..400).map(|round| if round < 240 { 1000 } else { 2000 }));
        assert!(SustainedJob::lost(&steps).unwrap() < 1e-4);
        // One round in forty took three times as long.
        let taken = rounds((0..400).map(|round| if round % 40 == 7 { 3000 } else { 1000 }));
        let lost = SustainedJob::lost(&taken).unwrap();
        assert!((lost - 0.05 / 1.05).abs() < 1e-9, "{lost}");
    }
}
