//! How many threads, and on which CPUs: by kind of work, as a record of `cpudyno threads` measured it.
//!
//! Only teams that were measured are proposed. A quota counts twice: as throughput (no team gets more than its CPUs), and
//! as a burst: a larger team uses the period's time up early, and then all of it stands still until the next one.

mod choice;
mod curve;
mod lines;
mod others;
mod page;
mod quota;

pub use page::page;
pub use quota::Quota;

use std::collections::BTreeSet;

use model::record::{Record, Topology};
use model::{CpuId, CpuSet, Known, Obstacle, Seconds, Unavailable};
use serde::Serialize;

use self::choice::{COMPUTE, MOVING};
use self::curve::{Curve, Point, Steps};

/// What a program does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "work", content = "step_seconds")]
pub enum Work {
    /// Independent instructions that saturate the widest vector units; its parts are handed out as threads ask for them.
    Vector,
    /// Scalar instructions that wait for each other, handed out likewise.
    Scalar,
    /// The first kind of work, split into equal parts before it begins, as a static loop of OpenMP is. Said where it
    /// differs: cores are of several types, or other work uses them.
    EqualParts,
    /// Data that comes from memory and goes there.
    Bandwidth,
    /// Steps that take one thread so long, with a barrier after each.
    Steps(Seconds),
}

impl Work {
    /// What it is called.
    pub fn words(self) -> String {
        match self {
            Work::Vector => "compute".to_owned(),
            Work::Scalar => "compute, dependent instructions".to_owned(),
            Work::EqualParts => "compute, split into equal parts".to_owned(),
            Work::Bandwidth => "memory bandwidth".to_owned(),
            Work::Steps(length) => {
                format!("steps of {}, a barrier after each", in_words(length))
            }
        }
    }

    /// The area that measures it.
    pub fn area(self) -> &'static str {
        match self {
            Work::Vector | Work::Scalar | Work::EqualParts => model::areas::turbo::AREA,
            Work::Bandwidth => model::areas::memory::AREA,
            Work::Steps(_) => model::areas::openmp::AREA,
        }
    }
}

/// `10 us`, `1 ms`.
fn in_words(length: Seconds) -> String {
    let microseconds = length.0 * 1e6;
    if microseconds < 999.5 {
        format!("{microseconds:.0} us")
    } else {
        format!("{:.0} ms", microseconds * 1e-3)
    }
}

/// The lengths of steps that are told: what one thread does between two barriers.
pub const STEPS: [Seconds; 3] = [Seconds(10e-6), Seconds(100e-6), Seconds(1e-3)];

/// How many threads, and on which CPUs, for one kind of work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Proposal {
    /// The work.
    #[serde(flatten)]
    pub work: Work,
    /// How many threads.
    pub threads: usize,
    /// A CPU for each.
    pub cpus: CpuSet,
    /// How much faster than one thread they are, the quota counted.
    pub speedup: f64,
    /// The same over what the best team reaches.
    pub of_most: f64,
}

/// What SMT siblings add: all CPUs over one of each core.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SiblingGain {
    /// The work.
    #[serde(flatten)]
    pub work: Work,
    /// Together over one of each core; below 1 they cost.
    pub factor: f64,
}

impl SiblingGain {
    /// What measurements scatter by, at most.
    const NOISE: f64 = 0.03;

    /// Whether they pay.
    pub fn pays(&self) -> bool {
        self.factor > 1.0 + SiblingGain::NOISE
    }

    /// Whether they cost.
    pub fn costs(&self) -> bool {
        self.factor < 1.0 - SiblingGain::NOISE
    }
}

/// Cores of one type, on a machine of several.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CoreType {
    /// Its name, such as `E`.
    pub name: String,
    /// Its first threads.
    pub cpus: CpuSet,
    /// How fast one of them is at scalar work, the fastest type being 1.
    pub scalar: f64,
    /// The same at vector work.
    pub vector: f64,
}

/// What slower types of cores add to the fastest one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SlowerCores {
    /// All cores over those of the fastest type, where work is handed out as threads ask for it.
    pub handed_out: f64,
    /// The same where it is split into equal parts.
    pub equal_parts: f64,
}

/// The advice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// The CPUs that may be used.
    pub usable: CpuSet,
    /// What the best team delivers of scalar work, in cores of the fastest type.
    pub scalar_cores: Known<f64>,
    /// The same of vector work.
    pub vector_cores: Known<f64>,
    /// The time of CPUs that control groups leave; none: they do not limit it, or nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
    /// By kind of work.
    pub proposals: Vec<Proposal>,
    /// What SMT siblings add; none where there are none.
    pub siblings: Vec<SiblingGain>,
    /// The types of cores, the fastest first; none where there is one.
    pub types: Vec<CoreType>,
    /// What the slower types add.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slower_cores: Option<SlowerCores>,
    /// What could not be measured.
    pub missing: Vec<Unmeasured>,
}

/// Why an area has less to say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unmeasured {
    /// The area, such as `memory`.
    pub area: String,
    /// The reason.
    #[serde(flatten)]
    pub reason: Unavailable,
}

