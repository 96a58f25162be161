//! Whatever happens between any two writes of any recipe, another process brings back what was there.
//!
//! A process that is killed leaves two files: the state of the machine and the journal. Both are kept before and
//! after each write, and each pair is what a kill at that moment leaves.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::here::{BF_OFF, BF_ON, CP_OFF, CP_ON, Here, TF_OFF, TF_ON, class, level, on, wish};
use levers::{Levers, Object};
use machine::isst::settable::{self, Address, Die, Settable};
use sst::change::{ClassWish, NotChanged, What, Wish};
use sst::model::Priority::{Ordered, Proportional};

/// What stands between the engine and the machine.
struct Between {
    port: Arc<Mutex<Box<dyn Levers>>>,
    /// Which write it is.
    count: Arc<AtomicUsize>,
    fate: Fate,
}

#[derive(Clone)]
enum Fate {
    /// What a kill would leave, before and after each write.
    Watched(Arc<dyn Fn() + Send + Sync>),
    /// Writes are counted.
    Counted(Arc<AtomicUsize>),
    /// That write fails.
    Fails(usize),
    /// That write is taken, and nothing comes of it.
    IsLost(usize),
    /// The device is gone from that write on.
    IsGone(usize),
    /// What is written to firmware is there only some time later.
    IsLate(Duration),
    /// The driver of firmware does not wait for it, and says that it failed.
    GivesUp(Duration),
    /// The same of that write alone, as the driver of the newer generation says it; nothing comes of it, or it
    /// is there some time later.
    Refuses(usize, Option<Duration>),
    /// What firmware refused is noted. Files refuse a limit above another, until that has gone.
    Refusals(Arc<Mutex<Vec<String>>>),
}

impl Levers for Between {
    fn permits(&self, object: &Object) -> io::Result<()> {
        self.port.lock().unwrap().permits(object)
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        let nth = self.count.fetch_add(1, Ordering::Relaxed);
        let write = |object, text: &str| self.port.lock().unwrap().write(object, text);
        let later = |time: Duration| {
            let (port, object, text) = (Arc::clone(&self.port), object.clone(), text.to_owned());
            thread::spawn(move || {
                thread::sleep(time);
                port.lock().unwrap().write(&object, &text).unwrap();
            });
        };
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
                later(*time);
                Ok(())
            }
            Fate::GivesUp(time) if matches!(object, Object::SpeedSelect(_)) => {
                later(*time);
                Err(io::ErrorKind::TimedOut.into())
            }
            Fate::Refuses(at, time) if nth == *at => {
                time.map(later);
                Err(io::Error::from_raw_os_error(sys::errno::ENOTTY))
            }
            Fate::Refusals(refused) => write(object, text).inspect_err(|error| {
                if matches!(object, Object::SpeedSelect(_)) {
                    refused.lock().unwrap().push(format!("{object}: {text}: {error}"));
                }
            }),
            _ => write(object, text),
        }
    }
}

fn between(fate: Fate) -> impl FnOnce(Box<dyn Levers>) -> Box<dyn Levers> {
    let count = match &fate {
        Fate::Counted(count) => Arc::clone(count),
        _ => Arc::default(),
    };
    move |port| Box::new(Between { port: Arc::new(Mutex::new(port)), count, fate })
}

