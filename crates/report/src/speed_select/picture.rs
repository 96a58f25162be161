//! Performance levels at one glance: which clock each allows to how many cores, by licence.

use std::collections::BTreeSet;

use model::page::{Block, HeatCell, HeatMap, HeatRow, Outline, Text, Tone, si};
use model::record::{LicenceSteps, PerformanceLevel, PerformanceProfiles, SpeedSelect};
use model::{Known, Unit};

/// The map of the first power domain whose levels state turbo frequencies; nothing where none does.
pub(super) fn block(run: &SpeedSelect) -> Option<Block> {
    let mut profiles = run.domains.iter().filter_map(|domain| domain.profiles.as_ref()?.value());
    profiles.find_map(of)
}

fn of(profiles: &PerformanceProfiles) -> Option<Block> {
    let tables: Vec<(&PerformanceLevel, &LicenceSteps)> = profiles
        .levels
        .iter()
        .filter_map(|level| Some((level, level.properties.as_ref()?.turbo.value()?)))
        .flat_map(|(level, tables)| tables.iter().map(move |table| (level, table)))
        .collect();
    let counts: BTreeSet<u16> =
        tables.iter().flat_map(|(_, table)| &table.steps).filter_map(|step| step.cores).collect();
    if tables.is_empty() || counts.is_empty() {
        return None;
    }
    let cell = |table: &LicenceSteps, count: u16| {
        let step = table.steps.iter().find(|step| step.cores.is_some_and(|cores| cores >= count));
        match step.and_then(|step| step.hertz) {
            Some(hertz) => {
                let mhz = hertz.0 / 1e6;
                HeatCell::Value { value: mhz, text: format!("{mhz:.0}") }
            }
            None => HeatCell::Absent(Text::toned("-", Tone::Faint)),
        }
    };
    let row = |(level, table): &(&PerformanceLevel, &LicenceSteps)| HeatRow {
        label: format!("level {}, {}", level.number, table.licence),
        cells: counts.iter().map(|count| cell(table, *count)).collect(),
    };
    let groups = tables.chunk_by(|a, b| a.0.number == b.0.number);
    let now = tables.iter().enumerate().filter(|(_, (level, _))| level.number == profiles.current);
    let cells = now.flat_map(|(line, _)| (0..counts.len()).map(move |column| (line, column)));
    Some(Block::HeatMap(HeatMap {
        caption: "Turbo frequency by level and licence, MHz".to_owned(),
        unit: "MHz".to_owned(),
        row_title: "level, licence".to_owned(),
        column_title: "up to so many active cores".to_owned(),
        columns: counts.iter().map(u16::to_string).collect(),
        groups: groups.map(|group| group.iter().map(row).collect()).collect(),
        legend: profiles.levels.iter().filter_map(level).collect(),
        notes: Vec::new(),
        shaded_from: None,
        outline: Some(Outline {
            meaning: format!("level {}, at present", profiles.current),
            cells: cells.collect(),
        }),
    }))
}

/// What else a level is: its base frequency, power and cores.
fn level(level: &PerformanceLevel) -> Option<String> {
    let properties = level.properties.as_ref()?;
    let base = properties.base.value().and_then(|base| base.first());
    let base =
        base.map(|it| format!("base {} ({})", si::format(it.hertz.0, Unit::Hertz), it.licence));
    let power = properties.tdp_watts.value().map(|watts| format!("{watts} W"));
    let cpus = properties.allowed.value().map(|allowed| format!("CPUs {}", allowed.cpus));
    let mut parts: Vec<String> = [base, power, cpus].into_iter().flatten().collect();
    let chosen = level.base_freq.as_ref().and_then(Known::value);
    let base = chosen.map(|_| "has base-freq".to_owned());
    let turbo = level.turbo_freq.as_ref().and_then(Known::value);
    parts.extend(base.into_iter().chain(turbo.map(|_| "has turbo-freq".to_owned())));
    Some(format!("level {}: {}", level.number, parts.join(", ")))
}
