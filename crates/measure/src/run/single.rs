//! One workload, measured once whenever somebody asks: for comparisons.

use machine::instruments::clock::{self, RateChoice};
use machine::{Machine, facts};
use model::areas::Quantity;
use model::record::Machine as Description;
use model::{CpuId, CpuSet, Obstacle, Seconds, Unavailable};

use super::arm_env::ArmEnv;
use super::plan::{Candidate, Cell, CellWork, Planning, UNLIMITED};
use super::sweep::{Sweeper, Swept};
use super::{Error, Program, Request, Span, executor};
use rig::calibration;
use rig::collect::Taken;
use rig::executor::{Executor, RunError, Stop};
use rig::placement::Placement;

/// What is compared of an area: one workload.
pub struct Subject {
    /// The area, or the area and its question.
    pub id: &'static str,
    /// The quantity that is compared unless somebody says otherwise.
    pub quantity: &'static str,
    /// What it is, in words.
    pub doc: &'static str,
    /// The settings of an arm that it heeds.
    pub(crate) heeds: &'static [&'static str],
    /// What is to be measured.
    pub(crate) request: fn(&ArmEnv) -> Request,
    /// Which cell.
    pub(crate) is_it: fn(&Cell) -> bool,
}

impl Subject {
    /// The run that has it, or what it cannot heed.
    fn request(&self, own: &ArmEnv) -> Result<Request, String> {
        match own.names().into_iter().find(|name| !self.heeds.contains(name)) {
            Some(name) => {
                let heeds = self.heeds.join(", ");
                Err(format!("`{}` ignores `{name}`; it takes {heeds}", self.id))
            }
            None => Ok((self.request)(own)),
        }
    }

    /// The cell that is measured: the last one that is it, as cells grow.
    fn cell<'a>(&self, cells: impl Iterator<Item = &'a Cell>) -> Option<usize> {
        cells.enumerate().filter(|(_, cell)| (self.is_it)(cell)).map(|(index, _)| index).last()
    }
}

/// A machine that is measured by whoever asks.
pub(crate) struct Single<'m> {
    machine: &'m Machine,
    description: Description,
    executor: Box<dyn Executor>,
    /// The rulers of all that is measured: two workloads on one CPU share what is known of it.
    swept: Swept,
}

/// A workload that is ready to be measured.
pub(crate) struct Ready {
    request: Request,
    placement: Placement,
    program: Program,
    /// The way in which it moves its data.
    chosen: usize,
    /// What is measured of it.
    pub(crate) quantity: &'static Quantity,
    taken: Taken,
    /// What it is, in words.
    pub(crate) workload: String,
}

