//! Many numbers of each of several results, a row of marks each, with names at those that stand out.

use maud::{Markup, PreEscaped, html};
use model::page::{StripMark, StripPlot, StripRow};

use super::plot::{grid, label_at, mark};
use super::prose;
use crate::visible::text as seen;

/// Left of the marks: nothing, names of rows stand above them.
const LEFT: f64 = 12.0;
const ACROSS: f64 = 720.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 8.0;
/// A row: its name, its marks.
const STEP: f64 = 46.0;
const BOTTOM: f64 = 26.0;
/// About the width of a number below.
const LABEL: f64 = 60.0;
/// Below a row's name.
const TO_MARKS: f64 = 32.0;
/// The colours of those that stand out, and of all others, as `style.css` numbers them.
const OUT: usize = 1;
const USUAL: usize = 0;

pub(super) fn figure(plot: &StripPlot) -> Markup {
    html! {
        figure {
            figcaption { (prose(&plot.caption)) }
            div.scroll.strips { (picture(plot)) }
        }
    }
}

fn picture(plot: &StripPlot) -> Markup {
    let all = || plot.rows.iter().flat_map(|row| &row.marks).map(|it| it.ratio);
    let (least, most) = (all().fold(1.0, f64::min), all().fold(1.0, f64::max));
    let across = |ratio: f64| LEFT + (ratio - least) / (most - least).max(1e-9) * ACROSS;
    let height = TOP + BOTTOM + STEP * plot.rows.len() as f64;
    let mut drawn = String::new();
    let mut line = |ratio: f64, anchor: &str| {
        grid(&mut drawn, (across(ratio), TOP), (across(ratio), height - BOTTOM));
        label_at(&mut drawn, (across(ratio), height - 8.0), anchor, &format!("{ratio:.3}"));
    };
    line(1.0, "middle");
    // Ends that lie beside the middle would write over its label.
    let is_apart = |end: f64| (across(end) - across(1.0)).abs() > LABEL;
    for (end, anchor) in [(least, "start"), (most, "end")] {
        if is_apart(end) {
            line(end, anchor);
        }
    }
    for (place, row) in plot.rows.iter().enumerate() {
        drawn += &strip(row, TOP + STEP * place as f64, &across);
    }
    let width = LEFT + ACROSS + RIGHT;
    html! {
        svg viewBox=(format!("0 0 {width} {height}")) style=(format!("max-width:{width}px"))
            role="img" aria-label=(seen(&plot.caption)) {
            (PreEscaped(drawn))
        }
    }
}

fn strip(row: &StripRow, top: f64, across: &dyn Fn(f64) -> f64) -> String {
    let mut drawn = String::new();
    label_at(&mut drawn, (LEFT, top + 14.0), "start", &row.name);
    // Those that stand out are drawn over the others.
    let (usual, out): (Vec<&StripMark>, Vec<&StripMark>) =
        row.marks.iter().partition(|it| !it.stands_out);
    for StripMark { ratio, name, link, stands_out } in usual.into_iter().chain(out) {
        let at = (across(*ratio), top + TO_MARKS);
        let mut one = String::new();
        mark(&mut one, if *stands_out { OUT } else { USUAL }, at, name);
        match link {
            Some(link) => {
                let linked = html! { a href=(link) { (PreEscaped(one)) } };
                drawn += &linked.into_string();
            }
            None => drawn += &one,
        }
    }
    drawn
}
