//! What the kernels move.

use model::page::{Align, Block, Ruled, Text, Tone, doubts};
use model::record::{Record, Samples};
use model::stats::median;

use super::super::byte_accounting::{Counting, OTHERS_SHARE_MAX};
use super::super::read::{Cell, Measured, Numbers, cells, idle, in_order, threads};
use super::super::working_set::Extent;
use super::{dash, note, pages, size, through};
use model::areas::memory::choice;

const QUANTITY: &str = "bandwidth";
const MEASURED: &str = "measured_read";

/// A table for each number of threads and choice of variants, with the line of the four kernels.
pub(in super::super) fn blocks(record: &Record) -> Vec<Block> {
    let mut cells = cells(record, "bandwidth");
    cells.sort_by_key(|cell| (cell.active.len(), cell.active.iter().next()));
    let counting = Counting::of(record);
    let mut blocks = Vec::new();
    for of_threads in cells.chunk_by(|a, b| a.active == b.active) {
        let through = through(&counting.extents(of_threads));
        blocks.push(Block::Heading(format!(
            "{}{through}",
            threads(&record.machine.topology, of_threads[0].active)
        )));
        blocks.extend(arrays(of_threads));
        for choice in in_order(of_threads.iter().map(|cell| cell.text("choice").unwrap_or(""))) {
            let of_choice: Vec<&Cell<'_>> =
                of_threads.iter().filter(|cell| cell.text("choice") == Some(choice)).collect();
            blocks.push(table(counting, choice, &of_choice));
            blocks.extend(in_brief(counting, &of_choice));
        }
        blocks.extend(classes(of_threads));
    }
    if !blocks.is_empty() {
        blocks.extend(answers(record, &cells));
        blocks.extend(measured(record, &cells));
    }
    blocks
}

/// How large the arrays are.
fn arrays(cells: &[Cell<'_>]) -> Option<Block> {
    let cell = cells.first()?;
    let elements = cell.number("elements")?;
    let limited = cell.limited();
    Some(note(format!(
        "each array: {elements} elements of 8 bytes ({}) over all threads, in {}{limited}",
        size(cell.array_bytes()?),
        pages(cell.text("pages").unwrap_or("pages of unknown size")),
    )))
}

/// What the choice of variants means.
fn caption(chosen: &str) -> &str {
    match chosen {
        choice::BEST => "fastest variants, as a short trial chose them",
        choice::WIDEST => {
            "the widest registers, with ordinary or non-temporal stores: the faster, by a trial"
        }
        choice::ORDINARY => {
            "fastest variants with ordinary stores: compare these with STREAMBenchmark and with C"
        }
        choice::AS_ASKED => "the variant that was asked for",
        other => other,
    }
}

fn table(counting: Counting<'_>, choice: &str, cells: &[&Cell<'_>]) -> Block {
    let (mut legend, mut notes) = (Vec::new(), Vec::new());
    let all = || cells.iter().copied();
    let extents = counting.extents(all());
    if extents.len() > 1 {
        legend.extend(extents.iter().map(|extent| {
            let there = all().filter(|cell| counting.extent(cell).as_ref() == Some(extent));
            let names: Vec<&str> = there.map(|cell| cell.workload).collect();
            format!("{}: {}", extent.words(), names.join(", "))
        }));
    }
    if extents.iter().any(Extent::is_within) {
        notes.push(
            "within caches no line is brought in from memory before it is written".to_owned(),
        );
    }
    legend.extend(untold(counting, cells));
    let numbers = || all().filter_map(|cell| Some((cell.workload, cell.numbers(QUANTITY)?)));
    if numbers().any(|(_, numbers)| numbers.modes().is_some()) {
        legend.push("a or b: samples fall into groups, which have no common median".to_owned());
    }
    legend.extend(numbers().filter_map(|(name, numbers)| disturbed(counting, name, &numbers)));
    let is_measured = all().any(|cell| cell.shown(MEASURED).is_some());
    let rows: Vec<Vec<Text>> = cells.iter().map(|cell| row(counting, cell, is_measured)).collect();
    legend.extend(doubts(&rows));
    let mut columns = vec![
        ("kernel", Align::Left),
        ("formula", Align::Left),
        ("as asked", Align::Right),
        ("write-allocate", Align::Right),
        ("p10 - p90", Align::Right),
        ("best", Align::Right),
        ("±", Align::Right),
        ("variant", Align::Left),
    ];
    if is_measured {
        let more = [("measured", Align::Right), ("read + written", Align::Right)];
        columns.splice(MEASURED_AT..MEASURED_AT, more);
    }
    Block::Ruled(Ruled {
        caption: format!("{}: {}, median of all samples", caption(choice), counting.unit()),
        columns: columns.into_iter().map(|(name, align)| (name.to_owned(), align)).collect(),
        optional: if is_measured { vec![1, 5, 8, 6] } else { vec![1, 6, 4] },
        parts: vec![rows],
        legend,
        notes,
    })
}

