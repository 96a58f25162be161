//! Every view of a page with every block and of a record with every form of samples.

use std::io::Write;

use crate::sample;
use flate2::Compression;
use flate2::write::GzEncoder;
use model::page::{Align, Block, HeatCell, Page, Table, Text};
use model::record::{Outcome, Samples};
use views::html::{NoText, unpacked};
use views::text::Layout;

fn text(width: u16, colour: bool) -> String {
    views::text::render(&sample::page(), Layout { width, colour })
}

#[test]
fn text_80() {
    insta::assert_snapshot!(text(80, false));
}

#[test]
fn text_80_colour() {
    // Snapshots are read by people: the escape character is shown as its picture.
    insta::assert_snapshot!(text(80, true).replace('\x1b', "␛"));
}

#[test]
fn text_132() {
    insta::assert_snapshot!(text(132, false));
}

#[test]
fn text_132_colour() {
    insta::assert_snapshot!(text(132, true).replace('\x1b', "␛"));
}

#[test]
fn text_narrower_than_40_is_40() {
    assert_eq!(text(3, false), text(40, false));
    insta::assert_snapshot!(text(40, false));
}

#[test]
fn colour_adds_nothing_but_colour() {
    let mut plain = String::new();
    let coloured = text(80, true);
    let mut pieces = coloured.split("\x1b[");
    plain.push_str(pieces.next().unwrap());
    for piece in pieces {
        plain.push_str(piece.split_once('m').unwrap().1);
    }
    assert_eq!(plain, text(80, false));
}

#[test]
fn markdown() {
    insta::assert_snapshot!(views::markdown::render(&sample::page()));
}

#[test]
fn html_of_blocks() {
    /// Longer ones are plots of many points, which nobody reads.
    const READABLE: usize = 5000;
    let mut seen = Vec::new();
    for block in sample::page().blocks {
        let html = views::html::render(|| Page { blocks: vec![block] }, None).unwrap();
        let (_, main) = html.split_once("<main>").unwrap();
        seen.extend((main.len() < READABLE).then(|| main.replace("><", ">\n<")));
    }
    assert!(seen.len() > 5);
    insta::assert_snapshot!(seen.join("\n\n"));
}

#[test]
fn html_has_every_number_of_tables_and_maps() {
    let html = views::html::render(sample::page, None).unwrap();
    let cells = |block: &Block| -> Vec<String> {
        match block {
            Block::Table(table) => table.rows.iter().flatten().map(|it| it.text.clone()).collect(),
            Block::HeatMap(map) => {
                let cells = map.groups.iter().flatten().flat_map(|row| &row.cells);
                let values = cells.filter_map(|cell| match cell {
                    HeatCell::Value { text, .. } => Some(text.clone()),
                    HeatCell::Absent(_) => None,
                });
                values.collect()
            }
            _ => Vec::new(),
        }
    };
    let numbers: Vec<String> = sample::page().blocks.iter().flat_map(cells).collect();
    let plain = |text: &&String| text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let numbers: Vec<&String> = numbers.iter().filter(plain).collect();
    assert!(numbers.len() > 20, "{numbers:?}");
    for number in numbers {
        // In its cell, or shown by it.
        let shown = [format!(">{number}<"), format!(": {number}")];
        assert!(shown.iter().any(|it| html.contains(it)), "{number} is not on the page");
    }
}

/// What no paper is wide enough for has smaller type there.
#[test]
fn tables_of_many_columns_are_marked() {
    let of = |count: usize| {
        let columns = vec![("clock".to_owned(), Align::Right); count];
        let rows = vec![vec![Text::from("3.600 GHz"); count]];
        let table =
            Table { caption: String::new(), columns, rows, legend: Vec::new(), notes: Vec::new() };
        views::html::render(|| Page { blocks: vec![Block::Table(table.clone())] }, None).unwrap()
    };
    assert!(of(12).contains("<table class=\"wide\">"));
    assert!(of(11).contains("<table>"));
}

#[test]
fn html_fetches_and_executes_nothing() {
    let html = views::html::render(sample::page, Some(&sample::record())).unwrap();
    for word in ["http:", "https:", "<script", "url(", "@import", "src="] {
        assert!(!html.contains(word), "{word}");
    }
    let links = html.split("href=\"").skip(1);
    assert!(links.map(|link| &link[..1]).all(|first| first == "#" || first == "d"));
}

#[test]
fn what_is_cut_off_is_not_called_foreign() {
    let text = br#"{"schema": "cpudyno.record/1.0"}"#;
    let gzip = |bytes: &[u8]| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    };
    let whole = gzip(text);
    assert_eq!(unpacked(&whole).unwrap().as_bytes(), text);
    for end in 2..whole.len() {
        assert_eq!(unpacked(&whole[..end]), Err(NoText::Damaged), "{end} of {}", whole.len());
    }
    // What several wrote one after the other is one text.
    assert_eq!(unpacked(&whole.repeat(2)).unwrap().as_bytes(), text.repeat(2));
    assert_eq!(unpacked(&gzip(&[0xff])), Err(NoText::Foreign));
    assert_eq!(unpacked(&[0xff]), Err(NoText::Foreign));
}

