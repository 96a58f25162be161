//! The neighbour tax as people read it: a matrix of changes with their intervals, the numbers behind it, and
//! the advice that they carry.

use std::collections::BTreeSet;

use model::page::{Align, Block, HeatCell, HeatMap, HeatRow, Losses, Table, Text, Tone, si};
use model::record::{Outcome, Record, Series};
use model::stats::{BLOCKS_FOR_INTERVAL, chance_of_sides, discoveries, mean, median};
use model::{CpuSet, Finding, Obstacle, Unit, in_order, in_order_of};

mod by_count;

use super::Section;
use super::turbo::clocked::{Clocked, GAPS, Lighter};
use super::turbo::read::{HIDDEN, is_same_core};
use super::turbo::{AREA, clock_account};
use model::areas::STREAM;
use model::areas::interference::{
    self, BANDWIDTH, BESIDE, CLASSES, CLOCK, LATENCY, MEMORY_CLASS, MOVED, Measure, PLACE, Place,
    RATE, SCALAR, SCALAR_CLASS, VECTOR, WAIT, named_in_matrix,
};
use model::areas::turbo::LIGHT;

/// What it says: its blocks stand within those of clocks.
pub const SECTION: Section =
    Section { findings, ..Section::of(interference::AREA, |_| Vec::new()) };

/// A column of the matrix.
struct MatrixColumn {
    title: &'static str,
    /// The same in a sentence, before its unit.
    noun: &'static str,
    unit: &'static str,
    victim: &'static str,
    measure: &'static Measure,
}

const fn column(
    [title, noun, unit]: [&'static str; 3],
    victim: &'static str,
    measure: &'static Measure,
) -> MatrixColumn {
    MatrixColumn { title, noun, unit, victim, measure }
}

static COLUMNS: [MatrixColumn; 6] = [
    column(["scalar MHz", "the clock of scalar code", "MHz"], SCALAR, &CLOCK),
    column(["scalar Mops", "the rate of scalar code", "Mop/s"], SCALAR, &RATE),
    column(["vector MHz", "the clock of vector code", "MHz"], VECTOR, &CLOCK),
    column(["vector Mops", "the rate of vector code", "Mop/s"], VECTOR, &RATE),
    column(
        ["triad GB/s", "what one core moves by triad with ordinary stores", "GB/s"],
        BANDWIDTH,
        &MOVED,
    ),
    column(["latency ns", "the latency of memory", "ns"], LATENCY, &WAIT),
];

/// What a cell of the matrix holds.
#[derive(Clone, Copy)]
struct Change {
    /// What is left, 1 for all; of latencies, how much longer.
    ratio: f64,
    /// The interval of that, where there were blocks enough.
    interval: Option<[f64; 2]>,
    /// Whether it is believed that anything changed, with all cells of the matrix at once.
    is_sure: bool,
}

/// A ratio as a change in per cent; nothing is not less than nothing.
fn percent(ratio: f64) -> String {
    format!("{:+.1}", (ratio - 1.0) * 100.0).replace("-0.0", "+0.0")
}

impl Change {
    /// The share of what it has alone that the victim loses; of latencies, of the pointers that it follows.
    fn loss(&self, measure: &Measure) -> f64 {
        if measure.ratio == WAIT.ratio { 1.0 - 1.0 / self.ratio } else { 1.0 - self.ratio }
    }

    /// Whether no change lies within its interval.
    fn may_be_none(&self) -> bool {
        self.interval.is_some_and(|[low, high]| (low..=high).contains(&1.0))
    }

    fn text(&self) -> String {
        match self.interval {
            Some([low, high]) => {
                let [ratio, low, high] = [self.ratio, low, high].map(percent);
                format!("{ratio} ({low}, {high})")
            }
            None => percent(self.ratio),
        }
    }

    /// `by 46.8 % (46.7 to 46.9 %)`, `to 9.0 times`.
    fn by(&self) -> String {
        const TIMES: f64 = 2.0;
        let text = |ratio: f64| {
            if self.ratio >= TIMES {
                format!("{ratio:.1}")
            } else {
                format!("{:.1}", (ratio - 1.0).abs() * 100.0)
            }
        };
        let (verb, unit) = if self.ratio >= TIMES { ("to", "times") } else { ("by", "%") };
        let middle = text(self.ratio);
        let mut ends = self.interval.unwrap_or([self.ratio; 2]);
        if self.ratio < 1.0 {
            ends.reverse();
        }
        let [low, high] = ends.map(text);
        let is_wider = low != middle || high != middle;
        let interval = if is_wider { format!(" ({low} to {high} {unit})") } else { String::new() };
        format!("{verb} {middle} {unit}{interval}")
    }

    fn words(&self) -> String {
        let percent = |ratio: f64| format!("{} %", percent(ratio));
        let interval = self.interval.map_or(String::new(), |[low, high]| {
            format!(" ({} to {})", percent(low), percent(high))
        });
        format!("{}{interval}", percent(self.ratio))
    }
}

/// A class of neighbours, and where they are.
type NeighbourRow<'a> = (&'a str, &'a str);

/// Where the neighbours of a series really were: what the probes say goes before what the kernel lists.
fn place(series: &Series) -> Option<&str> {
    let place = series.parameters.get(PLACE)?;
    let is_hidden = Place::is_on_other_cores(place) && is_same_core(series);
    Some(if is_hidden { HIDDEN } else { place })
}

fn series<'a>(
    record: &'a Record,
    victim: &str,
    quantity: &'static str,
    (class, at): NeighbourRow<'_>,
) -> Option<&'a Series> {
    let mine = |series: &&Series| {
        let is_class = series.parameters.get(BESIDE).is_some_and(|it| it == class);
        series.workload == victim && is_class && place(series) == Some(at)
    };
    // Of several classes of placement, the one with the most samples.
    let found = record.series_of(AREA, quantity).filter(mine);
    found.max_by_key(|series| series.summary().map_or(0, |summary| summary.count))
}

