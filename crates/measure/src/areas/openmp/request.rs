//! What `cpudyno openmp` measures.

use std::collections::BTreeMap;

use model::record::Presentation;
use model::{CpuId, CpuSet, Obstacle, Seconds, Unavailable};

use super::super::turbo::active;
use super::OPENMP;
use super::found::{FAMILIES, FoundRuntime, runtimes};
use crate::run::plan::{Cell, CellWork, CustomJob, JobContext, JobTarget, Planning, Proposal, Run};
use crate::run::{Error, Request, Span};
use rig::executor::RunError;
use rig::job::Around;
use rig::placement::{Choice, Refusal};
use rig::regions::{Effort, Looped, Regions, RuntimeKind, Small, Team, Waiting, reduce};

/// What was asked for.
#[derive(Debug, Clone)]
pub struct OpenmpOptions {
    /// How often the loop is to be run.
    pub outer: u64,
    /// One more than the numbers in its array, as the ancestor counts.
    pub inner: u64,
    /// Small regions instead.
    pub small: bool,
    /// Numbers of threads; none: all, and one with default settings.
    pub threads: Option<Vec<usize>>,
    /// Runtimes by name; none: all.
    pub runtimes: Option<Vec<String>>,
    /// Variables of the environment, in place of the ways of waiting: one library is measured, with
    /// these alone.
    pub variables: Option<BTreeMap<String, String>>,
    /// Time to measure.
    pub budget: Option<Seconds>,
    /// Which CPUs, in which order.
    pub cpus: Choice,
}

/// How often the ancestor runs its loop.
const OUTER: u64 = 500_000;
/// One more than the numbers in its array.
const INNER: u64 = 10_000;

/// What every child does first.
const WARM_UP: Seconds = Seconds(0.1);
/// What starting a child takes, and what its loop takes beyond its time until its pace is known.
const START: Seconds = Seconds(0.05);

impl OpenmpOptions {
    /// The ancestor's loop, with every runtime and setting.
    pub fn usual() -> OpenmpOptions {
        OpenmpOptions {
            outer: OUTER,
            inner: INNER,
            small: false,
            threads: None,
            runtimes: None,
            variables: None,
            budget: None,
            cpus: Choice::usual(None),
        }
    }

    /// The run that answers it.
    pub fn request(self, command: Vec<String>, presentation: Presentation) -> Request {
        let (span, cpus) = (Span::All(self.budget()), self.cpus.clone());
        let proposal = move |plan: &Planning<'_>| self.proposal(plan);
        Request { cpus, ..Request::of(&OPENMP, span, proposal, command, presentation) }
    }

    /// Small regions take five seconds each.
    fn budget(&self) -> Seconds {
        const USUAL: Seconds = Seconds(25.0);
        const SMALL: Seconds = Seconds(65.0);
        self.budget.unwrap_or(if self.small { SMALL } else { USUAL })
    }

    fn proposal(&self, plan: &Planning<'_>) -> Result<Proposal, Error> {
        self.check(plan.placement.cpus.len())?;
        let is_asked = |id: &str| {
            self.runtimes.as_ref().is_none_or(|names| names.iter().any(|name| name == id))
        };
        let cpus = &plan.placement.cpus;
        let (mut found, mut absent) = runtimes(plan.machine, cpus, is_asked);
        if let Some(variables) = &self.variables {
            return Ok(self.with_variables(plan, &found, absent, variables));
        }
        if !found.is_empty() && self.counts(cpus.len()).iter().all(|threads| *threads == 1) {
            absent.push(("settings", one_thread()));
        }
        found.extend(own().filter(|own| is_asked(own.id)));
        let mut teams = Vec::new();
        for runtime in &found {
            for threads in self.counts(cpus.len()) {
                // Nobody waits for one thread.
                let waits = |waiting: &&Waiting| threads > 1 || **waiting == Waiting::Default;
                let settings = settings(runtime.kind).iter().filter(waits);
                teams.extend(settings.map(|waiting| (runtime, *waiting, cpus[..threads].to_vec())));
            }
            let is_first = runtime.id == found[0].id;
            let of_types = self.of_types(plan).into_iter().filter(|_| is_first);
            teams.extend(of_types.map(|cpus| (runtime, Waiting::Default, cpus)));
        }
        let effort = self.effort(teams.len());
        let cell = |(runtime, waiting, cpus): (&FoundRuntime, Waiting, Vec<CpuId>)| {
            cell(plan, runtime, waiting, &cpus, effort, self.outer)
        };
        Ok(Proposal { cells: teams.into_iter().map(cell).collect(), absent })
    }

