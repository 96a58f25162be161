//! What teams of threads reached, read from the series of a record.

use std::collections::BTreeMap;

use model::areas::{COMPACT, OF_TYPE, ORDER, SPREAD, memory, openmp, turbo};
use model::record::{Record, Series, Topology};
use model::stats::mean;
use model::{CpuId, CpuSet, Seconds};

use super::Quota;

/// A team that was measured.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub(super) cpus: CpuSet,
    /// What all of them do in a second.
    pub(super) together: f64,
    /// What the slowest one does.
    slowest: f64,
}

impl Point {
    fn threads(&self) -> f64 {
        self.cpus.len() as f64
    }

    /// What they do in a second where each gets an equal part, and all wait for the last.
    pub(super) fn in_equal_parts(&self) -> f64 {
        self.slowest * self.threads()
    }
}

/// One kind of work on ever more CPUs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    pub(super) workload: String,
    /// By number of CPUs.
    pub(super) points: Vec<Point>,
}

impl Curve {
    fn new(workload: &str, mut points: Vec<Point>) -> Option<Curve> {
        points.retain(|point| point.together.is_finite() && point.together > 0.0);
        points.sort_by_key(|point| point.cpus.len());
        (!points.is_empty()).then(|| Curve { workload: workload.to_owned(), points })
    }

    /// Streams of a workload that is wanted, the last of them.
    pub(super) fn of_streams(record: &Record, is_wanted: impl Fn(&str) -> bool) -> Option<Curve> {
        let series = in_order(record, turbo::AREA, TIME_PER_OP, SPREAD);
        let series: Vec<&Series> = series.filter(|it| is_wanted(&it.workload)).collect();
        let workload = &series.last()?.workload;
        let own = series.iter().copied().filter(|it| it.workload == *workload);
        Curve::new(workload, of_members(own))
    }

    /// What moved between memory and cores.
    pub(super) fn of_memory(record: &Record) -> Option<Curve> {
        let series = in_order(record, memory::AREA, "bandwidth", SPREAD);
        // CPUs that were placed otherwise in between have several series: the one with the most samples counts.
        let mut most: BTreeMap<&[CpuId], (u64, f64)> = BTreeMap::new();
        for one in series.filter(|it| it.workload == memory::TEAMS) {
            let Some(summary) = one.summary() else { continue };
            let known = most.entry(one.active.as_slice()).or_insert((0, 0.0));
            if summary.count > known.0 {
                *known = (summary.count, summary.median);
            }
        }
        let point = |(cpus, (_, together)): (&[CpuId], (u64, f64))| {
            let slowest = together / cpus.len() as f64;
            Point { cpus: cpus.iter().copied().collect(), together, slowest }
        };
        Curve::new(memory::TEAMS, most.into_iter().map(point).collect())
    }

    /// One thread alone.
    pub(super) fn alone(&self) -> Option<f64> {
        self.points.first().filter(|it| it.cpus.len() == 1).map(|it| it.together)
    }

    /// The same work split into equal parts.
    pub(super) fn equal_parts(&self) -> Curve {
        let point = |point: &Point| Point { together: point.in_equal_parts(), ..point.clone() };
        Curve { workload: self.workload.clone(), points: self.points.iter().map(point).collect() }
    }
}

const TIME_PER_OP: &str = "time_per_op";

/// Whether advice rests on a series: the rest of what was measured beside is not missed here.
pub(super) fn rests_on(series: &Series) -> bool {
    [TIME_PER_OP, "bandwidth", "loop_time"].contains(&series.quantity.as_str())
}

/// The series of a quantity whose CPUs joined in that order.
fn in_order<'a>(
    record: &'a Record,
    area: &'a str,
    quantity: &'a str,
    order: &'a str,
) -> impl Iterator<Item = &'a Series> {
    let series = record.series_of(area, quantity);
    series.filter(move |it| it.parameters.get(ORDER).is_some_and(|word| word == order))
}

/// The teams of these series, each of which is of one member.
fn of_members<'a>(series: impl Iterator<Item = &'a Series>) -> Vec<Point> {
    // A CPU that was placed otherwise in between has several series: the one with the most samples counts.
    let mut teams: BTreeMap<&[CpuId], BTreeMap<CpuId, (u64, f64)>> = BTreeMap::new();
    for one in series {
        let Some(summary) = one.summary() else { continue };
        let team = teams.entry(one.active.as_slice()).or_default();
        let known = team.entry(one.cpu).or_insert((0, 0.0));
        if summary.count > known.0 {
            *known = (summary.count, 1.0 / summary.median);
        }
    }
    let point = |(cpus, members): (&[CpuId], BTreeMap<CpuId, (u64, f64)>)| {
        let rates = || members.values().map(|(_, rate)| *rate);
        let (together, slowest) = (rates().sum(), rates().fold(f64::INFINITY, f64::min));
        // Of a team that is not whole nobody knows what it does.
        let is_whole = members.len() == cpus.len();
        is_whole.then(|| Point { cpus: cpus.iter().copied().collect(), together, slowest })
    };
    teams.into_iter().filter_map(point).collect()
}

