//! A page as one HTML file, fit to be forwarded: nothing is fetched, nothing is executed.
//!
//! There is no script at all: what browsers show while the pointer rests on a value is `<title>`, and
//! the record hangs on the page as a link that holds it. Colours and shades add nothing that numbers
//! and words do not say. The styles are in `style.css`.

mod figures;
mod heat;
mod plot;
mod slopes;
mod strips;

use std::borrow::{Borrow, Cow};
use std::io::{Read, Write};
use std::thread::{self, Scope};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use model::page::{Align, Bar, Bars, Block, Page, Remark, Ruled, Text, Tone};
use model::record::Record;

use crate::visible::text as seen;
use crate::{Error, json};

/// Nothing from anywhere, and no script even if a machine's name should hold one.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// Records that are longer hang on the page compressed: a page is forwarded, and should be smaller than its record.
const PLAIN_MAX: usize = 1 << 16;

/// The page as a file of HTML that holds the record that it was made from, where there is one. The record
/// is packed while the page is made: it takes as long. Where threads are scarce it is packed afterwards.
pub fn render<P: Borrow<Page>>(
    page: impl FnOnce() -> P,
    record: Option<&Record>,
) -> Result<String, Error> {
    thread::scope(|scope| {
        let attached = record.map(|record| aside(scope, move || attachment(record)));
        let page = page();
        let page = page.borrow();
        let sections = sections(page);
        let rendered: Vec<Markup> = sections.iter().map(|section| blocks(section)).collect();
        let attached = attached.map(|attached| attached()).transpose()?;
        Ok(document(page, &sections, &rendered, attached))
    })
}

fn blocks(blocks: &[Block]) -> Markup {
    let markup = |blocks: &[Block]| html! { @for block in blocks { (self::block(block)) } };
    let Some((fold @ Block::Fold { open, .. }, rest)) = blocks.split_first() else {
        return markup(blocks);
    };
    html! {
        details open[*open] {
            summary { (block(fold)) }
            (markup(rest))
        }
    }
}

fn document(
    page: &Page,
    sections: &[&[Block]],
    rendered: &[Markup],
    attached: Option<Markup>,
) -> String {
    let title = page.blocks.iter().find_map(|block| match block {
        Block::Title { text, .. } => Some(seen(text)),
        _ => None,
    });
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                // Browsers ask servers for a picture unless the page has one.
                link rel="icon" href="data:,";
                title { (title.as_deref().unwrap_or("cpudyno")) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                main {
                    @for (place, section) in rendered.iter().enumerate() {
                        section id=(format!("s{place}")) {
                            (section)
                            @if place == 0 { (contents(sections)) }
                        }
                    }
                    @if let Some(record) = attached { footer { (record) } }
                }
            }
        }
    };
    markup.into_string()
}

/// The blocks from heading to heading; within folded parts, from fold to fold.
fn sections(page: &Page) -> Vec<&[Block]> {
    let has_folds = page.blocks.iter().position(is_fold);
    let top = has_folds.unwrap_or(page.blocks.len());
    let (top, folded) = page.blocks.split_at(top);
    let by_heading = divided(top, |block| matches!(block, Block::Heading(_)));
    by_heading.into_iter().chain(divided(folded, is_fold)).collect()
}

fn is_fold(block: &Block) -> bool {
    matches!(block, Block::Fold { .. })
}

fn divided(blocks: &[Block], starts: impl Fn(&Block) -> bool) -> Vec<&[Block]> {
    let mut rest = blocks;
    let mut sections = Vec::new();
    while !rest.is_empty() {
        let end = rest.iter().skip(1).position(&starts).map_or(rest.len(), |place| place + 1);
        let (section, after) = rest.split_at(end);
        sections.push(section);
        rest = after;
    }
    sections
}

/// Links to the sections, where there are more than fit on a screen.
fn contents(sections: &[&[Block]]) -> Markup {
    const FEW: usize = 4;
    let headings = sections.iter().enumerate().filter_map(|(place, section)| match section {
        [Block::Heading(text) | Block::Fold { title: text, .. }, ..] => Some((place, text)),
        _ => None,
    });
    let headings: Vec<_> = headings.collect();
    html! {
        @if headings.len() >= FEW {
            nav {
                @for (place, text) in headings { a href=(format!("#s{place}")) { (prose(text)) } }
            }
        }
    }
}

/// The record that hangs on a page; `None` where the text is no such page.
pub fn attached(html: &str) -> Option<String> {
    // A record has no page around it: not searched for one, as there may be a thousand.
    if html.starts_with('{') {
        return None;
    }
    let (_, link) = html.rsplit_once("href=\"data:application/")?;
    // One without its end is cut off, and a part of it may be base64 all the same.
    let (_, bytes) = link.split_once('"')?.0.split_once(";base64,")?;
    Some(unpacked(&STANDARD.decode(bytes).ok()?).ok()?.into_owned())
}

