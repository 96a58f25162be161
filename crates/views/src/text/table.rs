//! Tables without vertical bars, so that they survive copy and paste.
//!
//! A table that is too wide is first narrowed where words may wrap, and then cut into several, each
//! with the labels again.

use anstyle::Style;
use model::page::{Align, Table, Tone};

use super::line::{Line, style};
use super::toned;
use super::wrap::{longest_word, width, wrap};

/// Spaces between columns.
const GAP: usize = 2;

/// A column of words is not narrowed below this; the table is cut instead.
const WORDS_WIDTH_MIN: usize = 24;

/// A column of the table, and how wide it is drawn.
#[derive(Clone, Copy)]
struct Column {
    index: usize,
    width: usize,
}

/// The table with its caption above and its notes below.
pub(super) fn lines(table: &Table, limit: usize) -> Vec<Line> {
    let mut lines = toned(&table.caption, Tone::Plain, limit);
    for (index, part) in parts(table, limit).iter().enumerate() {
        if index > 0 {
            lines.push(Line::default());
        }
        lines.extend(part_lines(table, part));
    }
    lines.extend(table.notes.iter().flat_map(|note| toned(note, Tone::Faint, limit)));
    lines
}

/// The columns of each part.
fn parts(table: &Table, limit: usize) -> Vec<Vec<Column>> {
    let cells = |index: usize| {
        table.rows.iter().filter_map(move |row| row.get(index)).map(|cell| width(&cell.text)).max()
    };
    let widths = |header: fn(&str) -> usize| -> Vec<Column> {
        let columns = table.columns.iter().enumerate();
        let widest = |(index, (text, _)): (usize, &(String, Align))| Column {
            index,
            width: header(text).max(cells(index).unwrap_or(0)),
        };
        columns.map(widest).collect()
    };
    let natural = widths(width);
    if natural.is_empty() || total(&natural) <= limit {
        return vec![natural];
    }
    // Headers wrap before anything else does.
    let mut narrow = widths(longest_word);
    let excess = total(&narrow).saturating_sub(limit);
    let words = narrow.iter_mut().filter(|column| table.columns[column.index].1 == Align::Left);
    match words.max_by_key(|column| column.width) {
        _ if excess == 0 => vec![narrow],
        Some(widest) if widest.width >= excess + WORDS_WIDTH_MIN => {
            widest.width -= excess;
            vec![narrow]
        }
        _ => cut(&narrow, limit),
    }
}

fn total(columns: &[Column]) -> usize {
    columns.iter().map(|column| column.width + GAP).sum::<usize>().saturating_sub(GAP)
}

/// As many columns in each part as fit beside the labels; what fits in no part is narrowed.
fn cut(columns: &[Column], limit: usize) -> Vec<Vec<Column>> {
    let narrowed =
        |column: &Column, most: usize| Column { width: column.width.min(most), ..*column };
    let [first, others @ ..] = columns else { return Vec::new() };
    if others.is_empty() {
        return vec![vec![narrowed(first, limit)]];
    }
    let labels = narrowed(first, limit / 2);
    let mut parts: Vec<Vec<Column>> = Vec::new();
    for column in others {
        let column = narrowed(column, limit - GAP - labels.width);
        match parts.last_mut() {
            Some(part) if total(part) + GAP + column.width <= limit => part.push(column),
            _ => parts.push(vec![labels, column]),
        }
    }
    parts
}

fn part_lines(table: &Table, columns: &[Column]) -> Vec<Line> {
    let header = columns.iter().map(|column| table.columns[column.index].0.as_str());
    let mut lines = row_lines(table, columns, header.map(|text| (text, style(Tone::Strong))));
    let mut rule = Line::default();
    for (place, column) in columns.iter().enumerate() {
        rule.space(if place > 0 { GAP } else { 0 });
        rule.push("─".repeat(column.width), style(Tone::Faint));
    }
    lines.push(rule);
    for row in &table.rows {
        let cell = |column: &Column| match row.get(column.index) {
            Some(cell) => (cell.text.as_str(), style(cell.tone)),
            None => ("", Style::new()),
        };
        lines.extend(row_lines(table, columns, columns.iter().map(cell)));
    }
    lines
}

/// One row, in as many lines as its highest cell needs.
fn row_lines<'a>(
    table: &Table,
    columns: &[Column],
    cells: impl Iterator<Item = (&'a str, Style)>,
) -> Vec<Line> {
    let wrapped: Vec<(Vec<String>, Style)> = cells
        .zip(columns)
        .map(|((text, style), column)| (wrap(text, column.width), style))
        .collect();
    let height = wrapped.iter().map(|(rows, _)| rows.len()).max().unwrap_or(0);
    let mut lines: Vec<Line> = (0..height).map(|_| Line::default()).collect();
    for (place, ((rows, style), column)) in wrapped.iter().zip(columns).enumerate() {
        for (index, line) in lines.iter_mut().enumerate() {
            let text = rows.get(index).map_or("", String::as_str);
            line.space(if place > 0 { GAP } else { 0 });
            match table.columns[column.index].1 {
                Align::Left => line.push_left(text, column.width, *style),
                Align::Right => line.push_right(text, column.width, *style),
            }
        }
    }
    lines
}
