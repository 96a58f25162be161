//! What `cpudyno turbo` prints: the table of avx-turbo with more columns, the map of clocks, what was
//! promised, and what stands in the way.

use model::areas::turbo::distrust;
use std::collections::BTreeSet;

use crate::kit::value_text;
use model::page::{
    Align, Block, HeatCell, HeatMap, HeatRow, Outline, Page, Ruled, Table, Text, Tone, doubts,
};
use model::record::{Instrument, InstrumentState, Record, Series};
use model::{Known, in_order};

use super::super::published::{Comparison, FigureVerdict, citations};
use super::super::{datatypes, interference, preferred_cores, sustained, transitions};
use super::claims::AS_CLAIMED;
use super::read::{WorkloadRow, by_cpus, rows, rows_shown};
use super::{clock_account, licence_clocks, published_costs, waterfall};
use crate::parts;
use model::areas::turbo::promise;
use model::areas::turbo::speed_select::Selected;
use model::licence::Licence;

/// Columns of text that hold lists of eight threads.
pub const WIDE: u16 = 200;

/// The page. A verbosity of 1 and more adds every fact, condition and instrument; it, or a page of
/// [`WIDE`] columns, lists each thread of a few.
pub fn page(record: &Record, verbosity: u8, width: u16) -> Page {
    let mut blocks = vec![title(record)];
    let sentences = [&super::SECTION, &datatypes::SECTION].map(|section| section.sentences(record));
    blocks.extend(parts::answer(sentences.concat()));
    blocks.extend([parts::quality(record), header(record)]);
    // A run that asks something else has no streams to tell of.
    if !rows(record).is_empty() {
        blocks.push(table(record, verbosity > 0, width >= WIDE));
    }
    blocks.extend(notes(record));
    blocks.extend(datatypes::blocks(record));
    blocks.extend(map(record));
    blocks.extend(promised(record));
    blocks.extend(licence_clocks::licences(record));
    blocks.extend(preferred_cores::blocks(record));
    blocks.extend(transitions::blocks(record));
    blocks.extend(interference::blocks(record));
    blocks.extend(sustained::blocks(record));
    blocks.extend(waterfall::blocks(record));
    blocks.push(Block::Heading("Findings".to_owned()));
    blocks.push(parts::findings(record));
    blocks.extend(parts::missing(record));
    if verbosity > 0 {
        blocks.push(known_costs(record));
        blocks.extend(parts::how(record));
        blocks.extend(parts::details(record));
    }
    Page { blocks }
}

fn title(record: &Record) -> Block {
    let text = match &record.run.simulated {
        Some(name) => format!("SIMULATED clocks: machine sim:{name}, nothing was measured"),
        None => "Clocks under instruction streams".to_owned(),
    };
    Block::Title { text, subtitle: parts::subtitle(record) }
}

/// What a reader of such a table asks first.
fn header(record: &Record) -> Block {
    let known = |id: &str| {
        let conditions = record.conditions.before.iter().chain(&record.machine.capabilities);
        let fact = record.fact(id).or_else(|| conditions.into_iter().find(|f| f.id == id))?;
        Some(match &fact.value {
            Known::Yes(_) => value_text(&fact.value).text,
            Known::No { unavailable } => format!("no: {}", unavailable.why),
        })
    };
    let instrument = |id: &str| {
        let instrument = record.instruments.iter().find(|instrument| instrument.id == id);
        instrument.map(parts::instrument_in_brief)
    };
    let plan = &record.run.plan;
    let lines = [
        ("CPU", known("cpu.brand")),
        ("Family/model/stepping", known("cpu.family_model_stepping")),
        ("Instruction sets", known("cpu.isa")),
        ("User", known("user")),
        ("Counters (MSR)", instrument("aperf_mperf")),
        ("Stamp clock", record.instruments.first().map(stamp_clock)),
        ("CPUs", Some(format!("{}: {}", plan.cpus, plan.placement))),
        (
            "Threads",
            Some(plan.manner.clone().unwrap_or_else(|| "pinned, starting together".into())),
        ),
        ("Other busy CPUs", known("busy.cpus")),
    ];
    let lines = lines.into_iter().filter_map(|(label, text)| Some((label, text?)));
    Block::Box(lines.map(|(label, text)| (label.to_owned(), Text::from(text))).collect())
}

