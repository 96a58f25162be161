//! Lines over a numeric axis, in braille dots.

use anstyle::{AnsiColor, Style};
use model::page::{Lines, Scale, Tone};

use super::line::{StyledLine, style};
use super::toned;
use super::wrap::{width, wrap, wrap_after};
use crate::axis::{Axis, place};

/// Rows of the lines; the axis and its labels are two more.
const ROWS: usize = 12;

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
const MARK: char = '┊';

type Points = Vec<(f64, f64)>;

/// The plot with its caption and the name of the vertical axis above, the rest below.
pub(super) fn lines(plot: &Lines, limit: usize) -> Vec<StyledLine> {
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
            lines.extend(rows.map(|row| StyledLine::new(row, line_style(index))));
        }
    }
    lines
}

fn toned_right(text: &str, limit: usize) -> Vec<StyledLine> {
    let right = |row: String| {
        let mut line = StyledLine::default();
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
) -> Vec<StyledLine> {
    let points = || data.iter().flatten();
    let x = Axis::over(points().map(|point| point.0), (limit / X_LABEL_SPACING).max(2), x);
    let y = Axis::of_measured(points().map(|point| point.1), Y_LABELS, y).rounded();
    let gutter = y.labels().iter().map(|(_, label)| width(label)).max().unwrap_or(0);
    let rows = vec![vec![(' ', None); limit]; ROWS + 2];
    let mut canvas = Canvas { rows, left: gutter + 1, x, y };
    for (index, points) in pieces {
        canvas.join(points, *index);
    }
    canvas.mark(marks);
    canvas.draw_axes();
    if data.len() > 1 {
        for (index, points) in data.iter().enumerate() {
            for point in letter_points(points, index, data.len()) {
                let (column, row) = canvas.dot(point);
                canvas.write((column / 2, row / 4), &letter(index).to_string(), Some(index));
            }
        }
    }
    canvas.lines()
}

/// What is drawn, each character with the number of the line that it is part of.
struct Canvas {
    rows: Vec<Vec<(char, Option<usize>)>>,
    /// Columns of the vertical axis and its labels.
    left: usize,
    x: Axis,
    y: Axis,
}

impl Canvas {
    /// The dot of a point: a character has two columns of four.
    fn dot(&self, (x, y): (f64, f64)) -> (usize, usize) {
        let at = |share: f64, dots: usize| (share * (dots - 1) as f64).round() as usize;
        let columns = self.rows[0].len() - self.left;
        (2 * self.left + at(self.x.share(x), 2 * columns), at(1.0 - self.y.share(y), 4 * ROWS))
    }

    /// Joins points by straight lines.
    fn join(&mut self, points: &[(f64, f64)], line: usize) {
        let dots: Vec<_> = points.iter().map(|point| self.dot(*point)).collect();
        for (place, to) in dots.iter().enumerate() {
            let from = dots[place.saturating_sub(1)];
            let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)).max(1);
            for step in 0..=steps {
                let at = |from, to| (from * (steps - step) + to * step + steps / 2) / steps;
                self.paint((at(from.0, to.0), at(from.1, to.1)), line);
            }
        }
    }

    /// Adds a dot to those of its character.
    fn paint(&mut self, (x, y): (usize, usize), line: usize) {
        const NO_DOTS: u32 = 0x2800;
        const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let (c, its) = &mut self.rows[y / 4][x / 2];
        let dots = u32::from(*c).max(NO_DOTS) | DOTS[y % 4][x % 2];
        *c = char::from_u32(dots).expect("BUG: dots are no braille");
        *its = Some(line);
    }

    /// Upright lines at these places, behind the data.
    fn mark(&mut self, marks: &[f64]) {
        for at in marks.iter().filter(|at| (self.x.low..=self.x.high).contains(*at)) {
            let column = self.column(*at);
            for row in &mut self.rows[..ROWS] {
                if row[column].0 == ' ' {
                    row[column].0 = MARK;
                }
            }
        }
    }

    /// Puts labels and their ticks where their values are, as far as they have room.
    fn draw_axes(&mut self) {
        let right = self.rows[0].len();
        for row in 0..ROWS {
            self.write((self.left - 1, row), "│", None);
        }
        for (value, label) in self.y.labels() {
            self.write((0, self.dot((0.0, value)).1 / 4), &label, None);
        }
        self.write((self.left - 1, ROWS), &format!("└{}", "─".repeat(right - self.left)), None);
        let mut free = 0;
        for (value, label) in self.x.labels() {
            let column = self.column(value);
            let start = column.saturating_sub(width(&label) / 2).min(right - width(&label));
            if start >= free {
                self.write((column, ROWS), "┬", None);
                self.write((start, ROWS + 1), &label, None);
                free = start + width(&label) + 2;
            }
        }
    }

    /// The column of a place on the horizontal axis.
    fn column(&self, at: f64) -> usize {
        let last = self.rows[0].len() - 1 - self.left;
        self.left + (self.x.share(at) * last as f64).round() as usize
    }

    fn write(&mut self, (column, row): (usize, usize), text: &str, line: Option<usize>) {
        for (cell, c) in self.rows[row][column..].iter_mut().zip(text.chars()) {
            *cell = (c, line);
        }
    }

    fn lines(&self) -> Vec<StyledLine> {
        let line = |row: &Vec<(char, Option<usize>)>| {
            let mut line = StyledLine::default();
            for (c, its) in row {
                line.push(c.to_string(), its.map_or_else(Style::new, line_style));
            }
            line
        };
        self.rows.iter().map(line).collect()
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
