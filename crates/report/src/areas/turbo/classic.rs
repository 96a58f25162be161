//! The tables of avx-turbo as it prints them, so that scripts for its output read ours.
//!
//! A banner for each number of threads, columns between bars, one value for each thread. Where no counters are read, the
//! columns that need them are missing, as they are there. A value that is missing is a dash.

use std::fmt::Write;

use model::page::Align;
use model::record::{InstrumentState, Record};

use super::page::mperf_hertz;
use super::read::{WorkloadRow, rows};

/// Between banners.
const RULE: usize = 73;

/// One column of a table, with its cells.
struct ClassicColumn {
    title: &'static str,
    align: Align,
    cells: Vec<String>,
}

/// All tables.
pub fn classic(record: &Record) -> String {
    let rows = rows(record);
    let mut text = String::new();
    if let Some(name) = &record.run.simulated {
        line(&mut text, format_args!("SIMULATED: machine sim:{name}, nothing was measured"));
    }
    let stamps = record.instruments.first().map(|instrument| &instrument.state);
    if let Some(InstrumentState::Used { rate: Some(rate), .. }) = stamps {
        let (mhz, source) = (rate.hertz.0 / 1e6, &rate.chosen);
        line(&mut text, format_args!("tsc_freq = {mhz:.1} MHz (from {source})"));
    }
    let most = rows.iter().map(|row| row.active.len()).max().unwrap_or(0);
    line(&mut text, format_args!("Will test up to {most} CPUs"));
    for part in rows.chunk_by(|a, b| a.active.len() == b.active.len()) {
        table(&mut text, record, part);
    }
    text
}

fn line(text: &mut String, words: std::fmt::Arguments<'_>) {
    writeln!(text, "{words}").expect("BUG: a string refuses to be written to");
}

fn table(text: &mut String, record: &Record, rows: &[WorkloadRow<'_>]) {
    let threads = rows.first().map_or(0, |row| row.active.len());
    let columns = columns(record, rows, threads);
    let width = |column: &ClassicColumn| {
        let all = column.cells.iter().map(String::as_str).chain([column.title]);
        all.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = columns.iter().map(width).collect();
    let cells = |of: &dyn Fn(&ClassicColumn) -> String| {
        let padded = columns.iter().zip(&widths).map(|(column, width)| match column.align {
            Align::Right => format!("{:>width$}", of(column)),
            _ => format!("{:<width$}", of(column)),
        });
        padded.collect::<Vec<_>>().join(" | ")
    };
    let banner = format!(" Threads: {threads:>2} ");
    line(text, format_args!("{banner:=^RULE$}"));
    line(text, format_args!("{}", cells(&|column| column.title.to_owned())));
    for at in 0..rows.len() {
        line(text, format_args!("{}", cells(&|column| column.cells[at].clone())));
    }
    line(text, format_args!("{:=<RULE$}\n", ""));
}

fn columns(record: &Record, rows: &[WorkloadRow<'_>], threads: usize) -> Vec<ClassicColumn> {
    let words = |title, of: &dyn Fn(&WorkloadRow<'_>) -> String| ClassicColumn {
        title,
        align: Align::Left,
        cells: rows.iter().map(of).collect(),
    };
    let titled = |row: &WorkloadRow<'_>| {
        record.run.plan.workload(row.workload).map_or(String::new(), |it| it.title.clone())
    };
    let overlap = ClassicColumn {
        title: "OVRLP3",
        align: Align::Right,
        cells: rows
            .iter()
            .map(|row| row.median("overlap").map_or("-".to_owned(), |it| format!("{it:.3}")))
            .collect(),
    };
    let mut columns = vec![
        words("Cores", &|_| threads.to_string()),
        words("ID", &|row| row.workload.to_owned()),
        words("Description", &titled),
        overlap,
        each_thread("Mops", rows, "time_per_op", 0, |seconds| 1e-6 / seconds),
    ];
    if let Some(hertz) = mperf_hertz(record) {
        columns.extend([
            each_thread("A/M-ratio", rows, "aperf_per_mperf", 2, |ratio| ratio),
            each_thread("A/M-MHz", rows, "aperf_per_mperf", 0, |ratio| ratio * hertz / 1e6),
            each_thread("M/tsc-ratio", rows, "mperf_rate", 2, |rate| rate / hertz),
        ]);
    }
    columns
}

/// One number for each thread, all as wide as the widest of the column.
fn each_thread(
    title: &'static str,
    rows: &[WorkloadRow<'_>],
    quantity: &str,
    digits: usize,
    value: impl Fn(f64) -> f64,
) -> ClassicColumn {
    let of = |row: &WorkloadRow<'_>| -> Vec<String> {
        let series = row.of(quantity).into_iter().map(|series| series.summary());
        let text = |median: f64| format!("{:.digits$}", value(median));
        let texts = series.map(|it| it.map_or("-".to_owned(), |it| text(it.median)));
        texts.collect()
    };
    let all: Vec<Vec<String>> = rows.iter().map(of).collect();
    let width = all.iter().flatten().map(String::len).max().unwrap_or(1);
    let joined = |values: &Vec<String>| {
        let padded: Vec<String> = values.iter().map(|it| format!("{it:>width$}")).collect();
        if padded.is_empty() { "-".to_owned() } else { padded.join(", ") }
    };
    ClassicColumn { title, align: Align::Right, cells: all.iter().map(joined).collect() }
}

#[cfg(test)]
mod tests {
    use model::areas::turbo::LIGHT;

    use super::*;
    use crate::testing::{on, series, turbo};

    #[test]
    fn each_number_of_threads_has_its_banner_and_a_value_for_each_of_them() {
        let mut record = turbo(&[(LIGHT, "0", 3500.0), (LIGHT, "0-1", 3300.0)]);
        let nanoseconds = |active: &str, cpu, time: f64| {
            on(cpu, series(["turbo", LIGHT, "time_per_op"], active, &[], &[&[time * 1e-9]]))
        };
        // 4 ns are 250 Mops, 0.4 ns 2,500, 0.5 ns 2,000.
        let times = [("0", 0, 4.0), ("0-1", 0, 0.4), ("0-1", 1, 0.5)];
        record.series.extend(times.map(|(active, cpu, time)| nanoseconds(active, cpu, time)));
        let text = classic(&record);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Will test up to 2 CPUs");
        let rule = "=".repeat(30);
        assert_eq!(lines[1], format!("{rule} Threads:  1 {rule}"));
        assert_eq!(lines[2], "Cores | ID          | Description | OVRLP3 | Mops");
        assert_eq!(lines[3], "1     | scalar_iadd |             |      - |  250");
        assert_eq!(lines[4], "=".repeat(73));
        assert_eq!(lines[5], "");
        assert_eq!(lines[8], "2     | scalar_iadd |             |      - | 2500, 2000");
    }
}
