//! The page of `cpudyno top`; a pure function of the record (invariant I2).

use std::collections::BTreeMap;

use model::page::{Align, Block, Page, Table, Text, Tone};
use model::record::{Record, Samples, Series};
use model::{CpuId, Unit};

use super::{AREA, COLUMN, HIDDEN, INTERVAL, SOURCE};
use crate::parts::{self, known};

/// The columns that say where a CPU sits.
pub const PLACES: &[&str] = &["Package", "Core", "CPU"];

/// The whole page: what stands before the first interval, each interval, what stands after the last.
/// `cpudyno top` prints them one by one.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let mut blocks = beginning(record);
    let count = lengths(record).len();
    blocks.extend((0..count).map(|index| interval(record, index)));
    blocks.extend(end(record, verbosity));
    Page { blocks }
}

/// What is watched.
pub fn beginning(record: &Record) -> Vec<Block> {
    let run = &record.run;
    let text = match &run.simulated {
        Some(name) => format!("SIMULATED activity: machine sim:{name}, nothing was measured"),
        None => "What the CPUs do".to_owned(),
    };
    let every = match run.plan.budget_seconds {
        0.0 => "one interval".to_owned(),
        seconds => format!("every {seconds} s"),
    };
    let subtitle =
        format!("{} {}, {}, {every}", record.tool.name, record.tool.version, run.started);
    let lines = [
        ("CPU", known(record, "cpu.brand")),
        ("CPUs", Some(run.plan.cpus.to_string())),
        ("Frequency", frequency(record)),
    ];
    let lines =
        lines.into_iter().filter_map(|(label, text)| Some((label.to_owned(), text?.into())));
    vec![Block::Title { text, subtitle }, Block::Box(lines.collect())]
}

fn frequency(record: &Record) -> Option<String> {
    let parts = [known(record, "cpufreq.driver"), known(record, "cpufreq.governor")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// One interval as a table: `-` is all of the watched CPUs.
pub fn interval(record: &Record, index: usize) -> Block {
    let columns = columns(record);
    let seconds = lengths(record).get(index).copied().unwrap_or_default();
    let mut headers = PLACES.to_vec();
    headers.extend(columns.iter().filter(|column| !column.hidden).map(|column| column.name));
    let mut rows = vec![all_row(&columns, index)];
    for cpu in record.run.plan.cpus.iter() {
        let place = record.machine.topology.place(cpu);
        let number = |number: Option<u32>| number.map_or("-".to_owned(), |n| n.to_string());
        let mut row: Vec<Text> = vec![
            number(place.map(|place| place.package)).into(),
            number(place.map(|place| place.core)).into(),
            cpu.to_string().into(),
        ];
        let shown = columns.iter().filter(|column| !column.hidden);
        row.extend(shown.map(|column| match column.of.get(&cpu) {
            // Another CPU of its core or package carries it.
            None if !column.unread => Text::default(),
            None => cell(None, column.unit),
            Some(series) => cell(value(series, index), column.unit),
        }));
        rows.push(row);
    }
    Table::of(format!("over {seconds:.3} s"))
        .columns(headers.into_iter().map(aligned))
        .rows(rows)
        .into()
}

/// The places say which row it is.
fn aligned(header: &str) -> (String, Align) {
    let is_place = PLACES.contains(&header);
    (header.to_owned(), if is_place { Align::Label } else { Align::Right })
}

/// What is to be said when it is over.
pub fn end(record: &Record, verbosity: u8) -> Vec<Block> {
    let mut shown = record.clone();
    shown.series.retain(|series| !series.parameters.contains_key(HIDDEN));
    let mut blocks = parts::missing(&shown);
    if verbosity > 0 {
        blocks.push(sources(record));
    }
    blocks
}

/// Where columns come from.
fn sources(record: &Record) -> Block {
    let of = |series: &Series| {
        Some((series.parameters.get(COLUMN)?.clone(), series.parameters.get(SOURCE)?.clone()))
    };
    let mut rows: Vec<(String, String)> = all(record).filter_map(of).collect();
    rows.dedup();
    let rows = rows.into_iter().map(|(name, source)| vec![name.into(), source.into()]);
    Table::of("Sources of columns").left("column").left("source").rows(rows).into()
}

/// The part of the sheet: all CPUs in one row, over the run.
pub(super) fn section(record: &Record) -> Vec<Block> {
    let columns = columns(record);
    if columns.is_empty() {
        return Vec::new();
    }
    let headers = columns.iter().map(|column| (column.name, Align::Right));
    let row = columns.iter().map(|column| cell(of_all(&columns, column, 0), column.unit)).collect();
    let table = Table::of("All CPUs over the whole run").columns(headers).rows([row]);
    vec![Block::Heading("What the CPUs did meanwhile".to_owned()), Block::Table(table)]
}

fn all(record: &Record) -> impl Iterator<Item = &Series> {
    record.series.iter().filter(|series| series.area == AREA)
}

/// How long each interval was, in seconds.
fn lengths(record: &Record) -> Vec<f64> {
    let series = all(record).find(|series| series.quantity == INTERVAL);
    series.and_then(Series::samples).map(Samples::all).unwrap_or_default()
}

/// A column of the table.
struct TopColumn<'a> {
    name: &'a str,
    unit: Unit,
    hidden: bool,
    /// Named, and not read of any CPU.
    unread: bool,
    of: BTreeMap<CpuId, &'a Series>,
}

/// Columns with a number somewhere, and those that were named, in the order of the record.
fn columns(record: &Record) -> Vec<TopColumn<'_>> {
    let mut columns: Vec<TopColumn<'_>> = Vec::new();
    for series in all(record) {
        let Some(name) = series.parameters.get(COLUMN) else { continue };
        let hidden = series.parameters.contains_key(HIDDEN);
        match columns.iter_mut().find(|column| column.name == name) {
            Some(column) => drop(column.of.insert(series.cpu, series)),
            None => columns.push(TopColumn {
                name,
                unit: series.unit,
                hidden,
                unread: !series.parameters.contains_key(SOURCE),
                of: BTreeMap::from([(series.cpu, series)]),
            }),
        }
    }
    // Where some were named, these stay: who asked for one sees that it has no number.
    let are_named = columns.iter().any(|column| column.hidden || column.unread);
    let has_number =
        |column: &TopColumn<'_>| column.of.values().any(|series| series.samples().is_some());
    columns.retain(|column| has_number(column) || are_named && !column.hidden);
    columns
}

