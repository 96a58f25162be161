//! The area's part of the sheet.

use model::areas::pause::PAUSE;
use model::areas::turbo::{LIGHT, distrust};
use model::page::{Align, Bar, Bars, Block, Table, Text, Tone, tally};
use model::record::Record;

use super::super::{interference, preferred_cores, sustained, transitions};
use super::read::{
    Pooled, active_counts, core_types, mhz, of_first_type, pooled, summary, workloads,
};
use super::{licence_clocks, page, waterfall};

pub(super) fn section(record: &Record) -> Vec<Block> {
    let (workloads, counts) = (workloads(record), active_counts(record));
    if counts.is_empty() {
        return Vec::new();
    }
    let mut blocks =
        vec![Block::Heading("Clock".to_owned()), clock_table(record, &workloads, &counts)];
    blocks.extend(page::map(record).or_else(|| clock_bars(record, &workloads, &counts)));
    blocks.extend(page::promised(record));
    blocks.extend(licence_clocks::licences(record));
    blocks.extend(preferred_cores::blocks(record));
    blocks.extend(waterfall::blocks(record));
    blocks.extend(transitions::blocks(record));
    blocks.extend(interference::blocks(record));
    blocks.extend(sustained::blocks(record));
    blocks.push(Block::Heading("Cycles per op".to_owned()));
    blocks.push(cycles_table(record, &workloads, &counts));
    blocks
}

/// A column for each number of active cores.
fn by_cores(counts: &[usize]) -> impl Iterator<Item = (String, Align)> {
    counts.iter().map(|count| (tally(*count, "core"), Align::Right))
}

/// What stands in a cell that has no number.
fn absent(cell: Option<Pooled>) -> Text {
    match cell {
        Some(Pooled::Absent(reason)) => {
            Text::toned(distrust(&reason.why).unwrap_or("unavailable"), Tone::Warning)
        }
        Some(_) => Text::toned("unavailable", Tone::Warning),
        None => Text::toned("not planned", Tone::Faint),
    }
}

fn clock_table(record: &Record, workloads: &[&str], counts: &[usize]) -> Block {
    let mut classes = Vec::new();
    let mut cell = |workload: &str, count: usize| match pooled(record, "clock", workload, count) {
        Some(Pooled::Measured { summary, class }) => {
            classes.extend(class.filter(|class| !classes.contains(class)));
            format!("{} - {}", mhz(summary.p5), mhz(summary.p95)).into()
        }
        other => absent(other),
    };
    let row = |workload: &&str| {
        let cells = counts.iter().map(|&count| cell(workload, count));
        std::iter::once(Text::from(*workload)).chain(cells).collect()
    };
    let rows: Vec<Vec<Text>> = workloads.iter().map(row).collect();
    let mut notes = Vec::new();
    if !classes.is_empty() {
        notes.push(format!(
            "placement of several active cores, as probed: {} (classes are never pooled)",
            classes.join(", ")
        ));
    }
    Table::of("Clock by number of active cores, MHz (p5 - p95)")
        .left("stream")
        .columns(by_cores(counts))
        .rows(rows)
        .legend(of_first_type(record))
        .notes(notes)
        .into()
}

/// One bar per stream, for one number of cores; nothing where no clock is known.
fn clock_bars(record: &Record, workloads: &[&str], counts: &[usize]) -> Option<Block> {
    let count = *counts.first()?;
    let bar = |workload: &&str| {
        let value = summary(record, "clock", workload, count)?.median / 1e6;
        let text = format!("{value:.0} MHz");
        Some(Bar { label: (*workload).to_owned(), from: 0.0, value, text })
    };
    let bars: Vec<Bar> = workloads.iter().filter_map(bar).collect();
    let caption = "Median clock of one core, MHz".to_owned();
    (!bars.is_empty()).then_some(Block::Bars(Bars { caption, bars }))
}

fn cycles_table(record: &Record, workloads: &[&str], counts: &[usize]) -> Block {
    // Cycles per op do not depend on how many others are active, unless cores share something.
    let ends: Vec<usize> = match counts {
        [only] => vec![*only],
        [first, .., last] => vec![*first, *last],
        [] => Vec::new(),
    };
    let cell = |workload: &str, count| match pooled(record, "cycles_per_op", workload, count) {
        Some(Pooled::Measured { summary, .. }) => {
            let spread = summary
                .relative_uncertainty()
                .map_or(String::from(" (too few blocks)"), |u| format!(" ± {:.2} %", u * 100.0));
            format!("{:.3}{spread}", summary.median).into()
        }
        other => absent(other),
    };
    let row = |workload: &&str| {
        let kind = record.run.plan.workload(workload).map_or("", |row| &row.kind);
        let cells = ends.iter().map(|&count| cell(workload, count));
        [Text::from(*workload), Text::from(kind)].into_iter().chain(cells).collect()
    };
    let between = counts.len().saturating_sub(ends.len());
    let more =
        (between > 0).then(|| format!("further numbers of active cores, in the record: {between}"));
    Table::of("Core cycles per op, median ± 95 % interval")
        .left("stream")
        .left("kind")
        .columns(by_cores(&ends))
        .rows(workloads.iter().map(row))
        .legend(more)
        .into()
}

