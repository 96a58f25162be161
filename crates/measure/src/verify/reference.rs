//! The right answer: computed one op at a time on two CPUs, confirmed by another instruction.

use std::sync::Arc;

use kernels::patterns::{OPS_MAX, Pattern};
use kernels::{Operands, StreamRow};

use rig::checking::{CheckedWork, RawChecked, WrongCall};
use rig::executor::RunError;
use rig::job::Load;

use super::rounds::Rounds;
use super::workloads::Workload;
use crate::jury::{AGAIN, once};

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
            let job = once(self.jury.rotate(), stream(second, operands), Some(expected), 1);
            let raw = self.executor.compare(&job)?;
            // It counts among its own calls, where those are asked for.
            if let Some(index) = self.tally.place(second.0.id) {
                self.tally.count(&raw, &job, index);
            }
            raw.iter().try_for_each(|checked| self.follow(checked, &job, pattern, true))?;
        }
        Ok(right)
    }

    /// What CPUs agree on. Who computes otherwise is wrong.
    fn agreed(
        &mut self,
        own: (&'static StreamRow, Load),
        pattern: Pattern,
        operands: &Arc<Operands>,
    ) -> Result<u64, RunError> {
        let (row, operands) = (own.0, Arc::clone(operands));
        let kernel = stream(own, &operands);
        let work = CheckedWork::Reference { row, iterations: row.iterations_of(OPS_MAX), operands };
        let agreed = self.jury.agreed(&mut *self.executor, &work, &kernel)?;
        self.tally.references += 2;
        let right = agreed.right;
        for (cpu, got) in agreed.others {
            let first = vec![WrongCall { call: 0, expected: right, got, index: None }];
            let raw = RawChecked { cpu, calls: 1, wrong: 1, first, answer: got };
            self.follow(&raw, &once(cpu, work.clone(), Some(right), AGAIN), pattern, true)?;
        }
        Ok(right)
    }
}

fn stream((row, load): (&'static StreamRow, Load), operands: &Arc<Operands>) -> CheckedWork {
    let (iterations, operands) = (row.iterations_of(OPS_MAX), Arc::clone(operands));
    CheckedWork::Stream { load, row, operands, iterations }
}
