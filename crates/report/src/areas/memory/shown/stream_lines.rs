//! The lines in which the original STREAM prints its results, of our kernels.
//!
//! # Source
//! J. D. McCalpin, `stream.c` revision 5.10: the header, and `printf` of rates and times.

use model::areas::memory::choice;
use model::page::{Block, Table, Text};
use model::record::Record;

use super::super::read::{Cell, cells, in_order, threads};

/// Its kernels: ours, its label, and how many arrays one pass reads and writes.
const KERNELS: [(&str, &str, u64); 4] =
    [("copy", "Copy:", 2), ("scale", "Scale:", 2), ("add", "Add:", 3), ("triad", "Triad:", 3)];

/// A table for each number of threads: of ordinary stores, as compilers make them of its source, or of the variant
/// that was asked for.
pub(in super::super) fn blocks(record: &Record) -> Vec<Block> {
    let cells = cells(record, "bandwidth");
    let mut counts = in_order(cells.iter().map(|cell| cell.active));
    counts.sort_by_key(|active| active.len());
    let topology = &record.machine.topology;
    let of = |active| {
        let chosen = |choice: &str| {
            let is_it =
                |cell: &&Cell<'_>| cell.active == active && cell.text("choice") == Some(choice);
            let rows = KERNELS.into_iter().filter_map(|kernel| {
                row(cells.iter().filter(is_it).find(|cell| cell.workload == kernel.0)?, kernel)
            });
            rows.collect::<Vec<_>>()
        };
        let (words, rows) = match chosen(choice::ORDINARY) {
            rows if rows.is_empty() => ("the variant that was asked for", chosen(choice::AS_ASKED)),
            rows => ("ordinary stores", rows),
        };
        let caption = format!(
            "As STREAM prints it: {}, {words}; seconds of one pass",
            threads(topology, active)
        );
        let table = Table::of(caption)
            .left("Function")
            .right("Best Rate MB/s")
            .right("Avg time")
            .right("Min time")
            .right("Max time");
        (!rows.is_empty()).then(|| table.rows(rows).into())
    };
    counts.into_iter().filter_map(of).collect()
}

fn row(cell: &Cell<'_>, (_, label, arrays): (&str, &str, u64)) -> Option<Vec<Text>> {
    let rates = cell.shown("bandwidth")?.samples()?.all();
    let bytes = cell.array_bytes()?.saturating_mul(arrays) as f64;
    let times: Vec<f64> = rates.iter().map(|rate| bytes / rate).collect();
    let least = times.iter().copied().reduce(f64::min).filter(|least| *least > 0.0)?;
    let most = times.iter().copied().reduce(f64::max)?;
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let seconds = |time: f64| format!("{time:.6}").into();
    let best = format!("{:.1}", bytes / least / 1e6);
    Some(vec![label.into(), best.into(), seconds(mean), seconds(least), seconds(most)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, series};

    #[test]
    fn best_rate_and_times_are_those_of_one_pass_over_the_arrays() {
        let mut record = blank();
        let mut put = |kernel: &str, choice: &str, rates: &[f64]| {
            let parameters =
                [("question", "bandwidth"), ("choice", choice), ("elements", "1000000")];
            record.series.push(series(["memory", kernel, "bandwidth"], "0", &parameters, &[rates]));
        };
        put("triad", choice::BEST, &[30e9]);
        put("triad", choice::ORDINARY, &[12e9, 8e9]);
        put("copy", choice::ORDINARY, &[10e9, 8e9]);
        let [Block::Table(table)] = &blocks(&record)[..] else { panic!("{:?}", blocks(&record)) };
        let texts = |row: &Vec<Text>| row.iter().map(|it| it.text.clone()).collect::<Vec<_>>();
        // 16 MB at 10 and 8 GB/s; 24 MB at 12 and 8.
        assert_eq!(
            table.rows.iter().map(texts).collect::<Vec<_>>(),
            [
                ["Copy:", "10000.0", "0.001800", "0.001600", "0.002000"],
                ["Triad:", "12000.0", "0.002500", "0.002000", "0.003000"]
            ]
        );
    }
}
