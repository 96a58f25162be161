//! What one PAUSE costs, on every CPU.
//!
//! Spin loops execute it between two looks at a lock; it takes from 3 to 230 cycles by CPU model, and
//! nothing announces how long.

use model::page::{Align, Bar, Bars, Block, Table, Text, Tone, si};
use model::record::{Record, Series};
use model::{CpuId, Finding, Severity, Unit};

use super::{Area, Cell, Planning, Wishes, series_of};
use crate::rig::collect::{Guard, Quantity, Take};
use crate::rig::protocol;
use crate::streams;

/// The area.
pub struct Pause;

const WORKLOAD: &str = "pause_only";

static QUANTITIES: &[Quantity] = &[
    Quantity {
        id: "time_per_op",
        label: "time per pause",
        unit: Unit::SecondPerOp,
        better: "",
        doc: "Duration of one executed PAUSE, by n against 2n.",
        guard: Guard::None,
        if_offered: false,
        packing: 1e-3,
        take: Take::PerOp(|reduced| &reduced.seconds),
    },
    Quantity {
        id: "cycles_per_op",
        label: "cycles per pause",
        unit: Unit::CyclePerOp,
        better: "",
        doc: "The same in core cycles, by the multiply chains beside it. A busy SMT sibling changes \
              the pause itself, so that it is not held back when the witness disagrees.",
        guard: Guard::None,
        if_offered: false,
        packing: 1e-3,
        take: Take::PerOp(|reduced| &reduced.cycles),
    },
];

impl Area for Pause {
    fn id(&self) -> &'static str {
        "pause"
    }

    fn weight(&self) -> f64 {
        1.0
    }

    fn quantities(&self) -> &'static [Quantity] {
        QUANTITIES
    }

    fn wishes(&self, plan: &Planning<'_>) -> Wishes {
        let mut wishes = Wishes::default();
        for row in plan.streams.iter().filter(|row| row.id == WORKLOAD) {
            match streams::load(plan.machine, row, super::DATA) {
                Err(reason) => wishes.absent.push((row.id, reason)),
                Ok(load) => {
                    let alone = |cpu: &CpuId| Cell::uniform(0, load, &[*cpu], protocol::cycles());
                    wishes.cells.extend(plan.placement.cpus.iter().map(alone));
                }
            }
        }
        wishes
    }

    fn findings(&self, record: &Record) -> Vec<Finding> {
        /// Beyond this, CPUs of one machine differ by more than their clocks do.
        const RATIO_MAX: f64 = 1.5;
        let medians: Vec<f64> = times(record).filter_map(|s| Some(s.summary()?.median)).collect();
        let low = medians.iter().copied().fold(f64::INFINITY, f64::min);
        let high = medians.iter().copied().fold(0.0, f64::max);
        if high <= low * RATIO_MAX {
            return Vec::new();
        }
        vec![Finding {
            id: "pause.uneven".to_owned(),
            severity: Severity::Note,
            about: "pause".to_owned(),
            text: format!(
                "a pause takes {} on one CPU and {} on another: core types differ, or a sibling is busy",
                si::format(low, Unit::SecondPerOp),
                si::format(high, Unit::SecondPerOp)
            ),
            remedy: None,
        }]
    }

    fn sentences(&self, record: &Record) -> Vec<Text> {
        let medians = |series: &mut dyn Iterator<Item = &Series>| {
            let medians: Vec<f64> = series.filter_map(|s| Some(s.summary()?.median)).collect();
            model::stats::median(&medians)
        };
        let Some(time) = medians(&mut times(record)) else { return Vec::new() };
        let cycles = medians(&mut series_of(record, "pause", "cycles_per_op"));
        let cycles = cycles.map_or(String::new(), |cycles| format!(" ({cycles:.0} cycles)"));
        let thousand = si::format(time * 1000.0, Unit::Second);
        vec![
            format!(
                "One pause takes {}{cycles}: a spin loop of 1,000 pauses waits {thousand}.",
                si::format(time, Unit::SecondPerOp)
            )
            .into(),
        ]
    }

    fn section(&self, record: &Record) -> Vec<Block> {
        let rows: Vec<(&Series, Option<&Series>)> = times(record)
            .map(|time| {
                let cycles = series_of(record, "pause", "cycles_per_op")
                    .find(|s| s.cpu == time.cpu && s.active == time.active);
                (time, cycles)
            })
            .collect();
        if rows.is_empty() {
            return Vec::new();
        }
        vec![Block::Heading("Pause".to_owned()), table(&rows), bars(&rows)]
    }
}

fn times(record: &Record) -> impl Iterator<Item = &Series> {
    series_of(record, "pause", "time_per_op")
}

/// Above this many CPUs the table shows the extremes and the middle; the record has all.
const CPUS_SHOWN_MAX: usize = 8;

/// All rows with a number, or those with the least, the middle and the greatest time.
fn shown<'a, 'b>(
    rows: &'b [(&'a Series, Option<&'a Series>)],
) -> Vec<&'b (&'a Series, Option<&'a Series>)> {
    let median = |row: &(&Series, Option<&Series>)| row.0.summary().map(|s| s.median);
    let mut known: Vec<_> = rows.iter().filter(|row| median(row).is_some()).collect();
    if known.len() <= CPUS_SHOWN_MAX {
        return known;
    }
    known.sort_by(|a, b| median(a).partial_cmp(&median(b)).unwrap_or(std::cmp::Ordering::Equal));
    vec![known[0], known[known.len() / 2], known[known.len() - 1]]
}

fn table(rows: &[(&Series, Option<&Series>)]) -> Block {
    let cells = |row: &(&Series, Option<&Series>)| {
        let number = |series: Option<&Series>, number: fn(f64) -> String| {
            series.and_then(Series::summary).map_or_else(
                || Text::toned("unavailable", Tone::Warning),
                |s| number(s.median).into(),
            )
        };
        let spread = row.0.summary().map_or(Text::from("-"), |s| {
            let time = |seconds| format!("{:.1}", seconds * 1e9);
            format!("{} - {}", time(s.p5), time(s.p95)).into()
        });
        vec![
            row.0.cpu.to_string().into(),
            number(Some(row.0), |seconds| format!("{:.2}", seconds * 1e9)),
            spread,
            number(row.1, |cycles| format!("{cycles:.1}")),
        ]
    };
    let shown = shown(rows);
    let known = rows.iter().filter(|row| row.0.summary().is_some()).count();
    let mut notes = Vec::new();
    if shown.len() < known {
        notes.push(format!("least, middle and greatest of {known} CPUs; the record has all"));
    }
    if known < rows.len() {
        notes.push(format!("{known} of {} CPUs were measured", rows.len()));
    }
    Block::Table(Table {
        caption: "PAUSE, each CPU alone; counted as executed".to_owned(),
        columns: vec![
            ("CPU".to_owned(), Align::Right),
            ("ns".to_owned(), Align::Right),
            ("p5 - p95 ns".to_owned(), Align::Right),
            ("cycles".to_owned(), Align::Right),
        ],
        rows: shown.into_iter().map(cells).collect(),
        notes,
    })
}

fn bars(rows: &[(&Series, Option<&Series>)]) -> Block {
    let bar = |row: &(&Series, Option<&Series>)| {
        let median = row.0.summary()?.median;
        Some(Bar {
            label: format!("CPU {}", row.0.cpu),
            value: median * 1e9,
            text: si::format(median, Unit::SecondPerOp),
        })
    };
    Block::Bars(Bars {
        caption: "time per pause (neither direction is better)".to_owned(),
        bars: shown(rows).into_iter().filter_map(bar).collect(),
    })
}
