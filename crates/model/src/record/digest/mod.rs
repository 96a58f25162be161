//! What others are held against: the machine in words, and each result block by block.
//!
//! A record is mostly samples, and of a thousand records nobody wants to read those. So its digest stands before
//! everything else, in one line, and whoever compares records reads that far and stops (`docs/adr/0012-digest-first.md`).

mod skim;
mod tree;

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde::ser::{Error as _, Serializer};
use serde::{Deserialize, Serialize};

pub use self::skim::{Skim, SkimFact, SkimResult};
use super::read::judged;
use super::{ResultKey, Tool};
use crate::quantity::Unit;
use crate::stats::paired::Better;
use crate::stats::{median, median_interval, to_digits};
use crate::unavailable::Unavailable;

/// What is needed of a record to hold it against others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Digest {
    /// The program that measured.
    pub tool: Tool,
    /// When, and of what.
    pub run: DigestRun,
    /// How many packages the machine has.
    pub packages: usize,
    /// How many cores it has.
    pub cores: usize,
    /// Facts, conditions and settings, as far as they tell one machine or run from another.
    pub facts: Vec<DigestFact>,
    /// The results that machines are judged by.
    #[serde(with = "tree")]
    #[cfg_attr(feature = "schema", schemars(with = "tree::Tree"))]
    pub results: BTreeMap<ResultKey, DigestResult>,
}

/// When a record was made, and of what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DigestRun {
    /// Tells runs apart.
    pub id: String,
    /// When it began: RFC 3339, UTC.
    pub started: String,
    /// The simulated machine, where nothing was measured at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<String>,
    /// Where the machine's answers come from, where it is not the one that the program ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// Why it ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<String>,
}

/// Something that a machine says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DigestFact {
    /// The fact's id; of a condition that was read again after the run, with `after.` before it.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// What it says, in words, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What a record knows of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct DigestResult {
    /// What its numbers count.
    pub unit: Unit,
    /// Which direction is better, where one is.
    pub better: Option<Better>,
    /// The number, or why there is none.
    pub outcome: Result<Measured, Unavailable>,
}

/// A result. What it varied by is in millionths of its median (of its unit, where the median is zero): whatever is
/// finer is noise, and a record begins with hundreds of these.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The median over blocks, of each block that over CPUs.
    pub median: f64,
    /// How far the median of each block is from it, in the order of measuring.
    blocks_ppm: Vec<i64>,
    /// The relative width of the bins that its samples were kept in: nothing is surer than that.
    packing: f64,
}

/// A number with its interval, where there were enough blocks for one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ResultValue {
    /// The median over blocks.
    pub median: f64,
    /// The 95 % interval of the median (94 % of five blocks).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

/// More blocks make an interval hardly narrower, and a digest longer.
const BLOCKS_MAX: usize = 12;

/// Digits of a median: it is as fine as what it varies by.
const DIGITS: usize = 7;

impl Measured {
    /// From the medians of blocks; `None` where there are none. Of many blocks, some that follow each other count as one.
    pub fn of(blocks: &[f64], packing: f64) -> Option<Measured> {
        let whole = to_digits(median(blocks)?, DIGITS);
        let ppm = |block: f64| ((block - whole) / millionth(whole)).round() as i64;
        let together = blocks.chunks(blocks.len().div_ceil(BLOCKS_MAX));
        let blocks_ppm = together.filter_map(median).map(ppm).collect();
        Some(Measured { median: whole, blocks_ppm, packing })
    }

    /// The median with its interval.
    pub fn value(&self) -> ResultValue {
        let interval = widened(median_interval(&self.blocks()), self.packing);
        ResultValue { median: self.median, interval }
    }

    /// The medians of blocks, in the order of measuring.
    pub fn blocks(&self) -> Vec<f64> {
        let at = |ppm: &i64| self.median + *ppm as f64 * millionth(self.median);
        self.blocks_ppm.iter().map(at).collect()
    }
}

