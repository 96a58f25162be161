//! `cpudyno history`.

use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

use fleet::history::{Entry, History, KeptRuns, Store, StoreError, page};
use machine::Machine;
use model::page::tally;
use model::record::PageKind;

use super::measuring::{Prepared, ended, ending, measured, outline, prepared};
use super::{Delivery, Sinks, command, presentation, records, settings, sinks_beside, unrecorded};
use crate::args::{Format, HistoryAddArgs, HistoryArgs, PresentationArgs, StoreArgs};
use crate::failure::{Failure, code};
use crate::output;
use crate::signals::Signals;

/// Measures, or takes what was measured, and keeps it.
pub(super) fn add(machine: &Machine, args: HistoryAddArgs) -> Result<ExitCode, Failure> {
    let HistoryAddArgs { records, budget, store, measuring } = args;
    let is_other = machine.simulated.is_some() || machine.elsewhere.is_some();
    if is_other && store.store.is_none() {
        return Err(Failure::usage("cannot keep another machine's run in the history of this one")
            .hint("name a file for it: --store FILE"));
    }
    let store = opened(store)?;
    let Prepared { dry_run, start, sinks, look } = prepared(measuring)?;
    if !records.is_empty() {
        let entry = |_: &Path, digest| Entry { boot: None, digest };
        let entries: Vec<Entry> =
            records::each(&records, entry).into_iter().collect::<Result<_, _>>()?;
        return kept(&store, &entries).and_then(|()| told(&store, &look));
    }
    let presentation = presentation(&look, PageKind::Sheet);
    let request = measure::sheet::request(budget, None, None, command(), presentation);
    if dry_run {
        return outline(machine, &request, (look.format, sinks));
    }
    let signals = Signals::listen()?;
    let turn = start.turn(machine, &signals)?;
    let (record, signal) = measured(machine, &request, &signals, &turn)?;
    drop(turn);
    let written = Delivery::of(&record).write(sinks);
    if signal.is_some() {
        output::remark("the run was interrupted: the history is as it was");
        return written.map(|()| ending(signal));
    }
    kept(&store, &[Entry { boot: boot(machine), digest: fleet::digest::of(&record) }])?;
    written?;
    told(&store, &look).map(|done| ended(&record, done))
}

/// Shows what is kept.
pub(super) fn run(args: HistoryArgs) -> Result<ExitCode, Failure> {
    let HistoryArgs { last, fail_on, store, output, .. } = args;
    let store = opened(store)?;
    let (sinks, look) = sinks_beside(&[store.file().to_owned()], output)?;
    let history = History::of(read(&store)?, last);
    shown(&history, &look, sinks)?;
    fail_on.map_or(Ok(ExitCode::SUCCESS), |share| judged(&history, share))
}

/// The one that was named, or this machine's.
fn opened(StoreArgs { store }: StoreArgs) -> Result<Store, Failure> {
    /// Its name in the folder of what is kept.
    const FILE: &str = "history";
    let file = match store {
        Some(file) => file,
        None => settings::state_folder("a history", "--store FILE")?.join(FILE),
    };
    Ok(Store::new(file))
}

/// What tells this start of the system from others: enough of it, and not all.
fn boot(machine: &Machine) -> Option<String> {
    const ENOUGH: usize = 8;
    let id = machine.tree.read("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().chars().take(ENOUGH).collect()).filter(|id: &String| !id.is_empty())
}

fn kept(store: &Store, entries: &[Entry]) -> Result<(), Failure> {
    entries.iter().try_for_each(|entry| store.append(entry)).map_err(|error| refused(&error))?;
    output::remark(&format!(
        "{} kept in `{}`",
        tally(entries.len(), "run"),
        store.file().display()
    ));
    Ok(())
}

fn read(store: &Store) -> Result<KeptRuns, Failure> {
    let kept = store.read().map_err(|error| refused(&error))?;
    if kept.entries.is_empty() && kept.skipped.is_empty() {
        let text = format!("there is no history in `{}`", store.file().display());
        return Err(Failure::new(code::NOT_HERE, text)
            .hint("`cpudyno history add` measures this machine and begins one"));
    }
    Ok(kept)
}

fn told(store: &Store, look: &PresentationArgs) -> Result<ExitCode, Failure> {
    shown(&History::of(read(store)?, None), look, Sinks::default())?;
    Ok(ExitCode::SUCCESS)
}

fn shown(history: &History, look: &PresentationArgs, sinks: Sinks) -> Result<(), Failure> {
    let presentation = presentation(look, PageKind::Sheet);
    let page = page(history, presentation.verbosity);
    let told = |format| match format {
        Format::Json => serde_json::to_string_pretty(history)
            .map(|text| text + "\n")
            .map_err(|error| Failure::new(code::BUG, error.to_string())),
        Format::Csv => Err(Failure::usage("a history has no samples for a table")
            .hint("its JSON has the numbers of each run: --format json")),
        format => unrecorded("a history", &page, format, presentation),
    };
    let written = sinks.write(told);
    output::data(&told(look.format)?)?;
    written
}

/// The answer for scripts.
fn judged(history: &History, share: f64) -> Result<ExitCode, Failure> {
    if history.results.is_empty() {
        let text = format!(
            "cannot say what is slower: there are {}, and {} are needed",
            tally(history.runs(), "run"),
            fleet::history::RUNS_MIN
        );
        return Err(
            Failure::new(code::NOT_HERE, text).hint("`cpudyno history add` measures another one")
        );
    }
    let slower = history.slower_than(share);
    let Some((worst, speed)) = slower.first() else { return Ok(ExitCode::SUCCESS) };
    let text = format!(
        "{} slower than in the first boot shown by more than {:.1} %, first: {}, by {:.1} %",
        if slower.len() == 1 {
            "1 result is".to_owned()
        } else {
            format!("{} results are", slower.len())
        },
        share * 100.0,
        model::areas::result_name(worst),
        (1.0 - speed) * 100.0
    );
    Err(Failure::new(code::NO, text))
}

fn refused(error: &StoreError) -> Failure {
    let (exit, hint) = match error {
        StoreError::Read { why, .. } | StoreError::Write { why, .. }
            if why.kind() == ErrorKind::PermissionDenied =>
        {
            (code::REFUSED, "run as root, or name a file of your own: --store FILE")
        }
        StoreError::Read { .. } | StoreError::Write { .. } => {
            (code::NOT_HERE, "name another file: --store FILE")
        }
        StoreError::TooLong(_) => (code::USAGE, "keep runs of ten seconds: `cpudyno history add`"),
    };
    Failure::new(exit, error.to_string()).hint(hint)
}
