//! The calls that GCC emits.

use std::ffi::{c_int, c_uint, c_void};
use std::ops::Range;

use super::{Caller, Shared, Thread};
use crate::library::Library;

type Outlined = unsafe extern "C" fn(*mut c_void);

/// The functions of libgomp that are called here.
#[derive(Clone, Copy)]
pub(super) struct Gomp {
    parallel: unsafe extern "C" fn(Outlined, *mut c_void, c_uint, c_uint),
    barrier: unsafe extern "C" fn(),
    thread_num: unsafe extern "C" fn() -> c_int,
    num_threads: unsafe extern "C" fn() -> c_int,
    max_threads: unsafe extern "C" fn() -> c_int,
}

unsafe extern "C" fn outlined<F: Fn(&Thread<'_>) + Sync>(data: *mut c_void) {
    // SAFETY: the runtime hands on what `parallel` gave it, which lives until all threads are through.
    let shared = unsafe { &*data.cast::<Shared<'_, Gomp, F>>() };
    (shared.body)(&Thread(Caller::Gomp(shared.calls)));
}

/// No number of threads, no flags: those of the environment, as without clauses.
#[inline]
pub(super) fn parallel<F: Fn(&Thread<'_>) + Sync>(shared: &Shared<'_, Gomp, F>) {
    let data = (&raw const *shared).cast_mut().cast();
    // SAFETY: `outlined` takes what `data` points to, which lives until the call returns, and shares
    // between threads only what may be shared.
    unsafe { (shared.calls.parallel)(outlined::<F>, data, 0, 0) };
}

impl Gomp {
    pub(super) fn of(library: &Library) -> Option<Gomp> {
        Some(Gomp {
            // SAFETY: GCC's libgomp/libgomp_g.h declares it so.
            parallel: unsafe { library.function(c"GOMP_parallel") }?,
            // SAFETY: the same.
            barrier: unsafe { library.function(c"GOMP_barrier") }?,
            // SAFETY: `omp.h` declares it so.
            thread_num: unsafe { library.function(c"omp_get_thread_num") }?,
            // SAFETY: the same.
            num_threads: unsafe { library.function(c"omp_get_num_threads") }?,
            // SAFETY: the same.
            max_threads: unsafe { library.function(c"omp_get_max_threads") }?,
        })
    }

    pub(super) fn threads_max(&self) -> u32 {
        // SAFETY: it may be called at any time.
        unsafe { (self.max_threads)() }.unsigned_abs()
    }

    pub(super) fn number(&self) -> u32 {
        // SAFETY: it may be called at any time.
        unsafe { (self.thread_num)() }.unsigned_abs()
    }

    pub(super) fn count(&self) -> u32 {
        // SAFETY: it may be called at any time.
        unsafe { (self.num_threads)() }.unsigned_abs()
    }

    #[inline]
    pub(super) fn barrier(&self) {
        // SAFETY: called within a region, as `Thread` exists there only.
        unsafe { (self.barrier)() };
    }

    /// GCC calls nobody for its static schedule, it computes.
    #[inline]
    pub(super) fn share(&self, iterations: u64, body: impl FnOnce(Range<u64>)) {
        let (count, number) = (u64::from(self.count()), u64::from(self.number()));
        let (each, more) = (iterations / count, iterations % count);
        let (each, before) = if number < more { (each + 1, 0) } else { (each, more) };
        let first = each * number + before;
        if each > 0 {
            body(first..first + each);
        }
    }
}