/// Why bytes are no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoText {
    /// They are none in UTF-8, compressed or not.
    #[error("it is no text in UTF-8")]
    Foreign,
    /// They do not unpack to their end.
    #[error("it is compressed, and cut off or damaged")]
    Damaged,
}

/// A record as text, whether or not it was compressed as those that hang on pages are.
pub fn unpacked(bytes: &[u8]) -> Result<Cow<'_, str>, NoText> {
    /// No record is longer: what says otherwise is none.
    const LONGEST: u64 = 1 << 30;
    let mut whole = Vec::new();
    if !bytes.starts_with(b"\x1f\x8b") {
        return std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| NoText::Foreign);
    }
    let read = MultiGzDecoder::new(bytes).take(LONGEST).read_to_end(&mut whole);
    read.map_err(|_| NoText::Damaged)?;
    String::from_utf8(whole).map(Cow::Owned).map_err(|_| NoText::Foreign)
}

/// The record as a link that needs no server.
fn attachment(record: &Record) -> Result<Markup, Error> {
    let dense = json::dense(record)?;
    let (name, kind, bytes) = if dense.len() <= PLAIN_MAX {
        ("record.json", "json", json::render(record)?.into_bytes())
    } else {
        ("record.json.gz", "gzip", packed(dense.as_bytes()))
    };
    // The longest text of the page, and nothing in it would be escaped.
    let mut link = format!("data:application/{kind};base64,");
    STANDARD.encode_string(bytes, &mut link);
    Ok(html! {
        p {
            a download=(name) href=(PreEscaped(link)) { "Download the record" }
            " (" (name) "): every sample that this page is made from, and how it was measured. "
            code { "cpudyno show FILE" } " prints it; FILE may be this page, too."
        }
    })
}

/// As gzip, in parts by as many threads: what unpacks it takes parts that follow each other for one
/// text.
fn packed(text: &[u8]) -> Vec<u8> {
    /// Of the record of a large server there is one for each of eight cores.
    const PART_BYTES: usize = 2 << 20;
    /// The next one takes twice as long and makes a record smaller by a twentieth.
    const LEVEL: u32 = 7;
    let gzip = |part: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(LEVEL));
        let written = encoder.write_all(part).and_then(|()| encoder.finish());
        written.expect("BUG: memory refuses to be written")
    };
    thread::scope(|scope| {
        let parts = text.chunks(PART_BYTES).map(|part| aside(scope, move || gzip(part)));
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| part()).collect()
    })
}

/// What is made by a thread of its own, or by the one that asks for it where threads are scarce.
fn aside<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    make: impl Fn() -> T + Copy + Send + 'scope,
) -> impl FnOnce() -> T {
    let thread = thread::Builder::new().spawn_scoped(scope, make);
    move || match thread {
        Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        Err(_) => make(),
    }
}

/// A text as people read it; what stands between backticks is code.
fn prose(text: &str) -> Markup {
    let text = seen(text);
    let parts: Vec<&str> = text.split('`').collect();
    // One that is left over is a character like others.
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (place, part) in parts.iter().enumerate() {
            @if place % 2 == 0 { (part) } @else { code { (part) } }
        }
    }
}

fn block(block: &Block) -> Markup {
    match block {
        Block::Title { text, subtitle } => html! {
            h1 { (seen(text)) }
            @if !subtitle.is_empty() { p.subtitle { (prose(subtitle)) } }
        },
        Block::Heading(text) => html! { h2 { (prose(text)) } },
        Block::Box(pairs) => html! { div.box { (pairs_of(pairs)) } },
        Block::Groups(groups) => html! {
            div.groups { @for pairs in groups { (pairs_of(pairs)) } }
        },
        Block::Paragraph(text) => html! { p class=[class(text.tone)] { (prose(&text.text)) } },
        Block::List(items) => html! {
            ul { @for item in items { li class=[class(item.tone)] { (prose(&item.text)) } } }
        },
        Block::Fold { title, .. } => html! { h2 { (prose(title)) } },
        Block::Badge { label, grade, reasons } => html! {
            p.badge {
                (seen(label)) " "
                span.mark.(class(grade.tone).unwrap_or("plain")) { (seen(&grade.text)) }
                " " span.faint { (prose(reasons)) }
            }
        },
        Block::Figures(figures) => figures::cards(figures),
        Block::Hints(lines) => html! {
            ul.hints.faint { @for line in lines { li { (prose(line)) } } }
        },
        Block::Remarks(remarks) | Block::Actions(remarks) => {
            html! { ul.remarks { @for one in remarks { (remark(one)) } } }
        }
        Block::Table(table) => {
            let model::page::Table { caption, columns, rows, legend, notes } = table;
            tables(caption, columns, std::slice::from_ref(rows), [legend, notes])
        }
        Block::Ruled(ruled) => {
            let Ruled { caption, columns, parts, legend, notes, .. } = ruled;
            tables(caption, columns, parts, [legend, notes])
        }
        Block::HeatMap(map) => heat::figure(map),
        Block::Bars(bars) => bars_of(bars),
        Block::Lines(lines) => plot::figure(lines),
        Block::Slopes(slopes) => slopes::figure(slopes),
        Block::Strips(strips) => strips::figure(strips),
    }
}

