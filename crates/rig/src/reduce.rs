//! From stamps to samples: pure, so that it can be computed again.
//!
//! Every length has the cost of an empty repetition subtracted. What is left of fixed cost (pipeline
//! fill, the loop's last branch, what of the empty repetition overlaps with the kernel) is found by n
//! against 2n as a difference of medians: with `n` iterations taking `f + n c`, it is
//! `f = 2 T(n) - T(2n)`. Each block finds its own, so that what is uncertain about it shows as spread
//! between blocks (docs/adr/0005 says what pooling it would hide).

use std::collections::BTreeMap;

use model::ticks::Stamp;
use model::{Rate, Unavailable, stats};

use super::job::{
    CycleReading, Density, Interval, Load, Phase, Purpose, RawMember, RawPhase, RawRepeat, Repeat,
    StepKind,
};
use super::ruler::{Fixed, Ruler};
use super::traffic::MemorySamples;

/// How far the witness may be from one cycle per add before a block counts as contended, where nobody says otherwise.
pub const WITNESS_TOLERANCE: f64 = 0.0025;

/// The samples of one member of one job.
#[derive(Debug, Clone, Default)]
pub struct Reduced {
    /// Hertz of the core while the payload runs, one for each sandwich.
    pub clock: Vec<f64>,
    /// Hertz of the core with nothing but the ruler, before the payload.
    pub quiet_clock: Vec<f64>,
    /// The same right after the payload, whose licence may still hold the clock down.
    pub clock_after: Vec<f64>,
    /// Hertz of the core by rulers within the payload's loop, the payload dense.
    pub clock_in_loop: Vec<f64>,
    /// The same with the payload less dense.
    pub clock_in_loop_half: Vec<f64>,
    /// What the counters of core cycles say of the payload, where they are read.
    pub counters: Option<Result<CounterClock, Unavailable>>,
    /// Time that all members were in their full phase, as a share of the time that any of them was;
    /// whoever knows all members fills it in.
    pub overlap: Option<f64>,
    /// Cycles that repetitions of the payload took.
    pub cycles: PerOp,
    /// Seconds that repetitions of the payload took.
    pub seconds: PerOp,
    /// What was moved, where data was; or why that is worth nothing.
    pub haul: Option<Result<MemorySamples, Unavailable>>,
    /// What an area made of its own jobs.
    pub readings: Readings,
    /// Seconds of the empty repetition.
    pub null_seconds: Option<f64>,
    /// What the add chain beside the payload says of its core, where it ran.
    pub witness: Option<Witness>,
}

/// The add chain beside a payload: whether anybody else uses the core.
#[derive(Debug, Clone, Copy)]
pub struct Witness {
    /// Cycles per add, minus one: beyond 0.25 % the core is shared.
    pub deviation: f64,
    /// How far that may be off by the scatter of its samples.
    pub scatter: f64,
    /// How far it may be off by the steps of the stamps, which medians keep.
    pub step: f64,
}

impl Witness {
    /// How far it may be off by the steps of the stamps, within reason.
    pub fn step(self) -> f64 {
        self.step.min(2.0 * WITNESS_TOLERANCE)
    }

    /// Whether it disagreed with the ruler by more than that share of a cycle.
    pub fn disagrees(self, tolerance: f64) -> bool {
        // Chance alone may put a quiet block somewhat beyond; no sharing that was seen costs so little.
        let beyond = tolerance + self.scatter.min(WITNESS_TOLERANCE) + self.step();
        self.deviation.abs() > beyond
    }
}

/// Samples by the id of their quantity, or why there is none of it.
pub type Readings = BTreeMap<&'static str, Result<Vec<f64>, Unavailable>>;

/// What the counters of core cycles say of a stretch.
#[derive(Debug, Clone, Copy)]
pub struct CounterClock {
    /// APERF per MPERF.
    pub aperf_per_mperf: f64,
    /// MPERF per second, in hertz.
    pub mperf_hertz: f64,
}

