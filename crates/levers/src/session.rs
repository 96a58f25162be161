//! Writing what was planned, and putting it back.

use std::collections::{HashMap, HashSet};
use std::io;
use std::time::Duration;

use machine::Machine;
use machine::isst::settable::{Address, Settable, What, features_text};
use model::Unavailable;

use crate::deciders;
use crate::error::Error;
use crate::journal::{Journal, Kept, Ledger, Lock, New, Shelf};
use crate::object::Object;
use crate::open::{self, OPEN_KHZ};
use crate::plan::{Change, Plan, Turn};
use crate::port::Levers;
use crate::rows::{Lever, speed_select};

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
    /// What the journal says and nobody can read.
    pub unread: Vec<String>,
}

impl Undone {
    /// Whether everything has its former value.
    pub fn is_complete(&self) -> bool {
        self.foreign.is_empty() && self.failed.is_empty() && self.unread.is_empty()
    }

    /// What has not its former value, in words; nothing where all has.
    pub fn left(&self) -> Vec<String> {
        let foreign = self.foreign.iter().map(|changed| {
            format!("{} was changed by somebody else to `{}`", changed.object, changed.now)
        });
        let failed =
            self.failed.iter().map(|(changed, error)| format!("{}: {error}", changed.object));
        let unread = self.unread.iter().map(|line| format!("the journal is spoiled: {line}"));
        foreign.chain(failed).chain(unread).collect()
    }

    /// The same without what a message says already.
    pub fn left_beside(&self, message: &str) -> Vec<String> {
        self.left().into_iter().filter(|left| !message.contains(left.as_str())).collect()
    }
}

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

/// What to do with values that somebody else wrote meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// Leave them, and the journal with the former ones.
    Spare,
    /// Overwrite them with the former ones.
    Overwrite,
    /// Leave them, and forget the former ones, with everything that cannot be put back.
    Accept,
}

/// A value of firmware, and what was written to it.
type Late = Option<(Object, String)>;

/// The right to change settings of a machine, held by one process at a time. When it is dropped, the
/// settings are put back as it found them; [`restore`](Session::restore) tells what came of that.
pub struct Session<'a> {
    machine: &'a Machine,
    levers: Box<dyn Levers>,
    shelf: Shelf,
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
        for new in news.iter_mut().filter(|new| new.was_open) {
            let known = self.journal.pending().kept.of(&new.object);
            if let Some(limit) = known.and_then(|known| known.limit(self.machine, &new.former)) {
                (new.former, new.was_open) = (limit.to_owned(), false);
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
                    let is_limit = open::comes_to(self.machine, object, &now).is_some();
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
    change.is_effective && open::is_wished(machine, &change.object, &change.wanted, now)
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
    shelf: &Shelf,
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
    undone.unread.clone_from(&journal.pending().broken);
    if undone.is_complete() || others == Others::Accept {
        shelf.forget()?;
    } else {
        journal.settle()?;
    }
    Ok(undone)
}

/// Firmware may still be at what a process told it that was killed just now.
fn wait_for_firmware(shelf: &Shelf) -> Result<(), Error> {
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
        (!kept.is_as_before(machine, &changed.now)).then_some(changed)
    };
    kept.iter().filter_map(differs).collect()
}

/// Tries all of them in order; what fails is tried again as long as anything else succeeds: limits, for
/// example, can be moved only as long as the lower one is below the upper one. What is left fails with
/// these errors.
fn while_any_succeeds<T, E>(
    mut left: Vec<T>,
    mut attempt: impl FnMut(&T) -> Result<(), E>,
) -> Vec<E> {
    loop {
        let before = left.len();
        let mut errors = Vec::new();
        left.retain(|one| match attempt(one) {
            Ok(()) => false,
            Err(error) => {
                errors.push(error);
                true
            }
        });
        if left.is_empty() || left.len() == before {
            return errors;
        }
    }
}

