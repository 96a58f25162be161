//! What was seen, as parts of pages; a pure function of the record (invariant I2).

use model::page::{Align, Bar, Bars, Block, Page, Table, Text, Tone, si};
use model::record::{Record, Series};
use model::{Finding, Unit, in_order, stats};

use super::super::published::{Comparison, Figures, citations};

use super::{AREA, PAUSE};
use crate::band::Band;
use crate::figure::KeyFigure;
use crate::parts::{self, Leaf, known};

/// One instruction on one CPU.
struct Wait<'a> {
    time: &'a Series,
    cycles: Option<&'a Series>,
    core_type: Option<&'a str>,
    /// What others found.
    known: Option<Figures>,
}

impl Wait<'_> {
    fn seconds(&self) -> Option<f64> {
        self.time.summary().map(|summary| summary.median)
    }
}

/// Everything that was asked for, in the order of the record.
fn waits(record: &Record) -> Vec<Wait<'_>> {
    record.series_of(AREA, "time_per_op").map(|time| wait(record, time)).collect()
}

fn wait<'a>(record: &'a Record, time: &'a Series) -> Wait<'a> {
    let of_cpu = |series: &&Series| {
        (&series.workload, series.cpu, &series.active) == (&time.workload, time.cpu, &time.active)
    };
    let cycles = record.series_of(AREA, "cycles_per_op").find(of_cpu);
    let place = record.machine.topology.place(time.cpu);
    let core_type = place.and_then(|place| place.kind.as_deref());
    let known = Figures::in_record(record, &time.workload, core_type);
    Wait { time, cycles, core_type, known }
}

/// All rows with a number; of more than so many of one instruction and type of core, those with the
/// least, the middle and the greatest time.
fn shown<'a, 'b>(waits: &'b [Wait<'a>], most: usize) -> Vec<&'b Wait<'a>> {
    let mut groups: Vec<Vec<&Wait<'_>>> = Vec::new();
    for wait in waits.iter().filter(|wait| wait.seconds().is_some()) {
        let same = |group: &&mut Vec<&Wait<'_>>| {
            group[0].time.workload == wait.time.workload && group[0].core_type == wait.core_type
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(wait),
            None => groups.push(vec![wait]),
        }
    }
    groups.into_iter().flat_map(|group| extremes(group, most)).collect()
}

/// What a spinning thread waits with: the middle one of all CPUs, type by type.
pub(super) fn figures(record: &Record) -> Vec<KeyFigure> {
    let mut waits = waits(record);
    waits.retain(|wait| wait.time.workload == PAUSE && wait.seconds().is_some());
    let kinds = in_order(waits.iter().map(|wait| wait.core_type));
    let several = kinds.len() > 1;
    let of_kind = |kind: Option<&str>| {
        let mine: Vec<&Wait<'_>> = waits.iter().filter(|wait| wait.core_type == kind).collect();
        let name = match kind.filter(|_| several) {
            Some(kind) => format!("pause instruction, {kind}"),
            None => "pause instruction".to_owned(),
        };
        figure(record, name, mine)
    };
    kinds.into_iter().filter_map(of_kind).collect()
}

fn figure(record: &Record, name: String, mut waits: Vec<&Wait<'_>>) -> Option<KeyFigure> {
    waits.sort_by(|a, b| {
        a.seconds().unwrap_or_default().total_cmp(&b.seconds().unwrap_or_default())
    });
    let middle = waits.get(waits.len() / 2)?.time;
    let summary = middle.summary()?;
    let bands = bands(record);
    let is_alone = name == "pause instruction";
    let band = bands.iter().find(|band| is_alone && band.what.starts_with(PAUSE));
    let figure = KeyFigure::of(name, summary.median, Unit::Second);
    let figure = figure.known_to(summary.relative_uncertainty()).within(band);
    Some(figure.doubted(middle.is_doubtful()))
}

fn extremes<'a, 'b>(mut group: Vec<&'b Wait<'a>>, most: usize) -> Vec<&'b Wait<'a>> {
    if group.len() <= most.max(3) {
        return group;
    }
    group
        .sort_by(|a, b| a.seconds().partial_cmp(&b.seconds()).unwrap_or(std::cmp::Ordering::Equal));
    vec![group[0], group[group.len() / 2], group[group.len() - 1]]
}

