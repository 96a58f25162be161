//! How a payload is measured: which repetitions, how long, how often.
//!
//! Lengths and orders were tried on shared machines (METHODOLOGY.md has the reasons): gaps longer than
//! 1 us come about once a millisecond there, so that repetitions of 10 to 40 us mostly stay free of
//! them, and rulers right beside each payload cancel a clock that wanders within seconds.

use model::Seconds;

use super::job::{Phase, Purpose, Step, What};

const MICROSECOND: Seconds = Seconds(1e-6);

fn step(what: What, microseconds: f64, multiple: u64) -> Step {
    Step { what, target: MICROSECOND * microseconds, multiple }
}

/// Rulers alone, both as n against 2n; the empty repetition; polling for gaps. Each ruler follows the
/// other one, never the polling: what it follows changes its fixed cost by some cycles.
pub fn quiet(rounds: u32) -> Phase {
    let steps = vec![
        step(What::Watch, 50.0, 1),
        step(What::Null, 0.1, 1),
        step(What::Witness, 10.0, 1),
        step(What::Ruler, 10.0, 1),
        step(What::Witness, 10.0, 1),
        step(What::Ruler, 10.0, 2),
        step(What::Witness, 10.0, 2),
    ];
    Phase { purpose: Purpose::Quiet, steps, rounds, settle: Seconds(0.0) }
}

/// Payload n and 2n, each between rulers.
pub fn ratio(rounds: u32) -> Phase {
    let steps = vec![
        step(What::Ruler, 10.0, 1),
        step(What::Witness, 10.0, 1),
        step(What::Payload, 20.0, 1),
        step(What::Witness, 10.0, 1),
        step(What::Ruler, 10.0, 1),
        step(What::Witness, 10.0, 1),
        step(What::Payload, 20.0, 2),
        step(What::Witness, 10.0, 1),
    ];
    Phase { purpose: Purpose::Ratio, steps, rounds, settle: Seconds(0.0) }
}

/// The time after the payload's start in which the clock may still be moving.
const SETTLE: Seconds = Seconds(2e-3);

/// Rounds of these steps, and those more that settling will drop.
fn settled(purpose: Purpose, steps: Vec<Step>, rounds: u32) -> Phase {
    let round = steps.iter().fold(Seconds(0.0), |sum, step| sum + step.duration());
    let dropped = (SETTLE / round).ceil() as u32;
    Phase { purpose, steps, rounds: rounds + dropped, settle: SETTLE }
}

/// Payload at full density with a short look at the clock after each 45 us: where a heavy licence
/// lowers the clock, it is held for about 650 us, so that 3 us of ruler stay inside it.
pub fn sandwich(pairs: u32) -> Phase {
    let steps = vec![step(What::Payload, 45.0, 1), step(What::Ruler, 3.0, 1)];
    settled(Purpose::Sandwich, steps, pairs)
}

/// The same with n and 2n and both rulers: for payloads that change the clock so quickly that rulers
/// of 10 us beside payloads of 10 us would see it move (tried: 512-bit multiply-adds on Emerald Rapids,
/// where the witness then read 2 to 4 % off).
pub fn dense(rounds: u32) -> Phase {
    let steps = vec![
        step(What::Payload, 45.0, 1),
        step(What::Ruler, 3.0, 1),
        step(What::Witness, 3.0, 1),
        step(What::Payload, 45.0, 2),
        step(What::Ruler, 3.0, 1),
        step(What::Witness, 3.0, 1),
    ];
    settled(Purpose::Dense, steps, rounds)
}

/// Cycles per op and clock, for serial streams: their load is light.
pub fn serial() -> Vec<Phase> {
    vec![quiet(6), ratio(24), sandwich(40), quiet(4)]
}

/// Cycles per op and clock, for streams that saturate execution units.
pub fn saturating() -> Vec<Phase> {
    vec![quiet(6), dense(24), quiet(4)]
}

/// Cycles and time per op alone: for instructions that are no load.
pub fn cycles() -> Vec<Phase> {
    vec![quiet(6), ratio(24), quiet(4)]
}

/// Payload alone, to see how much of a core it gets.
pub fn sharing() -> Phase {
    let steps = vec![step(What::Payload, 20.0, 1)];
    Phase { purpose: Purpose::Sharing, steps, rounds: 15, settle: Seconds(0.0) }
}

/// What a job costs beside its phases: starting threads, finding iterations, warming up.
pub const JOB_OVERHEAD: Seconds = Seconds(3e-3);

/// How long these phases take, as planned.
pub fn duration(phases: &[Phase]) -> Seconds {
    phases.iter().fold(JOB_OVERHEAD, |sum, phase| sum + phase.duration())
}
