//! Laws of the text view, on arbitrary pages.

use model::page::{Align, Bar, Bars, Block, Lines, Page, Remark, Table, Text, Tone};
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
    let align = prop_oneof![Just(Align::Left), Just(Align::Right)];
    let columns = vec((words(), align), 0..8);
    columns.prop_flat_map(|columns| {
        let rows = vec(vec(toned(), columns.len()), 0..4);
        (words(), Just(columns), rows, vec(words(), 0..2))
            .prop_map(|(caption, columns, rows, notes)| Table { caption, columns, rows, notes })
    })
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), -1e4..1e4, Just(5.0), Just(0.0)]
}

fn lines() -> impl Strategy<Value = Lines> {
    let line = (words(), vec((number(), number()), 0..20));
    (words(), words(), words(), vec(line, 0..5)).prop_map(|(caption, x, y, lines)| Lines {
        caption,
        x,
        y,
        lines,
    })
}

fn bars() -> impl Strategy<Value = Bars> {
    let bar = (words(), number(), words());
    let bar = bar.prop_map(|(label, value, text)| Bar { label, value, text });
    (words(), vec(bar, 0..5)).prop_map(|(caption, bars)| Bars { caption, bars })
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
        bars().prop_map(Block::Bars),
        lines().prop_map(Block::Lines),
    ]
}

proptest! {
    // Few pages have anything odd at the very place where it hurts.
    #![proptest_config(ProptestConfig::with_cases(2000))]

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
        views::text::render(&page, Layout { width, colour: true });
        let markdown = views::markdown::render(&page);
        prop_assert!(!markdown.contains(|c: char| c.is_control() && c != '\n'));
    }
}
