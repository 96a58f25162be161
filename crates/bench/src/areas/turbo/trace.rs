//! Licence transitions: what a payload in a duty cycle does to the clock of its core and of another one.

use std::collections::BTreeMap;

use kernels::StreamRow;
use machine::Machine;
use model::{CpuId, Obstacle, Seconds, Unavailable};

use super::super::{Cell, DATA, Errand, Planning, Run, Wishes, Work};
use super::promise;
use super::soak::{STREAM, TIMELINE};
use crate::rig::executor::{Executor, RunError};
use crate::rig::job::{Around, Load, Tools};
use crate::rig::reduce::{self, Readings};
use crate::rig::ruler::{self, Rulers};
use crate::rig::trace::{self, Chains, Folded, RawTrace, RawTraced, Seen, Trace};
use crate::streams;

/// Its workload.
pub(super) const WORKLOAD: &str = "trace";

/// Its parameters: what was seen, when in a period, on which core, with a payload or without, and which period.
pub(super) const EVENT: &str = "event";
pub(super) const AT: &str = "at_us";
pub(super) const CORE: &str = "core";
pub(super) const PASS: &str = "pass";
pub(super) const PERIOD: &str = "period";

/// Their words.
pub(super) const OWN: &str = "own";
pub(super) const OTHER: &str = "other";
pub(super) const QUIET: &str = "without payload";
pub(super) const LOADED: &str = "with payload";

/// How the duty cycle is laid out, in microseconds.
pub(super) const PERIOD_US: &str = "period_us";
pub(super) const BURST_US: &str = "burst_us";

/// Its quantities.
pub(super) const VISIBLE: &str = "trace_visible";
pub(super) const HALT: &str = "trace_halt";
pub(super) const HALT_SHARE: &str = "trace_halt_share";
pub(super) const THROTTLED: &str = "trace_throttled";
pub(super) const THROTTLED_VISIBLE: &str = "trace_throttled_visible";
pub(super) const THROTTLED_RATIO: &str = "trace_throttled_ratio";
pub(super) const HOLD: &str = "trace_hold";
pub(super) const HOLD_VISIBLE: &str = "trace_hold_visible";
pub(super) const LOW: &str = "trace_low";
pub(super) const RELAXED: &str = "trace_relaxed";
pub(super) const TIME: &str = "trace_time";
pub(super) const CLOCK: &str = "trace_clock";
pub(super) const STRETCH: &str = "trace_stretch";
pub(super) const FOLDED_TIME: &str = "trace_folded_time";
pub(super) const FOLDED_CLOCK: &str = "trace_folded_clock";
pub(super) const GAP: &str = "trace_gap";
pub(super) const GAP_RATE: &str = "trace_gap_rate";

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
    /// Periods with the payload: halts are believed in 80 % of 50 and more.
    pub(super) periods: u32,
    /// Periods without it, before and again after.
    pub(super) quiet: u32,
    /// Periods whose looks are kept one by one.
    pub(super) kept: u32,
}

impl Extent {
    /// All of it, with such periods.
    pub(super) fn whole(period: Seconds) -> Extent {
        Extent { period: period * UNEVEN, periods: 100, quiet: 25, kept: 3 }
    }

    /// What a sheet has time for.
    pub(super) const SHORT: Extent =
        Extent { period: Seconds(2e-3 * UNEVEN), periods: 60, quiet: 15, kept: 0 };
}

/// A stream in a duty cycle.
struct Followed {
    order: usize,
    load: Load,
    cpu: CpuId,
    beside: Option<CpuId>,
    extent: Extent,
    tools: Tools,
}

