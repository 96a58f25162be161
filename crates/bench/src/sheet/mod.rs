//! The sheet: all areas in one run, one record.

mod assemble;
mod findings;
mod outline;
mod page;
mod sweep;

pub use outline::outline;
pub use page::page;

use std::collections::{BTreeMap, BTreeSet};

use kernels::StreamRow;
use machine::Machine;
use machine::instruments::clock::{self, StampClock, StampSource};
use machine::{conditions, disturbances, facts};
use model::record::{Presentation, Record, Topology};
use model::{CpuSet, Obstacle, Seconds, Unavailable};

use crate::areas::{AREAS, Cell, Planning};
use crate::rig::executor::simulated::Simulated;
use crate::rig::executor::threads::Threads;
use crate::rig::executor::{Executor, RunError, Stop};
use crate::rig::placement::Placement;
use crate::rig::{protocol, ruler, schedule};
use crate::streams;

/// What a run is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// Time that the run may take.
    pub budget: Seconds,
    /// Only these CPUs, each of them; none: one CPU per core.
    pub cpus: Option<CpuSet>,
    /// Only these streams; none: all.
    pub streams: Option<Vec<&'static StreamRow>>,
    /// The command with its arguments, without paths.
    pub command: Vec<String>,
    /// How the live text is laid out.
    pub presentation: Presentation,
}

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
pub enum SheetError {
    /// The machine does not allow it.
    #[error("{}: {}", .0.what, .0.why)]
    Unavailable(Unavailable),
    /// A CPU was asked for that this process may not use.
    #[error("cannot use CPU {asked}: this process may use {usable}")]
    Cpus {
        /// What was asked for and is not there.
        asked: CpuSet,
        /// What is there.
        usable: CpuSet,
    },
    /// A job failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl From<Unavailable> for SheetError {
    fn from(reason: Unavailable) -> Self {
        SheetError::Unavailable(reason)
    }
}

/// How far the run is, for whoever shows it.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Share of the budget that is used, 0 to 1.
    pub share: f64,
    /// What is going on.
    pub doing: &'a str,
}

