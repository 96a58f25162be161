//! The table of counts: events, totals, one column by unit.

use std::fmt;

use crate::record::{CountedBy, CountedUnit, Counts, EventCount, MetricValue};
use crate::{Known, Unavailable};

/// The row of the energy that the package drew meanwhile, in nanojoules.
pub const PACKAGE_ENERGY: &str = "package-energy";

/// What a reader must know of it.
const OF_ENERGY: &str = "package-energy is of all that the package did meanwhile, idling included";

/// A table of counts as text: `EVENT`, `TOTAL` with thousands, one column by unit with three decimals,
/// the units themselves as rows. Events without a count have a dash, and their reasons stand below.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

/// The table of counts by these units, in place of those that were counted with.
pub fn report(counts: &Counts, per: &[(&str, u64)]) -> Report {
    let units: Vec<CountedUnit> =
        per.iter().map(|(name, number)| CountedUnit::new(*name, *number)).collect();
    Report::of(counts, &units)
}

impl Report {
    /// A table of counts by these units.
    pub fn of(counts: &Counts, units: &[CountedUnit]) -> Report {
        let mut columns = vec!["EVENT".to_owned(), "TOTAL".to_owned()];
        columns.extend(units.iter().map(|unit| format!("/{}", unit.name)));
        let per = |value: u64| units.iter().map(move |unit| quotient(value, unit.number));
        let mut rows = Vec::new();
        for row in &counts.events {
            let mut cells = vec![label(row)];
            match row.count {
                Known::Yes(value) => {
                    cells.push(thousands(value));
                    cells.extend(per(value));
                }
                Known::No { .. } => cells.resize(columns.len(), "-".to_owned()),
            }
            rows.push(cells);
        }
        for unit in units {
            let mut cells = vec![unit.name.clone(), thousands(unit.number)];
            cells.extend(per(unit.number));
            rows.push(cells);
        }
        Report { columns, rows, notes: notes(counts) }
    }

    /// Counts by unit, a column for each of the circumstances.
    pub fn of_sheet(tables: &[Counts]) -> Report {
        let mut events: Vec<&str> = Vec::new();
        for row in tables.iter().flat_map(|counts| &counts.events) {
            if !events.contains(&row.event.as_str()) {
                events.push(&row.event);
            }
        }
        let cell = |counts: &Counts, event: &str| {
            let number = counts.units.first().map_or(1, |unit| unit.number);
            let row = counts.events.iter().find(|row| row.event == event)?;
            Some(quotient(*row.count.value()?, number))
        };
        let row = |event: &&str| {
            let cells =
                tables.iter().map(|counts| cell(counts, event).unwrap_or_else(|| "-".to_owned()));
            std::iter::once((*event).to_owned()).chain(cells).collect()
        };
        let columns = std::iter::once("EVENT".to_owned()).chain(tables.iter().map(header));
        let unit = tables.iter().find_map(|counts| counts.units.first());
        let unit = unit.map_or("execution", |unit| unit.name.as_str());
        Report {
            columns: columns.collect(),
            rows: events.iter().map(row).collect(),
            notes: std::iter::once(format!("counts of each {unit}"))
                .chain(tables.iter().find_map(of_energy))
                .collect(),
        }
    }

