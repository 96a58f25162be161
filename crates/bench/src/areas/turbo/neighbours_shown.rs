//! The neighbour tax as people read it: a matrix of changes with their intervals, the numbers behind it, and
//! the advice that they carry.

use std::collections::BTreeSet;

use model::page::{Align, Block, HeatCell, HeatMap, HeatRow, Table, Text, Tone, si};
use model::record::{Outcome, Record, Series};
use model::stats::Summary;
use model::{CpuSet, Finding, Severity, Unit};

use super::super::{in_order, series_of};
use super::neighbours::{
    BANDWIDTH, BESIDE, CLASSES, CLOCK, LATENCY, MOVED, Measure, PLACE, Place, RATE, SCALAR,
    SCALAR_CLASS, VECTOR, WAIT,
};
use super::{AREA, why};

/// A column of the matrix.
struct Column {
    title: &'static str,
    victim: &'static str,
    measure: &'static Measure,
}

const fn column(title: &'static str, victim: &'static str, measure: &'static Measure) -> Column {
    Column { title, victim, measure }
}

static COLUMNS: [Column; 6] = [
    column("scalar MHz", SCALAR, &CLOCK),
    column("scalar Mops", SCALAR, &RATE),
    column("vector MHz", VECTOR, &CLOCK),
    column("vector Mops", VECTOR, &RATE),
    column("GB/s", BANDWIDTH, &MOVED),
    column("ns", LATENCY, &WAIT),
];

/// What a cell of the matrix holds.
struct Change {
    /// What is left, 1 for all; of latencies, how much longer.
    ratio: f64,
    /// The interval of that, where there were blocks enough.
    interval: Option<[f64; 2]>,
}

impl Change {
    fn of(summary: &Summary) -> Change {
        Change { ratio: summary.median, interval: summary.between_blocks }
    }

    /// Whether the interval leaves out that nothing changed.
    fn is_sure(&self) -> bool {
        self.interval.is_some_and(|[low, high]| low > 1.0 || high < 1.0)
    }

    fn text(&self) -> String {
        let change = (self.ratio - 1.0) * 100.0;
        match self.interval {
            Some([low, high]) => {
                let half = (high - low) / 2.0 * 100.0;
                format!("{change:+.1} ± {half:.1}")
            }
            None => format!("{change:+.1}"),
        }
    }

    fn words(&self) -> String {
        let percent = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
        let interval = self.interval.map_or(String::new(), |[low, high]| {
            format!(" ({} to {})", percent(low), percent(high))
        });
        format!("{}{interval}", percent(self.ratio))
    }
}

fn series<'a>(
    record: &'a Record,
    victim: &str,
    quantity: &'static str,
    (class, place): (&str, &str),
) -> Option<&'a Series> {
    let is = |series: &Series, key: &str, value: &str| {
        series.parameters.get(key).is_some_and(|it| it == value)
    };
    let mine = |series: &&Series| {
        series.workload == victim && is(series, BESIDE, class) && is(series, PLACE, place)
    };
    // Of several classes of placement, the one with the most samples.
    let found = series_of(record, AREA, quantity).filter(mine);
    found.max_by_key(|series| series.summary().map_or(0, |summary| summary.count))
}

fn change(record: &Record, column: &Column, row: (&str, &str)) -> Option<Change> {
    series(record, column.victim, column.measure.ratio, row)?.summary().map(Change::of)
}

/// The ratios of all victims, with numbers or without.
fn ratios(record: &Record) -> impl Iterator<Item = &Series> {
    let measures = [&CLOCK, &RATE, &MOVED, &WAIT];
    measures.into_iter().flat_map(|measure| series_of(record, AREA, measure.ratio))
}

/// Classes and places that were measured, in order.
fn rows(record: &Record) -> Vec<(&'static str, &'static str)> {
    let measured = in_order(ratios(record).filter_map(|series| {
        Some((series.parameters.get(BESIDE)?.as_str(), series.parameters.get(PLACE)?.as_str()))
    }));
    let of_place = |place: Place| CLASSES.iter().map(move |(class, _)| (*class, place.word()));
    Place::ALL.into_iter().flat_map(of_place).filter(|row| measured.contains(row)).collect()
}

/// The matrix, and the numbers behind it; nothing where no neighbours were measured.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    let rows = rows(record);
    if rows.is_empty() {
        return Vec::new();
    }
    vec![Block::Heading("Neighbours".to_owned()), matrix(record, &rows), numbers(record, &rows)]
}

