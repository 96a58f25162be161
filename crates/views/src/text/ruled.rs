//! Tables that scripts read: columns between ` | `, one row to a line, a header above each table.
//!
//! What is too wide loses its optional columns, and a note names them; what is too wide without them is cut, with the
//! first two columns again, and then has those of them for which there is room. No cell is shortened, and none has a `|`
//! of its own. A row takes more lines only where the page is too narrow for one column beside the first two.

use anstyle::Style;
use model::page::{Align, Ruled, Text, Tone};

use super::grid::{Grid, GridColumn};
use super::line::{StyledLine, style};
use super::wrap::width;
use super::{WIDTHS, toned};

/// Two columns say which row it is: how many cores, and what they ran.
const GRID: Grid = Grid { between: " | ", labels: 2 };

/// The tables with their caption above and notes below.
pub(super) fn lines(ruled: &Ruled, limit: usize) -> Vec<StyledLine> {
    let all = columns(ruled);
    let (slices, left_out) = choose(&all, &ruled.optional, limit);

    let mut lines = toned(&ruled.caption, Tone::Plain, limit);
    let tables = ruled.parts.iter().flat_map(|rows| slices.iter().map(move |slice| (rows, slice)));
    for (index, (rows, slice)) in tables.enumerate() {
        if index > 0 {
            lines.push(StyledLine::default());
        }
        lines.extend(table(ruled, slice, rows));
    }
    if !left_out.is_empty() {
        let names: Vec<&str> =
            left_out.iter().map(|column| ruled.columns[column.index].0.as_str()).collect();
        let needed = GRID.total(&all);
        let remedy = if WIDTHS.contains(&needed) {
            format!("--width {needed}")
        } else {
            "--format markdown".to_owned()
        };
        let note = format!("no room for {}: `{remedy}` shows all columns", names.join(", "));
        lines.extend(toned(&note, Tone::Faint, limit));
    }
    lines.extend(
        ruled.legend.iter().chain(&ruled.notes).flat_map(|note| toned(note, Tone::Faint, limit)),
    );
    lines
}

/// All columns, as wide as in the table where they are widest, so that all tables are alike.
fn columns(ruled: &Ruled) -> Vec<GridColumn> {
    let rows = || ruled.parts.iter().flatten();
    let column = |(index, (header, align)): (usize, &(String, Align))| {
        let cells = rows().filter_map(|row| row.get(index)).map(|cell| width(&cell.text));
        GridColumn { index, width: cells.max().unwrap_or(0).max(width(header)), align: *align }
    };
    ruled.columns.iter().enumerate().map(column).collect()
}

/// The columns of each slice, and those to leave out: an optional one stays where it makes no further slice.
fn choose(
    all: &[GridColumn],
    optional: &[usize],
    limit: usize,
) -> (Vec<Vec<GridColumn>>, Vec<GridColumn>) {
    let among = |kept: &[bool], is: bool| -> Vec<GridColumn> {
        all.iter().zip(kept).filter(|(_, kept)| **kept == is).map(|(column, _)| *column).collect()
    };
    let mut kept: Vec<bool> = all.iter().map(|column| !optional.contains(&column.index)).collect();
    let mut slices = slices(among(&kept, true), limit);
    let is_whole = |column: &GridColumn| column.width == all[column.index].width;
    for (order, place) in optional.iter().enumerate().rev() {
        if *place >= all.len() || optional[..order].contains(place) {
            continue;
        }
        kept[*place] = true;
        let more = self::slices(among(&kept, true), limit);
        if more.len() > slices.len() || !more.iter().flatten().all(is_whole) {
            kept[*place] = false;
            break;
        }
        slices = more;
    }
    (slices, among(&kept, false))
}

/// All columns beside each other, or as many in each slice as fit.
fn slices(columns: Vec<GridColumn>, limit: usize) -> Vec<Vec<GridColumn>> {
    if GRID.total(&columns) <= limit { vec![columns] } else { cut(&columns, limit) }
}

/// Rows stay one line each as long as the widest column fits beside the labels.
fn cut(columns: &[GridColumn], limit: usize) -> Vec<Vec<GridColumn>> {
    let (_, others) = GRID.split(columns);
    let widest = others.iter().map(|column| column.width).max().unwrap_or(0);
    let beside = widest + width(GRID.between);
    GRID.cut(columns, limit, limit.saturating_sub(beside).max(limit / 2))
}

fn table(ruled: &Ruled, columns: &[GridColumn], rows: &[Vec<Text>]) -> Vec<StyledLine> {
    let header =
        |column: &GridColumn| (ruled.columns[column.index].0.as_str(), style(Tone::Strong));
    let mut lines = line(columns, columns.iter().map(header).collect());
    for row in rows {
        let cell = |column: &GridColumn| match row.get(column.index) {
            Some(cell) => (cell.text.as_str(), style(cell.tone)),
            None => ("", Style::new()),
        };
        lines.extend(line(columns, columns.iter().map(cell).collect()));
    }
    lines
}

/// One row; a bar within a cell would end it.
fn line(columns: &[GridColumn], cells: Vec<(&str, Style)>) -> Vec<StyledLine> {
    let cells: Vec<(String, Style)> =
        cells.into_iter().map(|(text, style)| (text.replace('|', "¦"), style)).collect();
    GRID.row(columns, cells.iter().map(|(text, style)| (text.as_str(), *style)))
}
