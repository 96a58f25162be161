//! Whatever happens between any two writes of any recipe, another process brings back what was there.
//!
//! A process that is killed leaves two files: the state of the machine and the journal. Both are kept before and
//! after each write, and each pair is what a kill at that moment leaves.

mod between;
mod deeds;

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use levers::Object;
use machine::isst::settable::{self, Address, Die, Settable};
use sst::change::{NotChanged, What, Wish};

use super::here::{BF_ON, CP_ON, Here, level, on, wish};
use between::{Between, Fate, between};
use deeds::{
    CHOSEN_ABOVE, CHOSEN_AT_BASE, CHOSEN_BELOW, CHOSEN_BELOW_SLOW, Deed, FIRST_CORES, FRESH,
    LOWERED, recipes, sequences, without_package_1,
};

/// What a kill leaves.
type Left = (Vec<u8>, Vec<u8>);

/// What a kill leaves at each moment of something.
fn watched(here: &Here, act: impl FnOnce(Fate)) -> Vec<Left> {
    let moments = Arc::new(Mutex::new(Vec::new()));
    let (state, journal) = (here.folder.path().join("state"), here.shelf().path());
    let kept = Arc::clone(&moments);
    let look = move || {
        let read = |path| fs::read(path).unwrap_or_default();
        kept.lock().unwrap().push((read(&state), read(&journal)));
    };
    act(Fate::Watched(Arc::new(look)));
    let mut moments = std::mem::take(&mut *moments.lock().unwrap());
    // Between two writes that are noted together nothing happens on the disk.
    moments.dedup();
    moments
}

fn moments(here: &Here, deed: &Deed) -> Vec<Left> {
    let what = || format!("{}: {}", here.name, deed.words());
    watched(here, |fate| match deed.done(here, fate) {
        Ok(count) => assert!(count > 0, "{}: there is nothing to do", what()),
        Err(error) => panic!("{}: {error}", what()),
    })
}

/// Another process brings all of it back, and firmware refuses nothing of what it does.
fn are_undone(machine: &'static str, what: &str, moments: Vec<Left>, before: &str, refusals: bool) {
    for (nth, (state, journal)) in moments.into_iter().enumerate() {
        let later = found(machine, &(state, journal));
        let refused = Arc::default();
        let undone = later.undo_through(between(Fate::Refusals(Arc::clone(&refused))));
        let what = format!("{machine}: {what}, killed at {nth}");
        assert!(undone.is_complete(), "{what}: {undone:?}");
        assert_eq!(later.state(), before, "{what}");
        assert!(!later.shelf().path().exists(), "{what}");
        let refused = refused.lock().unwrap();
        assert!(refusals || refused.is_empty(), "{what}: {refused:?}");
    }
}

/// A machine that a process left like this, long ago: nobody waits for firmware.
fn found(machine: &'static str, (state, journal): &Left) -> Here {
    let later = Here::new(machine);
    fs::write(later.folder.path().join("state"), state).unwrap();
    let shelf = later.shelf();
    fs::create_dir_all(shelf.folder()).unwrap();
    fs::write(shelf.path(), journal).unwrap();
    let file = fs::File::options().append(true).open(shelf.path()).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(9)).unwrap();
    later
}

/// Whether firmware has to be coaxed: a feature is on that stands on what is off.
fn is_upside_down(state: &str) -> bool {
    state.contains("features") && !state.contains("core-power")
}

/// Many cases at once: most of their time they wait.
fn all_at_once<T: Sync>(cases: &[T], each: impl Fn(&T) + Sync) {
    const AT_ONCE: usize = 96;
    let next = AtomicUsize::new(0);
    thread::scope(|all| {
        for _ in 0..AT_ONCE.min(cases.len()) {
            all.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    each(case);
                }
            });
        }
    });
}

#[test]
fn killed_in_one_of_several_commands_all_of_them_are_undone() {
    let all = AtomicUsize::new(0);
    all_at_once(&sequences(), |(machine, state, deeds)| {
        let here = Here::with(machine, state);
        let before = here.state();
        // A kill in the first one is one of a command alone.
        deeds[0].done(&here, Fate::Fails(usize::MAX)).unwrap();
        for deed in &deeds[1..] {
            let moments = moments(&here, deed);
            all.fetch_add(moments.len(), Ordering::Relaxed);
            are_undone(machine, &deed.words(), moments, &before, false);
        }
        here.undone();
        assert_eq!(here.state(), before, "{machine}");
    });
    let all = all.into_inner();
    assert!(all > 300, "{all}");
}

