//! A page for a terminal.
//!
//! Every line fits the width that was asked for and stands on its own when it is copied into a
//! message. Colour adds nothing that the words do not say.

mod bars;
mod grid;
mod heat;
mod line;
mod panel;
mod plot;
mod ruled;
mod table;
mod wrap;

use std::ops::RangeInclusive;

use model::page::{Block, Figure, Page, Remark, Text, Tone};

use line::{StyledLine, style};
use wrap::{wrap, wrap_after};

/// The widths that text is laid out in.
const WIDTHS: RangeInclusive<usize> = 40..=400;

/// How text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Columns; less than 40 is taken as 40, more than 400 as 400.
    pub width: u16,
    /// Whether ANSI colours are used.
    pub colour: bool,
}

/// The page as text: no line is wider than the layout, none ends in spaces.
pub fn render(page: &Page, layout: Layout) -> String {
    let width = usize::from(layout.width).clamp(*WIDTHS.start(), *WIDTHS.end());
    let mut text = String::new();
    let mut close = true;
    let shown = |block: &&Block| !matches!(block, Block::Slopes(_) | Block::Strips(_));
    let heads = |block: &Block| matches!(block, Block::Heading(_) | Block::Fold { .. });
    for block in page.blocks.iter().filter(shown) {
        if !close || (heads(block) && !text.is_empty()) {
            text.push('\n');
        }
        for line in block_lines(block, width) {
            line.write(&mut text, layout.colour);
        }
        // A heading belongs to what follows it; the title has its own line under it.
        close = heads(block) || matches!(block, Block::Title { .. });
    }
    text
}

fn block_lines(block: &Block, width: usize) -> Vec<StyledLine> {
    match block {
        Block::Title { text, subtitle } => title(text, subtitle, width),
        Block::Heading(title) | Block::Fold { title, .. } => toned(title, Tone::Strong, width),
        Block::Badge { label, grade, reasons } => badge(label, grade, reasons, width),
        Block::Figures(figures) => table::lines(&Figure::table(figures), width),
        Block::Box(pairs) => panel::boxed(pairs, width),
        Block::Groups(groups) => panel::groups(groups, width),
        Block::Paragraph(text) => toned(&text.text, text.tone, width),
        Block::List(items) => items.iter().flat_map(|item| bullet(item, width)).collect(),
        Block::Remarks(remarks) => remarks.iter().flat_map(|one| remark(one, width)).collect(),
        Block::Actions(remarks) => remarks.iter().flat_map(|one| action(one, width)).collect(),
        Block::Hints(lines) => {
            lines.iter().flat_map(|line| bullet(&Text::toned(line, Tone::Faint), width)).collect()
        }
        Block::Table(table) => table::lines(table, width),
        Block::Ruled(ruled) => ruled::lines(ruled, width),
        Block::HeatMap(map) => heat::lines(map, width),
        Block::Bars(bars) => bars::lines(bars, width),
        Block::Lines(lines) => plot::lines(lines, width),
        // A table next to it has its numbers.
        Block::Slopes(_) | Block::Strips(_) => Vec::new(),
    }
}

/// Wrapped text of one tone; nothing at all where there is no text.
fn toned(text: &str, tone: Tone, width: usize) -> Vec<StyledLine> {
    let lines = wrap(text, width).into_iter().filter(|line| !line.is_empty());
    lines.map(|line| StyledLine::new(line, style(tone))).collect()
}

fn title(text: &str, subtitle: &str, width: usize) -> Vec<StyledLine> {
    let mut lines = toned(text, Tone::Strong, width);
    lines.extend(toned(subtitle, Tone::Faint, width));
    lines.push(StyledLine::new("─".repeat(width), style(Tone::Faint)));
    lines
}

fn bullet(item: &Text, width: usize) -> Vec<StyledLine> {
    let rows = wrap_after("- ", &item.text, width).into_iter();
    rows.map(|row| StyledLine::new(row, style(item.tone))).collect()
}

/// `Quality: good. What that rests on.`
fn badge(label: &str, grade: &Text, reasons: &str, width: usize) -> Vec<StyledLine> {
    let reasons = if reasons.is_empty() { "" } else { &format!(" {reasons}.") };
    toned(&format!("{label}: {}.{reasons}", grade.text), grade.tone, width)
}

/// A remark in two lines, and its remedy in another: their first clauses, if they are longer.
fn action(one: &Remark, width: usize) -> Vec<StyledLine> {
    let head = one.mark.text.chars().count() + one.about.chars().count() + "[] : ".len();
    // Two lines break between words, and what follows is indented.
    let text = clauses(&one.text, (2 * width).saturating_sub(head + 20));
    let remedy = one.remedy.as_ref().map(|remedy| clauses(remedy, width - "  -> ".len()));
    remark(&Remark { text, remedy, ..one.clone() }, width)
}

/// The first clauses of a text that fit, else as many words as do.
fn clauses(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let fits = |end: &usize| text[..*end].chars().count() + "...".len() < room;
    let ends = |between: &str| text.match_indices(between).map(|(at, _)| at).filter(fits).last();
    // A command and what stands in brackets are whole, or left out.
    let is_whole = |end: &usize| {
        let count = |letter| text[..*end].matches(letter).count();
        count('`').is_multiple_of(2) && count('(') == count(')')
    };
    let last = |between: [&str; 2]| between.into_iter().filter_map(ends).filter(is_whole).max();
    let clause = last(["; ", ". "]).or_else(|| last([": ", " ("]));
    let words = || {
        let ends = text.rmatch_indices(' ').map(|(at, _)| at);
        let end = ends.filter(fits).find(is_whole).unwrap_or(0);
        format!("{} ...", text[..end].trim_end_matches([',', ':']))
    };
    clause.map_or_else(words, |end| text[..end].to_owned())
}

/// `[warning] cpu 3: what was seen`, and on the next line what would help.
fn remark(remark: &Remark, width: usize) -> Vec<StyledLine> {
    let mark = format!("[{}]", remark.mark.text);
    let about = if remark.about.is_empty() { "" } else { &format!(" {}:", remark.about) };
    let rows = wrap(&format!("{mark}{about} {}", remark.text), width - 2);
    let marked = crate::visible::text(&mark);
    let mut lines = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let mut line = StyledLine::default();
        let rest = match row.strip_prefix(marked.as_str()) {
            Some(rest) if index == 0 => {
                line.push(&marked, style(remark.mark.tone));
                rest
            }
            _ => row,
        };
        if index > 0 {
            line.push("  ", style(Tone::Plain));
        }
        line.push(rest, style(Tone::Plain));
        lines.push(line);
    }
    if let Some(remedy) = &remark.remedy {
        let rows = wrap_after("  -> ", remedy, width).into_iter();
        lines.extend(rows.map(|row| StyledLine::new(row, style(Tone::Plain))));
    }
    lines
}
