//! Threads that keep CPUs busy while jobs run beside them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use model::CpuSet;
use sys::clock::Probe;

use super::super::super::background_load::{Busy, Neighbour};
use super::super::{Executor, RunError, STACK_BYTES};
use super::traffic::{Stores, move_until};
use super::{Call, Threads};

/// What neighbours and the thread that wants them share.
#[derive(Default)]
pub(super) struct Street {
    /// Neighbours that are at work.
    moved_in: AtomicU64,
    /// Whether one of them could not begin.
    failed: AtomicBool,
    /// Whether they may stop.
    over: AtomicBool,
    /// What those want who spin for a lock.
    lock: Lock,
}

/// A lock with a line of its own, and with the line that would be fetched along with it.
#[derive(Default)]
#[repr(align(128))]
struct Lock(AtomicBool);

impl Street {
    pub(super) fn move_in(&self) {
        self.moved_in.fetch_add(1, Ordering::AcqRel);
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }
}

/// A neighbour that leaves before it is told to, by an error or by a panic, must leave nobody waiting for it.
struct Stay<'a>(&'a Street);

impl Stay<'_> {
    /// It was told to.
    fn over(self) {
        std::mem::forget(self);
    }
}

impl Drop for Stay<'_> {
    fn drop(&mut self) {
        self.0.failed.store(true, Ordering::Release);
    }
}

/// Neighbours stop when this goes, also by a panic.
struct Quiet<'a>(&'a Street);

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Release);
    }
}

impl<P: Probe> Threads<P> {
    /// Runs jobs while neighbours work; all of them have begun before the first job does.
    pub(super) fn with_neighbours(
        &mut self,
        neighbours: &[Neighbour],
        jobs: &mut dyn FnMut(&mut dyn Executor) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let street = Arc::new(Street::default());
        let (until_end, ended) = channel();
        let quiet = Quiet(&street);
        let mut threads = Vec::with_capacity(neighbours.len());
        for &neighbour in neighbours {
            let cpu = neighbour.cpu;
            let thread = std::thread::Builder::new().name(format!("beside {cpu}"));
            let (rig, street) = (Arc::clone(&self.rig), Arc::clone(&street));
            let until_end = until_end.clone();
            let begun = thread.stack_size(STACK_BYTES).spawn(move || -> Result<(), RunError> {
                let _until_end = until_end;
                let stay = Stay(&street);
                // Mapped and touched in the first block beside them: later ones find it there.
                live(&neighbour, &rig.beside, &street)?;
                stay.over();
                Ok(())
            });
            threads.push((cpu, begun.map_err(|source| RunError::Spawn { cpu, source })?));
        }
        drop(until_end);
        let late = self.moved_in_late(neighbours, &street);
        let done = if late.is_some() || street.has_failed() { Ok(()) } else { jobs(self) };
        drop(quiet);
        self.ends(threads, &ended, || ())?.into_iter().collect::<Result<(), RunError>>()?;
        late.map_or(done, Err)
    }

