//! Open counters.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::CpuId;
use model::counters::Needs;
use sys::perf_open::{Count, Modes};
use sys::perf_page::extended;

/// The open counters of a simulated machine; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Counting(Arc<Mutex<Counters>>);

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) open: BTreeMap<u64, OpenCounter>,
    pub(crate) next: u64,
    /// How often something was executed.
    pub(crate) executed: u64,
    /// How many groups of the cores' counters were opened.
    pub(crate) groups: u64,
    /// Where the thread runs; none: wherever the scheduler likes, which is the first CPU.
    pub(crate) cpu: Option<CpuId>,
}

#[derive(Debug)]
pub(crate) struct OpenCounter {
    pub(crate) counts: CountedEvent,
    /// The CPU of which it counts what everybody does; none: it counts the thread.
    pub(crate) on: Option<CpuId>,
    pub(crate) modes: Modes,
    pub(crate) leader: Option<u64>,
    pub(crate) pinned: bool,
    pub(crate) state: Standing,
    /// The share of what happens that the host lets this group see.
    pub(crate) seen: f64,
    /// Whether it runs backwards.
    pub(crate) falls: bool,
    pub(crate) width: u32,
    pub(crate) hardware: u64,
    pub(crate) offset: u64,
    pub(crate) enabled_ns: u64,
    pub(crate) running_ns: u64,
}

/// How a counter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It waits for its start, or for that of its leader.
    Open,
    /// It counts where there is a place for it.
    Started,
    /// It was pinned and lost its place: nothing brings it back.
    Lost,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CountedEvent {
    /// An event of the PMU at this place among the machine's.
    Core(usize, String, Needs),
    /// `perf_sw_ids`.
    Software(u64),
}

impl Counting {
    pub(crate) fn state(&self) -> MutexGuard<'_, Counters> {
        // Counts are whole at any time.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A counter of a simulated machine; it is closed when it is dropped.
#[derive(Debug)]
pub struct SimulatedCounter {
    pub(crate) id: u64,
    pub(crate) counting: Counting,
}

impl SimulatedCounter {
    /// What it says now.
    ///
    /// # Error
    /// The end of the file where it was pinned and has lost its place.
    pub fn read(&self) -> io::Result<Count> {
        let state = self.counting.state();
        let open = state.open.get(&self.id).filter(|open| open.state != Standing::Lost);
        let open = open.ok_or(io::ErrorKind::UnexpectedEof)?;
        let value = extended(open.offset, open.hardware, open.width as u16);
        Ok(Count { value, enabled_ns: open.enabled_ns, running_ns: open.running_ns })
    }

    /// Lets it and the group that it leads count from now on.
    pub fn start_group(&self) {
        if let Some(open) = self.counting.state().open.get_mut(&self.id) {
            open.state = Standing::Started;
        }
    }
}

impl Drop for SimulatedCounter {
    fn drop(&mut self) {
        self.counting.state().open.remove(&self.id);
    }
}
