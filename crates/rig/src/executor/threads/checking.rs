//! Threads that compare the answer of each call.

use std::sync::Arc;

use kernels::memory::{Arrays, Mover, fill};
use kernels::{Operands, Runnable, StreamRow};
use model::CpuId;
use sys::clock::Probe;

use super::super::super::checking::{CheckedWork, Checking, RawChecked};
use super::super::super::job::{Body, Manner};
use super::super::RunError;
use super::{Meeting, Rig, Threads};

impl<P: Probe> Threads<P> {
    /// Lets all CPUs do the work at once.
    pub(super) fn compare(&self, job: &Checking) -> Result<Vec<RawChecked>, RunError> {
        let (rig, job) = (Arc::clone(&self.rig), job.clone());
        let cpus = job.cpus.clone();
        self.together(&cpus, Manner::USUAL, move |index, meeting| {
            rig.compare(&job, job.cpus[index], meeting)
        })
    }
}

impl<P: Probe> Rig<P> {
    fn compare(
        &self,
        job: &Checking,
        cpu: CpuId,
        meeting: &Meeting,
    ) -> Result<RawChecked, RunError> {
        match &job.work {
            CheckedWork::Stream { load, operands, iterations, .. } => match load.body {
                Body::Kernel(kernel, _) => self.calls(job, cpu, meeting, |raw| {
                    raw.take(run(kernel, *iterations, operands), job.expected);
                }),
                Body::Simulated(_) => {
                    panic!("BUG: `{}` is simulated, threads cannot run it", load.id)
                }
            },
            CheckedWork::Reference { row, operands, iterations } => {
                self.calls(job, cpu, meeting, |raw| {
                    raw.take(reference(row, *iterations, operands), job.expected);
                })
            }
            CheckedWork::Memory { transfer, length, trips } => match transfer.mover {
                Some(mover) => self.memory(job, cpu, meeting, (mover, *length, *trips)),
                None => panic!("BUG: `{}` cannot run here", transfer.kernel.id),
            },
        }
    }

    /// Calls until it is time.
    fn calls(
        &self,
        job: &Checking,
        cpu: CpuId,
        meeting: &Meeting,
        mut call: impl FnMut(&mut RawChecked),
    ) -> Result<RawChecked, RunError> {
        let mut raw = RawChecked::none(cpu);
        let time = self.ticks_in(job.time);
        meeting.wait()?;
        let begun = self.probe.stamp();
        while raw.goes_on(job) && !meeting.given_up() {
            call(&mut raw);
            if self.probe.stamp().saturating_sub(begun) >= time {
                break;
            }
        }
        Ok(raw)
    }

    /// The same in memory of this thread's own, every number of which is compared.
    fn memory(
        &self,
        job: &Checking,
        cpu: CpuId,
        meeting: &Meeting,
        (mover, length, trips): (Mover, usize, u64),
    ) -> Result<RawChecked, RunError> {
        let mut numbers: [Vec<f64>; 4] = std::array::from_fn(|_| vec![0.0; length]);
        let [a, b, c, d] = numbers.each_mut().map(Vec::as_mut_slice);
        // The numbers of each CPU are other ones.
        let first = u64::from(cpu.0) * length as u64;
        fill([&mut *a, &mut *b, &mut *c, &mut *d], first);
        self.calls(job, cpu, meeting, |raw| {
            mover.prepare(a, first);
            let mut arrays = Arrays { a: &mut *a, b, c, d };
            let sum = mover.run_trips(&mut arrays, trips);
            if let Err(wrong) = mover.check_every(&arrays, first, trips, sum) {
                let [expected, got] = [wrong.expected, wrong.found].map(f64::to_bits);
                raw.is_wrong(expected, got, wrong.index);
            }
            raw.calls += 1;
        })
    }
}

/// One call, which stays one: whoever looks at this thread from outside finds the loop there.
#[inline(never)]
fn run(kernel: Runnable, iterations: u64, operands: &Operands) -> u64 {
    kernel.run(iterations, operands)
}

/// Computed anew each time: the compiler does not know what it computes with.
#[inline(never)]
fn reference(row: &StreamRow, iterations: u64, operands: &Operands) -> u64 {
    std::hint::black_box(row).expected(std::hint::black_box(iterations), operands)
}