/// An interval of samples that were kept in bins of that relative width.
fn widened(interval: Option<[f64; 2]>, packing: f64) -> Option<[f64; 2]> {
    interval.map(|[low, high]| [low * (1.0 - packing), high * (1.0 + packing)])
}

fn millionth(median: f64) -> f64 {
    if median == 0.0 { 1e-6 } else { median * 1e-6 }
}

/// What a record begins with.
struct Head<D> {
    schema: Option<String>,
    digest: Option<D>,
}

/// What a record of the same major schema begins with. Where the digest ends, reading does: what is said of the rest is
/// no error of this one.
fn begun<'a, D: Deserialize<'a>>(beginning: &'a str) -> Option<D> {
    let mut head = Head { schema: None, digest: None };
    let _ = serde_json::Deserializer::from_str(beginning).deserialize_map(Begin(&mut head));
    judged(head.schema).ok()?;
    head.digest
}

impl Digest {
    /// The digest that a record of the same major schema begins with, out of the beginning of its text. `None` where
    /// there is none to its end: an older record, or one that another program laid out.
    pub fn read(beginning: &str) -> Option<Digest> {
        begun(beginning)
    }
}

/// Reads `schema` and `digest`, and nothing after them.
struct Begin<'a, D>(&'a mut Head<D>);

impl<'de, D: Deserialize<'de>> Visitor<'de> for Begin<'_, D> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        if map.next_key::<&str>()? == Some("schema") {
            self.0.schema = map.next_value()?;
        }
        if map.next_key::<&str>()? == Some("digest") {
            self.0.digest = map.next_value()?;
        }
        Ok(())
    }
}

