//! Heat maps: a table whose cells have the shade of their value.

use maud::{Markup, html};
use model::page::{HeatCell, HeatMap, HeatRow};

use super::{notes, prose};
use crate::number;
use crate::shades::{Range, rows, value};
use crate::visible::text as seen;

/// Shades, as `style.css` names them: `h0` is the least.
const SHADES: usize = 9;

/// Maps of more columns have cells too small for numbers, which show while the pointer rests on them.
const NUMBERED_COLUMNS_MAX: usize = 24;

pub(super) fn figure(map: &HeatMap) -> Markup {
    let range = Range::of(map);
    let small = map.columns.len() > NUMBERED_COLUMNS_MAX;
    html! {
        figure {
            @if !map.caption.is_empty() { figcaption { (prose(&map.caption)) } }
            div.scroll {
                table.heat.small[small] {
                    thead {
                        tr {
                            th.label { (seen(&map.row_title)) }
                            th.over colspan=(map.columns.len().max(1)) {
                                (seen(&map.column_title))
                            }
                        }
                        tr {
                            th.label {}
                            @for column in &map.columns { th { span { (seen(column)) } } }
                        }
                    }
                    @let mut places = 0..;
                    @for group in &map.groups {
                        tbody {
                            @for (row, place) in group.iter().zip(&mut places) {
                                (cells(map, (place, row), range.as_ref(), small))
                            }
                        }
                    }
                }
            }
            @if let Some(range) = &range { (legend(range, &map.unit)) }
            @if small { p.note { "Each value shows while the pointer rests on its cell." } }
            @if let Some(outline) = &map.outline {
                p.note { span.outlined.swatch {} " " (seen(&outline.meaning)) }
            }
            (absences(map, small))
            (notes(&map.legend))
            (notes(&map.notes))
        }
    }
}

fn cells(
    map: &HeatMap,
    (place, row): (usize, &HeatRow),
    range: Option<&Range<'_>>,
    small: bool,
) -> Markup {
    let hover = |column: &str, text: &str| {
        let unit = if map.unit.is_empty() { String::new() } else { format!(" {}", map.unit) };
        seen(&format!("{}, {} {column}: {text}{unit}", row.label, map.column_title))
    };
    html! {
        tr {
            th.label scope="row" { (seen(&row.label)) }
            @for (index, (cell, column)) in row.cells.iter().zip(&map.columns).enumerate() {
                @let outlined = map.is_outlined(place, index);
                @match cell {
                    HeatCell::Absent(text) => {
                        td.absent title=(seen(&text.text)) { @if !small { (seen(&text.text)) } }
                    }
                    HeatCell::Value { text, .. } => {
                        @let shade = value(cell).and_then(|it| range?.share(it.0)).map(shade);
                        @let mark = outlined.then(|| "outlined".to_owned());
                        @let class: Vec<String> = shade.into_iter().chain(mark).collect();
                        td class=[(!class.is_empty()).then(|| class.join(" "))]
                            title=(hover(column, text)) {
                            @if !small { (parts(text)) }
                        }
                    }
                }
            }
        }
    }
}

/// A number and what stands in brackets behind it, such as its interval, which goes below it where there is no room
/// beside it.
fn parts(text: &str) -> Markup {
    let Some((number, behind)) = text.split_once(" (") else { return html! { (seen(text)) } };
    html! { span { (seen(number)) } " " span { (seen(&format!("({behind}"))) } }
}

fn shade(share: f64) -> String {
    format!("h{}", ((share * SHADES as f64) as usize).min(SHADES - 1))
}

fn legend(range: &Range<'_>, unit: &str) -> Markup {
    if let Some(flat) = range.flat(unit) {
        return html! { p.note { (seen(&flat)) } };
    }
    html! {
        p.legend {
            (seen(range.least.1)) " "
            @for index in 0..SHADES {
                @let share = (index as f64 + 0.5) / SHADES as f64;
                span.swatch.(shade(share)) title=(number::short(range.at(share))) {}
            }
            " " (seen(range.greatest.1)) " " (seen(range.unit(unit)))
        }
    }
}

/// The words of cells that have no room for them.
fn absences(map: &HeatMap, small: bool) -> Markup {
    let mut words: Vec<&str> = Vec::new();
    for cell in rows(map).flat_map(|row| &row.cells) {
        if let HeatCell::Absent(text) = cell
            && !words.contains(&text.text.as_str())
        {
            words.push(&text.text);
        }
    }
    html! {
        @if small && !words.is_empty() {
            p.note { "Without a shade: " (seen(&words.join(", "))) "." }
        }
    }
}

#[cfg(test)]
mod tests {
    use model::page::Outline;

    use super::*;

    #[test]
    fn an_outlined_cell_keeps_its_shade() {
        let cell = |value: f64| HeatCell::Value { value, text: value.to_string() };
        let map = HeatMap {
            caption: String::new(),
            unit: "MHz".to_owned(),
            row_title: String::new(),
            column_title: String::new(),
            columns: vec!["1".to_owned(), "2".to_owned()],
            groups: vec![vec![HeatRow {
                label: "a".to_owned(),
                cells: vec![cell(1.0), cell(2.0)],
            }]],
            legend: Vec::new(),
            notes: Vec::new(),
            shaded_from: None,
            outline: Some(Outline { meaning: "as promised".to_owned(), cells: [(0, 1)].into() }),
        };
        let page = figure(&map).into_string();
        assert!(page.contains("<td class=\"h0\""), "{page}");
        assert!(page.contains("<td class=\"h8 outlined\""), "{page}");
        assert!(page.contains("as promised"), "{page}");
    }

    #[test]
    fn an_interval_may_go_below_its_number() {
        let page = parts("-45.8 (-47.7, -44.7)").into_string();
        assert_eq!(page, "<span>-45.8</span> <span>(-47.7, -44.7)</span>");
        assert_eq!(parts("-45.8").into_string(), "-45.8");
    }
}
