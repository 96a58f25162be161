//! The right to change settings: what was planned is made, and put back when it ends.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use machine::Machine;

use crate::error::Error;
use crate::journal::{Journal, JournalDir, Kept, Ledger, Lock, New};
use crate::object::Object;
use crate::outcome::{Changed, Others, Undone};
use crate::plan::{Change, Plan, Turn};
use crate::port::Levers;
use crate::restore::{Late, put_back, while_any_succeeds};
use crate::unlimited;
use crate::write::{MOMENTS_OF_FIRMWARE, is_level, not_kept, put, settled};

/// A plan that was not made, and what became of the part that was.
#[derive(Debug, thiserror::Error)]
#[error("{cause}{}", still(.undone))]
pub struct NotMade {
    /// Why.
    pub cause: Error,
    /// What was put back, and what could not be.
    pub undone: Box<Undone>,
}

fn still(undone: &Undone) -> String {
    match undone.left().as_slice() {
        [] => String::new(),
        left => format!("; not everything was put back: {}", left.join("; ")),
    }
}

/// The right to change settings of a machine, held by one process at a time. When it is dropped, the
/// settings are put back as it found them; [`restore`](Session::restore) tells what came of that.
pub struct Session<'a> {
    machine: &'a Machine,
    levers: Box<dyn Levers>,
    shelf: JournalDir,
    journal: Journal,
    /// What this session changed, and what it found there.
    mine: Ledger,
    /// What it wrote last, or found to be as it should, and has read back.
    held: HashMap<Object, String>,
    /// What the kernel made of limits that were wanted.
    came_to: HashMap<(Object, String), String>,
    /// What firmware was told last and had not done when nobody waited any longer: it may still do it.
    late: Late,
    /// Where the next look at what it holds begins.
    next: usize,
    _lock: Lock,
}