/// What somebody does.
#[derive(Clone)]
enum Deed {
    /// A command of `cpudyno sst`.
    Wish(Wish),
    /// `cpudyno set`.
    Set(&'static str),
    /// `cpudyno set --for`, until that is over.
    For(&'static str),
}

impl Deed {
    fn words(&self) -> String {
        match self {
            Deed::Wish(wish) => wish.words(),
            Deed::Set(setting) => (*setting).to_owned(),
            Deed::For(setting) => format!("{setting} for a while"),
        }
    }

    fn done(&self, here: &Here, fate: Fate) -> Result<usize, NotChanged> {
        match self {
            Deed::Wish(wish) => here.done_through(wish, between(fate)),
            Deed::Set(setting) => here.set_through(setting, between(fate)),
            Deed::For(setting) => here.set_for(setting, between(fate)),
        }
    }
}

/// As machines come.
const FRESH: &str = "{}";

/// Every wish that there is, one after the other. A new one is not compiled before it has its place here.
fn next(what: &What) -> Option<What> {
    const LIMITS: u64 = 0x1d1d_1d1d_1d1d_1d1d;
    let turbo = |on, auto, limits| What::TurboFreq { on, auto, limits };
    Some(match *what {
        What::Level { level, with_cpus: false } => What::Level { level, with_cpus: true },
        What::Level { .. } => CP_ON,
        What::CorePower { on, priority: Ordered } => What::CorePower { on, priority: Proportional },
        What::CorePower { on: true, priority: Proportional } => {
            What::CorePower { on: false, priority: Ordered }
        }
        What::CorePower { on: false, priority: Proportional } => {
            What::Class(ClassWish { min_mhz: Some(2000), weight: None, ..class(2) })
        }
        What::Class(_) => What::Association(3),
        What::Association(_) => What::BaseFreq { on: true, auto: false },
        What::BaseFreq { on, auto: false } => What::BaseFreq { on, auto: true },
        What::BaseFreq { on: true, auto: true } => What::BaseFreq { on: false, auto: false },
        What::BaseFreq { on: false, auto: true } => turbo(true, false, None),
        What::TurboFreq { on, auto: false, limits: None } => turbo(on, true, None),
        What::TurboFreq { on, auto: true, limits: None } => turbo(on, false, Some(LIMITS)),
        What::TurboFreq { on, auto: false, limits } => turbo(on, true, limits),
        What::TurboFreq { on: true, auto: true, .. } => turbo(false, false, None),
        What::TurboFreq { on: false, auto: true, .. } => What::TurboMode(true),
        What::TurboMode(true) => What::TurboMode(false),
        What::TurboMode(false) => What::TurboLimits(LIMITS),
        What::TurboLimits(_) => return None,
    })
}

/// What is there before, so that a wish has something to do.
fn before(machine: &str, what: &What) -> &'static str {
    let is_newer = machine == "granite";
    match what {
        What::CorePower { on: false, .. } | What::BaseFreq { on: true, auto: false }
            if is_newer =>
        {
            r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 4}}"#
        }
        What::TurboFreq { on: true, auto: false, .. } if is_newer => {
            r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 4, "0.0/association/5": 3}}"#
        }
        What::CorePower { on: false, .. }
        | What::BaseFreq { on: true, auto: false }
        | What::TurboFreq { on: true, auto: false, .. } => {
            r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 6, "0.0/association/5": 3}}"#
        }
        What::BaseFreq { on: false, .. } if is_newer => {
            r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 4, "0.0/features": 1}}"#
        }
        What::BaseFreq { on: false, .. } => {
            r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 6, "0.0/features": 1}}"#
        }
        What::TurboFreq { on: false, .. } if is_newer => {
            r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 4, "0.0/features": 2,
                "0.0/msr/1ad": 18446744073709551615}}"#
        }
        What::TurboFreq { on: false, .. } => {
            r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 6, "0.0/features": 2,
                "0.0/association/3": 3, "0.0/msr/1ad": 18446744073709551615}}"#
        }
        What::TurboMode(true) => {
            r#"{"files": {"/sys/devices/system/cpu/cpu1/cpufreq/scaling_max_freq": "2000000",
                "/sys/devices/system/cpu/cpu12/cpufreq/scaling_max_freq": "2100000"}}"#
        }
        _ => FRESH,
    }
}

/// Every wish on every kind of interface.
fn commands() -> Vec<(&'static str, &'static str, Wish)> {
    let mut found = Vec::new();
    for (machine, number, few) in
        [("guide", 4, "12,13"), ("skylake", 4, "1,2"), ("granite", 1, "1,2")]
    {
        let mut each = Some(level(number, false));
        while let Some(what) = each {
            each = next(&what);
            // Its classes alone are elsewhere, and have an order alone.
            let has_classes = matches!(
                what,
                What::CorePower { on: false, .. }
                    | What::CorePower { priority: Ordered, .. }
                    | What::Class(_)
                    | What::Association(_)
                    | What::BaseFreq { auto: true, .. }
                    | What::TurboFreq { auto: true, limits: None, .. }
            );
            if machine == "skylake" && !has_classes {
                continue;
            }
            // In the face of the reference tool it switches on what it needs.
            if machine == "guide" && matches!(what, What::TurboFreq { on: true, .. }) {
                found.push((machine, FRESH, Wish { lenient: true, ..on(few, what.clone()) }));
            }
            found.push((machine, before(machine, &what), on(few, what)));
        }
    }
    found
}

