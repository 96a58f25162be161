//! All settings as they are: what they hold, what they take, and whether they can be set here.

use std::collections::HashSet;

use machine::Machine;
use model::{AS_ROOT, CpuSet, Known, Obstacle, Unavailable};

use crate::drivers::{self, Drivers};
use crate::object::Object;
use crate::plan::{REFUSES_ROOT, locked, wanted};
use crate::port::Levers;
use crate::rows::{Lever, Scope, Values};
use crate::targets::{self, NO_IDLE_STATES, SettingOwner, Target};

/// A setting with one value, and everybody who has it.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Its name; of an idle state, with that of the state.
    pub name: String,
    /// The row.
    pub lever: &'static Lever,
    /// Whose it is, in words: `machine`, `CPUs 0-55`, `package_00_die_00`.
    pub of: String,
    /// What it is set to, in the words in which it is set.
    pub value: Known<String>,
    /// What it takes.
    pub takes: String,
    /// Whether this process can set it.
    pub settable: Known<()>,
    /// Who honours it here, in words.
    pub rule: Option<String>,
    /// What asks for it as it is, on the command line or as lines of a plan; none of what holds no longer than
    /// it is asked for.
    pub asks: Vec<String>,
}

impl From<Setting> for model::record::Setting {
    fn from(setting: Setting) -> Self {
        let there = matches!(setting.value, Known::Yes(_));
        model::record::Setting {
            id: setting.name,
            doc: setting.lever.doc.to_owned(),
            of: there.then_some(setting.of),
            value: setting.value,
            takes: there.then_some(setting.takes),
            fixed: match setting.settable {
                Known::No { unavailable } if there => Some(unavailable),
                _ => None,
            },
            rule: setting.rule,
            proof: setting.lever.proof.words().to_owned(),
        }
    }
}

/// All settings of a machine; those that it does not have come with the reason.
pub fn settings(machine: &Machine, levers: Option<&dyn Levers>) -> Vec<Setting> {
    let drivers = Drivers::of(machine);
    let mut all: Vec<Setting> =
        Lever::all().flat_map(|lever| of_lever(machine, levers, &drivers, lever)).collect();
    // Of two rows of one name, one may be missing; of two that are, one is told.
    let is_there = |setting: &Setting| matches!(setting.value, Known::Yes(_));
    let there: HashSet<String> =
        all.iter().filter(|it| is_there(it)).map(|it| it.name.clone()).collect();
    let mut told = HashSet::new();
    all.retain(|it| is_there(it) || !there.contains(&it.name) && told.insert(it.name.clone()));
    all
}

fn of_lever(
    machine: &Machine,
    levers: Option<&dyn Levers>,
    drivers: &Drivers,
    lever: &'static Lever,
) -> Vec<Setting> {
    let names: Vec<(String, Option<String>)> = match lever.scope {
        Scope::IdleState => state_names(machine)
            .into_iter()
            .map(|state| (lever.id.replace("STATE", &state), Some(state)))
            .collect(),
        _ => vec![(lever.id.to_owned(), None)],
    };
    if names.is_empty() {
        let absent = Unavailable::new(Obstacle::Hardware, lever.id, NO_IDLE_STATES);
        return vec![missing(lever, absent)];
    }
    let named = |(name, state): (String, Option<String>)| {
        folded(machine, levers, drivers, lever, &name, state.as_deref())
    };
    names.into_iter().flat_map(named).collect()
}

fn missing(lever: &'static Lever, reason: Unavailable) -> Setting {
    Setting {
        name: lever.id.to_owned(),
        lever,
        of: String::new(),
        value: Known::No { unavailable: reason.clone() },
        takes: String::new(),
        settable: Known::No { unavailable: reason },
        rule: None,
        asks: Vec::new(),
    }
}

fn state_names(machine: &Machine) -> Vec<String> {
    let mut names = Vec::new();
    // Cores of several types have several lists.
    for cpu in drivers::online(machine).iter() {
        for state in targets::states(machine, cpu) {
            if !names.contains(&state.name) {
                names.push(state.name);
            }
        }
    }
    names
}

