//! The calls that Clang emits; Intel's compilers make the same.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::atomic::AtomicI32;

use super::{Caller, Shared, Sum, Thread};
use crate::library::Library;

/// Where in the source a construct stands, and which one it is: `ident_t`.
#[repr(C)]
pub(super) struct SourceLocation {
    reserved: i32,
    flags: i32,
    reserved_too: i32,
    length: i32,
    source: &'static [u8; 23],
}

impl SourceLocation {
    /// What Clang writes without debug information.
    const fn of(flags: i32) -> SourceLocation {
        let source = b";unknown;unknown;0;0;;\0";
        SourceLocation { reserved: 0, flags, reserved_too: 0, length: 22, source }
    }
}

// The flags as Clang sets them: `KMP_IDENT_KMPC` is 2, and more for some constructs.
static REGION: SourceLocation = SourceLocation::of(0x2);
static LOOP: SourceLocation = SourceLocation::of(0x2 | 0x200);
static REDUCTION: SourceLocation = SourceLocation::of(0x2 | 0x10);
/// `#pragma omp barrier`.
pub(super) static BARRIER: &SourceLocation = &SourceLocation::of(0x2 | 0x20);
/// The barrier at the end of a loop.
pub(super) static BARRIER_OF_LOOP: &SourceLocation = &SourceLocation::of(0x2 | 0x40);

type Outlined = unsafe extern "C" fn(*const i32, *const i32, *mut c_void);
/// The name of a critical section, which is all that the runtime keeps of it.
type Critical = [AtomicI32; 8];
type Combine = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// The functions of libomp that are called here.
#[derive(Clone, Copy)]
pub(super) struct Kmpc {
    fork_call: unsafe extern "C" fn(*const SourceLocation, i32, Outlined, ...),
    barrier: unsafe extern "C" fn(*const SourceLocation, i32),
    static_init: StaticInit,
    static_fini: unsafe extern "C" fn(*const SourceLocation, i32),
    reduce: Reduce,
    end_reduce: unsafe extern "C" fn(*const SourceLocation, i32, *const Critical),
    thread_num: unsafe extern "C" fn() -> c_int,
    num_threads: unsafe extern "C" fn() -> c_int,
    max_threads: unsafe extern "C" fn() -> c_int,
    block_time: Option<unsafe extern "C" fn() -> c_int>,
}

/// Source location, thread, schedule, whether last, first, last, stride, increment, chunk.
type StaticInit = unsafe extern "C" fn(
    *const SourceLocation,
    i32,
    i32,
    *mut i32,
    *mut i64,
    *mut i64,
    *mut i64,
    i64,
    i64,
);
/// Source location, thread, number of variables, their bytes, their addresses, how two are combined, a lock.
type Reduce = unsafe extern "C" fn(
    *const SourceLocation,
    i32,
    i32,
    usize,
    *mut c_void,
    Combine,
    *const Critical,
) -> i32;

