//! Writing what was planned, and putting it back.

use std::collections::BTreeSet;
use std::time::Duration;

use machine::Machine;

use crate::error::Error;
use crate::journal::{Journal, Kept, Lock, Shelf};
use crate::object::Object;
use crate::plan::{Change, Plan};
use crate::port::Levers;

/// A change that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The setting, as it was asked for.
    pub setting: String,
    /// What was written to.
    pub object: Object,
    /// What was there before.
    pub former: String,
    /// What is there now.
    pub now: String,
}

/// What came of putting things back.
#[derive(Debug, Default)]
pub struct Undone {
    /// What has its former value again.
    pub restored: Vec<Changed>,
    /// What somebody else changed meanwhile, and was left alone: `former` is what would be put back.
    pub foreign: Vec<Changed>,
    /// What could not be put back, and why.
    pub failed: Vec<(Changed, Error)>,
}

impl Undone {
    /// Whether everything has its former value.
    pub fn is_complete(&self) -> bool {
        self.foreign.is_empty() && self.failed.is_empty()
    }
}

/// The right to change settings of a machine, held by one process at a time. When it is dropped, the
/// settings are put back as it found them.
pub struct Session<'a> {
    machine: &'a Machine,
    levers: Box<dyn Levers>,
    shelf: Shelf,
    journal: Journal,
    /// What this session changed, and what it found there.
    mine: Vec<Kept>,
    _lock: Lock,
}

impl<'a> Session<'a> {
    /// Takes the lock and opens the journal. `who` is told to others who want it.
    pub fn open(
        machine: &'a Machine,
        levers: Box<dyn Levers>,
        shelf: &Shelf,
        who: &str,
    ) -> Result<Session<'a>, Error> {
        let lock = shelf.lock(who)?;
        let journal = shelf.open()?;
        Ok(Session {
            machine,
            levers,
            shelf: shelf.clone(),
            journal,
            mine: Vec::new(),
            _lock: lock,
        })
    }

    /// The port, to plan with.
    pub fn levers(&self) -> &dyn Levers {
        &*self.levers
    }

    /// Makes all changes of a plan, or none: where one fails, those before it are put back.
    pub fn apply(&mut self, plan: &Plan) -> Result<Vec<Changed>, Error> {
        let kept: Vec<Kept> = plan.changes.iter().flat_map(kept_of).collect();
        self.journal.keep(&kept)?;
        let before = self.mine.len();
        for new in kept {
            match self.mine.iter_mut().find(|mine| mine.object == new.object) {
                Some(mine) => mine.ours.extend(new.ours),
                None => self.mine.push(new),
            }
        }
        let mut done = Vec::new();
        for change in &plan.changes {
            match self.make(change) {
                Ok(changed) => done.push(changed),
                Err(error) => {
                    let mine = self.mine.split_off(before.min(self.mine.len()));
                    self.take_back(&mine, &done);
                    return Err(error);
                }
            }
        }
        Ok(done)
    }

    /// Makes those of these changes that are not so already, whatever was made before.
    pub fn switch(&mut self, to: &[Change]) -> Result<Vec<Changed>, Error> {
        let mut changes = Vec::new();
        for change in to {
            let now = change.object.read(self.machine).map_err(|reason| Error::Absent {
                setting: change.setting.clone(),
                why: reason.why,
                remedy: reason.remedy,
            })?;
            if now != change.wanted {
                changes.push(Change { former: now, ..change.clone() });
            }
        }
        self.apply(&Plan { changes, ..Plan::default() })
    }

    /// Puts back what a plan that failed has changed already.
    fn take_back(&mut self, mine: &[Kept], done: &[Changed]) {
        put_back(self.machine, &mut *self.levers, mine, Manner::UNDO);
        // What was changed before by this session, and now again.
        for changed in done.iter().rev() {
            if !mine.iter().any(|kept| kept.object == changed.object) {
                // Reading back tells whether it took: the caller reports the first error.
                drop(self.levers.write(&changed.object, &changed.former));
            }
        }
    }

    fn make(&mut self, change: &Change) -> Result<Changed, Error> {
        let object = &change.object;
        write(&mut *self.levers, object, &change.wanted)?;
        let now = settled(self.machine, object, &change.wanted)?;
        let mut followed = Vec::new();
        for (follower, former) in &change.followers {
            let Ok(found) = follower.read(self.machine) else { continue };
            if found != *former {
                followed.push(Kept {
                    object: follower.clone(),
                    setting: change.setting.clone(),
                    former: former.clone(),
                    ours: vec![found],
                    follows: Some(object.clone()),
                });
            }
        }
        self.journal.keep(&followed)?;
        for follower in followed {
            if let Some(mine) = self.mine.iter_mut().find(|mine| mine.object == follower.object) {
                mine.ours.extend(follower.ours);
            }
        }
        let (setting, former) = (change.setting.clone(), change.former.clone());
        Ok(Changed { setting, object: object.clone(), former, now })
    }

    /// Ends the session and leaves the settings as they are; [`undo`] puts them back.
    pub fn leave(mut self) {
        self.mine.clear();
    }

    /// Puts the settings back as this session found them.
    pub fn restore(mut self) -> Undone {
        self.put_back()
    }

    fn put_back(&mut self) -> Undone {
        let mine = std::mem::take(&mut self.mine);
        if mine.is_empty() {
            forget_if_done(self.machine, &self.shelf, self.journal.kept());
            return Undone::default();
        }
        // Without it only a kill in the middle of putting back would be harder to mend.
        drop(self.journal.begin_undo());
        let undone = put_back(self.machine, &mut *self.levers, &mine, Manner::UNDO);
        forget_if_done(self.machine, &self.shelf, self.journal.kept());
        undone
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.put_back();
    }
}