impl<'m> Single<'m> {
    pub(crate) fn new(machine: &'m Machine, stop: &Stop) -> Result<Single<'m>, Error> {
        let stamp_clock = clock::calibrate_by(machine, RateChoice::Best)?;
        let executor = executor(machine, &stamp_clock, None, stop)?;
        let (description, swept) = (facts::machine(machine), Swept::new(0, machine.host.seed()));
        Ok(Single { machine, description, executor, swept })
    }

    /// Time since it began.
    pub(crate) fn elapsed(&self) -> Seconds {
        self.executor.elapsed()
    }

    /// Gets the workload of a subject ready, for an arm. Where the other arm's way to move data is one of
    /// its own, that is taken: two contests may have two winners, which would be a difference.
    pub(crate) fn prepare(
        &mut self,
        subject: &Subject,
        own: &ArmEnv,
        quantity: &str,
        beside: Option<&Ready>,
    ) -> Result<Ready, Error> {
        let asked = |why: String| {
            let asked = Unavailable::new(Obstacle::Cpudyno, format!("`{}`", subject.id), why);
            Error::Asked(asked.with_remedy("`cpudyno ab --help` has examples"))
        };
        let request = subject.request(own).map_err(asked)?;
        let placement = request.cpus.place(&self.description.topology)?;
        let planning = planning(self.machine, &self.description, &placement, &request);
        let mut program = Program::new(&planning, &request)?;
        let Some(cell) = subject.cell(program.cells.iter().map(|planned| &planned.cell)) else {
            let none = || {
                Unavailable::new(Obstacle::Hardware, subject.id, "nothing of it can be measured")
            };
            let reason = program.absent.into_iter().map(|(_, _, reason)| reason).next();
            return Err(Error::Unavailable(reason.unwrap_or_else(none)));
        };
        program.cells = vec![program.cells.swap_remove(cell)];
        let area = program.areas[program.cells[0].area];
        let known = || area.quantities.iter().map(|quantity| quantity.id);
        let found = area.taken().into_iter().find(|(known, _)| known.id == quantity);
        let (quantity, taken) = found.ok_or_else(|| {
            let list = known().collect::<Vec<_>>().join(", ");
            asked(format!("there is no quantity `{quantity}`, but {list}"))
        })?;
        let mut sweeper = Sweeper::of_one(&mut *self.executor, &planning, &program, &request, 0);
        sweeper.calibrate(&mut self.swept)?;
        let known = beside.and_then(|other| {
            let way = ways(&other.program).get(other.chosen)?;
            ways(&program).iter().position(|known| known.parameters == way.parameters)
        });
        let chosen = known.map_or_else(|| sweeper.choose(), Ok)?;
        let workload = program.cells[0].cell.workloads().first().map_or("", |workload| workload.id);
        let workload = workload.to_owned();
        Ok(Ready { request, placement, program, chosen, quantity, taken, workload })
    }

    /// One measurement; of several CPUs, their mean.
    pub(crate) fn measure(&mut self, ready: &Ready) -> Result<Result<f64, Unavailable>, RunError> {
        /// Others use the core now and then.
        const TRIES: usize = 3;
        let mut refused = None;
        for _ in 0..TRIES {
            match self.once(ready)? {
                Ok(value) => return Ok(Ok(value)),
                // What is in cycles needs a ruler, and says nothing without.
                Err(reason) => {
                    let ruler = || ready.cpus().iter().find_map(|cpu| self.no_ruler(cpu));
                    refused = reason.or_else(ruler).or(refused);
                }
            }
            self.rule_again(ready)?;
        }
        let none = || {
            let why = "this workload has no such number";
            Unavailable::new(Obstacle::Cpudyno, ready.quantity.label, why)
        };
        Ok(Err(refused.unwrap_or_else(none)))
    }

    /// One block; or why it has no number, where that is known.
    fn once(&mut self, ready: &Ready) -> Result<Result<f64, Option<Unavailable>>, RunError> {
        let Ready { request, placement, program, chosen, quantity, taken, .. } = ready;
        let planning = planning(self.machine, &self.description, placement, request);
        let executor = &mut *self.executor;
        let mut sweeper = Sweeper::of_one(executor, &planning, program, request, *chosen);
        let reduced = sweeper.only(&mut self.swept)?;
        let found: Result<Vec<Option<f64>>, Unavailable> =
            reduced.iter().map(|reduced| taken.middle(quantity, reduced)).collect();
        // CPUs are unlike each other: the mean of some is not that of all.
        let lacks_rulers = !self.without_ruler(ready).is_empty();
        Ok(found.map_err(Some).and_then(|values| {
            if lacks_rulers && values.contains(&None) {
                return Err(None);
            }
            let values: Vec<f64> = values.into_iter().flatten().collect();
            let count = values.len() as f64;
            if count > 0.0 { Ok(values.iter().sum::<f64>() / count) } else { Err(None) }
        }))
    }

    /// Lets CPUs try again whose chains agreed on nothing: somebody used the core then.
    fn rule_again(&mut self, ready: &Ready) -> Result<(), RunError> {
        let without = self.without_ruler(ready);
        if without.is_empty() {
            return Ok(());
        }
        for cpu in without {
            self.swept.rulers.remove(&cpu);
        }
        let Ready { request, placement, program, chosen, .. } = ready;
        let planning = planning(self.machine, &self.description, placement, request);
        let executor = &mut *self.executor;
        let mut sweeper = Sweeper::of_one(executor, &planning, program, request, *chosen);
        sweeper.calibrate(&mut self.swept).map(drop)
    }

    fn without_ruler(&self, ready: &Ready) -> Vec<CpuId> {
        ready.cpus().iter().filter(|cpu| self.no_ruler(*cpu).is_some()).collect()
    }

    /// Why a CPU has no ruler.
    fn no_ruler(&self, cpu: CpuId) -> Option<Unavailable> {
        self.swept.rulers.get(&cpu)?.as_ref().err().cloned()
    }

    /// The same work on a CPU whatever is measured: see [`calibration::multiply`].
    pub(crate) fn multiply(&mut self, ready: &Ready, cpu: CpuId) -> Result<Option<f64>, RunError> {
        calibration::multiply(&mut *self.executor, &ready.program.tools, cpu)
    }
}

impl Ready {
    /// The CPUs that it uses.
    pub(crate) fn cpus(&self) -> CpuSet {
        self.program.used()
    }
}

/// The ways in which the first cell may move its data.
fn ways(program: &Program) -> &[Candidate] {
    match &program.cells[0].cell.work {
        CellWork::Traffic(moved) => &moved.candidates,
        CellWork::Streams(_) | CellWork::CustomJob(_) => &[],
    }
}

pub(super) fn planning<'a>(
    machine: &'a Machine,
    description: &'a Description,
    placement: &'a Placement,
    request: &'a Request,
) -> Planning<'a> {
    let budget = match request.span {
        Span::Budget(budget) => budget,
        Span::Blocks(_) | Span::Bounded(_) | Span::All(_) => UNLIMITED,
    };
    Planning { machine, description, placement, streams: &request.streams, budget }
}
