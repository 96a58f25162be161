//! The right answer: computed one op at a time on two CPUs, confirmed by another instruction, and what is wrong once more.

use std::sync::Arc;

use kernels::patterns::{OPS_MAX, Pattern};
use kernels::{Operands, StreamRow};
use model::record::{WrongAgain, WrongElsewhere};
use model::{CpuId, Seconds};

use rig::checking::{CheckedWork, Checking, RawChecked, WrongCall};
use rig::executor::{Executor, RunError};
use rig::job::Load;

use super::rounds::Rounds;
use super::workloads::Workload;

/// Calls with the same operands, after one was wrong.
const AGAIN: u64 = 8;

/// CPUs that try the same.
const OTHERS_MAX: usize = 3;

/// A call that is made a few times may take so long.
const PATIENCE: Seconds = Seconds(10.0);

impl Rounds<'_, '_> {
    /// The right answer of a stream, confirmed by another instruction where one computes the same.
    pub(super) fn reference(
        &mut self,
        own: (&'static StreamRow, Load),
        workload: &Workload,
        pattern: Pattern,
        operands: &Arc<Operands>,
    ) -> Result<u64, RunError> {
        let right = self.agreed(own, pattern, operands)?;
        if let Some(second) = workload.second {
            let expected = self.agreed(second, pattern, operands)?;
            let job = once(self.rotate(), stream(second, operands), Some(expected), 1);
            let raw = self.executor.compare(&job)?;
            // It counts among its own calls, where those are asked for.
            if let Some(index) = self.tally.place(second.0.id) {
                self.tally.count(&raw, &job, index);
            }
            raw.iter().try_for_each(|checked| self.follow(checked, &job, pattern, true))?;
        }
        Ok(right)
    }

    /// What two CPUs compute alike, or most of several.
    fn agreed(
        &mut self,
        own: (&'static StreamRow, Load),
        pattern: Pattern,
        operands: &Arc<Operands>,
    ) -> Result<u64, RunError> {
        let (row, operands) = (own.0, Arc::clone(operands));
        let work = CheckedWork::Reference { row, iterations: row.iterations_of(OPS_MAX), operands };
        let mut answers = Vec::new();
        for cpu in [self.rotate(), self.rotate()] {
            answers.push((cpu, self.answer(cpu, &work)?));
        }
        self.tally.references += 2;
        if answers[0].1 == answers[1].1 {
            return Ok(answers[0].1);
        }
        self.most(own, &work, pattern, answers)
    }

    /// What one CPU answers.
    fn answer(&mut self, cpu: CpuId, work: &CheckedWork) -> Result<u64, RunError> {
        let raw = self.executor.compare(&once(cpu, work.clone(), None, 1))?;
        Ok(raw.first().map_or(0, |raw| raw.answer))
    }

    /// The answer that most computations give, where two differ: those of other CPUs, and of the stream itself. Who
    /// computed otherwise is wrong.
    fn most(
        &mut self,
        own: (&'static StreamRow, Load),
        work: &CheckedWork,
        pattern: Pattern,
        mut answers: Vec<(CpuId, u64)>,
    ) -> Result<u64, RunError> {
        let CheckedWork::Reference { operands, .. } = work else { return Ok(answers[0].1) };
        let kernel = stream(own, operands);
        let mut votes = Vec::new();
        for _ in 0..self.placement.cpus.len().clamp(2, 5) {
            let cpu = self.rotate();
            answers.push((cpu, self.answer(cpu, work)?));
            votes.push(self.answer(cpu, &kernel)?);
        }
        votes.extend(answers.iter().map(|(_, answer)| *answer));
        let count = |answer: u64| votes.iter().filter(|it| **it == answer).count();
        let right = votes.iter().copied().max_by_key(|it| count(*it)).unwrap_or(answers[0].1);
        for (cpu, got) in answers.into_iter().filter(|(_, got)| *got != right) {
            let first = vec![WrongCall { call: 0, expected: right, got, index: None }];
            let raw = RawChecked { cpu, calls: 1, wrong: 1, first, answer: got };
            self.follow(&raw, &once(cpu, work.clone(), Some(right), AGAIN), pattern, true)?;
        }
        Ok(right)
    }

    /// The same call again, on the same CPU and on others.
    pub(super) fn again(&mut self, cpu: CpuId, job: &Checking) -> Result<WrongAgain, RunError> {
        let executor = &mut *self.executor;
        let here = tried(executor, cpu, job)?;
        let others = self.placement.cpus.iter().filter(|other| **other != cpu).take(OTHERS_MAX);
        let elsewhere = others
            .map(|other| Ok(WrongElsewhere { cpu: *other, wrong: tried(executor, *other, job)? }))
            .collect::<Result<Vec<_>, RunError>>()?;
        Ok(WrongAgain { here, elsewhere })
    }
}

/// Wrong answers of a few calls, and calls.
fn tried(executor: &mut dyn Executor, cpu: CpuId, job: &Checking) -> Result<[u64; 2], RunError> {
    let job = Checking { cpus: vec![cpu], time: PATIENCE, calls_max: Some(AGAIN), ..job.clone() };
    let raw = executor.compare(&job)?;
    Ok(raw.first().map_or([0, 0], |raw| [raw.wrong, raw.calls]))
}

fn once(cpu: CpuId, work: CheckedWork, expected: Option<u64>, calls: u64) -> Checking {
    Checking { cpus: vec![cpu], work, expected, time: PATIENCE, calls_max: Some(calls) }
}

fn stream((row, load): (&'static StreamRow, Load), operands: &Arc<Operands>) -> CheckedWork {
    let (iterations, operands) = (row.iterations_of(OPS_MAX), Arc::clone(operands));
    CheckedWork::Stream { load, row, operands, iterations }
}
