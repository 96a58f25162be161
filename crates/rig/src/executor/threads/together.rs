//! Threads that begin together, wait for each other, and have to end in time.
//!
//! A thread that does not end cannot be ended: a system call that hangs is the kernel's. Threads share with who
//! starts them only what they keep themselves, so that such a one is left behind, and everything else goes on.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use model::CpuId;
use sys::clock::Probe;

use super::super::super::job::Manner;
use super::super::{RunError, STACK_BYTES, Stop};
use super::Threads;

/// A thread, and where it runs.
pub(super) type Started<T> = (CpuId, JoinHandle<Result<T, RunError>>);

/// What is dropped when the last of some threads has ended: nobody sends anything.
pub(super) type ThreadsEnded = Receiver<Infallible>;

impl<P: Probe> Threads<P> {
    /// Starts one thread for each CPU, pins it if asked to, and lets all of them begin together.
    pub(super) fn together<T: Send + 'static>(
        &self,
        cpus: &[CpuId],
        manner: Manner,
        body: impl Fn(usize, &Meeting) -> Result<T, RunError> + Send + Sync + 'static,
    ) -> Result<Vec<T>, RunError> {
        let meeting = Arc::new(Meeting::new(cpus, manner.together, self.rig.stop.clone()));
        let body = Arc::new(body);
        let (until_end, ended) = channel();
        let mut threads = Vec::with_capacity(cpus.len());
        let mut spawn_error = None;
        for (index, &cpu) in cpus.iter().enumerate() {
            let thread = Builder::new().name(format!("cpu {cpu}")).stack_size(STACK_BYTES);
            let (meeting_of_all, body) = (Arc::clone(&meeting), Arc::clone(&body));
            let until_end = until_end.clone();
            let begun = thread.spawn(move || {
                let _until_end = until_end;
                let attendance = Attendance(&meeting_of_all);
                if manner.pinned {
                    sys::affinity::pin(cpu).map_err(|source| RunError::Pin { cpu, source })?;
                }
                meeting_of_all.wait()?;
                let result = body(index, &meeting_of_all)?;
                attendance.kept();
                Ok(result)
            });
            match begun {
                Ok(thread) => threads.push((cpu, thread)),
                Err(source) => {
                    meeting.abandon();
                    spawn_error = Some(RunError::Spawn { cpu, source });
                    break;
                }
            }
        }
        drop(until_end);
        let results = self.ends(threads, &ended, || meeting.abandon())?;
        match spawn_error {
            Some(error) => Err(error),
            None => first_cause(results),
        }
    }

    /// What threads end with, unless they take too long: then they are given up, and left where they do not notice
    /// that soon.
    pub(super) fn ends<T>(
        &self,
        threads: Vec<Started<T>>,
        ended: &ThreadsEnded,
        give_up: impl FnOnce(),
    ) -> Result<Vec<Result<T, RunError>>, RunError> {
        /// Threads look between repetitions whether they were given up. When all time is over nobody measures after them.
        const NOTICE: Duration = Duration::from_secs(1);
        const NOTICE_LAST: Duration = Duration::from_millis(200);
        let is_late = |wait| self.rig.pulse.is_late(ended, wait);
        let limit = self.patience();
        // A limit that no clock can hold is none.
        let wait = limit.and_then(|limit| Duration::try_from_secs_f64(limit.0).ok());
        if is_late(wait)
            && let Some(limit) = limit
        {
            give_up();
            let cpus = threads.iter().map(|(cpu, _)| *cpu).collect();
            // Those that end now end with what nobody needs any more.
            let still = is_late(Some(if self.is_over() { NOTICE_LAST } else { NOTICE }));
            let left = threads.iter().filter(|(_, thread)| still && !thread.is_finished());
            return Err(self.late(cpus, left.map(|(cpu, _)| *cpu).collect(), limit));
        }
        let join = |(_, thread): Started<T>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        Ok(threads.into_iter().map(join).collect())
    }
}

/// All values, or the error that made the others give up.
fn first_cause<T>(results: Vec<Result<T, RunError>>) -> Result<Vec<T>, RunError> {
    let mut values = Vec::with_capacity(results.len());
    let mut error = None;
    for result in results {
        match (result, &error) {
            (Ok(value), _) => values.push(value),
            (Err(cause), None | Some(RunError::Interrupted)) => error = Some(cause),
            (Err(_), Some(_)) => {}
        }
    }
    error.map_or(Ok(values), Err)
}

/// Where threads wait for each other: hot, because a futex would put the cores to sleep.
pub(super) struct Meeting {
    members: usize,
    /// Whether members wait at all.
    together: bool,
    /// Looks at the others before this one lets them have its CPU.
    spins: u32,
    arrived: AtomicU64,
    abandoned: AtomicBool,
    stop: Stop,
}

/// Whoever leaves early, by an error or by a panic, must not leave the others waiting for it.
struct Attendance<'a>(&'a Meeting);

impl Attendance<'_> {
    /// Nobody waits for this thread any more.
    fn kept(self) {
        std::mem::forget(self);
    }
}

impl Drop for Attendance<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl Meeting {
    fn new(cpus: &[CpuId], together: bool, stop: Stop) -> Self {
        /// With fewer CPUs than threads (a cgroup quota) the others need ours to arrive at all.
        const SPINS_BEFORE_YIELD: u32 = 100_000;
        let distinct: BTreeSet<CpuId> = cpus.iter().copied().collect();
        let members = cpus.len();
        let spins = if distinct.len() < members { 0 } else { SPINS_BEFORE_YIELD };
        let (arrived, abandoned) = (AtomicU64::new(0), AtomicBool::new(false));
        Meeting { members, together, spins, arrived, abandoned, stop }
    }

    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
    }

    pub(super) fn given_up(&self) -> bool {
        self.abandoned.load(Ordering::Acquire) || self.stop.asked()
    }

    /// Waits until every member has come here as often as this one.
    pub(super) fn wait(&self) -> Result<(), RunError> {
        self.wait_doing(|| {
            std::hint::spin_loop();
        })
    }

    /// The same, doing something useful meanwhile.
    pub(super) fn wait_doing(&self, mut meanwhile: impl FnMut()) -> Result<(), RunError> {
        let members = self.members as u64;
        let ticket = self.arrived.fetch_add(1, Ordering::AcqRel);
        let full = (ticket / members + 1) * members;
        let mut spins = 0;
        while self.together && self.arrived.load(Ordering::Acquire) < full {
            if self.given_up() {
                return Err(RunError::Interrupted);
            }
            meanwhile();
            spins += 1;
            if spins > self.spins {
                std::thread::yield_now();
            }
        }
        if self.given_up() { Err(RunError::Interrupted) } else { Ok(()) }
    }
}
