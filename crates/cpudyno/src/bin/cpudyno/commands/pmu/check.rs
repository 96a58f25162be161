//! `cpudyno pmu check`.

use std::process::ExitCode;

use machine::Machine;
use model::record::CountsRun;
use pmu::counting::Budget;

use super::super::{child, sinks_beside};
use super::counting::{described, not_csv, print, read_budget};
use super::{kernel, stat};
use crate::args::{AskedEvents, PmuCheckArgs, PmuKernel};
use crate::failure::{Failure, code};
use crate::output;

pub(super) fn run(machine: &Machine, args: PmuCheckArgs) -> Result<ExitCode, Failure> {
    let PmuCheckArgs { budget: file, event_dir, pin, output, command } = args;
    let (sinks, look) = sinks_beside(std::slice::from_ref(&file), output)?;
    not_csv(look.format)?;
    let budget = read_budget(&file)?;
    let events = |names: Vec<String>| AskedEvents {
        events: names,
        metrics: Vec::new(),
        tested: false,
        event_dir: event_dir.clone(),
    };
    let mut record = described(machine, &look);
    // Where the budget lies is nobody's business.
    let path = file.display().to_string();
    for word in record.run.command.iter_mut().filter(|word| **word == path) {
        "FILE".clone_into(word);
    }
    if command.is_empty() {
        let Some(work) = &budget.kernel else {
            return Err(Failure::usage("this budget is of a command")
                .hint("name it again: cpudyno pmu check BUDGET -- make -j4"));
        };
        let which = PmuKernel::named(&work.name).ok_or_else(|| {
            let text = format!("the budget is of a kernel `{}`, which there is not", work.name);
            Failure::usage(text).hint("`cpudyno pmu kernel --help` says which there are")
        })?;
        let at = kernel::Where { pin, ..kernel::Where::default() };
        let counted = kernel::count(machine, which, work, &events(work.events.clone()), at)?;
        let run = compared(&budget, counted.run);
        let answer = verdict(&run);
        print(record, run, sinks, look.format)?;
        return Ok(answer);
    }
    let names = budget.expected.iter().map(|row| row.event.clone());
    let asked = not_always(names.collect());
    let (status, counted) = stat::count(machine, &events(asked), &command)?;
    let run = compared(&budget, counted.run);
    let answer = verdict(&run);
    stat::print(record, run, sinks, look.format)?;
    // What a command that failed has counted is no answer.
    Ok(if status.success() { answer } else { ExitCode::from(child::code(status)) })
}

/// Events without those that `pmu stat` counts in any case.
fn not_always(mut names: Vec<String>) -> Vec<String> {
    let always = pmu::counting::always();
    names.sort();
    names.dedup();
    names.retain(|name| !always.contains(name));
    names
}

/// With the budget beside what was counted. A command is one part, whatever it is called.
fn compared(budget: &Budget, run: CountsRun) -> CountsRun {
    let mut tables = run.tables.clone();
    if budget.kernel.is_none()
        && let (Some(table), Some(expected)) = (tables.first_mut(), budget.expected.first())
    {
        table.title.clone_from(&expected.part);
    }
    CountsRun { budget: budget.compare(&tables), ..run }
}

/// Drifts first, then what cannot be told.
fn verdict(run: &CountsRun) -> ExitCode {
    let rows = &run.budget;
    let drifts = rows.iter().filter(|row| row.holds() == Some(false)).count();
    if drifts > 0 {
        let text = format!("{drifts} of {} counts drifted from the budget", rows.len());
        output::failure(&Failure::new(code::NO, text));
        return ExitCode::from(code::NO);
    }
    let untold = if !Budget::is_counted(&run.tables) {
        "nothing was counted"
    } else if rows.iter().any(|row| row.holds().is_none()) {
        "not all was counted"
    } else {
        return ExitCode::SUCCESS;
    };
    let text = format!("cannot tell whether the budget holds: {untold}");
    let hint = "`cpudyno doctor` says what stands in the way";
    output::failure(&Failure::new(code::NOT_HERE, text).hint(hint));
    ExitCode::from(code::NOT_HERE)
}
