//! How many threads, and on which CPUs.

pub use advice::threads::{
    Advice, CoreType, Proposal, Quota, STEPS, SiblingGain, SlowerCores, Unmeasured, Work,
};
use model::record::{Presentation, Record};

use crate::Error;
use crate::builder::{RunExtent, answers};

/// Finds out how many threads to use here: for this process as it stands, with its affinity and its quota.
///
/// # Errors
/// See [`Builder::run`](crate::Builder::run).
pub fn threads() -> Result<Threads, Error> {
    Threads::builder().run()
}

/// Numbers of threads by kind of work, with the CPUs for them.
///
/// ```
/// use cpudyno::threads::{Threads, Work};
///
/// let threads = Threads::builder().on("sim:quota").run()?;
/// let compute = threads.advice().of(Work::Vector).map(|it| it.threads);
/// assert_eq!(compute, Some(8));
/// # Ok::<(), cpudyno::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Threads {
    record: Record,
    advice: Advice,
}

impl Threads {
    fn of_record(record: Record) -> Threads {
        Threads { advice: advice::threads::advice(&record), record }
    }

    /// The advice.
    pub fn advice(&self) -> &Advice {
        &self.advice
    }
}

answers! {
    Threads of () as "threads", Threads, (), request;
}

fn request(
    (): (),
    RunExtent { cpus, budget }: RunExtent,
    command: Vec<String>,
    presentation: Presentation,
) -> measure::run::Request {
    measure::threads::request(budget, cpus, command, presentation)
}