/// Where what was measured stands, if it was.
const MEASURED_AT: usize = 4;

/// What stands there: all that memory controllers moved, and its two parts for each byte asked for.
fn measured_texts(counting: Counting<'_>, cell: &Cell<'_>) -> [Text; 2] {
    match (cell.measured(), cell.shown(MEASURED)) {
        (Some(measured), _) => {
            let parts =
                cell.measured_per_asked().map_or_else(dash, |Measured { read, written }| {
                    format!("{read:.2} + {written:.2} per byte").into()
                });
            [counting.text(measured.bytes()).into(), parts]
        }
        (None, Some(_)) => [Text::toned("unavailable", Tone::Warning), dash()],
        (None, None) => [dash(), dash()],
    }
}

/// How it is known what cells move with write-allocate, of whose instructions it does not follow.
fn untold(counting: Counting<'_>, cells: &[&Cell<'_>]) -> Vec<String> {
    let untold = || cells.iter().filter(|cell| is_untold(counting, cell));
    let is_known = |cell: &&&Cell<'_>| counting.moved_per_asked(cell).is_some();
    let mut ways = Vec::new();
    if untold().any(|cell| is_known(&cell)) {
        ways.push("is what was measured".to_owned());
    }
    if untold().any(|cell| cell.measured().is_none()) {
        ways.push("is unavailable".to_owned());
    }
    if untold().any(|cell| cell.measured().is_some() && !is_known(&cell)) {
        ways.push(format!(
            "is unavailable, because others move more than {:.0} % of what was measured,",
            OTHERS_SHARE_MAX * 100.0
        ));
    }
    let words = |way: String| {
        format!(
            "with write-allocate {way} where one instruction moves the whole array: the CPU chooses how \
             it stores, and does not tell"
        )
    };
    ways.into_iter().map(words).collect()
}

fn is_untold(counting: Counting<'_>, cell: &Cell<'_>) -> bool {
    let is_within = counting.extent(cell).is_some_and(|extent| extent.is_within());
    !is_within && Counting::told(cell).is_none() && cell.main_median(QUANTITY).is_some()
}

fn row(counting: Counting<'_>, cell: &Cell<'_>, is_measured: bool) -> Vec<Text> {
    let mut row = numbers(counting, cell);
    if is_measured {
        row.splice(MEASURED_AT..MEASURED_AT, measured_texts(counting, cell));
    }
    row
}

