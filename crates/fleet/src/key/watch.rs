//! How much a machine varies, by keys that were taken one after the other.

use model::Known;
use model::page::{Block, Table, Text, Tone, si, tally};
use model::record::{KeyNumber, MachineKey, PairClass};
use model::stats::quantile;

use super::compare::NEEDED;
use super::id;

/// How steady a machine is; the worst of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// Differences of a few per cent can be seen.
    Steady,
    /// Differences of a fifth can be seen.
    Fair,
    /// A single run says little.
    Unsteady,
}

impl Grade {
    /// The word.
    pub const fn word(self) -> &'static str {
        match self {
            Grade::Steady => "steady",
            Grade::Fair => "fair",
            Grade::Unsteady => "unsteady",
        }
    }
}

/// What is graded: a number, and up to which spread it is steady, and fair.
struct GradedNumber {
    id: &'static str,
    label: &'static str,
    limits: [f64; 2],
    /// Whether limits are of the number itself, not of its spread.
    is_of_value: bool,
}

/// A spread is the 95th percentile over the 5th, less one. Limits are those between which results of benchmarks differ
/// by as much as the spread: a clock by its share, memory by about a third of it.
const ROWS: &[GradedNumber] = &[
    GradedNumber { id: id::CLOCK, label: "clock", limits: [0.02, 0.05], is_of_value: false },
    GradedNumber {
        id: id::READ,
        label: "reads of one core",
        limits: [0.10, 0.25],
        is_of_value: false,
    },
    GradedNumber {
        id: id::MEMORY,
        label: "latency of memory",
        limits: [0.10, 0.25],
        is_of_value: false,
    },
    GradedNumber {
        id: id::USABLE,
        label: "usable last-level cache",
        limits: [0.25, 0.60],
        is_of_value: false,
    },
    GradedNumber { id: id::LOST, label: "lost time", limits: [0.005, 0.02], is_of_value: true },
];

/// Fewer keys have no percentiles.
const KEYS_MIN: usize = 5;

/// What keys say of a row.
struct Variation {
    row: &'static GradedNumber,
    quantiles: [f64; 3],
    unit: model::Unit,
    spread: f64,
    grade: Grade,
}

fn spread(row: &'static GradedNumber, keys: &[MachineKey]) -> Option<Variation> {
    let numbers = keys.iter().filter_map(|key| key.numbers.get(row.id).and_then(Known::value));
    let numbers: Vec<KeyNumber> = numbers.copied().collect();
    let values: Vec<f64> = numbers.iter().map(|number| number.value).collect();
    if values.len() < KEYS_MIN {
        return None;
    }
    let [low, middle, high] = [0.05, 0.5, 0.95].map(|q| quantile(&values, q));
    let quantiles = [low?, middle?, high?];
    let spread = if row.is_of_value { quantiles[2] } else { quantiles[2] / quantiles[0] - 1.0 };
    let [steady, fair] = row.limits;
    let grade = match spread {
        spread if spread <= steady => Grade::Steady,
        spread if spread <= fair => Grade::Fair,
        _ => Grade::Unsteady,
    };
    Some(Variation { row, quantiles, unit: numbers[0].unit, spread, grade })
}

/// How steady the machine of these keys is; none of fewer than five, nor without clock and memory.
pub fn grade(keys: &[MachineKey]) -> Option<Grade> {
    let lacking = lacking(keys);
    let is_lacking = |row: &GradedNumber| NEEDED.contains(&row.id);
    if lacking.into_iter().any(is_lacking) {
        return None;
    }
    ROWS.iter().filter_map(|row| Some(spread(row, keys)?.grade)).max()
}

/// Rows of which too few keys have a number.
fn lacking(keys: &[MachineKey]) -> Vec<&'static GradedNumber> {
    ROWS.iter().filter(|row| spread(row, keys).is_none()).collect()
}

/// How often pairs of CPUs lay to each other how, where that changed.
fn moves(keys: &[MachineKey]) -> Vec<String> {
    let Some(first) = keys.first() else { return Vec::new() };
    let of = |between: &String| {
        let classes: Vec<PairClass> =
            keys.iter().filter_map(|key| key.pairs.get(between)?.class.value().copied()).collect();
        let moved = classes.windows(2).filter(|pair| pair[0] != pair[1]).count();
        (moved > 0).then(|| {
            let apart = classes.iter().filter(|class| **class == PairClass::Apart).count();
            format!(
                "CPUs that the kernel calls {between} changed their place {}; they were apart in {apart} of {}.",
                tally(moved, "time"),
                tally(classes.len(), "key")
            )
        })
    };
    first.pairs.keys().filter_map(of).collect()
}

/// Who takes what varies, in words.
fn meter(keys: &[MachineKey], spreads: &[Variation]) -> Vec<String> {
    let of = |id: &str| spreads.iter().find(|spread| spread.row.id == id);
    let mut told = Vec::new();
    if let Some(Variation { quantiles: [_, middle, high], .. }) = of(id::LOST) {
        told.push(format!(
            "Others take {} of the time of busy threads, and {} in the worst twentieth.",
            si::format(*middle, model::Unit::One),
            si::format(*high, model::Unit::One)
        ));
    }
    let claimed = keys.first().and_then(|key| key.numbers.get(id::CLAIMED)?.value().copied());
    if let (Some(Variation { quantiles: [low, _, high], unit, grade, .. }), Some(claimed)) =
        (of(id::USABLE), claimed)
    {
        // What is always the same may be the hypervisor's share, or how the cache replaces its lines.
        let who = if *grade == Grade::Steady { "Usable are" } else { "Neighbours leave" };
        told.push(format!(
            "{who} {} to {} of a last-level cache of {}.",
            si::format(*low, *unit),
            si::format(*high, *unit),
            si::format(claimed.value, claimed.unit)
        ));
    }
    told.extend(moves(keys));
    told
}

