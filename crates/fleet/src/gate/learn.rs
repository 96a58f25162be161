//! Bounds from records of good machines, as a file that people read and edit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use model::Unit;
use model::areas;
use model::page::si;
use model::record::{Bound, BoundKind, Digest, Record, ResultKey};
use model::stats::paired::Better;
use report::reference::COUNT_MIN;
use serde::Deserialize;

use super::bounds::bounded;
use crate::digest;
use crate::reference::{MachineKind, place};

/// Bounds in a file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoundsFile {
    /// What a machine has to say of itself to be judged by them: labels and values.
    #[serde(default)]
    pub machine: BTreeMap<String, String>,
    /// The bounds, as they are typed.
    #[serde(default, rename = "bound")]
    pub bounds: Vec<BoundRow>,
}

/// One result and its bounds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoundRow {
    /// The result: `memory.triad@64`.
    pub name: String,
    /// The least that passes, with its unit.
    pub min: Option<String>,
    /// The most that passes.
    pub max: Option<String>,
}

impl BoundsFile {
    /// Reads a file.
    ///
    /// # Errors
    /// What it is that is no such file, with the line.
    pub fn read(text: &str) -> Result<BoundsFile, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// Why a machine cannot be judged by them.
    pub fn unfit(&self, record: &Record) -> Option<String> {
        let here = MachineKind::of(&digest::at_hand(record));
        let other = self.machine.iter().find_map(|(label, wanted)| {
            let found = here.said(label);
            (found != Some(wanted)).then(|| (label, wanted, found.unwrap_or("unknown")))
        });
        other.map(|(label, wanted, found)| {
            format!("the bounds are of other machines: {label} `{wanted}`, here `{found}`")
        })
    }
}

/// Why nothing could be learned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NothingLearned {
    /// Not enough records to say what is usual.
    #[error("{0} records of one kind of machine are too few: {COUNT_MIN} are needed")]
    TooFew(usize),
    /// Several kinds.
    #[error("the records are of {} kinds of machines: {}", .0.len(), .0.join("; "))]
    Kinds(Vec<String>),
}

/// A result of which there are numbers in all records.
struct Learned {
    bound: Bound,
    values: Vec<f64>,
}

/// Writes the bounds of what these records say; `is_name` tells what can be bounded.
///
/// # Errors
/// Where they are too few, or of several kinds of machines.
pub fn learn(digests: &[Digest], is_name: impl Fn(&str) -> bool) -> Result<String, NothingLearned> {
    let kinds: BTreeSet<MachineKind> = digests.iter().map(MachineKind::of).collect();
    if kinds.len() > 1 {
        return Err(NothingLearned::Kinds(kinds.iter().map(MachineKind::in_words).collect()));
    }
    let runs: BTreeMap<(&str, &str), &Digest> = digests
        .iter()
        .map(|digest| ((digest.run.id.as_str(), digest.run.started.as_str()), digest))
        .collect();
    let digests: Vec<&Digest> = runs.into_values().collect();
    let (Some(kind), COUNT_MIN..) = (kinds.first(), digests.len()) else {
        return Err(NothingLearned::TooFew(digests.len()));
    };
    let learned = names(&digests).into_iter().filter(|bound| is_name(&bound.name));
    let learned = learned.map(|bound| {
        let of =
            |digest: &&Digest| bounded(&bound, &digest.results).outcome.value().map(|it| it.value);
        Learned { values: digests.iter().filter_map(of).collect(), bound }
    });
    Ok(header(kind, &digests) + &learned.filter_map(|learned| row(&learned)).collect::<String>())
}