impl Advice {
    /// The proposal for a kind of work.
    pub fn of(&self, work: Work) -> Option<&Proposal> {
        self.proposals.iter().find(|proposal| proposal.work == work)
    }

    /// Numbers of threads to try with a program of which nobody knows what kind of work it is: all that are proposed,
    /// one less than the least, and one more than the most; of many threads, a quarter less and more.
    pub fn to_try(&self) -> Vec<usize> {
        let proposed: BTreeSet<usize> = self.proposals.iter().map(|it| it.threads).collect();
        let near = |count: usize| (count / 4).max(1);
        let usable = self.usable.len().max(1);
        let least = proposed.first().map(|count| (count - near(*count)).max(1));
        let most = proposed.last().map(|count| (count + near(*count)).min(usable));
        let mut all: BTreeSet<usize> = proposed.iter().copied().chain(least).chain(most).collect();
        if all.len() < 2 {
            all.extend([1, 2]);
        }
        all.into_iter().collect()
    }

    /// Why there is none, where the area that measures this work says so.
    pub fn why_not(&self, work: Work) -> Option<&Unavailable> {
        self.missing.iter().find(|it| it.area == work.area()).map(|it| &it.reason)
    }
}

/// What a record says of threads.
pub fn advice(record: &Record) -> Advice {
    let topology = &record.machine.topology;
    let quota = Quota::of(record);
    let curves = Curves::of(record);
    let mut advice = Advice {
        usable: record.run.plan.cpus.clone(),
        scalar_cores: cores(record, curves.scalar.as_ref(), quota),
        vector_cores: cores(record, curves.vector.as_ref(), quota),
        quota,
        proposals: Vec::new(),
        siblings: Vec::new(),
        types: Vec::new(),
        slower_cores: None,
        missing: missing(record),
    };
    for (work, curve, share) in curves.each() {
        advice.proposals.extend(choice::proposal(work, &curve, share, quota));
        advice.siblings.extend(sibling_gain(work, &curve, topology));
    }
    advice.types = curves.types(record);
    advice.slower_cores = curves.slower_cores(&advice.types, topology);
    if advice.types.is_empty() {
        advice.proposals.retain(|proposal| proposal.work != Work::EqualParts);
        let beside = curves.beside_others(record, &advice);
        let at = advice.proposals.iter().position(|it| it.work == Work::Bandwidth);
        let at = at.unwrap_or(advice.proposals.len());
        advice.proposals.splice(at..at, beside);
    }
    advice
}

/// Why series have no numbers, each reason of an area once.
fn missing(record: &Record) -> Vec<Unmeasured> {
    let mut reasons: Vec<Unmeasured> = Vec::new();
    for series in record.measured().filter(|it| it.parameters.is_empty() || curve::rests_on(it)) {
        if let model::record::Outcome::Unavailable { unavailable } = &series.outcome {
            let one = Unmeasured { area: series.area.clone(), reason: unavailable.clone() };
            if !reasons.contains(&one) {
                reasons.push(one);
            }
        }
    }
    reasons
}

/// What was measured, by kind of work.
struct Curves {
    scalar: Option<Curve>,
    vector: Option<Curve>,
    moving: Option<Curve>,
    steps: Option<Steps>,
}

impl Curves {
    fn of(record: &Record) -> Curves {
        let is_light = |workload: &str| workload == model::areas::turbo::LIGHT;
        Curves {
            scalar: Curve::of_streams(record, is_light),
            vector: Curve::of_streams(record, |workload| !is_light(workload)),
            moving: Curve::of_memory(record),
            steps: Steps::of(record, Quota::of(record)),
        }
    }

    /// Each kind of work with its curve, and the part of the most that is enough.
    fn each(&self) -> Vec<(Work, Curve, f64)> {
        let of = |work, curve: &Option<Curve>, share| Some((work, curve.clone()?, share));
        let compute = self.vector.as_ref().or(self.scalar.as_ref());
        let mut all: Vec<_> = [
            compute.map(|curve| (Work::Vector, curve.clone(), COMPUTE)),
            of(Work::Scalar, &self.scalar, COMPUTE).filter(|_| self.vector.is_some()),
            compute.map(|curve| (Work::EqualParts, curve.equal_parts(), COMPUTE)),
            of(Work::Bandwidth, &self.moving, MOVING),
        ]
        .into_iter()
        .flatten()
        .collect();
        let steps = self.steps.iter().flat_map(|steps| {
            STEPS.map(|length| (Work::Steps(length), steps.of_length(length), COMPUTE))
        });
        all.extend(steps);
        all
    }

    /// Equal parts beside other work: they end with a barrier, and wait for whoever is interrupted. A team that pays for
    /// long steps pays for them.
    fn beside_others(&self, record: &Record, advice: &Advice) -> Option<Proposal> {
        let [.., longest] = STEPS;
        let (most, compute) = (advice.of(Work::Steps(longest))?, advice.of(Work::Vector)?);
        if others::left(record) >= 1.0 || most.threads >= compute.threads {
            return None;
        }
        let mut curve = self.vector.as_ref().or(self.scalar.as_ref())?.equal_parts();
        curve.points.retain(|point| point.cpus.len() <= most.threads);
        choice::proposal(Work::EqualParts, &curve, COMPUTE, advice.quota)
    }

