//! What has happened on a simulated machine since it was made. Clones of a machine share it.

mod counting;
mod held;
mod idled;
mod settings;
mod worked;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{CpuSet, Seconds};

pub(crate) use self::counting::{CountedEvent, Counters, OpenCounter, Standing};
pub use self::counting::{Counting, SimulatedCounter};
pub use self::held::Held;
pub(crate) use self::held::{At, FirmwareItem};
pub use self::idled::{Idled, InState, LatencyRequest};
pub use self::settings::Settings;
pub(crate) use self::settings::{GOVERNORS, PREFERENCES, key};
pub(crate) use self::worked::Drawn;
pub use self::worked::{Busy, Worked};
use crate::files::Files;

/// Time that has passed on a simulated machine; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Elapsed(Arc<AtomicU64>);

impl Elapsed {
    const NANOSECOND: f64 = 1e-9;

    /// Lets time pass.
    pub fn advance(&self, duration: Seconds) {
        self.0.fetch_add((duration.0 / Self::NANOSECOND).round() as u64, Ordering::Relaxed);
    }

    /// The time that has passed since the machine was made.
    pub fn seconds(&self) -> Seconds {
        Seconds(self.0.load(Ordering::Relaxed) as f64 * Self::NANOSECOND)
    }
}

/// CPUs that somebody keeps busy meanwhile; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Occupied(Arc<Mutex<CpuSet>>);

impl Occupied {
    /// Keeps these busy from now on, and no others.
    pub fn set(&self, cpus: CpuSet) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = cpus;
    }

    pub(crate) fn cpus(&self) -> CpuSet {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Bytes that were read and written through the controllers of each package, beside what others move; clones share it.
#[derive(Debug, Clone, Default)]
pub struct MemoryTraffic(Arc<Mutex<BTreeMap<u32, [f64; 2]>>>);

impl MemoryTraffic {
    pub(crate) fn packages(&self) -> MutexGuard<'_, BTreeMap<u32, [f64; 2]>> {
        // Sums are whole at any time.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The files that a machine came with; none: it was described, and is no machine yet. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Came(pub(crate) Option<Arc<Files>>);