/// How far the clock within the payload's loop is from the one right after the payload, as ratios.
#[derive(Debug, Clone, Copy)]
pub struct Evidence {
    /// With the payload dense.
    pub dense: f64,
    /// With the payload less dense.
    pub half: f64,
}

/// Repetitions of n and 2n iterations, and what each took.
#[derive(Debug, Clone, Default)]
pub struct PerOp {
    /// One for each repetition of the payload.
    pub repetitions: Vec<Repetition>,
}

/// One repetition of the payload.
#[derive(Debug, Clone, Copy)]
pub struct Repetition {
    /// What it took.
    pub cost: f64,
    /// How many ops it had.
    pub ops: f64,
    /// Whether it was one of 2n.
    pub twice: bool,
}

impl PerOp {
    /// What of a repetition does not grow with its ops: what an op takes is greater with n than with
    /// 2n by `f (1/n - 1/2n)`.
    pub fn fixed_cost(&self) -> Option<f64> {
        let median = |twice, of: fn(&Repetition) -> f64| {
            let values: Vec<f64> =
                self.repetitions.iter().filter(|r| r.twice == twice).map(of).collect();
            stats::median(&values)
        };
        let [once, twice] = [false, true].map(|twice| median(twice, |r| r.cost / r.ops));
        let [per_once, per_twice] = [false, true].map(|twice| median(twice, |r| 1.0 / r.ops));
        let fixed = (once? - twice?) / (per_once? - per_twice?);
        fixed.is_finite().then_some(fixed)
    }

    /// What an op took, one sample for each repetition, less what is fixed; none where that is unknown.
    pub fn samples(&self) -> Vec<f64> {
        let Some(fixed) = self.fixed_cost() else { return Vec::new() };
        self.repetitions.iter().map(|r| (r.cost - fixed) / r.ops).collect()
    }
}

impl Reduced {
    /// What the rulers within the payload's loop say of the one after it, where there are any.
    pub fn evidence(&self) -> Option<Evidence> {
        let clock = stats::median(&self.clock)?;
        let ratio = |in_loop: &[f64]| Some(stats::median(in_loop)? / clock);
        Some(Evidence {
            dense: ratio(&self.clock_in_loop)?,
            half: ratio(&self.clock_in_loop_half)?,
        })
    }

    /// Whether the witness disagreed with the ruler by more than that share of a cycle.
    pub fn contended(&self, tolerance: f64) -> bool {
        self.witness.is_some_and(|witness| witness.disagrees(tolerance))
    }
}

/// Lengths of one phase, net of the empty repetition, with the step that each belongs to.
struct Net<'a> {
    phase: &'a Phase,
    raw: &'a RawPhase,
    null: f64,
    /// What of the rulers' repetitions is fixed.
    fixed: Fixed,
    /// The first stamp after the phase has settled.
    settled: usize,
}

/// The first stamp after the phase has settled.
fn settled(phase: &Phase, raw: &RawPhase, hertz: f64) -> usize {
    let ticks = (phase.settle.0 * hertz) as u64;
    let since_first = |stamp: &Interval| stamp.start.since(raw.stamps[0].start).count();
    raw.stamps.iter().take_while(|stamp| since_first(stamp) < ticks).count()
}

