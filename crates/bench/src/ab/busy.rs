//! CPUs that are kept busy beside what is compared: a clock is shared with those who work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use machine::Machine;
use machine::simulated::Occupied;
use model::{CpuSet, Obstacle, Unavailable};

/// A load on CPUs, until it is dropped.
pub(super) enum Busy {
    Threads { threads: Vec<JoinHandle<()>>, over: Arc<AtomicBool> },
    Simulated(Occupied),
}

impl Busy {
    /// Keeps these CPUs busy, a thread each.
    pub(super) fn begin(machine: &Machine, cpus: &CpuSet) -> Result<Busy, Unavailable> {
        if let Some(model) = &machine.simulated {
            model.occupied.set(cpus.clone());
            return Ok(Busy::Simulated(model.occupied.clone()));
        }
        let over = Arc::new(AtomicBool::new(false));
        let mut busy = Busy::Threads { threads: Vec::new(), over: Arc::clone(&over) };
        for cpu in cpus.iter() {
            let (sender, pinned) = std::sync::mpsc::channel();
            let over = Arc::clone(&over);
            let thread = std::thread::spawn(move || {
                drop(sender.send(sys::affinity::pin(cpu)));
                work(&over);
            });
            if let Busy::Threads { threads, .. } = &mut busy {
                threads.push(thread);
            }
            if let Ok(Err(error)) = pinned.recv() {
                let why = format!("pinning a thread to CPU {cpu}: {}", sys::errno::words(&error));
                return Err(Unavailable::new(Obstacle::Permission, "load beside", why)
                    .with_remedy("choose among CPUs that this process may use: --busy LIST"));
            }
        }
        Ok(busy)
    }
}

/// A chain of multiplies, which leaves no part of the core idle for long and touches no memory.
fn work(over: &AtomicBool) {
    /// Some microseconds between two looks.
    const STEPS: u32 = 4096;
    let mut value = 1u64;
    while !over.load(Ordering::Relaxed) {
        for _ in 0..STEPS {
            value = std::hint::black_box(value.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        match self {
            Busy::Simulated(occupied) => occupied.set(CpuSet::default()),
            Busy::Threads { threads, over } => {
                over.store(true, Ordering::Relaxed);
                for thread in threads.drain(..) {
                    drop(thread.join());
                }
            }
        }
    }
}
