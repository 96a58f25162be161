//! A folder of event lists in JSON: perfmon of Intel, the lists in Linux' `tools/perf` (AMD), those of
//! Arm. None of it is built in.
//!
//! # Source
//! <https://github.com/intel/perfmon>, `README.md` and `mapfile.csv`; Linux
//! `tools/perf/pmu-events/README`; <https://github.com/ARM-software/data>.

mod encode;
mod folder;
mod json;

use model::{Obstacle, Unavailable};

use super::{EventSource, Listed, no_more};
use crate::events::encoded::Source;
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
            let events = std::fs::read_to_string(&list).map_err(|error| sys::errno::words(&error));
            match events.and_then(|text| json::parse(&text)) {
                Ok(events) => {
                    for event in &events {
                        encode::event(target, core, event, &mut listed);
                    }
                }
                Err(why) => listed.missing.push(broken(&name, why)),
            }
        }
    }
    // Lists of the uncore are the same for both types of core.
    let mut seen = std::collections::HashSet::new();
    listed.events.retain(|event| seen.insert((event.name.clone(), event.pmu.clone())));
    listed.missing.dedup();
    listed
}

fn broken(what: &str, why: String) -> Unavailable {
    Unavailable::new(Obstacle::Cpudyno, format!("`{what}`"), why)
}
