//! What programs call: whether there is a PMU, counting a function, a table of it.

use std::fmt;
use std::io::{self, Write};

use machine::Machine;
use machine::perf::{Reader, Wanted};
use model::record::{CountedUnit, Counts, CountsRun};
use model::{CpuId, Obstacle, Reading, Unavailable};
use sys::perf_open::{Attributes, Modes};

use super::sheet::FunctionSheet;
use super::{CountingPlan, Session, Work, base};
use crate::events::{Encoded, Error, Events, Target};
use model::counts::{Report, with_reasons, write_reasons};

/// Whether cycles of this thread can be counted, by trying.
///
/// # Error
/// Why not, and what would help.
pub fn is_available() -> Result<(), Unavailable> {
    /// Far more than a counter that works needs for its first step.
    const READINGS: usize = 1000;
    let machine = Machine::real();
    let reader = cycles(&machine, machine.perf.current_cpu().unwrap_or(CpuId(0)))?;
    let read = || reader.count();
    let stands = |why: String| Unavailable::new(Obstacle::Permission, "cycles", why);
    let first = read().map_err(|error| stands(format!("reading cycles answered {error}")))?;
    let moves = (0..READINGS).any(|_| read().is_ok_and(|count| count.value > first.value));
    if moves { Ok(()) } else { Err(stands("the counter of cycles stands still".to_owned())) }
}

/// Whether the kernel of a machine lets this process count cycles of a CPU's kind of core.
///
/// # Error
/// Why not, and what would help.
pub fn can_count(machine: &Machine, cpu: CpuId) -> Result<(), Unavailable> {
    cycles(machine, cpu).map(drop)
}

/// A counter of cycles in user mode, of that CPU's kind of core.
fn cycles(machine: &Machine, cpu: CpuId) -> Reading<Reader> {
    let cycles = base(machine, cpu).into_iter().find(|event| event.name == "cycles");
    let cycles = cycles.expect("BUG: cycles are in every table");
    let attributes = Attributes {
        kind: cycles.kind.unwrap_or_default(),
        config: cycles.config,
        modes: Modes::User,
        ..Attributes::default()
    };
    machine.perf.open(&Wanted::of_this_thread("cycles", attributes), None)
}

/// What [`profile`] found. Printed, it is the table with the reasons of what is missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Where and how it was counted.
    pub run: CountsRun,
    /// The counts.
    pub counts: Counts,
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(cpu), Some(pmu)) = (self.run.cpu, &self.run.pmu) {
            writeln!(f, "CPU {cpu} (`{pmu}`), {}", self.run.modes)?;
        }
        with_reasons(&self.counts, f)
    }
}

/// Counts events of a function, in as many passes as they need: the function is executed once a pass, as
/// [`Counts::executions`] says. The thread is pinned to the CPU that it runs on meanwhile. Every table
/// begins with instructions, cycles and reference cycles.
///
/// This library prints nothing (only the command does, invariant I1 of ARCHITECTURE.md): print the
/// answer, or have [`profile_to`] print it.
///
/// # Error
/// Where the thread cannot be pinned. An event that cannot be counted is a row of the answer.
pub fn profile<E: EventList + ?Sized>(
    mut function: impl FnMut(),
    events: &E,
    units: &[(&str, u64)],
) -> Result<Profile, Unavailable> {
    let machine = Machine::real();
    let session = Session::on(&machine, None)?;
    let plan = session.plan(&events.encoded(&machine)?);
    let units: Vec<CountedUnit> =
        units.iter().map(|(name, number)| CountedUnit::new(*name, *number)).collect();
    let counts = session.count("function", &plan, Work::Function(&mut function), &units)?;
    Ok(Profile { run: session.outline("function", &plan), counts })
}

/// [`profile`], written to somewhere such as standard output.
///
/// # Error
/// Where it cannot be written. That nothing can be counted is written, too.
pub fn profile_to<E: EventList + ?Sized>(
    out: &mut dyn Write,
    function: impl FnMut(),
    events: &E,
    units: &[(&str, u64)],
) -> io::Result<()> {
    match profile(function, events, units) {
        Ok(profile) => write!(out, "{profile}"),
        Err(Unavailable { what, why, remedy, .. }) => {
            let remedy = remedy.map(|remedy| format!("; {remedy}")).unwrap_or_default();
            writeln!(out, "{what}: {why}{remedy}")
        }
    }
}

/// The data sheet of a function: its counts by unit under several circumstances. Printed, it has a
/// column for each, and the reasons of what is missing.
#[derive(Debug, Clone, PartialEq)]
pub struct DataSheet {
    /// Where and how it was counted, with a table for each circumstance.
    pub run: CountsRun,
}

impl fmt::Display for DataSheet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Report::of_sheet(&self.run.tables))?;
        write_reasons(&self.run.tables, f)
    }
}

