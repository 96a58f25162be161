//! Whether every core computes right: streams and memory kernels on each CPU, every answer compared with one that other
//! CPUs computed. It keeps all CPUs busy.
//!
//! ```
//! use cpudyno::Seconds;
//! use cpudyno::verify::Verified;
//!
//! let answers = Verified::builder().on("sim:faulty").budget(Seconds(60.0)).run()?;
//! assert_eq!(answers.faulty().to_string(), "2");
//! let wrong = &answers.wrong()[0];
//! println!("CPU {}, {}: {} of {} calls wrong", wrong.cpu, wrong.workload, wrong.wrong, wrong.calls);
//! # Ok::<(), cpudyno::Error>(())
//! ```

use measure::verify::{TIME, Verifying, ids, named};
use model::CpuSet;
use model::record::{PageKind, Record, VerifyRun};
pub use model::record::{VerifiedCpu, WrongAnswer, WrongAnswers};

use crate::Error;
use crate::builder::{Answer, AskedOptions, Builder, Measurement, RunExtent, methods, some};

/// Compares every workload on every CPU for a minute.
///
/// # Errors
/// See [`Builder::run`].
pub fn verify() -> Result<Verified, Error> {
    Verified::builder().run()
}

/// The ids of all that can be compared: streams that compute, and memory kernels.
pub fn workloads() -> impl Iterator<Item = &'static str> {
    ids()
}

/// What was compared, and what was wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified {
    record: Record,
    run: VerifyRun,
}

impl Verified {
    /// Whether each CPU was compared, and no answer was wrong. That says nothing of what was not compared.
    pub fn are_right(&self) -> bool {
        self.run.wrong.is_empty() && self.cpus().iter().all(|cpu| cpu.calls > 0)
    }

    /// CPUs that compute something wrong which others compute right.
    pub fn faulty(&self) -> CpuSet {
        self.run.faulty()
    }

    /// Wrong answers, of each CPU and workload, the most frequent first.
    pub fn wrong(&self) -> &[WrongAnswers] {
        &self.run.wrong
    }

    /// What was compared on each CPU: calls, ops, numbers in memory.
    pub fn cpus(&self) -> &[VerifiedCpu] {
        &self.run.cpus
    }

    /// The fewest ops that were compared on a CPU: none wrong in `n` of them leaves rates of up to `3 / n` possible.
    pub fn ops(&self) -> u64 {
        self.cpus().iter().map(|cpu| cpu.ops).min().unwrap_or(0)
    }
}

/// What may be chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyOptions {
    /// Ids of streams and memory kernels; none: all that this machine executes.
    pub workloads: Option<Vec<String>>,
}

impl AskedOptions for VerifyOptions {
    fn check(&self) -> Result<(), Error> {
        some("workloads", self.workloads.as_deref())?;
        let unknown = self.workloads.iter().flatten().find_map(|id| named(id).err());
        unknown
            .map_or(Ok(()), |reason| Err(Error::Argument { why: reason.why, hint: reason.remedy }))
    }
}

impl<A> Builder<A, VerifyOptions> {
    /// Compares these streams and memory kernels only, by their ids: see [`workloads`].
    pub fn workloads(mut self, ids: &[&str]) -> Self {
        self.options.workloads = Some(ids.iter().map(|id| (*id).to_owned()).collect());
        self
    }
}

impl Answer for Verified {
    type Options = VerifyOptions;
    const NAME: &'static str = "cpudyno::verify::Verified";
    const PAGE: PageKind = PageKind::Verify;

    fn measure(options: &VerifyOptions, how: Measurement<'_>) -> Result<Verified, Error> {
        let Measurement { machine, extent, command, presentation, stop, progress } = how;
        let RunExtent { cpus, budget } = extent;
        let workloads = options.workloads.clone().unwrap_or_default();
        let verifying = Verifying { budget: budget.unwrap_or(TIME), cpus, workloads };
        let described = machine::describe(machine, command, presentation);
        let mut record = measure::verify::run(machine, &verifying, described, stop, progress)?;
        record.digest = Some(fleet::digest::of(&record));
        match record.verify.clone() {
            Some(run) if run.cpus.iter().any(|cpu| cpu.calls > 0) => Ok(Verified { record, run }),
            _ => Err(Error::Stopped),
        }
    }
}

methods!(Verified, VerifyOptions, VerifyOptions::default());
