//! What is expected of a fact, and whether it is so.

use model::page::si;
use model::record::{FactValue, Record};
use model::{Obstacle, Unavailable, Unit};
use serde::Deserialize;

use crate::readings;

/// What is expected. Texts that fold several CPUs hold where every part of them does.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expectation {
    /// It is one of these words.
    OneOf(Vec<String>),
    /// It is none of these words.
    NoneOf(Vec<String>),
    /// One of these pieces stands in it.
    Contains(Vec<String>),
    /// None of these pieces stands in it.
    Lacks(Vec<String>),
    /// Its number is at least that, in SI base units.
    AtLeast(f64),
    /// Its number is at most that, in SI base units.
    AtMost(f64),
    /// Its number is at least that of another fact, but for what rounding takes.
    AtLeastFact(String),
}

/// Where a check holds: a fact, and what it must be.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Condition {
    /// The id of the fact.
    pub fact: String,
    /// What it must be.
    #[serde(flatten)]
    pub is: Expectation,
}

/// Whether a value is as expected.
pub(crate) enum Verdict {
    Holds,
    Fails,
    /// The value, or what it is compared with, cannot be judged.
    Unknown(Unavailable),
}

/// Facts print two or three digits.
const ROUNDING: f64 = 0.01;

/// What stands for CPUs that did not answer, and for answers too many to print.
const UNTOLD: [&str; 2] = ["unreadable", "others"];

impl Expectation {
    /// Whether a value is as expected.
    pub(crate) fn judge(&self, value: &FactValue, record: &Record) -> Verdict {
        let text = value_text(value);
        let has = |part: &str, pieces: &[String]| pieces.iter().any(|p| part.contains(p.as_str()));
        let is = |part: &str, words: &[String]| words.iter().any(|word| word == part);
        match self {
            Expectation::OneOf(words) => every(&text, |part| is(part, words)),
            Expectation::NoneOf(words) => every(&text, |part| !is(part, words)),
            Expectation::Contains(pieces) => every(&text, |part| has(part, pieces)),
            Expectation::Lacks(pieces) => every(&text, |part| !has(part, pieces)),
            Expectation::AtLeast(least) => compared(value, |number| number >= *least),
            Expectation::AtMost(most) => compared(value, |number| number <= *most),
            Expectation::AtLeastFact(id) => match readings::read(record, id) {
                Ok(other) => at_least(value, &other),
                Err(reason) => Verdict::Unknown(reason),
            },
        }
    }

    /// What was found instead, in a line.
    pub(crate) fn found(&self, value: &FactValue) -> String {
        /// Longer ones are lists that nobody reads.
        const LETTERS_MAX: usize = 100;
        let text = value_text(value);
        let found = match self {
            Expectation::Lacks(pieces) => unwanted(&text, pieces).unwrap_or(text),
            _ => text,
        };
        match found.char_indices().nth(LETTERS_MAX) {
            Some((end, _)) => format!("{}...", &found[..end]),
            None => found,
        }
    }

    /// Whether a value that is not there is as good as one that is as expected.
    pub(crate) fn is_negative(&self) -> bool {
        matches!(self, Expectation::NoneOf(_) | Expectation::Lacks(_))
    }

    /// In words, as they stand after "expected".
    pub(crate) fn words(&self, value: &FactValue, record: &Record) -> String {
        match self {
            Expectation::AtLeastFact(id) => {
                readings::read(record, id).map_or_else(|_| self.stated(), |it| value_text(&it))
            }
            _ => match value {
                FactValue::Number { unit, .. } => self.of(*unit),
                FactValue::Text(_) => self.stated(),
            },
        }
    }

    /// The same of no record: numbers in SI base units.
    pub fn stated(&self) -> String {
        self.of(Unit::Count)
    }

    fn of(&self, unit: Unit) -> String {
        match self {
            Expectation::OneOf(words) => words.join(" or "),
            Expectation::NoneOf(words) => format!("anything but {}", words.join(" and ")),
            Expectation::Contains(pieces) => pieces.join(" or "),
            Expectation::Lacks(pieces) => format!("without {}", pieces.join(", ")),
            Expectation::AtLeast(least) => format!("at least {}", say(*least, unit)),
            Expectation::AtMost(most) if *most <= 0.0 => "0".to_owned(),
            Expectation::AtMost(most) => format!("at most {}", say(*most, unit)),
            Expectation::AtLeastFact(id) => format!("at least `{id}`"),
        }
    }
}

