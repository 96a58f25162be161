//! What firmware promises each licence by active cores, and what priorities make of it.

use model::page::{Align, Block, Table, Text, Tone};
use model::record::{FeatureState, LicenceFrequency, LicenceSteps, Record};
use model::{Hertz, Known};

use super::super::in_order;
use super::{read, why};

/// The present level's turbo frequencies by licence, with those of turbo-freq; nothing where firmware states
/// none.
pub(super) fn licences(record: &Record) -> Option<Block> {
    let cpu = record.run.plan.cpus.iter().next()?;
    let (domain, level) = why::level_of(record, cpu)?;
    let tables = level.properties.as_ref()?.turbo.value()?;
    let licences = in_order(tables.iter().map(|table| table.licence.as_str()));
    let mut rows = steps(tables, &licences, "");
    let priorities = level.turbo_freq.as_ref().and_then(Known::value);
    if let Some(priorities) = priorities {
        rows.extend(steps(&priorities.chosen, &licences, "turbo-freq, chosen cores: "));
        rows.push(others(&priorities.others, &licences));
    }
    let mut notes = vec![format!("firmware, level {} of CPUs {}", level.number, domain.cpus)];
    if priorities.is_some() {
        let is_on = level.turbo_freq_state.value() == Some(&FeatureState::Enabled);
        notes.push(format!("turbo-freq is {}", if is_on { "on" } else { "off" }));
    }
    let columns = licences.iter().map(|licence| ((*licence).to_owned(), Align::Right));
    Some(Block::Table(Table {
        caption: "promised by licence and active cores, MHz".to_owned(),
        columns: std::iter::once(("active cores".to_owned(), Align::Left)).chain(columns).collect(),
        rows,
        notes,
    }))
}

/// A line for each number of active cores.
fn steps(tables: &[LicenceSteps], licences: &[&str], of: &str) -> Vec<Vec<Text>> {
    let counts = in_order(tables.iter().flat_map(|table| &table.steps).map(|step| step.cores));
    let line = |cores: &Option<u16>| {
        let label = cores.map_or("any".to_owned(), |cores| format!("up to {cores}"));
        let cell = |licence: &&str| {
            let table = tables.iter().find(|table| table.licence == **licence);
            let step = table.and_then(|it| it.steps.iter().find(|step| step.cores == *cores));
            mhz(step.and_then(|step| step.hertz))
        };
        std::iter::once(Text::from(format!("{of}{label}")))
            .chain(licences.iter().map(cell))
            .collect()
    };
    counts.iter().map(line).collect()
}

/// The clip of those that are not chosen.
fn others(clips: &[LicenceFrequency], licences: &[&str]) -> Vec<Text> {
    let cell = |licence: &&str| {
        mhz(clips.iter().find(|clip| clip.licence == **licence).map(|clip| clip.hertz))
    };
    let label = Text::from("turbo-freq, others");
    std::iter::once(label).chain(licences.iter().map(cell)).collect()
}

fn mhz(hertz: Option<Hertz>) -> Text {
    hertz.map_or(Text::toned("-", Tone::Faint), |hertz| read::mhz(hertz.0).into())
}
