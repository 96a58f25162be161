//! What a parallel region of each OpenMP runtime costs, and its ways of waiting.
//!
//! Runtimes run in processes of their own: the command `cpudyno` has to be in `PATH`, or be named by
//! [`Builder::program`].

pub use measure::areas::openmp::OpenmpOptions;
use measure::areas::openmp::names;
use model::record::{Presentation, Record};
use model::{CpuSet, Reading};
use rig::placement::Choice;

use crate::Error;
use crate::builder::{AskedOptions, Builder, RunExtent, answers, some, some_number};
use crate::record::{Row, Value, rows};

/// The costs of every runtime that is installed, with every setting of waiting.
///
/// # Errors
/// See [`Builder::run`].
pub fn overhead() -> Result<Overheads, Error> {
    Overheads::builder().run()
}

/// Costs of parallel regions.
#[derive(Debug, Clone, PartialEq)]
pub struct Overheads {
    /// In the order of the record.
    pub regions: Vec<Region>,
    record: Record,
}

/// The cost of a region.
#[derive(Debug, Clone, PartialEq)]
pub struct Region {
    /// The runtime, such as `libgomp`.
    pub runtime: String,
    /// How its threads wait, such as `GOMP_SPINCOUNT=0`; none of our own barriers.
    pub setting: Option<String>,
    /// The CPUs, with one thread each.
    pub cpus: CpuSet,
    /// Seconds beyond the work of the loop.
    pub cost: Reading<Value>,
}

impl Overheads {
    fn of_record(record: Record) -> Overheads {
        let is_cost =
            |row: &Row| row.area == model::areas::openmp::AREA && row.quantity == "region_cost";
        let region = |row: Row| Region {
            setting: row.parameters.get("setting").cloned(),
            runtime: row.workload,
            cpus: row.cpus,
            cost: row.value,
        };
        Overheads {
            regions: rows(&record).into_iter().filter(is_cost).map(region).collect(),
            record,
        }
    }
}

answers! {
    Overheads of OpenmpOptions as "openmp::Overheads", Openmp, OpenmpOptions::usual(), request;
}

fn request(
    options: OpenmpOptions,
    RunExtent { cpus, budget }: RunExtent,
    command: Vec<String>,
    presentation: Presentation,
) -> measure::run::Request {
    let cpus = Choice { cpus: cpus.or(options.cpus.cpus.clone()), ..options.cpus.clone() };

    OpenmpOptions { cpus, budget: budget.or(options.budget), ..options }
        .request(command, presentation)
}

impl AskedOptions for OpenmpOptions {
    fn check(&self) -> Result<(), Error> {
        some("threads", self.threads.as_deref())?;
        self.threads.iter().flatten().try_for_each(|count| some_number("threads", Some(*count)))?;
        some("runtimes", self.runtimes.as_deref())?;
        let is_unknown = |name: &&String| !names().any(|known| known == name.as_str());
        let unknown = self.runtimes.iter().flatten().find(is_unknown);
        unknown.map_or(Ok(()), |unknown| {
            let known: Vec<&str> = names().collect();
            Err(Error::Argument {
                why: format!("there is no OpenMP runtime `{unknown}`"),
                hint: Some(format!("known are {}", known.join(", "))),
            })
        })
    }
}

impl<A> Builder<A, OpenmpOptions> {
    /// With these numbers of threads.
    pub fn threads(mut self, counts: &[usize]) -> Self {
        self.options.threads = Some(counts.to_vec());
        self
    }

    /// These runtimes alone: `libgomp`, `libomp`, ...
    pub fn runtimes(mut self, names: &[&str]) -> Self {
        self.options.runtimes = Some(names.iter().map(|name| (*name).to_owned()).collect());
        self
    }
}