    /// The headers.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The rows, with a cell for each column.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// What a reader must know beside the numbers.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// What a column is of: the circumstances, or the title.
pub fn header(counts: &Counts) -> String {
    if counts.circumstances.is_empty() {
        return counts.title.clone();
    }
    let words = ["size", "state"].into_iter().filter_map(|key| counts.circumstances.get(key));
    words.cloned().collect::<Vec<_>>().join(", ")
}

fn label(row: &EventCount) -> String {
    match &row.unit {
        Some(unit) => format!("{} ({unit})", row.event),
        None => row.event.clone(),
    }
}

/// `1,234,567`
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number by unit with three decimals; a dash of no units.
pub fn quotient(value: u64, number: u64) -> String {
    if number == 0 { "-".to_owned() } else { format!("{:.3}", value as f64 / number as f64) }
}

/// How it was counted, in sentences.
fn notes(counts: &Counts) -> Vec<String> {
    let mut notes = Vec::new();
    let mut ways: Vec<&str> = counts
        .events
        .iter()
        .filter(|row| matches!(row.by, CountedBy::Fixed | CountedBy::General))
        .filter_map(|row| row.way.as_deref())
        .collect();
    ways.sort_unstable();
    ways.dedup();
    if counts.executions > 1 {
        let times = counts.executions;
        notes.push(format!("executed {times} times: there are more events than counters"));
    }
    for spread in &counts.spread {
        let (least, greatest) = (thousands(spread.least), thousands(spread.greatest));
        let verdict = if spread.agrees { "" } else { ": too far apart for one table" };
        notes.push(format!("{}: {least} to {greatest} in these executions{verdict}", spread.event));
    }
    if !ways.is_empty() {
        notes.push(format!("counters read by {}", ways.join(" and ")));
    }
    notes.extend(of_energy(counts));
    notes
}

/// What to know of the energy, where there is some.
fn of_energy(counts: &Counts) -> Option<String> {
    let row = counts.events.iter().find(|row| row.event == PACKAGE_ENERGY)?;
    let way = row.way.as_deref().filter(|_| row.count.value().is_some())?;
    Some(format!("{OF_ENERGY} ({way})"))
}

/// What is missing, with reason and remedy, of events and of what follows from them.
pub fn reasons(tables: &[Counts]) -> impl Iterator<Item = (String, Unavailable)> {
    tables.iter().flat_map(|counts| {
        let rows = counts.events.iter().map(|row| (&row.event, absent(&row.count)));
        let metrics = counts.metrics.iter().map(|metric| (&metric.title, absent(&metric.value)));
        let spot = counts.spot.as_ref().and_then(absent);
        let spot = spot.map(|reason| (reason.what.clone(), reason));
        rows.chain(metrics).filter_map(|(name, reason)| Some((name.clone(), reason?))).chain(spot)
    })
}

fn absent<T>(known: &Known<T>) -> Option<Unavailable> {
    match known {
        Known::Yes(_) => None,
        Known::No { unavailable } => Some(unavailable.clone()),
    }
}

/// What has the same reason together.
pub fn gathered(
    absent: impl IntoIterator<Item = (String, Unavailable)>,
) -> Vec<(Vec<String>, String, Option<String>)> {
    let mut found: Vec<(Vec<String>, String, Option<String>)> = Vec::new();
    for (event, unavailable) in absent {
        let same = found
            .iter_mut()
            .find(|(_, why, remedy)| *why == unavailable.why && *remedy == unavailable.remedy);
        match same {
            Some((events, ..)) if events.contains(&event) => {}
            Some((events, ..)) => events.push(event),
            None => found.push((vec![event], unavailable.why, unavailable.remedy)),
        }
    }
    found
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|at| {
                let cells = self.rows.iter().chain([&self.columns]).map(|row| row[at].len());
                cells.max().unwrap_or(0)
            })
            .collect();
        for row in [&self.columns].into_iter().chain(&self.rows) {
            write!(f, "{:<width$}", row[0], width = widths[0])?;
            for (cell, width) in row.iter().zip(&widths).skip(1) {
                write!(f, "  {cell:>width$}")?;
            }
            writeln!(f)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "{note}"))
    }
}

/// The table and, below it, why some events have no count.
pub fn with_reasons(counts: &Counts, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{}", Report::of(counts, &counts.units))?;
    for metric in &counts.metrics {
        writeln!(f, "{}: {} {}", metric.title, number(metric), metric.unit)?;
    }
    write_reasons(std::slice::from_ref(counts), f)
}

/// Why some events have no count.
pub fn write_reasons(tables: &[Counts], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (events, why, remedy) in gathered(reasons(tables)) {
        let remedy = remedy.map(|remedy| format!("; {remedy}")).unwrap_or_default();
        writeln!(f, "{}: {why}{remedy}", events.join(", "))?;
    }
    Ok(())
}

/// A metric without its unit; a dash where there is no value.
pub fn number(metric: &MetricValue) -> String {
    match &metric.value {
        Known::Yes(value) if metric.unit.starts_with('%') => format!("{value:.1}"),
        Known::Yes(value) => format!("{value:.3}"),
        Known::No { .. } => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_have_thousands() {
        let numbers = [(0, "0"), (999, "999"), (1000, "1,000"), (144_000_000, "144,000,000")];
        for (number, text) in numbers {
            assert_eq!(thousands(number), text);
        }
        assert_eq!(quotient(1, 0), "-");
        assert_eq!(quotient(420_255_210, 100_000), "4202.552");
    }
}