/// Last changed first, but CPUs come before what belongs to them, and go after it; and what firmware holds
/// comes in its order, whichever of several commands changed it first.
fn put_back(
    machine: &Machine,
    levers: &mut dyn Levers,
    journal: &mut Journal,
    (kept, late): (&[Kept], &mut Late),
    others: Others,
) -> Undone {
    let mut undone = Undone::default();
    let found = followers(machine, &journal.pending().kept, kept);
    journal.begin(owned(machine, &journal.pending().kept, kept, others));
    let mut all: Vec<&Kept> = kept.iter().rev().collect();
    all.sort_by_key(|kept| {
        (Turn::of(&kept.object, &kept.former), speed_select::turn(&kept.object, &kept.former))
    });
    let mut open: HashSet<&Object> = all.iter().map(|kept| &kept.object).collect();
    let failed = while_any_succeeds(all, |kept| {
        // Firmware would make something else of it together with what it follows, which says why it is not back.
        let is_led = is_led(kept, &open);
        if is_led && matches!(kept.object, Object::SpeedSelect(_)) {
            return Err(None);
        }
        if others != Others::Accept && is_needed(machine, kept, &open) {
            return Err(Some(Box::new(needed(machine, kept))));
        }
        match put_back_one(machine, levers, journal, (kept, late)) {
            // What it follows may still change it.
            One::AsBefore if is_led => return Err(None),
            One::AsBefore => journal.restored(kept),
            One::Restored(changed) => {
                journal.restored(kept);
                undone.restored.push(changed);
            }
            One::Foreign(changed) => undone.foreign.push(changed),
            One::Failed(changed, error) => return Err(Some(Box::new((changed, error)))),
        }
        open.remove(&kept.object);
        Ok(())
    });
    undone.failed = failed.into_iter().flatten().map(|failed| *failed).collect();
    // What became of it together with those that it follows is nobody else's, but for what was there already.
    for kept in kept.iter().filter(|kept| open.contains(&kept.object) && !kept.follows.is_empty()) {
        let is_ours = journal.pending().kept.of(&kept.object).is_some_and(|known| known.unsettled);
        if let (true, Ok(now)) = (is_ours, kept.object.read(machine))
            && found.get(&kept.object) != Some(&now)
        {
            journal.hear(&kept.object, now);
        }
    }
    undone
}

/// What holds that follows others, before anything is put back; not where somebody who was killed had begun with it.
fn followers<'k>(
    machine: &Machine,
    known: &Ledger,
    kept: &'k [Kept],
) -> HashMap<&'k Object, String> {
    let is_begun = |object: &Object| known.of(object).is_some_and(|it| it.unsettled);
    let follows = |kept: &&Kept| {
        !kept.follows.is_empty() && !is_begun(&kept.object) && !kept.follows.iter().any(is_begun)
    };
    let found = |kept: &'k Kept| Some((&kept.object, kept.object.read(machine).ok()?));
    kept.iter().filter(follows).filter_map(found).collect()
}

fn is_led(kept: &Kept, open: &HashSet<&Object>) -> bool {
    kept.follows.iter().any(|leader| open.contains(leader))
}

/// Whether a CPU would go through which firmware is asked that has not yet what was there before: nobody could put it
/// back then.
fn is_needed(machine: &Machine, kept: &Kept, open: &HashSet<&Object>) -> bool {
    let package = package_of(machine, &kept.object);
    let is_asked = |object: &Object| match object {
        Object::SpeedSelect(Settable {
            at: Address::Registers(at) | Address::Mailbox(at), ..
        }) => package.is_none_or(|package| package == at.package) && object.read(machine).is_ok(),
        _ => false,
    };
    Turn::of(&kept.object, &kept.former) == Turn::Takes
        && open.iter().any(|object| is_asked(object))
        && kept.object.read(machine).is_ok_and(|now| now != kept.former)
}

/// The package of the CPU that is switched, where the kernel tells it.
fn package_of(machine: &Machine, object: &Object) -> Option<u32> {
    let Object::File(path) = object else { return None };
    let path = path.strip_suffix("online")?;
    machine.tree.read(&format!("{path}topology/physical_package_id")).ok()?.trim().parse().ok()
}

