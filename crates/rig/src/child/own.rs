//! Parallel regions of our own: two barriers and nothing else, as a floor for those of runtimes.

use std::hint::spin_loop;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};

use model::CpuId;
use sys::futex;

use super::team::Member;

/// Threads that wait for each other, spinning or sleeping.
pub(super) struct Crew {
    cpus: Vec<CpuId>,
    sleeps: bool,
}

/// On lines of their own: who waits looks at one of them only.
#[repr(align(128))]
#[derive(Default)]
struct BarrierLine(AtomicU32);

struct Barrier {
    members: u32,
    sleeps: bool,
    arrived: BarrierLine,
    turn: BarrierLine,
}

impl Barrier {
    fn wait(&self) {
        let turn = self.turn.0.load(Acquire);
        if self.arrived.0.fetch_add(1, AcqRel) + 1 == self.members {
            self.arrived.0.store(0, Relaxed);
            self.turn.0.store(turn.wrapping_add(1), Release);
            if self.sleeps {
                // Of a word of this process, and so are the waits: there is nothing to refuse.
                drop(futex::wake_all(&self.turn.0));
            }
            return;
        }
        while self.turn.0.load(Acquire) == turn {
            if self.sleeps {
                drop(futex::wait(&self.turn.0, turn));
            } else {
                spin_loop();
            }
        }
    }
}

/// A thread of the crew within a region.
struct Hand<'a> {
    number: u32,
    barrier: &'a Barrier,
}

impl Member for Hand<'_> {
    fn number(&self) -> u32 {
        self.number
    }

    fn count(&self) -> u32 {
        self.barrier.members
    }

    fn barrier(&self) {
        self.barrier.wait();
    }

    fn barrier_of_loop(&self) {
        self.barrier.wait();
    }

    fn share(&self, iterations: u64, body: &mut dyn FnMut(std::ops::Range<u64>)) {
        let (count, number) = (u64::from(self.count()), u64::from(self.number));
        let first = |number| iterations * number / count;
        let range = first(number)..first(number + 1);
        if !range.is_empty() {
            body(range);
        }
    }

    fn add(&self, sum: &sys::openmp::Sum, part: f64) {
        sum.add_atomically(part);
    }
}

impl Crew {
    /// One thread for each CPU; the calling thread is the first one, and stays where it is pinned.
    pub(super) fn new(cpus: &[CpuId], sleeps: bool) -> Result<Crew, String> {
        pin(*cpus.first().ok_or("there is no CPU to run on")?)?;
        Ok(Crew { cpus: cpus.to_vec(), sleeps })
    }

    /// Lets `lead` have what executes one region with that body.
    pub(super) fn lead<R>(
        &self,
        body: &(dyn Fn(&dyn Member) + Sync),
        lead: impl FnOnce(&dyn Fn()) -> R,
    ) -> Result<R, String> {
        let members = self.cpus.len() as u32;
        let (arrived, turn) = (BarrierLine::default(), BarrierLine::default());
        let barrier = &Barrier { members, sleeps: self.sleeps, arrived, turn };
        let (over, strayed) = (&AtomicBool::new(false), &AtomicBool::new(false));
        let led = std::thread::scope(|scope| {
            for (number, &cpu) in (0..).zip(&self.cpus).skip(1) {
                scope.spawn(move || {
                    if pin(cpu).is_err() {
                        strayed.store(true, Relaxed);
                    }
                    loop {
                        barrier.wait();
                        if over.load(Relaxed) {
                            return;
                        }
                        body(&Hand { number, barrier });
                        barrier.wait();
                    }
                });
            }
            let led = lead(&|| {
                barrier.wait();
                body(&Hand { number: 0, barrier });
                barrier.wait();
            });
            over.store(true, Relaxed);
            barrier.wait();
            led
        });
        if strayed.load(Relaxed) { Err("cannot pin a thread".to_owned()) } else { Ok(led) }
    }
}

fn pin(cpu: CpuId) -> Result<(), String> {
    sys::affinity::pin(cpu).map_err(|error| format!("cannot pin a thread to CPU {cpu}: {error}"))
}
