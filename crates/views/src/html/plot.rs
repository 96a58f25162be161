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
const RIGHT: f64 = 24.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 32.0;

/// Labels of the axes, about.
const X_LABELS: usize = 8;
const Y_LABELS: usize = 6;

/// Colours and dashes, as `style.css` names them: `c0` to `c7`.
const STYLES: usize = 8;

/// Lines beyond the colours are thicker: `w1`, `w2`.
const WEIGHTS: usize = 3;

/// The height of a row of names of places, and about the width of one of their characters: as wide and high as
/// `style.css` lets them become on a phone.
const MARK_ROW: f64 = 25.0;
const MARK_CHARACTER: f64 = 11.0;
const LONG_CHARACTER: f64 = 8.25;

/// Points of a line that show their value while the pointer rests on them: each costs some bytes.
const MARKS_MAX: usize = 120;

pub(super) fn figure(plot: &Lines) -> Markup {
    let lines: Vec<PlotLine<'_>> = plot.lines.iter().map(|line| PlotLine::of(plot, line)).collect();
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
struct PlotLine<'a> {
    name: &'a str,
    points: Vec<PlotPoint>,
    /// How many points each of its pieces has.
    pieces: Vec<usize>,
}

struct PlotPoint {
    at: (f64, f64),
    value: (f64, f64),
}

impl<'a> PlotLine<'a> {
    fn of(plot: &Lines, (name, points): &'a (String, Vec<(f64, f64)>)) -> Self {
        let placed = |&value: &(f64, f64)| {
            let at = (place(value.0, plot.x_scale)?, place(value.1, plot.y_scale)?);
            Some(PlotPoint { at, value })
        };
        let pieces = plot.pieces(points).map(|piece| piece.iter().filter_map(placed).count());
        let pieces = pieces.collect();
        PlotLine { name, points: points.iter().filter_map(placed).collect(), pieces }
    }
}

fn picture(plot: &Lines, lines: &[PlotLine<'_>]) -> Markup {
    let points = || lines.iter().flat_map(|line| &line.points);
    let x = Axis::over(points().map(|point| point.at.0), X_LABELS, plot.x_scale);
    let y = Axis::of_measured(points().map(|point| point.at.1), Y_LABELS, plot.y_scale).rounded();
    let across = |at: f64| LEFT + x.share(at) * (WIDTH - LEFT - RIGHT);
    let marks = plot.marks.iter().filter_map(|it| Some((place(it.at, plot.x_scale)?, &it.text)));
    let marks = marks.filter(|(at, _)| (x.low..=x.high).contains(at));
    let marks: Vec<Named> = named(marks.map(|(at, text)| (across(at), seen(text))));
    // Names of places stand above all lines, in as many rows as they take.
    let rows = marks.iter().map(|mark| mark.row + 1).max().unwrap_or(0);
    let top = TOP + MARK_ROW * rows as f64;
    let bottom = top + HEIGHT - TOP - BOTTOM;
    let down = |at: f64| bottom - y.share(at) * (bottom - top);
    let mut drawn = String::new();
    for (at, label) in y.labels() {
        let down = down(at);
        grid(&mut drawn, (LEFT, down), (WIDTH - RIGHT, down));
        label_at(&mut drawn, (LEFT - 10.0, down + 4.0), "end", &label);
    }
    for (at, label) in x.labels() {
        let across = across(at);
        grid(&mut drawn, (across, top), (across, bottom));
        label_at(&mut drawn, (across, bottom + 22.0), "middle", &label);
    }
    for mark in &marks {
        let down = top - MARK_ROW * mark.row as f64;
        upright(&mut drawn, mark.across, (down - MARK_ROW + 4.0, bottom));
        let (gap, anchor) = if mark.is_left { (-Named::GAP, "end") } else { (Named::GAP, "start") };
        let (open, close) = if mark.is_long() { ("<g class=\"long\">", "</g>") } else { ("", "") };
        drawn.push_str(open);
        label_at(&mut drawn, (mark.across + gap, down - 6.0), anchor, &mark.text);
        drawn.push_str(close);
    }
    for (index, line) in lines.iter().enumerate() {
        let place = |point: &PlotPoint| (across(point.at.0), down(point.at.1));
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
        svg viewBox=(format!("0 0 {WIDTH} {:.0}", bottom + BOTTOM)) role="img" aria-label=(seen(&plot.caption)) {
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

/// The name of a place on the horizontal axis.
struct Named {
    /// Where the place is.
    across: f64,
    text: String,
    /// Whether the name stands left of the place.
    is_left: bool,
    /// The row of its name, from the plot upwards.
    row: usize,
}

impl Named {
    /// Between a line and its name.
    const GAP: f64 = 4.0;

    /// The ends of its name.
    fn ends(&self) -> [f64; 2] {
        let character = if self.is_long() { LONG_CHARACTER } else { MARK_CHARACTER };
        let long = Self::GAP + character * self.text.chars().count() as f64;
        if self.is_left {
            [self.across - long, self.across]
        } else {
            [self.across, self.across + long]
        }
    }

    /// Longer names stay as small on a phone as they have room for.
    fn is_long(&self) -> bool {
        self.text.chars().count() > 40
    }

    fn is_within(&self) -> bool {
        let [from, to] = self.ends();
        from >= 0.0 && to <= WIDTH
    }

    /// Whether the line of another place would pass through this name.
    fn is_on(&self, other: &Named) -> bool {
        let [from, to] = self.ends();
        (from..=to).contains(&other.across)
    }

    /// Whether this name has to stand higher than another: that one's line ends below it.
    fn is_above(&self, other: &Named) -> bool {
        let ([from, to], [their_from, their_to]) = (self.ends(), other.ends());
        // Of two that come towards each other, and meet, it is all the same which one.
        let meet = self.is_left && !other.is_left && from <= their_to && their_from <= to;
        self.is_on(other) || meet
    }
}

/// Names of places in rows: no name stands on another, and no line that goes up to its own name passes through
/// one.
fn named(places: impl Iterator<Item = (f64, String)>) -> Vec<Named> {
    let mut all: Vec<Named> =
        places.map(|(across, text)| Named { across, text, is_left: false, row: 0 }).collect();
    for one in &mut all {
        one.is_left = !one.is_within();
    }
    // Two names that reach over each other's lines cannot both stand: one turns, where it has room.
    for at in 0..all.len() {
        let faces = all.iter().any(|other| {
            other.is_left && !all[at].is_left && other.is_on(&all[at]) && all[at].is_on(other)
        });
        if faces {
            all[at].is_left = true;
            all[at].is_left = all[at].is_within();
        }
    }
    // The highest is as many rows up as there are others at most.
    for _ in 0..all.len() {
        for at in 0..all.len() {
            let others = all.iter().enumerate().filter(|(other, _)| *other != at);
            let below = others.filter(|(_, other)| all[at].is_above(other));
            let row = below.map(|(_, other)| other.row + 1).max().unwrap_or(0);
            all[at].row = row.min(all.len());
        }
    }
    all
}

/// An upright line at a place that has a name.
fn upright(drawn: &mut String, across: f64, (top, bottom): (f64, f64)) {
    put(
        drawn,
        format_args!("<path class=\"named\" d=\"M{across:.1},{top:.1}L{across:.1},{bottom:.1}\"/>"),
    );
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