/// Every recipe, on a machine that is as it came or as others made it.
fn recipes() -> Vec<(&'static str, &'static str, Wish)> {
    const USED: &str = r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 2, "0.0/class/2": 3940352,
        "0.0/association/3": 2, "0.0/features": 1, "1.0/level": 1}}"#;
    const TURBO: &str = r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 6, "0.0/features": 2,
        "0.0/association/3": 3, "0.0/msr/1ad": 18446744073709551615}}"#;
    const FEWER: &str = r#"{"firmware": {"0.0/level": 4}, "files": {
        "/sys/devices/system/cpu/cpu4/online": "0", "/sys/devices/system/cpu/cpu32/online": "0"}}"#;
    const NO_TURBO: &str = r#"{"files": {"/sys/devices/system/cpu/intel_pstate/no_turbo": "1"}}"#;
    const LIMITED: &str = r#"{"files": {"/sys/devices/system/cpu/intel_pstate/no_turbo": "1",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq": "2000000"}}"#;
    const NO_SMT: &str = r#"{"files": {"/sys/devices/system/cpu/smt/control": "off"}}"#;
    const FEWER_WITHOUT_SMT: &str = r#"{"firmware": {"0.0/level": 4}, "files": {
        "/sys/devices/system/cpu/smt/control": "off", "/sys/devices/system/cpu/cpu4/online": "0"}}"#;
    const PINNED: &str = r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 6, "0.0/association/1": 3},
        "files": {"/sys/devices/system/cpu/cpu1/cpufreq/scaling_max_freq": "2000000"}}"#;
    // Somebody switched a feature on before priorities.
    const UPSIDE_DOWN: &str = r#"{"firmware": {"0.0/features": 1}}"#;
    // Cores none of whose CPUs is online have classes, too.
    const CORES_OFF: &str = r#"{"files": {
        "/sys/devices/system/cpu/cpu4/online": "0", "/sys/devices/system/cpu/cpu32/online": "0",
        "/sys/devices/system/cpu/cpu5/online": "0", "/sys/devices/system/cpu/cpu33/online": "0"}}"#;
    const CORE_OFF: &str = r#"{"files": {
        "/sys/devices/system/cpu/cpu3/online": "0", "/sys/devices/system/cpu/cpu67/online": "0"}}"#;
    const CHOSEN: &str =
        r#"{"files": {"/sys/devices/system/cpu/cpu5/cpufreq/base_frequency": "2800000"}}"#;
    const CHOSEN_AND_SET: &str = r#"{"files": {
        "/sys/devices/system/cpu/cpu5/cpufreq/base_frequency": "2800000",
        "/sys/devices/system/cpu/cpu5/cpufreq/scaling_max_freq": "2800000",
        "/sys/devices/system/cpu/cpu5/cpufreq/scaling_min_freq": "2800000",
        "/sys/devices/system/cpu/cpu6/cpufreq/scaling_max_freq": "2600000",
        "/sys/devices/system/cpu/cpu6/cpufreq/scaling_min_freq": "2600000"}}"#;
    let few = ClassWish { min_mhz: Some(2000), weight: Some(5), ..class(2) };
    let mut found = commands();
    found.extend([
        ("guide", USED, wish(level(4, false))),
        ("guide", FEWER, on("0", level(0, true))),
        ("guide", USED, on("0", BF_ON)),
        ("guide", USED, on("0", BF_OFF)),
        ("guide", FRESH, wish(CP_ON)),
        ("guide", USED, wish(What::Class(few))),
        ("guide", USED, on("2-5", What::Association(3))),
        ("guide", UPSIDE_DOWN, on("0", CP_ON)),
        ("guide", UPSIDE_DOWN, on("0", BF_ON)),
        ("granite", UPSIDE_DOWN, on("0", CP_ON)),
        ("granite", r#"{"firmware": {"0.0/features": 3}}"#, wish(level(1, false))),
        // A new level makes the turbo limits its own.
        ("guide", TURBO, on("0", level(4, false))),
        ("granite", LOWERED, wish(level(1, false))),
        ("guide", NO_TURBO, on("0", BF_ON)),
        ("guide", LIMITED, on("0", level(4, false))),
        // Threads of a core but the first are off.
        ("guide", NO_SMT, on("0", level(4, true))),
        ("guide", FEWER_WITHOUT_SMT, on("0", level(0, true))),
        ("guide", NO_SMT, on("0", BF_ON)),
        ("guide", NO_SMT, on("12,13", TF_ON)),
        ("guide", NO_SMT, on("0-3", What::TurboMode(false))),
        ("granite", NO_SMT, on("0", level(1, true))),
        ("granite", NO_SMT, on("1,2", TF_ON)),
        ("guide", FEWER, on("0,1", TF_ON)),
        ("guide", CORES_OFF, on("0", BF_ON)),
        ("skylake", CORES_OFF, on("0,1", TF_ON)),
        ("granite", CORE_OFF, on("1,2", TF_ON)),
        ("granite", CORE_OFF, on("0", BF_ON)),
        ("guide", without_package_1(), wish(level(4, true))),
        // Without an interface there are limits of the clock alone.
        ("cascade", CHOSEN, on("5,6", What::BaseFreq { on: true, auto: false })),
        ("cascade", CHOSEN, on("5,6", BF_ON)),
        ("cascade", CHOSEN_AND_SET, on("5,6", What::BaseFreq { on: false, auto: false })),
        ("cascade", CHOSEN_AND_SET, on("5,6", BF_OFF)),
        // `turbo-mode --force`, and limits that somebody set, beside classes.
        ("guide", USED, Wish { lenient: true, ..on("0-3", What::TurboMode(false)) }),
        ("guide", PINNED, Wish { lenient: true, ..on("0-3", What::TurboMode(true)) }),
        ("granite", PINNED, Wish { lenient: true, ..on("0-3", What::TurboMode(true)) }),
    ]);
    found
}

