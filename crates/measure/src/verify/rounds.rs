//! The course of a run: passes over all workloads, each on some CPUs alone and on all at once.

use std::sync::Arc;

use kernels::patterns::{OPS_MAX, Pattern};
use model::Seconds;

use super::surroundings::Surroundings;
use super::tally::{Call, Tally};
use super::workloads::{self, Body, Workload};
use crate::jury::{Jury, PATIENCE};
use crate::run::{Error, Progress};
use rig::checking::{CheckedWork, Checking, RawChecked};
use rig::executor::{Executor, RunError};
use rig::placement::Placement;

/// So many CPUs at most do a workload alone in one pass: all of them in turn.
const ALONE_MAX: usize = 4;

/// The shortest time of a workload on some CPUs: a hundred calls and more.
const STINT_MIN: Seconds = Seconds(10e-3);

/// Of the budget, one stint takes this share where that is longer.
const STINT_SHARE: f64 = 1.0 / 12_000.0;

/// The course of a run.
pub(super) struct Rounds<'m, 'p> {
    pub(super) executor: Box<dyn Executor>,
    pub(super) placement: &'p Placement,
    pub(super) budget: Seconds,
    pub(super) began: Seconds,
    pub(super) seed: u64,
    pub(super) tally: Tally,
    pub(super) surroundings: Surroundings<'m>,
    pub(super) jury: Jury,
}

impl Rounds<'_, '_> {
    /// Passes over all workloads until the time is over; why it ended.
    pub(super) fn all(
        &mut self,
        workloads: &[Workload],
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<String, Error> {
        for pass in 0.. {
            for (index, workload) in workloads.iter().enumerate() {
                let used = (self.executor.elapsed() - self.began) / self.budget;
                if used >= 1.0 {
                    return Ok("the time was over".to_owned());
                }
                progress(Progress { share: used, doing: &workload.doing(self.tally.is_any()) });
                // Each workload is at another place of the walk.
                let number = pass + 35 * index as u64;
                match self.turn(workload, index, pass, Pattern::nth(number, self.seed)) {
                    Err(RunError::Interrupted) => return Ok("it was stopped".to_owned()),
                    Err(RunError::OutOfTime) => return Ok("the time was over".to_owned()),
                    done => done?,
                }
            }
        }
        Ok(String::new())
    }

    /// One workload with one pattern: on some CPUs alone, and on all of them.
    fn turn(
        &mut self,
        workload: &Workload,
        index: usize,
        pass: u64,
        pattern: Pattern,
    ) -> Result<(), RunError> {
        let stint = Seconds((self.budget.0 * STINT_SHARE).max(STINT_MIN.0));
        let operands = Arc::new(pattern.operands());
        let (work, expected) = match &workload.body {
            Body::Stream(row, load) => {
                let (row, load) = (*row, *load);
                let iterations = row.iterations_of(OPS_MAX);
                let expected = self.reference((row, load), workload, pattern, &operands)?;
                (CheckedWork::Stream { load, row, operands, iterations }, Some(expected))
            }
            Body::Memory(_, ways) => {
                let (transfer, length) = workloads::way(ways, pass);
                let trips = workloads::trips(length);
                (CheckedWork::Memory { transfer, length, trips }, None)
            }
        };
        let all = self.placement.cpus.clone();
        let job = Checking { cpus: all.clone(), work, expected, time: stint, calls_max: None };
        let alone = if all.len() == 1 { 0 } else { all.len().min(ALONE_MAX) };
        for _ in 0..alone {
            let cpu = self.jury.rotate();
            self.stint(&Checking { cpus: vec![cpu], ..job.clone() }, index, pattern)?;
        }
        self.stint(&job, index, pattern)?;
        self.surroundings.look(self.executor.elapsed())
    }

    /// Runs a job, and follows what is wrong.
    pub(super) fn stint(
        &mut self,
        job: &Checking,
        index: usize,
        pattern: Pattern,
    ) -> Result<(), RunError> {
        let raw = self.executor.compare(job)?;
        self.tally.count(&raw, job, index);
        let is_alone = job.cpus.len() < self.placement.cpus.len();
        raw.iter().try_for_each(|checked| self.follow(checked, job, pattern, is_alone))
    }

    /// Keeps what is wrong, and tries a new one again.
    pub(super) fn follow(
        &mut self,
        checked: &RawChecked,
        job: &Checking,
        pattern: Pattern,
        is_alone: bool,
    ) -> Result<(), RunError> {
        if checked.wrong == 0 {
            return Ok(());
        }
        let call = Call { work: &job.work, pattern, is_alone };
        let known = self.tally.note(checked, &call);
        if self.tally.wants_example(known.entry) {
            let at = self.executor.elapsed() - self.began;
            let around = self.surroundings.of(checked.cpu)?;
            self.tally.describe(known.entry, checked, &call, at, around);
        }
        if known.is_new {
            self.tally.wrong[known.entry].again =
                self.jury.again(&mut *self.executor, checked.cpu, job, PATIENCE)?;
        }
        Ok(())
    }
}
