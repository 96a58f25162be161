//! Whatever happens between any two writes of any recipe, another process brings back what was there.
//!
//! A process that is killed leaves two files: the state of the machine and the journal. Both are kept before and
//! after each write, and each pair is what a kill at that moment leaves.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::here::{BF_OFF, BF_ON, CP_OFF, CP_ON, Here, TF_OFF, TF_ON, class, level, on, wish};
use levers::{Levers, Object};
use sst::change::{ClassWish, NotChanged, What, Wish};

/// What stands between the engine and the machine.
struct Between {
    port: Arc<Mutex<Box<dyn Levers>>>,
    /// Which write it is.
    count: usize,
    fate: Fate,
}

enum Fate {
    /// What a kill would leave, before and after each write.
    Watched(Arc<dyn Fn() + Send + Sync>),
    /// That write fails.
    Fails(usize),
    /// That write is taken, and nothing comes of it.
    IsLost(usize),
    /// The device is gone from that write on.
    IsGone(usize),
    /// What is written to firmware is there only some time later.
    IsLate(Duration),
    /// How many writes were refused is counted.
    Refusals(Arc<Mutex<Vec<String>>>),
}

impl Levers for Between {
    fn permits(&self, object: &Object) -> io::Result<()> {
        self.port.lock().unwrap().permits(object)
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        let nth = self.count;
        self.count += 1;
        let write = |object, text: &str| self.port.lock().unwrap().write(object, text);
        match &self.fate {
            Fate::Watched(look) => {
                look();
                let written = write(object, text);
                look();
                written
            }
            Fate::Fails(at) if nth == *at => Err(io::ErrorKind::InvalidInput.into()),
            Fate::IsLost(at) if nth == *at => Ok(()),
            Fate::IsGone(at) if nth >= *at => Err(io::ErrorKind::NotFound.into()),
            Fate::IsLate(time) if matches!(object, Object::SpeedSelect(_)) => {
                let (port, object) = (Arc::clone(&self.port), object.clone());
                let (time, text) = (*time, text.to_owned());
                thread::spawn(move || {
                    thread::sleep(time);
                    port.lock().unwrap().write(&object, &text).unwrap();
                });
                Ok(())
            }
            Fate::Refusals(refused) => write(object, text).inspect_err(|error| {
                refused.lock().unwrap().push(format!("{object}: {text}: {error}"));
            }),
            _ => write(object, text),
        }
    }
}

fn between(fate: Fate) -> impl FnOnce(Box<dyn Levers>) -> Box<dyn Levers> {
    move |port| Box::new(Between { port: Arc::new(Mutex::new(port)), count: 0, fate })
}

/// Every recipe, on a machine that is as it came or as others made it.
fn recipes() -> Vec<(&'static str, &'static str, Wish)> {
    const FRESH: &str = "{}";
    const USED: &str = r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 2, "0.0/class/2": 3940352,
        "0.0/association/3": 2, "0.0/features": 1, "1.0/level": 1}}"#;
    const TURBO: &str = r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 6, "0.0/features": 2,
        "0.0/association/3": 3, "0.0/msr/1ad": 18446744073709551615}}"#;
    const FEWER: &str = r#"{"firmware": {"0.0/level": 4}, "files": {
        "/sys/devices/system/cpu/cpu4/online": "0", "/sys/devices/system/cpu/cpu32/online": "0"}}"#;
    const NO_TURBO: &str = r#"{"files": {"/sys/devices/system/cpu/intel_pstate/no_turbo": "1"}}"#;
    const LIMITED: &str = r#"{"files": {"/sys/devices/system/cpu/intel_pstate/no_turbo": "1",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq": "2000000"}}"#;
    let few = ClassWish { min_mhz: Some(2000), weight: Some(5), ..class(2) };
    vec![
        ("guide", FRESH, on("0", level(4, true))),
        ("guide", USED, wish(level(4, false))),
        ("guide", FEWER, on("0", level(0, true))),
        ("guide", FRESH, on("0", BF_ON)),
        ("guide", USED, on("0", BF_ON)),
        ("guide", USED, on("0", BF_OFF)),
        ("guide", FRESH, on("12,13", TF_ON)),
        ("guide", TURBO, on("0", TF_OFF)),
        ("guide", FRESH, wish(CP_ON)),
        ("guide", r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 6}}"#, wish(CP_OFF)),
        ("guide", USED, wish(What::Class(few))),
        ("guide", USED, on("2-5", What::Association(3))),
        ("guide", FRESH, on("0-3", What::TurboMode(false))),
        ("guide", FRESH, wish(What::TurboLimits(0x1d1d_1d1d_1d1d_1d1d))),
        ("granite", FRESH, on("0", BF_ON)),
        ("granite", FRESH, on("1,2", TF_ON)),
        ("granite", r#"{"firmware": {"0.0/features": 3}}"#, wish(level(1, false))),
        // A new level makes the turbo limits its own.
        ("guide", TURBO, on("0", level(4, false))),
        ("granite", r#"{"firmware": {"0.0/msr/1ad": 2097865012304223517}}"#, wish(level(1, false))),
        ("guide", NO_TURBO, on("0", BF_ON)),
        ("guide", LIMITED, on("0", level(4, false))),
    ]
}

