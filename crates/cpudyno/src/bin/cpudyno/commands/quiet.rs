//! `cpudyno quiet`.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Instant;

use levers::ask::SettingSpec;
use levers::plan::Plan;
use levers::{Error, Levers, Session};
use machine::Machine;
use measure::proof::{self, ChangeObservations, Observer};
use measure::quiet::{CommandOutcome, CommandWatch, OTHERS, refused as not_set};
use measure::run::refuse_elsewhere;
use model::record::{
    ChangeOutcome, CommandEnd, PageKind, Proof, QuietRun, Record, Settings, Trust,
};
use model::{Known, Obstacle, Seconds, Unavailable};

use super::keys::Keys;
use super::plans::{self, Fate, Found, Wishes};
use super::{Delivery, Sinks, child, command, measuring, presentation, settings, sinks};
use crate::args::{Changing, Format, QuietArgs, setting};
use crate::failure::{Failure, code};
use crate::output;
use crate::signals::Signals;

pub(super) fn run(machine: &Machine, args: QuietArgs) -> Result<ExitCode, Failure> {
    let QuietArgs { settings: wanted, strict, dry_run, no_key, changing, command: words } = args;
    let Changing { no_proof, force, output } = changing;
    let (sinks, look) = sinks(output)?;
    if look.format == Format::Csv {
        return Err(Failure::usage("a command that is watched has no table of samples")
            .hint("print it as text, markdown, html or json: --format json"));
    }
    if words.is_empty() {
        return Err(Failure::usage("there is no command to run")
            .hint("name it after two dashes: cpudyno quiet -- make bench"));
    }
    refuse_elsewhere(machine).map_err(|reason| measuring::refused(machine, reason.into()))?;
    let wishes = plans::read(wanted, setting)?;
    let described = machine::describe(machine, brief(&words), presentation(&look, PageKind::Quiet));
    let mut told = ReportOutput { record: described, format: look.format, sinks };
    let (plans, mut lost) = possible(machine, wishes, force)?;
    let asked = plans.asked.as_slice();
    if dry_run {
        let levers = settings::writer(machine)?;
        let plan = Plan::new(machine, &*levers, asked, force).map_err(settings::refused)?;
        let found = settings::told(&plan, &ChangeOutcome::Planned);
        told.record.settings = Some(Settings { remarks: plans.remarks(), ..found });
        told.record.findings = not_set(&lost);
        told.record.quiet = Some(planned(machine, &words, lost));
        told.print()?;
        return Ok(ExitCode::SUCCESS);
    }
    let signals = Signals::listen()?;
    let held = if asked.is_empty() || strict && !lost.is_empty() {
        None
    } else {
        match hold(machine, asked, force) {
            Ok(held) => Some(held),
            Err(failure) if strict => return Err(failure),
            Err(failure) => {
                lost.push(of_failure(asked, failure));
                None
            }
        }
    };
    if strict && let Some(reason) = lost.first() {
        return Err(Failure {
            hint: reason.remedy.clone(),
            ..Failure::new(code::REFUSED, format!("cannot set {}: {}", reason.what, reason.why))
        });
    }
    for remark in &plans.left_out {
        output::remark(&format!("note: {remark}"));
    }
    let keys = Keys::new(!no_key).by_turns();
    watched(machine, &words, held, lost, (&signals, no_proof, keys), told)
}

/// Where the report goes.
struct ReportOutput {
    record: Record,
    format: Format,
    sinks: Sinks,
}

impl ReportOutput {
    /// Standard output is the command's: the report is beside it.
    fn print(self) -> Result<(), Failure> {
        let ReportOutput { record, format, sinks } = self;
        let telling = Delivery::of(&record);
        let text = telling.told(format)?;
        if format == Format::Text {
            output::remark(text.trim_end());
        } else {
            output::beside(&text);
        }
        telling.write(sinks)
    }
}

/// Settings that are held.
struct HeldSettings<'m> {
    session: Session<'m>,
    plan: Plan,
    /// Where its journal is.
    place: settings::JournalLocation,
}