impl Net<'_> {
    fn what(&self, stamp: usize) -> StepKind {
        self.phase.steps[stamp % self.phase.steps.len()].what
    }

    fn multiple(&self, stamp: usize) -> u64 {
        self.phase.steps[stamp % self.phase.steps.len()].multiple
    }

    fn iterations(&self, stamp: usize) -> u64 {
        self.raw.iterations[stamp % self.raw.iterations.len()]
    }

    fn length(&self, stamp: usize) -> f64 {
        (self.raw.stamps[stamp].length().count() as f64 - self.null).max(0.0)
    }

    fn stamps(&self, what: StepKind) -> impl Iterator<Item = usize> + '_ {
        (self.settled..self.raw.stamps.len()).filter(move |&stamp| self.what(stamp) == what)
    }

    /// Ticks per iteration of that step.
    fn per_iteration(&self, stamp: usize) -> f64 {
        let fixed = match self.what(stamp) {
            StepKind::Ruler => self.fixed.ruler,
            StepKind::Witness => self.fixed.witness,
            StepKind::Payload
            | StepKind::InLoop { .. }
            | StepKind::Null
            | StepKind::Watch
            | StepKind::Rest => 0.0,
        };
        self.length(stamp) / (self.iterations(stamp) as f64 + fixed)
    }

    /// Ticks per iteration of the rulers right before and right after.
    fn ruler_beside(&self, stamp: usize) -> Option<f64> {
        let is_ruler = |&at: &usize| self.what(at) == StepKind::Ruler;
        let before = (0..stamp).rev().find(is_ruler);
        let after = (stamp + 1..self.raw.stamps.len()).find(is_ruler);
        let beside: Vec<f64> =
            [before, after].into_iter().flatten().map(|at| self.per_iteration(at)).collect();
        let sum: f64 = beside.iter().sum();
        (sum > 0.0).then(|| sum / beside.len() as f64)
    }
}

/// What repetitions of a chain take, by n against 2n.
struct LinearFit {
    /// Ticks per iteration.
    per_iteration: f64,
    /// Ticks that do not grow with the iterations.
    fixed: f64,
}

/// The line through the medians of n and 2n; none where the clock saw no difference between them.
fn line(net: &Net<'_>, what: StepKind) -> Option<LinearFit> {
    let median_length = |multiple| {
        let lengths: Vec<f64> = net
            .stamps(what)
            .filter(|&stamp| net.multiple(stamp) == multiple)
            .map(|stamp| net.length(stamp))
            .collect();
        stats::median(&lengths)
    };
    let iterations = net.stamps(what).find(|&s| net.multiple(s) == 1).map(|s| net.iterations(s))?;
    let [once, twice] = [median_length(1)?, median_length(2)?];
    let per_iteration = (twice - once) / iterations as f64;
    (per_iteration > 0.0).then_some(LinearFit { per_iteration, fixed: 2.0 * once - twice })
}

