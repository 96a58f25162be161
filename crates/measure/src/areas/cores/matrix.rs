//! Matrices that core-to-core-latency writes, as records.
//!
//! # Source
//! <https://github.com/nviennot/core-to-core-latency>: `src/bench/cas.rs` measures, `src/bench.rs` writes. A cell is
//! half of a round trip in nanoseconds, the mean over samples; only those left of the diagonal are filled. Its third
//! benchmark, messages in one direction, fills the others, too, and is none of ours.

use std::collections::BTreeMap;

use model::record::{
    Disturbance, Machine, Outcome, Plan, Presentation, Record, Run, Samples, Series, Tool,
};
use model::{CpuId, Finding, Unit};

use super::{AREA, LATENCY, MESSAGES};
use crate::original::Sha256;

const PROGRAM: &str = "core-to-core-latency";

/// What is wrong with a matrix.
#[derive(Debug, thiserror::Error)]
#[error("line {line} of the matrix: {why}")]
pub struct MatrixError {
    line: usize,
    why: String,
}

/// Whether it begins as a matrix does, with nothing left of the diagonal; neither JSON nor HTML does.
pub fn is_matrix(text: &str) -> bool {
    text.starts_with(',')
}

/// A matrix as a record, by the time of its file where it has one: the matrix itself says nothing of when.
pub fn of_matrix(
    text: &str,
    modified: Option<String>,
    presentation: Presentation,
) -> Result<Record, MatrixError> {
    let latencies = latencies(text)?;
    let from = modified.as_ref().map_or(String::new(), |time| format!(" in a file of {time}"));
    let unknown = || "unknown".to_owned();
    let run = Run {
        // One content, one run.
        id: Sha256::of(text.as_bytes()).to_string(),
        started: modified.unwrap_or_default(),
        seconds: 0.0,
        command: vec![PROGRAM.to_owned()],
        simulated: None,
        elsewhere: Some(format!("a matrix{from}")),
        interrupted: None,
        events: Vec::new(),
        plan: Plan {
            cpus: latencies.iter().flat_map(|(pair, _)| *pair).collect(),
            placement: "numbered by the rows of the matrix".to_owned(),
            blocks_planned: 1,
            blocks_done: 1,
            ..Plan::nothing()
        },
        presentation,
    };
    Ok(Record {
        tool: Tool { name: PROGRAM.to_owned(), version: unknown(), target: unknown() },
        series: latencies.into_iter().filter_map(|(pair, seconds)| series(pair, seconds)).collect(),
        findings: vec![foreign()],
        ..Record::new(run, Machine::default())
    })
}

/// Each pair, the lower CPU first, and its seconds.
fn latencies(text: &str) -> Result<Vec<([CpuId; 2], f64)>, MatrixError> {
    let rows: Vec<Vec<&str>> =
        text.trim_end().lines().map(|line| line.split(',').map(str::trim).collect()).collect();
    let cpus = rows.first().map_or(0, Vec::len);
    let mut latencies = Vec::new();
    for ((a, line), row) in (0..).zip(1..).zip(&rows) {
        let wrong = |why| Err(MatrixError { line, why });
        if line > cpus {
            return wrong(format!("one line too many: the first line has {cpus} cells"));
        }
        if row.len() != cpus {
            return wrong(format!("{} cells, but the first line has {cpus}", row.len()));
        }
        for (b, cell) in (0..).zip(row) {
            if a <= b {
                if !cell.is_empty() {
                    return wrong(format!("cell {} is not left of the diagonal", b + 1));
                }
                continue;
            }
            let seconds = cell.parse().map(|nanoseconds: f64| nanoseconds / 1e9);
            match seconds {
                Ok(seconds) if seconds.is_finite() && seconds > 0.0 => {
                    latencies.push(([CpuId(b), CpuId(a)], seconds));
                }
                _ => {
                    let cell: String = cell.chars().take(SHOWN).collect();
                    return wrong(format!("cell {}, {cell:?}, is no number above 0", b + 1));
                }
            }
        }
    }
    if rows.len() < cpus {
        let why = format!("missing: the first line has {cpus} cells, so {cpus} lines are needed");
        return Err(MatrixError { line: rows.len() + 1, why });
    }
    Ok(latencies)
}

/// Characters of a cell that an error repeats: numbers have fewer.
const SHOWN: usize = 24;

fn series([a, b]: [CpuId; 2], seconds: f64) -> Option<Series> {
    let samples = Samples::Plain(vec![vec![seconds]]);
    let summary = samples.summary()?;
    Some(Series {
        area: AREA.to_owned(),
        workload: MESSAGES[0].id.to_owned(),
        quantity: LATENCY.to_owned(),
        unit: Unit::Second,
        parameters: BTreeMap::new(),
        cpu: a,
        active: [a, b].into_iter().collect(),
        placement_class: None,
        outcome: Outcome::Measured { samples, summary },
        fixed_cost: None,
        disturbance: Disturbance::default(),
    })
}

