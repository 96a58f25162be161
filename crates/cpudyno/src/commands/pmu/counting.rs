//! What `pmu stat`, `pmu kernel`, `pmu selftest` and `pmu check` share.

use std::path::Path;

use machine::Machine;
use model::record::{Counts, CountsRun, KnownAnswer, PageKind, Record};
use model::{CpuId, Unavailable};
use pmu::counting::{Budget, BudgetKernel, Session, needed, refused, selftest};
use pmu::events::{Encoded, Events, Target};
use pmu::metrics::Metric;

use super::super::{command, presentation, render};
use crate::args::{AskedEvents, Format, Look, SavedBudget};
use crate::failure::{Failure, code};
use crate::output::{self, Sink};

/// What every CPU with counters has.
pub(super) const GENERIC: [&str; 2] = ["branch-instructions", "branch-misses"];

/// What is counted, and what is refused.
pub(super) struct Asked {
    /// The events, without those that are in every table.
    pub(super) events: Vec<Encoded>,
    /// Those whose known answer is wrong.
    pub(super) refused: Vec<(String, Unavailable)>,
    /// The answers, where they were asked for.
    pub(super) answers: Vec<KnownAnswer>,
    /// Metrics that are wanted.
    pub(super) metrics: Vec<String>,
}

impl Asked {
    /// The events that were asked for, or else the usual ones: the patterns of which the first fits some
    /// event here; and those that metrics need. `always` is counted in any case.
    ///
    /// # Error
    /// Where a name means nothing, or nothing can be counted.
    pub(super) fn new(
        machine: &Machine,
        session: &Session<'_>,
        asked: &AskedEvents,
        usual: &[&[&str]],
        always: &[Encoded],
    ) -> Result<Asked, Failure> {
        let folder = super::lists(asked.event_dir.as_deref());
        let names = Events::of(Target::of(machine).with_folder(folder.as_deref()));
        let metrics = metrics(session, &asked.metrics);
        let mut events = if asked.events.is_empty() && metrics.is_empty() {
            let found = |patterns: &&[&str]| names.resolve_all(patterns.iter().copied()).ok();
            usual.iter().find_map(found).unwrap_or_default()
        } else {
            let asked = asked.events.iter().map(String::as_str);
            names.resolve_all(asked).map_err(super::refused)?
        };
        for name in needed(session.core(), &names, &metrics) {
            let found = names.resolve(&name).map_err(super::refused)?;
            events.extend(
                found.into_iter().filter(|event| !events.contains(event)).collect::<Vec<_>>(),
            );
        }
        events.extend(always.iter().cloned());
        let answers = if asked.tested {
            let all: Vec<Encoded> = session.plan(&events).events;
            selftest(session, &names, Some(&all))
        } else {
            Vec::new()
        };
        Ok(Asked { events, refused: refused(&answers), answers, metrics })
    }
}

/// The ids of metrics; `all` is each that is known for the core.
fn metrics(session: &Session<'_>, asked: &[String]) -> Vec<String> {
    if !asked.iter().any(|id| id == "all") {
        return asked.to_vec();
    }
    let known = |metric: &&Metric| session.core().events(metric).is_ok();
    Metric::all().iter().filter(known).map(|metric| metric.id.clone()).collect()
}

/// A record without counts yet.
pub(super) fn described(machine: &Machine, look: &Look) -> Record {
    machine::describe(machine, command(), presentation(look, PageKind::Pmu))
}

/// Prints the counts, and writes them to the file that was asked for.
pub(super) fn print(
    mut record: Record,
    run: CountsRun,
    sink: Option<Sink>,
    format: Format,
) -> Result<(), Failure> {
    record.counts = Some(run);
    let presentation = record.run.presentation;
    let written = match sink {
        Some(sink) => sink.write(&render(&record, Format::Json, presentation)?),
        None => Ok(()),
    };
    output::data(&render(&record, format, presentation)?)?;
    written
}

pub(super) fn not_csv(format: Format) -> Result<(), Failure> {
    if format != Format::Csv {
        return Ok(());
    }
    Err(Failure::usage("counts are no samples for a table of them")
        .hint("print them as text, markdown or json: --format json"))
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
    let budget: Budget = serde_json::from_str(&text).map_err(|error| named(error.to_string()))?;
    if budget.expected.is_empty() {
        return Err(named("it expects nothing".to_owned()));
    }
    Ok(budget)
}