/// What is judged, with one core and with most.
fn names(digests: &[&Digest]) -> Vec<Bound> {
    type Name<'a> = (&'a str, &'a str, &'a str);
    let mut actives: BTreeMap<Name<'_>, (BTreeSet<usize>, Unit, Better)> = BTreeMap::new();
    let results = digests.iter().flat_map(|digest| &digest.results);
    for (what, result) in results {
        let ResultKey { area, workload, quantity, active, .. } = what;
        if let (Some(better), true) =
            (result.better, areas::judged(area).any(|it| it.id == quantity))
        {
            let name = (area.as_str(), workload.as_str(), quantity.as_str());
            let known =
                actives.entry(name).or_insert_with(|| (BTreeSet::new(), result.unit, better));
            known.0.insert(*active);
        }
    }
    let mut bounds = Vec::new();
    for ((area, workload, quantity), (counts, unit, better)) in actives {
        let Some(of) = areas::judged(area).find(|it| it.id == quantity) else { continue };
        let Some(area) = areas::ids().find(|id| *id == area) else { continue };
        let ends: BTreeSet<usize> =
            [counts.first(), counts.last()].into_iter().flatten().copied().collect();
        bounds.extend(ends.into_iter().map(|active| Bound {
            name: format!("{area}.{workload}.{quantity}@{active}"),
            kind: if better == Better::More { BoundKind::Min } else { BoundKind::Max },
            limit: 0.0,
            unit,
            area,
            quantity: of.id,
            workload: Some(workload.to_owned()),
            cores: Some(active),
            is_needed: false,
        }));
    }
    bounds
}

fn header(kind: &MachineKind, digests: &[&Digest]) -> String {
    let mut begins: Vec<&str> = digests.iter().map(|it| it.run.started.as_str()).collect();
    begins.sort_unstable();
    let day = |at: Option<&&str>| at.and_then(|it| it.get(..10)).unwrap_or("?").to_owned();
    let (first, last) = (day(begins.first()), day(begins.last()));
    let mut text = format!(
        "# Bounds for `cpudyno gate --bounds FILE`, of {} records from {first} to {last}.\n\
         # A result beyond its bound fails the machine; one that was not measured is named, and does not.\n\
         # Each bound lies half as far again from the median as one good machine in ten thousand would, and at least\n\
         # 3 % from it. Edit them, delete rows, add your own.\n\n\
         # Only machines that say this of themselves are judged.\n[machine]\n",
        digests.len()
    );
    for (label, value) in kind.rows() {
        // TOML's strings are written as JSON's are, and keys may be strings.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let _ = writeln!(text, "{} = {}", quoted(label), quoted(value));
    }
    text
}

/// A file has a bound for each of some fifty results, and one that fails drains the machine: with each at one in ten
/// thousand, one good machine in two hundred would be.
const WIDER: f64 = 1.5;
/// Machines differ from each other by more than runs of one do.
const APART_MIN: f64 = 0.03;

/// Four digits, rounded to the side on which more machines pass.
fn outward(value: f64, round: fn(f64) -> f64) -> f64 {
    let scale = 10f64.powf(3.0 - value.abs().log10().floor());
    if scale.is_finite() && scale > 0.0 { round(value * scale) / scale } else { value }
}

/// A bound where enough records have the result, with what they say.
fn row(learned: &Learned) -> Option<String> {
    let Learned { bound, values } = learned;
    let place = place(*values.first()?, values.clone())?;
    let middle = place.quartiles[2];
    let reach = (WIDER * (place.limits[1] - middle)).max(APART_MIN * middle.abs());
    let (word, limit) = match bound.kind {
        BoundKind::Min => ("min", outward(middle - reach, f64::floor)),
        BoundKind::Max => ("max", outward(middle + reach, f64::ceil)),
    };
    // Of numbers that scatter that far nothing is too little.
    if limit <= 0.0 {
        return None;
    }
    let beyond = values.iter().filter(|value| match bound.kind {
        BoundKind::Min => **value < limit,
        BoundKind::Max => **value > limit,
    });
    let beyond = match beyond.count() {
        0 => String::new(),
        count => format!("; {count} beyond it"),
    };
    let [low, middle, high] = [0, 2, 4].map(|at| si::format(place.quartiles[at], bound.unit));
    let value = typed(limit, bound.unit);
    Some(format!(
        "\n[[bound]]\nname = \"{}\"\n{word} = \"{value}\"  # median {middle}, {low} to {high}, of {}{beyond}\n",
        bound.name,
        values.len(),
    ))
}