fn needed(machine: &Machine, kept: &Kept) -> (Changed, Error) {
    let Kept { setting, object, former, .. } = kept.clone();
    let package = package_of(machine, &object)
        .map_or_else(String::new, |package| format!(" of package {package}"));
    let why = format!(
        "it stays online: firmware{package}, which is not yet as it was, is asked through its CPUs"
    );
    let first = "`cpudyno undo` tries again".to_owned();
    let error = Error::Ordered { setting: setting.clone(), why, first };
    let now = object.read(machine).unwrap_or_else(|_| "?".to_owned());
    (Changed { setting, object, former, now }, error)
}

/// What is ours to put back, with its former value: what holds a value of ours, what holds whatever a
/// write made of it that nobody saw the end of, and what follows something that is ours. What cannot
/// be read now may be back when CPUs are.
fn owned(
    machine: &Machine,
    known: &Ledger,
    kept: &[Kept],
    others: Others,
) -> Vec<(Object, String)> {
    let kept: Vec<&Kept> = kept.iter().filter(|kept| !kept.object.is_held()).collect();
    let is_ours = |kept: &&Kept| {
        let journaled = known.of(&kept.object).unwrap_or(kept);
        let moved = |now: String| {
            (now != kept.former || journaled.may_hide()) && journaled.is_ours(machine, &now)
        };
        // What was put back before its CPUs went stays as it is.
        let is_over = journaled.is_restored && kept.object.read(machine).is_err();
        !is_over
            && (journaled.unsettled
                || others == Others::Overwrite
                || kept.object.read(machine).map_or(true, moved))
    };
    let ours = kept.iter().copied().filter(is_ours);
    let leaders: HashSet<&Object> = ours.map(|kept| &kept.object).collect();
    let follows = |kept: &Kept| kept.follows.iter().any(|leader| leaders.contains(leader));
    kept.iter()
        .filter(|kept| leaders.contains(&kept.object) || follows(kept))
        .map(|kept| (kept.object.clone(), kept.back().to_owned()))
        .collect()
}

enum One {
    AsBefore,
    Restored(Changed),
    Foreign(Changed),
    Failed(Changed, Error),
}

