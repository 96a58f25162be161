//! One value for each power domain.

use model::page::{Block, Table, Text, Tone};
use model::record::PerformanceProfiles;
use model::{Known, Unavailable};

use super::parts::{PageBuilder, cpus, list, name};

/// What is asked of levels.
pub(super) fn blocks(
    told: &mut PageBuilder<'_>,
    header: &str,
    value: fn(&PerformanceProfiles) -> Result<String, &Unavailable>,
) -> Vec<Block> {
    let mut rows = Vec::new();
    for domain in &told.run.domains {
        let place = name(told.run, &[domain]);
        let value = match &domain.profiles {
            Some(Known::Yes(profiles)) => value(profiles),
            Some(Known::No { unavailable }) => Err(unavailable),
            None => continue,
        };
        let text = match value {
            Ok(value) => Text::toned(value, Tone::Strong),
            Err(unavailable) => {
                told.lacking(unavailable, place.clone());
                Text::toned("not told", Tone::Faint)
            }
        };
        let on = if domain.cpus.is_empty() { String::new() } else { cpus(&domain.cpus) };
        rows.push(vec![place.into(), on.into(), text]);
    }
    vec![Table::of("").label("where").left("CPUs").left(header).rows(rows).into()]
}

/// The revision of the interface, where firmware is asked.
pub(super) fn revision(of: &PerformanceProfiles) -> Result<String, &Unavailable> {
    match &of.revision {
        Known::Yes(revision) => Ok(revision.to_string()),
        Known::No { unavailable } => Err(unavailable),
    }
}

/// The highest level, and where there are gaps below it, all of them.
pub(super) fn levels(of: &PerformanceProfiles) -> String {
    let there = list(of.there.iter().map(|level| u32::from(*level)));
    format!("{} (there are {there})", of.highest)
}

/// Who locks the level.
pub(super) fn lock(of: &PerformanceProfiles) -> String {
    match (of.locked, &of.locked_by_register) {
        (true, Some(Known::Yes(true))) => "locked, by firmware and by register 64Bh",
        (true, _) => "locked, by firmware until the next reset",
        (false, Some(Known::Yes(true))) => "locked, by register 64Bh",
        (false, Some(Known::No { .. })) => "not locked by firmware; register 64Bh cannot be read",
        (false, _) => "unlocked",
    }
    .to_owned()
}
