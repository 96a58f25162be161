//! The same for many, by all CPUs.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is made of each number, by as many threads as there are CPUs, in their order.
pub(crate) fn each<T: Send>(count: usize, made: impl Fn(usize) -> T + Sync) -> Vec<T> {
    each_with(count, || (), |number, ()| made(number))
}

/// The same, where each thread has something of its own, such as a buffer that grows to what is longest. The first
/// thread is the caller's: where threads are scarce it does all.
pub fn each_with<S, T: Send>(
    count: usize,
    own: impl Fn() -> S + Sync,
    made: impl Fn(usize, &mut S) -> T + Sync,
) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(count);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(count)));
    let work = || {
        let mut own = own();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            let made = made(number, &mut own);
            done.lock().expect("BUG: nobody panics with the lock").push((number, made));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut done = done.into_inner().expect("BUG: nobody panics with the lock");
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, made)| made).collect()
}
