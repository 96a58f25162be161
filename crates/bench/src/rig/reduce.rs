//! From stamps to samples: pure, so that it can be computed again.
//!
//! Every length has the cost of an empty repetition subtracted. What is left of fixed cost (pipeline
//! fill, the loop's last branch) is found by n against 2n as a difference of medians: with `n`
//! iterations taking `f + n c`, it is `f = 2 T(n) - T(2n)`.

use model::ticks::Stamp;
use model::{CpuId, Rate, stats};

use super::job::{Interval, Load, Phase, Purpose, RawMember, RawPhase, Repeat, What};
use super::ruler::Ruler;

/// How far the witness may be from one cycle per add before a block counts as contended.
pub const WITNESS_TOLERANCE: f64 = 0.0025;

/// The samples of one member of one job.
#[derive(Debug, Clone, Default)]
pub struct Reduced {
    /// The CPU.
    pub cpu: Option<CpuId>,
    /// Hertz of the core while the payload runs, one for each sandwich.
    pub clock: Vec<f64>,
    /// Hertz of the core with nothing but the ruler, before and after the payload.
    pub quiet_clock: Vec<f64>,
    /// Cycles per op, one for each repetition.
    pub cycles_per_op: Vec<f64>,
    /// Seconds per op, one for each repetition.
    pub seconds_per_op: Vec<f64>,
    /// Fixed cycles of a repetition that the empty one does not have.
    pub overhead_cycles: Option<f64>,
    /// Seconds of the empty repetition.
    pub null_seconds: Option<f64>,
    /// Cycles per add beside the payload, minus one: beyond 0.25 % the core is shared.
    pub witness_deviation: Option<f64>,
}

impl Reduced {
    /// Whether the witness agreed with the ruler.
    pub fn contended(&self) -> bool {
        self.witness_deviation.is_none_or(|deviation| deviation.abs() > WITNESS_TOLERANCE)
    }
}

/// Lengths of one phase, net of the empty repetition, with the step that each belongs to.
struct Net<'a> {
    phase: &'a Phase,
    raw: &'a RawPhase,
    null: f64,
}

impl Net<'_> {
    fn what(&self, stamp: usize) -> What {
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

    fn stamps(&self, what: What) -> impl Iterator<Item = usize> + '_ {
        (0..self.raw.stamps.len()).filter(move |&stamp| self.what(stamp) == what)
    }

    /// Ticks per iteration of that step.
    fn per_iteration(&self, stamp: usize) -> f64 {
        self.length(stamp) / self.iterations(stamp) as f64
    }

    /// Ticks per iteration of the rulers right before and right after.
    fn ruler_beside(&self, stamp: usize) -> Option<f64> {
        let is_ruler = |&at: &usize| self.what(at) == What::Ruler;
        let before = (0..stamp).rev().find(is_ruler);
        let after = (stamp + 1..self.raw.stamps.len()).find(is_ruler);
        let beside: Vec<f64> =
            [before, after].into_iter().flatten().map(|at| self.per_iteration(at)).collect();
        let sum: f64 = beside.iter().sum();
        (sum > 0.0).then(|| sum / beside.len() as f64)
    }
}

/// Median ticks per iteration of `what`, by n against 2n.
fn slope(net: &Net<'_>, what: What) -> Option<f64> {
    let median_length = |multiple| {
        let lengths: Vec<f64> = net
            .stamps(what)
            .filter(|&stamp| net.multiple(stamp) == multiple)
            .map(|stamp| net.length(stamp))
            .collect();
        stats::median(&lengths)
    };
    let iterations = net.stamps(what).find(|&s| net.multiple(s) == 1).map(|s| net.iterations(s))?;
    Some((median_length(2)? - median_length(1)?) / iterations as f64)
}

fn null_ticks(raw: &RawMember, job: &Repeat) -> Option<f64> {
    let lengths: Vec<f64> = std::iter::zip(&job.phases, &raw.phases)
        .flat_map(|(phase, raw)| {
            let net = Net { phase, raw, null: 0.0 };
            net.stamps(What::Null).map(|stamp| net.length(stamp)).collect::<Vec<_>>()
        })
        .collect();
    stats::median(&lengths)
}

