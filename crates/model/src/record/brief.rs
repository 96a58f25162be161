//! What is needed of a record to hold it against others: the machine, and each result block by block.
//!
//! A record is mostly samples. Of a thousand of them nobody wants to keep those, or even to read them:
//! here they are skipped, as text, unless a median has to be made of them.

mod plain;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use self::plain::Lists;
use super::read::{ReadError, judged};
use super::{Conditions, Fact, Outcome, Record, Series, SpeedSelect, Tool, Topology};
use crate::cpus::{CpuId, CpuSet};
use crate::quantity::Unit;
use crate::stats::{median, modes};
use crate::unavailable::Unavailable;

/// What is needed of a record to hold it against others.
#[derive(Debug, Clone)]
pub struct Brief {
    /// The program that measured.
    pub tool: Tool,
    /// When, and of what.
    pub run: BriefRun,
    /// The machine, as it describes itself.
    pub machine: BriefMachine,
    /// What could change between two runs.
    pub conditions: Conditions,
    /// Intel Speed Select.
    pub speed_select: Option<SpeedSelect>,
    /// The numbers that were wanted.
    pub series: Vec<BriefSeries>,
}

/// When a record was made, and of what.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BriefRun {
    /// Tells runs apart.
    #[serde(default)]
    pub id: String,
    /// When it began: RFC 3339, UTC.
    pub started: String,
    /// The simulated machine, where nothing was measured at all.
    #[serde(default)]
    pub simulated: Option<String>,
    /// Where the machine's answers come from, where it is not the one that the program ran on.
    #[serde(default)]
    pub elsewhere: Option<String>,
    /// Why it ended early.
    #[serde(default)]
    pub interrupted: Option<String>,
}

/// A machine, as it describes itself.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct BriefMachine {
    /// Facts that do not change while it runs.
    pub facts: Vec<Fact>,
    /// Who sits where.
    pub topology: Topology,
}

/// A series without its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct BriefSeries {
    /// The area that measured it.
    pub area: String,
    /// The workload.
    pub workload: String,
    /// What the numbers mean.
    pub quantity: String,
    /// Their unit.
    pub unit: Unit,
    /// What else tells it from its neighbours.
    pub parameters: BTreeMap<String, String>,
    /// The CPU that the numbers belong to.
    pub cpu: CpuId,
    /// All CPUs that were active at the time.
    pub active: CpuSet,
    /// How the host placed them.
    pub placement_class: Option<String>,
    /// The numbers, or why there are none.
    pub outcome: Result<Blocks, Unavailable>,
}

/// What is left of samples.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Blocks {
    /// How many samples there were.
    pub count: u64,
    /// The number of each block that has samples, and its median.
    pub medians: Vec<(u64, f64)>,
    /// Of samples of a bandwidth that fall into several modes, the median of each: no one number is right
    /// for them.
    pub modes: Vec<f64>,
}

/// Whether samples of that unit are asked for modes. Other quantities are told by their distribution.
fn has_modes(unit: Unit) -> bool {
    unit == Unit::BytePerSecond
}

fn modes_of(samples: &[f64]) -> Vec<f64> {
    let several = modes::several(samples).unwrap_or_default();
    several.iter().map(|mode| mode.median).collect()
}

/// Which quantities of which areas are wanted.
pub type Wanted<'a> = &'a dyn Fn(&str, &str) -> bool;

impl Brief {
    /// What is needed of a record at hand.
    pub fn of(record: &Record, wanted: Wanted<'_>) -> Brief {
        let series = record.series.iter().filter(|series| wanted(&series.area, &series.quantity));
        Brief {
            tool: record.tool.clone(),
            run: BriefRun {
                id: record.run.id.clone(),
                started: record.run.started.clone(),
                simulated: record.run.simulated.clone(),
                elsewhere: record.run.elsewhere.clone(),
                interrupted: record.run.interrupted.clone(),
            },
            machine: BriefMachine {
                facts: record.machine.facts.clone(),
                topology: record.machine.topology.clone(),
            },
            conditions: record.conditions.clone(),
            speed_select: record.speed_select.clone(),
            series: series.map(BriefSeries::of).collect(),
        }
    }

