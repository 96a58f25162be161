//! Every view of a page with every block and of a record with every form of samples.

mod sample;

use model::record::{Outcome, Samples};
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
    assert_eq!(error.to_string(), "cannot write the record as JSON");
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
