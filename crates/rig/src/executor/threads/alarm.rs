//! A thread that sleeps until a time.

use std::io;
use std::time::Duration;

use machine::instruments::idle::{IdleCount, IdleCounters};
use model::Seconds;
use sys::clock::Probe;
use sys::timer::{self, TimerFile};

use super::super::super::alarm::{Alarm, By, RawAlarm};
use super::super::super::exchange::Patience;
use super::super::super::job::{Around, Manner};
use super::super::RunError;
use super::{Meeting, Threads, difference};

/// The least that the kernel knows; 0 would mean the usual 50 us.
const SLACK: Duration = Duration::from_nanos(1);

impl<P: Probe> Threads<P> {
    /// Lets one thread sleep until each of its alarms.
    pub(super) fn sleep(&self, job: &Alarm) -> Result<RawAlarm, RunError> {
        let job = job.clone();
        let mut of_all = self.together(&[job.cpu], Manner::USUAL, move |_, meeting| {
            sleep(&job, meeting).map_err(|source| match source.kind() {
                io::ErrorKind::Interrupted => RunError::Interrupted,
                _ => RunError::Signal { method: job.id, cpu: job.cpu, source },
            })
        })?;
        of_all.pop().ok_or(RunError::Interrupted)
    }
}

fn sleep(job: &Alarm, meeting: &Meeting) -> io::Result<RawAlarm> {
    // It ends with this thread.
    timer::set_slack(SLACK)?;
    let file = TimerFile::new()?;
    let mut late = Vec::with_capacity(job.distances.len());
    let mut looks: Vec<Option<Vec<IdleCount>>> = Vec::with_capacity(job.distances.len() + 1);
    let before = sys::thread::usage().ok();
    let look = || job.look.as_deref().map(IdleCounters::read);
    looks.extend(look());
    for distance in &job.distances {
        meeting.check()?;
        let time = timer::now()? + Duration::from_secs_f64(distance.0);
        match job.by {
            By::Nanosleep => timer::sleep_until(time)?,
            By::TimerFile => file.sleep_until(time)?,
        }
        // Who sleeps until a time is never too early (clock_nanosleep(2), timerfd_create(2)).
        late.push(Seconds(timer::now()?.saturating_sub(time).as_secs_f64()));
        looks.extend(look());
    }
    let usage =
        before.zip(sys::thread::usage().ok()).map(|(before, after)| difference(before, after));
    let moved = sys::thread::current_cpu() != Some(job.cpu);
    let around = Around { settled: true, usage, migrations: u64::from(moved), ..Around::default() };
    let looks: Option<Vec<Vec<IdleCount>>> = looks.into_iter().collect();
    Ok(RawAlarm { late, around, looks: looks.unwrap_or_default() })
}
