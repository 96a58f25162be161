//! What all threads share: sets of regions, and the strings that callers have not freed. One lock holds it, which no
//! call takes that enters or leaves a region.

use std::cell::Cell;
use std::collections::HashSet;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, Once, PoisonError};

use pmu::counting::{RegionPlan, RegionSums};

use crate::status::{CallError, CdStatus};

/// How many sets of regions may be open at once.
pub(crate) const SETS_MAX: usize = 64;

/// The handle that is open in each place; 0: none.
static OPEN: [AtomicU64; SETS_MAX] = [const { AtomicU64::new(0) }; SETS_MAX];
/// How many regions the set of each place has.
static NAMED: [AtomicU32; SETS_MAX] = [const { AtomicU32::new(0) }; SETS_MAX];
/// How many forks lie between the first process that loaded this library and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

static LIBRARY: LazyLock<Mutex<Library>> = LazyLock::new(|| {
    let sets = [const { None }; SETS_MAX];
    Mutex::new(Library { sets, texts: HashSet::new(), given: 0, measuring: (0, 0) })
});

/// What all threads share.
pub(crate) struct Library {
    /// By their places.
    pub(crate) sets: [Option<RegionSet>; SETS_MAX],
    /// Addresses of strings that callers own.
    pub(crate) texts: HashSet<usize>,
    /// Handles that were given.
    given: u64,
    /// How many calls measure, after how many forks.
    measuring: (u32, u32),
}

/// Regions that are counted with one set of events.
pub(crate) struct RegionSet {
    pub(crate) handle: u64,
    /// None: this machine.
    pub(crate) machine: Option<Arc<str>>,
    pub(crate) plan: Arc<RegionPlan>,
    /// The names of the regions, by their numbers.
    pub(crate) names: Vec<String>,
    /// What threads have summed, those of a process before a fork among them.
    threads: Vec<(u32, Arc<RegionSums>)>,
}

/// Does something with it. Nothing in it may call this again.
pub(crate) fn locked<T>(work: impl FnOnce(&mut Library) -> T) -> T {
    static AT_FORK: Once = Once::new();
    AT_FORK.call_once(|| {
        // SAFETY: the three functions live as long as the library; glibc takes them back when it is unloaded.
        // That there is no memory for them is not worth a refusal: forks are rare.
        unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
    });
    work(&mut lock())
}

fn lock() -> MutexGuard<'static, Library> {
    // Whoever panicked while it was locked had changed one field at most.
    LIBRARY.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// The lock, while this thread forks.
    static HELD: Cell<Option<ManuallyDrop<MutexGuard<'static, Library>>>> = const { Cell::new(None) };
}

/// Nobody else may have the lock while the process is copied: nobody in the copy would give it back.
extern "C" fn before_fork() {
    HELD.with(|held| held.set(Some(ManuallyDrop::new(lock()))));
}

extern "C" fn in_parent() {
    if let Some(guard) = HELD.with(Cell::take) {
        drop(ManuallyDrop::into_inner(guard));
    }
}

extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    in_parent();
}

/// How many forks lie behind this process: what a thread opened before the last one belongs to the parent, and the pages
/// of its counters are not there.
#[inline]
pub(crate) fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// The place of a handle.
#[inline]
pub(crate) fn place(handle: u64) -> usize {
    (handle % SETS_MAX as u64) as usize
}

/// Whether a handle is open.
#[inline]
pub(crate) fn is_open(handle: u64) -> bool {
    handle != 0 && OPEN[place(handle)].load(Ordering::Acquire) == handle
}

/// How many regions the set in a place has.
#[inline]
pub(crate) fn named(place: usize) -> u32 {
    NAMED[place].load(Ordering::Acquire)
}

/// What a handle is that is not open.
pub(crate) const NO_SUCH_SET: CallError = CallError::Plain(
    CdStatus::CdErrorHandle,
    "these regions are not open: they were closed, or never opened",
);

impl Library {
    /// Opens a set, and gives its handle.
    pub(crate) fn open(
        &mut self,
        machine: Option<Arc<str>>,
        plan: Arc<RegionPlan>,
    ) -> Result<u64, CallError> {
        let free = self.sets.iter().position(Option::is_none).ok_or(CallError::Plain(
            CdStatus::CdErrorState,
            "64 sets of regions are open, and there is no room for more\nhint: close one: cd_regions_close()",
        ))?;
        self.given += 1;
        let handle = self.given * SETS_MAX as u64 + free as u64;
        let (names, threads) = (Vec::new(), Vec::new());
        self.sets[free] = Some(RegionSet { handle, machine, plan, names, threads });
        NAMED[free].store(0, Ordering::Release);
        OPEN[free].store(handle, Ordering::Release);
        Ok(handle)
    }

    /// Closes a set.
    pub(crate) fn close(&mut self, handle: u64) -> Result<(), CallError> {
        self.set(handle)?;
        OPEN[place(handle)].store(0, Ordering::Release);
        self.sets[place(handle)] = None;
        Ok(())
    }

    /// The set of a handle.
    pub(crate) fn set(&mut self, handle: u64) -> Result<&mut RegionSet, CallError> {
        let set = self.sets[place(handle)].as_mut();
        set.filter(|set| set.handle == handle).ok_or(NO_SUCH_SET)
    }
}

impl Library {
    /// Begins to measure; whether nothing else in this process does.
    pub(crate) fn begin_measuring(&mut self) -> bool {
        if self.measuring.0 != forks() {
            // The threads that measured are the parent's.
            self.measuring = (forks(), 0);
        }
        self.measuring.1 += 1;
        self.measuring.1 == 1
    }

    /// Ends it.
    pub(crate) fn end_measuring(&mut self) {
        self.measuring.1 = self.measuring.1.saturating_sub(1);
    }
}

impl RegionSet {
    /// The number of the region of that name, which it has from the first time on.
    pub(crate) fn number(&mut self, name: &str, most: usize) -> Result<u32, CallError> {
        if let Some(at) = self.names.iter().position(|known| known == name) {
            return Ok(at as u32);
        }
        if name.is_empty() || name.contains(char::is_control) {
            let why = format!("region {name:?} has no name that fits into a line");
            return Err(CallError::Worded(CdStatus::CdErrorArgument, why));
        }
        if self.names.len() == most {
            let why = format!("region `{name}` is one too many: there is room for {most}");
            return Err(CallError::Worded(CdStatus::CdErrorState, why));
        }
        self.names.push(name.to_owned());
        NAMED[place(self.handle)].store(self.names.len() as u32, Ordering::Release);
        Ok(self.names.len() as u32 - 1)
    }

    /// Adds what a thread sums.
    pub(crate) fn join(&mut self, sums: Arc<RegionSums>) {
        self.threads.push((forks(), sums));
    }

    /// What threads of this process sum, in the order in which they came.
    pub(crate) fn threads(&self) -> Vec<Arc<RegionSums>> {
        let forks = forks();
        let ours = self.threads.iter().filter(|(of, _)| *of == forks);
        ours.map(|(_, sums)| Arc::clone(sums)).collect()
    }
}
