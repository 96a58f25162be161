//! What a page shows of each question.

pub(super) mod bandwidth;
pub(super) mod factors;
pub(super) mod latency;
pub(super) mod loaded;
pub(super) mod numa;
pub(super) mod scaling;
pub(super) mod stream_lines;
pub(super) mod sweep;

use super::read::{Cell, in_order};
use super::working_set::Extent;
use model::Unit;
use model::page::{Block, Text, Tone, si};

/// Nanoseconds, to three digits.
pub(super) fn nanoseconds(seconds: f64) -> String {
    digits(seconds * 1e9)
}

/// Three digits: more say nothing of a latency.
pub(super) fn digits(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A size of memory.
pub(super) fn size(bytes: u64) -> String {
    si::format(bytes as f64, Unit::Byte)
}

/// A remark of less weight.
fn note(text: impl Into<String>) -> Block {
    Block::Paragraph(Text::toned(text, Tone::Faint))
}

/// What the arrays of these cells pass through, to stand behind a heading: no cache number is ever
/// called memory.
fn through(extents: &[Extent]) -> String {
    let words: Vec<String> = extents.iter().map(Extent::words).collect();
    if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) }
}

/// How the CPUs of several threads lay to each other.
fn placement(cells: &[Cell<'_>], quantity: &str) -> Option<Block> {
    let classes = in_order(cells.iter().flat_map(|cell| cell.classes(quantity)));
    (!classes.is_empty()).then(|| {
        note(format!(
            "placement of several threads, as probed: {} (classes are never pooled)",
            classes.join(", ")
        ))
    })
}

/// Which samples fall into several groups, where a page has room for one number only.
fn modes<'b, 'c: 'b>(
    cells: impl IntoIterator<Item = &'b Cell<'c>>,
    quantity: &str,
    text: impl Fn(f64) -> String,
) -> Option<Block> {
    let of = |cell: &Cell<'_>| {
        let each = cell.numbers(quantity)?.modes()?;
        let each = each.iter().map(|m| format!("{} ({:.0} %)", text(m.median), m.share * 100.0));
        let each: Vec<String> = each.collect();
        Some(format!("{} on CPUs {}: {}", cell.workload, cell.active, each.join(" and ")))
    };
    let found: Vec<String> = cells.into_iter().filter_map(of).collect();
    (!found.is_empty()).then(|| {
        note(format!(
            "samples fall into groups, of which the largest stands here: {}",
            some(&found)
        ))
    })
}

/// The first few of what was found, and how many more there are.
pub(super) fn some(found: &[String]) -> String {
    const SHOWN_MAX: usize = 3;
    let more = found.len().saturating_sub(SHOWN_MAX);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", found[..found.len().min(SHOWN_MAX)].join("; "))
}

/// What stands where there is no number.
fn dash() -> Text {
    Text::toned("-", Tone::Faint)
}

/// The words for pages that memory was asked to come in.
fn pages(word: &str) -> &str {
    match word.parse::<model::Pages>() {
        Ok(pages) => pages.title(),
        Err(_) => word,
    }
}
