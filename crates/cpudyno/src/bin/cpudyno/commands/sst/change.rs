//! The commands of `cpudyno sst` that change the machine.

use std::process::ExitCode;

use levers::journal::JournalDir;
use levers::plan::Plan;
use levers::{Changed, LEFT, Levers, Session, Undone};
use machine::Machine;
use model::CpuSet;
use model::record::{ChangeOutcome, PageKind, Proof, ProofAnswer, Record, SettingChange, Settings};
use sst::change::{Base, NotChanged, Refused, Wish};

use super::super::{Delivery, Sinks, command, presentation, settings};
use crate::args::{PresentationArgs, SstArgs, SstChange};
use crate::failure::{Failure, code};
use crate::output::{self, Sink};
use crate::signals::Signals;

pub(super) fn run(
    machine: &Machine,
    args: &SstArgs,
    wish: &Wish,
    change: SstChange,
) -> Result<ExitCode, Failure> {
    // What cannot be told afterwards is not done.
    let (sinks, look) = settings::told_to(args.output.clone())?;
    let out = args.out.as_deref().map(Sink::open).transpose()?;
    let report = Report { machine, args, sinks, look, out };
    let (levers, plan) = ready(machine, wish, change.force)?;
    if change.dry_run {
        let planned = settings::told(&plan, &ChangeOutcome::Planned);
        report.tell(Settings { remarks: plan.remarks, ..planned })?;
        return Ok(ExitCode::SUCCESS);
    }
    remark(&plan);
    let signals = Signals::listen()?;
    let shelf = settings::shelf(machine)?;
    // From here on the first wish to stop is heard everywhere, and a second one would leave a mess.
    let _deaf = signals.ignore();
    let session = open(machine, levers, &shelf, "sst")?;
    let (session, done) = made(machine, session, wish, change.force)?;
    if let Some((_, name)) = signals.came() {
        output::remark(&format!("stopped by {name}"));
        return settings::restore(session, &signals, ExitCode::SUCCESS);
    }
    let proofs = proofs(machine, wish);
    let disobeyed = proofs.iter().any(|proof| proof.answer == ProofAnswer::NotObeyed);
    let answer = if disobeyed { ExitCode::from(code::NO) } else { ExitCode::SUCCESS };
    let mut found = Settings { changes: changes(done, &plan), proofs, ..Settings::default() };
    if found.changes.iter().any(|change| change.outcome == ChangeOutcome::Done) {
        found.remarks.push(HOW_IT_ENDS.to_owned());
    }
    match report.tell(found) {
        Ok(()) => {
            session.leave();
            Ok(answer)
        }
        // Nobody was told: nothing stays.
        Err(failure) => settings::restore(session, &signals, answer).and(Err(failure)),
    }
}

/// What writes, and what a wish comes to: what is refused needs no lock.
pub(super) fn ready(
    machine: &Machine,
    wish: &Wish,
    force: bool,
) -> Result<(Box<dyn Levers>, Plan), Failure> {
    let levers = settings::writer(machine)?;
    let plan = planned(machine, &*levers, wish, force)?;
    Ok((levers, plan))
}

pub(super) fn planned(
    machine: &Machine,
    levers: &dyn Levers,
    wish: &Wish,
    force: bool,
) -> Result<Plan, Failure> {
    sst::change::planned(machine, levers, wish, force).map_err(not_changed)
}

/// A session of that command.
pub(super) fn open<'m>(
    machine: &'m Machine,
    levers: Box<dyn Levers>,
    shelf: &JournalDir,
    command: &str,
) -> Result<Session<'m>, Failure> {
    let who = format!("cpudyno {command}, process {}", std::process::id());
    Session::open(machine, levers, shelf, &who).map_err(settings::refused)
}

/// A session in which a wish was fulfilled; where that fails, everything is put back.
pub(super) fn made<'m>(
    machine: &'m Machine,
    mut session: Session<'m>,
    wish: &Wish,
    force: bool,
) -> Result<(Session<'m>, Vec<Changed>), Failure> {
    match sst::change::apply(machine, &mut session, wish, force) {
        Ok(done) => Ok((session, done)),
        Err(error) => {
            let undone = session.restore();
            Err(told(&undone, not_changed(error.after(&undone))))
        }
    }
}

/// What to know before it is done.
pub(super) fn remark(plan: &Plan) {
    for remark in &plan.remarks {
        output::remark(&format!("note: {remark}"));
    }
}

/// A failure after which everything is put back, and what came of that.
pub(super) fn undone(session: Session<'_>, failure: Failure) -> Failure {
    told(&session.restore(), failure)
}

fn told(undone: &Undone, failure: Failure) -> Failure {
    let told = settings::put_back_beside(undone, &failure.message);
    if undone.is_complete() {
        if let Some(told) = told {
            output::remark(&told);
        }
        return failure;
    }
    let message =
        std::iter::once(failure.message.clone()).chain(told).collect::<Vec<_>>().join("; ");
    Failure { message, ..failure }.hint(LEFT)
}

const HOW_IT_ENDS: &str =
    "`cpudyno undo` puts everything back; so does the next start of the machine";

