//! The counters of the memory controllers in a run: found, held against known answers, looked at while
//! nobody is busy, and their row in the record.

use std::sync::Arc;

use kernels::memory::{MemoryKernel, Stores, find};
use machine::Machine;
use machine::instruments::traffic::{self, Carried, TrafficCounters, TrafficGauge};
use model::page::si;
use model::record::Instrument;
use model::stats::median;
use model::{CpuId, Obstacle, Pages, Seconds, Unavailable, Unit};

use super::{Error, Program};
use crate::run::plan::{CellWork, Planning};
use rig::executor::{Executor, RunError};
use rig::streams;
use rig::traffic::{
    self as job, COUNTS_NOTHING, CountedHaul, Party, Store, Task, Traffic, Transfer,
};

/// The counters of a run, or why it has none.
pub(super) struct Controllers(Result<ControllerCounters, Unavailable>);

struct ControllerCounters {
    counters: Arc<TrafficCounters>,
    gauge: TrafficGauge,
    /// What others move: before the run and after it.
    idle: Vec<Vec<Carried>>,
}

impl Controllers {
    /// Opens them, and looks at what others move while this process sleeps.
    pub(super) fn find(machine: &Machine) -> Controllers {
        let found = || {
            let counters = Arc::new(TrafficCounters::find(machine)?);
            let (gauge, idle) = (counters.gauge()?, vec![counters.idle()?]);
            Ok(ControllerCounters { counters, gauge, idle })
        };
        Controllers(found())
    }

    /// Lets them count what is known, and keeps them only if they say so. The executor is one of its own:
    /// the memory that is needed goes with it.
    pub(super) fn proven(
        self,
        executor: impl FnOnce() -> Result<Box<dyn Executor>, Unavailable>,
        planning: &Planning<'_>,
        program: &Program,
    ) -> Result<Controllers, Error> {
        let Ok(found) = self.0 else { return Ok(self) };
        let mut executor = executor()?;
        match prove(&found, &mut *executor, planning, program) {
            Ok(outcome) => Ok(Controllers(outcome.map(|()| found))),
            Err(RunError::Interrupted) => Err(RunError::Interrupted.into()),
            Err(error) => {
                let why =
                    format!("the counters could not be checked with a known transfer: {error}");
                let what = "measured memory traffic";
                Ok(Controllers(Err(Unavailable::new(Obstacle::Measurement, what, why))))
            }
        }
    }

    /// Looks once more at what others move.
    pub(super) fn look_again(&mut self) {
        if let Ok(found) = &mut self.0 {
            found.idle.extend(found.counters.idle().ok());
        }
    }

    /// Where threads read them.
    pub(super) fn source(&self) -> Option<&Arc<TrafficCounters>> {
        self.0.as_ref().ok().map(|found| &found.counters)
    }

    /// Bytes per second that others moved, before the run and after it.
    pub(super) fn idle(&self) -> &[Vec<Carried>] {
        self.0.as_ref().map_or(&[], |found| &found.idle)
    }

    /// Their row in the record.
    pub(super) fn instrument(&self) -> Instrument {
        let found = self.0.as_ref().map(|found| (&*found.counters, found.gauge));
        traffic::instrument(found.map_err(Clone::clone))
    }
}

/// What is known: a kernel moves each byte of an array beyond all caches once, and nothing else.
struct Known {
    kernel: &'static str,
    stores: Stores,
    doing: &'static str,
    way: fn(&Carried) -> f64,
    counted: fn(&CountedHaul) -> &[f64],
}

const KNOWN: [Known; 2] = [
    Known {
        kernel: "load",
        stores: Stores::None,
        doing: "reading",
        way: |carried| carried.read,
        counted: |haul| &haul.read,
    },
    Known {
        kernel: "store",
        stores: Stores::NonTemporal,
        doing: "writing",
        way: |carried| carried.written,
        counted: |haul| &haul.written,
    },
];

/// Shares of the known bytes that are believed: prefetchers and others move some more, and caches keep
/// a part.
const BELIEVED: [f64; 2] = [0.7, 1.5];

/// What it may mean that a smaller share than this is counted.
const MEANINGS: [(f64, &str); 5] = [
    (0.02, COUNTS_NOTHING),
    (0.4, "most traffic goes to memory of another kind, or through controllers without a PMU here"),
    (0.6, "half of the traffic is counted, such as one of two schedulers of each channel"),
    (
        BELIEVED[0],
        "some traffic goes to memory of another kind, or another tool programs some of the \
         counters",
    ),
    (
        f64::INFINITY,
        "a count stands for less than a line, traffic is counted twice, or other programs move as \
         much",
    ),
];

