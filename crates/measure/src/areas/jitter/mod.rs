//! What interrupts CPUs that are busy, for how long, and why.

use std::collections::BTreeMap;
use std::sync::Arc;

use machine::instruments::interruptions::InterruptionCounters;
use machine::interrupts::SmiCounter;
use model::areas::jitter::{AREA, CAUSE, CPU, POLL, QUANTITIES, SHORTEST, cpu_of};
use model::record::Presentation;
use model::{CpuId, CpuSet, Seconds, Unavailable};

use crate::run::area::Area;
use crate::run::plan::{Cell, CellWork, CustomJob, JobContext, JobTarget, Planning, Proposal, Run};
use crate::run::{Request, Span};
use rig::executor::RunError;
use rig::placement::{Choice, Order};
use rig::reduce::Readings;
use rig::watch::{Polling, RawPolling};

/// The area. A sheet has its own account of the time that its threads lost.
pub static JITTER: Area = Area::new(AREA, QUANTITIES, 1.0, |_| Proposal::default());

/// A block is no longer, where there are enough of them for an interval, and no more than a run goes through.
const BLOCK_MAX: Seconds = Seconds(1.0);
const BLOCKS: f64 = 8.0;
const BLOCKS_MAX: f64 = 28.0;

/// The run that watches these CPUs, all at once, for so long.
pub fn request(
    time: Seconds,
    shortest: Seconds,
    cpus: Option<CpuSet>,
    command: Vec<String>,
    presentation: Presentation,
) -> Request {
    let span = Span::All(time);
    let choice = Choice { cpus, siblings: true, order: Order::Package, at_most: None };
    let proposal = move |plan: &Planning<'_>| Ok(watching(plan, time, shortest));
    Request { cpus: choice, ..Request::of(&JITTER, span, proposal, command, presentation) }
}

/// What takes CPUs away from threads that never sleep, seen in short looks.
pub(crate) fn in_key(plan: &Planning<'_>) -> Proposal {
    const TIME: Seconds = Seconds(0.32);
    const SHORTEST: Seconds = Seconds(10e-6);
    watching(plan, TIME, SHORTEST)
}

/// A thread on each CPU.
struct Watching {
    watch: Polling,
}

fn watching(plan: &Planning<'_>, time: Seconds, shortest: Seconds) -> Proposal {
    let cpus = plan.placement.cpus.clone();
    let mut proposal = Proposal::default();
    let mut counters = BTreeMap::new();
    let first = cpus.first().copied().unwrap_or(CpuId(0));
    let smis = SmiCounter::of(plan.machine, first);
    for cpu in &cpus {
        match InterruptionCounters::of(plan.machine, *cpu, smis.as_ref().ok()) {
            Ok(found) => {
                counters.insert(*cpu, Arc::new(found));
            }
            Err(reason) if plan.machine.simulated.is_none() && proposal.absent.is_empty() => {
                proposal.absent.push((CAUSE, reason));
            }
            Err(_) => {}
        }
    }
    if let Err(reason) = smis
        && plan.machine.simulated.is_none()
    {
        let why = format!("{}: they are among gaps without a cause", reason.why);
        let what = "SMIs as a cause of gaps".to_owned();
        proposal.absent.push((SMIS, Unavailable { what, why, ..reason }));
    }
    let time = Seconds((time.0 / BLOCKS).min(BLOCK_MAX.0).max(time.0 / BLOCKS_MAX));
    let watch = Polling { cpus, time, shortest, counters };
    let parameters = BTreeMap::from([(SHORTEST.to_owned(), format!("{:.0}", shortest.0 * 1e9))]);
    proposal
        .cells
        .push(Cell { work: CellWork::CustomJob(Box::new(Watching { watch })), parameters });
    proposal
}

/// What stands for SMIs among what was not measured.
const SMIS: &str = "smis";

impl CustomJob for Watching {
    fn aim(&self) -> JobTarget {
        JobTarget { order: 0, workload: POLL, cpus: self.watch.cpus.clone() }
    }

    fn cpu_of(&self, part: &BTreeMap<String, String>) -> CpuId {
        cpu_of(part).unwrap_or_else(|| self.aim().cpus[0])
    }

    fn duration(&self) -> Seconds {
        self.watch.time
    }

    /// Pairs of CPUs say nothing of what interrupts each of them.
    fn is_probed(&self) -> bool {
        false
    }

    fn run(&self, means: JobContext<'_>) -> Result<Run, RunError> {
        let watched = means.executor.watch(&self.watch)?;
        let around = watched.first().map(|first| first.around).unwrap_or_default();
        let parts = watched.iter().flat_map(parts).collect();
        Ok(Run { around, parts, ..Run::default() })
    }
}

/// What one thread saw: of its CPU, and of each cause.
fn parts(raw: &RawPolling) -> Vec<(BTreeMap<String, String>, Readings)> {
    let on = || BTreeMap::from([(CPU.to_owned(), raw.cpu.to_string())]);
    let of_cpu = Readings::from([
        ("lost", Ok(vec![raw.lost.0 / raw.watched.0])),
        ("watched", Ok(vec![raw.watched.0])),
    ]);
    let mut by_cause: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for gap in &raw.gaps {
        by_cause.entry(&gap.cause).or_default().push(gap.length.0);
    }
    let mut parts = vec![(on(), of_cpu)];
    parts.extend(by_cause.into_iter().map(|(cause, lengths)| {
        let parameters = on().into_iter().chain([(CAUSE.to_owned(), cause.to_owned())]).collect();
        (parameters, Readings::from([("gap", Ok(lengths))]))
    }));
    parts
}

#[cfg(test)]
mod tests {
    use rig::watch::Gap;

    use super::*;

    #[test]
    fn a_cpu_has_its_share_and_each_cause_its_gaps() {
        let gap = |microseconds: f64, cause: &str| Gap {
            length: Seconds(microseconds * 1e-6),
            cause: cause.to_owned(),
        };
        let raw = RawPolling {
            cpu: CpuId(3),
            watched: Seconds(0.5),
            lost: Seconds(210e-6),
            gaps: vec![gap(4.0, "timer"), gap(200.0, "other thread"), gap(6.0, "timer")],
            around: rig::job::Around::default(),
        };
        let parts = parts(&raw);
        let [of_cpu, thread, timer] = parts.as_slice() else { panic!("{parts:?}") };
        // 210 us of half a second.
        let lost = of_cpu.1["lost"].as_ref().unwrap();
        assert!((lost[0] - 420e-6).abs() < 1e-12, "{lost:?}");
        assert_eq!(thread.0[CAUSE], "other thread");
        assert_eq!(timer.1["gap"].as_ref().unwrap(), &[4e-6, 6e-6]);
        assert_eq!(cpu_of(&timer.0), Some(CpuId(3)));
    }
}
