//! Jobs for runtimes of parallel regions, which read their settings once: each job is done by a
//! process of its own.

use std::collections::BTreeMap;
use std::path::PathBuf;

use model::areas::openmp::{SMALL_REGIONS, SMALL_SLEEP};
use model::{CpuId, Seconds, Unavailable};
use serde::{Deserialize, Serialize};

use super::reduce::Readings;

/// A team of threads goes through parallel regions.
#[derive(Debug, Clone)]
pub struct Regions {
    /// The program that does it, as a child; a model needs none.
    pub worker: Option<PathBuf>,
    /// Whose regions.
    pub team: Team,
    /// What a model knows the cost of.
    pub kind: RuntimeKind,
    /// What its threads do while there is no work.
    pub waiting: Waiting,
    /// Further variables of its process.
    pub variables: BTreeMap<String, String>,
    /// Where its threads run.
    pub cpus: Vec<CpuId>,
    /// What is done, and for how long.
    pub effort: Effort,
}

impl Regions {
    /// The variables of its process.
    pub fn environment(&self) -> Vec<(&str, String)> {
        let further = self.variables.iter().map(|(name, value)| (name.as_str(), value.clone()));
        environment(&self.cpus, self.waiting).into_iter().chain(further).collect()
    }
}

/// Variables that let a runtime have one thread on each of these CPUs. It pins them itself: one that
/// is loaded by a pinned thread takes that CPU for the only one.
pub fn environment(cpus: &[CpuId], waiting: Waiting) -> Vec<(&'static str, String)> {
    let places: Vec<String> = cpus.iter().map(|cpu| format!("{{{cpu}}}")).collect();
    let mut variables = vec![
        ("LC_ALL", "C".to_owned()),
        ("OMP_NUM_THREADS", cpus.len().to_string()),
        ("OMP_DYNAMIC", "false".to_owned()),
        ("OMP_PROC_BIND", "close".to_owned()),
        ("OMP_PLACES", places.join(",")),
    ];
    variables.extend(waiting.variable());
    variables
}

/// Whose regions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Team {
    /// Those of the OpenMP runtime in this file.
    Library(String),
    /// Our own: a barrier at either end, at which threads spin.
    Spinning,
    /// Our own, at which threads sleep.
    Sleeping,
}

/// A family of runtimes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuntimeKind {
    /// GCC's.
    Gomp,
    /// LLVM's and Intel's.
    Kmpc,
    /// Our own barriers.
    Own,
}

/// What threads do while there is no work for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// Whatever the runtime does if nobody says.
    Default,
    /// They spin for so many milliseconds, and then sleep; none: they never sleep.
    BlockTime(Option<u32>),
    /// They sleep at once.
    Passive,
    /// They spin.
    Active,
    /// They look so often, and then sleep.
    SpinCount(u64),
}

impl Waiting {
    /// The variable that says so, and its value.
    pub fn variable(self) -> Option<(&'static str, String)> {
        let infinite = || "infinite".to_owned();
        match self {
            Waiting::Default => None,
            Waiting::BlockTime(time) => {
                Some(("KMP_BLOCKTIME", time.map_or_else(infinite, |ms| ms.to_string())))
            }
            Waiting::Passive => Some(("OMP_WAIT_POLICY", "passive".to_owned())),
            Waiting::Active => Some(("OMP_WAIT_POLICY", "active".to_owned())),
            Waiting::SpinCount(count) => Some(("GOMP_SPINCOUNT", count.to_string())),
        }
    }

    /// The way of waiting that a variable asks for, if it does.
    pub fn of(name: &str, value: &str) -> Option<Waiting> {
        match (name, value) {
            ("KMP_BLOCKTIME", "infinite") => Some(Waiting::BlockTime(None)),
            ("KMP_BLOCKTIME", time) => {
                let milliseconds = time.strip_suffix("ms").unwrap_or(time).parse().ok()?;
                Some(Waiting::BlockTime(Some(milliseconds)))
            }
            ("OMP_WAIT_POLICY", policy) if policy.eq_ignore_ascii_case("passive") => {
                Some(Waiting::Passive)
            }
            ("OMP_WAIT_POLICY", policy) if policy.eq_ignore_ascii_case("active") => {
                Some(Waiting::Active)
            }
            ("GOMP_SPINCOUNT", count) => Some(Waiting::SpinCount(count.parse().ok()?)),
            _ => None,
        }
    }