/// The clock that stamps are taken of; where its rate was calibrated, what CPUID, kernel and NTP say.
fn stamp_clock(instrument: &Instrument) -> String {
    let brief = parts::instrument_in_brief(instrument);
    let InstrumentState::Used { rate: Some(rate), .. } = &instrument.state else { return brief };
    if !rate.is_calibrated() {
        return brief;
    }
    let others = rate.sources.iter().filter(|source| source.source != rate.chosen);
    let others = others.filter_map(|source| {
        let (hertz, ppm) = (source.hertz.value()?, source.disagreement_ppm?);
        Some(format!("{} {:.3} MHz ({ppm:+.1} ppm)", source.source, hertz / 1e6))
    });
    let others: Vec<String> = others.collect();
    if others.is_empty() {
        return format!("{brief}; no other source says it");
    }
    format!("{brief}; other sources: {}", others.join(", "))
}

/// What cells are made from.
struct CellContext<'a> {
    record: &'a Record,
    /// Up to so many threads a cell lists all of them.
    threads_max: usize,
}

/// One column of the table.
struct ClockColumn {
    title: &'static str,
    align: Align,
    /// Its text for a row.
    cell: CellFn,
    /// Columns that a narrow page leaves out, the greatest number first; the others stand below, if not beside.
    optional: u8,
    /// Whether it comes from the counters of core cycles.
    needs_counters: bool,
}

type CellFn = fn(&CellContext<'_>, &WorkloadRow<'_>) -> Text;

const fn column(title: &'static str, align: Align, cell: CellFn, optional: u8) -> ClockColumn {
    ClockColumn { title, align, cell, optional, needs_counters: false }
}

/// A column that comes from the counters of core cycles.
const fn counted(title: &'static str, cell: CellFn, optional: u8) -> ClockColumn {
    ClockColumn { title, align: Align::Right, cell, optional, needs_counters: true }
}

/// Of a column that a narrow page leaves out although it was asked for all of them: `cpudyno streams` says it.
const WORDS: u8 = 9;

/// Shown only where there are counters to compare with.
const OFF: &str = "chain - A/M";

static COLUMNS: &[ClockColumn] = &[
    column("Cores", Align::Left, cores, 0),
    column("ID", Align::Left, |_, row| row.workload.into(), 0),
    column("Description", Align::Left, description, WORDS),
    column("OVRLP", Align::Right, overlap, 5),
    column("Mops", Align::Right, mops, 0),
    counted("A/M-ratio", ratio, 7),
    counted("A/M-MHz", unhalted_mhz, 0),
    counted("M/tsc-ratio", unhalted, 6),
    counted("Avg-MHz", average_mhz, 2),
    column("Cycles/op", Align::Right, cycles, 0),
    column("MHz (chain)", Align::Right, chain_mhz, 0),
    counted(OFF, disagreement, 3),
];

fn table(record: &Record, is_verbose: bool, is_wide: bool) -> Block {
    let from = CellContext { record, threads_max: if is_verbose || is_wide { 8 } else { 2 } };
    let rows = rows(record);
    let shown: Vec<&ClockColumn> =
        COLUMNS.iter().filter(|column| column.title != OFF || counts(record)).collect();
    let cells =
        |row: &WorkloadRow<'_>| shown.iter().map(|column| (column.cell)(&from, row)).collect();
    let chunks = rows.chunk_by(|a, b| (a.active, a.core_type()) == (b.active, b.core_type()));
    // Where no counters are read, their columns hold nothing but dashes.
    let counted = counts(record);
    let idle = |column: &ClockColumn| column.needs_counters && !counted;
    let rank = |column: &ClockColumn| if idle(column) { u8::MAX } else { column.optional };
    let least = if is_verbose { WORDS } else { 1 };
    let mut optional: Vec<usize> = (0..shown.len()).filter(|i| rank(shown[*i]) >= least).collect();
    optional.sort_by_key(|index| std::cmp::Reverse(rank(shown[*index])));
    let parts: Vec<Vec<Vec<Text>>> = chunks.map(|part| part.iter().map(cells).collect()).collect();
    Block::Ruled(Ruled {
        caption: String::new(),
        columns: shown.iter().map(|column| (column.title.to_owned(), column.align)).collect(),
        optional,
        legend: parts.iter().find_map(|rows| doubts(rows)).into_iter().collect(),
        parts,
        notes: Vec::new(),
    })
}