/// What keys of a machine say of how steady it is.
pub(super) fn blocks(keys: &[MachineKey]) -> Vec<Block> {
    if keys.is_empty() {
        return Vec::new();
    }
    let heading = Block::Heading(format!("How much it varies, by {}", tally(keys.len(), "key")));
    let spreads: Vec<Variation> = ROWS.iter().filter_map(|row| spread(row, keys)).collect();
    let lacking: Vec<&str> = lacking(keys).into_iter().map(|row| row.label).collect();
    let Some(grade) = grade(keys) else {
        let text = format!(
            "Nothing is graded: fewer than {KEYS_MIN} keys have a number of {}.",
            lacking.join(", ")
        );
        return vec![heading, Block::Paragraph(Text::toned(text, Tone::Faint))];
    };
    let tone = |grade| match grade {
        Grade::Steady => Tone::Good,
        Grade::Fair => Tone::Plain,
        Grade::Unsteady => Tone::Warning,
    };
    let limit = |row: &GradedNumber| {
        let [steady, fair] = row.limits.map(|limit| format!("{} %", limit * 100.0));
        format!("{steady}, {fair}")
    };
    let row = |it: &Variation| {
        let [low, middle, high] = it.quantiles.map(|value| si::format(value, it.unit));
        vec![
            it.row.label.into(),
            low.into(),
            middle.into(),
            high.into(),
            format!("{:.1} %", it.spread * 100.0).into(),
            limit(it.row).into(),
            Text::toned(it.grade.word(), tone(it.grade)),
        ]
    };
    let table = Table::of("What varies")
        .left("what")
        .right("p5")
        .right("median")
        .right("p95")
        .right("p95 / p5")
        .right("steady, fair up to")
        .left("grade")
        .rows(spreads.iter().map(row))
        .legend(["lost time: its p95"]);
    let badge = Block::Badge {
        label: "Grade".to_owned(),
        grade: Text::toned(grade.word(), tone(grade)),
        reasons: match lacking.as_slice() {
            [] => "The worst of its rows".to_owned(),
            _ => format!("The worst of its rows, without {}", lacking.join(", ")),
        },
    };
    let told = meter(keys, &spreads).into_iter().map(Text::from);
    vec![heading, badge, table.into(), Block::List(told.collect())]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::Unit;
    use model::record::KEY_SCHEMA;

    use super::*;

    /// Keys of a machine with these clocks, and with a memory that is always the same.
    fn keys(clocks: &[f64]) -> Vec<MachineKey> {
        let number = |id: &str, value: f64, unit: Unit| {
            (id.to_owned(), Known::Yes(KeyNumber { value, unit, interval: None }))
        };
        let key = |clock: &f64| MachineKey {
            schema: KEY_SCHEMA.to_owned(),
            line: String::new(),
            started: String::new(),
            simulated: None,
            claims: BTreeMap::new(),
            numbers: BTreeMap::from([
                number(id::CLOCK, *clock, Unit::Hertz),
                number(id::MEMORY, 1e-7, Unit::Second),
                number(id::CLAIMED, 32e6, Unit::Byte),
                number(id::USABLE, 8e6, Unit::Byte),
            ]),
            pairs: BTreeMap::new(),
            behaves_like: Known::Yes(Vec::new()),
        };
        clocks.iter().map(key).collect()
    }

    #[test]
    fn a_grade_is_that_of_the_spread() {
        let of = |step: f64| {
            let clocks: Vec<f64> = (0..21).map(|at| 4e9 * (1.0 + step * f64::from(at))).collect();
            grade(&keys(&clocks))
        };
        // From the second to the twentieth of 21: eighteen steps.
        assert_eq!(of(0.001), Some(Grade::Steady));
        assert_eq!(of(0.002), Some(Grade::Fair));
        assert_eq!(of(0.004), Some(Grade::Unsteady));
        assert_eq!(grade(&keys(&[4e9; 4])), None);
        assert!(blocks(&[]).is_empty());
    }

    #[test]
    fn a_grade_without_memory_is_none_and_what_else_is_lacking_is_named() {
        let steady = keys(&[4e9; 9]);
        let told = |keys: &[MachineKey]| format!("{:?}", blocks(keys));
        assert_eq!(grade(&steady), Some(Grade::Steady));
        assert!(told(&steady).contains("without reads of one core, lost time"));
        // Nobody knows who has the rest of a cache that is always as large.
        assert!(told(&steady).contains("Usable are "), "{}", told(&steady));
        let mut crowded = steady.clone();
        for (key, size) in crowded.iter_mut().zip(1..) {
            let number = key.numbers.get_mut(id::USABLE);
            if let Some(Known::Yes(number)) = number {
                number.value *= f64::from(size);
            }
        }
        assert!(told(&crowded).contains("Neighbours leave"));
        let mut blind = steady;
        for key in &mut blind[..5] {
            key.numbers.remove(id::MEMORY);
        }
        assert_eq!(grade(&blind), None);
        assert!(told(&blind).contains("latency of memory"));
    }
}
