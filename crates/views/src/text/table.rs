//! Tables without vertical bars, so that they survive copy and paste.
//!
//! A table that is too wide is first narrowed where words may wrap, and then cut into several, each
//! with the labels again.

use anstyle::Style;
use model::page::{Align, Table, Tone};

use super::grid::{Grid, GridColumn};
use super::line::{StyledLine, style};
use super::toned;
use super::wrap::{longest_word, width};

/// The first column says which row it is, or as many as say that they do.
fn grid(table: &Table) -> Grid {
    let labels = table.columns.iter().take_while(|(_, align)| *align == Align::Label).count();
    Grid { between: "  ", labels: labels.max(1) }
}

/// The table with its caption above and its notes below.
pub(super) fn lines(table: &Table, limit: usize) -> Vec<StyledLine> {
    let mut lines = toned(&table.caption, Tone::Plain, limit);
    let grid = grid(table);
    // Headers wrap before anything else does.
    let parts = grid.parts(&columns(table, width), &columns(table, longest_word), limit);
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            lines.push(StyledLine::default());
        }
        lines.extend(part_lines(table, &grid, part));
    }
    lines.extend(
        table.legend.iter().chain(&table.notes).flat_map(|note| toned(note, Tone::Faint, limit)),
    );
    lines
}

/// All columns, their headers taken as wide as `header` says.
fn columns(table: &Table, header: fn(&str) -> usize) -> Vec<GridColumn> {
    let cells = |index: usize| {
        table.rows.iter().filter_map(move |row| row.get(index)).map(|cell| width(&cell.text)).max()
    };
    let column = |(index, (text, align)): (usize, &(String, Align))| GridColumn {
        index,
        width: header(text).max(cells(index).unwrap_or(0)),
        align: *align,
    };
    table.columns.iter().enumerate().map(column).collect()
}

fn part_lines(table: &Table, grid: &Grid, columns: &[GridColumn]) -> Vec<StyledLine> {
    let header = columns.iter().map(|column| table.columns[column.index].0.as_str());
    let mut lines = grid.row(columns, header.map(|text| (text, style(Tone::Strong))));
    lines.push(grid.rule(columns));
    for row in &table.rows {
        let cell = |column: &GridColumn| match row.get(column.index) {
            Some(cell) => (cell.text.as_str(), style(cell.tone)),
            None => ("", Style::new()),
        };
        lines.extend(grid.row(columns, columns.iter().map(cell)));
    }
    lines
}
