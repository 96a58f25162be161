//! Laws of the text view, on arbitrary pages.

use model::page::{
    Align, Bar, Bars, Block, HeatCell, HeatMap, HeatRow, Lines, Page, Remark, Ruled, Scale, Table,
    Text, Tone,
};
use proptest::collection::vec;
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;
use views::text::Layout;

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,60}",
        ".{0,20}",
        "\\PC{0,12}",
        "[\\x00-\\x1f\\x7f]{0,5}",
        "[日本🙂]{0,50}"
    ]
}

fn tone() -> impl Strategy<Value = Tone> {
    prop::sample::select(vec![
        Tone::Plain,
        Tone::Faint,
        Tone::Good,
        Tone::Warning,
        Tone::Serious,
        Tone::Strong,
    ])
}

fn toned() -> impl Strategy<Value = Text> {
    (words(), tone()).prop_map(|(text, tone)| Text { text, tone })
}

fn table() -> impl Strategy<Value = Table> {
    let align = prop_oneof![Just(Align::Left), Just(Align::Folded), Just(Align::Right)];
    let columns = vec((words(), align), 0..8);
    columns.prop_flat_map(|columns| {
        let rows = vec(vec(toned(), columns.len()), 0..4);
        (words(), Just(columns), rows, vec(words(), 0..2)).prop_map(
            |(caption, columns, rows, notes)| Table {
                caption,
                columns,
                rows,
                legend: notes.clone(),
                notes,
            },
        )
    })
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), -1e4..1e4, Just(5.0), Just(0.0)]
}

fn lines() -> impl Strategy<Value = Lines> {
    let line = (words(), vec((number(), number()), 0..20));
    let scale = || prop_oneof![Just(Scale::Linear), Just(Scale::Logarithmic), Just(Scale::Bytes)];
    (words(), words(), words(), scale(), scale(), vec(line, 0..5)).prop_map(
        |(caption, x, y, x_scale, y_scale, lines)| Lines {
            caption,
            x,
            y,
            x_scale,
            y_scale,
            reach: None,
            lines,
            marks: Vec::new(),
        },
    )
}

fn bars() -> impl Strategy<Value = Bars> {
    let bar = (words(), number(), number(), words());
    let bar = bar.prop_map(|(label, from, value, text)| Bar { label, from, value, text });
    (words(), vec(bar, 0..5)).prop_map(|(caption, bars)| Bars { caption, bars })
}

fn ruled(words: BoxedStrategy<String>, least_columns: usize) -> impl Strategy<Value = Ruled> {
    let align = prop_oneof![Just(Align::Left), Just(Align::Folded), Just(Align::Right)];
    let columns = vec((words.clone(), align), least_columns..9);
    columns.prop_flat_map(move |columns| {
        let cell = (words.clone(), tone()).prop_map(|(text, tone)| Text { text, tone });
        let parts = vec(vec(vec(cell, columns.len()), 0..3), 1..3);
        let notes = vec(words.clone(), 0..2);
        // Some places are of no column, and some twice.
        let optional = vec(0..=columns.len(), 0..4);
        (words.clone(), Just(columns), optional, parts, notes).prop_map(
            |(caption, columns, optional, parts, notes)| Ruled {
                caption,
                columns,
                optional,
                parts,
                legend: vec![],
                notes,
            },
        )
    })
}

fn heat_cell() -> impl Strategy<Value = HeatCell> {
    let value = (number(), "[0-9]{0,4}|\\PC{0,8}");
    prop_oneof![
        4 => value.prop_map(|(value, text)| HeatCell::Value { value, text }),
        1 => toned().prop_map(HeatCell::Absent),
    ]
}

fn heat_map() -> impl Strategy<Value = HeatMap> {
    let columns = prop_oneof![vec(words(), 0..8), vec("[0-9]{1,3}|[日本🙂]", 8..100)];
    let map = columns.prop_flat_map(|columns| {
        let row = (words(), vec(heat_cell(), columns.len()));
        let row = row.prop_map(|(label, cells)| HeatRow { label, cells });
        (Just(columns), vec(vec(row, 0..3), 0..3))
    });
    let words = (words(), "[a-z]{0,3}", words(), words(), vec(words(), 0..2));
    (words, map).prop_map(|((caption, unit, row_title, column_title, notes), (columns, groups))| {
        HeatMap {
            caption,
            unit,
            row_title,
            column_title,
            columns,
            groups,
            legend: vec![],
            notes,
            shaded_from: None,
            outline: None,
        }
    })
}

fn remark() -> impl Strategy<Value = Remark> {
    (toned(), words(), words(), prop::option::of(words()))
        .prop_map(|(mark, about, text, remedy)| Remark { mark, about, text, remedy })
}

