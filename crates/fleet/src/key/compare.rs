//! Two keys: is it the same kind of machine, and is it as it was?

use model::page::si;
use model::record::{KeyNumber, MachineKey};
use model::{Known, Unit};
use serde::Serialize;

use super::{CLAIMS, id};

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeyComparison {
    /// Which form this is.
    pub schema: &'static str,
    /// Whether what is measured now and then can be held against each other.
    pub verdict: KeyVerdict,
    /// Whether it is the same kind of machine.
    pub same_kind: KeyVerdict,
    /// The same in words: `same kind, clock 9 % lower`.
    pub text: String,
    /// What differs, or cannot be told, that of the kind first.
    pub differences: Vec<KeyDifference>,
    /// What differs and can be set, or comes with an update: it decides nothing.
    pub remarks: Vec<String>,
    /// The earlier key, and this one.
    pub keys: [MachineKey; 2],
}

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyVerdict {
    /// They are alike.
    Yes,
    /// They are not.
    No,
    /// What was measured does not tell.
    CannotTell,
}

/// One thing that differs, or of which it cannot be told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeyDifference {
    /// What: a fact's id, or that of a number.
    pub id: String,
    /// Whether machines of another kind have another one.
    pub is_kind: bool,
    /// `No`: it differs; `CannotTell`: its interval reaches into the band, or one of them lacks it.
    pub alike: KeyVerdict,
    /// What it was.
    pub then: String,
    /// What it is.
    pub now: String,
    /// In words: `clock 9 % lower`.
    pub text: String,
}

