//! Who says what is right: two CPUs that compute it one op at a time, or most of several; and the same call once more,
//! there and on other CPUs; and what a wrong answer says.

use model::record::{WrongAgain, WrongAnswers, WrongElsewhere};
use model::{CpuId, Finding, Seconds};

use rig::checking::{CheckedWork, Checking};
use rig::executor::{Executor, RunError};

/// Calls with the same operands, after one was wrong.
pub(crate) const AGAIN: u64 = 8;

/// So many wrong answers of a CPU and a workload are kept as they are.
pub(crate) const EXAMPLES_MAX: usize = 4;

/// CPUs that try the same.
const OTHERS_MAX: usize = 3;

/// A call that is made a few times may take so long.
pub(crate) const PATIENCE: Seconds = Seconds(10.0);

/// CPUs that compute in turn.
pub(crate) struct Jury {
    cpus: Vec<CpuId>,
    /// The CPU that is the next to do something alone, as an index.
    next: usize,
}

/// The right answer.
pub(crate) struct Agreed {
    pub(crate) right: u64,
    /// CPUs whose portable computation has another one.
    pub(crate) others: Vec<(CpuId, u64)>,
}

impl Jury {
    pub(crate) fn new(cpus: &[CpuId]) -> Jury {
        Jury { cpus: cpus.to_vec(), next: 0 }
    }

    /// The next CPU.
    pub(crate) fn rotate(&mut self) -> CpuId {
        self.next = (self.next + 1) % self.cpus.len();
        self.cpus[self.next]
    }

    /// The next CPU that is none of those, where there is one.
    pub(crate) fn beside(&mut self, those: &[CpuId]) -> CpuId {
        let is_free = |cpu: &CpuId| !those.contains(cpu);
        let mut turns = (0..self.cpus.len()).map(|_| self.rotate());
        turns.find(is_free).unwrap_or(self.cpus[0])
    }

    /// What two CPUs compute alike one op at a time, or most of several, who execute the stream itself, too.
    pub(crate) fn agreed(
        &mut self,
        executor: &mut dyn Executor,
        portable: &CheckedWork,
        stream: &CheckedWork,
    ) -> Result<Agreed, RunError> {
        let mut answers = Vec::new();
        for cpu in [self.rotate(), self.rotate()] {
            answers.push((cpu, answer(executor, cpu, portable)?));
        }
        if answers[0].1 == answers[1].1 {
            return Ok(Agreed { right: answers[0].1, others: Vec::new() });
        }
        let mut votes = Vec::new();
        for _ in 0..self.cpus.len().clamp(2, 5) {
            let cpu = self.rotate();
            answers.push((cpu, answer(executor, cpu, portable)?));
            votes.push(answer(executor, cpu, stream)?);
        }
        votes.extend(answers.iter().map(|(_, answer)| *answer));
        let count = |answer: u64| votes.iter().filter(|it| **it == answer).count();
        let right = votes.iter().copied().max_by_key(|it| count(*it)).unwrap_or(answers[0].1);
        answers.retain(|(_, got)| *got != right);
        Ok(Agreed { right, others: answers })
    }

    /// The same call again, on the same CPU and on others, for so long on each.
    pub(crate) fn again(
        &self,
        executor: &mut dyn Executor,
        cpu: CpuId,
        job: &Checking,
        time: Seconds,
    ) -> Result<WrongAgain, RunError> {
        let job = &Checking { time, ..job.clone() };
        let here = tried(executor, cpu, job)?;
        let others = self.cpus.iter().filter(|other| **other != cpu).take(OTHERS_MAX);
        let elsewhere = others
            .map(|other| Ok(WrongElsewhere { cpu: *other, wrong: tried(executor, *other, job)? }))
            .collect::<Result<Vec<_>, RunError>>()?;
        Ok(WrongAgain { here, elsewhere })
    }
}

/// What one CPU answers.
pub(crate) fn answer(
    executor: &mut dyn Executor,
    cpu: CpuId,
    work: &CheckedWork,
) -> Result<u64, RunError> {
    let raw = executor.compare(&once(cpu, work.clone(), None, 1))?;
    Ok(raw.first().map_or(0, |raw| raw.answer))
}

/// Wrong answers of a few calls, and calls.
fn tried(executor: &mut dyn Executor, cpu: CpuId, job: &Checking) -> Result<[u64; 2], RunError> {
    let job = Checking { cpus: vec![cpu], calls_max: Some(AGAIN), ..job.clone() };
    let raw = executor.compare(&job)?;
    Ok(raw.first().map_or([0, 0], |raw| [raw.wrong, raw.calls]))
}

/// A few calls on one CPU.
pub(crate) fn once(cpu: CpuId, work: CheckedWork, expected: Option<u64>, calls: u64) -> Checking {
    Checking { cpus: vec![cpu], work, expected, time: PATIENCE, calls_max: Some(calls) }
}

/// What a wrong answer says of the machine.
pub(crate) fn finding(wrong: &WrongAnswers) -> Finding {
    let WrongAnswers { cpu, workload, calls, .. } = wrong;
    let bits = wrong.examples.first().map_or_else(String::new, |first| match &first.flipped[..] {
        [bit] => format!(", bit {bit} flipped"),
        several => format!(", {} bits flipped", several.len()),
    });
    let count = format!("{} of {calls} calls of `{workload}`{bits}", wrong.wrong);
    if wrong.is_everywhere() {
        let text = format!("wrong answers: {count}, and the same on other CPUs");
        let remedy = "it is cpudyno, or what emulates the CPU: please report it, with the record";
        return Finding::serious("verify.program", format!("`{workload}`"), text)
            .remedy(Some(remedy.to_owned()));
    }
    let others = &wrong.again.elsewhere;
    let elsewhere = match &others[..] {
        [] => String::new(),
        [one] => format!("; CPU {} answers right", one.cpu),
        several => format!("; {} other CPUs answer right", several.len()),
    };
    let text = format!("wrong answers: {count}{elsewhere}");
    let sure =
        format!("take it out of service; how often: cpudyno verify --cpus {cpu} --minutes 10");
    Finding::serious("verify.wrong-answer", format!("CPU {cpu}"), text).remedy(Some(sure))
}
