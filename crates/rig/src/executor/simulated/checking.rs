//! Answers of simulated CPUs, some of which compute wrong.

use kernels::memory::MemoryKernel;
use model::{CpuId, Seconds};
use simulated::{Busy, Model};

use super::super::super::checking::{CheckedWork, Checking, RawChecked};
use super::super::super::job::{Body, Load, Member, RawMember, Repeat, StepKind};
use super::super::super::timed_answers::TimedAnswers;
use super::{START, Simulated, budgets};

/// Lets all CPUs do the work at once. What a CPU answers is computed, and what it computes wrong is flipped in that.
pub(super) fn compare(sim: &mut Simulated, job: &Checking) -> Vec<RawChecked> {
    let begun = sim.model.elapsed.seconds() + START;
    let members: Vec<Member> = match &job.work {
        CheckedWork::Stream { load, .. } => {
            job.cpus.iter().map(|cpu| Member::new(*cpu, *load)).collect()
        }
        CheckedWork::Reference { .. } | CheckedWork::Memory { .. } => Vec::new(),
    };
    let budgets = budgets(&sim.model, &members, &[]);
    let paces: Vec<Pace> = job
        .cpus
        .iter()
        .map(|cpu| {
            let budget = budgets.get(&sim.model.package_of(*cpu));
            let ceiling = budget.map_or(f64::INFINITY, |budget| budget.ceiling(begun));
            Pace::of(&sim.model, job, *cpu, ceiling)
        })
        .collect();
    let calls = |pace: &Pace| match job.expected {
        None if !matches!(job.work, CheckedWork::Memory { .. }) => 1,
        _ => ((job.time.0 / pace.call.0) as u64).clamp(1, job.calls_max.unwrap_or(u64::MAX)),
    };
    let lasted = |pace: &Pace| Seconds(calls(pace) as f64 * pace.call.0);
    let end = paces.iter().map(|pace| lasted(pace).0).fold(0.0, f64::max);
    let did = paces.iter().map(|pace| {
        let seconds = lasted(pace).0;
        (pace.cpu, Busy { seconds, cycles: seconds * pace.hertz })
    });
    let did = did.collect();
    sim.passed(begun + Seconds(end), did);
    for (package, budget) in &budgets {
        sim.model.spend(*package, budget);
    }
    let is_always_right = sim.model.wrong_answers.is_empty();
    let right = if is_always_right { ALWAYS_RIGHT } else { answer(&job.work) };
    let answered = paces.iter().map(|pace| one(sim, job, pace.cpu, calls(pace), right));
    answered.collect::<Vec<_>>()
}

/// Gives each member of a job that was timed the answers of its payload.
pub(super) fn time_answers(sim: &mut Simulated, job: &Repeat, members: &mut [RawMember]) {
    if !job.manner.compared {
        return;
    }
    for (raw, member) in std::iter::zip(members, &job.members) {
        for (phase, timed) in std::iter::zip(&job.phases, &raw.phases) {
            let calls = timed.stamps.len() / phase.steps.len().max(1);
            for (step, iterations) in std::iter::zip(&phase.steps, &timed.iterations) {
                if step.what == StepKind::Payload {
                    let answers = timed_answers(sim, *member, *iterations, calls as u64);
                    RawMember::answered(&mut raw.answers, answers);
                }
            }
        }
    }
}

/// What repetitions of a payload answer.
fn timed_answers(sim: &mut Simulated, member: Member, iterations: u64, calls: u64) -> TimedAnswers {
    let mut answers = TimedAnswers::of(iterations);
    let Member { cpu, payload, .. } = member;
    let Some(right) = right(sim, payload, iterations) else { return answers };
    let Some(wrong) = sim.model.wrong_answers(cpu, payload.id) else {
        answers.take(right, calls);
        return answers;
    };
    let probability = wrong.probability((payload.ops_per_iteration * iterations) as f64);
    for _ in 0..calls {
        let is_wrong = sim.random.f64() < probability;
        answers.take(if is_wrong { right ^ (1 << wrong.bit) } else { right }, 1);
    }
    answers
}