/// Whether another instruction than the usual hint was measured.
fn are_several(waits: &[Wait<'_>]) -> bool {
    waits.iter().any(|wait| wait.time.workload != PAUSE && wait.seconds().is_some())
}

fn table(waits: &[Wait<'_>], most: usize) -> Block {
    let several_types = waits.iter().any(|wait| wait.core_type.is_some());
    let several_waits = are_several(waits);
    let row = |wait: &&Wait<'_>| {
        let spread = wait
            .time
            .summary()
            .map_or("-".to_owned(), |s| format!("{:.1} - {:.1}", s.p5 * 1e9, s.p95 * 1e9));
        let cycles = wait.cycles.and_then(Series::summary);
        let cycles = cycles.map_or_else(
            || Text::toned("unavailable", Tone::Warning),
            |summary| format!("{:.1}", summary.median).into(),
        );
        let known = wait.known.as_ref().map_or("-".to_owned(), Figures::words);
        let mut cells = Vec::new();
        if several_waits {
            cells.push(wait.time.workload.as_str().into());
        }
        cells.push(wait.time.cpu.to_string().into());
        if several_types {
            cells.push(wait.core_type.unwrap_or("-").into());
        }
        let nanoseconds = wait.seconds().map_or("-".to_owned(), |s| format!("{:.2}", s * 1e9));
        let nanoseconds = Text::toned(nanoseconds, Tone::Strong).doubted(wait.time.is_doubtful());
        cells.extend([nanoseconds, spread.into(), cycles, known.into()]);
        cells
    };
    let shown = shown(waits, most);
    let measured = waits.iter().filter(|wait| wait.seconds().is_some()).count();
    let mut legend = Vec::new();
    if shown.len() < measured {
        legend.push(format!(
            "least, middle and greatest of {measured}; `cpudyno pause` lists all, and the record has \
             them"
        ));
    }
    let figures = shown.iter().filter_map(|wait| wait.known.as_ref());
    let sources = citations(figures).into_iter().map(|line| format!("known: {line}"));
    Table::of("Time of one wait, each CPU alone")
        .columns(several_waits.then_some(("instruction", Align::Left)))
        .right("CPU")
        .columns(several_types.then_some(("type", Align::Left)))
        .right("ns")
        .right("p5 - p95 ns")
        .right("cycles")
        .right("known cycles")
        .rows(shown.iter().map(row))
        .legend(legend)
        .notes(sources)
        .into()
}

fn bars(waits: &[Wait<'_>]) -> Block {
    /// More bars than these tell nothing more.
    const BARS_MAX: usize = 8;
    let several_waits = are_several(waits);
    let bar = |wait: &&Wait<'_>| {
        let seconds = wait.seconds()?;
        let cpu = format!("CPU {}", wait.time.cpu);
        let label = if several_waits { format!("{} {cpu}", wait.time.workload) } else { cpu };
        Some(Bar {
            label,
            from: 0.0,
            value: seconds * 1e9,
            text: si::format(seconds, Unit::SecondPerOp),
        })
    };
    Block::Bars(Bars {
        caption: "Time per wait".to_owned(),
        bars: shown(waits, BARS_MAX).iter().filter_map(bar).collect(),
    })
}

/// Each instruction on each type of core, all its CPUs together.
pub(super) fn bands(record: &Record) -> Vec<Band> {
    let mut kinds: Vec<(&str, Option<&str>, Vec<f64>)> = Vec::new();
    for wait in waits(record) {
        let Some(cycles) = wait.cycles.and_then(Series::summary) else { continue };
        let (workload, kind) = (wait.time.workload.as_str(), wait.core_type);
        match kinds.iter_mut().find(|it| (it.0, it.1) == (workload, kind)) {
            Some((_, _, all)) => all.push(cycles.median),
            None => kinds.push((workload, kind, vec![cycles.median])),
        }
    }
    let band = |(workload, kind, cycles): &(&str, Option<&str>, Vec<f64>)| {
        Comparison::in_record(record, workload, *kind, stats::median(cycles)?, 0.0)?.band()
    };
    kinds.iter().filter_map(band).collect()
}

pub(super) fn section(record: &Record) -> Vec<Block> {
    /// Above this many CPUs the table shows the extremes and the middle.
    const CPUS_SHOWN_MAX: usize = 8;
    let waits = waits(record);
    if waits.iter().all(|wait| wait.seconds().is_none()) {
        return Vec::new();
    }
    vec![Block::Heading("Pause".to_owned()), table(&waits, CPUS_SHOWN_MAX), bars(&waits)]
}

/// How long each way to pause waits, on each CPU.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let waits = waits(record);
    let mut blocks = Vec::new();
    if waits.iter().any(|wait| wait.seconds().is_some()) {
        blocks.extend([table(&waits, usize::MAX), bars(&waits)]);
        blocks.extend(sentences(record).into_iter().map(Block::Paragraph));
    }
    let plan = &record.run.plan;
    let lines = vec![
        ("CPU", known(record, "cpu.brand")),
        ("Microarchitecture", known(record, "cpu.microarchitecture")),
        ("CPUs", Some(format!("{}: {}", plan.cpus, plan.placement))),
        ("Other busy CPUs", known(record, "busy.cpus")),
    ];
    let (title, simulated) = ("Time of instructions that wait", "time of instructions that wait");
    parts::leaf(
        record,
        verbosity,
        Leaf { answer: super::SECTION.sentences(record), title, simulated, lines, blocks },
    )
}