/// The latency of the ruler's multiply in cycles of the witness, from the quiet phases.
pub fn ruler_latency(raw: &RawMember, job: &Repeat) -> Option<f64> {
    let null = null_ticks(raw, job)?;
    let latencies: Vec<f64> = std::iter::zip(&job.phases, &raw.phases)
        .filter(|(phase, _)| phase.purpose == Purpose::Quiet)
        .filter_map(|(phase, raw)| {
            let net = Net { phase, raw, null };
            let per_op = |what, load: Load| {
                slope(&net, what)
                    .map(|ticks| ticks / load.ops_per_iteration as f64)
                    .filter(|ticks| *ticks > 0.0)
            };
            let witness = per_op(What::Witness, job.tools.witness)?;
            Some(per_op(What::Ruler, job.tools.ruler)? / witness)
        })
        .collect();
    stats::median(&latencies)
}

/// The samples of one member, by its CPU's ruler; without a ruler only times are known.
pub fn reduce(
    raw: &RawMember,
    payload: Load,
    job: &Repeat,
    ruler: Option<Ruler>,
    rate: Rate<Stamp>,
) -> Reduced {
    let hertz = rate.hertz().0;
    let null = null_ticks(raw, job);
    let mut reduced = Reduced {
        cpu: Some(raw.cpu),
        null_seconds: null.map(|ticks| ticks / hertz),
        ..Reduced::default()
    };
    let ruler_cycles =
        ruler.map(|ruler| (job.tools.ruler.ops_per_iteration * u64::from(ruler.latency_cycles)) as f64);
    for (phase, raw) in std::iter::zip(&job.phases, &raw.phases) {
        let net = Net { phase, raw, null: null.unwrap_or(0.0) };
        match phase.purpose {
            Purpose::Quiet => {
                reduced.quiet_clock.extend(clock_samples(&net, ruler_cycles, hertz));
            }
            Purpose::Sandwich => reduced.clock.extend(clock_samples(&net, ruler_cycles, hertz)),
            Purpose::Ratio => ratio_samples(&mut reduced, &net, payload, job, ruler_cycles, hertz),
            Purpose::Sharing => {}
        }
    }
    reduced
}

/// Hertz, one for each ruler after the phase has settled.
fn clock_samples(net: &Net<'_>, ruler_cycles: Option<f64>, hertz: f64) -> Vec<f64> {
    let Some(cycles) = ruler_cycles else { return Vec::new() };
    let Some(first) = net.raw.stamps.first() else { return Vec::new() };
    let settled = |interval: &Interval| {
        interval.start.since(first.start).count() as f64 >= net.phase.settle.0 * hertz
    };
    net.stamps(What::Ruler)
        .filter(|&stamp| settled(&net.raw.stamps[stamp]))
        .map(|stamp| cycles / net.per_iteration(stamp) * hertz)
        .filter(|clock| clock.is_finite())
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
    let ticks = |stamp| Some(net.length(stamp));
    if let Some((_, samples)) = per_iteration_samples(net, ticks) {
        reduced.seconds_per_op = samples.iter().map(|ticks| ticks / ops / hertz).collect();
    }
    let Some(ruler_cycles) = ruler_cycles else { return };
    let cycles = |stamp| Some(net.length(stamp) / net.ruler_beside(stamp)? * ruler_cycles);
    if let Some((overhead, samples)) = per_iteration_samples(net, cycles) {
        reduced.cycles_per_op = samples.iter().map(|cycles| cycles / ops).collect();
        reduced.overhead_cycles = Some(overhead);
    }
    let witness_ops = job.tools.witness.ops_per_iteration as f64;
    let per_add: Vec<f64> = net
        .stamps(What::Witness)
        .filter_map(|stamp| {
            Some(net.per_iteration(stamp) / net.ruler_beside(stamp)? * ruler_cycles / witness_ops)
        })
        .collect();
    reduced.witness_deviation = stats::median(&per_add).map(|cycles| cycles - 1.0);
}

/// Fixed cost of a repetition, and cost per iteration of each, by n against 2n.
fn per_iteration_samples(
    net: &Net<'_>,
    cost: impl Fn(usize) -> Option<f64>,
) -> Option<(f64, Vec<f64>)> {
    let costs: Vec<(usize, f64)> =
        net.stamps(What::Payload).filter_map(|stamp| Some((stamp, cost(stamp)?))).collect();
    let median_of = |multiple| {
        let costs: Vec<f64> = costs
            .iter()
            .filter(|(stamp, _)| net.multiple(*stamp) == multiple)
            .map(|(_, cost)| *cost)
            .collect();
        stats::median(&costs)
    };
    let overhead = 2.0 * median_of(1)? - median_of(2)?;
    let per_iteration =
        |&(stamp, cost): &(usize, f64)| (cost - overhead) / net.iterations(stamp) as f64;
    Some((overhead, costs.iter().map(per_iteration).collect()))
}
