//! Counts of two records beside one another: what one has more of each event than the other, by unit of work.
//!
//! The difference of a run with something and one without is what that costs in events.

use model::Known;
use model::page::{Block, Page, Table, Text, Tone};
use model::record::{Counts, CountsRun, Record};
use serde::Serialize;

use crate::compare::Comparison;

/// A record of counts, and its file.
pub type NamedCounts<'a> = (&'a str, &'a Record);

/// The comparison of two records of counts for programs: with what each of them counted, in their order.
#[derive(Debug, Serialize)]
pub struct WithCounts<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    counts: Vec<&'a CountsRun>,
}

impl<'a> WithCounts<'a> {
    /// Of these records, of which the comparison is.
    pub fn of(comparison: &'a Comparison, records: [&'a Record; 2]) -> WithCounts<'a> {
        let counts = records.iter().filter_map(|record| record.counts.as_ref()).collect();
        WithCounts { comparison, counts }
    }
}

/// The page of two records of counts: the second less the first.
pub fn page([first, second]: [NamedCounts<'_>; 2]) -> Page {
    let tables = |record: &'_ Record| record.counts.as_ref().map_or(0, |run| run.tables.len());
    let mut blocks = vec![
        Block::Title {
            text: format!("Counts of {}, and of {}", subject(first.1), subject(second.1)),
            subtitle: "B less A, by unit of work".to_owned(),
        },
        Block::Box(vec![("A".to_owned(), named(first)), ("B".to_owned(), named(second))]),
    ];
    let pairs: Vec<(&Counts, &Counts)> = pairs(first.1, second.1).collect();
    blocks.extend(pairs.iter().map(|(a, b)| Block::Table(table(a, b))));
    let left = (tables(first.1) + tables(second.1)).saturating_sub(2 * pairs.len());
    if left > 0 {
        let text = format!("{left} tables are in one of the records alone");
        blocks.push(Block::Paragraph(Text::toned(text, Tone::Faint)));
    }
    Page { blocks }
}

fn subject(record: &Record) -> &str {
    record.counts.as_ref().map_or("nothing", |run| &run.subject)
}

fn named((file, record): NamedCounts<'_>) -> Text {
    let simulated = record.run.simulated.as_ref();
    let machine = simulated.map_or(String::new(), |name| format!(", SIMULATED sim:{name}"));
    format!("{file}: {}, {}{machine}", subject(record), record.run.started).into()
}

/// Tables of one title; where each has one alone, these two, whatever they are called.
fn pairs<'a>(
    first: &'a Record,
    second: &'a Record,
) -> impl Iterator<Item = (&'a Counts, &'a Counts)> {
    let tables = |record: &'a Record| -> &'a [Counts] {
        record.counts.as_ref().map_or(&[], |run| run.tables.as_slice())
    };
    let (a, b) = (tables(first), tables(second));
    let alone = a.len() == 1 && b.len() == 1;
    let like = move |one: &'a Counts| {
        let is_like = |other: &&Counts| {
            alone || (&other.title, &other.circumstances) == (&one.title, &one.circumstances)
        };
        Some((one, b.iter().find(is_like)?))
    };
    a.iter().filter_map(like)
}

/// So many of an event in each of that unit, where it was counted by it.
fn each(counts: &Counts, event: &str, unit: Option<&str>) -> Option<f64> {
    let row = counts.events.iter().find(|row| row.event == event)?;
    let Known::Yes(count) = row.count else { return None };
    let number = match unit {
        None if counts.units.is_empty() => 1,
        None => return None,
        Some(name) => counts.units.iter().find(|unit| unit.name == name)?.number,
    };
    Some(count as f64 / number as f64)
}

