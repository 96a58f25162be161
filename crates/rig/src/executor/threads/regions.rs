//! Teams in processes of their own.

use std::time::Duration;

use model::{Obstacle, Unavailable};
use sys::clock::Probe;

use super::super::super::regions::{RawRegions, Regions};
use super::super::RunError;
use super::Threads;
use crate::child::{self, ChildAnswer, ChildWork, Failed};

/// Beyond what is planned: other programs may have the CPUs for a while.
const PATIENCE: Duration = Duration::from_secs(10);
const PATIENCE_FACTOR: f64 = 4.0;

impl<P: Probe> Threads<P> {
    /// A child for each job: runtimes read their settings once.
    pub(super) fn in_a_child(
        &self,
        job: &Regions,
    ) -> Result<Result<RawRegions, Unavailable>, RunError> {
        let Regions { team, cpus, effort, .. } = job.clone();
        let Some(program) = &job.worker else { return Ok(Err(nobody())) };
        let work = ChildWork::Regions { team, cpus, effort };
        let planned = (effort.duration().0 * PATIENCE_FACTOR).clamp(0.0, 86_400.0);
        let limit = PATIENCE + Duration::from_secs_f64(planned);
        let rest = self.patience().and_then(|limit| Duration::try_from_secs_f64(limit.0).ok());
        let limit = rest.map_or(limit, |rest| rest.min(limit));
        let why = match child::ask(program, work, &job.environment(), limit, &self.rig.stop) {
            Ok(answered) => match answered.answer {
                ChildAnswer::Regions(raw) => return Ok(Ok(raw)),
                ChildAnswer::Cannot(why) | ChildAnswer::NotFound(why) => why,
                ChildAnswer::Library(_) => "the child process gave an unexpected answer".to_owned(),
            },
            Err(Failed::Interrupted) => return Err(RunError::Interrupted),
            Err(failed) => format!("the child process failed: {failed}"),
        };
        Ok(Err(Unavailable::new(Obstacle::Measurement, "parallel regions", why)))
    }
}

/// There is no program to start.
pub fn nobody() -> Unavailable {
    let why = "each setting needs a process of its own, and no program was given for it";
    Unavailable::new(Obstacle::Cpudyno, "parallel regions", why)
}