/// The median over the quiet phases of what their ruler and witness say, where they do.
fn over_quiet_phases(
    raw: &RawMember,
    job: &Repeat,
    of: impl Fn(&Net<'_>) -> Option<f64>,
) -> Option<f64> {
    let null = null_ticks(raw, job)?;
    let values: Vec<f64> = std::iter::zip(&job.phases, &raw.phases)
        .filter(|(phase, _)| phase.purpose == Purpose::Quiet)
        .filter_map(|(phase, raw)| {
            of(&Net { phase, raw, null, fixed: Fixed::default(), settled: 0 })
        })
        .collect();
    stats::median(&values)
}

fn null_ticks(raw: &RawMember, job: &Repeat) -> Option<f64> {
    let lengths: Vec<f64> = std::iter::zip(&job.phases, &raw.phases)
        .flat_map(|(phase, raw)| {
            let net = Net { phase, raw, null: 0.0, fixed: Fixed::default(), settled: 0 };
            net.stamps(StepKind::Null).map(|stamp| net.length(stamp)).collect::<Vec<_>>()
        })
        .collect();
    stats::median(&lengths)
}

/// The latency of the ruler's multiply in cycles of the witness, from the quiet phases.
pub fn ruler_latency(raw: &RawMember, job: &Repeat) -> Option<f64> {
    over_quiet_phases(raw, job, |net| {
        let per_op =
            |what, load: Load| Some(line(net, what)?.per_iteration / load.ops_per_iteration as f64);
        Some(
            per_op(StepKind::Ruler, job.tools.ruler)?
                / per_op(StepKind::Witness, job.tools.witness)?,
        )
    })
}

/// What of the rulers' repetitions is fixed, from the quiet phases of one job.
pub fn fixed(raw: &RawMember, job: &Repeat) -> Option<Fixed> {
    let iterations = |what| {
        over_quiet_phases(raw, job, |net| line(net, what).map(|l| l.fixed / l.per_iteration))
    };
    Some(Fixed { ruler: iterations(StepKind::Ruler)?, witness: iterations(StepKind::Witness)? })
}

/// How long all members were in their full phase together, as a share of the time that any was.
///
/// # Caveats
/// Stamps of different CPUs are compared: the stamp clock counts alike on all of them.
pub fn overlap(raw: &RawRepeat, job: &Repeat) -> Option<f64> {
    let full = job.phases.iter().position(|phase| phase.purpose.is_full())?;
    let mut ends = Vec::new();
    for member in &raw.members {
        let stamps = &member.phases[full].stamps;
        ends.push((stamps.first()?.start, stamps.last()?.end));
    }
    let (first, together) = (ends.iter().map(|e| e.0).min()?, ends.iter().map(|e| e.0).max()?);
    let (apart, last) = (ends.iter().map(|e| e.1).min()?, ends.iter().map(|e| e.1).max()?);
    let any = last.since(first).count() as f64;
    let all = if apart > together { apart.since(together).count() } else { 0 };
    (any > 0.0).then_some(all as f64 / any)
}

/// The samples of one member, by its CPU's ruler; without a ruler only times are known.
pub fn reduce(
    raw: &RawMember,
    payload: Load,
    job: &Repeat,
    ruler: Option<&Ruler>,
    rate: Rate<Stamp>,
) -> Reduced {
    let hertz = rate.hertz().0;
    let null = null_ticks(raw, job);
    let mut reduced =
        Reduced { null_seconds: null.map(|ticks| ticks / hertz), ..Reduced::default() };
    let fixed = ruler.map(|ruler| ruler.fixed).unwrap_or_default();
    let ruler_cycles = ruler
        .map(|ruler| (job.tools.ruler.ops_per_iteration * u64::from(ruler.latency_cycles)) as f64);
    for (index, (phase, raw)) in std::iter::zip(&job.phases, &raw.phases).enumerate() {
        let net = Net {
            fixed,
            settled: settled(phase, raw, hertz),
            phase,
            raw,
            null: null.unwrap_or(0.0),
        };
        match phase.purpose {
            Purpose::Quiet if index > 0 => {
                reduced.clock_after = clock_samples(&net, ruler_cycles, hertz);
            }
            Purpose::Quiet => reduced.quiet_clock = clock_samples(&net, ruler_cycles, hertz),
            Purpose::Sandwich => full_samples(&mut reduced, &net, job, ruler, hertz),
            Purpose::Ratio => ratio_samples(&mut reduced, &net, payload, job, ruler_cycles, hertz),
            Purpose::Dense => {
                full_samples(&mut reduced, &net, job, ruler, hertz);
                ratio_samples(&mut reduced, &net, payload, job, ruler_cycles, hertz);
            }
            Purpose::Sharing | Purpose::Counting | Purpose::Rise => {}
        }
    }
    reduced
}

/// The clock of a phase that the payload fills: right after it, within its loop, and by counters.
fn full_samples(
    reduced: &mut Reduced,
    net: &Net<'_>,
    job: &Repeat,
    ruler: Option<&Ruler>,
    hertz: f64,
) {
    let counted = net.raw.counted.as_ref();
    reduced.counters = counted.map(|ends| counter_clock(ends, hertz)).or(reduced.counters.take());
    let Some(latency) = ruler.map(|ruler| f64::from(ruler.latency_cycles)) else { return };
    let ruler_cycles = job.tools.ruler.ops_per_iteration as f64 * latency;
    reduced.clock.extend(clock_samples(net, Some(ruler_cycles), hertz));
    for stamp in net.settled..net.raw.stamps.len() {
        let step = stamp % net.phase.steps.len();
        let (StepKind::InLoop { density }, Some(mixture)) =
            (net.phase.steps[step].what, net.raw.mixtures[step])
        else {
            continue;
        };
        let cycles = net.iterations(stamp) as f64 * f64::from(mixture.multiplies) * latency;
        let clock = cycles / net.length(stamp) * hertz;
        let samples = match density {
            Density::Dense | Density::PerCent(51..) => &mut reduced.clock_in_loop,
            Density::Sparse | Density::PerCent(_) => &mut reduced.clock_in_loop_half,
        };
        samples.extend(Some(clock).filter(|clock| clock.is_finite() && *clock > 0.0));
    }
}

fn counter_clock(ends: &[CycleReading; 2], hertz: f64) -> Result<CounterClock, Unavailable> {
    let [before, after] = ends;
    let elapsed = after.stamp.since(before.stamp);
    let delta = after.counts.clone()?.since(before.counts.clone()?, elapsed)?;
    Ok(CounterClock {
        aperf_per_mperf: delta.ratio(),
        mperf_hertz: delta.mperf as f64 / (elapsed.count() as f64 / hertz),
    })
}

/// Hertz, one for each ruler.
fn clock_samples(net: &Net<'_>, ruler_cycles: Option<f64>, hertz: f64) -> Vec<f64> {
    let Some(cycles) = ruler_cycles else { return Vec::new() };
    net.stamps(StepKind::Ruler)
        .map(|stamp| cycles / net.per_iteration(stamp) * hertz)
        .filter(|clock| clock.is_finite() && *clock > 0.0)
        .collect()
}

fn ratio_samples(
    reduced: &mut Reduced,
    net: &Net<'_>,
    payload: Load,
    job: &Repeat,
    ruler_cycles: Option<f64>,
    hertz: f64,
) {
    let ops = payload.ops_per_iteration as f64;
    reduced.seconds = per_op(net, ops, |stamp| Some(net.length(stamp) / hertz));
    let Some(ruler_cycles) = ruler_cycles else { return };
    reduced.cycles =
        per_op(net, ops, |stamp| Some(net.length(stamp) / net.ruler_beside(stamp)? * ruler_cycles));
    let witness_ops = job.tools.witness.ops_per_iteration as f64;
    let per_add: Vec<f64> = net
        .stamps(StepKind::Witness)
        .filter_map(|stamp| {
            Some(net.per_iteration(stamp) / net.ruler_beside(stamp)? * ruler_cycles / witness_ops)
        })
        .collect();
    reduced.witness = stats::median(&per_add).map(|median| Witness {
        deviation: median - 1.0,
        scatter: scatter(&per_add, median),
        step: step(net),
    });
}

/// The share of both chains that half a step of the stamps is: 10 ns are 0.3 % of 3 us, and a median keeps them. All
/// lengths are multiples of a step.
fn step(net: &Net<'_>) -> f64 {
    let ticks = |what| net.stamps(what).map(|stamp| net.raw.stamps[stamp].length().count());
    let all = [StepKind::Witness, StepKind::Ruler, StepKind::Payload, StepKind::Null]
        .into_iter()
        .flat_map(ticks);
    let step = all.fold(0, greatest_common_divisor);
    let middle = |what| {
        let lengths: Vec<f64> = ticks(what).map(|ticks| ticks as f64).collect();
        stats::median(&lengths).filter(|middle| *middle > 0.0).unwrap_or(f64::INFINITY)
    };
    [StepKind::Witness, StepKind::Ruler]
        .into_iter()
        .map(|what| step as f64 / 2.0 / middle(what))
        .sum()
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Twice the standard error of a median, by the median distance from it.
fn scatter(values: &[f64], median: f64) -> f64 {
    /// Of a normal distribution: standard deviation over median distance, times that of a median's
    /// error over a mean's.
    const ERROR: f64 = 1.4826 * 1.2533;
    let distances: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    let typical = stats::median(&distances).unwrap_or(0.0);
    2.0 * ERROR * typical / (values.len() as f64).sqrt()
}

/// What repetitions of the payload cost.
fn per_op(net: &Net<'_>, ops: f64, cost: impl Fn(usize) -> Option<f64>) -> PerOp {
    let repetition = |stamp| {
        let ops = net.iterations(stamp) as f64 * ops;
        Some(Repetition { cost: cost(stamp)?, ops, twice: net.multiple(stamp) == 2 })
    };
    PerOp { repetitions: net.stamps(StepKind::Payload).filter_map(repetition).collect() }
}