    /// Of several types of cores all of each, where nobody asks for other teams: with the first runtime.
    fn of_types(&self, plan: &Planning<'_>) -> Vec<Vec<CpuId>> {
        let kinds = active::kinds(plan);
        if kinds.len() < 2 || self.threads.is_some() || self.small {
            return Vec::new();
        }
        kinds.into_iter().map(|(_, cpus)| cpus).collect()
    }

    /// The first library that was found, with these variables.
    fn with_variables(
        &self,
        plan: &Planning<'_>,
        found: &[FoundRuntime],
        absent: Vec<(&'static str, Unavailable)>,
        variables: &BTreeMap<String, String>,
    ) -> Proposal {
        let waiting =
            variables.iter().find_map(|(name, value)| Some((name, Waiting::of(name, value)?)));
        let mut further = variables.clone();
        if let Some((name, _)) = waiting {
            further.remove(name);
        }
        let waiting = waiting.map_or(Waiting::Default, |(_, waiting)| waiting);
        let cpus = &plan.placement.cpus;
        let threads = self.counts(cpus.len()).last().copied().unwrap_or(1);
        let looped = Looped {
            elements: self.inner.saturating_sub(1),
            regions_max: self.outer,
            time: Seconds(0.05),
        };
        let effort = Effort {
            warm_up: Seconds(0.05),
            looped: Some(looped),
            construct: Some(Seconds(0.02)),
            rest: Some(Seconds(0.02)),
            small: None,
        };
        let team = (&cpus[..threads], waiting, &further);
        let cell = |runtime| cell_with(plan, runtime, team, effort, self.outer);
        Proposal { cells: found.first().map(cell).into_iter().collect(), absent }
    }

    /// What goes together, with so many CPUs.
    fn check(&self, chosen: usize) -> Result<(), Error> {
        for &asked in self.threads.iter().flatten() {
            match asked {
                0 => return Err(Refusal::Nobody.into()),
                _ if asked > chosen => return Err(Refusal::TooMany { asked, chosen }.into()),
                _ => {}
            }
        }
        Ok(())
    }

    fn counts(&self, chosen: usize) -> Vec<usize> {
        let mut counts = self.threads.clone().unwrap_or_else(|| {
            // Small regions are about those who wait.
            if self.small { vec![chosen] } else { vec![1, chosen] }
        });
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// As many small regions as let one block of so many teams fit into the budget.
    fn fitting(&self, teams: usize) -> Small {
        let usual = Small::USUAL;
        let each = self.budget().0 / teams.max(1) as f64 - (WARM_UP + START).0;
        let regions = (each / usual.sleep.0) as u32;
        Small { regions: regions.clamp(1, usual.regions), ..usual }
    }

    /// What each block of so many teams does, so that five fit into the budget.
    fn effort(&self, teams: usize) -> Effort {
        /// Of the loop, or it scatters too much.
        const LOOP_MIN: f64 = 0.03;
        const BLOCKS: f64 = 5.0;
        /// Children of busy and of large machines take longer than they say.
        const PLANNED: f64 = 0.8;
        /// Of many teams each warms up for less, and repeats each construct for less.
        const WARM_UP_MAX: f64 = 0.25;
        const CONSTRUCT_MAX: f64 = 0.05;
        let each = PLANNED * self.budget().0 / (BLOCKS * teams.max(1) as f64);
        let warm_up = Seconds(WARM_UP.0.min(WARM_UP_MAX * each));
        if self.small {
            let small = Some(self.fitting(teams));
            return Effort { warm_up: WARM_UP, looped: None, construct: None, rest: None, small };
        }
        let fixed = Effort {
            warm_up,
            looped: None,
            construct: Some(Seconds(0.012_f64.min(CONSTRUCT_MAX * each))),
            rest: Some(Seconds(0.02)),
            small: None,
        };
        let time = Seconds((each - fixed.duration().0 - START.0).max(LOOP_MIN));
        let elements = self.inner.saturating_sub(1);
        Effort { looped: Some(Looped { elements, regions_max: self.outer, time }), ..fixed }
    }
}

/// What the data sheet asks: each runtime as it is, and with threads that sleep.
pub(super) fn in_brief(plan: &Planning<'_>) -> Proposal {
    brief(plan, |kind| match kind {
        RuntimeKind::Kmpc => vec![Waiting::Default, Waiting::BlockTime(Some(0))],
        RuntimeKind::Gomp | RuntimeKind::Own => vec![Waiting::Default, Waiting::Passive],
    })
}

/// What advice on waiting asks: the settings that have a number.
pub(in super::super) fn to_advise(plan: &Planning<'_>) -> Proposal {
    let counted = |waiting: &Waiting| match waiting {
        Waiting::BlockTime(_) | Waiting::SpinCount(_) => true,
        Waiting::Default | Waiting::Active | Waiting::Passive => false,
    };
    brief(plan, |kind| settings(kind).iter().copied().filter(counted).collect())
}

/// The loop alone, on all CPUs, with one runtime of each family.
fn brief(plan: &Planning<'_>, waits: impl Fn(RuntimeKind) -> Vec<Waiting>) -> Proposal {
    let all = &plan.placement.cpus;
    let (found, mut absent) = runtimes(plan.machine, all, |_| true);
    if !found.is_empty() && all.len() == 1 {
        absent.push(("settings", one_thread()));
    }
    let looped = Looped { elements: INNER - 1, regions_max: OUTER, time: Seconds(0.03) };
    let effort = Effort {
        warm_up: WARM_UP,
        looped: Some(looped),
        construct: None,
        rest: Some(Seconds(0.02)),
        small: None,
    };
    let mut teams: Vec<(usize, &FoundRuntime, Waiting)> = Vec::new();
    for runtime in &found {
        if teams.iter().any(|(_, known, _)| known.id == runtime.id) {
            continue;
        }
        // Nobody waits for one thread.
        let most = if all.len() > 1 { usize::MAX } else { 1 };
        let settings = waits(runtime.kind).into_iter().take(most).enumerate();
        teams.extend(settings.map(|(place, waiting)| (place, runtime, waiting)));
    }
    // The most wanted first: each runtime in its first setting, and then the others.
    teams.sort_by_key(|(place, ..)| *place);
    let cell = |(_, runtime, waiting): (usize, &FoundRuntime, Waiting)| {
        cell(plan, runtime, waiting, all, effort, OUTER)
    };
    Proposal { cells: teams.into_iter().map(cell).collect(), absent }
}

/// The loop and the cost of a region on each of these teams, whose threads spin at barriers of our own: a program
/// that goes from barrier to barrier.
pub(crate) fn of_teams(plan: &Planning<'_>, teams: &[Vec<CpuId>]) -> Proposal {
    /// What other work takes shows in as long as schedulers need to give each its share; of many teams each has less.
    const LOOPS: f64 = 0.3;
    let time = Seconds((LOOPS / teams.len().max(1) as f64).clamp(0.02, 0.1));
    let looped = Looped { elements: INNER - 1, regions_max: OUTER, time };
    let effort = Effort {
        warm_up: Seconds(0.01),
        looped: Some(looped),
        construct: Some(Seconds(0.004)),
        rest: None,
        small: None,
    };
    let spinning = own().find(|own| own.id == model::areas::openmp::SPINNING);
    let cells = spinning.iter().flat_map(|own| {
        teams.iter().map(move |cpus| cell(plan, own, Waiting::Default, cpus, effort, OUTER))
    });
    Proposal::from(cells.collect::<Vec<_>>())
}

/// Why settings of waiting are not compared.
fn one_thread() -> Unavailable {
    let what = "settings of waiting (KMP_BLOCKTIME, OMP_WAIT_POLICY, GOMP_SPINCOUNT)";
    let why = "waiting takes at least two threads, each on a CPU of its own";
    Unavailable::new(Obstacle::Permission, what, why).with_remedy("allow more CPUs, or threads")
}

/// The names of what can be measured.
pub fn names() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|family| family.id).chain(own().map(|own| own.id))
}

