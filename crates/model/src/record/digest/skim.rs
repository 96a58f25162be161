//! A digest whose texts stay where they were read: for whoever looks at ten thousand of them.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::tree::{Row, Tree};
use super::{DigestRun, ResultValue, millionth, widened};
use crate::quantity::Unit;
use crate::record::Tool;
use crate::stats::interval_places;
use crate::stats::paired::Better;

/// The same as a [`Digest`](super::Digest), without reasons for what is absent.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct Skim<'a> {
    /// The program that measured.
    pub tool: Tool,
    /// When, and of what.
    pub run: DigestRun,
    /// How many packages the machine has.
    pub packages: usize,
    /// How many cores it has.
    pub cores: usize,
    /// Facts, conditions and settings.
    pub facts: Vec<SkimFact<'a>>,
    results: Tree<Borrowed<'a>, SkimCell<'a>>,
}

/// Something that a machine says of itself.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct SkimFact<'a> {
    id: Borrowed<'a>,
    label: Borrowed<'a>,
    text: Option<Borrowed<'a>>,
}

impl SkimFact<'_> {
    /// The fact's id.
    pub fn id(&self) -> &str {
        &self.id.0
    }

    /// What people call it.
    pub fn label(&self) -> &str {
        &self.label.0
    }

    /// What it says, where that is known.
    pub fn text(&self) -> Option<&str> {
        self.text.as_ref().map(|text| &*text.0)
    }
}

/// A result that has a number.
pub struct SkimResult<'a> {
    /// The area.
    pub area: &'a str,
    /// The workload.
    pub workload: &'a str,
    /// The id of the quantity.
    pub quantity: &'a str,
    /// How many CPUs were active.
    pub active: usize,
    /// Which CPUs, where a record has several such sets.
    pub cpus: Option<&'a str>,
    /// How many blocks its number is of.
    pub blocks: usize,
    /// What its numbers count.
    pub unit: Unit,
    /// Which direction is better, where one is.
    pub better: Option<Better>,
    /// The number.
    pub value: ResultValue,
    row: &'a Row<Borrowed<'a>, SkimCell<'a>>,
}

impl SkimResult<'_> {
    /// What else tells it from others, by name.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        self.row.parameters.iter().map(|(name, value)| (&*name.0, &*value.0))
    }
}

impl<'a> Skim<'a> {
    /// The digest that a record begins with, as [`Digest::read`](super::Digest::read).
    #[inline]
    pub fn read(beginning: &'a str) -> Option<Skim<'a>> {
        super::begun(beginning)
    }

    /// The results that have a number.
    #[inline]
    pub fn results(&self) -> impl Iterator<Item = SkimResult<'_>> {
        let areas = self.results.areas.iter();
        let workloads = areas.flat_map(|(area, workloads)| {
            workloads.iter().map(move |(workload, all)| (&*area.0, &*workload.0, all))
        });
        let quantities = workloads.flat_map(|(area, workload, all)| {
            all.iter().map(move |(quantity, it)| (area, workload, &*quantity.0, it))
        });
        quantities.flat_map(|(area, workload, quantity, all)| {
            let cells = all.rows.iter().flat_map(|row| row.cells.iter().map(move |it| (row, it)));
            cells.filter_map(move |(row, cell)| {
                Some(SkimResult {
                    area,
                    workload,
                    quantity,
                    active: cell.active,
                    cpus: cell.cpus.as_ref().map(|cpus| &*cpus.0),
                    blocks: cell.blocks_ppm.count,
                    unit: all.unit,
                    better: all.better,
                    value: cell.value(all.packing)?,
                    row,
                })
            })
        })
    }
}

/// What is needed of a result with so many CPUs active.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct SkimCell<'a> {
    active: usize,
    #[serde(default)]
    cpus: Option<Borrowed<'a>>,
    #[serde(default)]
    median: Option<f64>,
    #[serde(default)]
    blocks_ppm: IntervalPpm,
}

impl SkimCell<'_> {
    /// As [`Measured::value`](super::Measured::value); `None` where there is no number.
    fn value(&self, packing: f64) -> Option<ResultValue> {
        let median = self.median?;
        let at = |ppm: i64| median + ppm as f64 * millionth(median);
        let ends = self.blocks_ppm.ends.map(|ends| ends.map(at));
        // Below zero the lowest block is the one that is most millionths above.
        let ends = ends.map(|[a, b]| if a <= b { [a, b] } else { [b, a] });
        Some(ResultValue { median, interval: widened(ends, packing) })
    }
}

/// The interval of the blocks' medians, in millionths from their median, and how many they are: no more is kept.
#[derive(Default)]
struct IntervalPpm {
    count: usize,
    ends: Option<[i64; 2]>,
}

impl<'de> Deserialize<'de> for IntervalPpm {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        /// Digests keep fewer blocks: memory for them is taken at once.
        const USUAL: usize = 32;
        // They are a third of a digest, and the text between brackets is read faster than an array is asked.
        let text = <&RawValue>::deserialize(from)?.get();
        let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        let inner = inner.ok_or_else(|| D::Error::custom("no array of millionths"))?.trim_ascii();
        let (mut usual, mut count, mut more) = ([0; USUAL], 0, Vec::new());
        for ppm in inner.split(',').filter(|_| !inner.is_empty()) {
            let ppm: i64 = ppm.trim_ascii().parse().map_err(D::Error::custom)?;
            match usual.get_mut(count) {
                Some(place) => *place = ppm,
                None => more.push(ppm),
            }
            count += 1;
        }
        let blocks = if more.is_empty() {
            &mut usual[..count]
        } else {
            more.extend(usual);
            &mut more
        };
        blocks.sort_unstable();
        let ends = interval_places(count);
        let ends = ends.map(|ends| ends.map(|place| blocks[place]));
        Ok(IntervalPpm { count, ends })
    }
}

/// A text of the record itself, as far as nothing in it is escaped.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Borrowed<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Borrowed<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Whole;

        impl<'de> Visitor<'de> for Whole {
            type Value = Cow<'de, str>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }
        }

        from.deserialize_str(Whole).map(Borrowed)
    }
}
