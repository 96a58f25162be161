//! Lines over a numeric axis, in braille dots.
//!
//! The chart widget draws lines and the vertical axis. It spreads the labels of the horizontal axis
//! evenly, whatever their values, and puts its legend over the data; both are drawn here instead.

use anstyle::{AnsiColor, Style};
use model::page::{Lines, Scale, Tone};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Color;
use ratatui_core::symbols::Marker;
use ratatui_core::widgets::Widget;
use ratatui_widgets::chart::{Axis as ChartAxis, Chart, Dataset, GraphType};

use super::line::{Line, style};
use super::toned;
use super::wrap::{width, wrap, wrap_after};
use crate::axis::{Axis, place};

/// Rows of a plot: the axis and its labels are the last two.
const HEIGHT: u16 = 14;

/// Labels of the vertical axis, about.
const Y_LABELS: usize = 5;

/// Columns for a label of the horizontal axis, about.
const X_LABEL_SPACING: usize = 14;

/// How often a line carries its letter.
const LETTERS_PER_LINE: usize = 4;

const COLOURS: [AnsiColor; 6] = [
    AnsiColor::Cyan,
    AnsiColor::Magenta,
    AnsiColor::Green,
    AnsiColor::Yellow,
    AnsiColor::Blue,
    AnsiColor::Red,
];

/// A place on the horizontal axis that has a name.
const MARK: &str = "┊";

type Points = Vec<(f64, f64)>;

/// The plot with its caption and the name of the vertical axis above, the rest below.
pub(super) fn lines(plot: &Lines, limit: usize) -> Vec<Line> {
    let placed = |&(x, y): &(f64, f64)| Some((place(x, plot.x_scale)?, place(y, plot.y_scale)?));
    let place_all = |points: &[(f64, f64)]| points.iter().filter_map(placed).collect::<Points>();
    let data: Vec<Points> = plot.lines.iter().map(|(_, points)| place_all(points)).collect();
    let pieces = plot.lines.iter().enumerate().flat_map(|(index, (_, points))| {
        plot.pieces(points).map(move |piece| (index, place_all(piece)))
    });
    let pieces: Vec<(usize, Points)> = pieces.collect();
    let mut lines = toned(&plot.caption, Tone::Plain, limit);
    if data.iter().all(Vec::is_empty) {
        lines.extend(toned("no points to plot", Tone::Faint, limit));
        return lines;
    }
    lines.extend(toned(&plot.y, Tone::Faint, limit));
    let marks = plot.marks.iter().filter_map(|mark| place(mark.at, plot.x_scale));
    let marks: Vec<f64> = marks.collect();
    lines.extend(draw(&data, &pieces, (plot.x_scale, plot.y_scale), &marks, limit));
    lines.extend(toned_right(&plot.x, limit));
    if !plot.marks.is_empty() {
        let texts: Vec<&str> = plot.marks.iter().map(|mark| mark.text.as_str()).collect();
        lines.extend(toned(&format!("{MARK} {}", texts.join("; ")), Tone::Faint, limit));
    }
    if data.len() > 1 {
        for (index, (name, _)) in plot.lines.iter().enumerate() {
            let rows = wrap_after(&format!("  {}  ", letter(index)), name, limit).into_iter();
            lines.extend(rows.map(|row| Line::new(row, line_style(index))));
        }
    }
    lines
}

fn toned_right(text: &str, limit: usize) -> Vec<Line> {
    let right = |row: String| {
        let mut line = Line::default();
        line.push_right(&row, limit, style(Tone::Faint));
        line
    };
    wrap(text, limit).into_iter().map(right).collect()
}

fn letter(index: usize) -> char {
    char::from(b'a' + (index % 26) as u8)
}

fn line_style(index: usize) -> Style {
    COLOURS[index % COLOURS.len()].on_default()
}