/// What a kill leaves.
type Left = (Vec<u8>, Vec<u8>);

/// Commands in one journal, the later ones on what the former ones left.
fn sequences() -> Vec<(&'static str, Vec<Wish>)> {
    let few = ClassWish { min_mhz: Some(2000), weight: Some(5), ..class(2) };
    vec![
        // A new level is noted before priorities are, and its features with it.
        ("guide", vec![on("0", level(1, false)), on("0,1", TF_ON)]),
        ("guide", vec![on("0", BF_ON), on("0", level(4, true))]),
        ("guide", vec![wish(CP_ON), wish(What::Class(few)), on("0", BF_ON), on("0", BF_OFF)]),
        ("guide", vec![on("0", BF_ON), on("12,13", TF_ON), on("0", TF_OFF)]),
        ("granite", vec![on("0", BF_ON), on("0", BF_OFF), on("1,2", TF_ON)]),
        ("granite", vec![wish(level(1, false)), wish(level(0, false)), on("1,2", TF_ON)]),
    ]
}

/// What a kill leaves at each moment of a recipe.
fn moments(here: &Here, wish: &Wish) -> Vec<Left> {
    let moments = Arc::new(Mutex::new(Vec::new()));
    let (state, journal) = (here.folder.path().join("state"), here.shelf().path());
    let kept = Arc::clone(&moments);
    let look = move || {
        let read = |path| fs::read(path).unwrap_or_default();
        kept.lock().unwrap().push((read(&state), read(&journal)));
    };
    here.done_through(wish, between(Fate::Watched(Arc::new(look)))).unwrap();
    let mut moments = std::mem::take(&mut *moments.lock().unwrap());
    // Between two writes that are noted together nothing happens on the disk.
    moments.dedup();
    moments
}

/// Another process brings all of it back, and firmware refuses nothing of what it does.
fn are_undone(machine: &'static str, wish: &Wish, moments: Vec<Left>, before: &str) {
    for (nth, (state, journal)) in moments.into_iter().enumerate() {
        let later = Here::with(machine, "");
        fs::write(later.folder.path().join("state"), state).unwrap();
        fs::create_dir(later.shelf().folder()).unwrap();
        fs::write(later.shelf().path(), journal).unwrap();
        let refused = Arc::default();
        let undone = later.undo_through(between(Fate::Refusals(Arc::clone(&refused))));
        let what = format!("{machine}: {}, killed at {nth}", wish.words());
        assert!(undone.is_complete(), "{what}: {undone:?}");
        assert_eq!(later.state(), before, "{what}");
        assert!(!later.shelf().path().exists(), "{what}");
        let refused = refused.lock().unwrap();
        assert!(refused.is_empty(), "{what}: {refused:?}");
    }
}

#[test]
fn killed_in_one_of_several_commands_all_of_them_are_undone() {
    let mut all = 0;
    for (machine, wishes) in sequences() {
        let here = Here::with(machine, "{}");
        let before = here.state();
        // A kill in the first one is one of a command alone.
        here.done(&wishes[0]).unwrap();
        for wish in &wishes[1..] {
            let moments = moments(&here, wish);
            all += moments.len();
            are_undone(machine, wish, moments, &before);
        }
        here.undone();
        assert_eq!(here.state(), before, "{machine}");
    }
    assert!(all > 150, "{all}");
}