/// Barriers of our own.
fn own() -> impl Iterator<Item = FoundRuntime> {
    let rows =
        [(model::areas::openmp::SPINNING, Team::Spinning), ("futex_barrier", Team::Sleeping)];
    rows.into_iter().enumerate().map(|(place, (id, team))| FoundRuntime {
        order: FAMILIES.len() + place,
        id,
        kind: RuntimeKind::Own,
        team,
        parameters: BTreeMap::new(),
    })
}

fn settings(kind: RuntimeKind) -> &'static [Waiting] {
    match kind {
        RuntimeKind::Kmpc => &[
            Waiting::Default,
            Waiting::BlockTime(Some(0)),
            Waiting::BlockTime(Some(1)),
            Waiting::BlockTime(Some(200)),
            Waiting::BlockTime(None),
        ],
        RuntimeKind::Gomp => &[
            Waiting::Default,
            Waiting::Passive,
            Waiting::Active,
            Waiting::SpinCount(100),
            Waiting::SpinCount(10_000),
        ],
        RuntimeKind::Own => &[Waiting::Default],
    }
}

fn cell(
    plan: &Planning<'_>,
    runtime: &FoundRuntime,
    waiting: Waiting,
    cpus: &[CpuId],
    effort: Effort,
    outer: u64,
) -> Cell {
    cell_with(plan, runtime, (cpus, waiting, &BTreeMap::new()), effort, outer)
}