unsafe extern "C" fn outlined<F: Fn(&Thread<'_>) + Sync>(
    number: *const i32,
    _within_team: *const i32,
    data: *mut c_void,
) {
    // SAFETY: the runtime hands on what `parallel` gave it, which lives until all threads are through.
    let shared = unsafe { &*data.cast::<Shared<'_, Kmpc, F>>() };
    // SAFETY: the runtime passes the address of the thread's number.
    let number = unsafe { *number };
    (shared.body)(&Thread(Caller::Kmpc(shared.calls, number)));
}

/// Without clauses, so that Clang emits no `__kmpc_push_num_threads` before it.
#[inline]
pub(super) fn parallel<F: Fn(&Thread<'_>) + Sync>(shared: &Shared<'_, Kmpc, F>) {
    let data: *mut c_void = (&raw const *shared).cast_mut().cast();
    // SAFETY: one argument is announced and one is given; `outlined` takes what it points to, which
    // lives until the call returns, and shares between threads only what may be shared.
    unsafe { (shared.calls.fork_call)(&raw const REGION, 1, outlined::<F>, data) };
}

/// Adds the second thread's part to the first one's.
unsafe extern "C" fn combine(one: *mut c_void, other: *mut c_void) {
    // SAFETY: both are lists of one address, as `add` made them, and nobody else uses them meanwhile.
    let one = unsafe { *one.cast::<*mut f64>() };
    // SAFETY: the same.
    let other = unsafe { *other.cast::<*const f64>() };
    // SAFETY: the addresses are those of the parts of two threads that wait for each other in `add`.
    let part = unsafe { *other };
    // SAFETY: the same.
    unsafe { *one += part };
}

impl Kmpc {
    pub(super) fn of(library: &Library) -> Option<Kmpc> {
        Some(Kmpc {
            // SAFETY: LLVM's openmp/runtime/src/kmp.h declares it so.
            fork_call: unsafe { library.function(c"__kmpc_fork_call") }?,
            // SAFETY: the same.
            barrier: unsafe { library.function(c"__kmpc_barrier") }?,
            // SAFETY: the same.
            static_init: unsafe { library.function(c"__kmpc_for_static_init_8") }?,
            // SAFETY: the same.
            static_fini: unsafe { library.function(c"__kmpc_for_static_fini") }?,
            // SAFETY: the same.
            reduce: unsafe { library.function(c"__kmpc_reduce_nowait") }?,
            // SAFETY: the same.
            end_reduce: unsafe { library.function(c"__kmpc_end_reduce_nowait") }?,
            // SAFETY: `omp.h` declares it so.
            thread_num: unsafe { library.function(c"omp_get_thread_num") }?,
            // SAFETY: the same.
            num_threads: unsafe { library.function(c"omp_get_num_threads") }?,
            // SAFETY: the same.
            max_threads: unsafe { library.function(c"omp_get_max_threads") }?,
            // SAFETY: LLVM's `omp.h` declares it so.
            block_time: unsafe { library.function(c"kmp_get_blocktime") },
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

    pub(super) fn block_time(&self) -> Option<u32> {
        // SAFETY: it may be called at any time.
        self.block_time.map(|block_time| unsafe { block_time() }.unsigned_abs())
    }

    #[inline]
    pub(super) fn barrier(&self, number: i32, place: &'static SourceLocation) {
        // SAFETY: called within a region by the thread of that number, as `Thread` exists there only.
        unsafe { (self.barrier)(place, number) };
    }

    #[inline]
    pub(super) fn share(&self, number: i32, iterations: u64, body: impl FnOnce(Range<u64>)) {
        /// `kmp_sch_static`: one piece for each thread.
        const STATIC: i32 = 34;
        if iterations == 0 {
            return;
        }
        let most = iterations as i64 - 1;
        let (mut is_last, mut first, mut last, mut stride) = (0, 0, most, 1);
        let ends = [&raw mut first, &raw mut last, &raw mut stride];
        // SAFETY: called within a region by the thread of that number; the addresses are of this stack.
        unsafe {
            (self.static_init)(
                &raw const LOOP,
                number,
                STATIC,
                &raw mut is_last,
                ends[0],
                ends[1],
                ends[2],
                1,
                1,
            );
        };
        let last = last.min(most);
        if first <= last {
            body(first as u64..last as u64 + 1);
        }
        // SAFETY: ends what was begun above.
        unsafe { (self.static_fini)(&raw const LOOP, number) };
    }

    #[inline]
    pub(super) fn add(&self, number: i32, sum: &Sum, mut part: f64) {
        static LOCK: Critical = [const { AtomicI32::new(0) }; 8];
        let mut list: [*mut f64; 1] = [&raw mut part];
        let variables = (&raw mut list).cast();
        // SAFETY: called within a region by the thread of that number; the list has one address of a
        // variable of 8 bytes, and `combine` takes two of its kind.
        let way = unsafe {
            (self.reduce)(&raw const REDUCTION, number, 1, 8, variables, combine, &raw const LOCK)
        };
        // SAFETY: other threads' parts may have been added to it meanwhile, by its address.
        let part = unsafe { list[0].read_volatile() };
        match way {
            1 => {
                sum.add_alone(part);
                // SAFETY: ends what was begun above.
                unsafe { (self.end_reduce)(&raw const REDUCTION, number, &raw const LOCK) };
            }
            2 => sum.add_atomically(part),
            _ => {}
        }
    }
}