/// In one line, however the record around it is laid out.
#[expect(clippy::ref_option, reason = "serde passes references")]
pub(super) fn in_one_line<S: Serializer>(
    digest: &Option<Digest>,
    to: S,
) -> Result<S::Ok, S::Error> {
    serde_json::value::to_raw_value(digest).map_err(S::Error::custom)?.serialize(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(active: usize, pages: &str) -> ResultKey {
        ResultKey {
            area: "memory".to_owned(),
            workload: "triad".to_owned(),
            quantity: "bandwidth".to_owned(),
            active,
            cpus: None,
            parameters: BTreeMap::from([("pages".to_owned(), pages.to_owned())]),
        }
    }

    fn digest() -> Digest {
        let result = |outcome| DigestResult {
            unit: Unit::BytePerSecond,
            better: Some(Better::More),
            outcome,
        };
        let measured = || Ok(Measured::of(&[1.9e10, 2e10, 2.1e10], 1e-3).unwrap());
        let reason = Unavailable::new(crate::Obstacle::Measurement, "result", "no time");
        let results = [
            (key(1, "4k"), result(measured())),
            (key(1, "2m"), result(measured())),
            (key(2, "4k"), result(Err(reason))),
        ];
        Digest {
            tool: Tool::this(),
            run: DigestRun {
                id: "1f".to_owned(),
                started: "2026-01-01T00:00:00Z".to_owned(),
                simulated: None,
                elsewhere: None,
                interrupted: None,
            },
            packages: 1,
            cores: 2,
            facts: vec![DigestFact {
                id: "cpu.brand".to_owned(),
                label: "CPU".to_owned(),
                text: None,
            }],
            results: results.into(),
        }
    }

    fn begun(digest: &Digest) -> String {
        format!(
            r#"{{"schema": "cpudyno.record/1", "digest": {}"#,
            serde_json::to_string(digest).unwrap()
        )
    }

    #[test]
    fn what_varies_is_kept_to_a_millionth() {
        assert_eq!(Measured::of(&[], 0.0), None);
        // 25 blocks in threes: 2, 5, ... 23 of 1 to 24, and the last one alone.
        let many: Vec<f64> = (1..=25).map(f64::from).collect();
        let kept = Measured::of(&many, 0.0).unwrap();
        assert_eq!((kept.median, kept.blocks().len()), (13.0, 9));
        assert_eq!((kept.blocks()[0].round(), kept.blocks()[8].round()), (2.0, 25.0));
        for blocks in [[3.3e-10, 3.351e-10, 3.3513e-10], [-0.25, 0.0, 1.5], [-3.0, -2.0, 1.0]] {
            let measured = Measured::of(&blocks, 0.0).unwrap();
            let near = |a: f64, b: f64| (a - b).abs() <= millionth(blocks[1]).abs() * 0.51;
            assert!(near(measured.median, blocks[1]));
            assert!(measured.blocks().iter().zip(blocks).all(|(a, b)| near(*a, b)));
            assert_eq!(measured.value().interval, None);
        }
        let blocks = [1.0, 2.0, 2.0, 2.0, 4.0];
        let interval = Measured::of(&blocks, 0.5).unwrap().value().interval;
        assert_eq!(interval, median_interval(&blocks).map(|[low, high]| [low * 0.5, high * 1.5]));
        assert!(interval.is_some());
    }

    #[test]
    fn what_is_skimmed_is_what_is_read() {
        let mut digest = digest();
        let key = digest.results.keys().next().unwrap().clone();
        let result = digest.results[&key].clone();
        // From no interval to more blocks than are expected; medians on both sides of zero.
        for (count, scale) in [(0, 1.0), (4, 1.0), (5, 1.0), (9, -1e-7), (32, 1e9), (40, 2.0)] {
            let blocks: Vec<i64> = (0..count).map(|it| (it * 7919) % 1000 - 300).collect();
            let measured = Measured { median: scale * 3.0, blocks_ppm: blocks, packing: 0.01 };
            let key = ResultKey { active: 100 + count as usize, ..key.clone() };
            digest.results.insert(key, DigestResult { outcome: Ok(measured), ..result.clone() });
        }
        let text = begun(&digest);
        let skim = Skim::read(&text).unwrap();
        let known = |it: &SkimResult<'_>| {
            let is_it = |(key, _): &(&ResultKey, &DigestResult)| {
                (&*key.area, &*key.workload, &*key.quantity, key.active)
                    == (it.area, it.workload, it.quantity, it.active)
                    && key.parameters.iter().map(|(a, b)| (&**a, &**b)).eq(it.parameters())
            };
            digest.results.iter().find(is_it).map(|it| it.1.outcome.as_ref().unwrap().value())
        };
        let read = digest.results.values().filter(|it| it.outcome.is_ok()).count();
        assert_eq!(skim.results().count(), read);
        assert!(skim.results().all(|it| known(&it).as_ref() == Some(&it.value)));
        assert!(skim.results().any(|it| it.value.interval.is_some()));
    }

    #[test]
    fn a_digest_is_read_from_a_record_s_beginning() {
        let digest = digest();
        let whole = begun(&digest);
        for rest in ["", ",", r#", "tool": {"name": "cpud"#, "}", "no JSON"] {
            assert_eq!(Digest::read(&format!("{whole}{rest}")).as_ref(), Some(&digest), "{rest}");
        }
        // Two results of one row, and one of another.
        assert_eq!(whole.matches("\"cells\"").count(), 2, "{whole}");
    }

    #[test]
    fn what_has_no_whole_digest_is_read_to_its_end_by_others() {
        let whole = begun(&digest());
        for cut in (0..whole.len()).filter_map(|end| whole.get(..end)) {
            assert_eq!(Digest::read(cut), None, "{cut}");
        }
        let other = whole.replace("cpudyno.record/1", "cpudyno.record/2");
        assert_eq!(Digest::read(&other), None);
        for text in ["[1]", r#"{"schema": "cpudyno.record/1", "tool": {}, "digest": 1}"#, "nothing"]
        {
            assert_eq!(Digest::read(text), None, "{text}");
        }
        let empty = whole.replace("\"median\":20000000000.0,", "");
        assert_ne!(empty, whole);
        assert_eq!(Digest::read(&empty), None);
    }
}