/// What a list should not have; `None` where it is no list.
fn unwanted(text: &str, pieces: &[String]) -> Option<String> {
    if text.contains(" | ") {
        let there = pieces.iter().filter(|piece| text.contains(piece.as_str()));
        let bare = there.map(|piece| piece.strip_prefix("Mitigation: ").unwrap_or(piece));
        return Some(bare.collect::<Vec<&str>>().join(", "));
    }
    let has = |word: &&str| pieces.iter().any(|piece| word.contains(piece.as_str()));
    let words: Vec<&str> = text.split_whitespace().filter(has).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Whether every part of a text is so; unknown where some are not told and none of the others fails.
fn every(text: &str, is_so: impl Fn(&str) -> bool) -> Verdict {
    let (untold, told): (Vec<&str>, Vec<&str>) =
        parts(text).into_iter().partition(|part| UNTOLD.contains(part));
    if !told.iter().all(|part| is_so(part)) {
        return Verdict::Fails;
    }
    if untold.is_empty() {
        return Verdict::Holds;
    }
    let why = format!("`{text}` does not say it of every CPU");
    Verdict::Unknown(Unavailable::new(Obstacle::Cpudyno, "value", why))
}

fn holds(is_so: bool) -> Verdict {
    if is_so { Verdict::Holds } else { Verdict::Fails }
}

/// A value as people read it.
pub(crate) fn value_text(value: &FactValue) -> String {
    match value {
        FactValue::Text(text) => text.clone(),
        FactValue::Number { value, unit } => say(*value, *unit),
    }
}

fn say(value: f64, unit: Unit) -> String {
    match unit {
        Unit::One => format!("{:.0} %", value * 100.0),
        Unit::Count => value.to_string(),
        unit => si::format(value, unit).replace(".0 ", " "),
    }
}

/// What a text says of different CPUs: `P: 4.6 GHz; E: 3.8 GHz`, `performance (4), powersave (4)`.
pub(crate) fn parts(text: &str) -> Vec<&str> {
    let kinds = text.split("; ").map(|kind| match kind.split_once(": ") {
        Some((name, value)) if !name.contains(' ') => Some(value),
        _ => None,
    });
    let kinds: Option<Vec<&str>> = kinds.collect();
    kinds.unwrap_or_else(|| vec![text]).into_iter().flat_map(folded).collect()
}

/// `performance (4), powersave (4)`, or one that is of all.
fn folded(text: &str) -> Vec<&str> {
    fn uncounted(part: &str) -> Option<&str> {
        let (value, count) = part.strip_suffix(')')?.rsplit_once(" (")?;
        count.bytes().all(|byte| byte.is_ascii_digit()).then_some(value)
    }
    let pieces: Option<Vec<&str>> = text.split(", ").map(uncounted).collect();
    pieces.unwrap_or_else(|| vec![text])
}

/// The numbers of a value, one for each part of it, in SI base units; of a range its upper end.
pub(crate) fn numbers(value: &FactValue) -> Option<Vec<f64>> {
    match value {
        FactValue::Number { value, .. } => value.is_finite().then(|| vec![*value]),
        FactValue::Text(text) => {
            parts(text).into_iter().filter(|part| !UNTOLD.contains(part)).map(number).collect()
        }
    }
}

/// The first number of a text; `0.8 to 3.5 GHz` is the second, in hertz.
fn number(text: &str) -> Option<f64> {
    let text = text.split_once(" (").map_or(text, |(start, _)| start);
    let upper = text.split_once(" to ").map_or(text, |(_, upper)| upper);
    let mut words = upper.split_whitespace();
    let number: f64 = words.next()?.trim_end_matches(['%', ';', ',']).parse().ok()?;
    let scale = match words.next() {
        Some("GHz") => 1e9,
        Some("MHz") => 1e6,
        _ => 1.0,
    };
    number.is_finite().then_some(number * scale)
}

fn unreadable(value: &FactValue) -> Verdict {
    let why = format!("`{}` is no number that can be judged", value_text(value));
    Verdict::Unknown(Unavailable::new(Obstacle::Cpudyno, "number", why))
}

fn compared(value: &FactValue, is_so: impl Fn(f64) -> bool) -> Verdict {
    match numbers(value) {
        Some(numbers) => holds(numbers.into_iter().all(is_so)),
        None => unreadable(value),
    }
}

/// Largest with largest, and so on, where both have as many parts, which may stand in any order; otherwise the largest
/// of both.
fn at_least(value: &FactValue, other: &FactValue) -> Verdict {
    let Some(mut mine) = numbers(value) else { return unreadable(value) };
    let Some(mut theirs) = numbers(other) else { return unreadable(other) };
    mine.sort_by(f64::total_cmp);
    theirs.sort_by(f64::total_cmp);
    let reaches = |mine: f64, theirs: f64| mine >= theirs * (1.0 - ROUNDING);
    if mine.len() == theirs.len() {
        return holds(mine.into_iter().zip(theirs).all(|(mine, theirs)| reaches(mine, theirs)));
    }
    let largest = |numbers: Vec<f64>| numbers.into_iter().fold(f64::MIN, f64::max);
    holds(reaches(largest(mine), largest(theirs)))
}
