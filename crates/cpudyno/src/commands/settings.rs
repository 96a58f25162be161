//! `cpudyno settings`, `set` and `undo`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bench::proof::{self, Observer};
use levers::ask::Asked;
use levers::journal::Shelf;
use levers::plan::{Change, Plan};
use levers::{Changed, Error, Levers, Session, Undone, port, settings};
use machine::Machine;
use model::Seconds;
use model::record::{
    ChangeOutcome, PageKind, Presentation, Proof, ProofAnswer, Record, Setting, SettingChange,
    Settings,
};

use super::{command, presentation, render, sink};
use crate::args::{Format, Json, Look, SetArgs, SettingsArgs, UndoArgs};
use crate::failure::{Failure, code};
use crate::output;
use crate::signals::Signals;

/// The variable that names another folder for the journal.
const STATE: &str = "CPUDYNO_STATE";

pub(super) fn settings(machine: &Machine, args: SettingsArgs) -> Result<ExitCode, Failure> {
    let SettingsArgs { names, json, mut look } = args;
    let levers = port::of(machine);
    let levers = settings::settings(machine, levers.as_deref());
    let mut listed: Vec<Setting> = levers.into_iter().map(Into::into).collect();
    listed.extend(bench::ab::own::listed());
    if !names.is_empty() {
        let is_asked = |name: &String, setting: &Setting| {
            *name == setting.id || *name == "env.NAME" && setting.id.starts_with("env.")
        };
        listed.retain(|setting| names.iter().any(|name| is_asked(name, setting)));
    }
    let found = Settings { listed, ..Settings::default() };
    print(machine, &json, &mut look, PageKind::Settings, found)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn set(machine: &Machine, args: SetArgs) -> Result<ExitCode, Failure> {
    let SetArgs { settings, hold, dry_run, no_proof, force, json, mut look } = args;
    let asked: Vec<Asked> = settings.into_iter().map(|wanted| wanted.0).collect();
    let levers = writer(machine)?;
    if dry_run {
        let plan = Plan::new(machine, &*levers, &asked, force).map_err(refused)?;
        let found = told(&plan, &ChangeOutcome::Planned, Vec::new());
        print(machine, &json, &mut look, PageKind::Changes, found)?;
        return Ok(ExitCode::SUCCESS);
    }
    // What is refused is refused before a journal is begun.
    Plan::new(machine, &*levers, &asked, force).map_err(refused)?;
    let signals = Signals::listen()?;
    let shelf = shelf(machine)?;
    let who = format!("cpudyno set, process {}", std::process::id());
    let mut session = Session::open(machine, levers, &shelf, &who).map_err(refused)?;
    let plan = Plan::new(machine, session.levers(), &asked, force).map_err(refused)?;
    let mut observer = None;
    if !no_proof && !plan.changes.is_empty() {
        observer = Some(Observer::new(machine, signals.stop()));
    }
    let before = look_at(&mut observer, &plan.changes);
    session.apply(&plan).map_err(refused)?;
    let after = look_at(&mut observer, &plan.changes);
    let proofs = match (observer, before, after) {
        (Some(Ok(_)), Some(Ok(before)), Some(Ok(after))) => {
            proof::judge(machine, &plan.changes, &before, &after)
        }
        (Some(Err(reason)), ..) => unproved(&plan.changes, &reason.why),
        (_, Some(Err(why)), _) | (_, _, Some(Err(why))) => unproved(&plan.changes, &why),
        _ => Vec::new(),
    };
    // Interrupted before all was said and done: as if nothing had been asked.
    if let Some((signal, name)) = signals.came() {
        let undone = session.restore();
        output::remark(&format!("stopped by {name}: {}", put_back(&undone)));
        return Ok(ExitCode::from(128 + signal as u8));
    }
    let disobeyed = proofs.iter().any(|proof| proof.answer == ProofAnswer::NotObeyed);
    let mut found = told(&plan, &ChangeOutcome::Done, proofs);
    found.remarks.push(match hold {
        Some(time) => format!("put back after {} s, and at Ctrl-C", time.0),
        None => "`cpudyno undo` puts everything back; so does the next start of the machine".into(),
    });
    print(machine, &json, &mut look, PageKind::Changes, found)?;
    match hold {
        Some(time) => return keep(session, time, &signals),
        None => session.leave(),
    }
    Ok(if disobeyed { ExitCode::from(code::NO) } else { ExitCode::SUCCESS })
}

/// Holds settings for a time, or until a signal comes.
fn keep(session: Session<'_>, time: Seconds, signals: &Signals) -> Result<ExitCode, Failure> {
    let begun = Instant::now();
    while signals.came().is_none() && begun.elapsed().as_secs_f64() < time.0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    let undone = session.restore();
    output::remark(&put_back(&undone));
    if !undone.is_complete() {
        return Err(Failure::new(code::NOT_HERE, "not everything was put back")
            .hint("`cpudyno undo` says what, and tries again"));
    }
    Ok(signals.came().map_or(ExitCode::SUCCESS, |(signal, _)| ExitCode::from(128 + signal as u8)))
}

fn put_back(undone: &Undone) -> String {
    let word = if undone.restored.len() == 1 { "value" } else { "values" };
    let restored = format!("{} former {word} put back", undone.restored.len());
    let foreign = undone.foreign.iter().map(|changed| {
        format!("{} was changed by somebody else to `{}`", changed.object, changed.now)
    });
    let failed =
        undone.failed.iter().map(|(changed, error)| format!("{}: {error}", changed.object));
    std::iter::once(restored).chain(foreign).chain(failed).collect::<Vec<_>>().join("; ")
}

pub(super) fn undo(machine: &Machine, args: UndoArgs) -> Result<ExitCode, Failure> {
    let UndoArgs { force, json, mut look } = args;
    let levers = writer(machine)?;
    let shelf = shelf(machine)?;
    let who = format!("cpudyno undo, process {}", std::process::id());
    let undone = levers::undo(machine, levers, &shelf, force, &who).map_err(refused)?;
    let mut remarks = Vec::new();
    for (_, count) in shelf.formers() {
        remarks.push(format!(
            "{count} settings of an earlier boot were in a journal: the kernel forgot them when it \
             started again, and they are forgotten here, too"
        ));
    }
    shelf.forget_formers();
    let complete = undone.is_complete();
    let changes = undone_changes(undone);
    let found = Settings { changes, remarks, ..Settings::default() };
    print(machine, &json, &mut look, PageKind::Changes, found)?;
    if complete {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::new(code::NOT_HERE, "not everything was put back")
        .hint("what somebody else changed is overwritten with --force"))
}

fn undone_changes(undone: Undone) -> Vec<SettingChange> {
    let change = |changed: Changed, outcome: ChangeOutcome| SettingChange {
        id: changed.setting,
        object: changed.object.to_string(),
        former: changed.former,
        wanted: changed.now,
        outcome,
    };
    // Of what was left alone, the journal holds what would be put back.
    let turned = |c: Changed| Changed { former: c.now.clone(), now: c.former.clone(), ..c };
    let restored = undone.restored.into_iter().map(|c| change(c, ChangeOutcome::Done));
    let foreign = undone.foreign.into_iter().map(|c| change(turned(c), ChangeOutcome::Foreign));
    let failed = undone
        .failed
        .into_iter()
        .map(|(c, error)| change(turned(c), ChangeOutcome::Failed { why: error.to_string() }));
    restored.chain(foreign).chain(failed).collect()
}

/// A remark where settings of this machine are still as cpudyno left them.
pub(super) fn remind(machine: &Machine) {
    let Ok(shelf) = shelf(machine) else { return };
    let Ok(left) = shelf.left(machine) else { return };
    if left.is_empty() {
        return;
    }
    let mut names: Vec<&str> = left.iter().map(|changed| changed.setting.as_str()).collect();
    names.dedup();
    output::remark(&format!(
        "note: settings that cpudyno changed are still changed ({}): `cpudyno undo` puts them back",
        names.join(", ")
    ));
}

type Observed<'a> = Option<Result<Observer<'a>, model::Unavailable>>;

fn look_at(observer: &mut Observed<'_>, changes: &[Change]) -> Option<Result<proof::Look, String>> {
    let Some(Ok(observer)) = observer else { return None };
    Some(observer.look(changes).map_err(|error| error.to_string()))
}

fn unproved(changes: &[Change], why: &str) -> Vec<Proof> {
    let proof = |change: &Change| Proof {
        id: change.setting.clone(),
        load: proof::load(change).to_owned(),
        answer: ProofAnswer::NotObservable,
        seen: why.to_owned(),
    };
    let mut proofs: Vec<Proof> = changes.iter().map(proof).collect();
    proofs.dedup_by(|a, b| a.id == b.id);
    proofs
}

fn told(plan: &Plan, outcome: &ChangeOutcome, proofs: Vec<Proof>) -> Settings {
    let change = |change: &Change, outcome: &ChangeOutcome| SettingChange {
        id: change.setting.clone(),
        object: change.object.to_string(),
        former: change.former.clone(),
        wanted: change.wanted.clone(),
        outcome: outcome.clone(),
    };
    let changed = plan.changes.iter().map(|c| change(c, outcome));
    let already = plan.already.iter().map(|c| change(c, &ChangeOutcome::Already));
    Settings {
        listed: Vec::new(),
        changes: changed.chain(already).collect(),
        proofs,
        remarks: plan.remarks.clone(),
    }
}

/// The record of what was found or done, printed and written.
fn print(
    machine: &Machine,
    json: &Json,
    look: &mut Look,
    page: PageKind,
    found: Settings,
) -> Result<(), Failure> {
    let sink = sink(json, look)?;
    if look.format == Format::Csv {
        return Err(Failure::usage("csv has a line per sample, and nothing was measured")
            .hint("print it as text, markdown or json: --format json"));
    }
    let presentation: Presentation = presentation(look, page);
    let described = machine::describe(machine, command(), presentation);
    let record = Record { settings: Some(found), ..described };
    if let Some(sink) = sink {
        sink.write(&render(&record, Format::Json, presentation)?)?;
    }
    output::data(&render(&record, look.format, presentation)?)
}

pub(super) fn writer(machine: &Machine) -> Result<Box<dyn Levers>, Failure> {
    port::of(machine).ok_or_else(|| {
        let from = machine.elsewhere.as_deref().unwrap_or("a capture");
        Failure::new(code::REFUSED, format!("cannot set anything: this machine is {from}"))
            .hint("settings are changed on the machine itself, or on a simulated one: sim:2s-56c")
    })
}

/// Where the journal of a machine is kept.
pub(super) fn shelf(machine: &Machine) -> Result<Shelf, Failure> {
    let folder = match (&machine.simulated, std::env::var_os(STATE)) {
        (Some(model), _) => match model.settings.file() {
            Some(file) => file.with_added_extension("journal"),
            // Nobody else ever sees what is set there.
            None => std::env::temp_dir().join(format!("cpudyno-sim-{}", std::process::id())),
        },
        (None, Some(folder)) => PathBuf::from(folder),
        (None, None) if sys::host::effective_user() == 0 => PathBuf::from("/var/lib/cpudyno"),
        (None, None) => {
            let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state"));
            let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).or_else(home);
            let none = || {
                Failure::new(code::NOT_HERE, "cannot keep a journal: there is no HOME")
                    .hint(format!("name a folder: {STATE}=DIR"))
            };
            state.ok_or_else(none)?.join("cpudyno")
        }
    };
    Ok(Shelf::new(folder, machine))
}

