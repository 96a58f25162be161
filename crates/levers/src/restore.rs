//! Putting back what a journal holds: in which order, what is somebody else's, and what has to wait.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use machine::Machine;
use machine::isst::settable::{Address, Settable, What, features_text};

use crate::error::Error;
use crate::journal::{Journal, Kept, Ledger, New};
use crate::object::Object;
use crate::outcome::{Changed, Others, Undone};
use crate::plan::Turn;
use crate::port::Levers;
use crate::rows::speed_select;
use crate::unlimited;
use crate::write::put;

/// A value of firmware, and what was written to it.
pub(crate) type Late = Option<(Object, String)>;

/// Tries all of them in order; what fails is tried again as long as anything else succeeds: limits, for
/// example, can be moved only as long as the lower one is below the upper one. What is left fails with
/// these errors.
pub(crate) fn while_any_succeeds<T, E>(
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

/// Last changed first, but CPUs come before what belongs to them, and go after it; limits of the clock are put back
/// while turbo is on, as only then they show as what they are; and what firmware holds comes in its order, whichever
/// of several commands changed it first.
pub(crate) fn put_back(
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
    all.sort_by_key(|Kept { object, former, .. }| {
        let turbo = match unlimited::turns_turbo(object, former) {
            Some(true) => Ordering::Less,
            None => Ordering::Equal,
            Some(false) => Ordering::Greater,
        };
        (Turn::of(object, former), turbo, speed_select::turn(object, former))
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
        "it stays online: firmware{package} is not yet restored, and answers only through its CPUs"
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
