//! Jobs: what threads shall do, as data. An executor needs nothing else.

use kernels::{Dirtier, Operands, Runnable};
use machine::instruments::aperf_mperf::Counts;
use model::ticks::Stamp;
use model::{CpuId, Seconds, Ticks, Unavailable};

use super::timed_answers::TimedAnswers;

/// Something that a thread can repeat.
#[derive(Clone, Copy)]
pub struct Load {
    /// The workload's id.
    pub id: &'static str,
    /// Ops in one iteration.
    pub ops_per_iteration: u64,
    /// Whether it saturates execution units, so that an SMT sibling takes half of them.
    pub saturates: bool,
    /// Ops in one iteration of its two kernels that have the ruler in the payload's own loop.
    pub in_loop_ops: Option<[u64; 2]>,
    /// How it is executed.
    pub body: Body,
}

/// How a load is executed.
#[derive(Clone, Copy)]
pub enum Body {
    /// By calling a kernel with these operands.
    Kernel(Runnable, &'static Operands),
    /// Not at all: a model knows what it would cost, and it would answer as with these operands.
    Simulated(&'static Operands),
}

/// The loads that every job uses beside its payload.
#[derive(Clone, Copy)]
pub struct Tools {
    /// Serial multiplies: the clock.
    pub ruler: Load,
    /// Serial adds: the witness.
    pub witness: Load,
    /// Nothing: what a repetition costs by itself.
    pub null: Load,
    /// Independent multiplies: two threads on one core halve each other.
    pub contention: Load,
}

/// Each member repeats its payload, all at the same time: stamp, iterations, stamp.
#[derive(Clone)]
pub struct Repeat {
    /// Who does what. All members go through the same phases together.
    pub members: Vec<Member>,
    /// What is done, one phase after the other.
    pub phases: Vec<Phase>,
    /// The loads beside the payloads.
    pub tools: Tools,
    /// How threads take part.
    pub manner: Manner,
}

/// How threads take part in a job.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// Whether each stays on its CPU.
    pub pinned: bool,
    /// Whether members wait for each other before each phase.
    pub together: bool,
    /// Warm-up ends when the payload's timings agree, and no later than this.
    pub warm_up_max: Seconds,
    /// What makes upper halves of vector registers dirty before each repetition.
    pub dirty: Option<Dirtier>,
    /// Whether the answers of payloads are compared, after the stamp.
    pub compared: bool,
}

impl Manner {
    /// Pinned, together, and warm after 20 ms at most.
    pub const USUAL: Manner = Manner {
        pinned: true,
        together: true,
        warm_up_max: Seconds(20e-3),
        dirty: None,
        compared: true,
    };

    /// What is unusual about it, in words.
    pub fn words(&self) -> Option<String> {
        let mut words = Vec::new();
        let dirty = self.dirty.map(|dirty| format!("upper half of {} dirty", dirty.register()));
        words.extend(dirty.as_deref());
        if !self.pinned {
            words.push("not pinned: numbers may belong to another CPU");
        }
        if !self.together {
            words.push("not waiting for each other: fewer cores may be active at once");
        }
        if self.warm_up_max.0 <= 0.0 {
            words.push("not warmed up");
        }
        (!words.is_empty()).then(|| words.join("; "))
    }
}

/// A thread that takes part.
#[derive(Clone, Copy)]
pub struct Member {
    /// Where it runs.
    pub cpu: CpuId,
    /// What it runs.
    pub payload: Load,
    /// Iterations of the payload in each repetition; none: as many as take the time of the step.
    pub iterations: Option<u64>,
}

impl Member {
    /// A member whose repetitions take the time of their step.
    pub fn new(cpu: CpuId, payload: Load) -> Member {
        Member { cpu, payload, iterations: None }
    }
}

/// A stretch of like rounds. Members enter it together; who is through goes on repeating the payload
/// in the background until all are, so that the number of active cores stays what it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// What its stamps are for.
    pub purpose: Purpose,
    /// One round.
    pub steps: Vec<Step>,
    /// How many rounds.
    pub rounds: u32,
    /// The beginning is dropped for as long as this: the clock may still be moving.
    pub settle: Seconds,
}

impl Phase {
    /// How long it takes, as planned.
    pub fn duration(&self) -> Seconds {
        let round = self.steps.iter().fold(Seconds(0.0), |sum, step| sum + step.duration());
        round * f64::from(self.rounds)
    }

    /// Whether a payload is executed in it.
    pub fn has_payload(&self) -> bool {
        self.steps.iter().any(|step| step.what == StepKind::Payload)
    }
}

/// What the stamps of a phase are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The rulers alone: what they say without a payload.
    Quiet,
    /// Payload between rulers: cycles per op.
    Ratio,
    /// Ruler right after long payloads: the clock that the payload runs at. Beside it the ruler in the
    /// payload's own loop, as evidence.
    Sandwich,
    /// Ratio and sandwich at once: long payloads, n and 2n, with short rulers between.
    Dense,
    /// Payload alone: how much of a core each member gets.
    Sharing,
    /// Ruler alone: the rate of counters while a CPU does not halt.
    Counting,
    /// Ruler alone after a rest: how the clock rises.
    Rise,
}

/// One repetition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// What is repeated.
    pub what: StepKind,
    /// How long it should take; the thread finds the iterations that take as long.
    pub target: Seconds,
    /// Iterations are those for `target`, times this: n against 2n.
    pub multiple: u64,
}

impl Step {
    /// How long it takes, as planned.
    pub fn duration(&self) -> Seconds {
        self.target * self.multiple as f64
    }
}

impl Purpose {
    /// Whether the payload fills nearly all of the phase.
    pub fn is_full(self) -> bool {
        matches!(self, Purpose::Sandwich | Purpose::Dense)
    }

