//! What `pmu stat`, `pmu kernel`, `pmu selftest` and `pmu check` share.

use std::path::Path;
use std::process::ExitCode;

use machine::Machine;
use model::record::{Counts, CountsRun, EventCount, KnownAnswer, PageKind, Record};
use model::{CpuId, Unavailable};
use pmu::counting::{Budget, BudgetKernel, Core, Session, needed, refused, selftest};
use pmu::events::{Encoded, Events, Target};
use pmu::metrics::Metric;

use super::super::{Delivery, Sinks, command, presentation};
use crate::args::{AskedEvents, Format, PresentationArgs, SavedBudget};
use crate::failure::{Failure, code};
use crate::output::{self, Sink};

/// What every CPU with counters has.
pub(super) const GENERIC: [&str; 2] = ["branch-instructions", "branch-misses"];

/// What is counted, and what is refused.
pub(super) struct EventSelection {
    /// The events, without those that are in every table.
    pub(super) events: Vec<Encoded>,
    /// Those whose known answer is wrong.
    pub(super) refused: Vec<(String, Unavailable)>,
    /// The answers, where they were asked for.
    pub(super) answers: Vec<KnownAnswer>,
    /// Metrics that are wanted.
    pub(super) metrics: Vec<String>,
    /// Events that were asked for by name, by pattern or for a metric; none: the usual ones are
    /// counted.
    named: Vec<Encoded>,
}

/// What was counted.
pub(super) struct Done {
    /// The counts.
    pub(super) run: CountsRun,
    /// Whether something was asked for by name, and none of it was counted.
    is_in_vain: bool,
}

impl EventSelection {
    /// The events that were asked for, or else the usual ones: the patterns of which the first fits
    /// some event here; and those that metrics need of these kinds of cores. `always` is counted in
    /// any case.
    ///
    /// # Error
    /// Where a name means nothing, or nothing can be counted.
    pub(super) fn new(
        machine: &Machine,
        cores: &[Core],
        asked: &AskedEvents,
        usual: &[&[&str]],
        always: &[Encoded],
    ) -> Result<EventSelection, Failure> {
        let names = names(machine, asked);
        let metrics = metrics(cores, &asked.metrics);
        let words = asked.events.iter().map(String::as_str);
        let mut named = names.resolve_all(words).map_err(super::refused)?;
        for name in needed(cores, &names, &metrics) {
            let found = names.resolve(&name).map_err(super::refused)?;
            let new = |event: &Encoded| !named.iter().any(|known| known.is_same(event));
            let found: Vec<Encoded> = found.into_iter().filter(new).collect();
            named.extend(found);
        }
        let found = |patterns: &&[&str]| names.resolve_all(patterns.iter().copied()).ok();
        let usual = || usual.iter().find_map(found).unwrap_or_default();
        let is_usual = asked.events.is_empty() && metrics.is_empty();
        let mut events = if is_usual { usual() } else { named.clone() };
        events.extend(always.iter().cloned());
        Ok(EventSelection { events, refused: Vec::new(), answers: Vec::new(), metrics, named })
    }

    /// Holds the events against their known answers, where that was asked for.
    pub(super) fn test(&mut self, session: &Session<'_>, machine: &Machine, asked: &AskedEvents) {
        if !asked.tested {
            return;
        }
        let all: Vec<Encoded> = session.plan(&self.events).events;
        self.answers = selftest(session, &names(machine, asked), Some(&all));
        self.refused = refused(&self.answers);
    }

    /// What was counted, with the answers, and whether it is what was asked for. In a table an
    /// event may stand under the name of what is in every table.
    pub(super) fn done(&self, run: CountsRun, counted: &[Encoded]) -> Done {
        let same = |event: &Encoded| counted.iter().find(|known| known.is_same(event)).cloned();
        let named: Vec<String> = self
            .named
            .iter()
            .map(|event| same(event).map_or_else(|| event.name.clone(), |known| known.name))
            .collect();
        let is_asked = |row: &&EventCount| {
            (named.is_empty() && self.metrics.is_empty()) || named.contains(&row.event)
        };
        let mut rows = run.tables.iter().flat_map(|table| &table.events).filter(is_asked);
        let is_in_vain = !run.tables.is_empty() && !rows.any(|row| row.count.value().is_some());
        Done { run: CountsRun { answers: self.answers.clone(), ..run }, is_in_vain }
    }
}