    /// The setting as it is typed; `default` where nothing is.
    pub fn words(self) -> String {
        self.variable().map_or("default".to_owned(), |(name, value)| format!("{name}={value}"))
    }
}

/// What a team does, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// Time with regions before anything is timed.
    pub warm_up: Seconds,
    /// The loop; none: it is left out.
    pub looped: Option<Looped>,
    /// Time for each construct; none: they are left out.
    pub construct: Option<Seconds>,
    /// How long the first thread sleeps after the last region, while others wait; none: not at all.
    pub rest: Option<Seconds>,
    /// Small regions; none: they are left out.
    pub small: Option<Small>,
}

/// A static loop over an array, in a region of its own each time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Looped {
    /// Numbers in the array.
    pub elements: u64,
    /// How often at most.
    pub regions_max: u64,
    /// For how long.
    pub time: Seconds,
}

/// Empty regions that the first thread sleeps after.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Small {
    /// How many.
    pub regions: u32,
    /// How long it sleeps after each.
    pub sleep: Seconds,
}

impl Small {
    /// As the ancestor has it.
    pub const USUAL: Small = Small { regions: SMALL_REGIONS, sleep: SMALL_SLEEP };
}

/// The constructs whose cost is measured.
pub const CONSTRUCTS: usize = 4;

impl Effort {
    /// How long it takes, as planned.
    pub fn duration(&self) -> Seconds {
        let looped = self.looped.map_or(Seconds(0.0), |looped| looped.time);
        // The reference is one more.
        let constructs = self.construct.map_or(Seconds(0.0), |time| time * (CONSTRUCTS + 1) as f64);
        let small = self.small.map_or(Seconds(0.0), |s| s.sleep * f64::from(s.regions));
        self.warm_up + looped + constructs + self.rest.unwrap_or(Seconds(0.0)) + small
    }
}

/// What a team saw: integers, nothing computed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RawRegions {
    /// How many threads it had.
    pub threads: u32,
    /// Of the loop.
    pub looped: Vec<Stretch>,
    /// What they took together.
    pub during_loop: Option<Spent>,
    /// The delay of one thread, by itself.
    pub reference: Vec<Stretch>,
    /// Regions with the delay in them.
    pub region: Vec<Stretch>,
    /// Regions with the delay and a reduction in them.
    pub reduction: Vec<Stretch>,
    /// One region each, with the delay and a barrier n times, and 2n times.
    pub barrier: Vec<[Stretch; 2]>,
    /// The same with a static loop that has a delay for each thread.
    pub static_for: Vec<[Stretch; 2]>,
    /// While the first thread slept.
    pub rest: Option<Spent>,
    /// Small regions, each with the sleep after it, all together.
    pub small: Option<Spent>,
}

/// A timed stretch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// How often something was done.
    pub count: u64,
    /// How long that took.
    pub nanoseconds: u64,
}

impl Stretch {
    fn seconds(self) -> f64 {
        self.nanoseconds as f64 * 1e-9
    }

    fn each(self) -> f64 {
        self.seconds() / self.count as f64
    }
}

/// Time, and the CPU time of all threads in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Time.
    pub nanoseconds: u64,
    /// CPU time.
    pub cpu_nanoseconds: u64,
}

impl Spent {
    /// How many cores were busy, on average.
    fn busy(self) -> f64 {
        self.cpu_nanoseconds as f64 / self.nanoseconds as f64
    }
}

/// The samples of one job, by these ids, or the reason that all of them share.
pub fn reduce(raw: &Result<RawRegions, Unavailable>) -> Readings {
    match raw {
        Ok(raw) => samples(raw),
        Err(reason) => IDS.iter().map(|id| (*id, Err(reason.clone()))).collect(),
    }
}

const IDS: &[&str] = &[
    "loop_time",
    "loop_regions",
    "loop_busy",
    "region_cost",
    "barrier_cost",
    "for_cost",
    "reduction_cost",
    "rest_busy",
    "small_time",
    "small_busy",
];