/// Without it, a run that nobody watched would be called quiet.
fn foreign() -> Finding {
    let text = format!(
        "{PROGRAM} measured these numbers, by default with compare-and-swap: one mean for each \
         pair, without spread, and disturbances are unknown"
    );
    Finding::warning("cores.foreign", "all latencies", text)
        .remedy("on that machine: `cpudyno cores`".to_owned())
}

#[cfg(test)]
mod tests {
    use model::page::{Block, HeatCell};
    use model::record::PageKind;
    use proptest::prelude::*;

    use report::areas::cores::page;

    use super::*;

    const FOUR: &str = ",,,\n5.25,,,\n20.5,21,,\n22,23.75,6,\n";

    fn read(text: &str) -> Result<Record, String> {
        let presentation = Presentation::of(PageKind::Cores);
        let time = Some("2026-01-01T00:00:00Z".to_owned());
        of_matrix(text, time, presentation).map_err(|error| error.to_string())
    }

    #[test]
    fn a_matrix_is_shown_as_it_is() {
        for text in [FOUR.to_owned(), FOUR.replace('\n', "\r\n")] {
            let record = read(&text).unwrap();
            let page = page(&record, 1);
            let maps = page.blocks.iter().filter_map(|block| match block {
                Block::HeatMap(map) => Some(map),
                _ => None,
            });
            let [map] = maps.collect::<Vec<_>>()[..] else { panic!("one map is expected") };
            let rows = map.groups[0].iter().map(|row| {
                let text = |cell: &HeatCell| match cell {
                    HeatCell::Value { text, .. } => text.clone(),
                    HeatCell::Absent(text) => text.text.clone(),
                };
                row.cells.iter().map(text).collect::<Vec<_>>().join(" ")
            });
            let rows: Vec<String> = rows.collect();
            assert_eq!(rows, ["- 5 20 22", "5 - 21 24", "20 21 - 6", "22 24 6 -"]);
            let text = format!("{page:?}");
            for said in
                ["a matrix in a file of 2026-", "all 6\"", "fair, see the findings", PROGRAM]
            {
                assert!(text.contains(said), "no `{said}` in {text}");
            }
            for unsaid in ["quiet", "sweeps", "64 lines", "nine tenths", "()"] {
                assert!(!text.contains(unsaid), "`{unsaid}` in {text}");
            }
        }
    }

    #[test]
    fn what_is_no_matrix_is_refused_by_its_line() {
        let bent = [
            (",,,\n5.25,,,\n20.5,21,,\n", "line 4", "missing"),
            (",,,\n5.25,,,\n20.5,21,,\n22,2", "line 4", "2 cells"),
            (",,,\n5.25,,,\n20.5,near,,\n22,23,6,\n", "line 3", "\"near\""),
            (",,,\n5.25,,,\n20.5,,,\n22,23,6,\n", "line 3", "cell 2"),
            (",\n-4,\n", "line 2", "above 0"),
            (",\nNaN,\n", "line 2", "above 0"),
            (",\ninf,\n", "line 2", "above 0"),
            (",5\n5,\n", "line 1", "diagonal"),
            (",\n5,\n5,6\n", "line 3", "too many"),
        ];
        for (text, line, why) in bent {
            let error = read(text).unwrap_err();
            assert!(error.contains(line) && error.contains(why), "{error} of {text:?}");
        }
    }

    proptest! {
        /// Each pair that is told is one of the file's, with its number.
        #[test]
        fn no_bent_matrix_has_pairs_of_its_own(
            place in 0..FOUR.len(),
            length in 0..8usize,
            put in "[-,.0-9e\nx]{0,6}",
        ) {
            let mut text = FOUR.to_owned();
            text.replace_range(place..(place + length).min(FOUR.len()), &put);
            if let Ok(record) = read(&text) {
                let cells: Vec<Vec<&str>> =
                    text.lines().map(|line| line.split(',').collect()).collect();
                for series in &record.series {
                    let [b, a] = series.active.iter().collect::<Vec<_>>()[..] else {
                        panic!("a pair is two")
                    };
                    let nanoseconds: f64 = cells[a.0 as usize][b.0 as usize].parse().unwrap();
                    let median = series.summary().unwrap().median;
                    prop_assert_eq!(median.to_bits(), (nanoseconds / 1e9).to_bits());
                }
                let cpus = record.run.plan.cpus.len();
                prop_assert_eq!(record.series.len(), cpus * (cpus - 1) / 2);
                let _ = page(&record, 1);
            }
        }
    }
}