/// Whether the counters see what is known: a reason where they do not.
fn prove(
    found: &ControllerCounters,
    executor: &mut dyn Executor,
    planning: &Planning<'_>,
    program: &Program,
) -> Result<Result<(), Unavailable>, RunError> {
    let Some((cpu, pages)) = counted_cell(program) else { return Ok(Ok(())) };
    let elements = model::areas::memory::rule(planning.topology(), &[cpu]) / 8;
    for known in &KNOWN {
        let transfer = find(known.kernel).and_then(|kernel| known.transfer(planning, kernel));
        // Not every CPU has stores that pass caches by.
        let Some(transfer) = transfer else { continue };
        let task = Task::Trips { transfer, elements, moving: false, pause: Seconds(0.0) };
        let store = Store::of_arrays(1, elements, pages);
        let members = vec![Party { cpu, store, task, background: false }];
        let job = Traffic { members, repetitions: 3, target: Seconds(0.0) };
        let raw = executor.traffic(&job, &program.tools, Some(&found.counters))?;
        let haul = job::reduce(&raw, &job, executor.rate(), None);
        let counted = haul.map(|haul| haul.counted.unwrap_or_default());
        let idle: Vec<f64> = found.idle.iter().flatten().map(known.way).collect();
        let idle = median(&idle).unwrap_or(0.0);
        let asked = transfer.asked_bytes(elements);
        if let Err(reason) = counted.and_then(|counted| known.holds(&counted, idle, asked)) {
            return Ok(Err(reason));
        }
    }
    Ok(Ok(()))
}

/// A CPU of a cell that is counted, and the pages of its arrays: those are as large as the rule asks, so
/// that there is room for one array of this CPU alone.
fn counted_cell(program: &Program) -> Option<(CpuId, Pages)> {
    program.cells.iter().find_map(|planned| match &planned.cell.work {
        CellWork::Traffic(moved) if moved.counted => {
            let party = moved.candidates.first()?.job.members.first()?;
            Some((party.cpu, party.store.pages))
        }
        _ => None,
    })
}

impl Known {
    /// The first variant that runs here.
    fn transfer(&self, plan: &Planning<'_>, kernel: &'static MemoryKernel) -> Option<Transfer> {
        let variants = kernel.variants.iter().filter(|variant| variant.stores == self.stores);
        streams::transfers(plan.machine, kernel, variants).find_map(Result::ok)
    }

    /// Whether what was counted beyond what others move is what was asked for.
    fn holds(&self, counted: &CountedHaul, idle: f64, asked: u64) -> Result<(), Unavailable> {
        let samples = std::iter::zip((self.counted)(counted), &counted.beyond);
        let shares: Vec<f64> = std::iter::zip(samples, &counted.asked)
            .map(|((rate, beyond), asked)| (rate - idle * (1.0 + beyond)) / asked)
            .collect();
        let Some(share) = median(&shares) else {
            let none = || Unavailable::new(Obstacle::Measurement, "", "no repetition was counted");
            return Err(counted.left_out.last().cloned().unwrap_or_else(none));
        };
        if (BELIEVED[0]..=BELIEVED[1]).contains(&share) {
            return Ok(());
        }
        let bytes = |bytes: f64| si::format(bytes, Unit::Byte);
        let found = asked as f64 * share.max(0.0);
        let means = MEANINGS.iter().find(|(below, _)| share < *below).map_or("", |(_, it)| it);
        let why = format!(
            "{} {}, the controllers counted {}: {means}",
            self.doing,
            bytes(asked as f64),
            if found > 0.0 { bytes(found) } else { "0".to_owned() }
        );
        Err(Unavailable::new(Obstacle::Measurement, "measured memory traffic", why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(read: f64) -> CountedHaul {
        let (asked, beyond) = (vec![100.0], vec![0.5]);
        CountedHaul { asked, read: vec![read], beyond, ..CountedHaul::default() }
    }

    #[test]
    fn what_others_move_is_no_part_of_the_known_answer() {
        let [load, _] = &KNOWN;
        let why = |read, idle| load.holds(&counted(read), idle, 1 << 20).err().map(|it| it.why);
        for (read, idle) in [(70.1, 0.0), (100.0, 0.0), (149.9, 0.0), (160.0, 40.0), (85.0, 10.0)] {
            assert_eq!(why(read, idle), None, "{read}, {idle}");
        }
        for (read, idle, means) in [
            (0.0, 0.0, "counted 0: they do not count"),
            (15.0, 10.0, "counted 0: they do not count"),
            (20.0, 0.0, "another kind"),
            (50.0, 0.0, "half of the traffic"),
            (110.0, 40.0, "half of the traffic"),
            (69.0, 0.0, "some traffic"),
            (151.0, 0.0, "counted twice"),
        ] {
            let why = why(read, idle).unwrap_or_default();
            assert!(why.starts_with("reading 1 MiB, the controllers counted "), "{read}: {why}");
            assert!(why.contains(means), "{read}: {why}");
        }
    }
}
