//! What firmware promises each licence by active cores, and what priorities make of it.

use model::page::{Align, Block, Table, Text, Tone};
use model::record::{FeatureState, LicenceFrequency, LicenceSteps, Record};
use model::{Hertz, Known, in_order};

use super::{clock_account, published_licences, read};
use model::licence::Licence;

/// What each licence is promised by active cores, beside the fastest stream that was measured under it: by
/// firmware's present level with its turbo-freq, else as others state of this CPU; nothing where nobody tells.
pub(super) fn licences(record: &Record) -> Option<Block> {
    let Promised { titles, mut rows, notes, column } =
        by_firmware(record).or_else(|| by_others(record))?;
    let (clocks, left_out) = read::rows_shown(record);
    rows.extend(measured(record, &clocks, titles.len(), &*column));
    Some(
        Table::of("Promised clock by licence and active cores, MHz")
            .left("active cores")
            .columns(titles.into_iter().map(|title| (title, Align::Right)))
            .rows(rows)
            .legend(left_out)
            .notes(notes)
            .into(),
    )
}

/// What somebody promises each licence.
struct Promised {
    /// Of the columns.
    titles: Vec<String>,
    /// One for each number of active cores.
    rows: Vec<Vec<Text>>,
    notes: Vec<String>,
    /// The column of a licence.
    column: Box<dyn Fn(Licence) -> Option<usize>>,
}

fn by_firmware(record: &Record) -> Option<Promised> {
    let cpu = record.run.plan.cpus.iter().next()?;
    let (domain, level) = clock_account::level_of(record, cpu)?;
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
    let titles = licences.iter().map(|licence| (*licence).to_owned()).collect();
    let places: Vec<usize> = (0..licences.len()).collect();
    let column = move |licence: Licence| licence.row(&places).copied();
    Some(Promised { titles, rows, notes, column: Box::new(column) })
}

fn by_others(record: &Record) -> Option<Promised> {
    let cpu = published_licences::PublishedCpu::of(record)?;
    let counts = cpu.counts();
    let stated =
        |licence: &Licence| counts.iter().any(|(from, _)| cpu.hertz(*licence, *from).is_some());
    let licences: Vec<Licence> = Licence::ALL.into_iter().filter(stated).collect();
    let row = |&(from, to): &(usize, usize)| {
        let label = if from == to { from.to_string() } else { format!("{from} to {to}") };
        let cells = licences.iter().map(|it| mhz(cpu.hertz(*it, from).map(Hertz)));
        std::iter::once(Text::from(label)).chain(cells).collect()
    };
    let rows = counts.iter().map(row).collect();
    let notes = vec![format!("as others state of this CPU ({})", cpu.source)];
    let titles = licences.iter().map(|licence| licence.word().to_owned()).collect();
    let column = move |licence: Licence| licences.iter().position(|it| *it == licence);
    Some(Promised { titles, rows, notes, column: Box::new(column) })
}

/// The fastest stream of each licence, by active cores.
fn measured(
    record: &Record,
    rows: &[read::WorkloadRow<'_>],
    licences: usize,
    column: &dyn Fn(Licence) -> Option<usize>,
) -> Vec<Vec<Text>> {
    let line = |cell: Vec<&read::WorkloadRow<'_>>| {
        let first = cell.first()?;
        let mut best: Vec<Option<f64>> = vec![None; licences];
        for row in &cell {
            let Some(place) = column(record.run.plan.licence(row.workload)) else { continue };
            best[place] = row.median("clock").into_iter().chain(best[place]).reduce(f64::max);
        }
        let kind = first.core_type().map_or(String::new(), |kind| format!(" {kind}"));
        let own = first.cpus.as_ref().map_or(String::new(), |own| format!(", {}", own.named()));
        let label = Text::from(format!("measured, {}{kind} active{own}", first.active.len()));
        let cells = best.into_iter().map(|hertz| mhz(hertz.map(Hertz)));
        Some(std::iter::once(label).chain(cells).collect())
    };
    read::by_cpus(rows).into_iter().filter_map(line).collect()
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