fn pauses(record: &Record) -> impl Iterator<Item = &Series> {
    record.series_of(AREA, "time_per_op").filter(|series| series.workload == PAUSE)
}

/// The least and the greatest median, where CPUs differ by more than they do among cores of one kind and clock.
fn unlike(record: &Record) -> Option<[f64; 2]> {
    const ALIKE: f64 = 1.05;
    let medians: Vec<f64> = pauses(record).filter_map(|s| Some(s.summary()?.median)).collect();
    let low = medians.iter().copied().reduce(f64::min)?;
    let high = medians.iter().copied().reduce(f64::max)?;
    (high > low * ALIKE).then_some([low, high])
}

pub(super) fn sentences(record: &Record) -> Vec<Text> {
    let medians = |series: &mut dyn Iterator<Item = &Series>| {
        let medians: Vec<f64> = series.filter_map(|s| Some(s.summary()?.median)).collect();
        stats::median(&medians)
    };
    let Some(time) = medians(&mut pauses(record)) else { return Vec::new() };
    if let Some([low, high]) = unlike(record) {
        let [low, high] = [low, high].map(|time| si::format(time, Unit::SecondPerOp));
        return vec![format!("One pause takes {low} to {high}, by CPU.").into()];
    }
    let mut cycles = record.series_of(AREA, "cycles_per_op").filter(|s| s.workload == PAUSE);
    let cycles = medians(&mut cycles);
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

pub(super) fn findings(record: &Record) -> Vec<Finding> {
    /// Beyond this, CPUs of one machine differ by more than their clocks do.
    const RATIO_MAX: f64 = 1.5;
    let medians: Vec<f64> = pauses(record).filter_map(|s| Some(s.summary()?.median)).collect();
    let low = medians.iter().copied().fold(f64::INFINITY, f64::min);
    let high = medians.iter().copied().fold(0.0, f64::max);
    if high <= low * RATIO_MAX {
        return Vec::new();
    }
    vec![Finding::note(
        "pause.uneven",
        "pause",
        format!(
            "a pause takes {} on one CPU and {} on another: core types differ, or a sibling is busy",
            si::format(low, Unit::SecondPerOp),
            si::format(high, Unit::SecondPerOp)
        ),
    )]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, near, say, series};

    /// Pauses of CPUs 0, 1, ... in nanoseconds, at 3 GHz.
    fn record(ns: &[f64]) -> Record {
        let mut record = blank();
        for (cpu, ns) in ns.iter().enumerate() {
            let cpu = cpu.to_string();
            record.series.push(series([AREA, PAUSE, "time_per_op"], &cpu, &[], &[&[ns * 1e-9]]));
            record.series.push(series([AREA, PAUSE, "cycles_per_op"], &cpu, &[], &[&[ns * 3.0]]));
        }
        record
    }

    #[test]
    fn the_key_figure_is_the_middle_cpu() {
        // 40, 44, 47 and 60 ns: of four the third.
        near(figures(&record(&[60.0, 44.0, 40.0]))[0].value().unwrap(), 44e-9);
        near(figures(&record(&[60.0, 44.0, 40.0, 47.0]))[0].value().unwrap(), 47e-9);
        assert!(figures(&record(&[])).is_empty());
    }

    #[test]
    fn pauses_are_uneven_where_one_takes_half_as_long_again() {
        // 1.5 x 40 ns are 60.
        assert!(findings(&record(&[40.0, 59.9])).is_empty());
        assert_eq!(findings(&record(&[40.0, 60.1]))[0].id, "pause.uneven");
    }

    #[test]
    fn the_band_of_pauses_is_around_what_others_found_over_the_median_of_cpus() {
        let mut record = record(&[40.0, 50.0, 45.0]);
        say(&mut record, "cpu.microarchitecture", "Skylake");
        record.run.plan.workloads = vec![model::record::PlannedWorkload {
            id: PAUSE.to_owned(),
            title: String::new(),
            kind: "spin".to_owned(),
            width_bits: None,
            licence: None,
            mnemonic: Some("pause".to_owned()),
            ops_per_iteration: 1,
            datatype: None,
            operations_per_op: None,
        }];
        // 45 ns are 135 cycles; of 140.618, which others found, 5 % either way are normal.
        let band = bands(&record).remove(0);
        near(band.normal[0], 0.95 * 140.618 / 135.0);
        near(band.normal[1], 1.05 * 140.618 / 135.0);
        assert_eq!(band.verdict, crate::band::BandVerdict::Normal);
    }
}