/// Measures this machine. An interrupted run is a record too, marked as such by the caller's signal.
pub fn measure(
    machine: &Machine,
    request: &Request,
    stop: &Stop,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Record, SheetError> {
    refuse_elsewhere(machine)?;
    progress(Progress { share: 0.0, doing: "reading the machine" });
    let started = machine.host.now_utc();
    let description = facts::machine(machine);
    let topology = description.topology.clone();
    let placement = place(&topology, request.cpus.as_ref())?;
    let cpus: CpuSet = placement.cpus.iter().copied().collect();
    let conditions_before = conditions::read(machine);
    let counters = disturbances::read(machine, &cpus);
    progress(Progress { share: 0.0, doing: "calibrating clocks" });
    let stamp_clock = clock::calibrate(machine)?;
    let mut executor = executor(machine, &stamp_clock, stop)?;

    let all = kernels::streams::SHEET;
    let rows = request.streams.clone().unwrap_or_else(|| all.to_vec());
    let planning = Planning { machine, topology: &topology, placement: &placement, streams: &rows };
    let program = Program::new(&planning, request.budget)?;
    let run = sweep::run(&mut *executor, machine, &planning, &program, request.budget, progress)?;
    let seconds = executor.elapsed();

    progress(Progress { share: 1.0, doing: "writing the record" });
    let disturbed = disturbances::read(machine, &cpus).since(&counters);
    Ok(assemble::record(assemble::Parts {
        machine,
        request,
        started,
        description,
        conditions_before,
        disturbed,
        stamp_clock,
        placement: &placement,
        rows: &rows,
        program: &program,
        run,
        seconds,
    }))
}

/// Only the machine that this process runs on can be measured.
fn refuse_elsewhere(machine: &Machine) -> Result<(), Unavailable> {
    match &machine.elsewhere {
        None => Ok(()),
        Some(elsewhere) => {
            let why = format!("its answers come from {elsewhere}, and nothing runs there");
            let refusal = Unavailable::new(Obstacle::Permission, "this machine", why);
            Err(refusal.with_remedy("`cpudyno sheet --dry-run` says what would be measured there"))
        }
    }
}

fn place(topology: &Topology, asked: Option<&CpuSet>) -> Result<Placement, SheetError> {
    let usable = &topology.usable;
    let placement = match asked {
        None => Placement::one_per_core(topology),
        Some(asked) => {
            let missing = asked.difference(usable);
            if !missing.is_empty() {
                return Err(SheetError::Cpus { asked: missing, usable: usable.clone() });
            }
            Placement::chosen(topology, asked)
        }
    };
    if placement.cpus.is_empty() {
        let why = "this process may use none of the machine's CPUs";
        return Err(Unavailable::new(Obstacle::Permission, "CPUs", why).into());
    }
    Ok(placement)
}

fn executor(
    machine: &Machine,
    clock: &StampClock,
    stop: &Stop,
) -> Result<Box<dyn Executor>, Unavailable> {
    let (rate, stop) = (clock.rate, stop.clone());
    Ok(match (&clock.source, &machine.simulated) {
        (StampSource::Tsc(probe), _) => Box::new(Threads::new(*probe, rate, stop)),
        (StampSource::MonotonicRaw(probe), _) => Box::new(Threads::new(*probe, rate, stop)),
        (StampSource::Cntvct(probe), _) => Box::new(Threads::new(*probe, rate, stop)),
        (StampSource::Simulated, Some(model)) => {
            Box::new(Simulated::new(model.clone(), rate, stop))
        }
        (StampSource::Simulated, None) => {
            let why = "only a simulated machine can run on a simulated clock";
            return Err(Unavailable::new(Obstacle::Cpudyno, "stamp clock", why));
        }
    })
}

/// A cell and the area that it belongs to.
struct Planned {
    area: usize,
    cell: Cell,
}

/// What a run measures, and what it does not.
struct Program {
    tools: crate::rig::job::Tools,
    cells: Vec<Planned>,
    left_out: Vec<Planned>,
    absent: Vec<(usize, &'static str, Unavailable)>,
}

impl Program {
    fn new(planning: &Planning<'_>, budget: Seconds) -> Result<Program, SheetError> {
        let tools = streams::tools(planning.machine)?;
        for tool in [tools.ruler, tools.witness, tools.null, tools.contention] {
            streams::verify(&tool).map_err(RunError::from)?;
        }
        let mut program =
            Program { tools, cells: Vec::new(), left_out: Vec::new(), absent: Vec::new() };
        let mut wishes: Vec<_> = AREAS.iter().map(|area| area.wishes(planning)).collect();
        let costs: Vec<schedule::Wish> = std::iter::zip(AREAS, &wishes)
            .map(|(area, wishes)| schedule::Wish {
                weight: area.weight(),
                costs: wishes.cells.iter().map(|cell| protocol::duration(&cell.phases)).collect(),
            })
            .collect();
        let admitted = schedule::admit(&costs, budget);
        let mut verified = BTreeSet::new();
        for (area, wishes) in wishes.iter_mut().enumerate() {
            let absent = std::mem::take(&mut wishes.absent);
            program.absent.extend(absent.into_iter().map(|(id, reason)| (area, id, reason)));
            for (index, cell) in std::mem::take(&mut wishes.cells).into_iter().enumerate() {
                if verified.insert(cell.load.id) {
                    streams::verify(&cell.load).map_err(RunError::from)?;
                }
                let admitted = index < admitted[area];
                let list = if admitted { &mut program.cells } else { &mut program.left_out };
                list.push(Planned { area, cell });
            }
        }
        Ok(program)
    }

    /// Seconds of one block of every cell, as planned.
    fn sweep_cost(&self) -> Seconds {
        self.cells
            .iter()
            .fold(Seconds(0.0), |sum, planned| sum + protocol::duration(&planned.cell.phases))
    }

    /// Numbers of CPUs that are active together somewhere.
    fn together(&self) -> Vec<usize> {
        let mut counts: Vec<usize> = self.cells.iter().map(|p| p.cell.cpus.len()).collect();
        counts.sort_unstable();
        counts.dedup();
        counts.retain(|count| *count > 1);
        counts
    }
}

type Rulers = BTreeMap<model::CpuId, Result<ruler::Ruler, Unavailable>>;