    /// Reads it out of a record of the same major schema. What is skipped has to be JSON, and is not
    /// looked at otherwise: [`read`](super::read) does that. `spare` is room, which is used again for the
    /// next of many records.
    pub fn read(text: &str, spare: &mut String, wanted: Wanted<'_>) -> Result<Brief, ReadError> {
        let cut = plain::cut(text, spare);
        let rest = if cut.is_some() { &**spare } else { text };
        let plain = &cut.unwrap_or_default();
        let mut parser = serde_json::Deserializer::from_str(rest);
        let parts = Parts(Asked { wanted, plain }).deserialize(&mut parser).and_then(|parts| {
            parser.end()?;
            Ok(parts)
        });
        let parts = match parts {
            Ok(parts) => parts,
            // Whether it is no JSON, no record, or a broken one is said by who reads all of it.
            Err(error) => return Err(super::read(text).err().unwrap_or(ReadError::Broken(error))),
        };
        judged(parts.schema)?;
        let missing = |field| ReadError::Broken(serde_json::Error::missing_field(field));
        Ok(Brief {
            tool: parts.tool.ok_or_else(|| missing("tool"))?,
            run: parts.run.ok_or_else(|| missing("run"))?,
            machine: parts.machine.ok_or_else(|| missing("machine"))?,
            conditions: parts.conditions.ok_or_else(|| missing("conditions"))?,
            speed_select: parts.speed_select,
            series: parts.series.ok_or_else(|| missing("series"))?,
        })
    }

    /// Facts, then conditions as they were first.
    pub fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.machine.facts.iter().chain(&self.conditions.before)
    }
}

impl BriefSeries {
    fn of(series: &Series) -> BriefSeries {
        let outcome = match &series.outcome {
            Outcome::Unavailable { unavailable } => Err(unavailable.clone()),
            Outcome::Measured { samples, summary } => {
                let modes =
                    if has_modes(series.unit) { modes_of(&samples.all()) } else { Vec::new() };
                Ok(Blocks { count: summary.count, medians: samples.numbered_medians(), modes })
            }
        };
        BriefSeries {
            area: series.area.clone(),
            workload: series.workload.clone(),
            quantity: series.quantity.clone(),
            unit: series.unit,
            parameters: series.parameters.clone(),
            cpu: series.cpu,
            active: series.active.clone(),
            placement_class: series.placement_class.clone(),
            outcome,
        }
    }
}

/// What is asked of a record, and its plain samples, where they are taken out of its text.
#[derive(Clone, Copy)]
struct Asked<'a> {
    wanted: Wanted<'a>,
    plain: &'a Lists<'a>,
}

/// What was found of a record so far.
#[derive(Default)]
struct Found {
    schema: Option<String>,
    tool: Option<Tool>,
    run: Option<BriefRun>,
    machine: Option<BriefMachine>,
    conditions: Option<Conditions>,
    speed_select: Option<SpeedSelect>,
    series: Option<Vec<BriefSeries>>,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Part {
    Schema,
    Tool,
    Run,
    Machine,
    Conditions,
    SpeedSelect,
    Series,
    #[serde(other)]
    Other,
}

struct Parts<'a>(Asked<'a>);

