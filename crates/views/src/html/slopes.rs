//! Results of several records, as lines from one record to the next.

use maud::{Markup, PreEscaped, html};
use model::page::{Slope, SlopeEnd, Slopes};

use super::plot::{grid, label_at, mark, path};
use super::prose;
use crate::visible::text as seen;

/// Left of the first record: nothing but its letter.
const LEFT: f64 = 40.0;
/// From the first record to the last one.
const ACROSS: f64 = 350.0;
/// From the last record to the names of results.
const TO_NAME: f64 = 22.0;
/// A character of a name, if anything too wide.
const CHARACTER: f64 = 7.2;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 16.0;
/// From name to name, so that each can be read.
const STEP: f64 = 18.0;

pub(super) fn figure(slopes: &Slopes) -> Markup {
    html! {
        figure {
            @if !slopes.caption.is_empty() { figcaption { (prose(&slopes.caption)) } }
            div.scroll.slopes { (picture(slopes)) }
        }
    }
}

fn picture(slopes: &Slopes) -> Markup {
    let height = TOP + BOTTOM + STEP * slopes.lines.len().max(8) as f64;
    let logs = slopes.lines.iter().flat_map(ends).map(|(_, end)| end.ratio.ln());
    let all = || logs.clone().filter(|log| log.is_finite());
    // What all of them have in common is the first record: it is in the middle, or at an end.
    let (least, most) = (all().fold(0.0, f64::min), all().fold(0.0, f64::max));
    let span = (most - least).max(1e-9);
    let down = |log: f64| TOP + (most - log) / span * (height - TOP - BOTTOM);
    let gaps = slopes.columns.len().saturating_sub(1).max(1) as f64;
    let across = |place: usize| LEFT + place as f64 / gaps * ACROSS;
    let right = LEFT + ACROSS;
    let mut drawn = String::new();
    for (place, column) in slopes.columns.iter().enumerate() {
        grid(&mut drawn, (across(place), TOP - 8.0), (across(place), height - BOTTOM));
        label_at(&mut drawn, (across(place), TOP - 14.0), "middle", column);
    }
    let last = |line: &Slope| ends(line).last().map_or(1.0, |(_, end)| end.ratio);
    let label = |line: &Slope| format!("{:.3}  {}", last(line), line.name);
    let longest = slopes.lines.iter().map(|line| label(line).chars().count()).max().unwrap_or(0);
    let width = (right + TO_NAME + longest as f64 * CHARACTER).ceil();
    let beside = names(slopes, |line| down(last(line).ln()), height);
    for (index, line) in slopes.lines.iter().enumerate() {
        // A record without the result is left out of the line.
        let points: Vec<((f64, f64), &SlopeEnd)> =
            ends(line).map(|(at, end)| ((across(at), down(end.ratio.ln())), end)).collect();
        path(&mut drawn, index, points.iter().map(|(point, _)| *point));
        for (point, SlopeEnd { ratio, number }) in &points {
            let words = format!("{}: {number}, {ratio:.3} of the first", line.name);
            mark(&mut drawn, index, *point, &words);
        }
        let end = points.last().map_or((right, beside[index]), |(point, _)| *point);
        grid(&mut drawn, end, (right + TO_NAME - 4.0, beside[index]));
        label_at(&mut drawn, (right + TO_NAME, beside[index] + 4.0), "start", &label(line));
    }
    html! {
        // As large as its text is written, or smaller where the page has no room.
        svg viewBox=(format!("0 0 {width} {height}")) style=(format!("max-width:{width}px"))
            role="img" aria-label=(seen(&slopes.caption)) {
            (PreEscaped(drawn))
        }
    }
}

/// The records that have a number, by place.
fn ends(line: &Slope) -> impl Iterator<Item = (usize, &SlopeEnd)> + Clone {
    line.ends.iter().enumerate().filter_map(|(place, end)| Some((place, end.as_ref()?)))
}

/// Where the name of each line stands: beside its end, and below the one above it.
fn names(slopes: &Slopes, end: impl Fn(&Slope) -> f64, height: f64) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> = slopes.lines.iter().map(end).enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut last = f64::NEG_INFINITY;
    for (_, at) in &mut order {
        *at = at.max(last + STEP);
        last = *at;
    }
    // What stands too low moves up, with those above it.
    let mut next = height - BOTTOM + STEP;
    for (_, at) in order.iter_mut().rev() {
        *at = at.min(next - STEP);
        next = *at;
    }
    order.sort_by_key(|(index, _)| *index);
    order.into_iter().map(|(_, at)| at).collect()
}
