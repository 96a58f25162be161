//! The area's part of the sheet.

use model::page::{Block, Table, Text};
use model::record::{Record, Relation};

use super::findings::cliff;
use super::read::Cell;
use super::shown::idle::{distributions, staircases, table};
use super::shown::microseconds;
use super::shown::signals::{measured, of_types, plot};

pub(super) fn section(record: &Record) -> Vec<Block> {
    let cells = measured(record);
    if cells.is_empty() {
        return Vec::new();
    }
    let row = |cell: &Cell<'_>| {
        let spread = cell.spread("round_trip")?;
        let kind = cell.kind().map_or("-", Relation::word);
        let mut row = vec![
            Text::from(cell.workload),
            kind.into(),
            format!("{}{}", cell.active, of_types(record, cell.active)).into(),
            cell.told("time_per_signal", microseconds)?,
        ];
        let numbers = [spread.median, spread.p99, spread.p999, spread.max];
        row.extend(numbers.map(|seconds| Text::from(microseconds(seconds))));
        Some(row)
    };
    let rows: Vec<Vec<Text>> = cells.iter().filter_map(row).collect();
    let apart: Vec<&Cell<'_>> =
        cells.iter().filter(|cell| cell.kind() != Some(Relation::SameCpu)).collect();
    let mut blocks = vec![
        Block::Heading("Wake-ups".to_owned()),
        Table::of("Wake-up by method and pair, us")
            .left("method")
            .left("pair")
            .right("CPUs")
            .right("us/signal")
            .right("round trip")
            .right("p99")
            .right("p99.9")
            .right("max")
            .rows(rows)
            .into(),
    ];
    blocks.extend(plot(&apart));
    blocks.extend(staircases(record).iter().map(table));
    blocks.extend(distributions(record));
    blocks
}

pub(super) fn sentences(record: &Record) -> Vec<Text> {
    let cells = measured(record);
    let of = |method: &str| {
        let mut found =
            cells.iter().filter(|c| c.workload == method && c.kind() != Some(Relation::SameCpu));
        found.find_map(|cell| cell.median("time_per_signal"))
    };
    let mut sentences: Vec<Text> = Vec::new();
    if let Some(futex) = of("futex") {
        let spin = of("spin-pause").map_or(String::new(), |spin| {
            format!("; one that spins sees a signal after {} us", microseconds(spin))
        });
        let text = format!(
            "Waking a thread on another core takes {} us by futex{spin}.",
            microseconds(futex)
        );
        sentences.push(text.into());
    }
    sentences.extend(staircases(record).first().and_then(cliff).map(Text::from));
    sentences
}
