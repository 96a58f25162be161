//! Memory: bandwidth and latency.
//!
//! ```no_run
//! let bandwidth = cpudyno::memory::bandwidth()?;
//! println!("{} threads: {}", bandwidth.kernels.threads(), bandwidth.triad()?);
//! let one = cpudyno::memory::Bandwidth::builder().threads(1).run()?;
//! println!("one thread: {:.1} GB/s", one.triad()?.median() / 1e9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use kernels::memory::MemoryKernel;
use measure::areas::memory::Question;
pub use measure::areas::memory::{Length, MemoryOptions};
use model::areas::memory::{AREA, CHASE, QUESTION, choice};
use model::record::Record;
use model::{CpuSet, Obstacle, Reading, Unavailable};

use crate::Error;
use crate::builder::{AskedOptions, Builder, RunExtent, answers, some, some_number};
use crate::record::{Row, Value, rows};

/// The kernels that there are.
pub fn all_kernels() -> &'static [&'static MemoryKernel] {
    kernels::memory::TABLE
}

/// STREAM's four kernels on one core and on all, each in the fastest way that this CPU has.
///
/// # Errors
/// See [`Builder::run`].
pub fn bandwidth() -> Result<Bandwidth, Error> {
    Bandwidth::builder().run()
}

/// The same on ever more threads.
///
/// # Errors
/// See [`Builder::run`].
pub fn scaling() -> Result<Scaling, Error> {
    Scaling::builder().run()
}

/// The same with arrays of one to four times the caches.
///
/// # Errors
/// See [`Builder::run`].
pub fn vector_lengths() -> Result<VectorLengths, Error> {
    VectorLengths::builder().run()
}

/// How long one pointer takes, in each cache and in memory.
///
/// # Errors
/// See [`Builder::run`].
pub fn latency() -> Result<Latency, Error> {
    Latency::builder().run()
}

/// The kernels of STREAM on the same CPUs, with arrays of the same length.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernels {
    /// The CPUs, with one thread each.
    pub cpus: CpuSet,
    /// Their type of core, where a machine has several: `P`, `P and E`.
    pub core_type: Option<String>,
    /// Elements of eight bytes in each array.
    pub elements: u64,
    /// In which order threads were added, where there are several: `compact`, `spread`, `node 0`.
    pub order: Option<String>,
    rows: Vec<Row>,
    /// Of these kernels it was tried which way is the fastest.
    tried: Vec<String>,
}

impl Kernels {
    /// How many threads moved data.
    pub fn threads(&self) -> usize {
        self.cpus.len()
    }

    /// The kernels that were measured, in the order of the record.
    pub fn names(&self) -> Vec<&str> {
        model::in_order(self.rows.iter().map(|row| row.workload.as_str()))
    }

    /// Bytes per second that a kernel (`copy`, `scale`, `add`, `triad`, ...) reads and writes as it is written down, in
    /// the fastest way.
    ///
    /// # Errors
    /// Why there is no number; also where there was no time to try which way is the fastest.
    pub fn bandwidth(&self, kernel: &str) -> Reading<Value> {
        self.fastest(kernel).and_then(|row| row.value.clone())
    }

    /// The same with the lines that ordinary stores read first, as STREAMBenchmark.jl counts by default: what moves
    /// between core and memory.
    ///
    /// # Errors
    /// Why there is no number.
    pub fn moved(&self, kernel: &str) -> Reading<Value> {
        let row = self.fastest(kernel)?;
        let ratio = row.parameters.get("moved_per_asked").and_then(|it| ratio(it));
        let unknown = || {
            let why = "the record does not say how many bytes its stores move";
            Unavailable::new(Obstacle::Cpudyno, format!("bytes that {kernel} moves"), why)
        };
        row.value.clone().and_then(|value| Ok(value.times(ratio.ok_or_else(unknown)?)))
    }