/// One setting for each value.
fn folded(
    machine: &Machine,
    levers: Option<&dyn Levers>,
    drivers: &Drivers,
    lever: &'static Lever,
    name: &str,
    state: Option<&str>,
) -> Vec<Setting> {
    if let Some(why) = lever.unknown_here(drivers) {
        return vec![missing(lever, Unavailable::new(Obstacle::Hardware, name, why))];
    }
    let targets = targets::targets(machine, lever, state, None);
    let read: Vec<(&Target, Result<String, Unavailable>)> =
        targets.iter().map(|target| (target, target.object.read(machine))).collect();
    let found: Vec<&(&Target, Result<String, Unavailable>)> =
        read.iter().filter(|(_, value)| value.is_ok()).collect();
    if found.is_empty() {
        let none = || Unavailable::new(Obstacle::Hardware, name, "this machine has none");
        let reason = read.into_iter().find_map(|(_, value)| value.err()).unwrap_or_else(none);
        return vec![missing(lever, lever.missing(drivers, reason))];
    }
    let mut groups: Vec<(&String, Vec<&Target>)> = Vec::new();
    for (target, value) in &found {
        let Ok(value) = value else { continue };
        match groups.iter_mut().find(|(known, _)| *known == value) {
            Some((_, members)) => members.push(target),
            None => groups.push((value, vec![target])),
        }
    }
    let setting = |(value, members): (&String, Vec<&Target>)| Setting {
        name: name.to_owned(),
        lever,
        of: whose(machine, lever, &members),
        value: Known::Yes(lever.in_words(value)),
        takes: takes(machine, lever, members[0]),
        settable: match lever.stuck_at(value) {
            Some(why) => Known::No { unavailable: Unavailable::new(Obstacle::Hardware, name, why) },
            None => settable(machine, levers, name, &members[0].object),
        },
        rule: (lever.rule)(drivers),
        asks: match lever.stuck_at(value) {
            None if !members[0].object.is_held() => {
                let at = if members.len() < targets.len() {
                    places(machine, lever, &members)
                } else {
                    vec![String::new()]
                };
                let value = lever.in_words(value);
                at.into_iter().map(|at| format!("{name}{at}={value}")).collect()
            }
            _ => Vec::new(),
        },
    };
    groups.into_iter().map(setting).collect()
}

/// The CPUs whose settings these are.
fn cpus(machine: &Machine, lever: &Lever, targets: &[&Target]) -> CpuSet {
    let own = targets.iter().filter_map(|target| match target.of {
        SettingOwner::Cpu(cpu) => Some(cpu),
        _ => None,
    });
    own.flat_map(|cpu| match lever.scope {
        Scope::Policy => targets::group(machine, cpu).iter().collect(),
        _ => vec![cpu],
    })
    .collect()
}

/// Whose settings these are, each as it stands behind the name where they are asked for.
fn places(machine: &Machine, lever: &Lever, targets: &[&Target]) -> Vec<String> {
    let cpus = cpus(machine, lever, targets);
    if !cpus.is_empty() {
        return vec![format!("@{cpus}")];
    }
    let part = |target: &&Target| match &target.of {
        SettingOwner::Part(part) => Some(format!("@{part}")),
        SettingOwner::Cpu(_) | SettingOwner::Machine => None,
    };
    targets.iter().filter_map(part).collect()
}

/// Whose settings these are, in words.
pub(crate) fn whose(machine: &Machine, lever: &Lever, targets: &[&Target]) -> String {
    let cpus = cpus(machine, lever, targets);
    let parts: Vec<String> = targets
        .iter()
        .filter(|target| matches!(target.of, SettingOwner::Part(_)))
        .map(|target| target.of.named(machine))
        .collect();
    match (cpus.len(), parts.as_slice()) {
        (0, []) => "machine".to_owned(),
        (0, parts) => parts.join(", "),
        _ => cpus.named(),
    }
}

fn takes(machine: &Machine, lever: &Lever, target: &Target) -> String {
    let words = || wanted::words(machine, lever, target).map(|words| words.join(", "));
    match lever.values {
        Values::Switch { .. } => "on, off".to_owned(),
        Values::Words(_) | Values::Listed(_) => words().unwrap_or_else(|| "a word".to_owned()),
        Values::ListedOr(_, most) => {
            words().map_or(format!("0 to {most}"), |words| format!("{words}, or 0 to {most}"))
        }
        Values::Bracketed => words().unwrap_or_default(),
        Values::Kilohertz => "a frequency, such as 2.4GHz".to_owned(),
        Values::AsRead => "a text like that".to_owned(),
        Values::Number { min, max, unit } => format!("{min} to {max}{unit}"),
        Values::NumberOr { word, max, unit, .. } => format!("{word}, or 0 to {max}{unit}"),
    }
}

fn settable(
    machine: &Machine,
    levers: Option<&dyn Levers>,
    name: &str,
    object: &Object,
) -> Known<()> {
    let no =
        |obstacle, why: String| Known::No { unavailable: Unavailable::new(obstacle, name, why) };
    let Some(levers) = levers else {
        return no(Obstacle::Permission, "nothing can be written to a recorded machine".to_owned());
    };
    if let Some(reason) = locked(machine, object) {
        return Known::No { unavailable: Unavailable { what: name.to_owned(), ..reason } };
    }
    match levers.permits(object) {
        Ok(()) => Known::Yes(()),
        Err(error) => {
            let why = format!("opening {object} to write: {}", sys::errno::words(&error));
            match no(Obstacle::Permission, why) {
                Known::No { unavailable }
                    if error.kind() == std::io::ErrorKind::PermissionDenied =>
                {
                    let remedy = if machine.host.is_root() { REFUSES_ROOT } else { AS_ROOT };
                    Known::No { unavailable: unavailable.with_remedy(remedy) }
                }
                other => other,
            }
        }
    }
}