#[test]
fn a_fault_while_it_is_undone_is_told_and_the_next_undo_ends_it() {
    let mut faults = 0;
    for (machine, wishes) in sequences() {
        for nth in (0..).step_by(3) {
            let here = Here::with(machine, "{}");
            let before = here.state();
            for wish in &wishes {
                here.done(wish).unwrap();
            }
            // A write that fails is tried again as long as others succeed: the device is gone for good.
            let undone = here.undo_through(between(Fate::IsGone(nth)));
            if undone.is_complete() {
                break;
            }
            faults += 1;
            assert!(!undone.left().is_empty() && undone.foreign.is_empty(), "{undone:?}");
            assert!(here.shelf().path().exists(), "{machine}: gone at write {nth}");
            here.undone();
            assert_eq!(here.state(), before, "{machine}: gone at write {nth}");
        }
    }
    assert!(faults > 30, "{faults}");
}

#[test]
fn firmware_may_take_its_time() {
    for (machine, wish) in [
        ("guide", on("0", level(4, false))),
        ("granite", on("0", level(1, false))),
        ("guide", wish(CP_ON)),
    ] {
        let here = Here::with(machine, "{}");
        let done = here.done_through(&wish, between(Fate::IsLate(Duration::from_millis(30))));
        assert!(done.unwrap() > 0, "{machine}: {}", wish.words());
        here.done(&wish).unwrap();
        here.undone();
        assert_eq!(here.state(), "{} {}");
    }
}

#[test]
fn killed_between_any_two_writes_it_is_undone_by_another_process() {
    let mut all = 0;
    for (machine, state, wish) in recipes() {
        let here = Here::with(machine, state);
        let (before, moments) = (here.state(), moments(&here, &wish));
        assert!(moments.len() > 1, "{machine}: {}", wish.words());
        all += moments.len();
        are_undone(machine, &wish, moments, &before);
        // What nobody killed is undone, too.
        here.undone();
        assert_eq!(here.state(), before, "{machine}: {}", wish.words());
    }
    assert!(all > 150, "{all}");
}

#[test]
fn a_fault_at_any_write_leaves_nothing_half_done() {
    let faults = AtomicUsize::new(0);
    // What was lost is waited for: all recipes at once.
    thread::scope(|all| {
        for (machine, state, wish) in recipes() {
            let faults = &faults;
            all.spawn(move || {
                for fate in [Fate::Fails as fn(usize) -> Fate, Fate::IsLost] {
                    let count =
                        (0..).take_while(|nth| is_made_good(machine, state, &wish, fate(*nth)));
                    faults.fetch_add(count.count(), Ordering::Relaxed);
                }
            });
        }
    });
    let faults = faults.into_inner();
    assert!(faults > 300, "{faults}");
}

/// Whether there was such a fault; then nothing is left of what was done until then.
fn is_made_good(machine: &'static str, state: &str, wish: &Wish, fate: Fate) -> bool {
    let here = Here::with(machine, state);
    let before = here.state();
    match here.done_through(wish, between(fate)) {
        Ok(_) => return false,
        Err(NotChanged::NotMade(error)) => assert!(error.undone.is_complete(), "{error}"),
        Err(error) => panic!("{machine}: {}: {error}", wish.words()),
    }
    assert_eq!(here.state(), before, "{machine}: {}", wish.words());
    assert!(!here.shelf().path().exists(), "{machine}: {}", wish.words());
    true
}

#[test]
fn a_device_that_is_gone_in_the_middle_is_told_and_undone_when_it_is_back() {
    for (machine, state, wish) in recipes() {
        for nth in (1..).step_by(4) {
            let here = Here::with(machine, state);
            let before = here.state();
            let what = format!("{machine}: {}, gone at write {nth}", wish.words());
            let Err(error) = here.done_through(&wish, between(Fate::IsGone(nth))) else { break };
            assert!(!error.to_string().is_empty());
            here.undone();
            assert_eq!(here.state(), before, "{what}");
        }
    }
}
