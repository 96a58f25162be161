//! Energy counters under a known load: one package after the other works, and what the counters of all say is read.
//!
//! A counter that belongs to its package rises with that one's load and no other's. First nobody works, so that what
//! idling draws is known. Windows are short: counters move every millisecond, and limits of power hold on seconds.

use std::collections::BTreeMap;

use kernels::StreamRow;
use machine::activity::{Activity, Interval, STOOD_STILL, Scope};
pub(super) use model::areas::energy::{
    AREA, BUSY, EVERYBODY, LOADED, NOBODY, PACKAGE, POWER, QUANTITIES, WORKLOAD,
};
use model::{CpuId, Obstacle, Reading, Seconds, Unavailable};

use super::sustained;
use super::turbo::{CLOCKS, asked};
use crate::run::area::Area;
use crate::run::plan::{
    Cell, CellWork, CustomJob, DATA, JobContext, JobTarget, Planning, Proposal, Run,
};
use rig::executor::{Executor, RunError};
use rig::job::{Around, Load, Tools};
use rig::reduce::Readings;
use rig::streams;

/// What is read between two looks.
const WINDOW: Seconds = Seconds(20e-3);

/// Looks in each state; one before them is not kept.
const LOOKS: usize = 3;

const POWER_HEADER: &str = "PkgWatt";
const BUSY_HEADER: &str = "Busy%";

/// The area.
pub static ENERGY: Area = Area { needs: CLOCKS, ..Area::new(AREA, QUANTITIES, 0.3, proposal) };

fn proposal(plan: &Planning<'_>) -> Proposal {
    asked::of_heaviest(plan, WORKLOAD, |heaviest| {
        let load = streams::load(plan.machine, heaviest, DATA)?;
        let job = EnergyJob::of_each(packages(plan)?, load, &streams::tools(plan.machine)?);
        Ok(Proposal::from(vec![job.cell()]))
    })
}