impl<'de> DeserializeSeed<'de> for Parts<'_> {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Found, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Parts<'_> {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found, A::Error> {
        let mut found = Found::default();
        while let Some(part) = map.next_key()? {
            match part {
                Part::Schema => found.schema = map.next_value()?,
                Part::Tool => found.tool = map.next_value()?,
                Part::Run => found.run = map.next_value()?,
                Part::Machine => found.machine = map.next_value()?,
                Part::Conditions => found.conditions = map.next_value()?,
                Part::SpeedSelect => found.speed_select = map.next_value()?,
                Part::Series => found.series = Some(map.next_value_seed(All(self.0))?),
                Part::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

/// The series of a record, those that are wanted.
struct All<'a>(Asked<'a>);

impl<'de> DeserializeSeed<'de> for All<'_> {
    type Value = Vec<BriefSeries>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for All<'_> {
    type Value = Vec<BriefSeries>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of series")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = list.next_element_seed(One(self.0))? {
            all.extend(one);
        }
        Ok(all)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Field {
    Area,
    Workload,
    Quantity,
    Unit,
    Parameters,
    Cpu,
    Active,
    PlacementClass,
    Unavailable,
    Samples,
    Summary,
    #[serde(other)]
    Other,
}

/// How many samples there were.
#[derive(Deserialize)]
struct Count {
    count: u64,
}

/// A name, which is copied where it is wanted.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

struct One<'a>(Asked<'a>);

impl<'de> DeserializeSeed<'de> for One<'_> {
    type Value = Option<BriefSeries>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for One<'_> {
    type Value = Option<BriefSeries>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a series")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut area, mut workload, mut quantity) = (None, None, None);
        let (mut unit, mut cpu, mut active) = (None, None, None);
        let (mut parameters, mut placement_class) = (BTreeMap::new(), None);
        let (mut unavailable, mut samples, mut count) = (None, None, None);
        while let Some(field) = map.next_key()? {
            match field {
                Field::Area => area = Some(map.next_value::<Name<'de>>()?.0),
                Field::Workload => workload = Some(map.next_value::<Name<'de>>()?.0),
                Field::Quantity => quantity = Some(map.next_value::<Name<'de>>()?.0),
                Field::Unit => unit = Some(map.next_value()?),
                Field::Parameters => parameters = map.next_value()?,
                Field::Cpu => cpu = Some(map.next_value()?),
                Field::Active => active = Some(map.next_value()?),
                Field::PlacementClass => placement_class = map.next_value()?,
                Field::Unavailable => unavailable = Some(map.next_value()?),
                Field::Samples => {
                    // Fields may come in any order.
                    let modes = unit.is_none_or(has_modes);
                    samples = Some(map.next_value_seed(Samples { modes, plain: self.0.plain })?);
                }
                Field::Summary => count = Some(map.next_value::<Count>()?.count),
                Field::Other => drop(map.next_value::<IgnoredAny>()?),
            }
            if let (Some(area), Some(quantity)) = (&area, &quantity)
                && !(self.0.wanted)(area, quantity)
            {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                return Ok(None);
            }
        }
        let missing = A::Error::missing_field;
        let outcome = match (unavailable, samples) {
            (Some(unavailable), _) => Err(unavailable),
            (None, Some((medians, mut modes))) => {
                if !unit.is_some_and(has_modes) {
                    modes.clear();
                }
                Ok(Blocks { medians, modes, count: count.ok_or_else(|| missing("summary"))? })
            }
            (None, None) => return Err(missing("samples")),
        };
        let named = |name: Option<Cow<'de, str>>, what| {
            name.map(Cow::into_owned).ok_or_else(|| missing(what))
        };
        Ok(Some(BriefSeries {
            area: named(area, "area")?,
            workload: named(workload, "workload")?,
            quantity: named(quantity, "quantity")?,
            unit: unit.ok_or_else(|| missing("unit"))?,
            parameters,
            cpu: cpu.ok_or_else(|| missing("cpu"))?,
            active: active.ok_or_else(|| missing("active"))?,
            placement_class,
            outcome,
        }))
    }
}

/// The median of each block, whether samples are plain or packed; and modes, of plain ones that are asked
/// for them.
struct Samples<'a> {
    modes: bool,
    plain: &'a Lists<'a>,
}

/// Numbered medians of blocks, and medians of modes.
type Middles = (Vec<(u64, f64)>, Vec<f64>);