/// The columns of victims that were measured, or that were to be.
fn columns(record: &Record) -> Vec<&'static Column> {
    let is_asked = |column: &&Column| {
        let mut of = series_of(record, AREA, column.measure.ratio);
        of.any(|series| series.workload == column.victim && series.parameters.contains_key(BESIDE))
    };
    COLUMNS.iter().filter(is_asked).collect()
}

fn matrix(record: &Record, rows: &[(&'static str, &'static str)]) -> Block {
    let cell = |column: &Column, row: (&str, &str)| match change(record, column, row) {
        Some(change) => {
            HeatCell::Value { value: (change.ratio - 1.0) * 100.0, text: change.text() }
        }
        None => HeatCell::Absent(absent(series(record, column.victim, column.measure.ratio, row))),
    };
    let columns = columns(record);
    let line = |&(class, place): &(&'static str, &'static str)| HeatRow {
        label: format!("{class}, {place}"),
        cells: columns.iter().map(|column| cell(column, (class, place))).collect(),
    };
    let groups = rows.chunk_by(|a, b| a.1 == b.1);
    Block::HeatMap(HeatMap {
        caption:
            "what neighbours change, % of what the victim has alone, with the 95 % interval of the \
                  median (ns: higher is worse)"
                .to_owned(),
        unit: "%".to_owned(),
        row_title: "beside".to_owned(),
        column_title: "victim".to_owned(),
        columns: columns.iter().map(|column| column.title.to_owned()).collect(),
        groups: groups.map(|group| group.iter().map(line).collect()).collect(),
        notes: notes(record),
        outline: None,
    })
}

/// Who was where, and how the host had placed them.
fn notes(record: &Record) -> Vec<String> {
    let of = |series: &Series| {
        let place = series.parameters.get(PLACE)?;
        let others: model::CpuSet = series.active.iter().filter(|cpu| *cpu != series.cpu).collect();
        let class = series.placement_class.as_ref();
        let class = class.map_or(String::new(), |class| format!(", as probed {class}"));
        Some(format!("victim on CPU {}, {place} are CPUs {others}{class}", series.cpu))
    };
    in_order(ratios(record).filter_map(of))
}

fn numbers(record: &Record, rows: &[(&'static str, &'static str)]) -> Block {
    let cell = |column: &Column, row: (&str, &str)| -> Text {
        let median =
            |quantity| Some(series(record, column.victim, quantity, row)?.summary()?.median);
        let (alone, beside) = (median(column.measure.alone), median(column.measure.beside));
        match alone.zip(beside) {
            Some((alone, beside)) => {
                let [alone, beside] = [alone, beside].map(|it| number(column.measure, it));
                format!("{alone} to {beside}").into()
            }
            None => absent(series(record, column.victim, column.measure.ratio, row)),
        }
    };
    let columns = columns(record);
    let line = |&(class, place): &(&'static str, &'static str)| {
        let cells = columns.iter().map(|column| cell(column, (class, place)));
        std::iter::once(Text::from(format!("{class}, {place}"))).chain(cells).collect()
    };
    let titles = columns.iter().map(|column| (column.title.to_owned(), Align::Right));
    Block::Table(Table {
        caption: "alone to beside them, medians".to_owned(),
        columns: std::iter::once(("beside".to_owned(), Align::Left)).chain(titles).collect(),
        rows: rows.iter().map(line).collect(),
        notes: Vec::new(),
    })
}

fn absent(series: Option<&Series>) -> Text {
    let why = series.and_then(|series| match &series.outcome {
        Outcome::Unavailable { unavailable } => Some(unavailable.why.clone()),
        Outcome::Measured { .. } => None,
    });
    Text::toned(if why.is_some() { "unavailable" } else { "-" }, Tone::Faint)
}

fn number(measure: &Measure, value: f64) -> String {
    match measure.ratio {
        it if it == CLOCK.ratio || it == RATE.ratio => format!("{:.0}", value / 1e6),
        it if it == MOVED.ratio => format!("{:.1}", value / 1e9),
        _ => format!("{:.1}", value * 1e9),
    }
}

/// Less than this is not worth advice.
const WORTH: f64 = 0.02;

/// What the numbers advise. Each one rests on an interval that leaves out that nothing changed.
pub(super) fn findings(record: &Record) -> Vec<Finding> {
    if rows(record).is_empty() {
        return Vec::new();
    }
    [wide(record), sibling(record), memory(record)].into_iter().flatten().collect()
}

