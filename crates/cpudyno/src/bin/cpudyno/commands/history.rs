//! `cpudyno history`.

use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

use fleet::history::{Entry, History, KeptRuns, Store, StoreError, page};
use machine::Machine;
use model::page::tally;
use model::record::{Digest, PageKind};

use super::measuring::{Prepared, ended, ending, measured, outline, prepared};
use super::{
    Delivery, Sinks, command, json, percent, presentation, records, settings, sinks_beside,
    unrecorded,
};
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
    let is_named = store.store.is_some();
    let store = opened(store)?;
    let files = &measuring.output.files;
    let written = [("--json", files.json.as_deref()), ("--html", files.html.as_deref())];
    output::spare(&store.files(), &written)?;
    let Prepared { dry_run, start, sinks, look } = prepared(measuring)?;
    if look.format == Format::Csv {
        return Err(no_table());
    }
    if !records.is_empty() {
        let entry = |file: &Path, digest| taken(file, digest, is_named);
        let entries = records::each(&records, entry).into_iter().map(|it| it.and_then(|it| it));
        let entries: Vec<Entry> = entries.collect::<Result<_, _>>()?;
        return kept(&store, &entries).and_then(|()| told(&store, &look));
    }
    let presentation = presentation(&look, PageKind::Sheet);
    let request = measure::sheet::request(budget, None, None, command(), presentation);
    if dry_run {
        return outline(machine, &request, (look.format, sinks));
    }
    store.is_writable().map_err(|error| refused(&error))?;
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
    let store = opened(store.or_of_the_system())?;
    let (sinks, look) = sinks_beside(&store.files(), output)?;
    let history = History::of(read(&store)?, last);
    shown(&history, &look, sinks)?;
    fail_on.map_or(Ok(ExitCode::SUCCESS), |share| judged(&history, share))
}

/// Its name in the folder of what is kept.
const FILE: &str = "history";

/// The one that was named, or this machine's.
fn opened(StoreArgs { store }: StoreArgs) -> Result<Store, Failure> {
    let file = match store {
        Some(file) => file,
        None => settings::state_folder("a history", "--store FILE")?.join(FILE),
    };
    Ok(Store::new(file))
}

impl StoreArgs {
    /// The system's, where nobody names one and this user has none: units keep it, and everybody may read it.
    fn or_of_the_system(self) -> StoreArgs {
        let of_the_system = Path::new(settings::SYSTEM).join(FILE);
        let has_own = || settings::state_folder("", "").is_ok_and(|own| own.join(FILE).exists());
        if self.store.is_some() || has_own() || !of_the_system.exists() {
            return self;
        }
        StoreArgs { store: Some(of_the_system) }
    }
}

/// A run of a record. Into the history of this machine none comes that was simulated.
fn taken(file: &Path, digest: Digest, is_named: bool) -> Result<Entry, Failure> {
    let name = file.display();
    if digest.results.values().all(|result| result.outcome.is_err()) {
        let text = format!("cannot keep `{name}`: it has no results");
        return Err(
            Failure::usage(text).hint("`cpudyno sheet --json FILE` writes a record with results")
        );
    }
    if digest.run.simulated.is_some() && !is_named {
        let text = format!("cannot keep `{name}` in the history of this machine: it is simulated");
        return Err(Failure::usage(text).hint("name a file for it: --store FILE"));
    }
    Ok(Entry { boot: None, digest })
}

fn no_table() -> Failure {
    Failure::usage("a history has no samples for a table")
        .hint("its JSON has the numbers of each run: --format json")
}

/// What tells this start of the system from others: enough of it, and not all.
fn boot(machine: &Machine) -> Option<String> {
    const ENOUGH: usize = 8;
    let id = machine.tree.read("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().chars().take(ENOUGH).collect()).filter(|id: &String| !id.is_empty())
}

fn kept(store: &Store, entries: &[Entry]) -> Result<(), Failure> {
    let new = store.append(entries).map_err(|error| refused(&error))?;
    let known = match entries.len() - new {
        0 => String::new(),
        known => format!("; {} already there", tally(known, "run")),
    };
    output::remark(&format!("{} kept in `{}`{known}", tally(new, "run"), store.file().display()));
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
        Format::Json => json(serde_json::to_string_pretty(history)),
        Format::Csv => Err(no_table()),
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
            tally(history.runs.len(), "run"),
            fleet::history::RUNS_MIN
        );
        return Err(
            Failure::new(code::NOT_HERE, text).hint("`cpudyno history add` measures another one")
        );
    }
    let slower = history.slower_than(share);
    let Some((worst, speed)) = slower.first() else { return Ok(ExitCode::SUCCESS) };
    let text = format!(
        "{} slower than in the first run shown by more than {} %, first: {}, by {:.1} %",
        if slower.len() == 1 {
            "1 result is".to_owned()
        } else {
            format!("{} results are", slower.len())
        },
        percent(share),
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