/// Who goes on after a kill finds what was there, too, though it does not show any more.
#[test]
fn after_a_kill_what_is_hidden_is_known() {
    let all = AtomicUsize::new(0);
    let opened = Wish { lenient: true, ..on("0-7", What::TurboMode(true)) };
    let (slow, fast) = (Deed::Set("no_turbo=on"), Deed::Set("no_turbo=off"));
    let base = Deed::Wish(on("0", BF_ON));
    let cases = [
        (CHOSEN_AT_BASE, vec![slow.clone()]),
        (CHOSEN_AT_BASE, vec![slow.clone(), fast]),
        (CHOSEN_AT_BASE, vec![slow.clone(), Deed::For("no_turbo=off")]),
        (CHOSEN_ABOVE, vec![slow.clone(), base.clone()]),
        (CHOSEN_BELOW, vec![slow, base.clone()]),
        (CHOSEN_BELOW_SLOW, vec![base]),
    ];
    all_at_once(&cases, |(state, deeds)| {
        let (last, first) = deeds.split_last().unwrap();
        let (here, before) = after("guide", state, first);
        for (nth, left) in moments(&here, last).iter().enumerate() {
            let later = found("guide", left);
            later.done(&opened).unwrap();
            later.undone();
            assert_eq!(later.state(), before, "{}, killed at {nth}", last.words());
            all.fetch_add(1, Ordering::Relaxed);
        }
    });
    let all = all.into_inner();
    assert!(all > 50, "{all}");
}

/// A machine on which several commands were given.
fn after(machine: &'static str, state: &str, deeds: &[Deed]) -> (Here, String) {
    let here = Here::with(machine, state);
    let before = here.state();
    for deed in deeds {
        deed.done(&here, Fate::Fails(usize::MAX)).unwrap();
    }
    (here, before)
}

#[test]
fn killed_while_it_is_undone_the_next_undo_ends_it() {
    let all = AtomicUsize::new(0);
    all_at_once(&sequences(), |(machine, state, deeds)| {
        let (here, before) = after(machine, state, deeds);
        let moments = watched(&here, |fate| {
            assert!(here.undo_through(between(fate)).is_complete());
        });
        all.fetch_add(moments.len(), Ordering::Relaxed);
        are_undone(machine, "undo", moments, &before, false);
    });
    let all = all.into_inner();
    assert!(all > 300, "{all}");
}

#[test]
fn a_fault_while_it_is_undone_is_told_and_the_next_undo_ends_it() {
    let cases = Mutex::new(Vec::new());
    all_at_once(&sequences(), |(machine, state, deeds)| {
        let (here, before) = after(machine, state, deeds);
        // Where all is as it was, there is nothing to undo.
        let Ok(journal) = fs::read(here.shelf().path()) else { return };
        let left = (fs::read(here.folder.path().join("state")).unwrap(), journal);
        let count = Arc::default();
        assert!(here.undo_through(between(Fate::Counted(Arc::clone(&count)))).is_complete());
        for nth in 0..count.load(Ordering::Relaxed) {
            // A write that fails is tried again as long as others succeed, unless the device is gone for good.
            for fate in [Fate::Fails as fn(usize) -> Fate, Fate::IsLost, Fate::IsGone] {
                cases.lock().unwrap().push((*machine, left.clone(), before.clone(), fate(nth)));
            }
        }
    });
    let cases = cases.into_inner().unwrap();
    assert!(cases.len() > 300, "{}", cases.len());
    let faults = AtomicUsize::new(0);
    all_at_once(&cases, |(machine, left, before, fate)| {
        let here = found(machine, left);
        let undone = here.undo_through(between(fate.clone()));
        assert!(undone.foreign.is_empty(), "{undone:?}");
        if !undone.is_complete() {
            faults.fetch_add(1, Ordering::Relaxed);
            assert!(!undone.left().is_empty());
            assert!(here.shelf().path().exists(), "{machine}: {undone:?}");
            here.undone();
        }
        assert_eq!(here.state(), *before, "{machine}: {undone:?}");
        assert!(!here.shelf().path().exists(), "{machine}: {undone:?}");
    });
    let faults = faults.into_inner();
    assert!(faults > 100, "{faults}");
}

