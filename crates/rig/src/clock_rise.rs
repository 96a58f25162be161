//! How the clock of a core rises from rest: a thread sleeps, then runs the ruler in short windows.

use std::iter;

use model::stats::median;
use model::ticks::Stamp;
use model::{CpuId, Rate, Seconds};

use super::job::{
    Interval, Manner, Member, Phase, Purpose, RawMember, RawPhase, Repeat, Step, StepKind, Tools,
};
use super::ruler::Ruler;

/// A look at the clock: long beside an interrupt, short beside a clock that rises.
pub const WINDOW: Seconds = Seconds(50e-6);

/// Long enough for a CPU to enter its deepest state.
pub const REST: Seconds = Seconds(50e-3);

/// How long it is looked at after each rest: governors that sample do so every 10 ms at most.
pub const STRETCH: Seconds = Seconds(30e-3);

/// One rise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rise {
    /// From the wake-up until the clock was at its height, in whole windows: none where it was in the
    /// first one.
    pub duration: Seconds,
    /// The clock of the first window, in hertz.
    pub first: f64,
    /// Its height: the median of the last quarter, in hertz.
    pub height: f64,
}

/// So many rests and rises of one core.
pub fn job(tools: &Tools, cpu: CpuId, rises: u32) -> Repeat {
    let windows = (STRETCH / WINDOW).round() as usize;
    let rest = Step { what: StepKind::Rest, target: REST, multiple: 1 };
    let window = Step { what: StepKind::Ruler, target: WINDOW, multiple: 1 };
    let steps = iter::once(rest).chain(iter::repeat_n(window, windows)).collect();
    let settle = Seconds(0.0);
    Repeat {
        members: vec![Member::new(cpu, tools.null)],
        phases: vec![Phase { purpose: Purpose::Rise, steps, rounds: rises, settle }],
        tools: *tools,
        manner: Manner::USUAL,
    }
}

/// What the member of such a job saw.
pub fn of(raw: &RawMember, job: &Repeat, ruler: &Ruler, rate: Rate<Stamp>) -> Vec<Rise> {
    let cycles = job.tools.ruler.ops_per_iteration * u64::from(ruler.latency_cycles);
    let of_phase = |(phase, raw): (&Phase, &RawPhase)| -> Vec<Rise> {
        let rounds = raw.stamps.chunks_exact(phase.steps.len());
        rounds.filter_map(|round| of_round(round, &raw.iterations, cycles as f64, rate)).collect()
    };
    iter::zip(&job.phases, &raw.phases).flat_map(of_phase).collect()
}

fn of_round(
    round: &[Interval],
    iterations: &[u64],
    cycles: f64,
    rate: Rate<Stamp>,
) -> Option<Rise> {
    /// The chain's own scatter is well below it, and the first steps of a clock are above it.
    const NEAR: f64 = 0.97;
    let (rest, windows) = round.split_first()?;
    let (_, iterations) = iterations.split_first()?;
    let hertz = rate.hertz().0;
    let clock = |(window, iterations): (&Interval, &u64)| {
        *iterations as f64 * cycles / window.length().count().max(1) as f64 * hertz
    };
    let clocks: Vec<f64> = iter::zip(windows, iterations).map(clock).collect();
    let height = median(&clocks[clocks.len() - clocks.len() / 4..])?;
    let reached = clocks.iter().position(|clock| *clock >= height * NEAR)?;
    let risen = if reached == 0 { rest.end } else { windows[reached].start };
    let duration = Seconds(risen.since(rest.end).count() as f64 / hertz);
    Some(Rise { duration, first: clocks[0], height })
}