/// As bounds are typed: with the unit of the result.
fn typed(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Cycle | Unit::CyclePerOp => format!("{value} cycles"),
        Unit::Hertz | Unit::Second | Unit::SecondPerOp | Unit::BytePerSecond => {
            si::format(value, unit)
        }
        _ => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, say, series};

    /// A record of triad in GB/s and of a chase in ns.
    fn record(number: usize, triad: f64, chase: f64) -> Record {
        of_brand("A \"CPU\"", number, triad, chase)
    }

    fn of_brand(brand: &str, number: usize, triad: f64, chase: f64) -> Record {
        let mut record = blank();
        record.run.id = format!("run{number}");
        say(&mut record, "cpu.brand", brand);
        record.series = vec![
            series(["memory", "triad", "bandwidth"], "0", &[], &[&[triad / 3.0 * 1e9]]),
            series(["memory", "triad", "bandwidth"], "0-3", &[], &[&[triad * 1e9]]),
            series(["memory", "chase", "latency"], "0", &[], &[&[chase * 1e-9]]),
        ];
        record
    }

    fn digests(count: usize) -> Vec<Digest> {
        (0..count).map(|at| digest::of(&record(at, 100.0 + 0.1 * (at % 5) as f64, 90.0))).collect()
    }

    #[test]
    fn what_is_learned_is_a_file_of_bounds_that_good_machines_keep() {
        let text = learn(&digests(10), |_| true).unwrap();
        let file = BoundsFile::read(&text).unwrap();
        let names: Vec<&str> = file.bounds.iter().map(|row| row.name.as_str()).collect();
        let expected =
            ["memory.chase.latency@1", "memory.triad.bandwidth@1", "memory.triad.bandwidth@4"];
        assert_eq!(names, expected);
        let all = &file.bounds[2];
        // Median 100.2, median distance from it 0.1: 1.5 x 0.1 x 1.4826 x 14.5 = 3.225 GB/s below.
        assert_eq!((all.min.as_deref(), all.max.as_deref()), (Some("96.97 GB/s"), None));
        assert!(file.bounds[0].max.is_some() && file.bounds[0].min.is_none());
        assert!(text.contains("# median 100.2 GB/s, 100.0 GB/s to 100.4 GB/s, of 10\n"), "{text}");
        assert_eq!(file.machine["CPU"], "A \"CPU\"");
        assert_eq!(file.unfit(&record(0, 1.0, 1.0)), None);
        let other = of_brand("B", 0, 1.0, 1.0);
        assert!(file.unfit(&other).unwrap().contains("CPU `A \"CPU\"`, here `B`"));
    }

    #[test]
    fn few_records_and_several_kinds_teach_nothing() {
        let twice = [digests(7), digests(7)].concat();
        assert_eq!(learn(&twice, |_| true), Err(NothingLearned::TooFew(7)));
        let mut mixed = digests(8);
        let other = of_brand("B", 9, 1.0, 1.0);
        mixed.push(digest::of(&other));
        let kinds = learn(&mixed, |_| true).unwrap_err();
        assert!(
            kinds.to_string().starts_with("the records are of 2 kinds of machines: "),
            "{kinds}"
        );
        assert_eq!(learn(&[], |_| true), Err(NothingLearned::TooFew(0)));
    }

    #[test]
    fn what_is_no_file_of_bounds_says_why() {
        for (text, why) in [
            ("bounds = 3", "unknown field"),
            ("[[bound]]\nmin = \"1GB/s\"", "missing field `name`"),
            ("[[bound]]\nname = \"a\"\nmim = \"1GB/s\"", "unknown field `mim`"),
            ("[[bound]", "expected"),
        ] {
            let error = BoundsFile::read(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn bounds_are_rounded_so_that_more_machines_pass() {
        for (value, floor, ceil) in
            [(0.505_4, 0.505_4, 0.505_4), (96.9749, 96.97, 96.98), (1.23456e9, 1.234e9, 1.235e9)]
        {
            let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
            close(outward(value, f64::floor), floor);
            close(outward(value, f64::ceil), ceil);
        }
    }
}
