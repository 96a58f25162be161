//! How fast cores tell each other something.
//!
//! ```no_run
//! use cpudyno::CpuId;
//!
//! let latencies = cpudyno::cores::latency()?;
//! println!("{}", latencies.between(CpuId(0), CpuId(1))?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use measure::areas::cores::{CoresOptions, Home, MESSAGES, Message};
use model::record::{Presentation, Record};
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};
use rig::placement::Choice;

use crate::Error;
use crate::builder::{AskedOptions, Builder, RunExtent, answers, some};
use crate::record::{Row, Value, rows};

/// The latency of each pair of cores, by compare and swap and in other ways.
///
/// # Errors
/// See [`Builder::run`].
pub fn latency() -> Result<Latencies, Error> {
    Latencies::builder().run()
}

/// Latencies of pairs of cores.
#[derive(Debug, Clone, PartialEq)]
pub struct Latencies {
    /// In the order of the record.
    pub pairs: Vec<Pair>,
    record: Record,
}

/// Two cores.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The way in which they told each other, such as `cas`.
    pub message: String,
    /// Both.
    pub cpus: CpuSet,
    /// How they lie to each other, such as `same-cache`.
    pub between: Option<String>,
    /// Seconds that a message takes, one way.
    pub latency: Reading<Value>,
}

impl Latencies {
    /// The latency between two CPUs, in the first way that was measured.
    ///
    /// # Errors
    /// Why there is none.
    pub fn between(&self, one: CpuId, other: CpuId) -> Reading<Value> {
        let cpus: CpuSet = [one, other].into_iter().collect();
        let what = || format!("latency of CPUs {cpus}");
        let unknown =
            || Unavailable::new(Obstacle::Measurement, what(), "this pair was not measured");
        let pair = self.pairs.iter().find(|pair| pair.cpus == cpus).ok_or_else(unknown)?;
        pair.latency.clone()
    }

    fn of_record(record: Record) -> Latencies {
        let is_pair =
            |row: &Row| row.area == model::areas::cores::AREA && row.quantity == "latency";
        let pair = |row: Row| Pair {
            between: row.parameters.get("between").cloned(),
            message: row.workload,
            cpus: row.cpus,
            latency: row.value,
        };
        Latencies { pairs: rows(&record).into_iter().filter(is_pair).map(pair).collect(), record }
    }
}

answers! {
    Latencies of CoresOptions as "cores::Latencies", Cores, usual(), request;
}

fn usual() -> CoresOptions {
    CoresOptions { messages: None, home: Home::First, budget: None, cpus: Choice::usual(None) }
}

fn request(
    options: CoresOptions,
    RunExtent { cpus, budget }: RunExtent,
    command: Vec<String>,
    presentation: Presentation,
) -> measure::run::Request {
    let cpus = Choice { cpus: cpus.or(options.cpus.cpus.clone()), ..options.cpus.clone() };

    CoresOptions { cpus, budget: budget.or(options.budget), ..options }
        .request(command, presentation)
}

impl AskedOptions for CoresOptions {
    fn check(&self) -> Result<(), Error> {
        some("messages", self.messages.as_deref())
    }
}

impl<A> Builder<A, CoresOptions> {
    /// These ways alone: rows of [`MESSAGES`].
    pub fn messages(mut self, messages: &[&'static Message]) -> Self {
        self.options.messages = Some(messages.to_vec());
        self
    }
}