/// The class of a tone; what is plain has none.
fn class(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Plain => None,
        Tone::Faint => Some("faint"),
        Tone::Good => Some("good"),
        Tone::Warning => Some("warning"),
        Tone::Serious => Some("serious"),
        Tone::Strong => Some("strong"),
    }
}

fn toned(text: &Text) -> Markup {
    html! { span class=[class(text.tone)] { (prose(&text.text)) } }
}

fn pairs_of(pairs: &[(String, Text)]) -> Markup {
    html! {
        dl { @for (label, value) in pairs { dt { (seen(label)) } dd { (toned(value)) } } }
    }
}

fn remark(remark: &Remark) -> Markup {
    html! {
        li {
            span.mark.(class(remark.mark.tone).unwrap_or("plain")) { (seen(&remark.mark.text)) }
            " "
            @if !remark.about.is_empty() { b { (prose(&remark.about)) ":" } " " }
            (prose(&remark.text))
            @if let Some(remedy) = &remark.remedy { p.remedy { (prose(remedy)) } }
        }
    }
}

/// What stands under a table, map or plot.
fn notes(notes: &[String]) -> Markup {
    html! { @for note in notes { p.note { (prose(note)) } } }
}

/// Tables with more columns than this are wider than paper in the type of the others.
const WIDE: usize = 11;

/// First columns with more characters than this get room.
const LONG: usize = 22;

/// Tables of one form under one caption.
fn tables(
    caption: &str,
    columns: &[(String, Align)],
    parts: &[Vec<Vec<Text>>],
    below: [&[String]; 2],
) -> Markup {
    let side = |align: Align| match align {
        Align::Label => "label",
        Align::Left | Align::Folded => "left",
        Align::Right => "right",
    };
    // Words of which rows are about have room beside numbers, which browsers never fold.
    let is_long = |rows: &[Vec<Text>]| {
        rows.iter().filter_map(|row| row.first()).any(|cell| cell.text.chars().count() >= LONG)
    };
    html! {
        figure {
            @if !caption.is_empty() { figcaption { (prose(caption)) } }
            @for rows in parts {
                div.scroll {
                    table class=[(columns.len() > WIDE).then_some("wide")] {
                        @if columns.iter().any(|(header, _)| !header.is_empty()) {
                            thead {
                                tr {
                                    @for (place, (header, align)) in columns.iter().enumerate() {
                                        th.(side(*align)).long[place == 0 && is_long(rows)] {
                                            (seen(header))
                                        }
                                    }
                                }
                            }
                        }
                        tbody {
                            @for row in rows {
                                tr {
                                    @for (cell, (_, align)) in row.iter().zip(columns) {
                                        td class=(side(*align)) { (toned(cell)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            @for below in below { (notes(below)) }
        }
    }
}

fn bars_of(bars: &Bars) -> Markup {
    let ends = bars.bars.iter().flat_map(|bar| [bar.from, bar.value]);
    let longest = ends.filter(|end| end.is_finite()).fold(0.0, f64::max);
    let share = |value: f64| {
        if value.is_finite() && value > 0.0 { 100.0 * value / longest } else { 0.0 }
    };
    let style = |bar: &Bar| {
        let (from, to) = (share(bar.from.min(bar.value)), share(bar.from.max(bar.value)));
        let begin = if from > 0.0 { format!("margin-left:{from:.2}%;") } else { String::new() };
        format!("{begin}width:{:.2}%", to - from)
    };
    html! {
        figure {
            @if !bars.caption.is_empty() { figcaption { (prose(&bars.caption)) } }
            div.bars {
                @for bar in &bars.bars {
                    span.name { (prose(&bar.label)) }
                    span.track { span.bar style=(style(bar)) {} }
                    span.value { (prose(&bar.text)) }
                }
            }
        }
    }
}