/// What the marks of the table mean, where there are any.
fn notes(record: &Record) -> Vec<Block> {
    let mut notes = Vec::new();
    let rows = rows(record);
    if !counts(record)
        && let Some(reason) = rows.iter().find_map(|row| row.reason("aperf_per_mperf"))
    {
        let remedy = reason.remedy.as_ref().map_or(String::new(), |remedy| format!(": {remedy}"));
        notes.push(format!("A/M, M/tsc, Avg-MHz: {}{remedy}", reason.why));
    }
    let alone = |row: &&WorkloadRow<'_>| {
        row.median("clock").is_some()
            && row.of("clock_in_loop").iter().all(|s| s.summary().is_none())
    };
    let mut streams: Vec<&str> = rows.iter().filter(alone).map(|row| row.workload).collect();
    streams.sort_unstable();
    streams.dedup();
    if !streams.is_empty() {
        notes.push(format!(
            "MHz (chain) of {} rests on the chain right after the payload alone: there is no room for \
             a chain within their loops",
            streams.join(", ")
        ));
    }
    notes.into_iter().map(|note| Block::Paragraph(Text::toned(note, Tone::Faint))).collect()
}

/// Whether counters of core cycles were read.
fn counts(record: &Record) -> bool {
    record.series.iter().any(|s| s.quantity == "aperf_per_mperf" && s.summary().is_some())
}

fn cores(_: &CellContext<'_>, row: &WorkloadRow<'_>) -> Text {
    cores_of(row).into()
}

/// How many cores, of which type where there are several, and which of them where it is of some alone.
fn cores_of(row: &WorkloadRow<'_>) -> String {
    let kind = row.core_type().map_or(String::new(), |kind| format!(" {kind}"));
    let own = row.cpus.as_ref().map_or(String::new(), |own| format!(", {}", own.named()));
    format!("{}{kind}{own}", row.active.len())
}

fn description(from: &CellContext<'_>, row: &WorkloadRow<'_>) -> Text {
    from.record.run.plan.workload(row.workload).map_or("", |planned| planned.title.as_str()).into()
}

/// The medians of all threads; the word for its absence where one has none.
fn across(
    from: &CellContext<'_>,
    row: &WorkloadRow<'_>,
    quantity: &str,
    text: impl Fn(f64) -> String,
) -> Text {
    shown_across(from, row, quantity, |median| median, text)
}

/// The same of what is made of each median, in the order of that.
fn shown_across(
    from: &CellContext<'_>,
    row: &WorkloadRow<'_>,
    quantity: &str,
    shown: impl Fn(f64) -> f64,
    text: impl Fn(f64) -> String,
) -> Text {
    let series = row.of(quantity);
    let medians: Option<Vec<f64>> =
        series.iter().map(|series| series.summary().map(|it| shown(it.median))).collect();
    match medians {
        Some(medians) if !medians.is_empty() => {
            let is_doubtful = series.iter().all(|series| series.is_doubtful());
            Text::from(listed(from, medians, text)).doubted(is_doubtful)
        }
        _ => absence(row, quantity),
    }
}

/// Each value of a few; of many the least, the middle and the greatest, or what all of them are.
fn listed(from: &CellContext<'_>, mut values: Vec<f64>, text: impl Fn(f64) -> String) -> String {
    if values.len() <= from.threads_max {
        return values.into_iter().map(text).collect::<Vec<_>>().join(", ");
    }
    values.sort_unstable_by(f64::total_cmp);
    let shown = [values[0], values[values.len() / 2], values[values.len() - 1]].map(text);
    if shown[0] == shown[2] { shown[0].clone() } else { shown.join(" / ") }
}