impl<'a> Session<'a> {
    /// Takes the lock and opens the journal. `who` is told to others who want it.
    pub fn open(
        machine: &'a Machine,
        levers: Box<dyn Levers>,
        shelf: &JournalDir,
        who: &str,
    ) -> Result<Session<'a>, Error> {
        let lock = shelf.lock(who)?;
        let journal = shelf.open()?;
        Ok(Session {
            machine,
            levers,
            shelf: shelf.clone(),
            journal,
            mine: Ledger::default(),
            held: HashMap::new(),
            came_to: HashMap::new(),
            late: None,
            next: 0,
            _lock: lock,
        })
    }

    /// The port, to plan with.
    pub fn levers(&self) -> &dyn Levers {
        &*self.levers
    }

    /// Makes all changes of a plan, or none: where one fails, the others are put back, and the error
    /// tells what came of that.
    pub fn apply(&mut self, plan: &Plan) -> Result<Vec<Changed>, NotMade> {
        let in_order = plan.is_in_order();
        let mut changes: Vec<&Change> = plan.changes.iter().collect();
        if !in_order {
            changes.sort_by_key(|change| Turn::of(&change.object, &change.wanted));
        }
        let mut news: Vec<New> = changes.iter().flat_map(|change| news_of(change)).collect();
        for new in news.iter_mut().filter(|new| unlimited::is_limit(&new.object)) {
            if let Some(limit) = self.asked(&new.object, &new.former) {
                (new.former, new.was_open) = (limit, false);
            }
        }
        let nothing = |cause| NotMade { cause, undone: Box::default() };
        self.journal.keep(&news).map_err(nothing)?;
        for new in &news {
            self.mine.keep(new);
        }
        let made = self.make_all(&changes, in_order).and_then(|done| {
            self.hear_followers(&changes);
            self.journal.settle().map(|()| done)
        });
        match made {
            Ok(done) => {
                self.remember(&changes, &done);
                Ok(done)
            }
            Err(cause) => {
                self.held.clear();
                let mut found = Ledger::default();
                for new in &news {
                    found.keep(new);
                }
                let undone = Box::new(self.put_back(&found));
                // What it does not know any more, it knew to be ours: then undo asks.
                drop(self.journal.settle());
                Err(NotMade { cause, undone })
            }
        }
    }

    /// The limit of the clock that was asked for, of which this shows, where the journal knows of more than that.
    pub fn asked(&self, object: &Object, shown: &str) -> Option<String> {
        self.journal.pending().kept.asked(self.machine, object, shown).map(str::to_owned)
    }

    /// What was just written and read back; what follows it is not known any more.
    fn remember(&mut self, changes: &[&Change], done: &[Changed]) {
        for (follower, _) in changes.iter().flat_map(|change| &change.followers) {
            self.held.remove(follower);
        }
        for Changed { object, now, .. } in done {
            self.held.insert(object.clone(), now.clone());
        }
    }

    /// Whether this is what was wanted, or what the kernel made of it.
    fn is_so(&self, change: &Change, now: &str) -> bool {
        let came_to = || self.came_to.get(&(change.object.clone(), change.wanted.clone()));
        now == change.wanted || change.is_effective && came_to().is_some_and(|it| it == now)
    }

    /// Makes those of these changes that are not so already, whatever was made before.
    ///
    /// What an earlier switch left was read back then, and is not read again before it is written anew.
    /// What somebody else made of it meanwhile is an error, and left as it is: two who set the same thing
    /// would measure each other.
    pub fn switch(&mut self, to: &[Change]) -> Result<Vec<Changed>, NotMade> {
        if !self.seems_held(to).map_err(|cause| NotMade { cause, undone: Box::default() })? {
            self.held.clear();
        }
        let mut changes: Vec<Change> = Vec::new();
        let mut led: HashSet<&Object> = HashSet::new();
        for change in to {
            let now = self.now(change)?;
            if !self.is_so(change, &now) || led.contains(&change.object) {
                led.extend(change.followers.iter().map(|(object, _)| object));
                changes.push(Change { former: now, ..change.clone() });
            }
        }
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        self.apply(&Plan { changes, ..Plan::default() })
    }

    /// What an object holds: as it was read back, or as it is read now.
    fn now(&mut self, change: &Change) -> Result<String, NotMade> {
        if let Some(held) = self.held.get(&change.object) {
            return Ok(held.clone());
        }
        let now = change.object.read(self.machine).map_err(|reason| NotMade {
            cause: Error::unread(change.setting.clone(), reason),
            undone: Box::default(),
        })?;
        self.held.insert(change.object.clone(), now.clone());
        Ok(now)
    }

    /// Whether what this session holds can be read, as far as a few looks tell: at all of it where it is
    /// little, else at others each time. An error where it is not what it was.
    fn seems_held(&mut self, to: &[Change]) -> Result<bool, Error> {
        /// A look takes microseconds, and `ab` asks between any two measurements.
        const LOOKS: usize = 64;
        if self.held.is_empty() {
            return Ok(true);
        }
        let from = self.next;
        self.next = from.wrapping_add(LOOKS);
        let looks = LOOKS.min(to.len());
        for look in 0..looks {
            let Change { setting, object, .. } = &to[from.wrapping_add(look) % to.len()];
            match (self.held.get(object), object.read(self.machine)) {
                (Some(held), Ok(now)) if *held != now => {
                    // A limit moves with what the CPU does at present.
                    let pending = self.journal.pending();
                    let kept = pending.kept.of(object);
                    let is_limit = unlimited::comes_to(self.machine, object, &now).is_some();
                    if is_limit && kept.is_some_and(|kept| kept.is_ours(self.machine, &now)) {
                        return Ok(false);
                    }
                    return Err(Error::Foreign {
                        setting: setting.clone(),
                        object: object.to_string(),
                        held: held.clone(),
                        found: now,
                    });
                }
                (_, Ok(_)) => {}
                // It is looked at closely.
                (_, Err(_)) => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Makes them in order, each read back; what fails is tried again, unless others need it.
    fn make_all(&mut self, changes: &[&Change], in_order: bool) -> Result<Vec<Changed>, Error> {
        if in_order {
            let done = changes.iter().map(|change| self.make(change));
            let done = done.collect::<Result<Vec<_>, _>>()?;
            self.see_overwritten(changes)?;
            return Ok(done);
        }
        let mut made: Vec<&Change> = Vec::new();
        let mut done = Vec::new();
        let failed = while_any_succeeds(changes.to_vec(), |change| {
            done.push(self.make(change)?);
            made.push(change);
            Ok(())
        });
        if let Some(error) = failed.into_iter().next() {
            return Err(error);
        }
        self.see_overwritten(&made)?;
        Ok(done)
    }

    /// What was written first may have been changed by what was written last: it is read once more,
    /// but for the last ones, which are all the same setting and have the same value.
    fn see_overwritten(&mut self, made: &[&Change]) -> Result<(), Error> {
        let Some(last) = made.last() else { return Ok(()) };
        let is_other = |change: &&Change| {
            !std::ptr::eq(change.lever, last.lever) || change.wanted != last.wanted
        };
        let early = made.iter().rposition(is_other).map_or(0, |place| place + 1);
        for change in &made[..early] {
            match change.object.read(self.machine) {
                // A limit comes to something else once firmware has moved.
                Ok(now) if !self.is_so(change, &now) && !comes_to(self.machine, change, &now) => {
                    self.journal.hear(&change.object, now.clone());
                    return Err(not_kept(self.machine, &change.object, &change.wanted, now));
                }
                // With a CPU that leaves, its files leave.
                Ok(_) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn make(&mut self, change: &Change) -> Result<Changed, Error> {
        let Change { setting, object, former, wanted, .. } = change;
        let machine = self.machine;
        let is_kept = |now: &str| now == wanted || comes_to(machine, change, now);
        let made =
            put(self.machine, &mut *self.levers, &mut self.journal, (object, wanted), &is_kept);
        let now = match made {
            // What it follows may have brought it there: some files refuse even the value that they hold.
            Err(Error::Refused { .. }) if object.read(machine).as_ref() == Ok(wanted) => {
                wanted.clone()
            }
            // The driver gives up waiting for a new level sooner than firmware is there.
            Err(error @ Error::Refused { is_right: false, .. }) if is_level(object) => {
                let is_final = matches!(error, Error::Refused { is_final: true, .. });
                settled(machine, object, wanted, &is_kept).map_err(|_| {
                    self.late = (!is_final).then(|| (object.clone(), wanted.clone()));
                    error
                })?
            }
            // Whether nobody saw it, or it was not so yet.
            Err(error @ (Error::NotKept { .. } | Error::Absent { .. }))
                if matches!(object, Object::SpeedSelect(_)) =>
            {
                self.late = Some((object.clone(), wanted.clone()));
                return Err(error);
            }
            made => made?,
        };
        if change.is_effective {
            self.came_to.insert((object.clone(), wanted.clone()), now.clone());
        }
        let (setting, former) = (setting.clone(), former.clone());
        Ok(Changed { setting, object: object.clone(), former, now })
    }

    /// What follows, as it was found after the writes.
    fn hear_followers(&mut self, changes: &[&Change]) {
        for (follower, former) in changes.iter().flat_map(|change| &change.followers) {
            match follower.read(self.machine) {
                Ok(found) if found != *former => self.journal.hear(follower, found),
                _ => {}
            }
        }
    }

    /// Ends the session and leaves the settings as they are; [`undo`] puts them back.
    pub fn leave(mut self) {
        self.mine = Ledger::default();
    }

    /// Puts the settings back as this session found them, and tells what came of it.
    pub fn restore(mut self) -> Undone {
        self.end()
    }

    fn put_back(&mut self, kept: &[Kept]) -> Undone {
        let Session { machine, levers, journal, late, .. } = self;
        put_back(machine, &mut **levers, journal, (kept, late), Others::Spare)
    }

    fn end(&mut self) -> Undone {
        let mine = std::mem::take(&mut self.mine);
        let undone = self.put_back(&mine);
        self.journal.show(self.machine);
        let pending = self.journal.pending();
        let is_restored =
            |object: &Object| undone.restored.iter().any(|changed| changed.object == *object);
        let is_former = |kept: &Kept| match kept.object.read(self.machine) {
            Ok(now) if is_restored(&kept.object) => kept.is_back(self.machine, &now),
            // Of what another process began, and was killed, nobody knows what holds.
            Ok(_) if kept.unsettled && kept.may_hide() && mine.of(&kept.object).is_none() => false,
            Ok(now) => kept.is_as_before(self.machine, &now),
            Err(_) => kept.is_restored,
        };
        // If it stays, undo finds what it says in its place.
        let is_over = pending.broken.is_empty() && self.late.is_none() && undone.failed.is_empty();
        drop(if is_over && pending.kept.iter().all(is_former) {
            self.shelf.forget()
        } else {
            self.journal.settle()
        });
        undone
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether it is a limit that comes to this at present.
fn comes_to(machine: &Machine, change: &Change, now: &str) -> bool {
    change.is_effective && unlimited::is_wished(machine, &change.object, &change.wanted, now)
}

fn news_of(change: &Change) -> Vec<New> {
    let setting = &change.setting;
    let leader = New {
        object: change.object.clone(),
        setting: setting.clone(),
        former: change.former.clone(),
        follows: None,
        writes: Some(change.wanted.clone()),
        was_open: change.was_open,
    };
    let follower = |(object, former): &(Object, String)| New {
        object: object.clone(),
        setting: setting.clone(),
        former: former.clone(),
        follows: Some(change.object.clone()),
        writes: None,
        was_open: false,
    };
    // Leaders are put back before their followers: the list is walked from its end.
    change.followers.iter().rev().map(follower).chain([leader]).collect()
}

/// Puts back everything that the journal holds, and removes it when nothing is left.
pub fn undo(
    machine: &Machine,
    mut levers: Box<dyn Levers>,
    shelf: &JournalDir,
    others: Others,
    who: &str,
) -> Result<Undone, Error> {
    let _lock = shelf.lock(who)?;
    match shelf.pending() {
        Ok(None) => return Ok(Undone::default()),
        Ok(Some(_)) => {}
        // Nothing can be made of it, and nobody wants it.
        Err(Error::Journal { why, is_right: false, .. }) if others == Others::Accept => {
            shelf.forget()?;
            return Ok(Undone { unread: vec![why], ..Undone::default() });
        }
        Err(error) => return Err(error),
    }
    wait_for_firmware(shelf)?;
    let mut journal = shelf.open()?;
    let kept = journal.pending().kept.to_vec();
    let mut undone = put_back(machine, &mut *levers, &mut journal, (&kept, &mut None), others);
    journal.show(machine);
    undone.unread.clone_from(&journal.pending().broken);
    if undone.is_complete() || others == Others::Accept {
        shelf.forget()?;
    } else {
        journal.settle()?;
    }
    Ok(undone)
}

/// Firmware may still be at what a process told it that was killed just now.
fn wait_for_firmware(shelf: &JournalDir) -> Result<(), Error> {
    let is_begun = |kept: &Kept| kept.unsettled && matches!(kept.object, Object::SpeedSelect(_));
    if !shelf.pending()?.is_some_and(|pending| pending.kept.iter().any(is_begun)) {
        return Ok(());
    }
    let last = std::fs::metadata(shelf.path()).and_then(|known| known.modified());
    let age = last.ok().and_then(|last| last.elapsed().ok());
    let most: Duration = MOMENTS_OF_FIRMWARE.iter().sum();
    std::thread::sleep(age.map_or(Duration::ZERO, |age| most.saturating_sub(age)));
    Ok(())
}