/// A call of firmware that fails once while it is undone, be it a question, loses nothing.
#[test]
fn a_question_that_fails_while_it_is_undone_loses_nothing() {
    let mut faults = 0;
    for (machine, state, number, calls) in [
        ("guide", FIRST_CORES, 4, ["7f/00", "7f/01", "7f/08"].as_slice()),
        ("granite", LOWERED, 1, &["tpmi/10", "tpmi/11", "tpmi/13"]),
    ] {
        for (call, after) in calls.iter().flat_map(|call| (0..12).map(move |after| (call, after))) {
            let here = Here::with(machine, state);
            let before = here.state();
            here.done(&on("0", level(number, false))).unwrap();
            here.fails(&format!(
                r#"{{"on": "{call}", "does": "interrupted", "times": 4, "after": {after}}}"#
            ));
            let undone = here.undo();
            if !undone.is_complete() {
                faults += 1;
                here.fails("");
                here.undone();
            }
            assert_eq!(here.state(), before, "{machine}: {call} after {after}: {undone:?}");
        }
    }
    assert!(faults > 5, "{faults}");
}

/// What somebody else made of a follower before it is undone stays his, also where the level could not be put back.
#[test]
fn a_follower_that_somebody_else_changed_is_spared() {
    let here = Here::with("guide", FIRST_CORES);
    here.done(&on("0", level(4, false))).unwrap();
    here.firmware("0.0/features", 1);
    here.fails(r#"{"on": "7f/08", "does": "refused", "times": 1000}"#);
    assert!(!here.undo().is_complete());
    here.fails("");
    here.firmware("0.0/level", 0);
    let undone = here.undo();
    let [changed] = undone.foreign.as_slice() else { panic!("{undone:?}") };
    assert_eq!((&*changed.now, &*changed.former), ("base-freq", "turbo-freq"), "{undone:?}");
}

/// What was written and is seen by nobody may come later.
#[test]
fn a_level_that_nobody_can_read_back_leaves_a_journal() {
    let here = Here::with("guide", FRESH);
    here.fails(
        r#"{"on": "7f/08", "does": "does-not-stick", "times": 1},
            {"on": "7f/08", "does": "refused", "times": 100},
            {"on": "7f/00", "does": "refused", "times": 10, "after": 9}"#,
    );
    let error = here.done(&on("0", level(4, false))).unwrap_err().to_string();
    assert!(error.contains("`4` was written, and cannot be read back"), "{error}");
    assert!(here.shelf().path().exists(), "{error}");
    here.fails("");
    here.undone();
    assert_eq!(here.state(), "{} {}");
}

/// CPUs stay online for the firmware of their own package alone.
#[test]
fn cpus_of_a_package_that_is_as_before_go_again() {
    let here = Here::with("guide", without_package_1());
    here.done(&wish(level(4, true))).unwrap();
    here.fails(r#"{"on": "7f/08", "does": "refused", "times": 1000, "after": 1}"#);
    let undone = here.undo();
    let left = undone.left().join("; ");
    assert!(left.contains("level of package 0") && !left.contains("online"), "{left}");
    assert_eq!(here.text("online"), "0-13,28-41");
}

#[test]
fn firmware_may_take_its_time() {
    for (machine, wish) in [
        ("guide", on("0", level(4, false))),
        ("granite", on("0", level(1, false))),
        ("guide", wish(CP_ON)),
    ] {
        let here = Here::with(machine, FRESH);
        let done = here.done_through(&wish, between(Fate::IsLate(Duration::from_millis(300))));
        assert!(done.unwrap() > 0, "{machine}: {}", wish.words());
        here.done(&wish).unwrap();
        here.undone();
        assert_eq!(here.state(), "{} {}");
    }
    let here = Here::new("granite");
    let wish = on("0", level(1, false));
    let done = here.done_through(&wish, between(Fate::GivesUp(Duration::from_millis(300))));
    assert!(done.unwrap() > 0);
    here.undone();
    assert_eq!(here.state(), "{} {}");
}

/// What firmware was told and did not do in time is taken back, so that it does nothing later.
#[test]
fn firmware_that_comes_too_late_leaves_nothing() {
    // Far beyond the second that firmware is given, also where this thread has to wait for a CPU.
    let time = Duration::from_secs(4);
    for (machine, wish) in [("guide", on("0", level(4, false))), ("guide", wish(CP_ON))] {
        let here = Here::with(machine, FRESH);
        let error = here.done_through(&wish, between(Fate::IsLate(time))).unwrap_err().to_string();
        assert!(error.contains("after the write it reads"), "{error}");
        thread::sleep(time + Duration::from_secs(1));
        becomes(&here, "{} {}");
    }
    // A driver that does not take the former level back, as long as that is there: undo looks again.
    let here = Here::new("granite");
    let lost = between(Fate::IsLost(0));
    let NotChanged::NotMade(error) =
        here.done_through(&on("0", level(1, false)), lost).unwrap_err()
    else {
        panic!("it was not made");
    };
    assert!(error.to_string().contains("firmware may get there later"), "{error}");
    let late = r#"{"firmware": {"0.0/level": 1}}"#;
    fs::write(here.folder.path().join("state"), late).unwrap();
    here.undone();
    assert_eq!(here.state(), "{} {}");
}

/// The driver of the newer generation says no more of a level than that it failed: of two power domains nothing
/// is left, and what was wanted of which is said.
#[test]
fn a_level_that_the_driver_refuses_leaves_nothing() {
    for nth in [0, 1] {
        let here = Here::with("granite", FRESH);
        let error =
            here.done_through(&on("0,11", level(1, false)), between(Fate::Refuses(nth, None)));
        let NotChanged::NotMade(error) = error.unwrap_err() else { panic!("it was not made") };
        let told = error.to_string();
        let place = ["level of package 0", "level of package 0, power domain 1"][nth];
        assert!(told.contains(place) && told.contains("ENOTTY"), "{told}");
        // Firmware may have heard it: the next undo looks again.
        if !error.undone.is_complete() {
            assert!(told.contains("firmware may get there later"), "{told}");
            here.undone();
        }
        assert_eq!(here.state(), "{} {}");
        assert!(!here.shelf().path().exists());
    }
}

/// The driver gave it up, and firmware did it all the same, long after: the next undo puts it back.
#[test]
fn a_level_that_comes_after_the_driver_gave_up_is_undone() {
    let (here, time) = (Here::with("granite", FRESH), Duration::from_secs(4));
    let late = between(Fate::Refuses(0, Some(time)));
    let NotChanged::NotMade(error) =
        here.done_through(&on("0", level(1, false)), late).unwrap_err()
    else {
        panic!("it was not made");
    };
    assert!(error.to_string().contains("firmware may get there later"), "{error}");
    assert!(here.shelf().path().exists());
    becomes(&here, r#"{"0.0/level":1} {}"#);
    here.undone();
    assert_eq!(here.state(), "{} {}");
    assert!(!here.shelf().path().exists());
}

/// What comes late comes later where this process has to wait for a CPU.
fn becomes(here: &Here, state: &str) {
    const PATIENCE: Duration = Duration::from_mins(1);
    let begun = Instant::now();
    while here.state() != state {
        assert!(begun.elapsed() < PATIENCE, "{}: {}", here.name, here.state());
        thread::sleep(Duration::from_millis(50));
    }
}

/// A process that was killed may have told firmware something just now.
#[test]
fn undo_waits_for_what_firmware_was_told_last() {
    let here = Here::with("guide", FRESH);
    let left = moments(&here, &Deed::Wish(on("0", level(4, false))));
    here.undone();
    let (state, journal) = &left[0];
    fs::create_dir_all(here.shelf().folder()).unwrap();
    fs::write(here.folder.path().join("state"), state).unwrap();
    fs::write(here.shelf().path(), journal).unwrap();
    let undone = here.undo_through(|port| {
        let port = Arc::new(Mutex::new(port));
        let firmware = Arc::clone(&port);
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(300));
            let at = Address::Registers(Die { package: 0, die: Some(0) });
            let level = Object::SpeedSelect(Settable { at, what: settable::What::Level });
            firmware.lock().unwrap().write(&level, "4").unwrap();
        });
        Box::new(Between { port, count: Arc::default(), fate: Fate::Fails(usize::MAX) })
    });
    assert_eq!(undone.restored.len(), 1, "{undone:?}");
    assert_eq!(here.state(), "{} {}");
}