fn table(a: &Counts, b: &Counts) -> Table {
    let unit = a.units.first().map(|unit| unit.name.as_str());
    let title =
        if a.title == b.title { a.title.clone() } else { format!("{} and {}", a.title, b.title) };
    let number = |value: f64| Text::from(format!("{value:.3}"));
    let row = |name: &str, a: Option<f64>, b: Option<f64>| {
        let dash = || Text::toned("-", Tone::Faint);
        let both = a.zip(b);
        let ratio = both.filter(|(a, _)| *a != 0.0).map(|(a, b)| b / a);
        let difference = both.map(|(a, b)| Text::from(format!("{:+.3}", b - a)));
        vec![
            name.into(),
            a.map_or_else(dash, number),
            b.map_or_else(dash, number),
            difference.unwrap_or_else(dash),
            ratio.map_or_else(dash, number),
        ]
    };
    let event = |name: &str| row(name, each(a, name, unit), each(b, name, unit));
    let of_b = b.events.iter().filter(|row| a.events.iter().all(|it| it.event != row.event));
    let events = a.events.iter().chain(of_b).map(|row| event(&row.event));
    let metric = |id: &str, title: &str| {
        let of = |counts: &Counts| {
            let found = counts.metrics.iter().find(|metric| metric.id == id)?;
            found.value.value().copied()
        };
        row(title, of(a), of(b))
    };
    let metrics = a.metrics.iter().map(|it| metric(&it.id, &format!("{} ({})", it.title, it.unit)));
    Table::of(format!("{title}: by {}", unit.unwrap_or("execution")))
        .label("EVENT")
        .right("A")
        .right("B")
        .right("B - A")
        .right("B / A")
        .rows(events.chain(metrics))
}

#[cfg(test)]
mod tests {
    use model::record::{CountedBy, CountedUnit, CountsRun, EventCount};

    use super::*;
    use crate::testing::blank;

    /// Counts of so many bytes.
    fn record(bytes: u64, counts: &[(&str, u64)]) -> Record {
        let event = |(event, count): &(&str, u64)| EventCount {
            event: (*event).to_owned(),
            by: CountedBy::General,
            unit: None,
            count: Known::Yes(*count),
            own: None,
            way: None,
        };
        let table = Counts {
            title: "checksum".to_owned(),
            units: vec![CountedUnit::new("byte", bytes)],
            events: counts.iter().map(event).collect(),
            ..Counts::default()
        };
        let run = CountsRun { tables: vec![table], ..CountsRun::default() };
        Record { counts: Some(run), ..blank() }
    }

    #[test]
    fn the_difference_is_by_unit_and_what_one_lacks_has_none() {
        let (a, b) = (
            record(1000, &[("instructions", 2918), ("branches", 260), ("misses", 0)]),
            record(2000, &[("instructions", 1624), ("misses", 2), ("loads", 400)]),
        );
        let page = page([("a.json", &a), ("b.json", &b)]);
        let tables = page.blocks.iter().filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
        let tables: Vec<&Table> = tables.collect();
        let [table] = tables.as_slice() else { panic!("{tables:?}") };
        let rows: Vec<Vec<&str>> =
            table.rows.iter().map(|row| row.iter().map(|it| it.text.as_str()).collect()).collect();
        // 2918 of 1000 bytes are 2.918, 1624 of 2000 are 0.812: 2.106 less, 0.278 times as many.
        assert_eq!(rows[0], ["instructions", "2.918", "0.812", "-2.106", "0.278"]);
        assert_eq!(rows[1], ["branches", "0.260", "-", "-", "-"]);
        // Nothing has no ratio.
        assert_eq!(rows[2], ["misses", "0.000", "0.001", "+0.001", "-"]);
        assert_eq!(rows[3], ["loads", "-", "0.200", "-", "-"]);
        // Loops and bytes have no difference.
        let mut other = b.clone();
        other.counts.as_mut().unwrap().tables[0].units = vec![CountedUnit::new("loop", 2000)];
        let [a, b] = [&a, &other].map(|it| &it.counts.as_ref().unwrap().tables[0]);
        assert_eq!(super::table(a, b).rows[0][3].text, "-");
    }
}