/// Counts a function that works on so many bytes, for each of these sizes: *warm*, after one call;
/// *cold*, after other data, twice as large as the last cache, displaced its own; and with a
/// *neighbour busy*: a kernel that moves as much memory, on the other thread of the core or else on
/// another CPU. Without sizes it is called with 0 alone. `units` says what a call with a size does;
/// the first is the unit of the sheet. Each circumstance takes two calls for each pass. The thread
/// is pinned meanwhile.
///
/// # Error
/// Where the thread cannot be pinned, or a name means nothing. What cannot be counted is a row with
/// its reason.
///
/// # Caveats
/// Cold is as cold as displacing makes it: a cache that does not throw away its oldest line keeps a
/// few.
pub fn sheet<E: EventList + ?Sized>(
    mut function: impl FnMut(u64),
    events: &E,
    sizes: &[u64],
    units: impl Fn(u64) -> Vec<(&'static str, u64)>,
) -> Result<DataSheet, Unavailable> {
    let machine = Machine::real();
    let session = Session::on(&machine, None)?;
    let plan = session.plan(&events.encoded(&machine)?);
    let units = |size| -> Vec<CountedUnit> {
        units(size).into_iter().map(|(name, number)| CountedUnit::new(name, number)).collect()
    };
    let sheet = FunctionSheet { sizes, units: &units };
    let tables = sheet.count(&session, &plan, &mut function);
    Ok(DataSheet { run: CountsRun { tables, ..session.outline("function", &plan) } })
}

/// Counts events of a function that is executed once, and gives its result with the counts.
///
/// # Error
/// Where the events do not fit into one pass, with the passes that they would need; or where the thread
/// cannot be pinned. The function is not executed then.
pub fn measure<R, E: EventList + ?Sized>(
    function: impl FnOnce() -> R,
    events: &E,
) -> Result<(R, Counts), Unavailable> {
    let machine = Machine::real();
    let events = events.encoded(&machine)?;
    measure_on(&machine, function, &events)
}

/// Events, as programs name them: names and patterns such as `mem_load.*l._hit`, codes such as `0x1c2`, or
/// what was looked up before.
pub trait EventList {
    /// The events that they mean on a machine.
    ///
    /// # Error
    /// Where a name means nothing, with names that are like it.
    fn encoded(&self, machine: &Machine) -> Result<Vec<Encoded>, Unavailable>;
}

impl EventList for [Encoded] {
    fn encoded(&self, _: &Machine) -> Result<Vec<Encoded>, Unavailable> {
        Ok(self.to_vec())
    }
}

impl EventList for Vec<Encoded> {
    fn encoded(&self, machine: &Machine) -> Result<Vec<Encoded>, Unavailable> {
        self.as_slice().encoded(machine)
    }
}

impl<const N: usize> EventList for [Encoded; N] {
    fn encoded(&self, machine: &Machine) -> Result<Vec<Encoded>, Unavailable> {
        self.as_slice().encoded(machine)
    }
}

impl EventList for [&str] {
    fn encoded(&self, machine: &Machine) -> Result<Vec<Encoded>, Unavailable> {
        let events = Events::of(Target::of(machine));
        events.resolve_all(self.iter().copied()).map_err(|error| {
            let near = match &error {
                Error::Unknown { near, .. } => near.join("`, `"),
                _ => String::new(),
            };
            let unknown = Unavailable::new(Obstacle::Cpudyno, "events", error.to_string());
            if near.is_empty() {
                unknown.with_remedy("`cpudyno pmu list` lists the events of this machine")
            } else {
                unknown.with_remedy(format!("did you mean `{near}`?"))
            }
        })
    }
}

impl<const N: usize> EventList for [&str; N] {
    fn encoded(&self, machine: &Machine) -> Result<Vec<Encoded>, Unavailable> {
        self.as_slice().encoded(machine)
    }
}

fn measure_on<R>(
    machine: &Machine,
    function: impl FnOnce() -> R,
    events: &[Encoded],
) -> Reading<(R, Counts)> {
    let session = Session::on(machine, None)?;
    let plan = session.plan(events);
    too_many(&plan)?;
    let mut function = Some(function);
    let mut result = None;
    let mut once = || result = function.take().map(|function| function());
    let counts = session.count("function", &plan, Work::Function(&mut once), &[])?;
    let result = result.expect("BUG: a plan has at least one pass, which executes the function");
    Ok((result, counts))
}

/// Why events do not fit into one pass, if they do not.
pub(super) fn too_many(plan: &CountingPlan) -> Reading<()> {
    let passes = plan.names();
    if passes.len() < 2 {
        return Ok(());
    }
    let passes: Vec<String> = passes.iter().map(|names| names.join(", ")).collect();
    let why = format!("they need {} passes: {}", passes.len(), passes.join("; "));
    Err(Unavailable::new(Obstacle::Hardware, "events in one pass", why)
        .with_remedy("ask for fewer events, or execute the function in each pass with `profile`"))
}

impl Profile {
    /// The table alone.
    pub fn table(&self) -> Report {
        Report::of(&self.counts, &self.counts.units)
    }
}