/// The greatest sure loss among these columns and rows.
fn worst<'a>(
    record: &Record,
    columns: &[&'a Column],
    rows: impl Iterator<Item = (&'static str, &'static str)>,
) -> Option<(&'a Column, (&'static str, &'static str), Change)> {
    let loss = |column: &Column, change: &Change| {
        if column.measure.ratio == WAIT.ratio { change.ratio - 1.0 } else { 1.0 - change.ratio }
    };
    let all = rows.flat_map(|row| columns.iter().map(move |column| (*column, row)));
    let sure = all.filter_map(|(column, row)| {
        let change = change(record, column, row)?;
        (change.is_sure() && loss(column, &change) >= WORTH).then_some((column, row, change))
    });
    sure.max_by(|a, b| loss(a.0, &a.2).total_cmp(&loss(b.0, &b.2)))
}

fn finding(id: &str, text: String, remedy: String) -> Finding {
    Finding {
        id: id.to_owned(),
        severity: Severity::Note,
        about: "neighbours".to_owned(),
        text,
        remedy: Some(remedy),
    }
}

/// Wide vectors on other cores lower the clock of this one.
fn wide(record: &Record) -> Option<Finding> {
    let place = Place::Others.word();
    let clocks: Vec<&Column> =
        COLUMNS.iter().filter(|column| column.measure.ratio == CLOCK.ratio).collect();
    let heavy = ["light 512 bit", "heavy 512 bit", "tiles"].map(|class| (class, place));
    let (column, row, change) = worst(record, &clocks, heavy.into_iter())?;
    let narrow = self::change(record, column, ("heavy 256 bit", place));
    // The clock that the other cores merely being active costs is none of the vectors' doing.
    let scalar = self::change(record, column, (SCALAR_CLASS, place))?;
    let own = change.ratio / scalar.ratio;
    if own > 1.0 - WORTH {
        return None;
    }
    let spared = narrow.filter(|narrow| narrow.ratio - change.ratio >= WORTH);
    let mut advice = Vec::new();
    if let Some(narrow) = spared {
        advice.push(format!("256 bit there cost {} instead", narrow.words()));
    }
    let cpu = record.run.plan.cpus.iter().next()?;
    let level = why::level_of(record, cpu).map(|(_, level)| level);
    if level.is_some_and(|level| level.turbo_freq.is_some()) {
        advice.push("Speed Select can give this core a clock of its own: `cpudyno sst`".to_owned());
    }
    if is_within_one_of_several_packages(record) {
        advice.push("keep such code on cores of another package".to_owned());
    }
    if advice.is_empty() {
        advice.push("keep such code away while this core's clock counts".to_owned());
    }
    Some(finding(
        "turbo.wide-neighbours",
        format!("{} on other cores changes {} by {}", row.0, column.title, change.words()),
        advice.join("; "),
    ))
}

/// Whether there is a package that none of the measured cores is in.
fn is_within_one_of_several_packages(record: &Record) -> bool {
    let topology = &record.machine.topology;
    let packages = |cpus: &CpuSet| -> BTreeSet<Option<u32>> {
        cpus.iter().map(|cpu| topology.place(cpu).map(|place| place.package)).collect()
    };
    packages(&record.run.plan.cpus).len() == 1 && packages(&topology.usable).len() > 1
}

/// A busy sibling takes from its core.
fn sibling(record: &Record) -> Option<Finding> {
    let place = Place::Sibling.word();
    let classes = CLASSES.iter().map(|(class, _)| (*class, place));
    let (column, row, change) = worst(record, &COLUMNS.each_ref(), classes)?;
    Some(finding(
        "turbo.busy-sibling",
        format!("{} on the SMT sibling changes {} by {}", row.0, column.title, change.words()),
        "leave the sibling idle where that counts: isolate it, or `cpudyno set smt=off`".to_owned(),
    ))
}

/// Others who move memory take from what there is.
fn memory(record: &Record) -> Option<Finding> {
    let row = ("memory", Place::Others.word());
    let memory: Vec<&Column> =
        COLUMNS.iter().filter(|column| [BANDWIDTH, LATENCY].contains(&column.victim)).collect();
    let (column, row, change) = worst(record, &memory, std::iter::once(row))?;
    Some(finding(
        "turbo.memory-neighbours",
        format!("{} on other cores changes {} by {}", row.0, column.title, change.words()),
        "isolate such work on another node or package, or limit its bandwidth (resctrl)".to_owned(),
    ))
}

/// The bandwidth and clock that the other cores cost, in a sentence.
pub(super) fn sentence(record: &Record) -> Option<Text> {
    let row = ("memory", Place::Others.word());
    let column = COLUMNS.iter().find(|column| column.victim == BANDWIDTH)?;
    let beside = series(record, BANDWIDTH, MOVED.beside, row)?.summary()?.median;
    let change = change(record, column, row)?;
    Some(
        format!(
            "Beside others who move memory a core still gets {}: {}.",
            si::format(beside, Unit::BytePerSecond),
            change.words()
        )
        .into(),
    )
}