/// Some cores go first.
const FIRST_CORES: &str =
    r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 6, "0.0/features": 2}}"#;
/// Somebody lowered the turbo limits that hold at most.
const LOWERED: &str = r#"{"firmware": {"0.0/msr/1ad": 2097865012304223517}}"#;

/// Somebody limits clocks to exactly the base frequency.
const CHOSEN_AT_BASE: &str = r#"{"files": {
    "/sys/devices/system/cpu/cpu5/cpufreq/scaling_max_freq": "2600000",
    "/sys/devices/system/cpu/cpu6/cpufreq/scaling_max_freq": "2600000",
    "/sys/devices/system/cpu/cpu6/cpufreq/scaling_min_freq": "2600000"}}"#;
/// Somebody limits clocks below the base frequency, and above what that will be.
const CHOSEN_BELOW: &str = r#"{"files": {
    "/sys/devices/system/cpu/cpu3/cpufreq/scaling_max_freq": "2600000",
    "/sys/devices/system/cpu/cpu3/cpufreq/scaling_min_freq": "2600000",
    "/sys/devices/system/cpu/cpu4/cpufreq/scaling_max_freq": "2500000",
    "/sys/devices/system/cpu/cpu6/cpufreq/scaling_min_freq": "2500000"}}"#;
/// Somebody limits clocks above the base frequency.
const CHOSEN_ABOVE: &str = r#"{"files": {
    "/sys/devices/system/cpu/cpu5/cpufreq/scaling_max_freq": "2700000",
    "/sys/devices/system/cpu/cpu6/cpufreq/scaling_max_freq": "3000000",
    "/sys/devices/system/cpu/cpu6/cpufreq/scaling_min_freq": "2900000"}}"#;

/// Turbo is off, and somebody limits clocks below the base frequency.
const CHOSEN_BELOW_SLOW: &str = r#"{"files": {
    "/sys/devices/system/cpu/intel_pstate/no_turbo": "1",
    "/sys/devices/system/cpu/cpu4/cpufreq/scaling_max_freq": "2500000",
    "/sys/devices/system/cpu/cpu6/cpufreq/scaling_min_freq": "2500000"}}"#;
/// Somebody limits clocks at a level to what is another's base frequency.
const CHOSEN_AT_LEVEL: &str = r#"{"firmware": {"0.0/level": 4}, "files": {
    "/sys/devices/system/cpu/cpu6/cpufreq/scaling_max_freq": "2600000"}}"#;

/// The CPUs of package 1 of the guide's machine are off.
fn without_package_1() -> &'static str {
    let files: Vec<String> = (14..28)
        .chain(42..56)
        .map(|cpu| format!("\"/sys/devices/system/cpu/cpu{cpu}/online\": \"0\""))
        .collect();
    format!("{{\"files\": {{{}}}}}", files.join(", ")).leak()
}

/// What a kill leaves.
type Left = (Vec<u8>, Vec<u8>);