    /// Whether the counters of core cycles are read around it.
    pub fn is_counted(self) -> bool {
        self.is_full() || self == Purpose::Counting
    }
}

/// What a step repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// The member's payload.
    Payload,
    /// The ruler.
    Ruler,
    /// The witness.
    Witness,
    /// The payload with the ruler in the same loop, the payload alone taking about this much of the
    /// ruler's time. Without such a kernel nothing happens, and the interval is empty.
    InLoop {
        /// How much of it.
        density: Density,
    },
    /// Nothing; always one iteration.
    Null,
    /// Polling the clock for gaps; has no stamps.
    Watch,
    /// Sleeping, so that the CPU rests; its empty interval is where the thread woke up.
    Rest,
}

/// How much of the ruler's time a payload alone takes that shares a loop with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Density {
    /// As much as leaves the ruler alone on this core.
    Dense,
    /// Less, as a second opinion.
    Sparse,
    /// So many per cent.
    PerCent(u8),
}

impl Density {
    /// Per cent, of a dense one and a sparse one that hold on this core.
    pub fn per_cent(self, [dense, sparse]: [u8; 2]) -> u8 {
        match self {
            Density::Dense => dense,
            Density::Sparse => sparse,
            Density::PerCent(per_cent) => per_cent,
        }
    }
}

/// What the members of a [`Repeat`] saw: integers, and nothing computed from them.
#[derive(Debug, Clone)]
pub struct RawRepeat {
    /// One for each member, in the order of the job.
    pub members: Vec<RawMember>,
}

/// What one member saw.
#[derive(Debug, Clone)]
pub struct RawMember {
    /// Where it ran.
    pub cpu: CpuId,
    /// One for each phase, in the order of the job.
    pub phases: Vec<RawPhase>,
    /// What went on around it.
    pub around: Around,
    /// What its payload answered, of each number of iterations.
    pub answers: Vec<TimedAnswers>,
}

impl RawMember {
    /// Adds answers of a stretch to those with as many iterations.
    pub(crate) fn answered(known: &mut Vec<TimedAnswers>, more: TimedAnswers) {
        if more.found.is_empty() {
            return;
        }
        match known.iter_mut().find(|it| it.iterations == more.iterations) {
            Some(same) => same.add(&more),
            None => known.push(more),
        }
    }
}

/// What went on around a member.
#[derive(Debug, Clone, Copy, Default)]
pub struct Around {
    /// Whether the payload's timings agreed before its time limit.
    pub settled: bool,
    /// Gaps seen while polling.
    pub gaps: Gaps,
    /// What the kernel did to the thread meanwhile, where the kernel tells.
    pub usage: Option<sys::thread::Usage>,
    /// Phases at whose end the thread was found on another CPU.
    pub migrations: u64,
}

impl Around {
    /// What went on around two members together.
    #[must_use]
    pub fn and(self, other: Around) -> Around {
        let sum = |a: sys::thread::Usage, b: sys::thread::Usage| sys::thread::Usage {
            voluntary_switches: a.voluntary_switches + b.voluntary_switches,
            involuntary_switches: a.involuntary_switches + b.involuntary_switches,
            page_faults: a.page_faults + b.page_faults,
        };
        Around {
            settled: self.settled && other.settled,
            gaps: Gaps {
                polled: self.gaps.polled + other.gaps.polled,
                lost: self.gaps.lost + other.gaps.lost,
                long: self.gaps.long + other.gaps.long,
            },
            usage: match (self.usage, other.usage) {
                (Some(a), Some(b)) => Some(sum(a, b)),
                (a, b) => a.or(b),
            },
            migrations: self.migrations + other.migrations,
        }
    }
}

/// The stamps of one phase.
#[derive(Debug, Clone)]
pub struct RawPhase {
    /// Iterations of each step.
    pub iterations: Vec<u64>,
    /// What one iteration of each step with the ruler in the payload's loop holds.
    pub mixtures: Vec<Option<Mixture>>,
    /// Start and end of each repetition, round by round, step by step. A watching step has an empty
    /// interval.
    pub stamps: Vec<Interval>,
    /// The counters of core cycles after the phase had settled and at its end, where they are read.
    pub counted: Option<[CycleReading; 2]>,
}

/// What one iteration holds where payload and ruler share a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mixture {
    /// Which of the payload's kernels of this kind.
    pub kernel: usize,
    /// Ops of the payload.
    pub ops: u64,
    /// Multiplies of the ruler.
    pub multiplies: u32,
}

/// One reading of the counters of core cycles.
#[derive(Debug, Clone)]
pub struct CycleReading {
    /// The stamp right before it.
    pub stamp: Ticks<Stamp>,
    /// What was read.
    pub counts: Result<Counts, Unavailable>,
}

/// A stamp before and one after.
#[derive(Debug, Clone, Copy)]
pub struct Interval {
    /// Before.
    pub start: Ticks<Stamp>,
    /// After.
    pub end: Ticks<Stamp>,
}

impl Interval {
    /// From stamp to stamp.
    pub fn length(self) -> Ticks<Stamp> {
        self.end.since(self.start)
    }

    /// From the first beginning to the last end.
    pub fn around(intervals: impl Iterator<Item = Interval>) -> Option<Interval> {
        intervals.reduce(|a, b| Interval { start: a.start.min(b.start), end: a.end.max(b.end) })
    }
}

/// Gaps in the time that a thread had its CPU, seen by reading the clock in a tight loop.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gaps {
    /// Ticks spent polling, gaps included.
    pub polled: u64,
    /// Ticks in gaps longer than 1 us.
    pub lost: u64,
    /// Gaps longer than 10 us.
    pub long: u64,
}