    fn fastest(&self, kernel: &str) -> Reading<&Row> {
        let rate = |row: &Row| row.value.as_ref().map_or(f64::NEG_INFINITY, Value::median);
        let absent = |why: String| {
            Unavailable::new(Obstacle::Measurement, format!("bandwidth of {kernel}"), why)
                .with_remedy("give it more time")
        };
        let rows = || self.rows.iter().filter(|row| row.workload == kernel);
        let is_best =
            |row: &&Row| row.parameters.get("choice").is_some_and(|it| it == choice::BEST);
        if let Some(best) = rows().find(is_best) {
            best.value.as_ref().map_err(Clone::clone)?;
            if has_ways(kernel) && !self.tried.iter().any(|tried| tried == kernel) {
                return Err(absent("there was no time to try which way is the fastest".to_owned()));
            }
        }
        let none = || absent(format!("it was not measured on {} threads", self.threads()));
        rows().max_by(|a, b| rate(a).total_cmp(&rate(b))).ok_or_else(none)
    }
}

/// Whether a kernel has several variants.
fn has_ways(kernel: &str) -> bool {
    kernels::memory::find(kernel).is_none_or(|kernel| kernel.variants.len() > 1)
}

/// `24/16`.
fn ratio(text: &str) -> Option<f64> {
    let (moved, asked) = text.split_once('/')?;
    let (moved, asked): (f64, f64) = (moved.parse().ok()?, asked.parse().ok()?);
    (asked > 0.0).then(|| moved / asked)
}

/// The bandwidths of a record by what they were measured with, fewer threads first.
pub fn kernels(record: &Record) -> Vec<Kernels> {
    let mut groups: Vec<Kernels> = Vec::new();
    // What chose the fastest way is no result beside that way's own.
    let is_trial = |row: &Row| row.parameters.get(QUESTION).is_some_and(|it| it == "trial");
    let of_kernels =
        |row: &Row| row.area == AREA && row.quantity == "bandwidth" && row.workload != CHASE;
    let (trials, others): (Vec<Row>, Vec<Row>) = rows(record).into_iter().partition(is_trial);
    for row in others.into_iter().filter(of_kernels) {
        let elements = row.number("elements").unwrap_or_default();
        let order = row.parameters.get("order").cloned();
        let is_its = |group: &&mut Kernels| {
            group.cpus == row.cpus && group.elements == elements && group.order == order
        };
        if let Some(group) = groups.iter_mut().find(is_its) {
            group.rows.push(row);
            continue;
        }
        let tried = trials.iter().filter(|trial| trial.cpus == row.cpus);
        let tried = tried.map(|trial| trial.workload.clone()).collect();
        let cpus = row.cpus.clone();
        let core_type = record.machine.topology.types(&cpus);
        groups.push(Kernels { cpus, core_type, elements, order, rows: vec![row], tried });
    }
    groups.sort_by(|a, b| {
        (a.threads(), a.elements, &a.order).cmp(&(b.threads(), b.elements, &b.order))
    });
    groups
}

/// Bandwidths on one core and on all, or on as many threads as were asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Bandwidth {
    /// On the most threads that were measured.
    pub kernels: Kernels,
    /// On fewer.
    pub fewer: Vec<Kernels>,
    record: Record,
}

macro_rules! kernel {
    ($($name:ident: $formula:literal)+) => {$(
        #[doc = concat!("`", $formula, "`, on all threads: see [`Kernels::bandwidth`].")]
        ///
        /// # Errors
        /// Why there is no number.
        pub fn $name(&self) -> Reading<Value> {
            self.kernels.bandwidth(stringify!($name))
        }
    )+};
}

impl Bandwidth {
    kernel! {
        copy: "a[i] = b[i]"
        scale: "a[i] = q * b[i]"
        add: "a[i] = b[i] + c[i]"
        triad: "a[i] = b[i] + q * c[i]"
    }

    fn of_record(record: Record) -> Bandwidth {
        let mut fewer = kernels(&record);
        let none = || Kernels {
            cpus: CpuSet::default(),
            core_type: None,
            elements: 0,
            order: None,
            rows: Vec::new(),
            tried: Vec::new(),
        };
        let kernels = fewer.pop().unwrap_or_else(none);
        Bandwidth { kernels, fewer, record }
    }
}