/// Commands in one journal, the later ones on what the former ones left, on a machine as it came or as others made it.
fn sequences() -> Vec<(&'static str, &'static str, Vec<Deed>)> {
    let few = ClassWish { min_mhz: Some(2000), weight: Some(5), ..class(2) };
    let wishes = |wishes: Vec<Wish>| wishes.into_iter().map(Deed::Wish).collect::<Vec<_>>();
    let (slow, fast) = (Deed::Set("no_turbo=on"), Deed::Set("no_turbo=off"));
    let (base, plain) = (Deed::Wish(on("0", BF_ON)), Deed::Wish(on("0", BF_OFF)));
    let fewer = Deed::Wish(on("0", level(4, false)));
    let limited = Deed::Set("max_freq@0-1=2GHz");
    let pinned = Deed::Wish(on("0-3", What::TurboMode(false)));
    let opened = Deed::Wish(Wish { lenient: true, ..on("0-7", What::TurboMode(true)) });
    vec![
        // A new level is noted before priorities are, and its features with it.
        ("guide", FRESH, wishes(vec![on("0", level(1, false)), on("0,1", TF_ON)])),
        ("guide", FRESH, wishes(vec![on("0", BF_ON), on("0", level(4, true))])),
        (
            "guide",
            FRESH,
            wishes(vec![on("0", level(4, true)), on("0,1", TF_ON), on("0,1", TF_OFF)]),
        ),
        (
            "guide",
            FRESH,
            wishes(vec![wish(CP_ON), wish(What::Class(few)), on("0", BF_ON), on("0", BF_OFF)]),
        ),
        ("guide", FRESH, wishes(vec![on("0", BF_ON), on("12,13", TF_ON), on("0", TF_OFF)])),
        ("granite", FRESH, wishes(vec![on("0", BF_ON), on("0", BF_OFF), on("1,2", TF_ON)])),
        (
            "granite",
            FRESH,
            wishes(vec![wish(level(1, false)), wish(level(0, false)), on("1,2", TF_ON)]),
        ),
        ("guide", FRESH, wishes(vec![wish(CP_ON), wish(CP_OFF), on("0", level(4, true))])),
        // Limits of the clock come to less without turbo, and to another base frequency.
        ("guide", FRESH, vec![base.clone(), slow.clone()]),
        ("guide", FRESH, vec![slow.clone(), base.clone()]),
        ("guide", FRESH, vec![slow.clone(), base.clone(), fast.clone()]),
        ("guide", FRESH, vec![limited, slow.clone(), fewer.clone(), fast.clone()]),
        // What a new level makes of features and turbo limits comes back after the level.
        ("guide", FIRST_CORES, vec![fewer.clone()]),
        ("granite", LOWERED, wishes(vec![on("0", level(1, false))])),
        (
            "guide",
            FRESH,
            vec![fewer.clone(), slow.clone(), Deed::Wish(on("0", level(0, false))), fast.clone()],
        ),
        ("guide", FRESH, vec![pinned, slow.clone(), base.clone()]),
        // Limits that were there before turbo was switched off come back, though nothing shows them by then.
        ("guide", CHOSEN_AT_BASE, vec![slow.clone(), base.clone()]),
        ("guide", CHOSEN_AT_BASE, vec![slow.clone(), fewer.clone(), fast.clone()]),
        ("guide", CHOSEN_AT_BASE, vec![slow.clone(), opened.clone(), fast.clone()]),
        ("guide", CHOSEN_AT_BASE, vec![slow.clone(), Deed::For("no_turbo=off"), opened.clone()]),
        (
            "guide",
            CHOSEN_AT_BASE,
            vec![Deed::Set("online@6=off"), slow.clone(), Deed::Set("online@6=on"), opened.clone()],
        ),
        ("guide", CHOSEN_ABOVE, vec![slow.clone(), base.clone()]),
        // The base frequency may be another one by then.
        ("guide", CHOSEN_BELOW, vec![slow.clone(), base.clone(), plain.clone()]),
        ("guide", CHOSEN_BELOW, vec![slow.clone(), base.clone(), opened.clone()]),
        ("guide", CHOSEN_BELOW_SLOW, vec![base, plain]),
        (
            "guide",
            CHOSEN_AT_LEVEL,
            vec![slow.clone(), Deed::Wish(on("0", level(0, false))), opened.clone()],
        ),
        ("guide", CHOSEN_ABOVE, vec![slow.clone(), Deed::Set("max_freq@5=2GHz"), fast.clone()]),
        ("guide", CHOSEN_ABOVE, vec![slow.clone(), fewer, fast.clone(), slow.clone(), opened]),
        // Nobody can ask the firmware of a package whose CPUs are off again.
        ("guide", without_package_1(), wishes(vec![wish(level(4, true))])),
        ("guide", without_package_1(), wishes(vec![wish(level(4, true)), wish(level(1, true))])),
    ]
}

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
        assert!(error.contains("it was written, and reads"), "{error}");
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