fn numbers(counting: Counting<'_>, cell: &Cell<'_>) -> Vec<Text> {
    let name = Text::from(cell.workload);
    let formula = Text::from(cell.text("formula").unwrap_or(""));
    let variant = Text::from(cell.text("variant").unwrap_or("-"));
    let absent = || Text::toned("unavailable", Tone::Warning);
    let Some(numbers) = cell.numbers(QUANTITY) else {
        return vec![name, formula, absent(), dash(), dash(), dash(), dash(), variant];
    };
    let within = counting.extent(cell).is_some_and(|extent| extent.is_within());
    let modes = numbers.modes();
    let middle = |factor: f64| medians(counting, &numbers, factor);
    let moved = counting.moved_per_asked(cell).map(middle);
    let asked = middle(1.0);
    let strong = |text: String| Text::toned(text, Tone::Strong);
    let (asked, moved) = match (moved, counting.write_allocate()) {
        _ if within => (strong(asked), dash()),
        (Some(moved), true) => (asked.into(), strong(moved)),
        (Some(moved), false) => (strong(asked), moved.into()),
        (None, true) => (asked.into(), absent()),
        (None, false) => (strong(asked), absent()),
    };
    let headline = |value| Some(counting.text(counting.headline(cell, value)?));
    let spread = |[low, high]: [f64; 2]| Some(format!("{} - {}", headline(low)?, headline(high)?));
    let or_dash = |text: Option<String>| text.map_or_else(dash, Text::from);
    let uncertainty = |share: f64| Text::from(format!("{:.1} %", share * 100.0));
    vec![
        name,
        formula,
        asked.doubted(cell.is_doubtful(QUANTITY)),
        moved,
        or_dash(numbers.spread.filter(|_| modes.is_none()).and_then(spread)),
        or_dash(headline(numbers.max)),
        numbers.uncertainty.map_or_else(dash, uncertainty),
        variant,
    ]
}

/// The median, times a factor; of several modes each one's, because together they have no middle.
pub(in super::super) fn medians(counting: Counting<'_>, numbers: &Numbers, factor: f64) -> String {
    let Some(modes) = numbers.modes() else { return counting.text(numbers.median * factor) };
    let each: Vec<String> = modes.iter().map(|mode| counting.text(mode.median * factor)).collect();
    each.join(" or ")
}

/// Samples that lie apart and are too few for a mode.
fn disturbed(counting: Counting<'_>, name: &str, numbers: &Numbers) -> Option<String> {
    let each: Vec<String> = numbers
        .strays()
        .map(|group| format!("{} near {}", group.count, counting.text(group.median)))
        .collect();
    (!each.is_empty()).then(|| {
        format!(
            "{name}: apart from the median and p10 - p90, of {} samples, as asked: {}",
            numbers.count(),
            each.join(", ")
        )
    })
}

/// Median, minimum and maximum of the kernels, as the originals print them: of those that pass through
/// the same, because numbers of caches and memory have no median.
fn in_brief(counting: Counting<'_>, cells: &[&Cell<'_>]) -> Option<Block> {
    // Where samples fall into several groups there is no number for a whole kernel.
    let is_one = |cell: &&Cell<'_>| cell.numbers(QUANTITY).is_none_or(|n| n.modes().is_none());
    let all = || cells.iter().copied().filter(is_one);
    if counting.extents(all()).len() > 1 {
        return None;
    }
    let known: Vec<(&str, f64)> = all()
        .filter_map(|cell| {
            Some((cell.workload, counting.headline(cell, cell.main_median(QUANTITY)?)?))
        })
        .collect();
    let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    let least = values.iter().copied().reduce(f64::min)?;
    let most = values.iter().copied().reduce(f64::max)?;
    let each: Vec<String> = known
        .iter()
        .map(|(name, value)| format!("{} {}", name.to_uppercase(), counting.text(*value)))
        .collect();
    let left_out = counting.left_out(all(), QUANTITY);
    let left_out = left_out.map_or(String::new(), |left_out| format!("; {left_out}"));
    let text = format!(
        "{} {unit}: median {}, minimum {}, maximum {} {unit} ({}{left_out})",
        each.join(", "),
        counting.text(median(&values)?),
        counting.text(least),
        counting.text(most),
        counting.words(all()),
        unit = counting.unit(),
    );
    (values.len() > 1).then(|| Block::Paragraph(Text::toned(text, Tone::Strong)))
}