/// The lines, which are drawn piece by piece, each with the number of its line.
fn draw(
    data: &[Points],
    pieces: &[(usize, Points)],
    (x, y): (Scale, Scale),
    marks: &[f64],
    limit: usize,
) -> Vec<Line> {
    let points = || data.iter().flatten();
    let x = Axis::over(points().map(|point| point.0), (limit / X_LABEL_SPACING).max(2), x);
    let y = Axis::of_measured(points().map(|point| point.1), Y_LABELS, y).rounded();
    let y_labels: Vec<String> = y.labels().into_iter().map(|(_, label)| label).collect();
    let gutter = y_labels.iter().map(|label| width(label)).max().unwrap_or(0);
    // The widget gives labels no more than a third.
    let left = gutter.min(limit / 3) + 1;

    let mut sets = Vec::new();
    for (index, points) in pieces {
        let set = Dataset::default().data(points).marker(Marker::Braille);
        sets.push(set.graph_type(GraphType::Line).style(ink(*index)));
    }
    let area = Rect::new(0, 0, limit as u16, HEIGHT);
    let mut buffer = Buffer::empty(area);
    // Empty labels make the widget draw the axis and leave a row under it.
    let x_axis = ChartAxis::default().bounds([x.low, x.high]).labels(["", ""]);
    let y_axis = ChartAxis::default().bounds([y.low, y.high]).labels(y_labels);
    Chart::new(sets).x_axis(x_axis).y_axis(y_axis).legend_position(None).render(area, &mut buffer);
    draw_marks(&mut buffer, x, left, marks);
    label_x(&mut buffer, x, left);
    if data.len() > 1 {
        for (index, points) in data.iter().enumerate() {
            for (at_x, at_y) in letter_points(points, index, data.len()) {
                let cell = cell(limit, left, (x.share(at_x), y.share(at_y)));
                buffer.set_string(cell.0, cell.1, letter(index).to_string(), ink(index));
            }
        }
    }
    (0..HEIGHT).map(|row| buffer_line(&buffer, row)).collect()
}

/// Carries the colour of a line through the buffer.
fn ink(line: usize) -> Color {
    Color::Indexed((line % COLOURS.len()) as u8)
}

/// The cell in which the widget has the dot of that share of both axes: a cell is two dots wide and
/// four high.
fn cell(limit: usize, left: usize, (x, y): (f64, f64)) -> (u16, u16) {
    let dot = |share: f64, dots: usize| (share * (dots - 1) as f64).round() as usize;
    let column = left + dot(x, 2 * (limit - left)) / 2;
    let row = dot(1.0 - y, 4 * usize::from(HEIGHT - 2)) / 4;
    (column as u16, row as u16)
}

/// Upright lines at these places, behind the data.
fn draw_marks(buffer: &mut Buffer, axis: Axis, left: usize, marks: &[f64]) {
    let right = usize::from(buffer.area.width);
    for at in marks.iter().filter(|at| (axis.low..=axis.high).contains(*at)) {
        let column = left + (axis.share(*at) * (right - 1 - left) as f64).round() as usize;
        for row in 0..HEIGHT - 2 {
            let cell = &mut buffer[(column as u16, row)];
            if cell.symbol().trim_matches([' ', '⠀']).is_empty() {
                cell.set_symbol(MARK);
            }
        }
    }
}

/// Puts labels and their ticks where their values are, as far as they have room.
fn label_x(buffer: &mut Buffer, axis: Axis, left: usize) {
    let right = usize::from(buffer.area.width);
    let mut free = 0;
    for (value, label) in axis.labels() {
        let column = left + (axis.share(value) * (right - 1 - left) as f64).round() as usize;
        let start = column.saturating_sub(width(&label) / 2).min(right - width(&label));
        if start >= free {
            buffer[(column as u16, HEIGHT - 2)].set_symbol("┬");
            buffer.set_string(start as u16, HEIGHT - 1, &label, Color::Reset);
            free = start + width(&label) + 2;
        }
    }
}

/// Places on a line that carry its letter, between those of its neighbours.
fn letter_points(points: &[(f64, f64)], line: usize, lines: usize) -> Points {
    let at = |place: usize| {
        let share = (place as f64 + (line as f64 + 0.5) / lines as f64) / LETTERS_PER_LINE as f64;
        let position = share * (points.len() - 1) as f64;
        let (here, part) = (position.floor() as usize, position.fract());
        let (from, to) = (points[here], points[(here + 1).min(points.len() - 1)]);
        (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part)
    };
    if points.is_empty() { Vec::new() } else { (0..LETTERS_PER_LINE).map(at).collect() }
}

fn buffer_line(buffer: &Buffer, row: u16) -> Line {
    let mut line = Line::default();
    for column in 0..buffer.area.width {
        let cell = &buffer[(column, row)];
        let style = match cell.fg {
            Color::Indexed(index) => line_style(index.into()),
            _ => Style::new(),
        };
        line.push(cell.symbol(), style);
    }
    line
}
