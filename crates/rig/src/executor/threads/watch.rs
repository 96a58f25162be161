//! Threads that read the clock, and note when it jumps.

use std::sync::Arc;

use machine::instruments::interruptions::{InterruptionCounters, InterruptionCounts};
use model::{CpuId, Seconds};
use sys::clock::Probe;
use sys::thread::{Usage, usage};

use super::super::super::job::{Around, Manner};
use super::super::super::watch::{GAPS_MAX, Gap, Polling, RawPolling, cause_of};
use super::super::RunError;
use super::{Meeting, Rig, Threads, difference};

/// Of the time, so much goes into looking up causes at most: of what comes faster, some are not looked up.
const LOOKING_MAX: f64 = 0.2;
/// Jumps as long as this are looked at, whether or not they count.
const NOTICED: Seconds = Seconds(1e-6);
/// Readings of the clock between two looks at whether the run goes on.
const UNTIL_CHECK: u32 = 1 << 12;

/// What was counted when a look ended.
struct Seen {
    usage: Option<Usage>,
    /// None where nobody looked since.
    counts: Option<InterruptionCounts>,
}

impl Seen {
    /// To look takes time, and may itself be interrupted: switches are counted again afterwards.
    fn now(counters: Option<&InterruptionCounters>) -> Seen {
        let counts = counters.and_then(InterruptionCounters::read);
        Seen { usage: usage().ok(), counts }
    }
}

impl<P: Probe> Threads<P> {
    /// Watches all CPUs at once.
    pub(super) fn poll(&self, job: &Polling) -> Result<Vec<RawPolling>, RunError> {
        let (rig, job) = (Arc::clone(&self.rig), job.clone());
        let cpus = job.cpus.clone();
        self.together(&cpus, Manner::USUAL, move |index, meeting| {
            rig.watch(&job, job.cpus[index], meeting)
        })
    }
}

impl<P: Probe> Rig<P> {
    /// Between two readings of the clock nothing happens but a comparison (invariant I3); after a jump, the cause.
    fn watch(&self, job: &Polling, cpu: CpuId, meeting: &Meeting) -> Result<RawPolling, RunError> {
        let counters = job.counters.get(&cpu).map(|counters| &**counters);
        let (time, shortest) = (self.ticks_in(job.time), self.ticks_in(job.shortest).max(1));
        // What is too short to count has come all the same: it is no cause of a longer gap.
        let noticed = shortest.min(self.ticks_in(NOTICED));
        let seconds = |ticks: u64| Seconds(ticks as f64 / self.rate.hertz().0);
        // Memory that is touched for the first time would be a gap.
        let mut gaps: Vec<Gap> = Vec::with_capacity(1 << 12);
        let begun_with = usage().ok();
        let mut seen = Seen::now(counters);
        meeting.wait()?;
        let begun = self.probe.stamp();
        let (mut last, mut lost, mut looking, mut polls) = (begun, 0, 0, 0_u32);
        while last.saturating_sub(begun) < time {
            let now = self.probe.stamp();
            let step = now.saturating_sub(last);
            last = now;
            if step >= noticed {
                // A cause takes two looks in a row.
                let may_look =
                    seen.counts.is_some() || (looking as f64) < LOOKING_MAX * (now - begun) as f64;
                let switches = seen.usage.zip(usage().ok());
                let next = Seen::now(counters.filter(|_| may_look));
                let came = counters
                    .zip(seen.counts.as_ref())
                    .zip(next.counts.as_ref())
                    .map(|((counters, before), after)| counters.between(before, after));
                let cause = cause_of(switches, came.as_ref());
                if step >= shortest {
                    lost += step;
                }
                if step >= shortest && gaps.len() < GAPS_MAX {
                    gaps.push(Gap { length: seconds(step), cause });
                }
                seen = next;
                last = self.probe.stamp();
                looking += last.saturating_sub(now);
            }
            polls = polls.wrapping_add(1);
            if polls % UNTIL_CHECK == 0 && meeting.given_up() {
                return Err(RunError::Interrupted);
            }
        }
        let watched = seconds(last.saturating_sub(begun).saturating_sub(looking));
        let both = begun_with.zip(usage().ok());
        let moved = u64::from(sys::thread::current_cpu() != Some(cpu));
        let around = Around {
            settled: true,
            usage: both.map(|(before, after)| difference(before, after)),
            migrations: moved,
            ..Around::default()
        };
        Ok(RawPolling { cpu, watched, lost: seconds(lost), gaps, around })
    }
}