/// Bandwidths on ever more threads.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// Fewer threads first; for each order of adding them.
    pub points: Vec<Kernels>,
    record: Record,
}

impl Scaling {
    fn of_record(record: Record) -> Scaling {
        Scaling { points: kernels(&record), record }
    }
}

/// Bandwidths with ever longer arrays.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorLengths {
    /// Shorter arrays first.
    pub points: Vec<Kernels>,
    record: Record,
}

impl VectorLengths {
    fn of_record(record: Record) -> VectorLengths {
        VectorLengths { points: kernels(&record), record }
    }
}

/// Latencies of loads that wait for each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Latency {
    /// Smaller data first.
    pub points: Vec<LatencyPoint>,
    record: Record,
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyPoint {
    /// Bytes that the pointers lie in.
    pub footprint: u64,
    /// The CPU that followed them.
    pub cpus: CpuSet,
    /// What else tells it from others: `pages`, `walk`, `chains`, `level`.
    pub parameters: std::collections::BTreeMap<String, String>,
    /// Seconds that one pointer takes.
    pub value: Reading<Value>,
}

impl Latency {
    fn of_record(record: Record) -> Latency {
        let is_latency = |row: &Row| row.area == AREA && row.quantity == "latency";
        let point = |row: Row| {
            let footprint = row.number("footprint")?;
            Some(LatencyPoint {
                footprint,
                cpus: row.cpus,
                parameters: row.parameters,
                value: row.value,
            })
        };
        let mut points: Vec<LatencyPoint> =
            rows(&record).into_iter().filter(is_latency).filter_map(point).collect();
        points.sort_by_key(|point| point.footprint);
        Latency { points, record }
    }
}

answers! {
    Bandwidth of MemoryOptions as "memory::Bandwidth", Memory, MemoryOptions::about(Question::Bandwidth), request;
    Scaling of MemoryOptions as "memory::Scaling", Memory, MemoryOptions::about(Question::Scaling), request;
    VectorLengths of MemoryOptions as "memory::VectorLengths", Memory, MemoryOptions::about(Question::Factors(FACTORS)), request;
    Latency of MemoryOptions as "memory::Latency", Memory, MemoryOptions::about(Question::Latency), request;
}

/// Arrays are one to so many times as long as the caches.
const FACTORS: u32 = 4;

fn request(
    options: MemoryOptions,
    RunExtent { cpus, budget }: RunExtent,
    command: Vec<String>,
    presentation: model::record::Presentation,
) -> measure::run::Request {
    let cpus =
        rig::placement::Choice { cpus: cpus.or(options.cpus.cpus.clone()), ..options.cpus.clone() };
    MemoryOptions { cpus, budget: budget.or(options.budget), ..options }
        .request(command, presentation)
}

impl AskedOptions for MemoryOptions {
    fn check(&self) -> Result<(), Error> {
        some("kernels", self.kernels.as_deref())?;
        some_number("threads", self.threads)
    }
}

impl<A> Builder<A, MemoryOptions> {
    /// On so many threads alone; without it one, and all.
    pub fn threads(mut self, threads: usize) -> Self {
        self.options.threads = Some(threads);
        self
    }

    /// These kernels alone: of [`all_kernels`].
    pub fn kernels(mut self, kernels: &[&'static MemoryKernel]) -> Self {
        self.options.kernels = Some(kernels.to_vec());
        self
    }

    /// Arrays of so many elements of eight bytes; without it as many as the rule of STREAM asks.
    pub fn length(mut self, elements: u64) -> Self {
        self.options.length = Some(Length::Elements(elements));
        self
    }

    /// One variant of all kernels, such as `avx512-nt`: `cpudyno memory --list` lists them.
    pub fn variant(mut self, variant: impl Into<String>) -> Self {
        self.options.variant = Some(variant.into());
        self
    }
}
