//! Whether every core computes right, in a record: what was compared, and each answer that was wrong.

use serde::{Deserialize, Serialize};

use crate::cpus::{CpuId, CpuSet};
use crate::unavailable::{Known, Unavailable};

/// Answers of CPUs, compared with those that they must have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifyRun {
    /// For how long answers were compared, in seconds.
    pub seconds: f64,
    /// Where the patterns of chance begin: the same seed gives the same operands.
    pub seed: String,
    /// Kinds of patterns in the operands.
    pub patterns: Vec<String>,
    /// What was compared on each CPU.
    pub cpus: Vec<VerifiedCpu>,
    /// Streams and memory kernels that were compared.
    pub workloads: Vec<VerifiedWorkload>,
    /// Those that could not be, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Unavailable>,
    /// How often the reference was computed, on another CPU than the one that it was compared with where there is one.
    pub references: u64,
    /// The lowest and the highest temperature of the packages, in degrees Celsius.
    pub celsius: Known<[f64; 2]>,
    /// Wrong answers, of each CPU and workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<WrongAnswers>,
    /// Why it ended.
    pub ended: String,
}

/// What was compared on one CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifiedCpu {
    /// The CPU.
    pub cpu: CpuId,
    /// Its core, as the kernel numbers it.
    pub core: u32,
    /// Its package.
    pub package: u32,
    /// Calls whose answer was compared.
    pub calls: u64,
    /// Ops of streams in them.
    pub ops: u64,
    /// Numbers in memory that were compared.
    pub numbers: u64,
    /// The lowest and the highest clock right after its work, in hertz.
    pub clock: Known<[f64; 2]>,
}

/// What was compared of a stream or a memory kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifiedWorkload {
    /// Its id.
    pub id: String,
    /// What it is, in words.
    pub title: String,
    /// The instruction under study; of memory kernels the formula.
    pub instruction: String,
    /// The instruction sets that it needs.
    pub isa: Vec<String>,
    /// Another stream that confirms the reference by other instructions, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_form: Option<String>,
    /// Whether it is a memory kernel.
    pub moves_memory: bool,
    /// The ways in which a memory kernel moved its data, by the ids of its variants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<String>,
    /// Calls whose answer was compared, on all CPUs.
    pub calls: u64,
    /// Ops in them; of memory kernels numbers.
    pub ops: u64,
    /// CPUs on which it ran while the others idled.
    pub alone: CpuSet,
    /// CPUs on which it ran while all the others did the same.
    pub together: CpuSet,
}

/// Answers of repetitions that were timed, compared on the way: the short form of a [`VerifyRun`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedAnswers {
    /// The CPUs that gave them.
    pub cpus: CpuSet,
    /// The streams, by their ids.
    pub streams: Vec<String>,
    /// Repetitions whose answer was compared, on all CPUs.
    pub calls: u64,
    /// Ops in those of the CPU that has the fewest.
    pub ops_least: u64,
    /// Of so many streams with a number of iterations the answer was held against the portable computation.
    pub with_reference: u64,
    /// Of so many others repetitions were compared with one another alone.
    pub among_themselves: u64,
    /// Wrong answers, of each CPU and stream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<WrongAnswers>,
}

/// What one CPU computed wrong under one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WrongAnswers {
    /// The CPU.
    pub cpu: CpuId,
    /// Its core, as the kernel numbers it.
    pub core: u32,
    /// Its package.
    pub package: u32,
    /// The stream or memory kernel; `reference`: the portable computation.
    pub workload: String,
    /// Calls with a wrong answer.
    pub wrong: u64,
    /// Calls of this workload on this CPU.
    pub calls: u64,
    /// Ops in those; of memory kernels numbers.
    pub ops: u64,
    /// Of the wrong calls, those in which the other CPUs idled.
    pub wrong_alone: u64,
    /// Wrong answers as they were, the first ones.
    pub examples: Vec<WrongAnswer>,
    /// Whether the first one came again with the same operands.
    pub again: WrongAgain,
}

/// A wrong answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WrongAnswer {
    /// The pattern of the operands, with what repeats it: a seed, a bit.
    pub operands: String,
    /// Trips through the kernel's body in the call.
    pub iterations: u64,
    /// The right answer, as a hexadecimal number of 64 bits.
    pub expected: String,
    /// The answer, as such a number.
    pub got: String,
    /// The bits in which they differ, counted from the lowest.
    pub flipped: Vec<u8>,
    /// The index of the wrong number, where it lies in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// Seconds since the run began.
    pub at: f64,
    /// Whether the other CPUs idled.
    pub alone: bool,
    /// The clock right after it, in hertz.
    pub clock: Known<f64>,
    /// The temperature of its core, or of its package, in degrees Celsius.
    pub celsius: Known<f64>,
}

/// The same call once more, with the same operands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WrongAgain {
    /// Wrong answers on the same CPU, and calls.
    pub here: [u64; 2],
    /// The same on other CPUs.
    pub elsewhere: Vec<WrongElsewhere>,
}

/// The same call on another CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WrongElsewhere {
    /// The CPU.
    pub cpu: CpuId,
    /// Wrong answers, and calls.
    pub wrong: [u64; 2],
}

impl WrongAnswer {
    /// The answer with its bits.
    pub fn bits(expected: u64, got: u64) -> (String, String, Vec<u8>) {
        let hex = |number: u64| format!("{number:#018x}");
        let differ = expected ^ got;
        (hex(expected), hex(got), (0..64).filter(|bit| differ >> bit & 1 == 1).collect())
    }
}

impl WrongAnswers {
    /// Whether other CPUs compute it wrong alike: then it is the program, the compiler or an emulator, and no CPU.
    pub fn is_everywhere(&self) -> bool {
        let others = &self.again.elsewhere;
        !others.is_empty() && others.iter().all(|it| it.wrong[1] > 0 && it.wrong[0] == it.wrong[1])
    }
}

impl VerifyRun {
    /// The CPUs whose answers were compared.
    pub fn all(&self) -> CpuSet {
        self.cpus.iter().map(|it| it.cpu).collect()
    }

    /// CPUs that compute something wrong which others do not.
    pub fn faulty(&self) -> CpuSet {
        faulty(&self.wrong)
    }
}

impl ComparedAnswers {
    /// CPUs that compute something wrong which others do not.
    pub fn faulty(&self) -> CpuSet {
        faulty(&self.wrong)
    }
}

fn faulty(wrong: &[WrongAnswers]) -> CpuSet {
    wrong.iter().filter(|it| !it.is_everywhere()).map(|it| it.cpu).collect()
}