/// Where it is told what was done.
struct Report<'a> {
    machine: &'a Machine,
    args: &'a SstArgs,
    sinks: Sinks,
    look: PresentationArgs,
    out: Option<Sink>,
}

impl Report<'_> {
    fn tell(self, found: Settings) -> Result<(), Failure> {
        let presentation = presentation(&self.look, PageKind::Changes);
        let words = super::without_path(command(), self.args.out.as_deref());
        let described = machine::describe(self.machine, words, presentation);
        let record = Record { settings: Some(found), ..described };
        let telling = Delivery::of(&record);
        telling.write(self.sinks)?;
        output::deliver(self.out, &telling.told(self.look.format)?)
    }
}

/// What was changed, each once: what was there first, and what is there last.
fn changes(done: Vec<Changed>, plan: &Plan) -> Vec<SettingChange> {
    let mut once: Vec<Changed> = Vec::new();
    for change in done {
        match once.iter_mut().find(|known| known.object == change.object) {
            Some(known) => known.now = change.now,
            None => once.push(change),
        }
    }
    let told =
        |id: &str, object: &levers::Object, [former, now]: [&str; 2], outcome| SettingChange {
            id: id.to_owned(),
            object: object.to_string(),
            former: former.to_owned(),
            wanted: now.to_owned(),
            outcome,
        };
    let is_done = |object: &levers::Object| once.iter().any(|change| change.object == *object);
    let already = plan.already.iter().filter(|change| !is_done(&change.object)).map(|change| {
        let texts = [&*change.former, &*change.wanted];
        told(&change.setting, &change.object, texts, ChangeOutcome::Already)
    });
    let changed = once.iter().filter(|change| change.former != change.now).map(|change| {
        told(&change.setting, &change.object, [&change.former, &change.now], ChangeOutcome::Done)
    });
    changed.chain(already).collect()
}

/// Whether the kernel tells the base frequencies that firmware gives.
fn proofs(machine: &Machine, wish: &Wish) -> Vec<Proof> {
    use sst::change::What;
    // Nothing else that these commands change shows there.
    if !matches!(wish.what, What::Level { .. } | What::BaseFreq { .. }) {
        return Vec::new();
    }
    // Of power domains whose named CPUs went with the level the others tell it.
    let online = machine::facts::machine(machine).topology.online;
    let named = wish.cpus.as_ref().map(|cpus| cpus.intersection(&online));
    base_frequencies(machine, named.filter(|cpus| !cpus.is_empty()).as_ref())
}

/// The same of these CPUs, or of all.
pub(super) fn base_frequencies(machine: &Machine, cpus: Option<&CpuSet>) -> Vec<Proof> {
    let proof = |answer, seen: String| Proof {
        id: "base_frequency".to_owned(),
        load: "none".to_owned(),
        answer,
        seen,
        caveat: None,
    };
    match sst::change::base_frequencies(machine, cpus) {
        Ok(bases) => bases.iter().map(|base| proof(answer(base), seen(base))).collect(),
        Err(error) => vec![proof(ProofAnswer::NotObservable, error.to_string())],
    }
}

fn answer(base: &Base) -> ProofAnswer {
    match base.told_khz {
        None => ProofAnswer::NotObservable,
        Some(told) if told == base.given_khz => ProofAnswer::Obeyed,
        Some(_) => ProofAnswer::NotObeyed,
    }
}

fn seen(base: &Base) -> String {
    let Base { cpus, given_khz, told_khz } = base;
    let gigahertz = |khz: u64| khz as f64 / 1e6;
    let (cpus, given) = (cpus.named(), gigahertz(*given_khz));
    match told_khz {
        None => format!(
            "{cpus}: firmware gives {given:.1} GHz; the kernel does not tell the base frequency"
        ),
        Some(told) if told == given_khz => {
            format!("{cpus}: {given:.1} GHz, as firmware gives them")
        }
        Some(told) => format!(
            "{cpus}: firmware gives {given:.1} GHz, and the kernel says {:.1} GHz",
            gigahertz(*told)
        ),
    }
}

/// Why nothing was changed.
pub(in super::super) fn not_changed(error: NotChanged) -> Failure {
    let (message, hint) = (error.to_string(), error.hint().map(str::to_owned));
    let code = match error {
        NotChanged::Refused(Refused::Unread(error)) => return super::refused(error),
        NotChanged::Unplanned(error) => return settings::refused_of(error, LISTS),
        NotChanged::NotMade(error) => return settings::not_made_of(error, LISTS),
        NotChanged::Refused(Refused::Order { .. }) => code::REFUSED,
        NotChanged::Refused(Refused::Usage { .. }) => code::USAGE,
        NotChanged::Refused(Refused::NotHere { .. })
        | NotChanged::Left(..)
        | NotChanged::Restless(_) => code::NOT_HERE,
    };
    Failure { code, message, hint }
}

/// `cpudyno settings` does not list what firmware holds.
const LISTS: settings::Lists =
    settings::Lists { all: "`cpudyno sst info` says what there is", as_root: "run as root" };