    /// The types of cores, the fastest first; none where they are of one.
    fn types(&self, record: &Record) -> Vec<CoreType> {
        let measured = curve::of_types(record);
        let (Some(scalar), false) = (&self.scalar, measured.is_empty()) else {
            return Vec::new();
        };
        let vector = self.vector.as_ref().unwrap_or(scalar);
        let mut types: Vec<CoreType> = own_type(record, scalar, vector).into_iter().collect();
        for one in measured.iter().filter(|it| it.workload == scalar.workload) {
            let point = &one.point;
            match types.iter_mut().find(|it| it.name == one.name) {
                Some(known) if known.cpus.len() < point.cpus.len() => {
                    known.cpus = point.cpus.clone();
                }
                Some(_) => {}
                None => {
                    let heavy = measured.iter().find(|it| {
                        it.workload == vector.workload && it.point.cpus == one.point.cpus
                    });
                    types.push(CoreType {
                        name: one.name.clone(),
                        cpus: point.cpus.clone(),
                        scalar: point.together,
                        vector: heavy.map_or(point.together, |it| it.point.together),
                    });
                }
            }
        }
        let most =
            |of: fn(&CoreType) -> f64| types.iter().map(of).fold(f64::MIN_POSITIVE, f64::max);
        let (light, heavy) = (most(|it| it.scalar), most(|it| it.vector));
        for one in &mut types {
            one.scalar /= light;
            one.vector /= heavy;
        }
        types.sort_by(|a, b| b.scalar.total_cmp(&a.scalar));
        types
    }

    /// All cores over those of the fastest type, one thread on each.
    fn slower_cores(&self, types: &[CoreType], topology: &Topology) -> Option<SlowerCores> {
        let curve = self.vector.as_ref().or(self.scalar.as_ref())?;
        let fastest = &types.first()?.cpus;
        let fast = curve.points.iter().find(|it| it.cpus == *fastest)?;
        let all = curve.points.iter().rfind(|it| !curve::has_siblings(topology, &it.cpus))?;
        (all.cpus.len() > fast.cpus.len()).then(|| SlowerCores {
            handed_out: all.together / fast.together,
            equal_parts: all.in_equal_parts() / fast.in_equal_parts(),
        })
    }
}

/// The type of the first thread, by what it does alone.
fn own_type(record: &Record, scalar: &Curve, vector: &Curve) -> Option<CoreType> {
    let topology = &record.machine.topology;
    let name = topology.one_type(&scalar.points.first()?.cpus)?;
    let used = &record.run.plan.cpus;
    let is_own =
        |cpu: &CpuId| topology.kind(*cpu) == Some(name) && curve::is_first(topology, used, *cpu);
    Some(CoreType {
        name: name.to_owned(),
        cpus: used.iter().filter(is_own).collect(),
        scalar: scalar.alone()?,
        vector: vector.alone()?,
    })
}

/// What the best team delivers, in cores of the fastest type, less what interruptions, the hypervisor and other
/// work take.
fn cores(record: &Record, curve: Option<&Curve>, quota: Option<Quota>) -> Known<f64> {
    let best = curve.and_then(|curve| {
        let most = choice::most(curve, quota)?;
        Some(most / fastest(record, curve)? * left(record, quota))
    });
    best.map_or_else(
        || {
            let why = "no stream was measured on one CPU and on all";
            let reason = Unavailable::new(Obstacle::Measurement, "effective cores", why);
            Known::No { unavailable: reason.with_remedy("cpudyno threads --budget 20s") }
        },
        Known::Yes,
    )
}

/// The part of the time that interruptions, the hypervisor and other work leave.
fn left(record: &Record, quota: Option<Quota>) -> f64 {
    // A quota's stops are gaps, too: they count once.
    let binds = quota.is_some_and(|quota| quota.binds(record.run.plan.cpus.len()));
    let lost = record.lost_share().filter(|_| !binds).unwrap_or(0.0);
    others::left(record) * (1.0 - lost)
}

/// The rate of one thread on the fastest type.
fn fastest(record: &Record, curve: &Curve) -> Option<f64> {
    let alone = curve::of_types(record).into_iter().filter(|it| it.workload == curve.workload);
    let alone = alone.filter(|it| it.point.cpus.len() == 1).map(|it| it.point.together);
    alone.chain([curve.alone()?]).reduce(f64::max)
}

/// What SMT siblings add to a kind of work.
fn sibling_gain(work: Work, curve: &Curve, topology: &Topology) -> Option<SiblingGain> {
    let whole = |point: &&Point| !curve::has_siblings(topology, &point.cpus);
    let cores = curve.points.iter().rfind(whole)?;
    let all = curve.points.last()?;
    let factor = all.together / cores.together;
    (all.cpus.len() > cores.cpus.len() && work != Work::EqualParts)
        .then_some(SiblingGain { work, factor })
}