impl<'de> DeserializeSeed<'de> for Samples<'_> {
    type Value = Middles;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Samples<'_> {
    type Value = Middles;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("samples, block by block or packed")
    }

    fn visit_u64<E: serde::de::Error>(self, list: u64) -> Result<Self::Value, E> {
        let list = self.plain.get(list as usize);
        let list = list.ok_or_else(|| E::custom("samples are no number"))?;
        let (mut medians, mut all) = (Vec::with_capacity(list.len()), Vec::new());
        for (number, block) in (0..).zip(list) {
            if !self.modes {
                all.clear();
            }
            let begin = all.len();
            let read = plain::numbers(block, &mut all);
            read.ok_or_else(|| E::custom("a sample is no number"))?;
            medians.extend(median(&all[begin..]).map(|median| (number, median)));
        }
        Ok((medians, if self.modes { modes_of(&all) } else { Vec::new() }))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<Self::Value, A::Error> {
        let (mut medians, mut all, mut number) = (Vec::new(), Vec::new(), 0);
        while let Some(block) = blocks.next_element::<Vec<f64>>()? {
            medians.extend(median(&block).map(|median| (number, median)));
            number += 1;
            if self.modes {
                all.extend(block);
            }
        }
        Ok((medians, modes_of(&all)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut medians = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == "block_medians" {
                medians = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        let medians = medians.ok_or_else(|| A::Error::missing_field("block_medians"))?;
        Ok((medians, Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = r#"{"schema": "cpudyno.record/1",
        "tool": {"name": "cpudyno", "version": "0", "target": "x"},
        "run": {"started": "2026-01-01T00:00:00Z", "later": [1, 2]},
        "machine": {"facts": [], "topology": {"cpus": [], "caches": [], "nodes": [], "online": "",
            "present": "", "usable": "", "isolated": ""}},
        "conditions": {"before": [], "after": []},
        "unknown": {"of": "a later version"}"#;

    fn read(series: &str) -> Result<Brief, ReadError> {
        let text = format!("{HEAD}, \"series\": [{series}]}}");
        Brief::read(&text, &mut String::new(), &|area, quantity| {
            area == "turbo" && quantity == "clock"
        })
    }

    fn series(quantity: &str, samples: &str) -> String {
        format!(
            "{{\"area\": \"turbo\", \"workload\": \"it\", \"quantity\": \"{quantity}\", \"unit\": \"Hz\", \
             \"cpu\": 0, \"active\": \"0\", {samples}}}"
        )
    }

    #[test]
    fn blocks_are_kept_and_samples_are_not() {
        let summary = r#""summary": {"count": 3, "what else": 1}"#;
        let plain = format!(r#""samples": [[1.0, 2.0, 9.0], [], [4.0]], {summary}"#);
        let packed = format!(
            r#""samples": {{"step": 1.0, "packed": [[1, 3]], "block_medians": [[0, 1.5]]}}, {summary}"#
        );
        let found = read(
            &[
                series("clock", &plain),
                series("clock", &packed),
                series("other", r#""samples": "whatever it is""#),
            ]
            .join(","),
        )
        .unwrap();
        let blocks: Vec<&Blocks> =
            found.series.iter().map(|series| series.outcome.as_ref().unwrap()).collect();
        assert_eq!(blocks[0].medians, [(0, 2.0), (2, 4.0)]);
        assert_eq!(blocks[1].medians, [(0, 1.5)]);
        assert_eq!((blocks.len(), blocks[0].count), (2, 3));
    }

    /// One text is cut, the other is not, because of what follows its samples.
    #[test]
    fn samples_that_are_stepped_over_are_those_that_are_parsed() {
        let summary = r#""summary": {"count": 3}"#;
        let plain = format!(r#""samples": [[2.5e9, 1e-7, 0.1], [ ], [3, 4 , 7.25]], {summary}"#);
        let text =
            |more: &str| format!("{HEAD}, {more} \"series\": [{}]}}", series("clock", &plain));
        let [cut, whole] = [text(""), text(r#""samples": 1,"#)];
        let is_cut = |text: &str| plain::cut(text, &mut String::new()).is_some();
        assert!(is_cut(&cut) && !is_cut(&whole));
        // As of the record before: nothing of that is left.
        let mut spare = "[".to_owned();
        let mut of = |text: &str| {
            let brief = Brief::read(text, &mut spare, &|_, _| true).unwrap();
            brief.series[0].outcome.clone().unwrap()
        };
        assert_eq!(of(&cut), of(&whole));
        assert_eq!(of(&cut).medians, [(0, 0.1), (2, 4.0)]);
        let damaged = cut.replace("1e-7", "1e-7e");
        let damaged = Brief::read(&damaged, &mut spare, &|_, _| true);
        assert!(matches!(damaged, Err(ReadError::Json(_))));
    }

    #[test]
    fn reasons_are_kept_too() {
        let why = r#""unavailable": {"what": "it", "why": "no time", "obstacle": "measurement"}"#;
        let found = read(&series("clock", why)).unwrap();
        assert_eq!(found.series[0].outcome.as_ref().unwrap_err().why, "no time");
    }

    #[test]
    fn what_is_no_record_is_refused_as_by_who_reads_all() {
        assert!(matches!(read("{"), Err(ReadError::Json(_))));
        assert!(matches!(read(&series("clock", "\"cut\": 1")), Err(ReadError::Broken(_))));
        let brief = |text: &str| Brief::read(text, &mut String::new(), &|_, _| true).err().unwrap();
        assert!(matches!(brief("{}"), ReadError::NoSchema));
        assert!(matches!(brief("[1]"), ReadError::NoSchema | ReadError::Broken(_)));
        assert!(matches!(brief(r#"{"schema": "else/1"}"#), ReadError::Foreign(_)));
        assert!(matches!(brief(r#"{"schema": "cpudyno.record/9"}"#), ReadError::OtherMajor(_)));
        assert!(matches!(brief(r#"{"schema": "cpudyno.record/1"}"#), ReadError::Broken(_)));
        assert!(matches!(brief(""), ReadError::Json(_)));
    }
}
