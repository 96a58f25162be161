//! What a thread has of each set of regions: its counters, found without a lock.

use std::cell::Cell;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{Ordering, compiler_fence};

use machine::Machine;
use pmu::counting::RegionCounters;

use crate::library::{self, NO_SUCH_SET, SETS_MAX};
use crate::status::{CallError, CdStatus};

/// The counters of a thread for one set.
pub(crate) struct ThreadSet {
    handle: u64,
    /// How many forks lay behind the process that opened them.
    forks: u32,
    pub(crate) counters: RegionCounters,
}

thread_local! {
    /// By the places of sets. Nothing is called when the thread ends: the guard frees them.
    static SETS: [Cell<*const ThreadSet>; SETS_MAX] =
        const { [const { Cell::new(ptr::null()) }; SETS_MAX] };
    static GUARD: Guard = const { Guard };
}

struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        (0..SETS_MAX).for_each(free);
    }
}

/// Closes the counters of this thread in a place.
pub(crate) fn free(place: usize) {
    let old = SETS.with(|sets| sets[place].replace(ptr::null()));
    // A signal handler of this thread finds it no more from here on.
    compiler_fence(Ordering::SeqCst);
    if old.is_null() {
        return;
    }
    // SAFETY: `open` made it by `into_raw` and put it there alone, from where it was just taken.
    let old = unsafe { Box::from_raw(old.cast_mut()) };
    if old.forks != library::forks() {
        // The pages of these counters are the parent's: nothing may be unmapped where they were.
        std::mem::forget(old);
    }
}

/// The counters of this thread for a set, which are opened where they are not yet.
#[inline]
pub(crate) fn with<T>(
    handle: u64,
    work: impl FnOnce(&ThreadSet) -> Result<T, CallError>,
) -> Result<T, CallError> {
    let set = SETS.with(|sets| sets[library::place(handle)].get());
    if !set.is_null() {
        // SAFETY: only this thread frees it, in `free`: when it ends, opens or closes, which nothing inside `work` does.
        let set = unsafe { &*set };
        if set.handle == handle && set.forks == library::forks() {
            return if library::is_open(handle) { work(set) } else { Err(NO_SUCH_SET) };
        }
    }
    open(handle)?;
    let set = SETS.with(|sets| sets[library::place(handle)].get());
    // SAFETY: `open` put it there; as above.
    work(unsafe { &*set })
}

#[cold]
fn open(handle: u64) -> Result<(), CallError> {
    if GUARD.try_with(|_| ()).is_err() {
        return Err(CallError::Plain(CdStatus::CdErrorState, "this thread is ending"));
    }
    let (name, plan) = library::locked(|library| {
        let set = library.set(handle)?;
        Ok::<_, CallError>((set.machine.clone(), Arc::clone(&set.plan)))
    })?;
    let counters = RegionCounters::open(machine(name.as_deref())?, &plan)?;
    library::locked(|library| library.set(handle).map(|set| set.join(counters.sums())))?;
    let place = library::place(handle);
    free(place);
    let set = Box::new(ThreadSet { handle, forks: library::forks(), counters });
    SETS.with(|sets| sets[place].set(Box::into_raw(set)));
    Ok(())
}

/// A machine by its name; none: this one.
pub(crate) fn machine(name: Option<&str>) -> Result<Machine, CallError> {
    let Some(name) = name else { return Ok(Machine::real()) };
    let near = "machines: NULL for this one, or a simulated one such as `sim:2s-56c`";
    Machine::named(name).map_err(|error| {
        CallError::Worded(CdStatus::CdErrorArgument, format!("{error}\nhint: {near}"))
    })
}