/// A team of cores of one type.
pub(super) struct OfType {
    pub(super) name: String,
    pub(super) workload: String,
    pub(super) point: Point,
}

/// Cores of further types, by themselves.
pub(super) fn of_types(record: &Record) -> Vec<OfType> {
    let mut by_name: BTreeMap<(&str, &str), Vec<&Series>> = BTreeMap::new();
    for series in in_order(record, turbo::AREA, TIME_PER_OP, OF_TYPE) {
        if let Some(name) = series.parameters.get("core_type") {
            by_name.entry((name, &series.workload)).or_default().push(series);
        }
    }
    let of = |((name, workload), series): ((&str, &str), Vec<&Series>)| {
        let (name, workload) = (name.to_owned(), workload.to_owned());
        let point = move |point| OfType { name: name.clone(), workload: workload.clone(), point };
        of_members(series.into_iter()).into_iter().map(point)
    };
    by_name.into_iter().flat_map(of).collect()
}

/// A loop between barriers on ever more CPUs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Steps {
    teams: Vec<StepPoint>,
}

/// What one team takes.
#[derive(Debug, Clone, PartialEq)]
struct StepPoint {
    cpus: CpuSet,
    /// How much faster than one thread the work alone is.
    speedup: f64,
    /// What a region costs beyond its work, in seconds.
    cost: f64,
}

impl Steps {
    pub(super) fn of(record: &Record, quota: Option<Quota>) -> Option<Steps> {
        let own = |it: &&Series| it.workload == openmp::SPINNING;
        let median = |quantity: &str, cpus: &CpuSet| {
            let series = in_order(record, openmp::AREA, quantity, COMPACT).filter(own);
            let mut series = series.filter(|it| it.active == *cpus);
            series.find_map(|it| Some(it.summary()?.median))
        };
        let loops: Vec<&Series> =
            in_order(record, openmp::AREA, "loop_time", COMPACT).filter(own).collect();
        // Who is interrupted lets all others wait: what that takes belongs to it, so that the mean counts. What a quota
        // takes is known, and comes too seldom for a mean.
        let time = |series: &Series| {
            let is_stopped = quota.is_some_and(|quota| quota.binds(series.active.len()));
            let mean = series.samples().and_then(|samples| mean(&samples.all()));
            mean.filter(|_| !is_stopped).or_else(|| Some(series.summary()?.median))
        };
        let alone = time(loops.iter().find(|it| it.active.len() == 1)?)?;
        let team = |series: &&Series| {
            let cpus = series.active.clone();
            let whole = time(series)?;
            // One thread waits for nobody.
            let cost = if cpus.len() == 1 { 0.0 } else { median("region_cost", &cpus)?.max(0.0) };
            let work = (whole - cost).max(alone / cpus.len() as f64);
            Some(StepPoint { speedup: alone / work, cpus, cost })
        };
        let teams: Vec<StepPoint> = loops.iter().filter_map(team).collect();
        (!teams.is_empty()).then_some(Steps { teams })
    }

    /// Steps that take one thread so long, in steps per second.
    pub(super) fn of_length(&self, length: Seconds) -> Curve {
        let point = |team: &StepPoint| {
            let together = 1.0 / (length.0 / team.speedup + team.cost);
            let slowest = together / team.cpus.len() as f64;
            Point { cpus: team.cpus.clone(), together, slowest }
        };
        let mut points: Vec<Point> = self.teams.iter().map(point).collect();
        points.sort_by_key(|point| point.cpus.len());
        Curve { workload: openmp::SPINNING.to_owned(), points }
    }
}

/// Whether some of these CPUs are threads of one core.
pub(super) fn has_siblings(topology: &Topology, cpus: &CpuSet) -> bool {
    cpus.iter().any(|cpu| !is_first(topology, cpus, cpu))
}

/// Whether a CPU is the first of its core's among these.
pub(super) fn is_first(topology: &Topology, cpus: &CpuSet, cpu: CpuId) -> bool {
    let siblings = topology.place(cpu).map(|place| place.siblings.intersection(cpus));
    siblings.and_then(|it| it.iter().next()).is_none_or(|first| first == cpu)
}