/// The same with further variables of the environment.
fn cell_with(
    plan: &Planning<'_>,
    runtime: &FoundRuntime,
    (cpus, waiting, variables): (&[CpuId], Waiting, &BTreeMap<String, String>),
    effort: Effort,
    outer: u64,
) -> Cell {
    let mut parameters = runtime.parameters.clone();
    if runtime.kind != RuntimeKind::Own {
        parameters.insert("setting".to_owned(), waiting.words());
    }
    let own: CpuSet = cpus.iter().copied().collect();
    if let Some(kind) = plan.topology().one_type(&own) {
        parameters.insert("core_type".to_owned(), kind.to_owned());
    }
    if let Some(looped) = effort.looped {
        parameters.insert("elements".to_owned(), looped.elements.to_string());
        parameters.insert("outer".to_owned(), outer.to_string());
    }
    if let Some(small) = effort.small {
        parameters.insert("regions".to_owned(), small.regions.to_string());
    }
    let job = Regions {
        worker: plan.machine.worker.clone(),
        team: runtime.team.clone(),
        kind: runtime.kind,
        waiting,
        variables: variables.clone(),
        cpus: cpus.to_vec(),
        effort,
    };
    let (order, id) = (runtime.order, runtime.id);
    Cell { work: CellWork::CustomJob(Box::new(Crew { order, id, job })), parameters }
}

/// A team with a setting.
struct Crew {
    order: usize,
    id: &'static str,
    job: Regions,
}

impl CustomJob for Crew {
    fn aim(&self) -> JobTarget {
        JobTarget { order: self.order, workload: self.id, cpus: self.job.cpus.clone() }
    }

    fn duration(&self) -> Seconds {
        START + self.job.effort.duration()
    }

    fn run(&self, means: JobContext<'_>) -> Result<Run, RunError> {
        let raw = means.executor.regions(&self.job)?;
        let around = Around { settled: true, ..Around::default() };
        Ok(Run { around, readings: reduce(&raw), ..Run::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 16 with two libraries, 19 on three types of cores, 25 with a third library.
    #[test]
    fn five_blocks_of_every_team_fit_into_the_usual_budget_with_room_to_spare() {
        let options = OpenmpOptions::usual();
        for (teams, share) in [(1, 0.85), (4, 0.85), (16, 0.85), (19, 0.85), (25, 1.0)] {
            let effort = options.effort(teams);
            let looped = effort.looped.unwrap().time;
            let planned = (effort.duration() + START) * (5 * teams) as f64;
            assert!(planned.0 < share * options.budget().0, "{teams}: {planned:?}");
            assert!(looped.0 >= 0.03, "{teams}: {looped:?}");
        }
    }
}
