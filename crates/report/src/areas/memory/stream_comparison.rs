//! The original STREAM beside ours, as people read it.

use model::areas::memory::choice;
use model::page::{Align, Block, Table, Text};
use model::record::{OriginalRate, OriginalRun, Record};

use super::byte_accounting::Counting;
use super::read::{Cell, cells, in_order};

/// Its numbers and ours, both without write-allocate.
pub(super) fn section(record: &Record) -> Vec<Block> {
    let Some(original) = &record.original else { return Vec::new() };
    let counting = Counting::of(record).as_asked();
    let cells = cells(record, "bandwidth");
    let number = |bytes: f64| Text::from(counting.text(bytes));
    let choices = in_order(cells.iter().filter_map(|cell| cell.text("choice")));
    let row = |rate: &OriginalRate| {
        let theirs = rate.best_bytes_per_second;
        let mut row = vec![Text::from(rate.workload.as_str()), number(theirs)];
        for choice in &choices {
            let ours = best(&cells, original, &rate.workload, choice);
            row.push(ours.map_or_else(|| "not asked for".into(), number));
            let ratio = |ours: f64| format!("{:.2}", ours / theirs).into();
            row.push(ours.map_or_else(|| Text::from("-"), ratio));
        }
        row
    };
    let columns = choices.iter().flat_map(|chosen| {
        let variant = if *chosen == choice::BEST { "best variant" } else { chosen };
        [(format!("ours, {variant}"), Align::Right), ("ratio".to_owned(), Align::Right)]
    });
    vec![
        Block::Heading("Original STREAM beside ours".to_owned()),
        Table::of(format!(
            "best repetition in {}, bytes that the program asks for, no write-allocate; higher \
             is better",
            counting.unit()
        ))
        .left("kernel")
        .right("original, best")
        .columns(columns)
        .rows(original.rates.iter().map(row))
        .legend(original.remarks.iter().map(|line| format!("it wrote: {line}")))
        .notes(notes(original))
        .into(),
    ]
}

fn notes(original: &OriginalRun) -> Vec<String> {
    let revision = original.revision.as_deref().unwrap_or("unknown");
    let validates = match original.validates {
        Some(true) => "it says that its solution validates",
        Some(false) => "it says that its solution is wrong",
        None => "it does not say whether its solution is right",
    };
    vec![
        format!("source: revision {revision}, SHA-256 {}", original.source_sha256),
        format!("compiled by {} with {}", original.compiler, original.flags.join(" ")),
        format!("arrays of {} elements on CPUs {}; {validates}", original.elements, original.cpus),
    ]
}

/// Our best repetition on the same CPUs, of that choice of variants.
fn best(cells: &[Cell<'_>], original: &OriginalRun, workload: &str, choice: &str) -> Option<f64> {
    let wanted = |cell: &&Cell<'_>| {
        cell.workload == workload
            && *cell.active == original.cpus
            && cell.text("choice") == Some(choice)
    };
    let bests = cells.iter().filter(wanted).filter_map(|cell| Some(cell.numbers("bandwidth")?.max));
    bests.reduce(f64::max)
}