/// What all work answers on a machine that computes nothing wrong: no one needs to compute it.
const ALWAYS_RIGHT: u64 = 0;

/// The right answer of a stream, computed once.
fn right(sim: &mut Simulated, load: Load, iterations: u64) -> Option<u64> {
    let Body::Simulated(operands) = load.body else { return None };
    if sim.model.wrong_answers.is_empty() {
        return Some(ALWAYS_RIGHT);
    }
    let row = kernels::streams::find(load.id)?;
    let key = (load.id, std::ptr::from_ref(operands).addr(), iterations);
    Some(*sim.right.entry(key).or_insert_with(|| row.expected(iterations, operands)))
}

/// How fast a CPU makes a call.
struct Pace {
    cpu: CpuId,
    hertz: f64,
    call: Seconds,
}

impl Pace {
    fn of(model: &Model, job: &Checking, cpu: CpuId, ceiling: f64) -> Pace {
        /// An op of the portable computation takes about as long.
        const REFERENCE_CYCLES: f64 = 20.0;
        let id = job.work.id();
        let licence = model.licence_of(id).unwrap_or(0);
        let hertz = model.hz_at_work(cpu, licence, &job.cpus).min(ceiling);
        let cycles = |per_op: f64| Seconds(per_op * job.work.ops() as f64 / hertz);
        let call = match &job.work {
            CheckedWork::Stream { .. } => {
                cycles(model.cycles_per_op_on(cpu, id).unwrap_or(1.0)) + overhead(model, hertz)
            }
            CheckedWork::Reference { .. } => cycles(REFERENCE_CYCLES),
            CheckedWork::Memory { transfer, length, trips } => {
                moved(model, transfer.kernel, *length, *trips)
            }
        };
        Pace { cpu, hertz, call: Seconds(call.0.max(1e-9)) }
    }
}

fn overhead(model: &Model, hertz: f64) -> Seconds {
    Seconds(model.overhead_cycles / hertz)
}

/// How long trips take in the cache that has room for the arrays, or in memory.
fn moved(model: &Model, kernel: &MemoryKernel, length: usize, trips: u64) -> Seconds {
    let bytes = length as f64 * 8.0 * f64::from(kernel.arrays);
    let bandwidth = model.memory.as_ref().map_or(1e10, |memory| {
        let cache = memory.cache.iter().find(|cache| cache.bytes as f64 >= bytes);
        cache.map_or(memory.core_bandwidth, |cache| cache.core_bandwidth)
    });
    Seconds(bytes * trips as f64 / bandwidth)
}

/// The right answer; of memory none is needed.
fn answer(work: &CheckedWork) -> u64 {
    match work {
        CheckedWork::Stream { row, operands, iterations, .. }
        | CheckedWork::Reference { row, operands, iterations } => {
            row.expected(*iterations, operands)
        }
        CheckedWork::Memory { .. } => 0,
    }
}

fn one(sim: &mut Simulated, job: &Checking, cpu: CpuId, calls: u64, right: u64) -> RawChecked {
    let mut raw = RawChecked::none(cpu);
    let wrong = sim.model.wrong_answers(cpu, job.work.id());
    let expected = match &job.work {
        CheckedWork::Memory { .. } => Some(right),
        _ => job.expected,
    };
    let Some(wrong) = wrong else {
        // All calls are like the first.
        raw.take(right, expected);
        raw.wrong *= calls;
        raw.calls = calls;
        return raw;
    };
    let probability = wrong.probability(job.work.ops() as f64);
    for _ in 0..calls {
        let is_wrong = sim.random.f64() < probability;
        raw.take(if is_wrong { right ^ (1 << wrong.bit) } else { right }, expected);
    }
    raw
}