fn put_back_one(
    machine: &Machine,
    levers: &mut dyn Levers,
    journal: &mut Journal,
    (kept, late): (&Kept, &mut Late),
) -> One {
    let changed = |now: &str| Changed {
        setting: kept.setting.clone(),
        object: kept.object.clone(),
        former: kept.former.clone(),
        now: now.to_owned(),
    };
    let first = journal.pending().kept.of(&kept.object);
    let is_restored = first.is_some_and(|it| it.is_restored && it.former == kept.former);
    let now = match kept.object.read(machine) {
        Ok(now) => now,
        // A process that was killed put it back, and its CPUs after it.
        Err(_) if is_restored => return One::AsBefore,
        Err(reason) => {
            let error = Error::Absent {
                setting: kept.setting.clone(),
                why: reason.why,
                remedy: reason.remedy,
            };
            return One::Failed(changed("?"), error);
        }
    };
    if kept.object.is_held() {
        // Nobody else's, and in no journal.
        levers.release(&kept.object);
        let left = kept.object.read(machine).unwrap_or_else(|_| kept.former.clone());
        return One::Restored(Changed { former: now, now: left, ..changed("") });
    }
    // A session knows what was there before it, and the journal what is ours.
    let ours = journal.pending().kept.of(&kept.object).map(|known| known.ours.clone());
    let known = Kept { ours: ours.unwrap_or_default(), ..kept.clone() };
    let is_back = |now: &str| kept.is_back(machine, now);
    let (object, back) = (&kept.object, kept.back());
    if known.is_as_before(machine, &now) {
        let Some((_, wanted)) = late.as_ref().filter(|(it, _)| it == object) else {
            // A limit of ours may hold that turbo, being off, hides.
            let again =
                known.may_hide().then(|| put(machine, levers, journal, (object, back), &is_back));
            return match again {
                Some(Err(error)) => One::Failed(changed(&now), error),
                _ => One::AsBefore,
            };
        };
        // Firmware does what it was told last, whenever it does.
        if put(machine, levers, journal, (object, back), &is_back).is_err() {
            let (object, wanted) = (object.to_string(), wanted.clone());
            let error = Error::Late { object, wanted, found: now.clone() };
            return One::Failed(changed(&now), error);
        }
        *late = None;
        return One::AsBefore;
    }
    if !journal.pending().kept.of(&kept.object).is_some_and(|known| known.unsettled) {
        return One::Foreign(changed(&now));
    }
    let mut put_back = put(machine, levers, journal, (object, back), &is_back);
    if let (Err(Error::Refused { .. }), Object::SpeedSelect(it)) = (&put_back, object) {
        let features = Object::SpeedSelect(Settable { at: it.at, what: What::Features });
        let stands =
            || features.read(machine).ok().filter(|text| text != features_text(false, false));
        let is_switch = speed_select::turn(object, back) == speed_select::Turn::PrioritiesOff;
        if let Some(on) = is_switch.then(stands).flatten() {
            put_back =
                without(machine, levers, journal, (&features, &on), &mut |levers, journal| {
                    put(machine, levers, journal, (object, back), &is_back)
                });
        }
    }
    match put_back {
        Ok(found) => One::Restored(Changed { former: now, now: found, ..changed("") }),
        Err(error) => One::Failed(changed(&now), error),
    }
}

/// Does something while the features of a level are off that were on before, with priorities off: whoever made
/// it so did it in an order of his own.
fn without<T>(
    machine: &Machine,
    levers: &mut dyn Levers,
    journal: &mut Journal,
    (features, on): (&Object, &str),
    act: &mut dyn FnMut(&mut dyn Levers, &mut Journal) -> Result<T, Error>,
) -> Result<T, Error> {
    let off = features_text(false, false);
    journal.keep(&[New {
        object: features.clone(),
        setting: "sst.features".to_owned(),
        former: on.to_owned(),
        follows: None,
        writes: Some(off.to_owned()),
        was_open: false,
    }])?;
    put(machine, levers, journal, (features, off), &|now| now == off)?;
    let done = act(levers, journal);
    put(machine, levers, journal, (features, on), &|now| now == on)?;
    done
}

/// Writes, reads back, and remembers what the kernel made of it.
fn put(
    machine: &Machine,
    levers: &mut dyn Levers,
    journal: &mut Journal,
    (object, text): (&Object, &str),
    is_kept: &dyn Fn(&str) -> bool,
) -> Result<String, Error> {
    write(machine, levers, object, text)?;
    let mut settled = settled(machine, object, text, is_kept);
    if let (Err(Error::NotKept { .. }), OPEN_KHZ) = (&settled, text) {
        settled = moved(machine, levers, journal, object, is_kept);
    }
    let found = settled.as_ref().ok().cloned().or_else(|| object.read(machine).ok());
    if let Some(found) = found.filter(|found| found != text) {
        journal.hear(object, found);
    }
    settled
}

/// Opens a limit that is open, and shows what it came to under another base frequency: kernels look at it anew
/// only when a limit moves.
///
/// # Source
/// Linux, kernel/power/qos.c: `freq_qos_update_request`.
fn moved(
    machine: &Machine,
    levers: &mut dyn Levers,
    journal: &mut Journal,
    object: &Object,
    is_kept: &dyn Fn(&str) -> bool,
) -> Result<String, Error> {
    if let Some(near) = open::comes_to(machine, object, OPEN_KHZ) {
        journal.begin(vec![(object.clone(), near.clone())]);
        write(machine, levers, object, &near)?;
        settled(machine, object, &near, is_kept)?;
        write(machine, levers, object, OPEN_KHZ)?;
    }
    settled(machine, object, OPEN_KHZ, is_kept)
}