/// The first word of the reason, where it is one of those that stand in cells; else a dash, whose
/// reason is below the table.
fn absence(row: &WorkloadRow<'_>, quantity: &str) -> Text {
    let why = row.reason(quantity).map_or("", |reason| reason.why.as_str());
    Text::toned(distrust(why).unwrap_or("-"), Tone::Warning)
}

fn overlap(_: &CellContext<'_>, row: &WorkloadRow<'_>) -> Text {
    row.median("overlap").map_or_else(|| absence(row, "overlap"), |x| format!("{x:.3}").into())
}

fn mops(from: &CellContext<'_>, row: &WorkloadRow<'_>) -> Text {
    let mops = |seconds: f64| 1e-6 / seconds;
    shown_across(from, row, "time_per_op", mops, |mops| format!("{mops:.0}"))
}

fn ratio(from: &CellContext<'_>, row: &WorkloadRow<'_>) -> Text {
    across(from, row, "aperf_per_mperf", |ratio| format!("{ratio:.2}"))
}

/// The rate of MPERF while a core is not halted, in hertz, as calibrated.
pub(super) fn mperf_hertz(record: &Record) -> Option<f64> {
    let instrument = record.instruments.iter().find(|i| i.id == "aperf_mperf")?;
    match &instrument.state {
        model::record::InstrumentState::Used { rate: Some(rate), .. } => Some(rate.hertz.0),
        _ => None,
    }
}

fn unhalted_mhz(from: &CellContext<'_>, row: &WorkloadRow<'_>) -> Text {
    let Some(hertz) = mperf_hertz(from.record) else { return absence(row, "aperf_per_mperf") };
    across(from, row, "aperf_per_mperf", |ratio| format!("{:.0}", ratio * hertz / 1e6))
}

fn unhalted(from: &CellContext<'_>, row: &WorkloadRow<'_>) -> Text {
    let Some(hertz) = mperf_hertz(from.record) else { return absence(row, "mperf_rate") };
    across(from, row, "mperf_rate", |rate| format!("{:.2}", rate / hertz))
}

fn average_mhz(from: &CellContext<'_>, row: &WorkloadRow<'_>) -> Text {
    let [ratios, rates] = ["aperf_per_mperf", "mperf_rate"].map(|quantity| row.of(quantity));
    let average = |(ratio, rate): (&&Series, &&Series)| {
        Some(ratio.summary()?.median * rate.summary()?.median)
    };
    let hertz: Option<Vec<f64>> = ratios.iter().zip(&rates).map(average).collect();
    match hertz {
        Some(hertz) if !hertz.is_empty() => {
            listed(from, hertz, |hz| format!("{:.0}", hz / 1e6)).into()
        }
        _ => absence(row, "mperf_rate"),
    }
}

fn cycles(from: &CellContext<'_>, row: &WorkloadRow<'_>) -> Text {
    across(from, row, "cycles_per_op", |cycles| format!("{cycles:.3}"))
}

/// The range that nine looks in ten fell into, of each thread, or of all.
fn chain_mhz(from: &CellContext<'_>, row: &WorkloadRow<'_>) -> Text {
    let series = row.of("clock");
    let ranges: Option<Vec<(f64, f64)>> =
        series.iter().map(|series| series.summary().map(|s| (s.p5, s.p95))).collect();
    let text = |(low, high): &(f64, f64)| format!("{:.0}-{:.0}", low / 1e6, high / 1e6);
    match ranges {
        Some(ranges) if ranges.len() > from.threads_max => {
            let low = ranges.iter().map(|range| range.0).fold(f64::INFINITY, f64::min);
            let high = ranges.iter().map(|range| range.1).fold(0.0, f64::max);
            text(&(low, high)).into()
        }
        Some(ranges) if !ranges.is_empty() => {
            ranges.iter().map(text).collect::<Vec<_>>().join(", ").into()
        }
        _ => absence(row, "clock"),
    }
}

/// How far the chain's clock is from the one of APERF/MPERF.
fn disagreement(from: &CellContext<'_>, row: &WorkloadRow<'_>) -> Text {
    let off = || {
        let counted = row.median("aperf_per_mperf")? * mperf_hertz(from.record)?;
        Some((row.median("clock")? / counted - 1.0) * 100.0)
    };
    off().map_or_else(|| absence(row, "clock"), |off| format!("{off:+.2} %").into())
}

