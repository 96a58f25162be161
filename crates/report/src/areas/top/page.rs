//! The page of `cpudyno top`; a pure function of the record (invariant I2).

use std::collections::BTreeMap;

use model::page::{Align, Block, Lines, Page, Scale, Table, Text, Tone};
use model::record::{CpuPlace, Record, Samples, Series};
use model::{CpuId, CpuSet, Unit};

use super::{AREA, COLUMN, GROUP, HIDDEN, INTERVAL, SORT, SOURCE};
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
    let lengths_of = all(record).find(|series| series.quantity == INTERVAL);
    let order = |key| lengths_of?.parameters.get(key).map(String::as_str);
    let mut headers = PLACES.to_vec();
    headers.extend(columns.iter().filter(|column| !column.hidden).map(|column| column.name));
    let mut groups = groups(record, order(GROUP));
    if let Some(column) = columns.iter().find(|column| Some(column.name) == order(SORT)) {
        let value = |cpus: &CpuSet| of_group(&columns, column, cpus, index);
        // Whoever has no number stands at the end; rows that are alike keep their order.
        let key = |(_, cpus): &([Text; 3], CpuSet)| value(cpus).unwrap_or(f64::NEG_INFINITY);
        groups.sort_by(|one, other| key(other).total_cmp(&key(one)));
    }
    let everything = (["-".into(), "-".into(), "-".into()], record.run.plan.cpus.clone());
    let mut rows = Vec::with_capacity(groups.len() + 1);
    for (places, cpus) in std::iter::once(everything).chain(groups) {
        let is_all = rows.is_empty();
        let mut row: Vec<Text> = places.into();
        let shown = columns.iter().filter(|column| !column.hidden);
        row.extend(shown.map(|column| {
            // Another CPU of its core or package carries it.
            let is_carried = column.unread || cpus.iter().any(|cpu| column.of.contains_key(&cpu));
            match cell(of_group(&columns, column, &cpus, index), column) {
                _ if !is_carried => Text::default(),
                value if is_all => Text::toned(value.text, Tone::Strong),
                value => value,
            }
        }));
        rows.push(row);
    }
    let sorted = order(SORT).map_or(String::new(), |column| format!(", sorted by {column}"));
    Table::of(format!("over {seconds:.3} s{sorted}"))
        .columns(headers.into_iter().map(aligned))
        .rows(rows)
        .into()
}

/// What has a row: where it sits, and its CPUs.
fn groups(record: &Record, by: Option<&str>) -> Vec<([Text; 3], CpuSet)> {
    let topology = &record.machine.topology;
    let of = |place: &CpuPlace| match by {
        Some("core") => format!("{}/{}", place.package, place.core),
        Some("kind") => place.kind.clone().unwrap_or_else(|| "no kind".into()),
        Some("node") => place.node.map_or("no node".into(), |node| format!("node {node}")),
        Some(_) => place.package.to_string(),
        None => place.cpu.to_string(),
    };
    let mut groups: Vec<(String, Vec<CpuId>)> = Vec::new();
    for cpu in record.run.plan.cpus.iter() {
        let key = topology.place(cpu).map_or_else(|| cpu.to_string(), of);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, cpus)) => cpus.push(cpu),
            None => groups.push((key, vec![cpu])),
        }
    }
    let row = |(key, cpus): (String, Vec<CpuId>)| {
        let one = |of: fn(&CpuPlace) -> u32| -> Text {
            let mut all = cpus.iter().map(|cpu| topology.place(*cpu).map(of));
            let first = all.next().flatten();
            let same = first.filter(|_| all.all(|it| it == first));
            same.map_or("-".to_owned(), |number| number.to_string()).into()
        };
        let all: CpuSet = cpus.iter().copied().collect();
        let is_named = matches!(by, Some("kind" | "node"));
        let name = if is_named { format!("{key}: {all}") } else { all.to_string() };
        ([one(|place| place.package), one(|place| place.core), name.into()], all)
    };
    groups.into_iter().map(row).collect()
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
    blocks.extend(over_time(record));
    blocks
}

/// Where columns come from.
fn sources(record: &Record) -> Block {
    let of = |series: &Series| {
        let of = |key| series.parameters.get(key).cloned();
        Some((of(COLUMN)?, of(SOURCE).filter(|_| of(HIDDEN).is_none())?))
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
    let all = &record.run.plan.cpus;
    let row =
        columns.iter().map(|column| cell(of_group(&columns, column, all, 0), column)).collect();
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
    quantity: &'a str,
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
                quantity: &series.quantity,
                unit: series.unit,
                hidden,
                unread: !series.parameters.contains_key(SOURCE),
                of: BTreeMap::from([(series.cpu, series)]),
            }),
        }
    }
    // Where some were named, these stay: who asked for one sees that it has no number.
    let is_named = |of: &Series| of.parameters.get(HIDDEN).is_some_and(|why| why != "weight");
    let are_named = all(record).any(is_named) || columns.iter().any(|column| column.unread);
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

fn cell(value: Option<f64>, column: &TopColumn<'_>) -> Text {
    let Some(value) = value else { return Text::toned("-", Tone::Faint) };
    match (scaled(value, column), column.quantity) {
        (_, "added_value") => value.to_string(),
        ((value, digits), _) => format!("{value:.digits$}"),
    }
    .into()
}