fn block() -> impl Strategy<Value = Block> {
    prop_oneof![
        (words(), words()).prop_map(|(text, subtitle)| Block::Title { text, subtitle }),
        words().prop_map(Block::Heading),
        vec((words(), toned()), 0..4).prop_map(Block::Box),
        vec(vec((words(), toned()), 0..4), 0..3).prop_map(Block::Groups),
        toned().prop_map(Block::Paragraph),
        vec(toned(), 0..4).prop_map(Block::List),
        vec(remark(), 0..4).prop_map(Block::Remarks),
        table().prop_map(Block::Table),
        ruled(words().boxed(), 0).prop_map(Block::Ruled),
        heat_map().prop_map(Block::HeatMap),
        bars().prop_map(Block::Bars),
        lines().prop_map(Block::Lines),
    ]
}

/// What a reader without colours sees.
fn without_colour(text: &str) -> String {
    let mut pieces = text.split("\x1b[");
    let first = pieces.next().unwrap_or_default();
    let rest = pieces.map(|piece| piece.split_once('m').expect("a style").1);
    std::iter::once(first).chain(rest).collect()
}

const GLYPHS: &str = "·░▒▓█";

/// A map of one row, whose values are called v0, v1 and so on.
fn row_of(values: &[f64]) -> HeatMap {
    let cell = |(index, value): (usize, &f64)| HeatCell::Value {
        value: *value,
        text: format!("v{index}"),
    };
    HeatMap {
        caption: String::new(),
        unit: "ns".into(),
        row_title: String::new(),
        column_title: String::new(),
        columns: vec![String::new(); values.len()],
        groups: vec![vec![HeatRow {
            label: String::new(),
            cells: values.iter().enumerate().map(cell).collect(),
        }]],
        legend: vec![],
        notes: vec![],
        shaded_from: None,
        outline: None,
    }
}

/// The cells of a ruled table.
fn rows_of(table: &str) -> Vec<Vec<&str>> {
    let lines = table.lines().filter(|line| !line.starts_with("no room for"));
    lines.map(|line| line.split('|').map(str::trim).collect()).collect()
}

fn without_optional(ruled: &Ruled) -> Ruled {
    let is_needed = |(place, _): &(usize, _)| !ruled.optional.contains(place);
    let cells = |row: &Vec<Text>| -> Vec<Text> {
        let all = row.iter().cloned().enumerate();
        all.filter(|(place, _)| !ruled.optional.contains(place)).map(|(_, cell)| cell).collect()
    };
    let rows = |part: &Vec<Vec<Text>>| part.iter().map(cells).collect();
    let columns = ruled.columns.iter().enumerate().filter(is_needed);
    Ruled {
        columns: columns.map(|(_, column)| column.clone()).collect(),
        parts: ruled.parts.iter().map(rows).collect(),
        optional: Vec::new(),
        ..ruled.clone()
    }
}

fn rendered(block: Block, width: u16) -> String {
    let page = Page { blocks: vec![block] };
    views::text::render(&page, Layout { width, colour: false })
}

#[test]
fn a_map_without_differences_has_no_shades() {
    for (values, legend) in [
        (&[3702.0][..], "no shades: all are v0 ns\n"),
        (&[0.0, 0.0], "no shades: all are v0 ns\n"),
        (&[1000.0, 996.0], "no shades: all within 0.4 %, v1 to v0 ns\n"),
        (&[-1000.0, -999.99], "no shades: all within 0.1 %, v0 to v1 ns\n"),
    ] {
        let text = rendered(Block::HeatMap(row_of(values)), 80);
        assert!(text.ends_with(legend), "{text}");
        assert!(!text.contains(|c| GLYPHS.contains(c)), "{text}");
    }
    let text = rendered(Block::HeatMap(row_of(&[7.0; 200])), 80);
    assert!(text.contains("\n =====") && text.contains("\n= no shades: all are v0 ns\n"), "{text}");
    let text = rendered(Block::HeatMap(row_of(&[1000.0, 995.0])), 80);
    assert!(text.contains(" v0█ v1·\n"), "{text}");
    assert!(!rendered(Block::HeatMap(row_of(&[])), 80).contains("shades"));
}