/// Streams by numbers of active cores, in MHz; what is as fast as promised is outlined.
pub(super) fn map(record: &Record) -> Option<Block> {
    let rows = rows(record);
    let mut columns: Vec<(Option<&str>, usize)> =
        rows.iter().map(|row| (row.core_type(), row.active.len())).collect();
    columns.dedup();
    let mut workloads: Vec<&str> = Vec::new();
    for row in &rows {
        if !workloads.contains(&row.workload) {
            workloads.push(row.workload);
        }
    }
    if columns.len() < 2 || workloads.len() < 2 {
        return None;
    }
    let cell = |workload: &str, column: &(Option<&str>, usize)| {
        let mut of_workload = rows.iter().filter(|row| row.workload == workload);
        let found = of_workload.find(|row| (row.core_type(), row.active.len()) == *column);
        match found.map(|row| (row, row.median("clock"))) {
            Some((_, Some(hertz))) => {
                let mhz = hertz / 1e6;
                HeatCell::Value { value: mhz, text: format!("{mhz:.0}") }
            }
            Some((row, None)) => HeatCell::Absent(absence(row, "clock")),
            None => HeatCell::Absent(Text::toned("-", Tone::Faint)),
        }
    };
    let label = |(kind, n): &(Option<&str>, usize)| match kind {
        Some(kind) => format!("{n} {kind}"),
        None => n.to_string(),
    };
    let as_promised = |workload: &str, column: &(Option<&str>, usize)| {
        let mut of_workload = rows.iter().filter(|row| row.workload == workload);
        let row = of_workload.find(|row| (row.core_type(), row.active.len()) == *column)?;
        let (clock, promised) = (row.median("clock")?, clock_account::promised(record, row)?);
        Some((clock / promised - 1.0).abs() <= AS_CLAIMED)
    };
    let outlined =
        (0..workloads.len()).flat_map(|line| (0..columns.len()).map(move |at| (line, at)));
    let judged = |&(line, at): &(usize, usize)| as_promised(workloads[line], &columns[at]);
    let of_all = outlined.clone().filter(|it| judged(it).is_some()).count();
    let cells: BTreeSet<(usize, usize)> = outlined.filter(|it| judged(it) == Some(true)).collect();
    let meaning = format!(
        "within {:.0} % of what firmware promises this stream with so many active cores: {} of {of_all} \
         whose promise is known",
        AS_CLAIMED * 100.0,
        cells.len()
    );
    let line = |workload: &&str| HeatRow {
        label: (*workload).to_owned(),
        cells: columns.iter().map(|column| cell(workload, column)).collect(),
    };
    Some(Block::HeatMap(HeatMap {
        caption: "Median clock by number of active cores, MHz".to_owned(),
        unit: "MHz".to_owned(),
        row_title: "stream".to_owned(),
        column_title: "active cores".to_owned(),
        columns: columns.iter().map(label).collect(),
        groups: vec![workloads.iter().map(line).collect()],
        legend: Vec::new(),
        notes: Vec::new(),
        shaded_from: None,
        outline: (of_all > 0).then_some(Outline { meaning, cells }),
    }))
}

