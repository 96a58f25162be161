//! What is done to machines that are as they came, or as others made them: every recipe, and several in a row.

use sst::change::{ClassWish, NotChanged, What, Wish};
use sst::model::Priority::{Ordered, Proportional};

use super::super::here::{
    BF_OFF, BF_ON, CP_OFF, CP_ON, Here, TF_OFF, TF_ON, class, level, on, wish,
};
use super::between::{Fate, between};

/// What somebody does.
#[derive(Clone)]
pub(super) enum Deed {
    /// A command of `cpudyno sst`.
    Wish(Wish),
    /// `cpudyno set`.
    Set(&'static str),
    /// `cpudyno set --for`, until that is over.
    For(&'static str),
}

impl Deed {
    pub(super) fn words(&self) -> String {
        match self {
            Deed::Wish(wish) => wish.words(),
            Deed::Set(setting) => (*setting).to_owned(),
            Deed::For(setting) => format!("{setting} for a while"),
        }
    }

    pub(super) fn done(&self, here: &Here, fate: Fate) -> Result<usize, NotChanged> {
        match self {
            Deed::Wish(wish) => here.done_through(wish, between(fate)),
            Deed::Set(setting) => here.set_through(setting, between(fate)),
            Deed::For(setting) => here.set_for(setting, between(fate)),
        }
    }
}

/// As machines come.
pub(super) const FRESH: &str = "{}";

/// Every wish that there is, one after the other. A new one is not compiled before it has its place here.
pub(super) fn next(what: &What) -> Option<What> {
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
pub(super) fn before(machine: &str, what: &What) -> &'static str {
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
pub(super) fn recipes() -> Vec<(&'static str, &'static str, Wish)> {
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
pub(super) const FIRST_CORES: &str =
    r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 6, "0.0/features": 2}}"#;
/// Somebody lowered the turbo limits that hold at most.
pub(super) const LOWERED: &str = r#"{"firmware": {"0.0/msr/1ad": 2097865012304223517}}"#;

/// Somebody limits clocks to exactly the base frequency.
pub(super) const CHOSEN_AT_BASE: &str = r#"{"files": {
    "/sys/devices/system/cpu/cpu5/cpufreq/scaling_max_freq": "2600000",
    "/sys/devices/system/cpu/cpu6/cpufreq/scaling_max_freq": "2600000",
    "/sys/devices/system/cpu/cpu6/cpufreq/scaling_min_freq": "2600000"}}"#;
/// Somebody limits clocks below the base frequency, and above what that will be.
pub(super) const CHOSEN_BELOW: &str = r#"{"files": {
    "/sys/devices/system/cpu/cpu3/cpufreq/scaling_max_freq": "2600000",
    "/sys/devices/system/cpu/cpu3/cpufreq/scaling_min_freq": "2600000",
    "/sys/devices/system/cpu/cpu4/cpufreq/scaling_max_freq": "2500000",
    "/sys/devices/system/cpu/cpu6/cpufreq/scaling_min_freq": "2500000"}}"#;
/// Somebody limits clocks above the base frequency.
pub(super) const CHOSEN_ABOVE: &str = r#"{"files": {
    "/sys/devices/system/cpu/cpu5/cpufreq/scaling_max_freq": "2700000",
    "/sys/devices/system/cpu/cpu6/cpufreq/scaling_max_freq": "3000000",
    "/sys/devices/system/cpu/cpu6/cpufreq/scaling_min_freq": "2900000"}}"#;

/// Turbo is off, and somebody limits clocks below the base frequency.
pub(super) const CHOSEN_BELOW_SLOW: &str = r#"{"files": {
    "/sys/devices/system/cpu/intel_pstate/no_turbo": "1",
    "/sys/devices/system/cpu/cpu4/cpufreq/scaling_max_freq": "2500000",
    "/sys/devices/system/cpu/cpu6/cpufreq/scaling_min_freq": "2500000"}}"#;
/// Somebody limits clocks at a level to what is another's base frequency.
pub(super) const CHOSEN_AT_LEVEL: &str = r#"{"firmware": {"0.0/level": 4}, "files": {
    "/sys/devices/system/cpu/cpu6/cpufreq/scaling_max_freq": "2600000"}}"#;

/// The CPUs of package 1 of the guide's machine are off.
pub(super) fn without_package_1() -> &'static str {
    let files: Vec<String> = (14..28)
        .chain(42..56)
        .map(|cpu| format!("\"/sys/devices/system/cpu/cpu{cpu}/online\": \"0\""))
        .collect();
    format!("{{\"files\": {{{}}}}}", files.join(", ")).leak()
}

/// Commands in one journal, the later ones on what the former ones left, on a machine as it came or as others made it.
pub(super) fn sequences() -> Vec<(&'static str, &'static str, Vec<Deed>)> {
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