/// What neighbours change, all cells of the matrix.
struct Matrix<'a> {
    record: &'a Record,
    rows: Vec<NeighbourRow<'a>>,
    /// By row and column.
    changes: Vec<Vec<Option<Change>>>,
}

impl<'a> Matrix<'a> {
    /// What changed is believed where the rate of false discoveries among all cells stays below one in twenty, by
    /// the chance that as many blocks lie on one side of no change.
    fn of(record: &'a Record) -> Matrix<'a> {
        const FALSE_DISCOVERIES: f64 = 0.05;
        let rows = rows(record);
        let mut changes: Vec<Vec<Option<Change>>> = Vec::new();
        let mut chances = Vec::new();
        for row in &rows {
            let cell = |column: &MatrixColumn| {
                let series = series(record, column.victim, column.measure.ratio, *row)?;
                let (summary, samples) = (series.summary()?, series.samples()?);
                let blocks = samples.block_medians();
                chances.push(if blocks.len() < BLOCKS_FOR_INTERVAL {
                    1.0
                } else {
                    chance_of_sides(&blocks, 1.0)
                });
                let (ratio, interval) = (summary.median, summary.between_blocks);
                Some(Change { ratio, interval, is_sure: false })
            };
            changes.push(COLUMNS.iter().map(cell).collect());
        }
        let sure = discoveries(&chances, FALSE_DISCOVERIES);
        for (change, is_sure) in std::iter::zip(changes.iter_mut().flatten().flatten(), sure) {
            change.is_sure = is_sure;
        }
        Matrix { record, rows, changes }
    }

    fn change(&self, column: &MatrixColumn, row: NeighbourRow<'_>) -> Option<Change> {
        let (at, of) = (self.rows.iter().position(|it| *it == row)?, column.victim);
        let is = |it: &MatrixColumn| it.victim == of && it.measure.ratio == column.measure.ratio;
        self.changes[at][COLUMNS.iter().position(is)?]
    }
}

/// The ratios of all victims, with numbers or without.
fn ratios(record: &Record) -> impl Iterator<Item = &Series> {
    let measures = [&CLOCK, &RATE, &MOVED, &WAIT];
    measures.into_iter().flat_map(|measure| record.series_of(AREA, measure.ratio))
}

/// Classes and places that were measured, in order.
fn rows(record: &Record) -> Vec<NeighbourRow<'_>> {
    let row = |series| -> Option<NeighbourRow<'_>> {
        let series: &Series = series;
        Some((series.parameters.get(BESIDE)?.as_str(), place(series)?))
    };
    let places = [Place::Others.word(), HIDDEN, Place::Sibling.word()];
    let of_place = |place| CLASSES.into_iter().map(move |class| (class, place));
    let order: Vec<NeighbourRow<'_>> = places.into_iter().flat_map(of_place).collect();
    // Those beside fewer neighbours have a table of their own.
    let is_fewer = |row: &NeighbourRow<'_>| Place::FEWER.iter().any(|place| place.word() == row.1);
    in_order_of(ratios(record).filter_map(row).filter(|row| !is_fewer(row)), &order)
}

