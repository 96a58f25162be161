//! What the kernels move.

use model::page::{Align, Block, Ruled, Text, Tone};
use model::record::Record;
use model::stats::median;

use super::super::counting::{Counting, moved_per_asked};
use super::super::extent::{self, Extent};
use super::super::read::{Cell, cells, in_order, threads};
use super::{columns, dash, note, pages, size};

const QUANTITY: &str = "bandwidth";

/// A table for each number of threads and choice of variants, with the line of the four kernels.
pub(in super::super) fn blocks(record: &Record) -> Vec<Block> {
    let mut cells = cells(record, "bandwidth");
    cells.sort_by_key(|cell| cell.active.len());
    let mut blocks = Vec::new();
    for of_threads in cells.chunk_by(|a, b| a.active == b.active) {
        let extents =
            in_order(of_threads.iter().filter_map(|cell| extent::of_arrays(record, cell)));
        let within = extents.iter().any(|extent| matches!(extent, Extent::Within(_)));
        let counting = counting(record, within);
        blocks.push(Block::Heading(heading(of_threads, &extents)));
        blocks.extend(arrays(of_threads));
        for choice in in_order(of_threads.iter().map(|cell| cell.text("choice").unwrap_or(""))) {
            let of_choice: Vec<&Cell<'_>> =
                of_threads.iter().filter(|cell| cell.text("choice") == Some(choice)).collect();
            blocks.push(table((counting, within), choice, &of_choice));
            blocks.extend(in_brief(counting, &of_choice));
        }
        blocks.extend(classes(of_threads));
    }
    if !blocks.is_empty() {
        blocks.extend(answers(record, &cells));
        blocks.push(note(
            "measured traffic: unavailable: this version reads no counters of memory controllers",
        ));
    }
    blocks
}

/// How bytes are counted: within caches no line is brought in from memory.
fn counting(record: &Record, within: bool) -> Counting {
    let counting = Counting::of(record);
    if within { counting.as_asked() } else { counting }
}

/// Who moved it, and what it passed through.
fn heading(cells: &[Cell<'_>], extents: &[Extent]) -> String {
    let words: Vec<String> = extents.iter().map(Extent::words).collect();
    let through = if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) };
    format!("{}{through}", threads(cells[0].active))
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
fn caption(choice: &str) -> &str {
    match choice {
        "best" => "fastest variants, as a short trial chose them",
        "widest" => {
            "the widest registers, with ordinary or non-temporal stores: the faster, by a trial"
        }
        "ordinary stores" => {
            "fastest variants with ordinary stores: compare these with STREAMBenchmark and with C"
        }
        "as asked for" => "the variant that was asked for",
        other => other,
    }
}

fn table((counting, within): (Counting, bool), choice: &str, cells: &[&Cell<'_>]) -> Block {
    let mut notes = Vec::new();
    if within {
        notes.push(
            "within caches no line is brought in from memory before it is written".to_owned(),
        );
    } else if cells.iter().any(|cell| is_untold(cell)) {
        notes.push(
            "with write-allocate is unavailable where one instruction moves the whole array: the CPU \
             chooses how it stores, and does not tell"
                .to_owned(),
        );
    }
    Block::Ruled(Ruled {
        caption: format!(
            "{}: {}, median of all samples (higher is better)",
            caption(choice),
            counting.unit()
        ),
        columns: columns([
            ("kernel", Align::Left),
            ("formula", Align::Left),
            ("as asked", Align::Right),
            ("with write-allocate", Align::Right),
            ("p10 - p90", Align::Right),
            ("best", Align::Right),
            ("±", Align::Right),
            ("variant", Align::Left),
        ]),
        optional: vec![1, 5, 4],
        parts: vec![cells.iter().map(|cell| row((counting, within), cell)).collect()],
        notes,
    })
}

fn is_untold(cell: &Cell<'_>) -> bool {
    moved_per_asked(cell).is_none() && cell.median(QUANTITY).is_some()
}

fn row((counting, within): (Counting, bool), cell: &Cell<'_>) -> Vec<Text> {
    let name = Text::from(cell.workload);
    let formula = Text::from(cell.text("formula").unwrap_or(""));
    let variant = Text::from(cell.text("variant").unwrap_or("-"));
    let Some(numbers) = cell.numbers(QUANTITY) else {
        let absent = Text::toned("unavailable", Tone::Warning);
        return vec![name, formula, absent, dash(), dash(), dash(), dash(), variant];
    };
    let moved = moved_per_asked(cell).map(|moved| counting.text(numbers.median * moved));
    let asked = counting.text(numbers.median);
    let strong = |text: String| Text::toned(text, Tone::Strong);
    let (asked, moved) = match (moved, counting.write_allocate()) {
        _ if within => (strong(asked), dash()),
        (Some(moved), true) => (asked.into(), strong(moved)),
        (Some(moved), false) => (strong(asked), moved.into()),
        (None, _) => (strong(asked), Text::toned("unavailable", Tone::Warning)),
    };
    let headline = |value| counting.text(counting.headline(cell, value));
    let uncertainty = |share: f64| Text::from(format!("{:.1} %", share * 100.0));
    vec![
        name,
        formula,
        asked,
        moved,
        format!("{} - {}", headline(numbers.p10), headline(numbers.p90)).into(),
        headline(numbers.max).into(),
        numbers.uncertainty.map_or_else(dash, uncertainty),
        variant,
    ]
}

/// Median, minimum and maximum of the kernels, as the originals print them.
fn in_brief(counting: Counting, cells: &[&Cell<'_>]) -> Option<Block> {
    let known: Vec<(&str, f64)> = cells
        .iter()
        .filter_map(|cell| Some((cell.workload, counting.headline(cell, cell.median(QUANTITY)?))))
        .collect();
    let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    let least = values.iter().copied().reduce(f64::min)?;
    let most = values.iter().copied().reduce(f64::max)?;
    let each: Vec<String> = known
        .iter()
        .map(|(name, value)| format!("{} {}", name.to_uppercase(), counting.text(*value)))
        .collect();
    let text = format!(
        "{} {unit}: median {}, minimum {}, maximum {} {unit} ({})",
        each.join(", "),
        counting.text(median(&values)?),
        counting.text(least),
        counting.text(most),
        counting.words(),
        unit = counting.unit(),
    );
    (values.len() > 1).then(|| Block::Paragraph(Text::toned(text, Tone::Strong)))
}

/// Which classes of placement were seen, where there is more than one.
fn classes(cells: &[Cell<'_>]) -> Option<Block> {
    let classes = in_order(cells.iter().flat_map(|cell| cell.classes(QUANTITY)));
    match classes.as_slice() {
        [shown, others @ ..] if !others.is_empty() => Some(note(format!(
            "shown: while the CPUs lay as `{shown}`, most of the time; also seen and never pooled \
             with it: {}",
            others.join(", ")
        ))),
        _ => None,
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