#[test]
fn killed_between_any_two_writes_it_is_undone_by_another_process() {
    let all = AtomicUsize::new(0);
    all_at_once(&recipes(), |(machine, state, wish)| {
        let here = Here::with(machine, state);
        let deed = Deed::Wish(wish.clone());
        let (before, moments) = (here.state(), moments(&here, &deed));
        assert!(moments.len() > 1, "{machine}: {}", wish.words());
        all.fetch_add(moments.len(), Ordering::Relaxed);
        are_undone(machine, &wish.words(), moments, &before, is_upside_down(state));
        // What nobody killed is undone, too.
        here.undone();
        assert_eq!(here.state(), before, "{machine}: {}", wish.words());
    });
    let all = all.into_inner();
    assert!(all > 500, "{all}");
}

/// A fault at a write of a recipe.
struct Case {
    machine: &'static str,
    state: &'static str,
    wish: Wish,
    fate: fn(usize) -> Fate,
    nth: usize,
    /// What is there when nothing goes wrong.
    made: String,
}

#[test]
fn a_fault_at_any_write_leaves_nothing_half_done() {
    let cases = Mutex::new(Vec::new());
    all_at_once(&recipes(), |(machine, state, wish)| {
        let here = Here::with(machine, state);
        let count = Arc::default();
        here.done_through(wish, between(Fate::Counted(Arc::clone(&count)))).unwrap();
        let made = here.state();
        for nth in 0..count.load(Ordering::Relaxed) {
            for fate in [Fate::Fails as fn(usize) -> Fate, Fate::IsLost] {
                let (wish, made) = (wish.clone(), made.clone());
                cases.lock().unwrap().push(Case { machine, state, wish, fate, nth, made });
            }
        }
    });
    let cases = cases.into_inner().unwrap();
    assert!(cases.len() > 1000, "{}", cases.len());
    let faults = AtomicUsize::new(0);
    all_at_once(&cases, |case| {
        let failed = is_failed(case);
        faults.fetch_add(usize::from(failed), Ordering::Relaxed);
    });
    let faults = faults.into_inner();
    assert!(faults > 500, "{faults}");
}