/// The matrix, and the numbers behind it; nothing where no neighbours were measured.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    let matrix = Matrix::of(record);
    if matrix.rows.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Heading("Neighbours".to_owned()), shown(&matrix)];
    blocks.extend(by_count::table(record));
    blocks.push(numbers(record, &matrix.rows));
    blocks
}

/// The clocks of the victims that have one, for their accounts: alone, and beside those who cost most of it.
pub(super) fn clocked(record: &Record) -> Vec<Clocked<'_>> {
    let matrix = Matrix::of(record);
    let victims = [SCALAR, VECTOR].into_iter();
    victims.flat_map(|victim| [alone(record, victim), beside(&matrix, victim)]).flatten().collect()
}

/// What executes less than this victim, at a clock that the scalar one has.
fn lighter(victim: &str, hertz: Option<f64>) -> Option<Lighter<'static>> {
    let hertz = hertz.filter(|_| victim != SCALAR)?;
    Some(Lighter { name: LIGHT, hertz })
}

fn alone<'a>(record: &'a Record, victim: &'static str) -> Option<Clocked<'a>> {
    let of = |victim: &str| {
        let mine = |series: &&Series| series.workload == victim;
        let all: Vec<&Series> = record.series_of(AREA, CLOCK.alone).filter(mine).collect();
        let medians: Vec<f64> = all.iter().filter_map(|it| Some(it.summary()?.median)).collect();
        Some((*all.first()?, median(&medians)?))
    };
    let (first, clock) = of(victim)?;
    let lighter = lighter(victim, of(SCALAR).map(|(_, hertz)| hertz));
    let of = Clocked::of_series(first, first.parameters.get(STREAM)?, "alone", clock);
    // It was alone in the blocks of each cell: none of them tells of all.
    let mine = record.series_of(AREA, CLOCK.alone).filter(|series| series.workload == victim);
    let shares: Vec<f64> = mine.filter_map(|series| series.disturbance.lost_share).collect();
    let gaps = mean(&shares).map(|share| (share, GAPS));
    Some(Clocked { active: CpuSet::from_iter([first.cpu]), lighter, gaps, ..of })
}

fn beside<'a>(matrix: &Matrix<'a>, victim: &'static str) -> Option<Clocked<'a>> {
    let is_clock = |it: &&MatrixColumn| it.victim == victim && it.measure.ratio == CLOCK.ratio;
    let clock: Vec<&MatrixColumn> = COLUMNS.iter().filter(is_clock).collect();
    let (_, row, _) = worst(matrix, &clock, matrix.rows.iter().copied())?;
    let of = |victim, class| {
        let series = series(matrix.record, victim, CLOCK.beside, (class, row.1))?;
        Some((series, series.summary()?.median))
    };
    let (first, clock) = of(victim, row.0)?;
    let beside_scalar = of(victim, SCALAR_CLASS).map(|(_, hertz)| hertz);
    let lighter = lighter(victim, of(SCALAR, SCALAR_CLASS).map(|(_, hertz)| hertz));
    let moment = format!("beside {} ({})", row.0, row.1);
    let of = Clocked::of_series(first, first.parameters.get(STREAM)?, &moment, clock);
    Some(Clocked { lighter, beside_scalar, ..of })
}