/// The clocks that the machine promises beside the greatest that was measured.
pub(super) fn promised(record: &Record) -> Option<Block> {
    let (rows, left_out) = rows_shown(record);
    let mhz = |hertz: Option<f64>| match hertz {
        Some(hertz) => Text::from(format!("{:.0}", hertz / 1e6)),
        None => Text::toned("-", Tone::Faint),
    };
    let allowed = |row: &WorkloadRow<'_>| promise::allowed_hertz(record, row.own());
    let by_priority = |row: &WorkloadRow<'_>| {
        let cpu = row.own().iter().next()?;
        let firmware = Selected::of(record.speed_select.as_ref(), cpu)?;
        firmware.by_priority(Licence::Plain).map(|it| it.0)
    };
    // Of a machine that has none, no column.
    let has_priorities = rows.iter().any(|row| by_priority(row).is_some());
    let line = |part: &[&WorkloadRow<'_>]| {
        let first = part.first()?;
        let best = part.iter().filter_map(|row| Some((row.median("clock")?, row.workload)));
        let best = best.max_by(|a, b| a.0.total_cmp(&b.0));
        let turbo = promise::turbo_hertz(record, first.own(), first.active);
        let allowed = allowed(first);
        // Where they are allowed different clocks, no single one is promised.
        let one = allowed.is_none_or(|[low, high]| low.total_cmp(&high).is_eq());
        let by_priority = by_priority(first);
        // How far cores come anyway is no limit of those that Speed Select lets come further.
        let is_set = promise::limiting(record.clock.as_ref(), first.own()).next().is_some();
        let by_kernel = allowed.filter(|_| is_set || by_priority.is_none()).map(|it| it[0]);
        let least = turbo.into_iter().chain(by_priority).chain(by_kernel);
        let least = least.reduce(f64::min);
        let least = least.filter(|_| one);
        let allowed = match allowed {
            Some([low, high]) if !one => format!("{:.0} to {:.0}", low / 1e6, high / 1e6).into(),
            _ => mhz(allowed.map(|it| it[0])),
        };
        let share = best.zip(least).map(|((hertz, _), promised)| hertz / promised);
        let mut cells = vec![cores_of(first).into(), mhz(turbo)];
        cells.extend(has_priorities.then(|| mhz(by_priority)));
        cells.extend([
            allowed,
            mhz(best.map(|best| best.0)),
            best.map_or("-", |best| best.1).into(),
            share.map_or("-".into(), |share| format!("{:.1} %", share * 100.0).into()),
        ]);
        Some(cells)
    };
    let lines: Vec<Vec<Text>> = by_cpus(&rows).iter().filter_map(|part| line(part)).collect();
    let limits = &record.machine.turbo_limits;
    if lines.is_empty() || (limits.is_empty() && rows.iter().all(|row| allowed(row).is_none())) {
        return None;
    }
    // Those of other packages are no limits of these.
    let own = record.run.plan.cpus.iter().filter_map(|cpu| promise::limit_of(record, cpu));
    let mut notes = in_order(own.map(|limit| format!("turbo limit: {}", limit.source)));
    // Levels of performance without a unit stand as the firmware and the registers state them.
    let levels = ["turbo.hwp", "cppc.performance"].into_iter().filter_map(|id| record.fact(id));
    notes.extend(
        levels.filter(|level| level.value.value().is_some()).map(|level| {
            format!("{}: {}", level.label.to_lowercase(), value_text(&level.value).text)
        }),
    );
    Some(
        Table::of("Promised and measured clock, MHz")
            .left("cores")
            .right("turbo limit")
            .columns(has_priorities.then_some(("Speed Select", Align::Right)))
            .right("kernel allows")
            .right("fastest stream")
            .left("which")
            .right("of promised")
            .rows(lines)
            .legend(left_out)
            .notes(notes)
            .into(),
    )
}

/// What others found each stream's instruction to cost, beside what it cost here.
fn known_costs(record: &Record) -> Block {
    let comparisons = published_costs::compare(record);
    let line = |c: &Comparison<'_>| {
        let verdict = c.verdict();
        let tone = match verdict {
            FigureVerdict::Equal => Tone::Good,
            FigureVerdict::Differs => Tone::Warning,
            FigureVerdict::Unsure | FigureVerdict::Unknown => Tone::Faint,
        };
        let on = c.core_type.map_or(String::new(), |core_type| format!(" on {core_type}"));
        vec![
            Text::from(format!("{}{on}", c.stream)),
            format!("{:.3}", c.measured).into(),
            c.figures.words().into(),
            c.figures.sources().into(),
            Text::toned(verdict.word(), tone),
        ]
    };
    Table::of("Cycles per op of one core: measured and published")
        .left("stream")
        .right("measured")
        .right("known")
        .left("source")
        .left("verdict")
        .rows(comparisons.iter().map(line))
        .notes(citations(comparisons.iter().map(|comparison| &comparison.figures)))
        .into()
}