fn kept_of(change: &Change) -> Vec<Kept> {
    let leader = Kept {
        object: change.object.clone(),
        setting: change.setting.clone(),
        former: change.former.clone(),
        ours: vec![change.wanted.clone()],
        follows: None,
    };
    let follower = |(object, former): &(Object, String)| Kept {
        object: object.clone(),
        setting: change.setting.clone(),
        former: former.clone(),
        ours: Vec::new(),
        follows: Some(change.object.clone()),
    };
    // Leaders are put back before their followers: the list is walked from its end.
    change.followers.iter().rev().map(follower).chain([leader]).collect()
}

/// Puts back everything that the journal holds, and removes it when nothing is left. `force` also
/// overwrites what others changed meanwhile.
pub fn undo(
    machine: &Machine,
    mut levers: Box<dyn Levers>,
    shelf: &Shelf,
    force: bool,
    who: &str,
) -> Result<Undone, Error> {
    let _lock = shelf.lock(who)?;
    let Some(pending) = shelf.pending()? else { return Ok(Undone::default()) };
    shelf.open()?.begin_undo()?;
    let manner = Manner { force, resumed: pending.undoing };
    let undone = put_back(machine, &mut *levers, &pending.kept, manner);
    if undone.is_complete() {
        shelf.forget()?;
    }
    Ok(undone)
}

/// What differs from its former value, of what a journal holds.
pub(crate) fn differing(machine: &Machine, kept: &[Kept]) -> Vec<Changed> {
    let differs = |kept: &Kept| {
        let now = kept.object.read(machine).ok()?;
        let changed = Changed {
            setting: kept.setting.clone(),
            object: kept.object.clone(),
            former: kept.former.clone(),
            now,
        };
        (changed.now != changed.former).then_some(changed)
    };
    kept.iter().filter_map(differs).collect()
}

fn forget_if_done(machine: &Machine, shelf: &Shelf, kept: &[Kept]) {
    if differing(machine, kept).is_empty() {
        // If it stays, undo finds everything in its place.
        drop(shelf.forget());
    }
}