/// The columns of victims that were measured, or that were to be.
fn columns(record: &Record) -> Vec<&'static MatrixColumn> {
    let is_asked = |column: &&MatrixColumn| {
        let mut of = record.series_of(AREA, column.measure.ratio);
        of.any(|series| series.workload == column.victim && series.parameters.contains_key(BESIDE))
    };
    COLUMNS.iter().filter(is_asked).collect()
}

/// Points of a per cent that nothing costs as often as not.
const NOISE: f64 = 0.5;

fn shown(matrix: &Matrix<'_>) -> Block {
    let (record, rows) = (matrix.record, &matrix.rows);
    let cell = |column: &MatrixColumn, row: NeighbourRow<'_>| match matrix.change(column, row) {
        // Half of the samples of few blocks may be off anyhow: a number, and no pattern.
        Some(change) if change.interval.is_none() => HeatCell::Absent(change.text().into()),
        Some(change) => {
            // What may as well be nothing is no loss.
            let share = if change.may_be_none() { 0.0 } else { change.loss(column.measure) };
            HeatCell::Value { value: share * 100.0, text: change.text() }
        }
        None => HeatCell::Absent(absent(series(record, column.victim, column.measure.ratio, row))),
    };
    let columns = columns(record);
    let line = |&(class, place): &NeighbourRow<'_>| HeatRow {
        label: format!("{class}, {place}"),
        cells: columns.iter().map(|column| cell(column, (class, place))).collect(),
    };
    let groups: Vec<Vec<HeatRow>> =
        rows.chunk_by(|a, b| a.1 == b.1).map(|group| group.iter().map(line).collect()).collect();
    let loss = |cell: &HeatCell| match cell {
        HeatCell::Value { value, .. } => Some(*value),
        HeatCell::Absent(_) => None,
    };
    let cells = groups.iter().flatten().flat_map(|row| &row.cells);
    let greatest = cells.filter_map(loss).fold(0.0, f64::max);
    let losses =
        Losses { noise: NOISE, greatest: format!("{greatest:.1}"), unit: "% lost".to_owned() };
    let stores = columns.iter().any(|column| column.victim == BANDWIDTH);
    let stores = stores.then(|| STORES.to_owned());
    let few = too_few(blocks_of_cells(matrix.record)).into_iter().chain(left_out(matrix.record));
    let legend = merely_active(matrix).into_iter().chain(stores).chain(few);
    Block::HeatMap(HeatMap {
        caption: caption(matrix),
        unit: "%".to_owned(),
        row_title: "beside".to_owned(),
        column_title: "change of victim".to_owned(),
        columns: columns.iter().map(|column| column.title.to_owned()).collect(),
        groups,
        legend: legend.collect(),
        notes: notes(matrix),
        shaded_from: Some(losses),
        outline: None,
    })
}

/// Which triad that is: elsewhere a page has another one.
const STORES: &str = "triad GB/s: one core with ordinary stores, which also read what they overwrite; under Memory \
                      the fastest kind of store counts";

/// What the cells hold: intervals, where any of them has one.
fn caption(matrix: &Matrix<'_>) -> String {
    let mut changes = matrix.changes.iter().flatten().flatten();
    let interval = if changes.any(|change| change.interval.is_some()) {
        " and its 95 % interval, of five blocks 94 %"
    } else {
        ", of too few blocks for an interval"
    };
    let has_waits = columns(matrix.record).iter().any(|column| column.victim == LATENCY);
    let [worse, lost] = if has_waits {
        [" (ns: higher is worse)", ", of ns that of the pointers followed"]
    } else {
        [""; 2]
    };
    format!("Change against running alone, %: median{interval}{worse}; shading: loss{lost}")
}