fn write(
    machine: &Machine,
    levers: &mut dyn Levers,
    object: &Object,
    text: &str,
) -> Result<(), Error> {
    levers.write(object, text).map_err(|error| {
        // That a device is busy or gone, or that rights are missing, nobody decides.
        let decides = !matches!(object, Object::SpeedSelect(_))
            || matches!(error.raw_os_error(), Some(sys::errno::ENXIO | sys::errno::ENOTTY));
        let deciders = if decides { deciders::of(machine, object, text) } else { Vec::new() };
        let is_overruled = error.raw_os_error() == Some(sys::errno::EPERM) && !deciders.is_empty();
        let is_unexplained = deciders.iter().all(|why| why == deciders::SILENT);
        let (why, is_final) = match error.raw_os_error() {
            Some(sys::errno::ENOTTY) if matches!(object, Object::SpeedSelect(_)) => {
                ("the driver refused it (ENOTTY)".to_owned(), !is_unexplained)
            }
            Some(sys::errno::ETIMEDOUT) => (sys::errno::words(&error), false),
            _ => (sys::errno::words(&error), error.kind() != io::ErrorKind::TimedOut),
        };
        Error::Refused {
            object: object.to_string(),
            wanted: text.to_owned(),
            why,
            is_final,
            // Drivers say "not permitted" of what firmware has locked, too.
            is_right: error.kind() == io::ErrorKind::PermissionDenied && !is_overruled,
            first: decides.then(|| deciders::comes_first(machine, object, text)).flatten(),
            deciders: deciders.into(),
        }
    })
}

/// How long it is waited for what was written, look after look: drivers of files take a moment.
const MOMENTS: &[Duration] = &[Duration::from_millis(2); 4];

fn is_level(object: &Object) -> bool {
    matches!(object, Object::SpeedSelect(Settable { what: What::Level, .. }))
}

/// The same of firmware. Its driver waits some 20 ms for a new level and does not wait for features, and the
/// reference tool waits ever longer with each version: a second in all.
const MOMENTS_OF_FIRMWARE: &[Duration] = &[
    Duration::from_millis(2),
    Duration::from_millis(4),
    Duration::from_millis(8),
    Duration::from_millis(16),
    Duration::from_millis(32),
    Duration::from_millis(64),
    Duration::from_millis(128),
    Duration::from_millis(256),
    Duration::from_millis(512),
];

/// What an object holds after a write.
fn settled(
    machine: &Machine,
    object: &Object,
    wanted: &str,
    is_kept: &dyn Fn(&str) -> bool,
) -> Result<String, Error> {
    let is_firmware = matches!(object, Object::SpeedSelect(_));
    let mut moments = if is_firmware { MOMENTS_OF_FIRMWARE } else { MOMENTS }.iter();
    loop {
        let found = match object.read(machine) {
            Ok(now) if is_kept(&now) => return Ok(now),
            found => found,
        };
        match moments.next() {
            Some(moment) => std::thread::sleep(*moment),
            None => {
                return Err(match found {
                    Ok(found) => not_kept(machine, object, wanted, found),
                    Err(reason) => unseen(object, wanted, reason),
                });
            }
        }
    }
}

fn unseen(object: &Object, wanted: &str, reason: Unavailable) -> Error {
    let setting = Lever::of(object).map_or_else(|| object.to_string(), |lever| lever.id.to_owned());
    let why = format!("`{wanted}` was written, and cannot be read back: {}", reason.why);
    Error::Absent { setting, why, remedy: reason.remedy }
}

fn not_kept(machine: &Machine, object: &Object, wanted: &str, found: String) -> Error {
    let deciders = deciders::of(machine, object, wanted).into();
    let first = deciders::comes_first(machine, object, wanted);
    Error::NotKept { object: object.to_string(), wanted: wanted.to_owned(), found, deciders, first }
}
