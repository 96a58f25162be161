//! Licence transitions: what a payload in a duty cycle does to the clock of its core and of another one.

use std::collections::BTreeMap;

use kernels::StreamRow;
pub(super) use model::areas::transitions::{
    AREA, AT, BURST_US, CLOCK, CORE, CORE_TYPE, EVENT, FOLDED_CLOCK, FOLDED_TIME, GAP, GAP_RATE,
    GAP_SHARE, HALT, HALT_SHARE, HOLD, HOLD_VISIBLE, LOADED, LOOKED, LOW, OTHER, OWN, PASS, PERIOD,
    PERIOD_US, QUANTITIES, QUIET, RELAXED, STRETCH, THROTTLED, THROTTLED_RATIO, THROTTLED_VISIBLE,
    TIME, VISIBLE, VISIBLE_BESIDE, WORKLOAD,
};
use model::areas::{Quantity, STREAM, TIMELINE};
use model::ticks::Stamp;
use model::{CpuId, Obstacle, Rate, Seconds, Unavailable};

use super::turbo::{CLOCKS, active, asked};
use crate::run::area::Area;
use crate::run::plan::{
    Cell, CellWork, CustomJob, DATA, JobContext, JobTarget, Planning, Proposal, Run,
};
use rig::calibration;
use rig::executor::{Executor, RunError};
use rig::job::{Around, Load, Tools};
use rig::reduce::Readings;
use rig::ruler::Rulers;
use rig::streams;
use rig::trace::{self, Chains, Folded, Halts, LookSample, RawTrace, RawTraced, Scale, Trace};

const LOOKS: [&str; 3] = [TIME, CLOCK, STRETCH];
/// No multiple of the kernel's tick: one that came at the same phase of every period would be a halt.
const UNEVEN: f64 = 1.0037;

/// Which share of a period the payload runs: long enough for every transition that is known, with the rest left
/// for the licence to be given back (650 us on Skylake).
const DUTY: f64 = 0.1;

/// How much is looked at.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    /// How long a period is.
    pub(super) period: Seconds,
    /// Periods of a pass with the payload: halts are believed in 80 % of 50 and more.
    pub(super) periods: u32,
    /// Periods without it, before and again after.
    pub(super) quiet: u32,
    /// So many periods keep their looks one by one.
    pub(super) kept: u32,
    /// So many looks of each of them, the first ones.
    pub(super) looks: usize,
}

impl Extent {
    /// All of it, with such periods.
    pub(super) fn whole(period: Seconds) -> Extent {
        Extent { period: period * UNEVEN, periods: 100, quiet: 25, kept: 3, looks: usize::MAX }
    }

    /// What a sheet has time and room for: looks of twice the time that the stream runs, about.
    pub(super) const SHORT: Extent =
        Extent { period: Seconds(2e-3 * UNEVEN), periods: 60, quiet: 15, kept: 1, looks: 400 };
}

/// The area.
pub static TRANSITIONS: Area =
    Area { offers, needs: CLOCKS, ..Area::new(AREA, QUANTITIES, 0.5, proposal) };

fn offers(_workload: &str, quantity: &Quantity) -> bool {
    quantity.id == VISIBLE
}

/// The heaviest stream in a duty cycle.
fn proposal(plan: &Planning<'_>) -> Proposal {
    asked::of_heaviest(plan, WORKLOAD, |row| of_streams(plan, &[row], Extent::SHORT))
}

/// A stream in a duty cycle.
struct TransitionJob {
    order: usize,
    load: Load,
    cpu: CpuId,
    beside: Option<CpuId>,
    extent: Extent,
    tools: Tools,
}