#[test]
fn absences_are_named_whatever_the_width() {
    for (columns, width, expected) in [
        (3, 80, " v0· contended        v2█\n"),
        (100, 132, "\n ·a··················░░░"),
        (100, 132, "\na contended\n"),
        (60, 132, "\n ··a ····················░░"),
        (100, 132, "\n`--width 341` shows the numbers\n"),
        (400, 132, "\nthe numbers are in the record: `--format csv`\n"),
    ] {
        let values: Vec<f64> = (0..columns).map(f64::from).collect();
        let mut map = row_of(&values);
        map.columns.fill("12345678".into());
        map.groups[0][0].cells[1] = HeatCell::Absent("contended".into());
        let text = rendered(Block::HeatMap(map), width);
        assert!(text.contains(expected), "{text}");
    }
}

proptest! {
    // Few pages have anything odd at the very place where it hurts.
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn ruled_tables_can_be_split(
        ruled in ruled(prop_oneof!["[a-z |]{0,20}", "[a-z|日本🙂]{0,10}"].boxed(), 2),
        width in 70u16..=250,
    ) {
        let count = ruled.columns.len();
        // Headers are the places of their columns.
        let columns = ruled.columns.iter().enumerate();
        let columns = columns.map(|(index, (_, align))| (index.to_string(), *align)).collect();
        let ruled = Ruled { caption: String::new(), columns, notes: vec![], ..ruled };
        let (optional, parts) = (ruled.optional.clone(), ruled.parts.clone());
        let needed = without_optional(&ruled);
        let text = rendered(Block::Ruled(ruled), width);

        let tables: Vec<Vec<Vec<&str>>> = text.split("\n\n").map(rows_of).collect();
        prop_assert_eq!(tables.len() % parts.len(), 0, "{}", text);
        let slices = tables.len() / parts.len();
        let mut seen = vec![false; count];
        for (index, table) in tables.iter().enumerate() {
            let part = &parts[index / slices];
            prop_assert_eq!(table.len(), 1 + part.len(), "{}", text);
            let places: Vec<usize> = table[0].iter().map(|place| place.parse().unwrap()).collect();
            for place in &places {
                seen[*place] = true;
            }
            for (cells, row) in table[1..].iter().zip(part) {
                let expected = places.iter().map(|place| row[*place].text.replace('|', "¦"));
                let expected: Vec<String> = expected.map(|cell| cell.trim().to_owned()).collect();
                prop_assert_eq!(cells, &expected, "{}", text);
            }
        }
        let missing = (0..count).filter(|place| !seen[*place]);
        let missing: Vec<usize> = missing.collect();
        prop_assert!(missing.iter().all(|place| optional.contains(place)), "{text}");
        // The first that may go is the first that goes.
        let first = optional.iter().find(|place| **place < count);
        prop_assert!(missing.is_empty() || missing.contains(first.unwrap()), "{text}");
        prop_assert_eq!(missing.is_empty(), !text.contains("no room for"), "{}", text);
        // What may be left out makes no table longer.
        let tables = rendered(Block::Ruled(needed), width).split("\n\n").count();
        prop_assert!(slices == 1 || slices <= tables / parts.len(), "{text}");
    }

    #[test]
    fn the_greater_value_is_never_lighter(values in vec(number(), 2..9)) {
        let text = rendered(Block::HeatMap(row_of(&values)), 400);
        let row = text.lines().find(|line| line.contains("v0")).expect("the row");
        let level = |index: usize| {
            let (_, behind) = row.split_once(&format!("v{index}")).expect("the cell");
            GLYPHS.find(behind.chars().next().unwrap_or(' '))
        };
        let cells = values.iter().enumerate().filter(|(_, value)| value.is_finite());
        let mut cells: Vec<_> = cells.map(|(index, value)| (value, level(index))).collect();
        cells.sort_by(|a, b| a.0.total_cmp(b.0));
        prop_assert!(cells.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{text}");
        let ends = cells.first().map(|cell| cell.1).zip(cells.last().map(|cell| cell.1));
        let whole = (Some(0), GLYPHS.find('█'));
        prop_assert!(ends.is_none_or(|ends| ends == whole || ends == (None, None)), "{text}");
    }

    #[test]
    fn every_line_fits_and_nothing_acts_on_the_terminal(
        blocks in vec(block(), 0..6),
        width in 40u16..=200,
    ) {
        let page = Page { blocks };
        let text = views::text::render(&page, Layout { width, colour: false });
        for line in text.split('\n') {
            prop_assert!(line.width() <= usize::from(width), "{} columns: {line:?}", line.width());
            prop_assert_eq!(line, line.trim_end());
            prop_assert!(!line.contains(char::is_control));
        }
        let coloured = views::text::render(&page, Layout { width, colour: true });
        prop_assert_eq!(without_colour(&coloured), text);
        let markdown = views::markdown::render(&page);
        prop_assert!(!markdown.contains(|c: char| c.is_control() && c != '\n'));
    }
}
