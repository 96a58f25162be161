//! Teams: those of OpenMP runtimes, and our own.

use std::ops::Range;

use model::CpuId;
use sys::openmp::{NotLoaded, Runtime, Sum, Thread};

use super::own::Crew;
use crate::regions;

/// A thread within a region.
pub(super) trait Member {
    fn number(&self) -> u32;
    fn count(&self) -> u32;
    fn barrier(&self);
    fn barrier_of_loop(&self);
    fn share(&self, iterations: u64, body: &mut dyn FnMut(Range<u64>));
    fn add(&self, sum: &Sum, part: f64);
}

impl Member for Thread<'_> {
    fn number(&self) -> u32 {
        Thread::number(self)
    }

    fn count(&self) -> u32 {
        Thread::count(self)
    }

    fn barrier(&self) {
        Thread::barrier(self);
    }

    fn barrier_of_loop(&self) {
        Thread::barrier_of_loop(self);
    }

    fn share(&self, iterations: u64, body: &mut dyn FnMut(Range<u64>)) {
        Thread::share(self, iterations, body);
    }

    fn add(&self, sum: &Sum, part: f64) {
        Thread::add(self, sum, part);
    }
}

/// A team.
pub(super) enum Team {
    Runtime(Runtime),
    Own(Crew),
}

impl Team {
    pub(super) fn new(team: &regions::Team, cpus: &[CpuId]) -> Result<Team, String> {
        match team {
            regions::Team::Library(library) => match Runtime::load(library) {
                Ok(runtime) => Ok(Team::Runtime(runtime)),
                Err(NotLoaded::Refused(why)) => Err(format!("cannot load {library}: {why}")),
                Err(NotLoaded::NoRuntime) => Err(format!("{library} has no OpenMP interface")),
            },
            regions::Team::Spinning => Crew::new(cpus, false).map(Team::Own),
            regions::Team::Sleeping => Crew::new(cpus, true).map(Team::Own),
        }
    }

    /// Lets `lead` have what executes one region with that body.
    pub(super) fn lead<R>(
        &self,
        body: &(dyn Fn(&dyn Member) + Sync),
        lead: impl FnOnce(&dyn Fn()) -> R,
    ) -> Result<R, String> {
        match self {
            Team::Runtime(runtime) => {
                let region = runtime.region(|thread: &Thread<'_>| body(thread));
                Ok(lead(&|| region.run()))
            }
            Team::Own(crew) => crew.lead(body, lead),
        }
    }
}
