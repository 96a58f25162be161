//! What was worked, and what it drew.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{CpuId, Seconds};

/// What was worked; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Worked(Arc<Mutex<Log>>);

#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) cpus: BTreeMap<CpuId, Busy>,
    pub(crate) packages: BTreeMap<u32, Drawn>,
}

/// What a CPU did while it was not halted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Busy {
    /// For how long.
    pub seconds: f64,
    /// Cycles of its core.
    pub cycles: f64,
}

/// What a package drew, in joules, and at last, in watts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Drawn {
    pub(crate) package_joules: f64,
    pub(crate) dram_joules: f64,
    pub(crate) watts: f64,
    /// Its average over the time constant, and when that was; none: no job has loaded it.
    pub(crate) average: f64,
    pub(crate) since: Option<Seconds>,
    /// Whether PL1 and PL2 were met.
    pub(crate) met_long: bool,
    pub(crate) met_short: bool,
}

impl Drawn {
    /// Joules of idling since it was worked on last.
    pub(crate) fn idled(&self, idle_watts: f64, now: Seconds) -> f64 {
        (now - self.since.unwrap_or(Seconds(0.0))).0.max(0.0) * idle_watts
    }
}

impl Worked {
    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        // Sums are whole at any time.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is known of a package.
    pub(crate) fn note(&self, package: u32, change: impl FnOnce(&mut Drawn)) {
        change(self.log().packages.entry(package).or_default());
    }
}