/// What can be planned here, and what not, with the reason. What was typed wrongly is an error.
fn possible(
    machine: &Machine,
    wishes: Wishes<SettingSpec>,
    force: bool,
) -> Result<(Found, Vec<Unavailable>), Failure> {
    let (mut found, mut cannot) = (Found::default(), Vec::new());
    if wishes.all.is_empty() {
        return Ok((found, cannot));
    }
    let levers = settings::writer(machine)?;
    found.told = wishes.told;
    found.left_out = wishes.left_out;
    for wish in wishes.all {
        match wish.fate(machine, &*levers, force) {
            Fate::Here(setting, told) => {
                found.asked.push(setting);
                found.told.extend(told);
            }
            Fate::LeftOut(why) => found.left_out.push(why),
            Fate::Refused(one, refusal) => {
                let is_of_machine = matches!(
                    refusal.error,
                    Error::Absent { .. } | Error::Rights { .. } | Error::Refused { .. }
                );
                let failure = refusal.failure();
                if !is_of_machine {
                    return Err(failure);
                }
                cannot.push(reason(format!("{}={}", one.name, one.value), failure));
            }
        }
    }
    // What goes wrong together is wrong, whatever can be made here.
    Plan::new(machine, &*levers, &found.asked, force).map_err(settings::refused)?;
    Ok((found, cannot))
}

fn reason(what: String, failure: Failure) -> Unavailable {
    let obstacle =
        if failure.code == code::REFUSED { Obstacle::Permission } else { Obstacle::Hardware };
    let Failure { message, hint, .. } = failure;
    Unavailable { what, why: message, remedy: hint, obstacle }
}

fn of_failure(asked: &[SettingSpec], failure: Failure) -> Unavailable {
    let words: Vec<String> =
        asked.iter().map(|one| format!("{}={}", one.name, one.value)).collect();
    reason(words.join(" "), failure)
}

/// Opens a session, in which the settings are planned; they are made later.
fn hold<'m>(
    machine: &'m Machine,
    asked: &[SettingSpec],
    force: bool,
) -> Result<HeldSettings<'m>, Failure> {
    let levers: Box<dyn Levers> = settings::writer(machine)?;
    let shelf = settings::shelf(machine)?;
    let who = format!("cpudyno quiet, process {}", std::process::id());
    let session = Session::open(machine, levers, &shelf, &who).map_err(settings::refused)?;
    let plan = Plan::new(machine, session.levers(), asked, force).map_err(settings::refused)?;
    Ok(HeldSettings { session, plan, place: shelf })
}

/// Sets, runs, watches, puts back, tells.
fn watched(
    machine: &Machine,
    words: &[OsString],
    held: Option<HeldSettings<'_>>,
    mut lost: Vec<Unavailable>,
    (signals, no_proof, mut keys): (&Signals, bool, Keys),
    mut told: ReportOutput,
) -> Result<ExitCode, Failure> {
    // The command is who Ctrl-C is for: what asks to stop is heard here, and settings are put back.
    let _deaf = signals.ignore();
    let mut observer = Observer::new(machine, signals.stop());
    let (mut session, mut place) = (None, None);
    let mut found = Settings::default();
    if let Some(HeldSettings { session: mut opened, plan, place: kept }) = held {
        place = Some(kept);
        let before = (!no_proof).then(|| look(&mut observer, &plan)).flatten();
        match opened.apply(&plan) {
            Ok(_) => {
                let after = (!no_proof).then(|| look(&mut observer, &plan)).flatten();
                let proofs = proofs(machine, &plan, before, after);
                let remarks = plan.remarks.clone();
                found = Settings { proofs, remarks, ..settings::told(&plan, &ChangeOutcome::Done) };
                session = Some(opened);
            }
            Err(error) => {
                let names: Vec<&str> = plan.changes.iter().map(|c| c.setting.as_str()).collect();
                lost.push(reason(names.join(", "), settings::not_made(error)));
                session = Some(opened);
            }
        }
    }
    if session.is_some() {
        told.record.conditions.before = machine::conditions::read(machine);
    }
    keys.take(machine, signals.stop());
    let ran = execute(machine, words, observer, lost, signals);
    // As it was for the command, not as it will be, nor as a key leaves it.
    let after = machine::conditions::read(machine);
    if ran.is_ok() {
        keys.take(machine, signals.stop());
    }
    // Whatever came of it: first the settings are put back.
    let restored = session.map(|session| settings::restore(session, signals, ExitCode::SUCCESS));
    drop(place);
    let (status, seen) = match ran {
        Ok(ran) => ran,
        Err(failure) => {
            if let Some(Err(restoring)) = restored {
                output::failure(&restoring);
            }
            return Err(failure);
        }
    };
    let changes = !found.changes.is_empty() || !found.proofs.is_empty();
    told.record.settings = changes.then_some(found);
    told.record.findings = seen.findings;
    told.record.conditions.after = after;
    told.record.conditions.after.extend(seen.conditions);
    told.record.clock = Some(seen.clock);
    told.record.run.seconds = seen.run.seconds.0;
    told.record.quiet = Some(seen.run);
    let moved = keys.note(&mut told.record, "quiet");
    if let Some(run) = told.record.quiet.as_mut().filter(|_| moved) {
        run.trust = Trust::No;
    }
    let printed = told.print();
    if let Some(Err(failure)) = restored {
        output::failure(&failure);
    }
    printed?;
    Ok(ExitCode::from(child::code(status)))
}

