//! `cpudyno settings`, `set` and `undo`.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use levers::journal::JournalDir;
use levers::plan::{Change, Plan};
use levers::rows::Loss;
use levers::{
    Changed, Error, LEFT, Levers, NotMade, Others, RESTLESS, Session, Undone, port, settings,
};
use machine::Machine;
use measure::proof::{self, Observer};
use model::Seconds;
use model::record::{
    ChangeOutcome, PageKind, Presentation, ProofAnswer, Record, Setting, SettingChange, Settings,
};
use tempfile::TempDir;

use super::plans::{self, Found};
use super::{Delivery, Sinks, command, presentation, unrecorded};
use crate::args::{
    Changing, Format, Output, PresentationArgs, SetArgs, SettingsArgs, UndoArgs, setting,
};
use crate::failure::{Failure, code};
use crate::output;
use crate::signals::Signals;

/// The variable that names another folder for the journal.
const STATE: &str = "CPUDYNO_STATE";

pub(super) fn settings(machine: &Machine, args: SettingsArgs) -> Result<ExitCode, Failure> {
    let SettingsArgs { names, plans, save, output } = args;
    if plans {
        let presentation = presentation(&output.look, PageKind::Settings);
        let text =
            unrecorded("the list of plans", &plans::page(), output.look.format, presentation)?;
        output::data(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let levers = port::of(machine);
    let mut levers = settings::settings(machine, levers.as_deref());
    let mut listed: Vec<Setting> = levers.iter().cloned().map(Into::into).collect();
    listed.extend(measure::run::arm_env::listed());
    let is_asked = |id: &str| {
        let is_it = |name: &String| {
            name == id
                || name == "env.NAME" && id.starts_with("env.")
                || name == "idle.STATE" && id.starts_with("idle.")
        };
        names.is_empty() || names.iter().any(is_it)
    };
    let unknown = |name: &&String| {
        name.starts_with("idle.")
            && *name != "idle.STATE"
            && !listed.iter().any(|setting| setting.id == **name)
    };
    if let Some(name) = names.iter().find(unknown) {
        let states: Vec<&str> =
            listed.iter().map(|s| s.id.as_str()).filter(|id| id.starts_with("idle.")).collect();
        return Err(Failure::new(code::NOT_HERE, format!("there is no setting `{name}` here"))
            .hint(format!("idle states of this machine: {}", states.join(", "))));
    }
    listed.retain(|setting| is_asked(&setting.id));
    levers.retain(|setting| is_asked(&setting.name));
    let found = Settings { listed, ..Settings::default() };
    let files = &output.files;
    output::are_apart(&[
        ("--json", files.json.as_deref()),
        ("--html", files.html.as_deref()),
        ("--save", save.as_deref()),
    ])?;
    let save = save.as_deref().map(output::Sink::open).transpose()?;
    let (sinks, look) = told_to(output)?;
    print(machine, sinks, &look, PageKind::Settings, found)?;
    if let Some(save) = save {
        save.write(&plans::text(levers.iter()))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn set(machine: &Machine, args: SetArgs) -> Result<ExitCode, Failure> {
    let SetArgs { settings, hold, dry_run, changing } = args;
    let Changing { no_proof, force, output } = changing;
    let wishes = plans::read(settings, setting)?;
    let levers = if dry_run { port::to_plan(machine) } else { writer(machine)? };
    // What cannot be told afterwards is not done.
    let (sinks, look) = told_to(output)?;
    let found = wishes.here(machine, &*levers, force)?;
    let asked = found.asked.as_slice();
    let plan = Plan::new(machine, &*levers, asked, force).map_err(refused)?;
    if let Some(change) = plan.changes.iter().find(|c| c.object.is_held() && hold.is_none()) {
        let why = format!(
            "cannot set `{}` for good: it holds as long as a process asks for it",
            change.setting
        );
        return Err(Failure::usage(why).hint("say how long: --for 10m"));
    }
    if dry_run {
        let remarks = [found.remarks(), plan.remarks.clone()].concat();
        let found = Settings { remarks, ..told(&plan, &ChangeOutcome::Planned) };
        print(machine, sinks, &look, PageKind::Changes, found)?;
        return Ok(ExitCode::SUCCESS);
    }
    tell_before(&found, &plan)?;
    let signals = Signals::listen()?;
    let shelf = shelf(machine)?;
    let who = format!("cpudyno set, process {}", std::process::id());
    let mut session = Session::open(machine, levers, &shelf, &who).map_err(refused)?;
    // From here on the first wish to stop is heard everywhere, and a second one would leave a mess.
    let _deaf = signals.ignore();
    let plan = Plan::new(machine, session.levers(), asked, force).map_err(refused)?;
    let mut observer = None;
    if !no_proof && !plan.changes.is_empty() {
        observer = Some(Observer::new(machine, signals.stop()));
    }
    let before = look_at(&mut observer, &plan.changes);
    if let Some((_, name)) = signals.came() {
        return stopped(name, session, &signals);
    }
    session.apply(&plan).map_err(not_made)?;
    let after = look_at(&mut observer, &plan.changes);
    let unseen = |why: &str| proof::unseen_of(machine, &plan.changes, why);
    let proofs = match (observer, before, after) {
        (Some(Ok(_)), Some(Ok(before)), Some(Ok(after))) => {
            proof::judge(machine, &plan.changes, &before, &after)
        }
        (Some(Err(reason)), ..) => unseen(&reason.why),
        (_, Some(Err(why)), _) | (_, _, Some(Err(why))) => unseen(&why),
        _ => Vec::new(),
    };
    if let Some((_, name)) = signals.came() {
        return stopped(name, session, &signals);
    }
    let disobeyed = proofs.iter().any(|proof| proof.answer == ProofAnswer::NotObeyed);
    let answer = if disobeyed { ExitCode::from(code::NO) } else { ExitCode::SUCCESS };
    let mut found = Settings { proofs, ..told(&plan, &ChangeOutcome::Done) };
    found.remarks.push(how_it_ends(&plan, hold));
    let printed = print(machine, sinks, &look, PageKind::Changes, found);
    match hold {
        // Nobody was told: nothing stays.
        _ if printed.is_err() => restore(session, &signals, answer).and(printed.map(|()| answer)),
        Some(time) => {
            wait(time, &signals);
            restore(session, &signals, answer)
        }
        None => {
            session.leave();
            Ok(answer)
        }
    }
}

/// What to know before anything is set; nothing left of all plans is no success.
fn tell_before(found: &Found, plan: &Plan) -> Result<(), Failure> {
    for remark in found.left_out.iter().chain(&plan.remarks) {
        output::remark(&format!("note: {remark}"));
    }
    if found.asked.is_empty() {
        return Err(Failure::new(code::NOT_HERE, "nothing of these plans is on this machine")
            .hint(LISTS.all));
    }
    Ok(())
}

/// What becomes of what was set.
fn how_it_ends(plan: &Plan, hold: Option<Seconds>) -> String {
    let firmware = |change: &Change| matches!(change.lever.loses, Some(Loss::Firmware));
    match hold {
        Some(time) => format!("put back after {} s, and at Ctrl-C", time.0),
        None if plan.changes.iter().any(firmware) => {
            "`cpudyno undo` puts everything back; the next start of the machine may not".to_owned()
        }
        None => {
            "`cpudyno undo` puts everything back; so does the next start of the machine".to_owned()
        }
    }
}

/// As if nothing had been asked.
fn stopped(by: &str, session: Session<'_>, signals: &Signals) -> Result<ExitCode, Failure> {
    output::remark(&format!("stopped by {by}"));
    restore(session, signals, ExitCode::SUCCESS)
}

/// Waits for a time, or until a signal comes.
fn wait(time: Seconds, signals: &Signals) {
    let begun = Instant::now();
    while signals.came().is_none() && begun.elapsed().as_secs_f64() < time.0 {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Puts the settings back, whoever presses Ctrl-C meanwhile, and says so.
pub(super) fn restore(
    session: Session<'_>,
    signals: &Signals,
    answer: ExitCode,
) -> Result<ExitCode, Failure> {
    let deaf = signals.ignore();
    let undone = session.restore();
    drop(deaf);
    output::remark(&put_back(&undone));
    if !undone.is_complete() {
        return Err(Failure::new(code::NOT_HERE, "not everything was put back").hint(LEFT));
    }
    Ok(signals.came().map_or(answer, |(signal, _)| ExitCode::from(128 + signal as u8)))
}

/// What was put back, and what was not.
pub(super) fn put_back(undone: &Undone) -> String {
    put_back_beside(undone, "").unwrap_or_else(|| "everything is as it was before".to_owned())
}

/// The same without what a message says already; none where nothing is left to say.
pub(super) fn put_back_beside(undone: &Undone, message: &str) -> Option<String> {
    let restored = match undone.restored.len() {
        0 => None,
        1 => Some("1 former value put back".to_owned()),
        values => Some(format!("{values} former values put back")),
    };
    let told: Vec<String> = restored.into_iter().chain(undone.left_beside(message)).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

pub(super) fn undo(machine: &Machine, args: UndoArgs) -> Result<ExitCode, Failure> {
    let UndoArgs { force, keep, output } = args;
    let levers = writer(machine)?;
    let (sinks, look) = told_to(output)?;
    let shelf = shelf(machine)?;
    let who = format!("cpudyno undo, process {}", std::process::id());
    let others = match (force, keep) {
        (true, _) => Others::Overwrite,
        (_, true) => Others::Accept,
        _ => Others::Spare,
    };
    let signals = Signals::listen()?;
    let deaf = signals.ignore();
    let undone = levers::undo(machine, levers, &shelf, others, &who).map_err(refused)?;
    drop(deaf);
    let mut remarks: Vec<String> =
        undone.unread.iter().map(|line| format!("the journal is damaged: {line}")).collect();
    let formers = shelf.formers();
    for (_, count) in &formers {
        remarks.push(format!(
            "{count} settings of an earlier boot were in a journal: the kernel forgot them when it \
             started again, and they are forgotten here, too"
        ));
    }
    shelf.forget_formers(&formers);
    let answer = match hint(&undone) {
        Some(hint) if others != Others::Accept => {
            Err(Failure::new(code::NOT_HERE, "not everything was put back").hint(hint))
        }
        Some(_) => {
            remarks.push("what was not put back is as it should be from now on".to_owned());
            Ok(ExitCode::SUCCESS)
        }
        None => Ok(ExitCode::SUCCESS),
    };
    let changes = undone_changes(undone);
    let found = Settings { changes, remarks, ..Settings::default() };
    print(machine, sinks, &look, PageKind::Changes, found)?;
    answer
}

/// What helps where not everything was put back.
fn hint(undone: &Undone) -> Option<&'static str> {
    let is_gone = |(_, error): &(Changed, Error)| matches!(error, Error::Absent { .. });
    Some(if !undone.foreign.is_empty() {
        "what somebody else changed: --force overwrites it, --keep leaves it for good"
    } else if undone.failed.iter().any(is_gone) {
        "what is not there may come back with its CPU or driver: then try again, or forget it: --keep"
    } else if !undone.failed.is_empty() {
        "firmware, hypervisor or driver decide about it; try again, or leave it for good: --keep"
    } else if !undone.unread.is_empty() {
        "the rest of the journal cannot be read; --keep forgets it"
    } else {
        return None;
    })
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

/// A remark where settings of a machine are still as cpudyno left them, also for root. A capture is
/// never changed.
pub(super) fn remind(name: Option<&str>) {
    let Some(name) = name else {
        let machine = Machine::real();
        let Ok(own) = shelf(&machine) else { return };
        remind_of(&machine, &own, "cpudyno undo");
        if own.folder() != Path::new(SYSTEM) {
            remind_of(&machine, &JournalDir::new(SYSTEM, &machine), "sudo cpudyno undo");
        }
        return;
    };
    // What is wrong with the name is said by the command.
    let simulated = name.starts_with("sim:").then(|| Machine::named(name).ok()).flatten();
    if let Some(machine) = simulated
        && let Ok(own) = shelf(&machine)
    {
        remind_of(&machine, &own, &format!("cpudyno undo --machine {name}"));
    }
}

fn remind_of(machine: &Machine, shelf: &JournalDir, undo: &str) {
    match shelf.left(machine) {
        Ok(left) if left.is_empty() => {}
        Ok(left) => {
            let names: BTreeSet<&str> = left.iter().map(|changed| &*changed.setting).collect();
            let names = names.into_iter().collect::<Vec<_>>().join(", ");
            output::remark(&format!(
                "note: settings that cpudyno changed are still changed ({names}): `{undo}` puts them \
                 back"
            ));
        }
        // A folder that only others may read is their business.
        Err(Error::Journal { is_right: true, .. }) => {}
        Err(error) => output::remark(&format!(
            "note: {error}; what cpudyno changed may still be changed: see `{undo}`"
        )),
    }
}

type Observed<'a> = Option<Result<Observer<'a>, model::Unavailable>>;

fn look_at(
    observer: &mut Observed<'_>,
    changes: &[Change],
) -> Option<Result<proof::ChangeObservations, String>> {
    let Some(Ok(observer)) = observer else { return None };
    Some(observer.look(changes).map_err(|error| error.to_string()))
}

pub(super) fn told(plan: &Plan, outcome: &ChangeOutcome) -> Settings {
    let change = |change: &Change, outcome: &ChangeOutcome| SettingChange {
        id: change.setting.clone(),
        object: change.object.to_string(),
        former: change.former.clone(),
        wanted: change.wanted.clone(),
        outcome: outcome.clone(),
    };
    let changed = plan.changes.iter().map(|c| change(c, outcome));
    let already = plan.already.iter().map(|c| change(c, &ChangeOutcome::Already));
    Settings { changes: changed.chain(already).collect(), ..Settings::default() }
}

/// Where the record goes, and how it looks; refused before anything is done.
pub(super) fn told_to(output: Output) -> Result<(Sinks, PresentationArgs), Failure> {
    let (sinks, look) = super::sinks(output)?;
    if look.format == Format::Csv {
        return Err(Failure::usage("csv has a line per sample, and nothing was measured")
            .hint("print it as text, markdown, html or json: --format json"));
    }
    Ok((sinks, look))
}

/// The record of what was found or done, printed and written.
fn print(
    machine: &Machine,
    sinks: Sinks,
    look: &PresentationArgs,
    page: PageKind,
    found: Settings,
) -> Result<(), Failure> {
    let presentation: Presentation = presentation(look, page);
    let described = machine::describe(machine, command(), presentation);
    let record = Record { settings: Some(found), ..described };
    Delivery::of(&record).deliver(sinks, look.format)
}

pub(super) fn writer(machine: &Machine) -> Result<Box<dyn Levers>, Failure> {
    port::of(machine).ok_or_else(|| {
        let from = machine.elsewhere.as_deref().unwrap_or("a capture");
        Failure::new(code::REFUSED, format!("cannot set anything: this machine is {from}"))
            .hint("settings are changed on the machine itself, or on a simulated one: sim:2s-56c")
    })
}

/// Where root keeps his journal.
pub(super) const SYSTEM: &str = "/var/lib/cpudyno";

/// Hints that name the command which lists what can be set.
#[derive(Clone, Copy)]
pub(super) struct Lists {
    /// Where something is not there, or was asked for wrongly.
    pub(super) all: &'static str,
    /// Where rights are missing.
    pub(super) as_root: &'static str,
}

const LISTS: Lists = Lists {
    all: "`cpudyno settings` lists what can be set here, and what not",
    as_root: "run as root; `cpudyno settings` lists what root could set",
};

/// The lock of the machine, whoever keeps his journal where; the next start removes it.
const LOCK: &str = "/run/cpudyno.lock";

/// Where a journal is kept.
pub(super) struct JournalLocation {
    shelf: JournalDir,
    /// That of a simulated machine that nobody else ever sees; removed at the end.
    _folder: Option<TempDir>,
}

impl Deref for JournalLocation {
    type Target = JournalDir;

    fn deref(&self) -> &JournalDir {
        &self.shelf
    }
}

/// Where the journal of a machine is kept.
pub(super) fn shelf(machine: &Machine) -> Result<JournalLocation, Failure> {
    if let Some(model) = &machine.simulated {
        let file = model.settings.file();
        let folder = file.is_none().then(tempfile::tempdir).transpose().map_err(|error| {
            let why = sys::errno::words(&error);
            Failure::new(code::NOT_HERE, format!("cannot make a temporary folder: {why}"))
                .hint("TMPDIR names another place")
        })?;
        let path = match (&folder, file) {
            (Some(folder), _) => folder.path().to_owned(),
            (None, file) => file.unwrap_or_default().with_added_extension("journal"),
        };
        return Ok(JournalLocation { shelf: JournalDir::new(path, machine), _folder: folder });
    }
    let folder = state_folder("a journal", &format!("{STATE}=DIR"))?;
    Ok(JournalLocation { shelf: JournalDir::new(folder, machine).with_lock(LOCK), _folder: None })
}

/// Where this user keeps what outlives a run; where there is no place, what names one.
pub(super) fn state_folder(what: &str, named_by: &str) -> Result<PathBuf, Failure> {
    let named =
        |variable| std::env::var_os(variable).filter(|it| !it.is_empty()).map(PathBuf::from);
    if let Some(folder) = named(STATE) {
        return Ok(folder);
    }
    if sys::host::effective_user() == 0 {
        return Ok(PathBuf::from(SYSTEM));
    }
    let home = || Some(named("HOME")?.join(".local/state"));
    // Relative ones are to be ignored: XDG Base Directory Specification.
    let state = named("XDG_STATE_HOME").filter(|folder| folder.is_absolute()).or_else(home);
    let none = || {
        Failure::new(code::NOT_HERE, format!("cannot keep {what}: there is no HOME"))
            .hint(format!("name another place: {named_by}"))
    };
    Ok(state.ok_or_else(none)?.join("cpudyno"))
}

/// A plan that was not made: the hint says what became of the part that was.
pub(super) fn not_made(error: NotMade) -> Failure {
    not_made_of(error, LISTS)
}

/// The same of what other commands list.
pub(super) fn not_made_of(error: NotMade, lists: Lists) -> Failure {
    let text = error.to_string();
    let complete = error.undone.is_complete();
    let failure = Failure { message: text, ..refused_of(error.cause, lists) };
    if complete { failure } else { failure.hint(LEFT) }
}

pub(super) fn refused(error: Error) -> Failure {
    refused_of(error, LISTS)
}

/// The same of what other commands list.
pub(super) fn refused_of(error: Error, lists: Lists) -> Failure {
    let text = error.to_string();
    match error {
        Error::Unknown { suggestion: Some(near), .. } => {
            Failure::usage(text).hint(format!("did you mean `{near}`?"))
        }
        Error::Unknown { .. } | Error::Malformed { .. } | Error::Value { .. } => {
            Failure::usage(text).hint(lists.all)
        }
        Error::Absent { remedy, .. } => {
            Failure::new(code::NOT_HERE, text).hint(remedy.unwrap_or_else(|| lists.all.to_owned()))
        }
        Error::Rights { remedy: Some(remedy), .. } => {
            Failure::new(code::REFUSED, text).hint(remedy)
        }
        Error::Rights { .. } | Error::Refused { is_right: true, .. } => {
            Failure::new(code::REFUSED, text).hint(lists.as_root)
        }
        Error::Foreign { .. } => Failure::new(code::NOT_HERE, text).hint(RESTLESS),
        Error::Irreversible { .. } => Failure::new(code::REFUSED, text)
            .hint("--force does it all the same; `cpudyno undo` may not bring it back"),
        Error::Ordered { first, .. } => Failure::new(code::REFUSED, text).hint(first),
        Error::Refused { first: Some(first), .. } | Error::NotKept { first: Some(first), .. } => {
            Failure::new(code::REFUSED, text).hint(first)
        }
        Error::Late { .. } => Failure::new(code::NOT_HERE, text)
            .hint("`cpudyno undo` looks again, and puts back what came of it"),
        Error::Refused { .. } | Error::NotKept { .. } => Failure::new(code::NOT_HERE, text)
            .hint("nothing was left changed; firmware, hypervisor or driver decide about it"),
        Error::Locked { .. } => Failure::new(code::REFUSED, text)
            .hint("wait until it ends, or end it: it puts back what it set"),
        Error::Journal { is_right, .. } => {
            let code = if is_right { code::REFUSED } else { code::NOT_HERE };
            Failure::new(code, text).hint(format!(
                "name another folder: {STATE}=DIR, of a simulated machine another file: sim:NAME@FILE; \
                 `cpudyno undo --keep` forgets a spoiled journal"
            ))
        }
    }
}