/// Which classes of placement were seen.
fn classes(cells: &[Cell<'_>]) -> Option<Block> {
    let classes = in_order(cells.iter().flat_map(|cell| cell.classes(QUANTITY)));
    match classes.as_slice() {
        [] => None,
        [only] => Some(note(format!("placement, as probed: the CPUs lay as `{only}`"))),
        [shown, others @ ..] => Some(note(format!(
            "shown: while the CPUs lay as `{shown}`, most of the time; also seen and never pooled \
             with it: {}",
            others.join(", ")
        ))),
    }
}

/// What became of the answers; nothing where nothing was computed.
fn answers(record: &Record, cells: &[Cell<'_>]) -> Option<Block> {
    let errors = cells.iter().filter_map(|cell| Some(cell.numbers("answer_error")?.max));
    match errors.reduce(f64::max) {
        Some(error) => Some(note(format!("answers checked: largest error {error}"))),
        None if record.run.simulated.is_some() => None,
        None => Some(note("answers: none was checked")),
    }
}

/// What was measured of traffic, by which counters, and what others moved before; where there are no
/// counters, the page says so among what was not measured.
fn measured(record: &Record, cells: &[Cell<'_>]) -> Option<Block> {
    let counting = Counting::of(record);
    let measured: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.measured().is_some()).collect();
    let beyond = measured.iter().filter_map(|cell| Some(cell.numbers("measured_beyond")?.median));
    let beyond = beyond.reduce(f64::max)?;
    let left_out = left_out(cells);
    let instrument =
        record.instruments.iter().find(|known| known.id == model::areas::memory::CONTROLLERS)?;
    let before = idle(record).map_or_else(String::new, |idle| {
        format!(
            " While cpudyno slept, before the run or after it, they read {} and wrote {} {}; that is \
             contained in the numbers and never subtracted.",
            counting.text(idle.read),
            counting.text(idle.written),
            counting.unit()
        )
    });
    Some(note(format!(
        "measured: what the memory controllers of all packages read and wrote around each repetition, \
         but the first of a block, whoever asked for it, over the time of the repetition ({}); read and \
         written for each byte that was asked for.{before} Readings lay farther apart than the stamps of \
         the repetition, in the median by {:.1} % of it at most.{left_out}",
        instrument.source,
        beyond * 100.0
    )))
}

/// How many repetitions were not counted, in words; nothing where all were.
fn left_out(cells: &[Cell<'_>]) -> String {
    let counts = |quantity| cells.iter().filter_map(move |cell| cell.shown(quantity)?.samples());
    let lost: f64 = counts("measured_left_out").flat_map(Samples::all).sum();
    let kept: usize = counts(MEASURED).map(|samples| samples.all().len()).sum();
    if lost <= 0.0 {
        return String::new();
    }
    format!(
        " Of {} repetitions {lost} are left out: a counter was taken by others meanwhile, stood still or \
         ran backwards.",
        kept as f64 + lost
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, series};

    #[test]
    fn a_row_counts_all_but_what_was_asked_for_with_write_allocate() {
        let parameters = [("question", "bandwidth"), ("moved_per_asked", "4/3")];
        let blocks: [&[f64]; 5] = [&[90e9], &[88e9], &[92e9], &[90e9], &[90e9]];
        let mut record = blank();
        record.series = vec![series(["memory", "triad", QUANTITY], "0", &parameters, &blocks)];
        let row = numbers(Counting::of(&record), &cells(&record, "bandwidth")[0]);
        let texts: Vec<&str> = row[2..7].iter().map(|text| text.text.as_str()).collect();
        // 90 x 4/3; 88.8 and 91.2 x 4/3; 92 x 4/3; 2 of 90.
        assert_eq!(texts, ["90.00", "120.00", "118.40 - 121.60", "122.67", "2.2 %"]);
    }

    #[test]
    fn a_brief_line_has_median_least_and_most_of_the_kernels() {
        let mut record = blank();
        for (kernel, moved, asked) in [
            ("copy", "3/2", 60e9),
            ("scale", "3/2", 58e9),
            ("add", "4/3", 66e9),
            ("triad", "4/3", 75e9),
        ] {
            let parameters = [("question", "bandwidth"), ("moved_per_asked", moved)];
            record.series.push(series(["memory", kernel, QUANTITY], "0", &parameters, &[&[asked]]));
        }
        let cells = cells(&record, "bandwidth");
        let brief = in_brief(Counting::of(&record), &cells.iter().collect::<Vec<_>>());
        let Some(Block::Paragraph(text)) = brief else { panic!("{brief:?}") };
        // 90, 87, 88 and 100 GB/s: the median is between 88 and 90.
        assert!(text.text.contains("median 89.00, minimum 87.00, maximum 100.00 GB/s"), "{text:?}");
    }
}