/// All packages at once under each of these streams, and one after the other under the last of them: a counter that does
/// not follow its own package tells no power.
pub(super) fn of_streams(
    plan: &Planning<'_>,
    rows: impl Iterator<Item = &'static StreamRow>,
) -> Proposal {
    let cells = || -> Result<Vec<Cell>, Unavailable> {
        let packages = packages(plan)?;
        let all = (EVERYBODY.to_owned(), plan.placement.cpus.clone());
        let tools = streams::tools(plan.machine)?;
        let can: Vec<(&'static str, Load)> = rows
            .filter_map(|row| Some((row.id, streams::load(plan.machine, row, DATA).ok()?)))
            .collect();
        let last = can.last().map(|(_, load)| *load);
        let check = last.map(|load| EnergyJob::of_each(packages.clone(), load, &tools));
        let job = |(order, (workload, load)): (usize, (&'static str, Load))| {
            let (packages, states) = (packages.clone(), vec![all.clone()]);
            EnergyJob { order: order + 1, workload, packages, states, load, tools }
        };
        let under = can.into_iter().enumerate().map(job);
        Ok(check.into_iter().chain(under).map(EnergyJob::cell).collect())
    };
    cells().map_or_else(|reason| Proposal::without(WORKLOAD, reason), Proposal::from)
}

/// The CPUs that are used, by package.
///
/// # Errors
/// Where no package's counter can be read.
fn packages(plan: &Planning<'_>) -> Result<BTreeMap<u32, Vec<CpuId>>, Unavailable> {
    let activity = Activity::open(plan.machine, None)?;
    if let Some(missing) = activity.missing().iter().find(|it| it.header == POWER_HEADER) {
        return Err(missing.reason.clone());
    }
    let mut packages: BTreeMap<u32, Vec<CpuId>> = BTreeMap::new();
    for &cpu in &plan.placement.cpus {
        if let Some(place) = plan.topology().place(cpu) {
            packages.entry(place.package).or_default().push(cpu);
        }
    }
    if packages.is_empty() {
        let why = "the kernel does not say which package a CPU is in";
        return Err(Unavailable::new(Obstacle::Hardware, WORKLOAD, why));
    }
    Ok(packages)
}

/// Some CPUs work, then others.
struct EnergyJob {
    order: usize,
    workload: &'static str,
    /// The CPUs that may be used, by package.
    packages: BTreeMap<u32, Vec<CpuId>>,
    /// Who works, one after the other, by the word for it.
    states: Vec<(String, Vec<CpuId>)>,
    load: Load,
    tools: Tools,
}

impl EnergyJob {
    /// Nobody works, and then one package after the other.
    fn of_each(packages: BTreeMap<u32, Vec<CpuId>>, load: Load, tools: &Tools) -> EnergyJob {
        let nobody = (NOBODY.to_owned(), Vec::new());
        let each = packages.iter().map(|(it, cpus)| (it.to_string(), cpus.clone()));
        let states = std::iter::once(nobody).chain(each).collect();
        EnergyJob { order: 0, workload: WORKLOAD, packages, states, load, tools: *tools }
    }

    fn cell(self) -> Cell {
        Cell { work: CellWork::CustomJob(Box::new(self)), parameters: BTreeMap::new() }
    }

    /// What was read in some windows while these CPUs worked, if any do.
    fn looks(
        &self,
        cpus: &[CpuId],
        activity: &mut Activity<'_>,
        executor: &mut dyn Executor,
        around: &mut Option<Around>,
    ) -> Result<Vec<Interval>, RunError> {
        let job = sustained::rounds(cpus, self.load, WINDOW, &self.tools);
        let mut looks = Vec::new();
        for _ in 0..=LOOKS {
            if cpus.is_empty() {
                executor.rest(WINDOW)?;
            } else {
                for member in executor.repeat(&job)?.members {
                    *around = Some(around.map_or(member.around, |it| it.and(member.around)));
                }
            }
            looks.push(activity.look());
        }
        // What went on before the first window is none of its load.
        Ok(looks.split_off(1).into_iter().flatten().collect())
    }
}

/// What the counter of a package says in each window: one that stood still says nothing was drawn.
fn watts(activity: &Activity<'_>, looks: &[Interval], carrier: usize) -> Reading<Vec<f64>> {
    let none = || Unavailable::new(Obstacle::Measurement, POWER, "its counter was not read");
    let column = activity.columns().iter().position(|it| it.header == POWER_HEADER);
    let of = |look: &Interval| match look.values.get(column.ok_or_else(none)?) {
        Some(values) => match values.get(carrier).cloned().ok_or_else(none)? {
            Err(reason) if reason.why.contains(STOOD_STILL) => Ok(0.0),
            watts => watts,
        },
        None => Err(none()),
    };
    if looks.is_empty() {
        return Err(none());
    }
    looks.iter().map(of).collect()
}

/// How busy these CPUs were in each window, on the average.
fn busy(
    activity: &Activity<'_>,
    looks: &[Interval],
    is_mine: impl Fn(CpuId) -> bool,
) -> Option<Vec<f64>> {
    let column = activity.columns().iter().position(|it| it.header == BUSY_HEADER)?;
    let carriers = activity.carriers(Scope::Cpu);
    let of = |look: &Interval| {
        let values = carriers.iter().zip(look.values.get(column)?);
        let mine = values.filter(|(cpu, _)| is_mine(**cpu));
        let shares: Vec<f64> = mine.filter_map(|(_, share)| share.as_ref().ok().copied()).collect();
        model::stats::mean(&shares)
    };
    looks.iter().map(of).collect()
}

impl CustomJob for EnergyJob {
    fn aim(&self) -> JobTarget {
        let cpus = self.packages.values().flatten().copied().collect();
        JobTarget { order: self.order, workload: self.workload, cpus }
    }

    fn cpu_of(&self, part: &BTreeMap<String, String>) -> CpuId {
        let package = part.get(PACKAGE).and_then(|package| package.parse::<u32>().ok());
        let mut first = package.and_then(|it| self.packages.get(&it)).into_iter().flatten();
        first.next().copied().unwrap_or_else(|| self.aim().cpus[0])
    }

    fn duration(&self) -> Seconds {
        WINDOW * (self.states.len() * (1 + LOOKS)) as f64
    }

    fn busy(&self) -> Seconds {
        WINDOW * (1 + LOOKS) as f64
    }

    fn is_probed(&self) -> bool {
        false
    }

    fn is_once(&self) -> bool {
        true
    }

    fn run(&self, means: JobContext<'_>) -> Result<Run, RunError> {
        let JobContext { executor, machine, .. } = means;
        let mut activity = match Activity::open(machine, None) {
            Ok(activity) => activity,
            Err(reason) => return Ok(Run::or_reason(Err(reason), [POWER])),
        };
        activity.only(&[POWER_HEADER, BUSY_HEADER].map(str::to_owned));
        let numbers: BTreeMap<CpuId, u32> =
            activity.cpus().iter().map(|place| (place.cpu, place.package)).collect();
        let mut run = Run::default();
        let mut around = None;
        for (loaded, cpus) in &self.states {
            let looks = self.looks(cpus, &mut activity, executor, &mut around)?;
            for (index, carrier) in activity.carriers(Scope::Package).into_iter().enumerate() {
                let Some(&package) = numbers.get(&carrier) else { continue };
                let parameters = BTreeMap::from([
                    (LOADED.to_owned(), loaded.clone()),
                    (PACKAGE.to_owned(), package.to_string()),
                ]);
                let mut readings = Readings::from([(POWER, watts(&activity, &looks, index))]);
                let of_package = |cpu| numbers.get(&cpu) == Some(&package);
                readings.extend(busy(&activity, &looks, of_package).map(|it| (BUSY, Ok(it))));
                run.parts.push((parameters, readings));
            }
        }
        run.around = around.unwrap_or_default();
        Ok(run)
    }
}