/// Who was where, and how the host had placed them.
fn notes(matrix: &Matrix<'_>) -> Vec<String> {
    let record = matrix.record;
    let of = |series: &Series| {
        let place = place(series)?;
        let others: model::CpuSet = series.active.iter().filter(|cpu| *cpu != series.cpu).collect();
        let class = series.placement_class.as_ref();
        let class = class.map_or(String::new(), |class| format!(", as probed {class}"));
        // Every second one of those of another note.
        let is_half = place == Place::Half.word();
        let whose = if is_half {
            format!("{} CPUs, every second one", others.len())
        } else {
            others.named()
        };
        Some(format!("victim on CPU {}, {place}: {whose}{class}", series.cpu))
    };
    let mut notes = in_order(ratios(record).filter_map(of));
    // Where one of them was probed, the others are those.
    let known = notes.clone();
    notes.retain(|it| !known.iter().any(|other| other.starts_with(&format!("{it}, as probed"))));
    notes.push(
        "intervals are per cell; findings are corrected for multiple comparisons (false discovery rate 5 %)"
            .to_owned(),
    );
    notes
}

/// The most blocks that any cell has.
fn blocks_of_cells(record: &Record) -> u64 {
    let of = |series: &Series| Some(series.summary()?.blocks);
    ratios(record).filter_map(of).max().unwrap_or(0)
}

/// That nothing can be advised: even where all of so few blocks lie on one side, that is no news.
fn too_few(blocks: u64) -> Option<String> {
    /// Of five, chance puts all on one side in one of sixteen.
    const NEEDED: u64 = 6;
    (1..NEEDED).contains(&blocks).then(|| {
        let plural = if blocks == 1 { " of a cell is" } else { "s of a cell are" };
        format!(
            "{blocks} block{plural} too few for advice, however much they change: {NEEDED} are needed, by more time"
        )
    })
}

/// What a sheet has no time for, and who has.
fn left_out(record: &Record) -> Option<String> {
    let is_missing = |series: &&Series| match &series.outcome {
        Outcome::Unavailable { unavailable } => {
            unavailable.obstacle == Obstacle::Measurement && !series.parameters.contains_key(BESIDE)
        }
        Outcome::Measured { .. } => false,
    };
    let missing: BTreeSet<&str> =
        ratios(record).filter(is_missing).map(|series| series.workload.as_str()).collect();
    let missing: Vec<&str> = named_in_matrix().filter(|name| missing.contains(name)).collect();
    (!missing.is_empty())
        .then(|| format!("not measured: {}; `{ALL}` measures all", missing.join(", ")))
}

/// The command that measures all of them.
const ALL: &str = "cpudyno turbo --neighbours";

/// What others cost that are merely active, and so what of the other rows is not their code's doing.
fn merely_active(matrix: &Matrix<'_>) -> Vec<String> {
    let active = matrix.rows.iter().filter(|row| row.0 == SCALAR_CLASS);
    let line = |row: &NeighbourRow<'_>| {
        let cell = |column: &&MatrixColumn| {
            let change = matrix.change(column, *row).filter(|it| it.interval.is_some())?;
            Some(format!("{} {}", column.title, change.text()))
        };
        let cells: Vec<String> = columns(matrix.record).iter().filter_map(cell).collect();
        let said = cells.join(", ");
        (!cells.is_empty()).then(|| {
            format!("baseline: neighbours that run scalar adds ({}) change {said}; all other rows include this", row.1)
        })
    };
    active.filter_map(line).collect()
}

