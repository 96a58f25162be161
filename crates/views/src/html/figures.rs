//! Key figures as cards: the number, how it stands, and a small picture of that.

use maud::{Markup, html};
use model::page::{Figure, Strip};

use super::{prose, toned};
use crate::visible::text as seen;

/// The pictures' width and height in their own units.
const WIDTH: f64 = 200.0;
const HEIGHT: f64 = 34.0;
/// Room at the ends, so that marks are whole.
const MARGIN: f64 = 6.0;

pub(super) fn cards(figures: &[Figure]) -> Markup {
    html! { div.cards { @for figure in figures { (card(figure)) } } }
}

fn card(figure: &Figure) -> Markup {
    html! {
        div.card title=[figure.why.as_deref()] {
            div.name { (prose(&figure.name)) }
            div.number { (toned(&figure.value)) }
            div.standing {
                (toned(&figure.standing))
                @if !figure.uncertainty.is_empty() { span.uncertainty { (seen(&figure.uncertainty)) } }
            }
            @if let Some(strip) = &figure.strip { (picture(strip)) }
            @if figure.curve.len() > 2 { (curve(&figure.curve)) }
        }
    }
}

/// The range that is normal as a bar, the interval as a line, the value as a mark on it.
fn picture(strip: &Strip) -> Markup {
    let ends = strip.interval.into_iter().flatten().chain(strip.expected).chain([strip.value]);
    let (low, high) = ends
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| (low.min(end), high.max(end)));
    let room = (high - low).max(high.abs() * 1e-3) * 0.15;
    let place = |value: f64| along(value, low - room, high + room);
    let [from, to] = strip.expected.map(place);
    html! {
        svg.strip viewBox=(format!("0 0 {WIDTH} 16")) aria-hidden="true" {
            line.base x1="0" x2=(WIDTH) y1="8" y2="8" {}
            rect.expected x=(tenth(from)) y="3" width=(tenth(to - from)) height="10" {}
            @if let Some([from, to]) = strip.interval.map(|ends| ends.map(place)) {
                line.interval x1=(tenth(from)) x2=(tenth(to)) y1="8" y2="8" {}
            }
            circle.value cx=(tenth(place(strip.value))) cy="8" r="4" {}
        }
        div.scale { span { (seen(&strip.range)) } }
    }
}

/// The value over active cores, from nothing up.
fn curve(points: &[(f64, f64)]) -> Markup {
    let first = points.first().map_or(1.0, |point| point.0);
    let last = points.last().map_or(1.0, |point| point.0);
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let place = |&(x, y): &(f64, f64)| {
        let down = HEIGHT - MARGIN - y / most * (HEIGHT - 2.0 * MARGIN);
        format!("{},{}", tenth(along(x, first, last)), tenth(down))
    };
    let line: Vec<String> = points.iter().map(place).collect();
    html! {
        svg.curve viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) aria-hidden="true" {
            line.base x1="0" x2=(WIDTH) y1=(HEIGHT - MARGIN) y2=(HEIGHT - MARGIN) {}
            polyline points=(line.join(" ")) {}
        }
        div.scale { span { (first) } span { (last) " cores" } }
    }
}

fn along(value: f64, from: f64, to: f64) -> f64 {
    MARGIN + (value - from) / (to - from) * (WIDTH - 2.0 * MARGIN)
}

fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