#[test]
fn html_holds_the_record() {
    let record = sample::record();
    let html = views::html::render(sample::page, Some(&record)).unwrap();
    let attached = views::html::attached(&html).unwrap();
    assert_eq!(attached, views::json::render(&record).unwrap());
    // A page that is cut off holds none, wherever the cut is.
    let link = html.find(";base64,").unwrap();
    assert!((0..8).all(|more| views::html::attached(&html[..link + 400 + more]).is_none()));
    // A long one hangs there compressed, and reads back as the same.
    let mut long = record;
    let series = long.series[0].clone();
    while views::json::render(&long).unwrap().len() <= 2 << 20 {
        let more = long.series.len().max(1000);
        long.series.extend(std::iter::repeat_n(series.clone(), more));
    }
    let holds = |long: &model::record::Record| -> String {
        let html = views::html::render(sample::page, Some(long)).unwrap();
        assert!(html.len() < 3_000_000 && html.contains("record.json.gz"), "{} bytes", html.len());
        let attached = views::html::attached(&html).unwrap();
        assert!(model::record::read(&attached).unwrap() == *long);
        html
    };
    assert!(holds(&long).len() < 1 << 18);
    // Also in several parts.
    let mut state = 1u64;
    let mut samples = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 32) as f64 / 1e3
    };
    let mut noisy = |count: usize| {
        let noise = Samples::Plain(vec![(0..count).map(|_| samples()).collect()]);
        let summary = noise.summary().unwrap();
        long.series[0].outcome = Outcome::Measured { samples: noise, summary };
        long.clone()
    };
    // One that is damaged is no other record.
    let html = holds(&noisy(20_000));
    let (start, whole) = (html.find(";base64,").unwrap() + 8, views::html::attached(&html));
    let end = start + html[start..].find('"').unwrap();
    for place in (start..end).step_by(1_009) {
        let mut damaged = html.clone().into_bytes();
        damaged[place] = if damaged[place] == b'A' { b'B' } else { b'A' };
        let read = views::html::attached(str::from_utf8(&damaged).unwrap());
        assert!(read.is_none() || read == whole, "{place}");
    }
    holds(&noisy(280_000));
    assert_eq!(views::html::attached("<!DOCTYPE html><p>no page of ours"), None);
}

#[test]
fn html_shows_code_as_code() {
    let blocks = vec![
        Block::Paragraph("run `cpudyno doctor`, then `<b>`".into()),
        Block::Paragraph("a left-over ` stays".into()),
    ];
    let html = views::html::render(|| Page { blocks }, None).unwrap();
    assert!(
        html.contains("run <code>cpudyno doctor</code>, then <code>&lt;b&gt;</code>"),
        "{html}"
    );
    assert!(html.contains("a left-over ` stays"), "{html}");
}

#[test]
fn html_takes_no_text_for_markup() {
    let hostile = "</title><script>alert(1)</script>\u{202e}\x1b[31m";
    let title = Block::Title { text: hostile.to_owned(), subtitle: hostile.to_owned() };
    let page = Page { blocks: vec![title, Block::Heading(hostile.to_owned())] };
    let html = views::html::render(|| &page, None).unwrap();
    assert!(!html.contains("<script") && !html.contains('\x1b') && !html.contains('\u{202e}'));
}

#[test]
fn csv() {
    insta::assert_snapshot!(views::csv::render(&sample::record()).unwrap());
}

#[test]
fn json() {
    insta::assert_snapshot!(views::json::render(&sample::record()).unwrap());
}

#[test]
fn json_reads_back_as_the_same_record() {
    let record = sample::record();
    let text = views::json::render(&record).unwrap();
    assert!(text.ends_with("}\n"));
    assert_eq!(model::record::read(&text).unwrap(), record);
}

#[test]
fn json_refuses_what_it_cannot_say() {
    let mut record = sample::record();
    record.run.seconds = f64::NAN;
    let error = views::json::render(&record).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot write the record as JSON: a number in it is not finite, in `seconds`"
    );
}

#[test]
fn every_sample_has_its_line_in_csv() {
    let record = sample::record();
    let count = |outcome: &Outcome| match outcome {
        Outcome::Measured { samples, .. } => samples.all().len(),
        Outcome::Unavailable { .. } => 1,
    };
    let expected: usize = record.series.iter().map(|series| count(&series.outcome)).sum();
    assert_eq!(views::csv::render(&record).unwrap().lines().count(), 1 + expected);
}

#[test]
fn many_samples_stay_in_their_rows() {
    let mut record = sample::record();
    let values: Vec<f64> = (0..100_000).map(|i| f64::from(i) / 7.0).collect();
    let samples = Samples::Plain(vec![values; 2]);
    let before = views::json::render(&record).unwrap().lines().count();
    let summary = samples.summary().unwrap();
    record.series[0].outcome = Outcome::Measured { samples, summary };
    let text = views::json::render(&record).unwrap();
    // One more line for the second block, one for the bracket.
    assert!(text.lines().count() <= before + 2);
    assert_eq!(model::record::read(&text).unwrap(), record);
}