impl Done {
    /// Success; where nothing was counted of what was asked for, that is said, and is no success.
    pub(super) fn code(&self) -> ExitCode {
        if !self.is_in_vain {
            return ExitCode::SUCCESS;
        }
        let text = "none of the events that were asked for was counted";
        let hint = "`cpudyno doctor` says what stands in the way";
        output::failure(&Failure::new(code::NOT_HERE, text).hint(hint));
        ExitCode::from(code::NOT_HERE)
    }
}

fn names<'a>(machine: &'a Machine, asked: &AskedEvents) -> Events<'a> {
    let folder = super::lists(asked.event_dir.as_deref());
    Events::of(Target::of(machine).with_folder(folder.as_deref()))
}

/// The ids of metrics; `all` is each that is known for one of the cores.
fn metrics(cores: &[Core], asked: &[String]) -> Vec<String> {
    if !asked.iter().any(|id| id == "all") {
        return asked.to_vec();
    }
    let known = |metric: &&Metric| cores.iter().any(|core| core.events(metric).is_ok());
    Metric::all().iter().filter(known).map(|metric| metric.id.clone()).collect()
}

/// A record without counts yet.
pub(super) fn described(machine: &Machine, look: &PresentationArgs) -> Record {
    machine::describe(machine, command(), presentation(look, PageKind::Pmu))
}

/// Prints the counts, and writes them to the file that was asked for.
pub(super) fn print(
    mut record: Record,
    run: CountsRun,
    sinks: Sinks,
    format: Format,
) -> Result<(), Failure> {
    record.counts = Some(run);
    Delivery::of(&record).deliver(sinks, format)
}

pub(super) fn not_csv(format: Format) -> Result<(), Failure> {
    if format != Format::Csv {
        return Ok(());
    }
    Err(Failure::usage("counts are no samples for a table of them")
        .hint("print them as text, markdown, html or json: --format json"))
}

pub(super) fn cannot_count(reason: Unavailable) -> Failure {
    let Unavailable { what, why, remedy, .. } = reason;
    let failure = Failure::new(code::NOT_HERE, format!("cannot count `{what}`: {why}"));
    match remedy {
        Some(remedy) => failure.hint(remedy),
        None => failure,
    }
}

/// A thread that counts, pinned.
pub(super) fn session(machine: &Machine, pin: Option<CpuId>) -> Result<Session<'_>, Failure> {
    Session::on(machine, pin).map_err(cannot_count)
}

/// The file for the budget, opened before anything is executed.
pub(super) fn budget_file(asked: &SavedBudget) -> Result<Option<Sink>, Failure> {
    asked.file.as_deref().map(Sink::open).transpose()
}

/// Keeps what was counted as a budget.
pub(super) fn save(
    sink: Option<Sink>,
    asked: &SavedBudget,
    tables: &[Counts],
    kernel: Option<BudgetKernel>,
) -> Result<(), Failure> {
    let Some(sink) = sink else { return Ok(()) };
    let budget = Budget { kernel, ..Budget::of(tables, asked.tolerance) };
    if budget.expected.is_empty() {
        return Err(Failure::new(code::NOT_HERE, "cannot make a budget: nothing was counted")
            .hint("`cpudyno doctor` says what stands in the way"));
    }
    let text = serde_json::to_string_pretty(&budget);
    let text = text.map_err(|error| Failure::new(code::BUG, error.to_string()))?;
    sink.write(&format!("{text}\n"))
}

/// The budget in a file.
pub(super) fn read_budget(file: &Path) -> Result<Budget, Failure> {
    let named = |why: String| {
        Failure::usage(format!("cannot read budget `{}`: {why}", file.display()))
            .hint("`cpudyno pmu kernel loop --save-budget FILE` writes one")
    };
    let text = std::fs::read_to_string(file).map_err(|error| named(sys::errno::words(&error)))?;
    let budget: Budget =
        serde_json::from_str(&text).map_err(|error| named(model::json::refusal(&error)))?;
    match budget.check() {
        Ok(()) => Ok(budget),
        Err(Unavailable { why, remedy: None, .. }) => Err(named(why)),
        Err(Unavailable { why, remedy: Some(remedy), .. }) => Err(named(why).hint(remedy)),
    }
}