type Ran = (ExitStatus, measure::quiet::WatchReport);

/// Runs the command, watched.
fn execute(
    machine: &Machine,
    words: &[OsString],
    observer: Result<Observer<'_>, Unavailable>,
    lost: Vec<Unavailable>,
    signals: &Signals,
) -> Result<Ran, Failure> {
    let stopped =
        |error: rig::executor::RunError| signals.of(measuring::refused(machine, error.into()));
    let mut watched = CommandWatch::begin(machine, observer, signals.stop()).map_err(stopped)?;
    let begun = Instant::now();
    let shown = words[0].to_string_lossy().into_owned();
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .spawn()
        .map_err(|error| child::not_started(&shown, "quiet", &error))?;
    let ended = child::wait_used(&mut child, CommandWatch::EVERY, || watched.meanwhile());
    let seconds = Seconds(begun.elapsed().as_secs_f64());
    let (status, usage) = ended.map_err(|error| {
        let why = sys::errno::words(&error);
        Failure::new(code::NOT_HERE, format!("cannot wait for `{shown}`: {why}"))
    })?;
    let end = match (status.code(), status.signal()) {
        (Some(code), _) => CommandEnd::Code(code),
        (None, signal) => CommandEnd::Signal(signal.unwrap_or_default()),
    };
    let ended = CommandOutcome {
        program: program(words),
        end,
        seconds,
        cpu_seconds: Seconds(usage.cpu_time.as_secs_f64()),
        involuntary_switches: usage.involuntary_switches,
    };
    Ok((status, watched.end(ended, lost)))
}

fn look(
    observer: &mut Result<Observer<'_>, Unavailable>,
    plan: &Plan,
) -> Option<Result<ChangeObservations, String>> {
    match observer {
        Ok(observer) if !plan.changes.is_empty() => {
            Some(observer.look(&plan.changes).map_err(|error| error.to_string()))
        }
        Ok(_) => None,
        Err(reason) => Some(Err(reason.why.clone())),
    }
}

fn proofs(
    machine: &Machine,
    plan: &Plan,
    before: Option<Result<ChangeObservations, String>>,
    after: Option<Result<ChangeObservations, String>>,
) -> Vec<Proof> {
    match (before, after) {
        (Some(Ok(before)), Some(Ok(after))) => {
            proof::judge(machine, &plan.changes, &before, &after)
        }
        (Some(Err(why)), _) | (_, Some(Err(why))) => proof::unseen_of(machine, &plan.changes, &why),
        _ => Vec::new(),
    }
}

/// The file's name: folders and arguments may name people.
fn program(words: &[OsString]) -> String {
    let name = Path::new(&words[0]).file_name().unwrap_or(&words[0]);
    name.to_string_lossy().into_owned()
}

/// Our own command for the record, up to the name of the program.
fn brief(words: &[OsString]) -> Vec<String> {
    let own = command();
    let end = own.iter().position(|word| word == "--").unwrap_or(own.len());
    let mut kept = own[..end].to_vec();
    kept.extend(["--".to_owned(), program(words)]);
    kept
}

/// What would be run.
fn planned(machine: &Machine, words: &[OsString], lost: Vec<Unavailable>) -> QuietRun {
    let planned =
        |what| Unavailable::new(Obstacle::Measurement, what, "nothing was measured: it is a plan");
    let nothing = || Known::No { unavailable: planned("core clock") };
    QuietRun {
        program: program(words),
        ended: None,
        seconds: Seconds(0.0),
        cpu_seconds: Seconds(0.0),
        involuntary_switches: 0,
        cpus: machine.host.affinity().unwrap_or_default(),
        others: Known::No { unavailable: planned(OTHERS) },
        clock: [nothing(), nothing()],
        clock_meanwhile: nothing(),
        refused: lost,
        trust: Trust::CannotTell,
    }
}