pub(super) fn sentences(record: &Record) -> Vec<Text> {
    let counts = active_counts(record);
    let (Some(&fewest), Some(&most)) = (counts.first(), counts.last()) else { return Vec::new() };
    let mut sentences = Vec::new();
    sentences.extend(clocks(record, fewest, most));
    sentences.extend(waterfall::sentence(record));
    sentences.extend(serial(record, fewest));
    sentences
}

/// The clock of the fewest cores and of all, under the lightest code that has one and under the heaviest. A hint that one
/// waits is no code that anybody has a clock for.
fn clocks(record: &Record, fewest: usize, most: usize) -> Option<Text> {
    let clock = |workload: &str, count| summary(record, "clock", workload, count);
    let by_weight = [LIGHT].into_iter().chain(workloads(record)).filter(|id| *id != PAUSE);
    let light = by_weight.into_iter().find(|id| clock(id, fewest).is_some())?;
    let alone = clock(light, fewest)?;
    let (code, lighter) = called(record, light, fewest);
    let together = clock(light, most).filter(|_| most > fewest).map_or(String::new(), |together| {
        let change = percent(together.median / alone.median);
        let kind = core_types(record).first().map_or(String::new(), |kind| format!(" ({kind})"));
        format!(", {most} cores together{kind} at {} MHz ({change:+.1} %)", mhz(together.median))
    });
    let heavy = heaviest(record, light, most).unwrap_or_default();
    let who = match fewest {
        1 => "One core alone runs".to_owned(),
        cores => format!("{cores} cores run"),
    };
    let text = format!(
        "{who} {code} at {} MHz (p5 - p95: {} - {}){together}{heavy}{lighter}.",
        mhz(alone.median),
        mhz(alone.p5),
        mhz(alone.p95)
    );
    Some(text.into())
}

/// What a stream is called in a sentence, and why it is not scalar code, where that was to be measured.
fn called<'a>(record: &'a Record, stream: &'a str, active: usize) -> (&'a str, &'static str) {
    const SCALAR: &str = "scalar_iadd";
    if stream == SCALAR {
        return ("scalar code", "");
    }
    let title = record.run.plan.workload(stream).map_or(stream, |workload| &workload.title);
    let why = match pooled(record, "clock", SCALAR, active) {
        Some(Pooled::Absent(reason)) if reason.why.starts_with("contended") => {
            "; scalar code was contended, and has no clock"
        }
        Some(_) => "; scalar code has no clock here",
        None => "",
    };
    (title, why)
}

/// What one op costs when each waits for the one before it, at every width that was measured.
fn serial(record: &Record, active: usize) -> Option<Text> {
    let costs = |ids: [&str; 3]| {
        let cost =
            |id| Some(format!("{:.2}", summary(record, "cycles_per_op", id, active)?.median));
        let costs: Vec<String> = ids.into_iter().filter_map(cost).collect();
        (!costs.is_empty()).then(|| costs.join(" / "))
    };
    let adds = costs(["avx128_iadd", "avx256_iadd", "avx512_iadd"])?;
    let multiply_adds = costs(["avx128_fma", "avx256_fma", "avx512_fma"])?;
    Some(
        format!(
            "One after the other, integer adds take {adds} cycles and multiply-adds {multiply_adds}, \
             from 128 bit to the widest."
        )
        .into(),
    )
}

/// How far a ratio is from one, in per cent to a tenth; nothing is not less than nothing.
fn percent(ratio: f64) -> f64 {
    ((ratio - 1.0) * 1000.0).round() / 10.0 + 0.0
}

/// What the widest multiply-adds cost in clock, and give in work.
fn heaviest(record: &Record, light: &str, most: usize) -> Option<String> {
    let heavy = ["avx512_fma_t", "avx256_fma_t", "avx128_fma_t"]
        .into_iter()
        .find(|id| summary(record, "clock", id, most).is_some())?;
    let clock = summary(record, "clock", heavy, most)?.median;
    let width = record.run.plan.workload(heavy)?.width_bits?;
    let change = summary(record, "clock", light, most).map_or(String::new(), |light| {
        format!(" ({:+.1} % against that)", percent(clock / light.median))
    });
    let per_cycle = summary(record, "cycles_per_op", heavy, most)
        .map_or(String::new(), |s| format!(", {:.2} of them a cycle", 1.0 / s.median));
    Some(format!("; under {width}-bit multiply-adds at {} MHz{change}{per_cycle}", mhz(clock)))
}