/// How things are put back.
#[derive(Clone, Copy)]
struct Manner {
    /// Also what others changed meanwhile.
    force: bool,
    /// Somebody was killed while doing so.
    resumed: bool,
}

impl Manner {
    const UNDO: Manner = Manner { force: false, resumed: false };
}

/// Last changed first; what fails is tried again as long as anything else succeeds: limits, for
/// example, can be moved only as long as the lower one is below the upper one.
fn put_back(machine: &Machine, levers: &mut dyn Levers, kept: &[Kept], manner: Manner) -> Undone {
    let mut undone = Undone::default();
    let mut left: Vec<&Kept> = kept.iter().rev().collect();
    // Leaders that still are ours: what follows them was changed by us, whatever the journal knows.
    let ours: BTreeSet<&Object> = kept
        .iter()
        .filter(|kept| {
            let is_ours =
                |now: String| kept.ours.contains(&now) || manner.resumed && now == kept.former;
            kept.object.read(machine).is_ok_and(is_ours)
        })
        .map(|kept| &kept.object)
        .collect();
    loop {
        let before = left.len();
        undone.failed.clear();
        left.retain(|kept| {
            let by_leader = kept.follows.as_ref().is_some_and(|leader| ours.contains(leader));
            match put_back_one(machine, levers, kept, manner.force || by_leader) {
                One::AsBefore => false,
                One::Restored(changed) => {
                    undone.restored.push(changed);
                    false
                }
                One::Foreign(changed) => {
                    undone.foreign.push(changed);
                    false
                }
                One::Failed(changed, error) => {
                    undone.failed.push((changed, error));
                    true
                }
            }
        });
        if left.is_empty() || left.len() == before {
            return undone;
        }
    }
}

enum One {
    AsBefore,
    Restored(Changed),
    Foreign(Changed),
    Failed(Changed, Error),
}

fn put_back_one(machine: &Machine, levers: &mut dyn Levers, kept: &Kept, force: bool) -> One {
    let changed = |now: &str| Changed {
        setting: kept.setting.clone(),
        object: kept.object.clone(),
        former: kept.former.clone(),
        now: now.to_owned(),
    };
    let now = match kept.object.read(machine) {
        Ok(now) => now,
        Err(reason) => {
            let error = Error::Absent {
                setting: kept.setting.clone(),
                why: reason.why,
                remedy: reason.remedy,
            };
            return One::Failed(changed("?"), error);
        }
    };
    if now == kept.former {
        return One::AsBefore;
    }
    if !force && !kept.ours.contains(&now) {
        return One::Foreign(changed(&now));
    }
    let done = write(levers, &kept.object, &kept.former)
        .and_then(|()| settled(machine, &kept.object, &kept.former));
    match done {
        Ok(_) => One::Restored(Changed { former: now, now: kept.former.clone(), ..changed("") }),
        Err(error) => One::Failed(changed(&now), error),
    }
}

fn write(levers: &mut dyn Levers, object: &Object, text: &str) -> Result<(), Error> {
    levers.write(object, text).map_err(|error| Error::Refused {
        object: object.to_string(),
        wanted: text.to_owned(),
        why: sys::errno::words(&error),
    })
}

/// What an object holds after a write. Some drivers take a moment.
fn settled(machine: &Machine, object: &Object, wanted: &str) -> Result<String, Error> {
    const LOOKS: usize = 5;
    const PAUSE: Duration = Duration::from_millis(2);
    let mut found = String::new();
    for look in 0..LOOKS {
        if look > 0 {
            std::thread::sleep(PAUSE);
        }
        match object.read(machine) {
            Ok(now) if now == wanted => return Ok(now),
            Ok(now) => found = now,
            Err(reason) => found = reason.why,
        }
    }
    Err(Error::NotKept { object: object.to_string(), wanted: wanted.to_owned(), found })
}
