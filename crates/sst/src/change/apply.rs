//! From a wish to what is written, and that until nothing is left.

use std::collections::HashMap;

use levers::journal::JournalDir;
use levers::plan::{Change, Plan};
use levers::unlimited::is_open;
use levers::{Changed, LEFT, Levers, NotMade, Object, RESTLESS, Session, Undone};
use machine::Machine;
use model::CpuSet;

use super::ground::{Ground, Sleepers, cpufreq};
use super::limits::{MAX, MIN};
use super::recipes::steps;
use super::{Refused, Steps, What, Wish};

/// Why a wish was not fulfilled.
#[derive(Debug, thiserror::Error)]
pub enum NotChanged {
    /// It is refused; nothing was written.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It cannot be planned; nothing was written.
    #[error(transparent)]
    Unplanned(#[from] levers::Error),
    /// A write failed; what was made until then was put back, as far as that went.
    #[error(transparent)]
    NotMade(#[from] NotMade),
    /// It is never as it should be, however often it is written.
    #[error("cannot keep what was written: another program, or firmware, changes it again: {0}")]
    Restless(String),
    /// It failed, and something is left of it.
    #[error("{0}; not everything was put back: {1}")]
    Left(String, String),
}

impl NotChanged {
    /// The same once the rest was put back, too.
    #[must_use]
    pub fn after(self, undone: &Undone) -> NotChanged {
        match self {
            NotChanged::NotMade(it) if undone.is_complete() => {
                NotChanged::NotMade(NotMade { undone: Box::default(), ..it })
            }
            error => error,
        }
    }

    /// What helps, where that is known here: of what cannot be planned [`levers::Error`] tells.
    pub fn hint(&self) -> Option<&str> {
        match self {
            NotChanged::Refused(refused) => refused.hint(),
            NotChanged::NotMade(NotMade { cause, undone }) if undone.is_complete() => match cause {
                levers::Error::Refused { first, .. } | levers::Error::NotKept { first, .. } => {
                    *first
                }
                _ => None,
            },
            NotChanged::NotMade(_) | NotChanged::Left(..) => Some(LEFT),
            NotChanged::Restless(_) => Some(RESTLESS),
            NotChanged::Unplanned(_) => None,
        }
    }
}

/// What a wish comes to as things are; nothing is written.
pub fn planned(
    machine: &Machine,
    levers: &dyn Levers,
    wish: &Wish,
    force: bool,
) -> Result<Plan, NotChanged> {
    let (wish, sleepers) = (forced(wish, force), sleepers(machine));
    let ground = Ground::of(machine, &wish, &sleepers)?;
    let Steps { mut firmware, limits, remarks } = steps(&ground)?;
    firmware.extend(limits);
    let mut plan = Plan::of_steps(machine, levers, firmware, force)?;
    ground.foresee(&mut plan);
    plan.remarks.splice(0..0, remarks);
    Ok(plan)
}

/// What to know before a wish is done, or why it would be refused; nothing is planned in full.
pub fn foreseen(machine: &Machine, wish: &Wish) -> Result<Vec<String>, Refused> {
    Ok(steps(&Ground::of(machine, wish, &sleepers(machine))?)?.remarks)
}

/// The same at another level, to which what is meant is brought first.
pub fn foreseen_at(machine: &Machine, wish: &Wish, level: u8) -> Result<Vec<String>, Refused> {
    let sleepers = sleepers(machine);
    Ok(steps(&Ground::of(machine, wish, &sleepers)?.at_level(level)?)?.remarks)
}

/// Limits of the clock are nobody's loss: who insists has them beside classes.
fn forced(wish: &Wish, force: bool) -> Wish {
    let is_lenient = force && matches!(wish.what, What::TurboMode(_));
    Wish { lenient: wish.lenient || is_lenient, ..wish.clone() }
}

/// Makes it so. Limits of clocks come after what firmware holds, and CPUs that come online may bring more to
/// do: it is planned anew until nothing is left. Where something fails, the caller has the session put
/// back what was made.
pub fn apply(
    machine: &Machine,
    session: &mut Session<'_>,
    wish: &Wish,
    force: bool,
) -> Result<Vec<Changed>, NotChanged> {
    Ok(applied(machine, session, wish, force)?.0)
}

/// A wish as it is and as it would be, for who switches between them: it is made so once, since what limits of clocks
/// come to shows only once firmware has moved.
pub fn arms(
    machine: &Machine,
    session: &mut Session<'_>,
    wish: &Wish,
) -> Result<[Vec<Change>; 2], NotChanged> {
    Ok(applied(machine, session, wish, false)?.1.as_arms())
}

/// What was made of a wish, and all that was planned for it.
fn applied(
    machine: &Machine,
    session: &mut Session<'_>,
    wish: &Wish,
    force: bool,
) -> Result<(Vec<Changed>, Plan), NotChanged> {
    /// Levels, CPUs that come, CPUs that go again, limits; once more to see that all is done.
    const ROUNDS: usize = 5;
    let mut sleepers = sleepers(machine);
    let before = Limits::of(machine, session);
    let mut wish = forced(wish, force);
    let (mut done, mut all) = (Vec::new(), Plan::default());
    for _ in 0..ROUNDS {
        let ground = Ground::of(machine, &wish, &sleepers)?;
        let (Steps { firmware, mut limits, .. }, strangers) = (steps(&ground)?, ground.strangers());
        let stays = ground.stays(&firmware);
        // The kernel may have made less of a limit, and would again.
        limits.retain(|step| !done.iter().any(|change: &Changed| change.object == step.object));
        let mut plan = Plan::of_steps(machine, session.levers(), firmware, force)?;
        if plan.changes.is_empty() {
            plan = Plan::of_steps(machine, session.levers(), limits, force)?;
            before.recall(&mut plan);
        }
        if plan.changes.is_empty() {
            return Ok((done, all));
        }
        done.extend(session.apply(&plan)?);
        all.changes.extend(plan.changes);
        sleepers.foreign = sleepers.foreign.iter().chain(strangers.iter()).collect();
        // The power domains are those of the CPUs that were named, which may be gone.
        if matches!(wish.what, What::Level { with_cpus: true, .. }) && wish.cpus.is_some() {
            wish.cpus = Some(stays);
        }
    }
    let last = done.last().map_or_else(String::new, |change: &Changed| change.object.to_string());
    Err(NotChanged::Restless(last))
}

/// What limits of clocks were before firmware moved: they show what is left of a wish, and that is another
/// number afterwards.
struct Limits(HashMap<Object, (String, bool)>);

impl Limits {
    fn of(machine: &Machine, session: &Session<'_>) -> Limits {
        let online = cpus(machine, "online");
        let files = online.iter().flat_map(|cpu| [MAX, MIN].map(|it| cpufreq(cpu, it)));
        let known = |path: String| {
            let object = Object::File(path);
            let shown = object.read(machine).ok()?;
            let known = match session.asked(&object, &shown) {
                Some(asked) => (asked, false),
                None => (shown.clone(), is_open(machine, &object, &shown)),
            };
            Some((object, known))
        };
        Limits(files.filter_map(known).collect())
    }

    fn recall(&self, plan: &mut Plan) {
        let khz = |text: &str| text.parse::<u64>().ok();
        for change in plan.changes.iter_mut().filter(|change| change.is_effective) {
            let Some((former, was_open)) = self.0.get(&change.object) else { continue };
            // As high as it went before, and it did not follow all the way up: somebody chose that number. Where it
            // did not move at all, the kernel may not have looked yet.
            let is_chosen = *was_open && !change.was_open && khz(&change.former) > khz(former);
            if !is_chosen {
                (change.former, change.was_open) = (former.clone(), *was_open);
            }
        }
    }
}

/// Makes it so with a session of its own, and leaves it so; where something fails, everything is put back.
pub fn make(
    machine: &Machine,
    levers: Box<dyn Levers>,
    shelf: &JournalDir,
    who: &str,
    wish: &Wish,
) -> Result<(), NotChanged> {
    let mut session = Session::open(machine, levers, shelf, who)?;
    match apply(machine, &mut session, wish, false) {
        Ok(_) => {
            session.leave();
            Ok(())
        }
        Err(error) => {
            let undone = session.restore();
            match undone.left_beside(&error.to_string()).as_slice() {
                [] => Err(error.after(&undone)),
                left => Err(NotChanged::Left(error.to_string(), left.join("; "))),
            }
        }
    }
}

/// The CPUs that are there and switched off.
fn sleepers(machine: &Machine) -> Sleepers {
    let all = cpus(machine, "present").difference(&cpus(machine, "online"));
    Sleepers { all, ..Sleepers::default() }
}

/// CPUs by a list of the kernel.
fn cpus(machine: &Machine, list: &str) -> CpuSet {
    let text = machine.tree.read(&format!("/sys/devices/system/cpu/{list}"));
    text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or_default()
}