fn samples(raw: &RawRegions) -> Readings {
    let mut readings = Readings::new();
    let mut note = |id, samples: Vec<f64>| {
        let samples: Vec<f64> = samples.into_iter().filter(|sample| sample.is_finite()).collect();
        if !samples.is_empty() {
            readings.insert(id, Ok(samples));
        }
    };
    let count: u64 = raw.looped.iter().map(|stretch| stretch.count).sum();
    note("loop_time", raw.looped.iter().map(|stretch| stretch.each()).collect());
    note("loop_regions", raw.during_loop.iter().map(|_| count as f64).collect());
    note("loop_busy", raw.during_loop.iter().map(|spent| spent.busy()).collect());
    let reference: Vec<f64> = raw.reference.iter().map(|stretch| stretch.each()).collect();
    if let Some(reference) = model::stats::median(&reference) {
        let beyond =
            |all: &[Stretch]| all.iter().map(|stretch| stretch.each() - reference).collect();
        note("region_cost", beyond(&raw.region));
        note("reduction_cost", beyond(&raw.reduction));
        let within = |all: &[[Stretch; 2]]| {
            let cost = |[once, twice]: &[Stretch; 2]| {
                let more = twice.count.saturating_sub(once.count) as f64;
                (twice.seconds() - once.seconds()) / more - reference
            };
            all.iter().map(cost).collect()
        };
        note("barrier_cost", within(&raw.barrier));
        note("for_cost", within(&raw.static_for));
    }
    note("rest_busy", raw.rest.iter().map(|spent| spent.busy()).collect());
    note("small_time", raw.small.iter().map(|spent| spent.nanoseconds as f64 * 1e-9).collect());
    note("small_busy", raw.small.iter().map(|spent| spent.busy()).collect());
    readings
}

#[cfg(test)]
mod tests {
    use model::Obstacle;

    use super::*;

    fn stretch(count: u64, nanoseconds: u64) -> Stretch {
        Stretch { count, nanoseconds }
    }

    fn numbers(raw: RawRegions, id: &str) -> Option<Vec<f64>> {
        reduce(&Ok(raw)).remove(id).map(Result::unwrap)
    }

    #[test]
    fn what_is_in_comes_out() {
        let raw = RawRegions {
            looped: vec![stretch(1000, 5_000_000), stretch(1000, 7_000_000)],
            during_loop: Some(Spent { nanoseconds: 12_000_000, cpu_nanoseconds: 18_000_000 }),
            rest: Some(Spent { nanoseconds: 20_000_000, cpu_nanoseconds: 5_000_000 }),
            ..RawRegions::default()
        };
        assert_eq!(numbers(raw.clone(), "loop_time"), Some(vec![5e-6, 7e-6]));
        assert_eq!(numbers(raw.clone(), "loop_regions"), Some(vec![2000.0]));
        assert_eq!(numbers(raw.clone(), "loop_busy"), Some(vec![1.5]));
        assert_eq!(numbers(raw.clone(), "rest_busy"), Some(vec![0.25]));
        assert_eq!(numbers(raw, "small_time"), None);
    }

    #[test]
    fn what_a_region_costs_once_does_not_count_for_what_is_in_it() {
        // A region of 900 ns, 100 ns of delay and 250 ns of barrier each time.
        let of = |count: u64| stretch(count, 900 + count * 350);
        let raw = RawRegions {
            reference: vec![stretch(10, 1000)],
            region: vec![stretch(10, 10_000)],
            barrier: vec![[of(100), of(200)]],
            ..RawRegions::default()
        };
        let close = |found: Option<Vec<f64>>, expected: f64| {
            let found = found.unwrap()[0];
            assert!((found / expected - 1.0).abs() < 1e-9, "{found}");
        };
        close(numbers(raw.clone(), "barrier_cost"), 250e-9);
        close(numbers(raw, "region_cost"), 900e-9);
    }

    #[test]
    fn without_a_reference_there_is_no_cost() {
        let raw = RawRegions { region: vec![stretch(10, 1000)], ..RawRegions::default() };
        assert_eq!(numbers(raw, "region_cost"), None);
    }

    #[test]
    fn a_reason_is_that_of_every_number() {
        let reason = Unavailable::new(Obstacle::Measurement, "regions", "it crashed");
        let readings = reduce(&Err(reason.clone()));
        assert_eq!(readings.len(), IDS.len());
        assert!(readings.values().all(|reading| reading.as_ref() == Err(&reason)));
    }

    #[test]
    fn settings_are_as_they_are_typed() {
        assert_eq!(Waiting::BlockTime(None).words(), "KMP_BLOCKTIME=infinite");
        assert_eq!(Waiting::SpinCount(1000).words(), "GOMP_SPINCOUNT=1000");
        assert_eq!(Waiting::Default.words(), "default");
    }
}
