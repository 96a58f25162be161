//! The clock that cores run at, by what they execute and by how many are active.
//!
//! ```no_run
//! use cpudyno::turbo::{self, Active, stream};
//!
//! let streams = [stream("avx256_fma_t").unwrap(), stream("avx512_fma_t").unwrap()];
//! let clocks = turbo::clock(&streams, Active::All)?;
//! for row in &clocks.rows {
//!     println!("{row}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;

pub use kernels::StreamRow;
pub use measure::areas::turbo::{Tests, TurboOptions};
use model::record::{Presentation, Record};
use model::{CpuSet, Reading};
use rig::placement::Choice;

use crate::Error;
use crate::builder::{AskedOptions, Builder, RunExtent, answers, some, some_number};
use crate::record::{Row, Value, rows};

/// The stream of that name, such as `avx512_fma_t`; `cpudyno streams` says what each executes.
pub fn stream(name: &str) -> Option<&'static StreamRow> {
    kernels::streams::find(name)
}

/// All streams of this architecture, which stand in [`crate::streams`] by families.
pub fn all_streams() -> &'static [&'static StreamRow] {
    kernels::streams::TABLE
}

/// How many cores are active at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Active {
    /// One core, and ever more up to all.
    Each,
    /// All cores; of a machine with several types of cores, all of each type, one type after the other.
    All,
    /// So many.
    Cores(usize),
}

/// The clock of these streams on active cores.
///
/// # Errors
/// See [`Builder::run`].
pub fn clock(streams: &[&'static StreamRow], active: Active) -> Result<Clocks, Error> {
    Clocks::builder().streams(streams).active(active).run()
}

/// Clocks by stream and active cores.
#[derive(Debug, Clone, PartialEq)]
pub struct Clocks {
    /// In the order of the record.
    pub rows: Vec<Clock>,
    record: Record,
}

/// The clock of one stream on some active cores.
#[derive(Debug, Clone, PartialEq)]
pub struct Clock {
    /// The stream's name.
    pub stream: String,
    /// What kind of core they are, where a machine has several: `P`, `E`.
    pub core_type: Option<String>,
    /// The cores that executed it.
    pub cpus: CpuSet,
    /// Their clock in hertz: the median over cores.
    pub clock: Reading<Value>,
}

impl Clock {
    /// How many cores executed it at once.
    pub fn active(&self) -> usize {
        self.cpus.len()
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Clock { stream, core_type, clock, .. } = self;
        let cores = match (self.active(), core_type) {
            (1, None) => "1 core".to_owned(),
            (count, None) => format!("{count} cores"),
            (count, Some(kind)) => format!("{count} {kind}"),
        };
        write!(f, "{stream} on {cores}: ")?;
        match clock {
            Ok(clock) => clock.fmt(f),
            Err(reason) => write!(f, "{}", reason.why),
        }
    }
}

impl Clocks {
    fn of_record(record: Record) -> Clocks {
        let is_clock = |row: &Row| row.area == model::areas::turbo::AREA && row.quantity == "clock";
        let clock = |row: Row| Clock {
            core_type: row.parameters.get("core_type").cloned(),
            stream: row.workload,
            cpus: row.of_cpus,
            clock: row.value,
        };
        Clocks { rows: rows(&record).into_iter().filter(is_clock).map(clock).collect(), record }
    }
}

answers! {
    Clocks of TurboOptions as "turbo::Clocks", Turbo, usual(), request;
}

fn usual() -> TurboOptions {
    TurboOptions::about(Tests::Streams(kernels::streams::CLASSIC.to_vec()))
}

fn request(
    options: TurboOptions,
    RunExtent { cpus, budget }: RunExtent,
    command: Vec<String>,
    presentation: Presentation,
) -> measure::run::Request {
    let cpus = Choice { cpus: cpus.or(options.cpus.cpus.clone()), ..options.cpus.clone() };

    TurboOptions { cpus, budget: budget.or(options.budget), ..options }
        .request(command, presentation)
}

impl AskedOptions for TurboOptions {
    fn check(&self) -> Result<(), Error> {
        some_number("cores", self.threads_max)?;
        match &self.tests {
            Tests::Streams(streams) => some("streams", Some(streams.as_slice())),
            Tests::Spec(parts) => {
                some("a mix", Some(parts.as_slice()))?;
                let cores = parts.iter().try_fold(0usize, |sum, (_, cores)| {
                    Some(*cores).filter(|cores| *cores > 0).and_then(|cores| sum.checked_add(cores))
                });
                some_number("cores of a mix", Some(cores.unwrap_or_default()))
            }
            _ => Ok(()),
        }
    }
}

impl<A> Builder<A, TurboOptions> {
    /// Each of these on all active cores alike; without it those of avx-turbo.
    pub fn streams(mut self, streams: &[&'static StreamRow]) -> Self {
        self.options.tests = Tests::Streams(streams.to_vec());
        self
    }

    /// All of these at once, each on so many cores.
    pub fn mix(mut self, parts: &[(&'static StreamRow, usize)]) -> Self {
        self.options.tests = Tests::Spec(parts.to_vec());
        self
    }

    /// How many cores are active; without it [`Active::Each`].
    pub fn active(mut self, active: Active) -> Self {
        let count = match active {
            Active::Each | Active::All => None,
            Active::Cores(count) => Some(count),
        };
        (self.options.threads_min, self.options.threads_max) = (count, count);
        self.options.all_alone = active == Active::All;
        self
    }
}