fn value(series: &Series, index: usize) -> Option<f64> {
    match series.samples()? {
        Samples::Plain(blocks) => blocks.get(index)?.first().copied(),
        Samples::Packed { .. } => None,
    }
}

fn cell(value: Option<f64>, unit: Unit) -> Text {
    let Some(value) = value else { return Text::toned("-", Tone::Faint) };
    match unit {
        Unit::Hertz => format!("{:.0}", value / 1e6),
        Unit::Celsius | Unit::Count => format!("{value:.0}"),
        Unit::One => format!("{:.2}", value * 100.0),
        _ => format!("{value:.2}"),
    }
    .into()
}

fn all_row(columns: &[TopColumn<'_>], index: usize) -> Vec<Text> {
    let mut row: Vec<Text> = vec!["-".into(); 3];
    let shown = columns.iter().filter(|column| !column.hidden);
    row.extend(shown.map(|column| {
        let cell = cell(of_all(columns, column, index), column.unit);
        Text::toned(cell.text, Tone::Strong)
    }));
    row
}

/// What a column says of all watched CPUs: watts and interrupts add up, the hottest sensor counts, an SMI stops all CPUs
/// at once, clocks are weighted by the time in which they ran, all else is a mean.
fn of_all(columns: &[TopColumn<'_>], column: &TopColumn<'_>, index: usize) -> Option<f64> {
    let values: Vec<f64> = column.of.values().filter_map(|s| value(s, index)).collect();
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    if values.is_empty() {
        return None;
    }
    let of = |quantity: &str| {
        let found = columns.iter().find(|c| c.of.values().any(|s| s.quantity == quantity))?;
        // Both are known of the same CPUs, or of none.
        let cpus = column.of.iter().filter(|(_, series)| value(series, index).is_some());
        let values: Option<Vec<f64>> =
            cpus.map(|(cpu, _)| value(found.of.get(cpu)?, index)).collect();
        Some(sum(&values?))
    };
    let quantity = column.of.values().next().map(|series| series.quantity.as_str());
    match (column.unit, quantity) {
        (Unit::Watt, _) | (_, Some("interrupts")) => Some(sum(&values)),
        (Unit::Celsius, _) | (_, Some("smis")) => values.into_iter().reduce(f64::max),
        (_, Some("busy_clock")) => Some(of("average_clock")? / of("busy_share")?),
        _ => Some(sum(&values) / values.len() as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, near, series};

    /// What a column says of CPUs 0 and 1 together in the second interval.
    fn both(quantity: &str, of: [f64; 2]) -> Option<f64> {
        let mut record = blank();
        let mut put = |quantity: &str, of: [f64; 2]| {
            for (cpu, value) in ["0", "1"].into_iter().zip(of) {
                let parameters = [(COLUMN, quantity)];
                let blocks: [&[f64]; 2] = [&[7.0], &[value]];
                record.series.push(series([AREA, "it", quantity], cpu, &parameters, &blocks));
            }
        };
        put("average_clock", [1e9, 3e9]);
        put("busy_share", [0.5, 1.0]);
        if !["average_clock", "busy_share"].contains(&quantity) {
            put(quantity, of);
        }
        let columns = columns(&record);
        let column = columns.iter().find(|column| column.name == quantity)?;
        of_all(&columns, column, 1)
    }

    #[test]
    fn watts_add_up_the_hottest_sensor_counts_and_shares_have_a_mean() {
        near(both("power", [10.0, 20.5]).unwrap(), 30.5);
        near(both("temperature", [50.0, 71.0]).unwrap(), 71.0);
        near(both("idle_share", [0.2, 0.6]).unwrap(), 0.4);
        near(both("interrupts", [250.0, 40.0]).unwrap(), 290.0);
        // One SMI stops all of them.
        near(both("smis", [2.0, 1.0]).unwrap(), 2.0);
    }

    #[test]
    fn the_clock_of_all_is_their_cycles_over_the_time_in_which_they_ran() {
        // (1 + 3) GHz over (0.5 + 1): not the mean of 2 and 3 GHz.
        near(both("busy_clock", [2e9, 3e9]).unwrap(), 4e9 / 1.5);
    }
}
