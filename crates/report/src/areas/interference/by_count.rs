//! What one neighbour costs, half of the others, and all of them.

use model::areas::interference::{BESIDE, CLASSES, Place};
use model::page::{Block, Table, Text, Tone};
use model::record::{Record, Series};

use super::{
    AREA, BANDWIDTH, CLOCK, COLUMNS, Change, MOVED, MatrixColumn, NOISE, SCALAR, SCALAR_CLASS,
    WORTH,
};

/// Ascending by number.
const PLACES: [Place; 3] = [Place::One, Place::Half, Place::Others];

/// What that many neighbours of a class leave a victim, and how many they are.
struct Counted {
    neighbours: usize,
    /// Whether there are no more.
    is_all: bool,
    change: Change,
}

fn counted(record: &Record, column: &MatrixColumn, class: &str, place: Place) -> Option<Counted> {
    let is_it = |series: &&Series| {
        series.workload == column.victim
            && series.parameters.get(BESIDE).is_some_and(|it| it == class)
            && super::place(series) == Some(place.word())
    };
    let found = record.series_of(AREA, column.measure.ratio).find(is_it)?;
    let summary = found.summary()?;
    let (ratio, interval) = (summary.median, summary.between_blocks);
    let change = Change { ratio, interval, is_sure: false };
    let neighbours = found.active.len().saturating_sub(1);
    Some(Counted { neighbours, is_all: matches!(place, Place::Others), change })
}

/// All that was measured of a class, fewest neighbours first; nothing where all of them alone were.
fn of_class(record: &Record, column: &MatrixColumn, class: &str) -> Vec<Counted> {
    let all: Vec<Counted> =
        PLACES.iter().filter_map(|place| counted(record, column, class, *place)).collect();
    if all.len() > 1 { all } else { Vec::new() }
}

/// The columns that tell what a number of neighbours costs.
fn columns() -> impl Iterator<Item = &'static MatrixColumn> {
    COLUMNS.iter().filter(|it| {
        (it.victim, it.measure.ratio) == (SCALAR, CLOCK.ratio)
            || (it.victim, it.measure.ratio) == (BANDWIDTH, MOVED.ratio)
    })
}

/// `one neighbour costs 2.0 %, 14 cost 9.1 %, all 27 cost 18.0 %`, where all of them cost anything worth words.
pub(super) fn words(record: &Record, column: &MatrixColumn, class: &str) -> Option<String> {
    let all = of_class(record, column, class);
    let most = all.last()?;
    if most.change.loss(column.measure) < WORTH {
        return None;
    }
    let part = |it: &Counted| {
        let lost = (it.change.loss(column.measure) * 100.0).max(0.0);
        match it.neighbours {
            1 => format!("one neighbour costs {lost:.1} %"),
            count if it.is_all => format!("all {count} cost {lost:.1} %"),
            count => format!("{count} cost {lost:.1} %"),
        }
    };
    Some(all.iter().map(part).collect::<Vec<_>>().join(", "))
}

/// Whether a class costs other than what neighbours do that are merely active: those stand for all that cost as much.
fn costs_more(record: &Record, column: &MatrixColumn, class: &str) -> bool {
    let of = |class| counted(record, column, class, Place::Others).map(|it| it.change.ratio);
    let others = of(SCALAR_CLASS).filter(|_| class != SCALAR_CLASS).zip(of(class));
    others.is_none_or(|(active, own)| (own - active).abs() > NOISE / 100.0)
}

/// A row for each class and victim that was measured beside fewer neighbours than all.
pub(super) fn table(record: &Record) -> Option<Block> {
    let mut notes = Vec::new();
    let mut counts: [Option<usize>; 3] = [None; 3];
    let mut rows: Vec<Vec<Text>> = Vec::new();
    for column in columns() {
        for class in CLASSES {
            if of_class(record, column, class).is_empty() {
                continue;
            }
            let mut row = vec![Text::from(class), Text::from(column.title)];
            for (place, count) in PLACES.into_iter().zip(&mut counts) {
                let found = counted(record, column, class, place);
                *count = count.or(found.as_ref().map(|it| it.neighbours));
                let text = found.map(|it| Text::from(it.change.text()));
                row.push(text.unwrap_or_else(|| Text::toned("-", Tone::Faint)));
            }
            rows.push(row);
            let said = words(record, column, class).filter(|_| costs_more(record, column, class));
            notes.extend(said.map(|words| format!("{class}, {}: {words}", column.title)));
        }
    }
    let title = |word: &str, count: Option<usize>| match count {
        Some(count) if word != "1" => format!("{word} ({count})"),
        _ => word.to_owned(),
    };
    let [_, half, all] = counts;
    let table =
        Table::of("Change by number of neighbours on other cores, %: median and its interval")
            .left("beside")
            .left("victim")
            .right("1")
            .right(title("half", half))
            .right(title("all", all));
    (!rows.is_empty()).then(|| table.rows(rows).legend(notes).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::areas::interference::{PLACE, column};
    use crate::testing::{blank, series};

    fn record(ratios: &[(Place, &str, f64)]) -> Record {
        let mut record = blank();
        for (place, active, ratio) in ratios {
            let parameters = [(BESIDE, "memory"), (PLACE, place.word())];
            let block = [*ratio];
            let blocks: [&[f64]; 6] = [&block; 6];
            let of = [AREA, BANDWIDTH, MOVED.ratio];
            record.series.push(series(of, active, &parameters, &blocks));
        }
        record
    }

    #[test]
    fn cost_is_said_by_number_of_neighbours() {
        const TRIAD: MatrixColumn = column(["triad GB/s", "", ""], BANDWIDTH, &MOVED);
        let all = [
            (Place::Others, "0-8", 0.82),
            (Place::One, "0-1", 0.98),
            (Place::Half, "0,2,4,6,8", 0.9),
        ];
        let told = words(&record(&all), &TRIAD, "memory").unwrap();
        assert_eq!(told, "one neighbour costs 2.0 %, 4 cost 10.0 %, all 8 cost 18.0 %");
        // Beside half of them is not beside all.
        let few = words(&record(&all[1..]), &TRIAD, "memory").unwrap();
        assert_eq!(few, "one neighbour costs 2.0 %, 4 cost 10.0 %");
        let Some(Block::Table(table)) = table(&record(&all)) else { panic!("a table") };
        let titles: Vec<&str> = table.columns.iter().map(|it| it.0.as_str()).collect();
        assert_eq!(titles, ["beside", "victim", "1", "half (4)", "all (8)"]);
        assert_eq!(words(&record(&all[..1]), &TRIAD, "memory"), None, "all of them alone");
        let little = [(Place::Others, "0-2", 0.99), (Place::One, "0-1", 0.99)];
        assert_eq!(words(&record(&little), &TRIAD, "memory"), None, "not worth words");
    }
}
