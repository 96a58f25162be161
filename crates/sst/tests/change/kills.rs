//! Whatever happens between any two writes of any recipe, another process brings back what was there.
//!
//! A process that is killed leaves two files: the state of the machine and the journal. Both are kept before and
//! after each write, and each pair is what a kill at that moment leaves.

use std::fs;
use std::io;
use std::sync::{Arc, Mutex};

use crate::here::{BF_OFF, BF_ON, CP_ON, Here, TF_OFF, TF_ON, class, level, on, wish};
use levers::{Levers, Object};
use sst::change::{ClassWish, NotChanged, What, Wish};

/// What stands between the engine and the machine.
struct Between {
    port: Box<dyn Levers>,
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
}

impl Levers for Between {
    fn permits(&self, object: &Object) -> io::Result<()> {
        self.port.permits(object)
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        let nth = self.count;
        self.count += 1;
        match &self.fate {
            Fate::Watched(look) => {
                look();
                let written = self.port.write(object, text);
                look();
                written
            }
            Fate::Fails(at) if nth == *at => Err(io::ErrorKind::InvalidInput.into()),
            Fate::IsLost(at) if nth == *at => Ok(()),
            Fate::IsGone(at) if nth >= *at => Err(io::ErrorKind::NotFound.into()),
            Fate::Fails(_) | Fate::IsLost(_) | Fate::IsGone(_) => self.port.write(object, text),
        }
    }
}

fn between(fate: Fate) -> impl FnOnce(Box<dyn Levers>) -> Box<dyn Levers> {
    move |port| Box::new(Between { port, count: 0, fate })
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
        (
            "guide",
            r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 6}}"#,
            wish(What::CorePower(None)),
        ),
        ("guide", USED, wish(What::Class(few))),
        ("guide", USED, on("2-5", What::Association(3))),
        ("guide", FRESH, on("0-3", What::TurboMode(false))),
        ("guide", FRESH, wish(What::TurboLimits(0x1d1d_1d1d_1d1d_1d1d))),
        ("granite", FRESH, on("0", BF_ON)),
        ("granite", FRESH, on("1,2", TF_ON)),
        ("granite", r#"{"firmware": {"0.0/features": 3}}"#, wish(level(1, false))),
    ]
}

/// What a kill leaves.
type Left = (Vec<u8>, Vec<u8>);

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

#[test]
fn killed_between_any_two_writes_it_is_undone_by_another_process() {
    let mut all = 0;
    for (machine, state, wish) in recipes() {
        let here = Here::with(machine, state);
        let (before, moments) = (here.state(), moments(&here, &wish));
        assert!(moments.len() > 1, "{machine}: {}", wish.words());
        all += moments.len();
        for (nth, (state, journal)) in moments.into_iter().enumerate() {
            let later = Here::with(machine, "");
            fs::write(later.folder.path().join("state"), state).unwrap();
            fs::create_dir(later.shelf().folder()).unwrap();
            fs::write(later.shelf().path(), journal).unwrap();
            let undone = later.undo();
            let what = wish.words();
            assert!(undone.is_complete(), "{machine}: {what}, killed at {nth}: {undone:?}");
            assert_eq!(later.state(), before, "{machine}: {what}, killed at {nth}");
            assert!(!later.shelf().path().exists(), "{machine}: {what}, killed at {nth}");
        }
        // What nobody killed is undone, too.
        here.undone();
        assert_eq!(here.state(), before, "{machine}: {}", wish.words());
    }
    assert!(all > 150, "{all}");
}

#[test]
fn a_fault_at_any_write_leaves_nothing_half_done() {
    let mut faults = 0;
    for (machine, state, wish) in recipes() {
        for fate in [Fate::Fails as fn(usize) -> Fate, Fate::IsLost] {
            for nth in 0.. {
                let here = Here::with(machine, state);
                let before = here.state();
                let done = here.done_through(&wish, between(fate(nth)));
                let what = format!("{machine}: {}, write {nth}", wish.words());
                match done {
                    Ok(_) => break,
                    Err(NotChanged::NotMade(error)) => {
                        assert!(error.undone.is_complete(), "{what}: {error}");
                    }
                    Err(error) => panic!("{what}: {error}"),
                }
                assert_eq!(here.state(), before, "{what}");
                assert!(!here.shelf().path().exists(), "{what}");
                faults += 1;
            }
        }
    }
    assert!(faults > 250, "{faults}");
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
