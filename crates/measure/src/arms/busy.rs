//! CPUs that are kept busy beside what is compared: a clock is shared with those who work.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use machine::Machine;
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};

/// A load on CPUs, until it is dropped.
pub(super) struct Busy<'m> {
    machine: &'m Machine,
    cpus: CpuSet,
    /// A thread on each; a simulated machine has none.
    threads: BTreeMap<CpuId, Load>,
}

impl<'m> Busy<'m> {
    /// On no CPU yet.
    pub(super) fn nowhere(machine: &'m Machine) -> Busy<'m> {
        Busy { machine, cpus: CpuSet::default(), threads: BTreeMap::new() }
    }

    /// Keeps these CPUs busy from now on, and no others.
    pub(super) fn keep(&mut self, cpus: &CpuSet) -> Reading<()> {
        if self.cpus == *cpus {
            return Ok(());
        }
        if let Some(model) = &self.machine.simulated {
            model.occupied.set(cpus.clone());
        } else {
            self.threads.retain(|cpu, _| cpus.contains(*cpu));
            for cpu in cpus.difference(&self.cpus).iter() {
                self.threads.insert(cpu, Load::begin(cpu)?);
            }
        }
        self.cpus = cpus.clone();
        Ok(())
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        if let Some(model) = &self.machine.simulated {
            model.occupied.set(CpuSet::default());
        }
    }
}

/// A thread that works on one CPU, until it is dropped.
struct Load {
    thread: Option<JoinHandle<()>>,
    over: Arc<AtomicBool>,
}

impl Load {
    /// From now on.
    fn begin(cpu: CpuId) -> Reading<Load> {
        let over = Arc::new(AtomicBool::new(false));
        let (sender, pinned) = std::sync::mpsc::channel();
        let until = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            drop(sender.send(sys::affinity::pin(cpu)));
            work(&until);
        });
        let load = Load { thread: Some(thread), over };
        match pinned.recv() {
            Ok(Err(error)) => {
                let why = format!("pinning a thread to CPU {cpu}: {}", sys::errno::words(&error));
                Err(Unavailable::new(Obstacle::Permission, "load beside", why)
                    .with_remedy("choose among CPUs that this process may use: --busy LIST"))
            }
            Ok(Ok(())) | Err(_) => Ok(load),
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        drop(self.thread.take().map(JoinHandle::join));
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