/// A cell for each of these streams.
pub(super) fn wishes(
    plan: &Planning<'_>,
    rows: &[&'static StreamRow],
    extent: Extent,
) -> Result<Wishes, Unavailable> {
    let tools = streams::tools(plan.machine)?;
    let Some(&cpu) = plan.placement.cpus.first() else {
        return Err(Unavailable::new(Obstacle::Hardware, "trace", "there is no CPU"));
    };
    let beside = promise::others(plan, cpu).first().copied();
    let kept = if rows.len() == 1 { extent.kept } else { extent.kept.min(1) };
    let extent = Extent { kept, ..extent };
    let period = extent.period;
    let mut wishes = Wishes::default();
    let mut refused = None;
    for (order, row) in rows.iter().enumerate() {
        let load = match streams::load(plan.machine, row, DATA) {
            Ok(load) => load,
            Err(reason) => {
                refused = Some(reason);
                continue;
            }
        };
        let followed = Followed { order, load, cpu, beside, extent, tools };
        let word = |seconds: f64| format!("{:.0}", seconds * 1e6);
        let parameters = BTreeMap::from([
            (STREAM.to_owned(), row.id.to_owned()),
            (PERIOD_US.to_owned(), word(period.0)),
            (BURST_US.to_owned(), word(period.0 * DUTY)),
            (TIMELINE.to_owned(), "periods".to_owned()),
        ]);
        wishes.cells.push(Cell { work: Work::Errand(Box::new(followed)), parameters });
    }
    match refused {
        Some(reason) if wishes.cells.is_empty() => Err(reason),
        _ => Ok(wishes),
    }
}

/// What is known of the chains of each CPU.
type Known = BTreeMap<CpuId, Chains>;

impl Followed {
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

    /// The chains of all CPUs; or why there is no clock.
    fn chains(
        &self,
        executor: &mut dyn Executor,
        rulers: &Rulers,
    ) -> Result<Result<Known, Unavailable>, RunError> {
        let mut known = Known::new();
        for cpu in self.cpus() {
            let found = match rulers.get(&cpu) {
                Some(Ok(found)) => found,
                Some(Err(reason)) => return Ok(Err(reason.clone())),
                None => {
                    let why = format!("CPU {cpu} has no ruler");
                    return Ok(Err(Unavailable::new(Obstacle::Measurement, "trace", why)));
                }
            };
            let job = ruler::quiet(&self.tools, cpu);
            let raw = executor.repeat(&job)?;
            let (null, rate) = (self.tools.null, executor.rate());
            let reduced = reduce::reduce(&raw.members[0], null, &job, Some(found), rate);
            let adds = self.tools.witness.ops_per_iteration as f64;
            let multiplies = self.tools.ruler.ops_per_iteration as f64;
            let latency = f64::from(found.latency_cycles);
            let chains = Chains {
                cycles: [adds, multiplies * latency],
                null: reduced.null_seconds.unwrap_or(0.0),
                fixed: [found.fixed.witness, found.fixed.ruler],
                hertz: model::stats::median(&reduced.quiet_clock),
            };
            known.insert(cpu, chains);
        }
        Ok(Ok(known))
    }

    fn measure(
        &self,
        executor: &mut dyn Executor,
        rulers: &Rulers,
    ) -> Result<Result<Run, Unavailable>, RunError> {
        let known = match self.chains(executor, rulers)? {
            Ok(known) => known,
            Err(reason) => return Ok(Err(reason)),
        };
        let quiet = self.job(None, self.extent.quiet);
        let loaded = self.job(Some(self.load), self.extent.periods);
        let raw = [executor.trace(&quiet)?, executor.trace(&loaded)?, executor.trace(&quiet)?];
        let rate = executor.rate();
        let seen = |raw: &RawTrace, job: &Trace| -> Seens {
            let of = |(index, cpu): (usize, &RawTraced)| {
                let chains = known.get(&cpu.cpu)?;
                Some((index, trace::seen(cpu, job, *chains, raw.begun.count(), rate)))
            };
            raw.cpus.iter().enumerate().filter_map(of).collect()
        };
        let mut all = [seen(&raw[0], &quiet), seen(&raw[1], &loaded), seen(&raw[2], &quiet)];
        set_right(&known, &raw[0], &mut all);
        let [before, with, after] = all;
        let around = raw[1].cpus.iter().map(|cpu| cpu.around).reduce(Around::and);
        let around = around.unwrap_or_default();
        let mut run = Run { around, ..Run::default() };
        let typical = |seens: &Seens| trace::fold(&seens.first()?.1, &quiet).typical();
        let Some(clocks) = typical(&before).zip(typical(&after)) else { return Ok(Ok(run)) };
        let without = together(before, after);
        let of_quiet = quiet.duration() * 2.0;
        let visible = trace::visible(&without[0].1, of_quiet, &loaded);
        run.readings.insert(VISIBLE, Ok(vec![visible]));
        let least = trace::throttled_visible(&trace::fold(&without[0].1, &quiet), clocks.0);
        for (pass, duration, all) in
            [(QUIET, of_quiet, &without), (LOADED, loaded.duration(), &with)]
        {
            for (index, seen) in all {
                run.parts.push(gaps(pass, core(*index), seen, duration, visible));
            }
        }
        for (index, seen) in &with {
            let folded = trace::fold(seen, &loaded);
            if *index == 0 {
                run.readings.insert(THROTTLED_VISIBLE, Ok(vec![least]));
                own(&mut run, seen, &folded, &loaded, [visible, least], clocks.into());
            }
            run.parts.push(timeline(core(*index), &folded));
            run.parts.extend((0..self.extent.kept).map(|period| looks(core(*index), period, seen)));
        }
        Ok(Ok(run))
    }
}

/// The looks of each CPU, by its place in the job.
type Seens = Vec<(usize, Vec<Seen>)>;

/// Sets the looks of all passes right by those of the first, without a payload.
fn set_right(known: &Known, first: &RawTrace, all: &mut [Seens; 3]) {
    for (index, raw) in first.cpus.iter().enumerate() {
        let Some(hertz) = known.get(&raw.cpu).and_then(|chains| chains.hertz) else { continue };
        let quiet = all[0].get(index).map(|(_, seen)| seen.clone()).unwrap_or_default();
        for seens in &mut *all {
            if let Some((_, seen)) = seens.get_mut(index) {
                trace::set_right(seen, &quiet, hertz);
            }
        }
    }
}

/// The looks of two passes, one after the other.
fn together(first: Seens, second: Seens) -> Seens {
    let both = std::iter::zip(first, second);
    both.map(|((index, first), (_, second))| (index, [first, second].concat())).collect()
}

fn core(index: usize) -> &'static str {
    if index == 0 { OWN } else { OTHER }
}