/// How a number is held against an earlier one.
struct ComparedNumber {
    /// The number's id, or how those of several begin.
    id: &'static str,
    /// What people call it.
    label: &'static str,
    is_kind: bool,
    /// How far it may be from the earlier one.
    band: Band,
    /// What it means if it is lower, and if it is higher, where a word says more than a number.
    means: [Option<&'static str>; 2],
}

/// What is no difference yet.
#[derive(Clone, Copy)]
enum Band {
    /// A factor: this times as much or as little.
    Factor(f64),
    /// So much more or less.
    Points(f64),
}

/// Bands are wider than what one machine does from run to run with its neighbours as they are (docs/guide/key.md has such
/// runs), and narrower than what makes results of benchmarks useless.
const ROWS: &[ComparedNumber] = &[
    // PAUSE differs between guests and hosts, and with a busy sibling; between cores by factors.
    row("cycles.pause_only", "cycles of PAUSE", true, Band::Factor(1.35), [None, None]),
    row(id::CYCLES, "cycles", true, Band::Factor(1.03), [None, None]),
    row(id::CACHE, "cycles of a pointer", true, Band::Factor(1.15), [None, None]),
    row(id::TOTAL, "memory", true, Band::Factor(1.03), [None, None]),
    row(id::CLOCK, "clock", false, Band::Factor(1.05), [None, None]),
    row(id::LAST, "latency of the last-level cache", false, Band::Factor(1.3), [None, None]),
    row(
        id::USABLE,
        "usable last-level cache",
        false,
        Band::Factor(1.6),
        [Some("neighbours use more of the cache"), Some("neighbours use less of the cache")],
    ),
    row(id::MEMORY, "latency of memory", false, Band::Factor(1.25), [None, None]),
    row(id::READ, "reads of one core", false, Band::Factor(1.25), [None, None]),
    row(
        id::LOST,
        "lost time",
        false,
        Band::Points(0.02),
        [Some("neighbours quieter"), Some("neighbours busier")],
    ),
];

const fn row(
    id: &'static str,
    label: &'static str,
    is_kind: bool,
    band: Band,
    means: [Option<&'static str>; 2],
) -> ComparedNumber {
    ComparedNumber { id, label, is_kind, band, means }
}

/// A share of time that others take is another one where it differs by more than this part of itself.
const TURNS: f64 = 0.4;

/// Numbers without which nobody can say that a machine is as it was.
const NEEDED: &[&str] = &[id::CLOCK, id::MEMORY];

/// So many chains are to be had in common for a kind.
const CHAINS_MIN: usize = 2;

/// Holds a key against an earlier one.
pub fn compare(then: &MachineKey, now: &MachineKey) -> KeyComparison {
    let mut differences = claims(then, now, true);
    differences.extend(numbers(then, now));
    differences.extend(pairs(then, now));
    let (conditions, remarks): (Vec<_>, Vec<_>) =
        claims(then, now, false).into_iter().partition(|it| DECIDING.contains(&it.id.as_str()));
    differences.extend(conditions);
    differences.extend(needed(then, now));
    differences.sort_by_key(|it| (!it.is_kind, it.alike == KeyVerdict::CannotTell));
    let alike = |is_kind: bool| {
        let of = |alike| differences.iter().any(|it| it.is_kind == is_kind && it.alike == alike);
        match (of(KeyVerdict::No), of(KeyVerdict::CannotTell)) {
            (true, _) => KeyVerdict::No,
            (false, true) => KeyVerdict::CannotTell,
            (false, false) => KeyVerdict::Yes,
        }
    };
    let (same_kind, as_it_was) = (alike(true), alike(false));
    let verdict = match (same_kind, as_it_was) {
        (KeyVerdict::No, _) | (_, KeyVerdict::No) => KeyVerdict::No,
        (KeyVerdict::Yes, KeyVerdict::Yes) => KeyVerdict::Yes,
        _ => KeyVerdict::CannotTell,
    };
    let text = text(same_kind, &differences);
    let remarks = remarks.into_iter().map(|it| it.text).collect();
    let keys = [then.clone(), now.clone()];
    let schema = "cpudyno.key-comparison/1";
    KeyComparison { schema, verdict, same_kind, text, differences, remarks, keys }
}

/// What is no kind and decides nevertheless.
const DECIDING: &[&str] = &["cpus.usable", "cgroup.quota"];

/// What machines say of themselves.
fn claims(then: &MachineKey, now: &MachineKey, of_kind: bool) -> Vec<KeyDifference> {
    let rows = CLAIMS.iter().filter(|(.., is_kind)| *is_kind == of_kind);
    let differs = |(id, label, is_kind): &(&str, &str, bool)| {
        let [a, b] = [then, now].map(|key| key.claims.get(*id).and_then(Known::value));
        // What one of them could not read, such as a register without root, is no difference.
        let (a, b) = (a?, b?);
        (a != b).then(|| KeyDifference {
            id: (*id).to_owned(),
            is_kind: *is_kind,
            alike: KeyVerdict::No,
            then: a.clone(),
            now: b.clone(),
            text: format!("{label} `{}`, was `{}`", printable(b), printable(a)),
        })
    };
    let mut found: Vec<KeyDifference> = rows.filter_map(differs).collect();
    if of_kind && then.simulated.is_some() != now.simulated.is_some() {
        let word = |key: &MachineKey| {
            if key.simulated.is_some() { "simulated" } else { "measured" }.to_owned()
        };
        found.insert(
            0,
            KeyDifference {
                id: "simulated".to_owned(),
                is_kind: true,
                alike: KeyVerdict::No,
                then: word(then),
                now: word(now),
                text: format!("{}, was {}", word(now), word(then)),
            },
        );
    }
    found
}

/// Foreign texts end on a terminal.
fn printable(text: &str) -> String {
    const LONGEST: usize = 100;
    text.chars().filter(|letter| !letter.is_control()).take(LONGEST).collect()
}

fn row_of(id: &str) -> Option<&'static ComparedNumber> {
    let exactly = ROWS.iter().find(|row| row.id == id);
    exactly
        .or_else(|| ROWS.iter().find(|row| row.id.ends_with(['.', 'l']) && id.starts_with(row.id)))
}

/// What both measured.
fn numbers(then: &MachineKey, now: &MachineKey) -> Vec<KeyDifference> {
    let both = then.numbers.iter().filter_map(|(id, a)| {
        let (a, b) = (a.value()?, now.numbers.get(id)?.value()?);
        (a.unit == b.unit).then_some((id, a, b))
    });
    // Where neighbours leave little of a cache, what it takes to answer is theirs as much as its own.
    let is_own = |key: &MachineKey| {
        let number = |id: &str| Some(key.numbers.get(id)?.value()?.value);
        matches!((number(id::USABLE), number(id::CLAIMED)), (Some(usable), Some(claimed)) if usable >= claimed / 2.0)
    };
    let is_compared = |id: &str| id != id::LAST || is_own(then) && is_own(now);
    let are_quiet = [then, now].iter().all(|key| is_quiet(key));
    both.filter(|(id, ..)| is_compared(id))
        // Programs that take turns on a core leave each other little of its caches.
        .filter(|(id, ..)| are_quiet || !id.starts_with(id::CACHE))
        .filter_map(|(id, a, b)| difference((id, row_of(id)?), [a, b], are_quiet))
        .collect()
}

/// Whether others took little of its time.
fn is_quiet(key: &MachineKey) -> bool {
    const LOST_MAX: f64 = 0.05;
    let lost = key.numbers.get(id::LOST).and_then(Known::value);
    lost.is_some_and(|number| number.value < LOST_MAX)
}

/// How far a number is from an earlier one, and the nearest and the farthest that it may be, with its sign.
fn distance(band: Band, then: &KeyNumber, now: &KeyNumber) -> Option<[f64; 3]> {
    let ends = |number: &KeyNumber| {
        let [low, high] = number.interval.unwrap_or([number.value; 2]);
        [low.min(number.value), high.max(number.value)]
    };
    let ([a_low, a_high], [b_low, b_high]) = (ends(then), ends(now));
    let found = match band {
        Band::Factor(_) => {
            let ratio = |b: f64, a: f64| (b / a).ln();
            [ratio(now.value, then.value), ratio(b_low, a_high), ratio(b_high, a_low)]
        }
        Band::Points(_) => [now.value - then.value, b_low - a_high, b_high - a_low],
    };
    found.iter().all(|it| it.is_finite()).then_some(found)
}

fn difference(
    (id, row): (&str, &ComparedNumber),
    [then, now]: [&KeyNumber; 2],
    are_quiet: bool,
) -> Option<KeyDifference> {
    let limit = match row.band {
        Band::Factor(factor) => factor.ln(),
        // Of a machine on which others take turns, nobody knows the share to a few points.
        Band::Points(points) => points.max(TURNS * then.value.max(now.value)),
    };
    let name = match id.strip_prefix(row.id).filter(|rest| !rest.is_empty()) {
        Some(rest) if row.id == id::CACHE => {
            format!("{} in L{}", row.label, rest.split('.').next().unwrap_or_default())
        }
        Some(rest) => format!("{} of {}", row.label, printable(rest)),
        None => row.label.to_owned(),
    };
    let said = |number: &KeyNumber| si::format(number.value, number.unit);
    let of = |alike, text: String| KeyDifference {
        id: id.to_owned(),
        is_kind: row.is_kind,
        alike,
        then: said(then),
        now: said(now),
        text,
    };
    let Some([middle, low, high]) = distance(row.band, then, now) else {
        return Some(of(KeyVerdict::CannotTell, format!("{name}: its numbers have no ratio")));
    };
    if middle.abs() <= limit {
        return None;
    }
    let amount = match row.band {
        Band::Factor(_) if middle.abs() > 2f64.ln() => {
            format!(
                "{:.1} times as {}",
                middle.abs().exp(),
                if middle > 0.0 { "much" } else { "little" }
            )
        }
        Band::Factor(_) => {
            let percent = (middle.exp() - 1.0).abs() * 100.0;
            format!("{percent:.0} % {}", if middle > 0.0 { "higher" } else { "lower" })
        }
        Band::Points(_) => format!("{}, was {}", said(now), said(then)),
    };
    let plain = format!("{name} {amount}");
    let text = match row.means[usize::from(middle > 0.0)] {
        Some(means) => format!("{means} ({plain})"),
        None => plain,
    };
    // The whole interval lies beyond the band, or only its middle. Of fewer than five blocks there is none: what moves by
    // the minute is not known then, and chains have whole cycles nevertheless where nobody else used the core.
    let have_intervals = [then, now].iter().all(|it| it.interval.is_some());
    let is_sure = have_intervals
        || row.is_kind && (are_quiet || row.id == id::TOTAL)
        || matches!(row.band, Band::Points(_));
    let nearest = if middle > 0.0 { low } else { -high };
    Some(if nearest > limit && is_sure {
        of(KeyVerdict::No, text)
    } else {
        of(KeyVerdict::CannotTell, text)
    })
}

/// How CPUs lie to each other.
fn pairs(then: &MachineKey, now: &MachineKey) -> Vec<KeyDifference> {
    let both = then.pairs.iter().filter_map(|(between, a)| {
        let b = now.pairs.get(between)?;
        let (was, is) = (a.class.value()?, b.class.value()?);
        (was != is).then(|| {
            let time = |pair: &model::record::KeyPair| {
                let number = pair.latency.value();
                number.map_or_else(String::new, |it| {
                    format!(", {}", si::format(it.value, Unit::Second))
                })
            };
            let (then, now) = (was.word().to_owned() + &time(a), is.word().to_owned() + &time(b));
            let text = format!(
                "cores that the kernel calls {} are {now} to each other, were {then}",
                printable(between)
            );
            let (id, alike) = (format!("pairs.{}", printable(between)), KeyVerdict::No);
            KeyDifference { id, is_kind: false, alike, then, now, text }
        })
    });
    both.collect()
}

/// What one of them lacks and is needed.
fn needed(then: &MachineKey, now: &MachineKey) -> Vec<KeyDifference> {
    let value = |key: &MachineKey, id: &str| key.numbers.get(id).and_then(Known::value).copied();
    let lacks = |id: &str, is_kind: bool, text: String| KeyDifference {
        id: id.to_owned(),
        is_kind,
        alike: KeyVerdict::CannotTell,
        then: value(then, id)
            .map_or_else(|| "unknown".to_owned(), |it| si::format(it.value, it.unit)),
        now: value(now, id)
            .map_or_else(|| "unknown".to_owned(), |it| si::format(it.value, it.unit)),
        text,
    };
    let is_lacking = |id: &&&str| value(then, id).is_none() || value(now, id).is_none();
    let label = |id: &str| row_of(id).map_or("a number", |row| row.label);
    let mut found: Vec<KeyDifference> = NEEDED
        .iter()
        .filter(is_lacking)
        .map(|id| lacks(id, false, format!("{} unknown in one of them", label(id))))
        .collect();
    let chains = then.numbers.keys().filter(|id| id.starts_with(id::CYCLES));
    let common = chains.filter(|id| value(then, id).is_some() && value(now, id).is_some()).count();
    if common < CHAINS_MIN {
        let text = format!("only {common} latencies of instructions are known of both");
        found.push(lacks("cycles", true, text));
    }
    found
}

/// The answer in words.
fn text(same_kind: KeyVerdict, differences: &[KeyDifference]) -> String {
    /// More of them say nothing more.
    const MOST: usize = 4;
    let of = |is_kind: bool| differences.iter().filter(move |it| it.is_kind == is_kind);
    let told = |it: &KeyDifference| match it.alike {
        KeyVerdict::CannotTell => format!("perhaps {}", it.text),
        KeyVerdict::Yes | KeyVerdict::No => it.text.clone(),
    };
    let list = |is_kind: bool| {
        let all: Vec<String> = of(is_kind).map(told).collect();
        let more = all.len().saturating_sub(MOST);
        let shown = all[..all.len() - more].join(", ");
        if more > 0 { format!("{shown}, and {more} more") } else { shown }
    };
    match same_kind {
        KeyVerdict::No => format!("another kind: {}", list(true)),
        KeyVerdict::CannotTell => {
            format!("cannot tell whether it is the same kind: {}", list(true))
        }
        KeyVerdict::Yes if of(false).next().is_none() => "same kind, as it was".to_owned(),
        KeyVerdict::Yes => format!("same kind, {}", list(false)),
    }
}