/// A cell for each of these streams on the first CPU of each type of core.
pub(super) fn of_streams(
    plan: &Planning<'_>,
    rows: &[&'static StreamRow],
    extent: Extent,
) -> Result<Proposal, Unavailable> {
    let tools = streams::tools(plan.machine)?;
    let kept = if rows.len() == 1 { extent.kept } else { extent.kept.min(1) };
    let extent = Extent { kept, ..extent };
    let period = extent.period;
    let mut proposal = Proposal::default();
    let firsts = active::kinds(plan).into_iter();
    let firsts: Vec<_> = firsts.filter_map(|(kind, of)| Some((kind, *of.first()?, of))).collect();
    if firsts.is_empty() {
        return Err(Unavailable::new(Obstacle::Hardware, "trace", "there is no CPU"));
    }
    for (kind, cpu, alike) in firsts {
        let others = active::others(plan, cpu);
        // One of its own type, if there is one.
        let beside = others.iter().find(|other| alike.contains(other)).or(others.first()).copied();
        for (order, row) in rows.iter().enumerate() {
            let load = match streams::load(plan.machine, row, DATA) {
                Ok(load) => load,
                Err(reason) => {
                    let what = format!("trace of {}", row.id);
                    let is_new = !proposal.absent.iter().any(|(id, _)| *id == row.id);
                    proposal
                        .absent
                        .extend(is_new.then_some((row.id, Unavailable { what, ..reason })));
                    continue;
                }
            };
            let followed = TransitionJob { order, load, cpu, beside, extent, tools };
            let word = |seconds: f64| format!("{:.0}", seconds * 1e6);
            let mut parameters = BTreeMap::from([
                (STREAM.to_owned(), row.id.to_owned()),
                (PERIOD_US.to_owned(), word(period.0)),
                (BURST_US.to_owned(), word(period.0 * DUTY)),
                (TIMELINE.to_owned(), "periods".to_owned()),
            ]);
            parameters.extend(kind.clone().map(|kind| (CORE_TYPE.to_owned(), kind)));
            proposal.cells.push(Cell { work: CellWork::CustomJob(Box::new(followed)), parameters });
        }
    }
    match proposal.absent.pop() {
        Some((_, reason)) if proposal.cells.is_empty() => Err(reason),
        last => {
            proposal.absent.extend(last);
            Ok(proposal)
        }
    }
}

/// What is known of a CPU before anything is looked at: its chains, and its clock by longer ones.
struct Known {
    chains: Chains,
    hertz: Result<f64, Unavailable>,
}

/// The looks of one CPU: before the payload, with it, after it.
struct WatchedCpu {
    cpu: CpuId,
    index: usize,
    seen: [Vec<LookSample>; 3],
    /// Of the stamps, in seconds.
    step: f64,
    /// Whether clocks are set right, or why they are not.
    clock: Result<(), Unavailable>,
}

/// Looks without a payload, and by what they set the clock of each CPU right.
struct Begun {
    known: BTreeMap<CpuId, Known>,
    raw: RawTrace,
    scales: BTreeMap<CpuId, Result<Scale, Unavailable>>,
}

impl TransitionJob {
    fn cpus(&self) -> Vec<CpuId> {
        std::iter::once(self.cpu).chain(self.beside).collect()
    }

    fn job(&self, payload: Option<Load>, periods: u32) -> Trace {
        Trace {
            cpu: self.cpu,
            beside: self.beside,
            payload,
            period: self.extent.period,
            burst: self.extent.period * DUTY,
            periods,
            tools: self.tools,
        }
    }

    /// The chains of all CPUs; or why there are none.
    fn known(
        &self,
        executor: &mut dyn Executor,
        rulers: &Rulers,
    ) -> Result<Result<BTreeMap<CpuId, Known>, Unavailable>, RunError> {
        let mut known = BTreeMap::new();
        for cpu in self.cpus() {
            let ruler = match rulers.get(&cpu) {
                Some(Ok(ruler)) => ruler,
                Some(Err(reason)) => return Ok(Err(reason.clone())),
                None => {
                    let why = format!("CPU {cpu} has no ruler");
                    return Ok(Err(Unavailable::new(Obstacle::Measurement, "trace", why)));
                }
            };
            let undisturbed = calibration::undisturbed(executor, &self.tools, cpu, ruler)?;
            let adds = self.tools.witness.ops_per_iteration as f64;
            let multiplies = self.tools.ruler.ops_per_iteration as f64;
            let chains = Chains {
                cycles: [adds, multiplies * f64::from(ruler.latency_cycles)],
                null: undisturbed.null,
                fixed: [ruler.fixed.witness, ruler.fixed.ruler],
            };
            known.insert(cpu, Known { chains, hertz: undisturbed.hertz });
        }
        Ok(Ok(known))
    }

    /// Looks without a payload, until they and longer chains say of each clock what is nearly the same.
    fn begin(
        &self,
        executor: &mut dyn Executor,
        rulers: &Rulers,
        quiet: &Trace,
    ) -> Result<Result<Begun, Unavailable>, RunError> {
        const ATTEMPTS: usize = 3;
        let mut attempt = 1;
        loop {
            let known = match self.known(executor, rulers)? {
                Ok(known) => known,
                Err(reason) => return Ok(Err(reason)),
            };
            let raw = executor.trace(quiet)?;
            let rate = executor.rate();
            let of = |of: &RawTraced| {
                let known = known.get(&of.cpu)?;
                let seen = trace::seen(of, quiet, known.chains, raw.begun.count(), rate);
                Some((of.cpu, scale(of.cpu, &seen, &known.hertz)))
            };
            let scales: BTreeMap<_, _> = raw.cpus.iter().filter_map(of).collect();
            if attempt == ATTEMPTS || scales.values().all(Result::is_ok) {
                return Ok(Ok(Begun { known, raw, scales }));
            }
            attempt += 1;
        }
    }

    fn measure(
        &self,
        executor: &mut dyn Executor,
        rulers: &Rulers,
    ) -> Result<Result<Run, Unavailable>, RunError> {
        let quiet = self.job(None, self.extent.quiet);
        let once = self.job(Some(self.load), self.extent.periods);
        let begun = match self.begin(executor, rulers, &quiet)? {
            Ok(begun) => begun,
            Err(reason) => return Ok(Err(reason)),
        };
        let with = passes_of(executor, &begun, [&quiet, &once])?;
        let after = [executor.trace(&quiet)?];
        let rate = executor.rate();
        let loaded = repeated(&once, &with);
        let passes = [(std::slice::from_ref(&begun.raw), &quiet), (&with, &once), (&after, &quiet)];
        let mut run = Run::default();
        let all = passes.iter().flat_map(|(raw, _)| *raw).flat_map(|raw| &raw.cpus);
        run.around = all.map(|cpu| cpu.around).reduce(Around::and).unwrap_or_default();
        for (index, cpu) in self.cpus().into_iter().enumerate() {
            let Some(known) = begun.known.get(&cpu) else { continue };
            let mut seen = passes.map(|(raw, job)| looks_at(cpu, raw, job, known, rate));
            let clock = begun.scales.get(&cpu).cloned().unwrap_or_else(|| Err(no_looks(cpu)));
            if let Ok(scale) = &clock {
                for seen in &mut seen {
                    scale.apply(seen);
                }
            }
            // What the payload takes is none of what the machine loses anyway.
            let of_quiet =
                std::iter::zip(&seen, passes).filter(|(_, (_, job))| job.payload.is_none());
            for (seen, (_, job)) in of_quiet {
                let ticks = |seconds: f64| (seconds * rate.hertz().0) as u64;
                let gaps = lost(seen, job);
                let total = &mut run.around.gaps;
                total.polled += ticks(job.duration().0);
                total.lost += ticks(gaps.iter().sum());
                total.long += gaps.iter().filter(|it| **it > LONG).count() as u64;
            }
            let mut with = with.iter().flat_map(|raw| &raw.cpus);
            let with = with.find(|of| of.cpu == cpu);
            let step = with.map_or(0.0, |of| trace::step(of, rate));
            let watched = WatchedCpu { cpu, index, seen, step, clock: clock.map(drop) };
            run.parts.extend(watched.parts(&quiet, &loaded, self.extent));
        }
        Ok(Ok(run))
    }
}

/// Looks with the payload: pass after pass, until each phase was looked at, and the clock was seen, in as many
/// periods as it takes to tell something of them, or until another pass would hardly help.
fn passes_of(
    executor: &mut dyn Executor,
    begun: &Begun,
    [quiet, loaded]: [&Trace; 2],
) -> Result<Vec<RawTrace>, RunError> {
    const PASSES_MAX: usize = 3;
    let mut passes = vec![executor.trace(loaded)?];
    while passes.len() < PASSES_MAX {
        let rate = executor.rate();
        let all = repeated(loaded, &passes);
        let is_enough = begun.known.iter().all(|(cpu, known)| {
            let without = looks_at(*cpu, std::slice::from_ref(&begun.raw), quiet, known, rate);
            let mut with = looks_at(*cpu, &passes, loaded, known, rate);
            let looked = halts([&without, &with], quiet, &all).all.fewest;
            let Some(Ok(scale)) = begun.scales.get(cpu) else {
                return looked >= trace::PERIODS_MIN;
            };
            scale.apply(&mut with);
            let hold = trace::hold(&trace::fold(&with, &all), &all, [1.0; 2], 0.0);
            looked.min(hold.map_or(0, |hold| hold.periods)) >= trace::PERIODS_MIN
        });
        if is_enough {
            break;
        }
        passes.push(executor.trace(loaded)?);
    }
    Ok(passes)
}

/// The same job with as many periods as all of its passes have.
fn repeated(job: &Trace, passes: &[RawTrace]) -> Trace {
    Trace { periods: job.periods * passes.len() as u32, ..job.clone() }
}

/// The looks at a CPU in all passes of a job.
fn looks_at(
    cpu: CpuId,
    passes: &[RawTrace],
    job: &Trace,
    known: &Known,
    rate: Rate<Stamp>,
) -> Vec<LookSample> {
    let of_pass = |raw: &RawTrace| {
        let of = raw.cpus.iter().find(|of| of.cpu == cpu);
        of.map_or_else(Vec::new, |of| trace::seen(of, job, known.chains, raw.begun.count(), rate))
    };
    trace::joined(passes.iter().map(of_pass), job)
}

/// Halts, and the least that could be told: by what is missing without the payload, and with it.
fn halts([without, with]: [&[LookSample]; 2], quiet: &Trace, loaded: &Trace) -> TracedHalts {
    let resolved = trace::resolved(without);
    let of_quiet = trace::by_chance(without, quiet, &[]).max(resolved);
    let some = trace::halts(with, loaded, of_quiet).found;
    let visible = trace::by_chance(with, loaded, &some).max(of_quiet);
    TracedHalts { all: trace::halts(with, loaded, visible), visible }
}

/// Gaps as all jobs count them: those longer than 1 us.
fn lost(seen: &[LookSample], job: &Trace) -> Vec<f64> {
    const SHORT: f64 = 1e-6;
    trace::missing(seen, job, SHORT)
}

/// Of those the ones that are long.
const LONG: f64 = 10e-6;

/// By what looks set the clock right; or why they do not.
fn scale(
    cpu: CpuId,
    quiet: &[LookSample],
    hertz: &Result<f64, Unavailable>,
) -> Result<Scale, Unavailable> {
    /// What of a look is fixed is known no worse than to 30 ns, and no clock moves farther from one moment to the next.
    const OFF_MAX: f64 = 0.1;
    let hertz = hertz.clone()?;
    let scale = Scale::of(quiet, hertz).ok_or_else(|| no_looks(cpu))?;
    if scale.off() <= OFF_MAX {
        return Ok(scale);
    }
    let why = format!(
        "contended: without a payload, the short chains on CPU {cpu} read {:.0} % off its clock by \
         longer chains, {:.0} MHz",
        scale.off() * 100.0,
        hertz / 1e6
    );
    let reason = Unavailable::new(Obstacle::Measurement, "clock of looks", why);
    Err(reason.with_remedy("run again when the machine, or its SMT sibling, is idle"))
}

fn no_looks(cpu: CpuId) -> Unavailable {
    let why =
        format!("CPU {cpu} has no sample of its clock without a payload: other work used the CPU");
    Unavailable::new(Obstacle::Measurement, "clock of looks", why)
}

type TraceSeries = (BTreeMap<String, String>, Readings);

fn part<const N: usize>(parameters: [(&str, String); N], readings: Readings) -> TraceSeries {
    (parameters.map(|(key, value)| (key.to_owned(), value)).into(), readings)
}

/// Lengths are whole bins: what is as long as the least is not shorter by rounding.
const LEAST: f64 = 0.999;

fn microseconds(seconds: f64) -> String {
    format!("{:.0}", seconds * 1e6)
}

impl WatchedCpu {
    fn core(&self) -> String {
        if self.index == 0 { OWN } else { OTHER }.to_owned()
    }

    /// What the payload does to this core.
    fn parts(&self, quiet: &Trace, loaded: &Trace, extent: Extent) -> Vec<TraceSeries> {
        let [before, with, after] = &self.seen;
        let without = [before.as_slice(), after.as_slice()].concat();
        let halts = halts([&without, with], quiet, loaded);
        let [before, after] = [before, after].map(|seen| trace::fold(seen, quiet));
        let folded = trace::fold(with, loaded);
        let mut readings = Readings::new();
        let visible = Some(halts.visible).filter(|visible| visible.is_finite());
        readings.insert(VISIBLE, visible.map(|it| vec![it]).ok_or_else(|| no_looks(self.cpu)));
        let beside = trace::visible_beside_throttled(with, loaded, halts.visible);
        readings.extend(beside.map(|it| (VISIBLE_BESIDE, Ok(vec![it]))));
        readings.insert(LOOKED, Ok(vec![f64::from(halts.all.fewest)]));
        // Of where too few periods were looked at nothing is told, whatever was found elsewhere.
        if halts.all.fewest < trace::PERIODS_MIN {
            for what in [HALT, THROTTLED] {
                readings.insert(what, Err(not_seen(what, &halts.all, loaded)));
            }
        }
        let mut parts = self.halted(&halts.all);
        match before.typical().zip(after.typical()) {
            Some(clocks) => {
                let least = trace::throttled_visible(&before, &folded, clocks.0, &halts.all);
                readings.insert(THROTTLED_VISIBLE, Ok(vec![least]));
                parts.extend(self.throttled(&folded, clocks.0, least));
                self.hold(&mut readings, &folded, loaded, clocks.into());
            }
            None => {
                for what in [THROTTLED, HOLD_VISIBLE] {
                    readings.insert(what, Err(no_looks(self.cpu)));
                }
            }
        }
        let [before, with, after] = &self.seen;
        for (pass, passes, job) in
            [(QUIET, vec![before, after], quiet), (LOADED, vec![with], loaded)]
        {
            parts.push(self.gaps(pass, &passes, job, halts.visible));
        }
        readings.extend(self.timeline(&folded));
        match self.kept(with, extent) {
            Ok(kept) => parts.extend(kept),
            Err(reason) => readings.extend(LOOKS.map(|it| (it, Err(reason.clone())))),
        }
        parts.insert(0, part([(CORE, self.core())], readings));
        parts
    }

    fn halted(&self, halts: &Halts) -> Vec<TraceSeries> {
        let of = |halt: &trace::Halt| {
            let lengths = halt.lengths.clone();
            let readings =
                Readings::from([(HALT, Ok(lengths)), (HALT_SHARE, Ok(vec![halt.share]))]);
            let at = (AT, microseconds(halt.phase));
            part([(CORE, self.core()), (EVENT, "halt".to_owned()), at], readings)
        };
        halts.found.iter().map(of).collect()
    }

    fn throttled(&self, folded: &Folded, quiet: f64, least: f64) -> Vec<TraceSeries> {
        let all = trace::throttled(folded, quiet).into_iter();
        let of = |throttled: trace::Throttled| {
            let readings = Readings::from([
                (THROTTLED, Ok(vec![throttled.length])),
                (THROTTLED_RATIO, Ok(vec![throttled.ratio])),
            ]);
            let at = (AT, microseconds(throttled.phase));
            part([(CORE, self.core()), (EVENT, "throttled".to_owned()), at], readings)
        };
        let is_told =
            |it: &trace::Throttled| it.length >= least * LEAST && it.is_believed(&self.seen[1]);
        all.filter(is_told).map(of).collect()
    }

    fn hold(&self, readings: &mut Readings, folded: &Folded, job: &Trace, quiet: [f64; 2]) {
        if let Err(reason) = &self.clock {
            readings.insert(HOLD_VISIBLE, Err(reason.clone()));
            return;
        }
        let Some(hold) = trace::hold(folded, job, quiet, self.step) else {
            readings.insert(HOLD_VISIBLE, Err(unseen_clock()));
            return;
        };
        if hold.periods < trace::PERIODS_MIN {
            readings.insert(HOLD_VISIBLE, Err(few_clocks(hold.periods, job)));
            return;
        }
        readings.insert(LOW, Ok(vec![hold.low]));
        readings.insert(RELAXED, Ok(vec![hold.relaxed]));
        readings.insert(HOLD_VISIBLE, Ok(vec![hold.visible]));
        match hold.length {
            Some(length) => drop(readings.insert(HOLD, Ok(vec![length]))),
            None if hold.is_lower => drop(readings.insert(HOLD, Err(not_back(job)))),
            None => {}
        }
    }

    /// Time that is missing at once, whenever that is: gaps that a halt could be told from, and the share of all.
    fn gaps(
        &self,
        pass: &str,
        passes: &[&Vec<LookSample>],
        job: &Trace,
        visible: f64,
    ) -> TraceSeries {
        let lost: Vec<f64> =
            passes.iter().flat_map(|seen| trace::missing(seen, job, visible)).collect();
        let duration = job.duration().0 * passes.len() as f64;
        let rate = lost.len() as f64 / duration;
        // Gaps that are frequent are no halts, and take time all the same.
        let all: f64 = passes.iter().flat_map(|seen| self::lost(seen, job)).sum();
        let share = all / duration;
        let mut readings =
            Readings::from([(GAP_RATE, Ok(vec![rate])), (GAP_SHARE, Ok(vec![share]))]);
        if !lost.is_empty() {
            readings.insert(GAP, Ok(lost));
        }
        part([(PASS, pass.to_owned()), (CORE, self.core())], readings)
    }

    /// The clock of all periods over each other, by phase.
    fn timeline(&self, folded: &Folded) -> Readings {
        let bins = folded.clock.iter().enumerate();
        let known =
            bins.filter_map(|(bin, clock)| Some(((bin as f64 + 0.5) * folded.bin, (*clock)?)));
        let (time, clock): (Vec<f64>, Vec<f64>) = known.unzip();
        let clock = self.clock.clone().map(|()| clock);
        Readings::from([(FOLDED_TIME, Ok(time)), (FOLDED_CLOCK, clock)])
    }

    /// The looks of some periods, one by one.
    ///
    /// # Error
    /// Where they tell no clock, or there are none.
    fn kept(&self, with: &[LookSample], extent: Extent) -> Result<Vec<TraceSeries>, Unavailable> {
        self.clock.clone()?;
        let periods = covered(with, extent.kept as usize);
        if periods.is_empty() {
            let why = format!(
                "CPU {} has no sample of its clock under the payload: other work used the CPU",
                self.cpu
            );
            let reason = Unavailable::new(Obstacle::Measurement, "looks", why);
            return Err(reason.with_remedy("stop other work on these CPUs"));
        }
        Ok(periods.into_iter().map(|period| self.looks(period, with, extent.looks)).collect())
    }

    /// The looks of one period, one by one.
    fn looks(&self, period: u32, seen: &[LookSample], most: usize) -> TraceSeries {
        let of = |value: fn(&LookSample) -> f64| {
            let mine = seen.iter().filter(|look| look.period == period);
            Ok(mine.take(most).map(value).collect())
        };
        let readings = Readings::from([
            (TIME, of(|look| look.phase)),
            (CLOCK, of(|look| look.clock)),
            (STRETCH, of(|look| look.stretch)),
        ]);
        part([(CORE, self.core()), (PERIOD, period.to_string())], readings)
    }
}

/// So many periods, of which there is a look: the first ones that gaps left at least half of the most looks, and only
/// then others.
fn covered(seen: &[LookSample], count: usize) -> Vec<u32> {
    let mut looks: BTreeMap<u32, usize> = BTreeMap::new();
    for look in seen {
        *looks.entry(look.period).or_default() += 1;
    }
    let most = looks.values().copied().max().unwrap_or(0);
    let (whole, rest): (Vec<_>, Vec<_>) = looks.into_iter().partition(|(_, of)| 2 * of >= most);
    let mut kept: Vec<u32> =
        whole.into_iter().chain(rest).map(|(period, _)| period).take(count).collect();
    kept.sort_unstable();
    kept
}

/// Halts, and the least that could be told.
struct TracedHalts {
    all: Halts,
    visible: f64,
}

/// Too few periods were looked at.
fn not_seen(what: &str, halts: &Halts, job: &Trace) -> Unavailable {
    let why = format!(
        "too few samples {} us after the stream begins: {} of {} periods have one, and {} are \
         needed (gaps cover the others)",
        microseconds(halts.fewest_at),
        halts.fewest,
        job.periods,
        trace::PERIODS_MIN
    );
    let reason = Unavailable::new(Obstacle::Measurement, what, why);
    reason.with_remedy("stop other work on these CPUs")
}

/// Too few periods saw the clocks of the stream and of the end.
fn few_clocks(periods: u32, job: &Trace) -> Unavailable {
    let why = format!(
        "too few samples: {periods} of {} periods have a clock in the second half of the stream \
         and in the last quarter of the period, and {} are needed",
        job.periods,
        trace::PERIODS_MIN
    );
    let reason = Unavailable::new(Obstacle::Measurement, HOLD_VISIBLE, why);
    reason.with_remedy("stop other work on these CPUs")
}

/// No look saw a clock where one is needed.
fn unseen_clock() -> Unavailable {
    let why = "no sample of the clock in the second half of the stream, or in the last quarter of \
               the period";
    let reason = Unavailable::new(Obstacle::Measurement, HOLD_VISIBLE, why);
    reason.with_remedy("stop other work on these CPUs")
}

/// The clock was low until the period ended.
fn not_back(job: &Trace) -> Unavailable {
    /// As `--period` allows.
    const PERIOD_MAX: f64 = 0.1;
    let milliseconds = job.period.0 * 1e3;
    let why = format!("the clock was not back at the end of a period of {milliseconds:.1} ms");
    let reason = Unavailable::new(Obstacle::Measurement, HOLD, why);
    let longer = (job.period.0 * 4.0).min(PERIOD_MAX);
    if longer <= job.period.0 {
        return reason;
    }
    reason.with_remedy(format!("give it a longer one: --period {:.0}ms", longer * 1e3))
}

impl CustomJob for TransitionJob {
    fn aim(&self) -> JobTarget {
        let order = self.order;
        JobTarget { order, workload: WORKLOAD, cpus: self.cpus() }
    }

    fn cpu_of(&self, part: &BTreeMap<String, String>) -> CpuId {
        let is_other = part.get(CORE).is_some_and(|core| core == OTHER);
        self.beside.filter(|_| is_other).unwrap_or(self.cpu)
    }

    fn duration(&self) -> Seconds {
        self.extent.period * f64::from(self.extent.periods + 2 * self.extent.quiet)
    }

    fn is_once(&self) -> bool {
        true
    }

    fn run(&self, means: JobContext<'_>) -> Result<Run, RunError> {
        Ok(Run::or_reason(self.measure(means.executor, means.rulers)?, [VISIBLE]))
    }
}

#[cfg(test)]
mod tests;