pub(super) fn refused(error: Error) -> Failure {
    const LIST: &str = "`cpudyno settings` lists what can be set here, and what not";
    let text = error.to_string();
    match error {
        Error::Unknown { suggestion: Some(near), .. } => {
            Failure::usage(text).hint(format!("did you mean `{near}`?"))
        }
        Error::Unknown { .. } | Error::Malformed { .. } | Error::Value { .. } => {
            Failure::usage(text).hint(LIST)
        }
        Error::Absent { remedy, .. } => {
            Failure::new(code::NOT_HERE, text).hint(remedy.unwrap_or_else(|| LIST.to_owned()))
        }
        Error::Rights { .. } => Failure::new(code::REFUSED, text)
            .hint("run as root; `cpudyno settings` lists what root could set"),
        Error::Irreversible { .. } => Failure::new(code::REFUSED, text)
            .hint("--force does it all the same; `cpudyno undo` cannot bring that back"),
        Error::Refused { .. } | Error::NotKept { .. } => Failure::new(code::NOT_HERE, text)
            .hint("nothing was left changed; firmware, hypervisor or driver decide about it"),
        Error::Locked { .. } => Failure::new(code::REFUSED, text)
            .hint("wait until it ends, or end it: it puts back what it set"),
        Error::Journal { .. } => {
            Failure::new(code::NOT_HERE, text).hint(format!("name another folder: {STATE}=DIR"))
        }
    }
}