fn numbers(record: &Record, rows: &[NeighbourRow<'_>]) -> Block {
    let cell = |column: &MatrixColumn, row: NeighbourRow<'_>| -> Text {
        let missing = || absent(series(record, column.victim, column.measure.ratio, row));
        ends(record, column, row).map_or_else(missing, Text::from)
    };
    let columns = columns(record);
    let line = |&(class, place): &NeighbourRow<'_>| {
        let cells = columns.iter().map(|column| cell(column, (class, place)));
        std::iter::once(Text::from(format!("{class}, {place}"))).chain(cells).collect()
    };
    let note = "each is the median over blocks by itself: what they say together is the change within blocks \
                above";
    Table::of("Alone and with neighbours, medians")
        .left("beside")
        .columns(columns.iter().map(|column| (column.title, Align::Right)))
        .rows(rows.iter().map(line))
        .notes([note])
        .into()
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

/// What the numbers advise. Each one rests on a change that is believed.
pub(super) fn findings(record: &Record) -> Vec<Finding> {
    let matrix = Matrix::of(record);
    [wide(&matrix), sibling(&matrix), memory(&matrix)].into_iter().flatten().collect()
}

/// The greatest sure loss among these columns and rows.
fn worst<'a, 'r>(
    matrix: &Matrix<'_>,
    columns: &[&'a MatrixColumn],
    rows: impl Iterator<Item = NeighbourRow<'r>>,
) -> Option<(&'a MatrixColumn, NeighbourRow<'r>, Change)> {
    let loss = |column: &MatrixColumn, change: &Change| change.loss(column.measure);
    let all = rows.flat_map(|row| columns.iter().map(move |column| (*column, row)));
    let sure = all.filter_map(|(column, row)| {
        let change = matrix.change(column, row)?;
        (change.is_sure && loss(column, &change) >= WORTH).then_some((column, row, change))
    });
    let sure: Vec<(&MatrixColumn, NeighbourRow<'_>, Change)> = sure.collect();
    let most = sure.iter().map(|it| loss(it.0, &it.2)).reduce(f64::max)?;
    // Of those that noise alone tells apart, those that are merely active, else the first.
    let mut equal = sure.into_iter().filter(|it| loss(it.0, &it.2) >= most - NOISE / 100.0);
    let first = equal.next()?;
    let is_active = first.1.0 == SCALAR_CLASS;
    equal.find(|it| !is_active && it.1.0 == SCALAR_CLASS).or(Some(first))
}

/// What the victim has again without what costs it that.
fn back(column: &MatrixColumn, ratio: f64) -> String {
    if column.measure.ratio == WAIT.ratio {
        format!("{:.1} % less of {} at most", (1.0 - 1.0 / ratio) * 100.0, column.noun)
    } else {
        format!("{:.1} % more of {} at most", (1.0 / ratio - 1.0) * 100.0, column.noun)
    }
}

fn finding(id: &str, text: String, remedy: String) -> Finding {
    Finding::note(id.to_owned(), "neighbours, tried", text).remedy(remedy)
}

/// Wide vectors on other cores lower the clock of this one.
fn wide(matrix: &Matrix<'_>) -> Option<Finding> {
    let record = matrix.record;
    let place = Place::Others.word();
    let clocks: Vec<&MatrixColumn> =
        COLUMNS.iter().filter(|column| column.measure.ratio == CLOCK.ratio).collect();
    let heavy = ["light 512 bit", "heavy 512 bit", "tiles"].map(|class| (class, place));
    let (column, row, change) = worst(matrix, &clocks, heavy.into_iter())?;
    let narrow = matrix.change(column, ("heavy 256 bit", place));
    // The clock that the other cores merely being active costs is none of the vectors' doing.
    let scalar = matrix.change(column, (SCALAR_CLASS, place))?;
    let own = change.ratio / scalar.ratio;
    if own > 1.0 - WORTH {
        return None;
    }
    let spared = narrow.filter(|narrow| narrow.ratio - change.ratio >= WORTH);
    let gain = back(column, spared.map_or(own, |narrow| change.ratio / narrow.ratio));
    let mut advice = Vec::new();
    if let Some(narrow) = spared {
        advice.push(format!("256 bit there cost {} instead", narrow.words()));
    }
    let cpu = record.run.plan.cpus.iter().next()?;
    let level = clock_account::level_of(record, cpu).map(|(_, level)| level);
    if level.is_some_and(|level| level.turbo_freq.is_some()) {
        advice.push("Speed Select can give this core a clock of its own: `cpudyno sst`".to_owned());
    }
    if is_within_one_of_several_packages(record) {
        advice.push("keep such code on cores of another package".to_owned());
    }
    if advice.is_empty() {
        advice.push("keep such code off the other cores while this clock counts".to_owned());
    }
    let finding = finding(
        "turbo.wide-neighbours",
        on_other_cores(matrix, column, row, &change, Some(scalar)),
        advice.join("; "),
    );
    Some(finding.gain(gain).cause("cores share licences and power limits".to_owned()))
}

/// What runs beside, in a sentence: `heavy 512 bit code`.
fn running(class: &str) -> String {
    match class.split_once(' ') {
        _ if class == MEMORY_CLASS => "memory traffic".to_owned(),
        Some(("lock", _)) => "a spinner on a lock".to_owned(),
        Some((weight, "512 bit" | "256 bit")) => {
            let op = if weight == "heavy" { "FMA" } else { "integer" };
            format!("{}-bit {op} code", if class.ends_with("512 bit") { "512" } else { "256" })
        }
        _ => format!("{class} code"),
    }
}

/// What neighbours on other cores cost, beside what those cost that execute scalar code.
fn on_other_cores(
    matrix: &Matrix<'_>,
    column: &MatrixColumn,
    row: NeighbourRow<'_>,
    change: &Change,
    scalar: Option<Change>,
) -> String {
    let effect = effect(matrix, column, row, change);
    let scalar = scalar.filter(|it| it.is_sure && it.loss(column.measure) >= WORTH);
    let beside =
        scalar.map_or(String::new(), |scalar| format!("; scalar code there, {}", scalar.by()));
    let count = by_count::words(matrix.record, column, row.0);
    let count = count.map_or(String::new(), |words| format!("; {words}"));
    format!("{} on other cores {effect}{beside}{count}", running(row.0))
}

/// What becomes of a victim's number: `lowers the clock of scalar code (4699 MHz alone) by 46.8 %`.
fn effect(
    matrix: &Matrix<'_>,
    column: &MatrixColumn,
    row: NeighbourRow<'_>,
    change: &Change,
) -> String {
    let MatrixColumn { noun, unit, victim, measure, .. } = column;
    let alone = series(matrix.record, victim, measure.alone, row).and_then(Series::summary);
    let alone = alone.map_or(String::new(), |alone| {
        format!(" ({} {unit} alone)", number(measure, alone.median))
    });
    let verb = if change.ratio < 1.0 { "lowers" } else { "raises" };
    format!("{verb} {noun}{alone} {}", change.by())
}

/// The medians without and with neighbours: `4699 to 2500`.
fn ends(record: &Record, column: &MatrixColumn, row: NeighbourRow<'_>) -> Option<String> {
    let MatrixColumn { victim, measure, .. } = column;
    let median = |quantity| Some(series(record, victim, quantity, row)?.summary()?.median);
    let [alone, beside] =
        [median(measure.alone)?, median(measure.beside)?].map(|it| number(measure, it));
    Some(format!("{alone} to {beside}"))
}

/// Whether there is a package that none of the measured cores is in.
fn is_within_one_of_several_packages(record: &Record) -> bool {
    let topology = &record.machine.topology;
    let packages = |cpus: &CpuSet| -> BTreeSet<Option<u32>> {
        cpus.iter().map(|cpu| topology.place(cpu).map(|place| place.package)).collect()
    };
    packages(&record.run.plan.cpus).len() == 1 && packages(&topology.usable).len() > 1
}

/// Whether memory has several nodes.
fn has_nodes(record: &Record) -> bool {
    record.machine.topology.nodes.len() > 1
}

/// A busy sibling takes from its core.
fn sibling(matrix: &Matrix<'_>) -> Option<Finding> {
    let rows = [Place::Sibling.word(), HIDDEN].into_iter();
    let rows = rows.flat_map(|place| matrix.rows.iter().copied().filter(move |row| row.1 == place));
    let (column, row, change) = worst(matrix, &COLUMNS.each_ref(), rows)?;
    let gain = back(column, change.ratio);
    let is_alike = is_alike(matrix, column, row.1);
    let whose = if is_alike { "whatever runs".to_owned() } else { running(row.0) };
    if row.1 == HIDDEN {
        let finding = finding(
            "turbo.hidden-sibling",
            format!(
                "{whose} on a CPU that shares this one's core, as probed, {}",
                effect(matrix, column, row, &change)
            ),
            "leave that CPU idle; in a guest, ask for whole cores".to_owned(),
        );
        return Some(finding.gain(gain));
    }
    let finding = finding(
        "turbo.busy-sibling",
        format!("{whose} on the SMT sibling {}", effect(matrix, column, row, &change)),
        "leave the sibling idle: isolate it, or `cpudyno set smt=off`".to_owned(),
    );
    Some(finding.gain(gain))
}

/// Whether all classes in a place cost as much, so that none of them is to blame.
fn is_alike(matrix: &Matrix<'_>, column: &MatrixColumn, place: &str) -> bool {
    let rows = matrix.rows.iter().filter(|row| row.1 == place);
    let losses = rows.filter_map(|row| Some(matrix.change(column, *row)?.loss(column.measure)));
    let losses: Vec<f64> = losses.collect();
    let [low, high] = [f64::min as fn(f64, f64) -> f64, f64::max]
        .map(|end| losses.iter().copied().reduce(end).unwrap_or(0.0));
    losses.len() > 1 && high - low < WORTH
}

/// Others who move memory take from what there is.
fn memory(matrix: &Matrix<'_>) -> Option<Finding> {
    let row = (MEMORY_CLASS, Place::Others.word());
    let memory: Vec<&MatrixColumn> =
        COLUMNS.iter().filter(|column| [BANDWIDTH, LATENCY].contains(&column.victim)).collect();
    let (column, row, change) = worst(matrix, &memory, std::iter::once(row))?;
    // What others cost that are merely active, or whatever else goes on, is none of the memory's doing; what may as
    // well be nothing is not taken off it.
    let scalar = matrix.change(column, (SCALAR_CLASS, row.1)).filter(|it| it.is_sure);
    let own = scalar.map_or(change.ratio, |scalar| change.ratio / scalar.ratio);
    if (Change { ratio: own, ..change }).loss(column.measure) < WORTH {
        return None;
    }
    let gain = back(column, own);
    let elsewhere = if has_nodes(matrix.record) {
        "run that traffic on another node or package, or limit its bandwidth (resctrl)"
    } else {
        "keep such work off this machine while that counts, or limit its bandwidth (resctrl)"
    };
    let finding = finding(
        "turbo.memory-neighbours",
        on_other_cores(matrix, column, row, &change, scalar),
        elsewhere.to_owned(),
    );
    Some(finding.gain(gain))
}

/// The bandwidth that the other cores cost, in a sentence: it is one of memory.
pub(in super::super) fn sentence(record: &Record) -> Option<Text> {
    let row = (MEMORY_CLASS, Place::Others.word());
    let column = COLUMNS.iter().find(|column| column.victim == BANDWIDTH)?;
    let beside = series(record, BANDWIDTH, MOVED.beside, row)?.summary()?.median;
    let change = Matrix::of(record).change(column, row).filter(|it| it.is_sure)?;
    Some(
        format!(
            "With neighbours that move memory, a core still gets {}: {}.",
            si::format(beside, Unit::BytePerSecond),
            change.words()
        )
        .into(),
    )
}

#[cfg(test)]
mod tests;