/// Whether a fault was told; then nothing is left of what was done until then. Else it was made good, wholly.
fn is_failed(case: &Case) -> bool {
    let Case { machine, state, wish, fate, nth, made } = case;
    let here = Here::with(machine, state);
    let before = here.state();
    let what = format!("{machine}: {}, write {nth}", wish.words());
    let failed = match here.done_through(wish, between(fate(*nth))) {
        Ok(_) => {
            assert_eq!(here.state(), *made, "{what}");
            here.undone();
            false
        }
        Err(NotChanged::NotMade(error)) if error.undone.is_complete() => true,
        Err(NotChanged::NotMade(error)) => {
            // Firmware may still do it.
            let told = error.to_string();
            assert!(told.contains("firmware may get there later"), "{what}: {told}");
            assert!(here.shelf().path().exists(), "{what}");
            here.undone();
            true
        }
        Err(error) => panic!("{what}: {error}"),
    };
    assert_eq!(here.state(), before, "{what}");
    assert!(!here.shelf().path().exists(), "{what}");
    failed
}

#[test]
fn a_device_that_is_gone_in_the_middle_is_told_and_undone_when_it_is_back() {
    all_at_once(&recipes(), |(machine, state, wish)| {
        for nth in 0.. {
            let here = Here::with(machine, state);
            let before = here.state();
            let what = format!("{machine}: {}, gone at write {nth}", wish.words());
            let Err(error) = here.done_through(wish, between(Fate::IsGone(nth))) else { break };
            assert!(!error.to_string().is_empty());
            here.undone();
            assert_eq!(here.state(), before, "{what}");
        }
    });
}