    /// Waits until all neighbours are at work, or one of them could not begin; an error where that takes too long.
    fn moved_in_late(&self, neighbours: &[Neighbour], street: &Street) -> Option<RunError> {
        let (begun, patience) = (Instant::now(), self.patience());
        let all = neighbours.len() as u64;
        while street.moved_in.load(Ordering::Acquire) < all && !street.has_failed() {
            if let Some(limit) = patience.filter(|it| begun.elapsed().as_secs_f64() > it.0) {
                let cpus = neighbours.iter().map(|neighbour| neighbour.cpu).collect();
                return Some(self.late(cpus, CpuSet::default(), limit));
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        None
    }
}

/// Works until nobody needs it any more.
fn live(neighbour: &Neighbour, stores: &Stores, street: &Street) -> Result<(), RunError> {
    let cpu = neighbour.cpu;
    sys::affinity::pin(cpu).map_err(|source| RunError::Pin { cpu, source })?;
    match neighbour.work {
        Busy::Memory { transfer, elements, store } => {
            move_until(cpu, (stores, store), (transfer, elements), street)
        }
        Busy::Stream(load) => {
            execute_until(Call::of(load), street);
            Ok(())
        }
        Busy::Lock => {
            spin_until(street);
            Ok(())
        }
    }
}

/// Takes the lock wherever it is free, and asks again at once where it is not: the worst of spinners, without a pause.
fn spin_until(street: &Street) {
    /// Long against a look at the street, and short against a job.
    const TRIES: u32 = 4096;
    street.move_in();
    while !street.is_over() {
        for _ in 0..TRIES {
            if !street.lock.0.swap(true, Ordering::Acquire) {
                street.lock.0.store(false, Ordering::Release);
            }
        }
    }
}

/// Repeats a kernel in pieces that are long against a look at the street, and short against a job.
fn execute_until(call: Call, street: &Street) {
    const PIECE: Duration = Duration::from_micros(50);
    const ITERATIONS_MAX: u64 = 1 << 24;
    let mut iterations = 1;
    loop {
        let begun = Instant::now();
        call.kernel.run(iterations, call.operands);
        if begun.elapsed() >= PIECE || iterations >= ITERATIONS_MAX {
            break;
        }
        iterations *= 2;
    }
    street.move_in();
    while !street.is_over() {
        call.kernel.run(iterations, call.operands);
    }
}

#[cfg(test)]
mod tests {
    use kernels::memory::TABLE;
    use machine::Machine;
    use model::ticks::Stamp;
    use model::{CpuId, Hertz, Pages, Rate};
    use sys::clock::MonotonicRaw;

    use super::super::super::super::job::{Body, Load};
    use super::super::super::super::traffic::Store;
    use super::super::super::Stop;
    use super::*;
    use crate::streams;

    fn threads() -> Threads<MonotonicRaw> {
        let rate: Rate<Stamp> = Rate::new(Hertz(1e9));
        Threads::new(MonotonicRaw::new().unwrap(), rate, None, Stop::default())
    }

    fn cpu() -> CpuId {
        sys::affinity::current().unwrap().iter().next().unwrap()
    }

    /// To map and to touch memory takes longer than a block beside it.
    #[test]
    fn memory_of_a_neighbour_is_mapped_once_and_is_nobody_elses() {
        let kernel = TABLE.iter().find(|kernel| kernel.id == "triad").unwrap();
        let machine = Machine::real();
        let mut known = streams::transfers(&machine, kernel, kernel.variants);
        let transfer = known.find_map(Result::ok).unwrap();
        let store = Store::of_arrays(kernel.arrays, 4096, Pages::Base);
        let work = Busy::Memory { transfer, elements: 4096, store };
        let (mut threads, cpu) = (threads(), cpu());
        let mut ranges = Vec::new();
        for _ in 0..3 {
            threads.with_neighbours(&[Neighbour { cpu, work }], &mut |_| Ok(())).unwrap();
            ranges.extend(threads.rig.beside.placed().iter().map(|placed| placed.range));
        }
        assert_eq!(ranges.len(), 3, "it stays from block to block");
        assert!(ranges.iter().all(|range| *range == ranges[0]));
        assert!(threads.placed().is_empty(), "nobody measured in it");
    }

    /// Those who want one lock begin, and end when they are told.
    #[test]
    fn spinners_begin_and_end() {
        let mut began = 0;
        let both = [Neighbour { cpu: cpu(), work: Busy::Lock }; 2];
        threads()
            .with_neighbours(&both, &mut |_| {
                began += 1;
                Ok(())
            })
            .unwrap();
        assert_eq!(began, 1);
    }

    /// Threads cannot run what is simulated, and say so by a panic.
    #[test]
    fn a_neighbour_that_panics_leaves_nobody_waiting() {
        let (sender, ended) = channel();
        std::thread::spawn(move || {
            let load = Load {
                id: "simulated",
                ops_per_iteration: 1,
                saturates: false,
                in_loop_ops: None,
                body: Body::Simulated(&kernels::Operands::QUIET),
            };
            let neighbour = Neighbour { cpu: cpu(), work: Busy::Stream(load) };
            let mut threads = threads();
            let run = std::panic::AssertUnwindSafe(|| {
                threads.with_neighbours(&[neighbour], &mut |_| Ok(()))
            });
            sender.send(std::panic::catch_unwind(run).is_err()).unwrap();
        });
        let panicked = ended.recv_timeout(Duration::from_secs(30));
        assert_eq!(panicked, Ok(true), "its panic goes on, and nobody waits");
    }
}
