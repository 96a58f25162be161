//! How a payload is measured: which repetitions, how long, how often.
//!
//! Lengths and orders were tried on shared machines (docs/method/clock.md has the reasons): gaps longer than
//! 1 us come about once a millisecond there, so that repetitions of 10 to 40 us mostly stay free of
//! them, and rulers right beside each payload cancel a clock that wanders within seconds.

use model::Seconds;

use super::job::{Density, Phase, Purpose, Step, StepKind};

const MICROSECOND: Seconds = Seconds(1e-6);

fn step(what: StepKind, microseconds: f64, multiple: u64) -> Step {
    Step { what, target: MICROSECOND * microseconds, multiple }
}

/// Rulers alone, both as n against 2n; the empty repetition; polling for gaps. Each ruler follows the
/// other one, never the polling: what it follows changes its fixed cost by some cycles.
pub fn quiet(rounds: u32) -> Phase {
    let steps = vec![
        step(StepKind::Watch, 50.0, 1),
        step(StepKind::Null, 0.1, 1),
        step(StepKind::Witness, 10.0, 1),
        step(StepKind::Ruler, 10.0, 1),
        step(StepKind::Witness, 10.0, 1),
        step(StepKind::Ruler, 10.0, 2),
        step(StepKind::Witness, 10.0, 2),
    ];
    Phase { purpose: Purpose::Quiet, steps, rounds, settle: Seconds(0.0) }
}

/// Payload n and 2n, each between rulers.
pub fn ratio(rounds: u32) -> Phase {
    let steps = vec![
        step(StepKind::Ruler, 10.0, 1),
        step(StepKind::Witness, 10.0, 1),
        step(StepKind::Payload, 20.0, 1),
        step(StepKind::Witness, 10.0, 1),
        step(StepKind::Ruler, 10.0, 1),
        step(StepKind::Witness, 10.0, 1),
        step(StepKind::Payload, 20.0, 2),
        step(StepKind::Witness, 10.0, 1),
    ];
    Phase { purpose: Purpose::Ratio, steps, rounds, settle: Seconds(0.0) }
}

/// Rounds of these steps, and those more that settling drops: the clock may still be moving.
fn settled(purpose: Purpose, steps: Vec<Step>, rounds: u32, settle: Seconds) -> Phase {
    let round = steps.iter().fold(Seconds(0.0), |sum, step| sum + step.duration());
    let dropped = (settle / round).ceil() as u32;
    Phase { purpose, steps, rounds: rounds + dropped, settle }
}

/// The clock within the payload's own loop: dense enough to be the payload's clock, and less dense
/// to prove that the payload is not in the chain's way.
const IN_LOOP: [StepKind; 2] =
    [StepKind::InLoop { density: Density::Dense }, StepKind::InLoop { density: Density::Sparse }];

/// Payload at full density with a short look at the clock after each 45 us: where a heavy licence
/// lowers the clock, it is held for about 650 us, so that 3 us of ruler stay inside it. After some of
/// them the same look from within the payload's loop.
pub fn sandwich(rounds: u32) -> Phase {
    let look = [step(StepKind::Payload, 45.0, 1), step(StepKind::Ruler, 3.0, 1)];
    let in_loop = |what| [step(StepKind::Payload, 45.0, 1), step(what, 10.0, 1)];
    let steps = [look, look, in_loop(IN_LOOP[0]), look, look, in_loop(IN_LOOP[1])].concat();
    // The payload has run for a millisecond and more by then: warm-up and ratio come before.
    settled(Purpose::Sandwich, steps, rounds, Seconds(0.5e-3))
}

/// The same with n and 2n and both rulers: for payloads that change the clock so quickly that rulers
/// of 10 us beside payloads of 10 us would see it move (tried: 512-bit multiply-adds on Emerald Rapids,
/// where the witness then read 2 to 4 % off).
pub fn dense(rounds: u32) -> Phase {
    let steps = vec![
        step(StepKind::Payload, 45.0, 1),
        step(StepKind::Ruler, 3.0, 1),
        step(StepKind::Witness, 3.0, 1),
        step(StepKind::Payload, 45.0, 2),
        step(StepKind::Ruler, 3.0, 1),
        step(StepKind::Witness, 3.0, 1),
        step(StepKind::Payload, 45.0, 1),
        step(IN_LOOP[0], 10.0, 1),
        step(StepKind::Payload, 45.0, 1),
        step(StepKind::Ruler, 3.0, 1),
        step(IN_LOOP[1], 10.0, 1),
    ];
    settled(Purpose::Dense, steps, rounds, Seconds(2e-3))
}

/// Cycles per op and clock, for serial streams: their load is light, and moves no clock.
pub fn serial() -> Vec<Phase> {
    vec![quiet(4), ratio(16), sandwich(10), quiet(3)]
}

/// Cycles per op and clock, for streams that saturate execution units or may lower the clock: one that is held for
/// 6 us only (tried: 512-bit multiply-adds on a server core of 2024, whatever depends on what) is another one 10 us
/// away.
pub fn heavy() -> Vec<Phase> {
    vec![quiet(4), dense(12), quiet(3)]
}

/// Cycles and time per op alone: for instructions that are no load.
pub fn cycles() -> Vec<Phase> {
    vec![quiet(4), ratio(16), quiet(3)]
}

/// The ruler alone between two readings of the counters of core cycles: a CPU that does not halt.
pub fn counting() -> Phase {
    let steps = vec![step(StepKind::Ruler, 500.0, 1)];
    Phase { purpose: Purpose::Counting, steps, rounds: 2, settle: Seconds(0.0) }
}

/// Payload alone, to see how much of a core it gets.
pub fn sharing() -> Phase {
    let steps = vec![step(StepKind::Payload, 20.0, 1)];
    Phase { purpose: Purpose::Sharing, steps, rounds: 15, settle: Seconds(0.0) }
}

/// What a job costs beside its phases: starting threads, finding iterations, warming up.
pub const JOB_OVERHEAD: Seconds = Seconds(1e-3);

/// How long these phases take, as planned.
pub fn duration(phases: &[Phase]) -> Seconds {
    phases.iter().fold(JOB_OVERHEAD, |sum, phase| sum + phase.duration())
}
