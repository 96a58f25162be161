//! OpenMP runtimes, loaded when they are wanted and called as compilers call them.
//!
//! GCC and Clang turn `#pragma omp` into calls of their runtime. Those calls are made here, with the
//! arguments that the compilers pass, so that what is measured is what compiled programs get.
//!
//! A runtime is never closed: its threads outlive every region. It reads its environment once, when it
//! is loaded, and takes the CPUs of the thread that loads it for those that there are; so each setting
//! needs a process of its own, whose threads nobody pins.

mod gomp;
mod kmpc;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use gomp::Gomp;
use kmpc::Kmpc;

use crate::library::Library;
pub use crate::library::NotLoaded;

/// A runtime in this process.
pub struct Runtime {
    path: PathBuf,
    calls: Calls,
}

/// Whose calls a runtime is called by.
enum Calls {
    /// Those that GCC emits.
    Gomp(Gomp),
    /// Those that Clang and Intel's compilers emit.
    Kmpc(Kmpc),
}

/// Whose calls a runtime answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// Those of GCC: `GOMP_parallel` and what belongs to it.
    Gomp,
    /// Those of Clang and Intel: `__kmpc_fork_call` and what belongs to it.
    Kmpc,
}

impl Runtime {
    /// Loads a library by its name, as the loader finds it, or by its path.
    ///
    /// A library that has the names of a runtime is trusted to be one.
    pub fn load(name: &str) -> Result<Runtime, NotLoaded> {
        let library = Library::open(name)?;
        // LLVM's runtime answers the calls of GCC, too, but its own are those that Clang makes.
        let calls = match Kmpc::of(&library) {
            Some(kmpc) => Calls::Kmpc(kmpc),
            None => Calls::Gomp(Gomp::of(&library).ok_or(NotLoaded::NoRuntime)?),
        };
        let anything = match calls {
            Calls::Gomp(_) => c"GOMP_parallel",
            Calls::Kmpc(_) => c"__kmpc_fork_call",
        };
        Ok(Runtime { path: library.path(anything).ok_or(NotLoaded::NoRuntime)?, calls })
    }

    /// The file that was loaded, without links on the way to it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whose calls are made.
    pub fn interface(&self) -> Interface {
        match self.calls {
            Calls::Gomp(_) => Interface::Gomp,
            Calls::Kmpc(_) => Interface::Kmpc,
        }
    }

    /// How many threads its next region has at most.
    pub fn threads_max(&self) -> u32 {
        match &self.calls {
            Calls::Gomp(gomp) => gomp.threads_max(),
            Calls::Kmpc(kmpc) => kmpc.threads_max(),
        }
    }

    /// How long a thread spins after its work before it sleeps, in milliseconds; none where the runtime
    /// has no such notion.
    pub fn block_time(&self) -> Option<u32> {
        match &self.calls {
            Calls::Gomp(_) => None,
            Calls::Kmpc(kmpc) => kmpc.block_time(),
        }
    }

    /// A parallel region, to be run as often as one likes.
    pub fn region<F: Fn(&Thread<'_>) + Sync>(&self, body: F) -> Region<'_, F> {
        Region(match &self.calls {
            Calls::Gomp(calls) => Prepared::Gomp(Shared { calls, body }),
            Calls::Kmpc(calls) => Prepared::Kmpc(Shared { calls, body }),
        })
    }
}

/// A parallel region: what its threads share, and how they are called together.
pub struct Region<'a, F>(Prepared<'a, F>);

enum Prepared<'a, F> {
    Gomp(Shared<'a, Gomp, F>),
    Kmpc(Shared<'a, Kmpc, F>),
}

/// What the threads of a region share. It is written once, and on lines of its own: one that the first
/// thread wrote before every region would be fetched anew by all others.
#[repr(align(128))]
struct Shared<'a, C, F> {
    calls: &'a C,
    body: F,
}

impl<F: Fn(&Thread<'_>) + Sync> Region<'_, F> {
    /// Every thread of the team executes the body. It returns when all are through. A panic in the body
    /// ends the process.
    #[inline]
    pub fn run(&self) {
        match &self.0 {
            Prepared::Gomp(shared) => gomp::parallel(shared),
            Prepared::Kmpc(shared) => kmpc::parallel(shared),
        }
    }
}

/// A thread within a region.
pub struct Thread<'a>(Caller<'a>);

enum Caller<'a> {
    Gomp(&'a Gomp),
    /// With the number that the runtime gave the thread.
    Kmpc(&'a Kmpc, i32),
}

impl Thread<'_> {
    /// Its number within the team.
    pub fn number(&self) -> u32 {
        match self.0 {
            Caller::Gomp(gomp) => gomp.number(),
            Caller::Kmpc(kmpc, _) => kmpc.number(),
        }
    }

    /// How many threads the team has.
    pub fn count(&self) -> u32 {
        match self.0 {
            Caller::Gomp(gomp) => gomp.count(),
            Caller::Kmpc(kmpc, _) => kmpc.count(),
        }
    }

    /// `#pragma omp barrier`: waits until every thread of the team is here.
    #[inline]
    pub fn barrier(&self) {
        match self.0 {
            Caller::Gomp(gomp) => gomp.barrier(),
            Caller::Kmpc(kmpc, number) => kmpc.barrier(number, kmpc::BARRIER),
        }
    }

    /// `#pragma omp for schedule(static) nowait`: the thread's part of so many iterations. A body without
    /// iterations is not called.
    #[inline]
    pub fn share(&self, iterations: u64, body: impl FnOnce(Range<u64>)) {
        match self.0 {
            Caller::Gomp(gomp) => gomp.share(iterations, body),
            Caller::Kmpc(kmpc, number) => kmpc.share(number, iterations, body),
        }
    }

    /// The barrier at the end of a loop that is not `nowait`.
    #[inline]
    pub fn barrier_of_loop(&self) {
        match self.0 {
            Caller::Gomp(gomp) => gomp.barrier(),
            Caller::Kmpc(kmpc, number) => kmpc.barrier(number, kmpc::BARRIER_OF_LOOP),
        }
    }

    /// What `reduction(+:sum)` does with the thread's part at the end of a region.
    #[inline]
    pub fn add(&self, sum: &Sum, part: f64) {
        match self.0 {
            Caller::Gomp(_) => sum.add_atomically(part),
            Caller::Kmpc(kmpc, number) => kmpc.add(number, sum, part),
        }
    }
}

/// A number that all threads of a team add to.
#[derive(Debug, Default)]
pub struct Sum(AtomicU64);

impl Sum {
    /// The sum, between two regions.
    pub fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    /// Adds, while others may do so, too: a loop of compare and exchange, as compilers emit it.
    #[inline]
    pub fn add_atomically(&self, part: f64) {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let wanted = (f64::from_bits(seen) + part).to_bits();
            let relaxed = Ordering::Relaxed;
            match self.0.compare_exchange_weak(seen, wanted, relaxed, relaxed) {
                Ok(_) => return,
                Err(other) => seen = other,
            }
        }
    }

    /// Adds, while the runtime keeps others away.
    #[inline]
    fn add_alone(&self, part: f64) {
        self.0.store((self.get() + part).to_bits(), Ordering::Relaxed);
    }
}