type Part = (BTreeMap<String, String>, Readings);

fn part<const N: usize>(parameters: [(&str, String); N], readings: Readings) -> Part {
    (parameters.map(|(key, value)| (key.to_owned(), value)).into(), readings)
}

/// Lengths are whole bins: what is as long as the least is not shorter by rounding.
const LEAST: f64 = 0.999;

/// What the payload does to its own core, with the least halt and the least throttled stretch that can be told.
fn own(
    run: &mut Run,
    seen: &[Seen],
    folded: &Folded,
    job: &Trace,
    [visible, least]: [f64; 2],
    quiet: [f64; 2],
) {
    let microseconds = |seconds: f64| format!("{:.0}", seconds * 1e6);
    for halt in trace::halts(seen, job, visible) {
        let readings =
            Readings::from([(HALT, Ok(halt.lengths)), (HALT_SHARE, Ok(vec![halt.share]))]);
        let at = microseconds(halt.phase);
        run.parts.push(part([(EVENT, "halt".to_owned()), (AT, at)], readings));
    }
    let throttled = trace::throttled(folded, quiet[0]).into_iter();
    for throttled in throttled.filter(|it| it.length >= least * LEAST) {
        let readings = Readings::from([
            (THROTTLED, Ok(vec![throttled.length])),
            (THROTTLED_RATIO, Ok(vec![throttled.ratio])),
        ]);
        let at = microseconds(throttled.phase);
        run.parts.push(part([(EVENT, "throttled".to_owned()), (AT, at)], readings));
    }
    if let Some(hold) = trace::hold(folded, job, quiet) {
        run.readings.insert(LOW, Ok(vec![hold.low]));
        run.readings.insert(RELAXED, Ok(vec![hold.relaxed]));
        run.readings.insert(HOLD_VISIBLE, Ok(vec![hold.visible]));
        match hold.length {
            Some(length) => drop(run.readings.insert(HOLD, Ok(vec![length]))),
            None if hold.is_lower => drop(run.readings.insert(HOLD, Err(not_back(job)))),
            None => {}
        }
    }
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

/// Time that is missing at once, whenever that is.
fn gaps(pass: &str, core: &str, seen: &[Seen], duration: Seconds, visible: f64) -> Part {
    let lost: Vec<f64> = seen.iter().map(|look| look.lost).filter(|lost| *lost > visible).collect();
    let rate = lost.len() as f64 / duration.0;
    let mut readings = Readings::from([(GAP_RATE, Ok(vec![rate]))]);
    if !lost.is_empty() {
        readings.insert(GAP, Ok(lost));
    }
    part([(PASS, pass.to_owned()), (CORE, core.to_owned())], readings)
}

/// The clock of all periods over each other, by phase.
fn timeline(core: &str, folded: &Folded) -> Part {
    let bins = folded.clock.iter().enumerate();
    let known = bins.filter_map(|(bin, clock)| Some(((bin as f64 + 0.5) * folded.bin, (*clock)?)));
    let (time, clock): (Vec<f64>, Vec<f64>) = known.unzip();
    let readings = Readings::from([(FOLDED_TIME, Ok(time)), (FOLDED_CLOCK, Ok(clock))]);
    part([(CORE, core.to_owned())], readings)
}

/// The looks of one period, one by one.
fn looks(core: &str, period: u32, seen: &[Seen]) -> Part {
    let of = |value: fn(&Seen) -> f64| {
        Ok(seen.iter().filter(|look| look.period == period).map(value).collect())
    };
    let readings = Readings::from([
        (TIME, of(|look| look.phase)),
        (CLOCK, of(|look| look.clock)),
        (STRETCH, of(|look| look.stretch)),
    ]);
    part([(CORE, core.to_owned()), (PERIOD, period.to_string())], readings)
}

impl Errand for Followed {
    fn order(&self) -> usize {
        super::ORDER_OF_QUESTIONS + 10 + self.order
    }

    fn workload(&self) -> &'static str {
        WORKLOAD
    }

    fn cpus(&self) -> Vec<CpuId> {
        std::iter::once(self.cpu).chain(self.beside).collect()
    }

    fn duration(&self) -> Seconds {
        self.extent.period * f64::from(self.extent.periods + 2 * self.extent.quiet)
    }

    fn is_once(&self) -> bool {
        true
    }

    fn run(
        &self,
        executor: &mut dyn Executor,
        rulers: &Rulers,
        _machine: &Machine,
    ) -> Result<Run, RunError> {
        Ok(Run::or_reason(self.measure(executor, rulers)?, [VISIBLE]))
    }
}
