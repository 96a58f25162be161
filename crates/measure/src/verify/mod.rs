//! Whether every core computes right: each stream and memory kernel on each CPU, alone and all together, every answer
//! compared with a reference that other CPUs computed.
//!
//! One pass goes over all workloads. For each of them operands are made, whose pattern is another one in each pass; two
//! CPUs compute the right answer one op at a time (`reference`), and a third way to it is another instruction. Then the
//! workload runs on some CPUs alone, and on all of them at once. A wrong answer is tried again, there and elsewhere, and is
//! kept (`tally`). Nothing lets the CPUs cool down.

mod reference;
mod rounds;
mod surroundings;
mod tally;
mod workloads;

use std::time::Instant;

use kernels::patterns::Pattern;
use machine::Machine;
use machine::instruments::clock::{self, RateChoice};
use model::record::{Record, VerifyRun};
use model::{CpuSet, Seconds};

use crate::jury::{self, Jury};
use crate::run::{Error, Progress, executor, refuse_elsewhere};
use rig::executor::Stop;
use rig::placement::Choice;
use rounds::Rounds;
use surroundings::Surroundings;
use tally::Tally;
pub use workloads::{ids, named};

/// How long it takes if nobody says.
pub const TIME: Seconds = Seconds(60.0);

/// What is to be compared.
#[derive(Debug, Clone)]
pub struct Verifying {
    /// For how long.
    pub budget: Seconds,
    /// On which CPUs; none: on every one that this process may use.
    pub cpus: Option<CpuSet>,
    /// Ids of streams and memory kernels; none: all that this machine executes.
    pub workloads: Vec<String>,
}

impl Default for Verifying {
    fn default() -> Verifying {
        Verifying { budget: TIME, cpus: None, workloads: Vec::new() }
    }
}

/// Compares answers. `described` is the record of the machine, to which they are added. A run that is stopped has what
/// was compared until then.
pub fn run(
    machine: &Machine,
    verifying: &Verifying,
    described: Record,
    stop: &Stop,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Record, Error> {
    refuse_elsewhere(machine)?;
    let begun = Instant::now();
    let mut record = described;
    let is_alone = record.series.is_empty();
    let cpus = Choice { siblings: true, ..Choice::usual(verifying.cpus.clone()) };
    let placement = cpus.place(&record.machine.topology)?;
    let (workloads, left_out) = workloads::found(machine, &verifying.workloads)?;
    let stamp_clock = clock::calibrate_by(machine, RateChoice::Best)?;
    let executor = executor(machine, &stamp_clock, None, stop)?;
    let surroundings = Surroundings::watch(machine, &placement, stop);
    let mut rounds = Rounds {
        began: executor.elapsed(),
        executor,
        placement: &placement,
        budget: verifying.budget,
        seed: machine.host.seed(),
        tally: Tally::new(&placement, &workloads),
        surroundings,
        jury: Jury::new(&placement.cpus),
    };
    let ended = rounds.all(&workloads, progress)?;
    let seconds = (rounds.executor.elapsed() - rounds.began).0;
    let Rounds { tally, surroundings, seed, .. } = rounds;
    let run = VerifyRun {
        seconds,
        seed: format!("{seed:#018x}"),
        patterns: Pattern::KINDS.map(str::to_owned).to_vec(),
        celsius: surroundings.celsius(),
        cpus: tally.cpus(&record.machine.topology, &surroundings),
        wrong: tally.wrong(&record.machine.topology),
        references: tally.references,
        workloads: tally.workloads,
        left_out,
        ended,
    };
    if is_alone {
        record.run.plan.cpus = placement.cpus.iter().copied().collect();
        record.run.plan.placement.clone_from(&placement.reason);
        record.run.plan.budget_seconds = verifying.budget.0;
        record.conditions.after.extend(machine::conditions::read(machine));
        if machine.simulated.is_none() {
            record.run.seconds = begun.elapsed().as_secs_f64();
        }
        if stop.asked() {
            record.run.interrupted = Some("stopped".to_owned());
        }
    }
    record.findings.extend(run.wrong.iter().map(jury::finding));
    record.verify = Some(run);
    Ok(record)
}
