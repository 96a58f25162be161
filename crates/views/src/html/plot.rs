//! Lines over a numeric axis, as a picture of vectors.

use std::fmt::Write;

use maud::{Markup, PreEscaped, html};
use model::page::{Lines, Scale};

use super::prose;
use crate::axis::{Axis, place};
use crate::number;
use crate::visible::text as seen;

/// The picture's size in its own units; browsers fit it to the page.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 300.0;
/// Around the axes: labels stand there.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 30.0;

/// Labels of the axes, about.
const X_LABELS: usize = 8;
const Y_LABELS: usize = 6;

/// Colours and dashes, as `style.css` names them: `c0` to `c7`.
const STYLES: usize = 8;

/// Lines beyond the colours are thicker: `w1`, `w2`.
const WEIGHTS: usize = 3;

/// Rows of names of places.
const MARK_ROWS: usize = 3;

/// Points of a line that show their value while the pointer rests on them: each costs some bytes.
const MARKS_MAX: usize = 120;

pub(super) fn figure(plot: &Lines) -> Markup {
    let lines: Vec<Line<'_>> = plot.lines.iter().map(|line| Line::of(plot, line)).collect();
    let points = || lines.iter().flat_map(|line| &line.points);
    let is_empty = points().next().is_none();
    html! {
        figure {
            @if !plot.caption.is_empty() { figcaption { (prose(&plot.caption)) } }
            @if is_empty {
                p.faint { "no points to plot" }
            } @else {
                (picture(plot, &lines))
                @if lines.len() > 1 {
                    p.keys {
                        @for (index, line) in lines.iter().enumerate() {
                            span.key { (sample(index)) " " (seen(line.name)) }
                        }
                    }
                }
            }
        }
    }
}

/// A line, with the places of its points.
struct Line<'a> {
    name: &'a str,
    points: Vec<Point>,
    /// How many points each of its pieces has.
    pieces: Vec<usize>,
}

struct Point {
    at: (f64, f64),
    value: (f64, f64),
}

impl<'a> Line<'a> {
    fn of(plot: &Lines, (name, points): &'a (String, Vec<(f64, f64)>)) -> Self {
        let placed = |&value: &(f64, f64)| {
            let at = (place(value.0, plot.x_scale)?, place(value.1, plot.y_scale)?);
            Some(Point { at, value })
        };
        let pieces = plot.pieces(points).map(|piece| piece.iter().filter_map(placed).count());
        let pieces = pieces.collect();
        Line { name, points: points.iter().filter_map(placed).collect(), pieces }
    }
}

fn picture(plot: &Lines, lines: &[Line<'_>]) -> Markup {
    let points = || lines.iter().flat_map(|line| &line.points);
    let x = Axis::over(points().map(|point| point.at.0), X_LABELS, plot.x_scale);
    let y = Axis::of_measured(points().map(|point| point.at.1), Y_LABELS, plot.y_scale).rounded();
    let across = |at: f64| LEFT + x.share(at) * (WIDTH - LEFT - RIGHT);
    let down = |at: f64| HEIGHT - BOTTOM - y.share(at) * (HEIGHT - TOP - BOTTOM);
    let mut drawn = String::new();
    for (at, label) in y.labels() {
        let down = down(at);
        grid(&mut drawn, (LEFT, down), (WIDTH - RIGHT, down));
        label_at(&mut drawn, (LEFT - 6.0, down + 4.0), "end", &label);
    }
    for (at, label) in x.labels() {
        let across = across(at);
        grid(&mut drawn, (across, TOP), (across, HEIGHT - BOTTOM));
        label_at(&mut drawn, (across, HEIGHT - BOTTOM + 18.0), "middle", &label);
    }
    let marks = plot.marks.iter().filter_map(|it| Some((place(it.at, plot.x_scale)?, &it.text)));
    let marks = marks.filter(|(at, _)| (x.low..=x.high).contains(at));
    for (index, (at, text)) in marks.enumerate() {
        // Names of neighbours stand below one another.
        let row = (index % MARK_ROWS) as f64;
        named(&mut drawn, across(at), TOP + 10.0 + 13.0 * row, text);
    }
    for (index, line) in lines.iter().enumerate() {
        let place = |point: &Point| (across(point.at.0), down(point.at.1));
        let mut points = line.points.iter();
        for piece in &line.pieces {
            path(&mut drawn, index, points.by_ref().take(*piece).map(place));
        }
        let step = line.points.len().div_ceil(MARKS_MAX).max(1);
        for point in line.points.iter().step_by(step) {
            let value = (text(point.value.0, plot.x_scale), text(point.value.1, plot.y_scale));
            let words =
                format!("{}: {} ({}) at {} ({})", line.name, value.1, plot.y, value.0, plot.x);
            mark(&mut drawn, index, place(point), &words);
        }
    }
    html! {
        p.axis { (seen(&plot.y)) }
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(seen(&plot.caption)) {
            (PreEscaped(drawn))
        }
        p.axis.below { (seen(&plot.x)) }
    }
}

/// A number as hovering shows it.
fn text(value: f64, scale: Scale) -> String {
    if scale == Scale::Bytes { number::bytes(value) } else { number::short(value) }
}

/// What a line looks like, beside its name.
fn sample(index: usize) -> Markup {
    let mut drawn = String::new();
    path(&mut drawn, index, [(1.0, 5.0), (27.0, 5.0)].into_iter());
    html! { svg.sample viewBox="0 0 28 10" aria-hidden="true" { (PreEscaped(drawn)) } }
}

pub(super) fn path(drawn: &mut String, index: usize, points: impl Iterator<Item = (f64, f64)>) {
    let places: Vec<String> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let (style, weight) = (index % STYLES, index / STYLES % WEIGHTS);
    put(
        drawn,
        format_args!("<polyline class=\"c{style} w{weight}\" points=\"{}\"/>", places.join(" ")),
    );
}

pub(super) fn grid(drawn: &mut String, from: (f64, f64), to: (f64, f64)) {
    put(
        drawn,
        format_args!(
            "<path class=\"grid\" d=\"M{:.1},{:.1}L{:.1},{:.1}\"/>",
            from.0, from.1, to.0, to.1
        ),
    );
}

/// An upright line with its name, on the side that has room.
fn named(drawn: &mut String, across: f64, down: f64, text: &str) {
    let bottom = HEIGHT - BOTTOM;
    put(
        drawn,
        format_args!("<path class=\"named\" d=\"M{across:.1},{TOP:.1}L{across:.1},{bottom:.1}\"/>"),
    );
    let is_left = across < WIDTH * 0.6;
    let (at, anchor) = if is_left { (across + 4.0, "start") } else { (across - 4.0, "end") };
    label_at(drawn, (at, down), anchor, text);
}

pub(super) fn label_at(drawn: &mut String, (x, y): (f64, f64), anchor: &str, label: &str) {
    let label = html! { (seen(label)) }.into_string();
    put(
        drawn,
        format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{label}</text>"),
    );
}

pub(super) fn mark(drawn: &mut String, index: usize, (x, y): (f64, f64), words: &str) {
    let (style, words) = (index % STYLES, html! { (seen(words)) }.into_string());
    put(
        drawn,
        format_args!(
            "<circle class=\"c{style}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"><title>{words}</title></circle>"
        ),
    );
}

fn put(drawn: &mut String, what: std::fmt::Arguments<'_>) {
    drawn.write_fmt(what).expect("BUG: a string refuses to be written to");
}