/// As the name of its column says it, and with how many digits.
fn scaled(value: f64, column: &TopColumn<'_>) -> (f64, usize) {
    match (column.unit, column.quantity) {
        (Unit::Hertz, _) => (value / 1e6, 0),
        (Unit::PerSecond, _) => (value / 1e6, 2),
        (Unit::Celsius | Unit::Count, _) => (value, 0),
        (Unit::One, quantity) if quantity != "instructions_per_cycle" => (value * 100.0, 2),
        _ => (value, 2),
    }
}

/// What all watched CPUs did over time.
fn over_time(record: &Record) -> Vec<Block> {
    let (columns, lengths) = (columns(record), lengths(record));
    let mut at = 0.0;
    let middle = |length: &f64| {
        at += length;
        at - length / 2.0
    };
    let middles: Vec<f64> = lengths.iter().map(middle).collect();
    let reach = Some(lengths.iter().copied().fold(0.0, f64::max) * 1.5);
    let lines = |column: &TopColumn<'_>| {
        let value = |index| of_group(&columns, column, &record.run.plan.cpus, index);
        let point = |(at, middle): (usize, &f64)| Some((*middle, scaled(value(at)?, column).0));
        let points: Vec<(f64, f64)> = middles.iter().enumerate().filter_map(point).collect();
        let is_drawn = !column.hidden && points.len() > 1;
        let lines = vec![("all watched CPUs".to_owned(), points)];
        let (caption, x, y) =
            (format!("{} over time", column.name), "s".into(), column.name.into());
        let (x_scale, y_scale, marks) = (Scale::Linear, Scale::Linear, Vec::new());
        let plot = Lines { caption, x, y, x_scale, y_scale, reach, lines, marks };
        is_drawn.then_some(Block::Lines(plot))
    };
    let mut blocks: Vec<Block> = columns.iter().filter_map(lines).collect();
    if !blocks.is_empty() {
        blocks.insert(0, Block::Fold { title: "Over time".to_owned(), open: false });
    }
    blocks
}

/// What a column says of these CPUs: watts and what is counted add up, the hottest sensor counts, an SMI stops all CPUs
/// at once, what is a share of cycles or references is weighted by them, all else is a mean. What was added as
/// it is, stands for several where they agree. A sum is that of all, or none.
fn of_group(
    columns: &[TopColumn<'_>],
    column: &TopColumn<'_>,
    cpus: &CpuSet,
    index: usize,
) -> Option<f64> {
    let of = |column: &TopColumn<'_>, cpu| value(column.of.get(&cpu)?, index);
    let here: Vec<(CpuId, f64)> =
        cpus.iter().filter_map(|cpu| Some((cpu, of(column, cpu)?))).collect();
    let (&(_, first), sum) = (here.first()?, here.iter().map(|(_, value)| value).sum::<f64>());
    let weighted = |by: &str| {
        // The last: counters have cycles of their own, besides those of APERF.
        let by = columns.iter().rfind(|column| column.quantity == by)?;
        // Both are known of the same CPUs, or of none.
        let weights = here.iter().map(|(cpu, _)| of(by, *cpu)).collect::<Option<Vec<f64>>>()?;
        let all: f64 = weights.iter().sum();
        let value = here.iter().zip(&weights).map(|((_, value), weight)| value * weight);
        (all > 0.0).then(|| value.sum::<f64>() / all)
    };
    let carry = cpus.iter().filter(|cpu| column.of.contains_key(cpu)).count();
    match (column.unit, column.quantity) {
        _ if cpus.len() == 1 => Some(first),
        (_, "added_value") => {
            Some(first).filter(|it| here.iter().all(|of| of.1.total_cmp(it).is_eq()))
        }
        (_, "smis") | (Unit::Celsius, _) => here.iter().map(|it| it.1).reduce(f64::max),
        (Unit::Watt | Unit::Count | Unit::PerSecond, _) => {
            Some(sum).filter(|_| here.len() == carry)
        }
        (_, "busy_clock") => weighted("busy_share"),
        (_, "instructions_per_cycle" | "stall_share") => weighted("average_clock"),
        (_, "l2_hit_share") => weighted("l2_references"),
        (_, "llc_hit_share") => weighted("llc_references"),
        _ => Some(sum / here.len() as f64),
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
                let all: &[f64] = &[value];
                let blocks: [&[f64]; 2] = [&[7.0], &all[usize::from(value.is_nan())..]];
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
        of_group(&columns, column, &"0-1".parse().unwrap(), 1)
    }

    #[test]
    fn watts_add_up_the_hottest_sensor_counts_and_shares_have_a_mean() {
        near(both("power", [10.0, 20.5]).unwrap(), 30.5);
        near(both("temperature", [50.0, 71.0]).unwrap(), 71.0);
        near(both("idle_share", [0.2, 0.6]).unwrap(), 0.4);
        near(both("interrupts", [250.0, 40.0]).unwrap(), 290.0);
        // A sum of a part is none.
        assert_eq!(both("interrupts", [250.0, f64::NAN]), None);
        // One SMI stops all of them.
        near(both("smis", [2.0, 1.0]).unwrap(), 2.0);
    }

    #[test]
    fn the_clock_of_all_is_their_cycles_over_the_time_in_which_they_ran() {
        // (1 + 3) GHz over (0.5 + 1): not the mean of 2 and 3 GHz.
        near(both("busy_clock", [2e9, 3e9]).unwrap(), 4e9 / 1.5);
    }
}
