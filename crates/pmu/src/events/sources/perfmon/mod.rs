//! A folder of event lists in JSON: perfmon of Intel, the lists in Linux' `tools/perf` (AMD), those of
//! Arm. None of it is built in.
//!
//! # Source
//! <https://github.com/intel/perfmon>, `README.md` and `mapfile.csv`; Linux
//! `tools/perf/pmu-events/README`; <https://github.com/ARM-software/data>.

mod encode;
mod folder;
mod json;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use model::{Obstacle, Unavailable};

use super::{EventSource, Listed, no_more};
use crate::events::cpu::CpuModel;
use crate::events::encoded::Source;
use crate::events::table::CoreType;
use crate::events::target::Target;
use folder::Folder;
pub use folder::lists;

pub(super) const ROW: EventSource = EventSource {
    source: Source::Perfmon,
    name: "perfmon",
    doc: "a folder of event lists: perfmon of Intel, tools/perf of Linux, data of Arm",
    all,
    find: no_more,
};

const HOW: &str = "`cpudyno pmu events update` fetches one; --event-dir DIR names another";

fn all(target: &Target<'_>) -> Listed {
    let Some(path) = &target.folder else {
        let why = "no folder of event lists is at hand";
        return Listed::nothing(
            Unavailable::new(Obstacle::Cpudyno, "events of perfmon", why).with_remedy(HOW),
        );
    };
    let folder = match Folder::open(path) {
        Ok(folder) => folder,
        Err(why) => return Listed::nothing(broken(&path.display().to_string(), why)),
    };
    let mut listed = Listed::default();
    for core in &target.cores {
        let Some(cpu) = &core.cpu else { continue };
        let found = folder.lists(cpu, core.of_type);
        listed.missing.extend(found.remarks.into_iter().map(|why| broken("mapfile.csv", why)));
        if found.lists.is_empty() {
            let why = format!("`{}` has no list for {cpu}", path.display());
            let reason = Unavailable::new(Obstacle::Cpudyno, "events of perfmon", why);
            listed.missing.push(reason.with_remedy(HOW));
        }
        for list in found.lists {
            let name = list.display().to_string();
            match read(&list) {
                Ok(events) => {
                    for event in &events {
                        encode::event(target, core, event, &mut listed);
                    }
                }
                Err(why) => listed.missing.push(broken(&name, why)),
            }
        }
    }
    once(&mut listed);
    listed.missing.dedup();
    listed
}

fn read(list: &Path) -> Result<Vec<json::JsonEvent>, String> {
    let text = std::fs::read_to_string(list).map_err(|error| sys::errno::words(&error))?;
    json::parse(&text)
}

/// Each name once, as lists of the uncore are the same for all types of cores. A name with two codes
/// has none: lists of several types of cores were read, and nobody says which type this is.
fn once(listed: &mut Listed) {
    let mut codes = HashMap::new();
    let mut disputed = BTreeSet::new();
    for event in &listed.events {
        let key = (event.name.clone(), event.pmu.clone());
        let code = (event.config, event.register);
        if *codes.entry(key.clone()).or_insert(code) != code {
            disputed.insert(key);
        }
    }
    let mut seen = HashSet::new();
    listed.events.retain(|event| {
        let key = (event.name.clone(), event.pmu.clone());
        !disputed.contains(&key) && seen.insert(key)
    });
    if let Some((name, _)) = disputed.first() {
        let what = format!("{} events of perfmon", disputed.len());
        let why = format!(
            "the lists of this CPU have two codes for each, as for `{name}`; which one is right \
             here is unknown"
        );
        listed.missing.push(Unavailable::new(Obstacle::Hardware, what, why));
    }
}

/// The types of cores that a folder knows of a CPU: by its map, or by the PMUs that its lists name, as those
/// of Linux do. Those of performance first.
pub(in crate::events) fn core_types(folder: &Path, cpu: &CpuModel) -> Vec<CoreType> {
    let Ok(folder) = Folder::open(folder) else { return Vec::new() };
    let mut types = folder.core_types(cpu);
    if types.is_empty() {
        let lists = folder.lists(cpu, None).lists;
        let events = lists.iter().filter_map(|list| read(list).ok()).flatten();
        types = events.filter_map(|event| event.core_type()).collect();
    }
    types.sort();
    types.dedup();
    types
}

fn broken(what: &str, why: String) -> Unavailable {
    Unavailable::new(Obstacle::Cpudyno, format!("`{what}`"), why)
}
