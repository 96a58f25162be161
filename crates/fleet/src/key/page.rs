//! Pages of a key, and of two.

use model::Known;
use model::page::{Block, Page, Table, Text, Tone, si};
use model::record::{KeyNumber, MachineKey, Record};

use report::kit::Absences;
use report::parts;

use super::compare::{KeyComparison, KeyVerdict};
use super::{CLAIMS, id, refuted, watch};

/// Labels of numbers, in the order of the page; ids that begin so, each with the rest of its id.
const LABELS: &[(&str, &str)] = &[
    (id::CLOCK, "clock, light load"),
    (id::CYCLES, "cycles per op"),
    (id::CACHE, "cycles of a pointer"),
    (id::LAST, "last-level cache, latency"),
    (id::USABLE, "last-level cache, usable"),
    (id::CLAIMED, "last-level cache, as the kernel says"),
    (id::MEMORY, "memory, latency"),
    (id::READ, "memory, reads of one core"),
    (id::TOTAL, "memory, size"),
    (id::LOST, "time lost by busy threads"),
];

/// The page of a record: the key, what was measured, what it claims.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let key = super::of(record);
    let text = match &record.run.simulated {
        Some(name) => format!("SIMULATED key: machine sim:{name}, nothing was measured"),
        None => "Key of this machine".to_owned(),
    };
    let mut blocks = vec![
        Block::Title { text, subtitle: parts::subtitle(record) },
        Block::Paragraph(Text::from(key.line.as_str())),
    ];
    let refuted = refuted(&key);
    if !refuted.is_empty() {
        let told = refuted.into_iter().map(|text| Text::toned(text, Tone::Warning));
        blocks.push(Block::List(told.collect()));
    }
    blocks.extend(watch::blocks(&record.keys));
    blocks.push(measured(&key));
    blocks.extend(unknown(&key));
    blocks.push(said(&key));
    blocks.push(Block::Heading("Findings".to_owned()));
    blocks.push(parts::findings(record));
    if verbosity > 0 {
        blocks.extend(parts::missing(record));
        blocks.extend(parts::details(record));
    }
    Page { blocks }
}

fn value(number: &Known<KeyNumber>) -> [Text; 2] {
    match number {
        Known::Yes(number) => {
            let interval = number.interval.map_or_else(String::new, |[low, high]| {
                format!("{} to {}", si::format(low, number.unit), si::format(high, number.unit))
            });
            [si::format(number.value, number.unit).into(), interval.into()]
        }
        // Below the table stands why; a reason in a column would be as wide as the page.
        Known::No { .. } => [Text::toned("?", Tone::Faint), Text::default()],
    }
}

fn measured(key: &MachineKey) -> Block {
    let mut rows = Vec::new();
    for (begins, label) in LABELS {
        for (known, number) in &key.numbers {
            let Some(rest) = id::rest(known, begins) else { continue };
            let name = match rest.split('.').next().filter(|rest| !rest.is_empty()) {
                Some(level) if *begins == id::CACHE => format!("{label}, L{level}"),
                Some(rest) => format!("{label}, {rest}"),
                None => (*label).to_owned(),
            };
            let [value, interval] = value(number);
            rows.push(vec![name.into(), value, interval]);
        }
    }
    for (between, pair) in &key.pairs {
        let class = match &pair.class {
            Known::Yes(class) => class.word().to_owned(),
            Known::No { unavailable } => unavailable.why.clone(),
        };
        let [value, interval] = value(&pair.latency);
        let name = format!("core to core ({between} by the kernel)");
        let interval = pair.latency.value().map_or(interval.clone(), |_| {
            let plain = &interval.text;
            let between = if plain.is_empty() { String::new() } else { format!("{plain}; ") };
            format!("{between}{class}").into()
        });
        rows.push(vec![name.into(), value, interval]);
    }
    let like = match &key.behaves_like {
        Known::Yes(names) if names.is_empty() => Text::toned("no core that is known", Tone::Faint),
        Known::Yes(names) => Text::from(names.join(", ")),
        Known::No { unavailable } => Text::toned(unavailable.why.clone(), Tone::Faint),
    };
    rows.insert(0, vec!["behaves like".into(), like, Text::default()]);
    Table::of("What it does").left("what").left("measured").left("95 % interval").rows(rows).into()
}

/// Why numbers are lacking, each reason once.
fn unknown(key: &MachineKey) -> Option<Block> {
    let mut absences = Absences::default();
    let numbers = key.numbers.values().chain(key.pairs.values().map(|pair| &pair.latency));
    for number in numbers {
        if let Known::No { unavailable } = number {
            absences.note(unavailable, unavailable.what.clone());
        }
    }
    let remarks = absences.remarks();
    (!remarks.is_empty()).then_some(Block::Remarks(remarks))
}

fn said(key: &MachineKey) -> Block {
    let row = |(id, label, _): &(&str, &str, bool)| {
        let value = match key.claims.get(*id)? {
            Known::Yes(text) => Text::from(text.as_str()),
            Known::No { unavailable } => {
                Text::toned(format!("unavailable: {}", unavailable.why), Tone::Faint)
            }
        };
        Some(vec![Text::from(*label), value])
    };
    Table::of("What it says of itself")
        .left("what")
        .left("it says")
        .rows(CLAIMS.iter().filter_map(row))
        .into()
}

/// The word for a verdict.
pub fn word(verdict: KeyVerdict) -> &'static str {
    match verdict {
        KeyVerdict::Yes => "COMPARABLE",
        KeyVerdict::No => "NOT COMPARABLE",
        KeyVerdict::CannotTell => "CANNOT TELL",
    }
}

/// The answer in one line.
pub fn line(comparison: &KeyComparison) -> String {
    let is_simulated = comparison.keys.iter().any(|key| key.simulated.is_some());
    let simulated = if is_simulated { "SIMULATED " } else { "" };
    format!("{simulated}{}: {}", word(comparison.verdict), comparison.text)
}

/// The page of a comparison.
pub fn compared(comparison: &KeyComparison) -> Page {
    let tone = match comparison.verdict {
        KeyVerdict::Yes => Tone::Good,
        KeyVerdict::No | KeyVerdict::CannotTell => Tone::Warning,
    };
    let [then, now] = &comparison.keys;
    let mut blocks = vec![
        Block::Title {
            text: "Is this the machine as it was?".to_owned(),
            subtitle: format!("{}, then {}", then.started, now.started),
        },
        Block::Paragraph(Text::toned(line(comparison), tone)),
    ];
    if !comparison.differences.is_empty() {
        let row = |it: &super::compare::KeyDifference| {
            let what = match it.alike {
                KeyVerdict::CannotTell => "cannot tell",
                KeyVerdict::Yes | KeyVerdict::No => "differs",
            };
            let of = if it.is_kind { "kind" } else { "condition" };
            vec![
                it.id.as_str().into(),
                of.into(),
                it.then.as_str().into(),
                it.now.as_str().into(),
                what.into(),
            ]
        };
        blocks.push(
            Table::of("What is not alike")
                .left("what")
                .left("of")
                .left("then")
                .left("now")
                .left("verdict")
                .rows(comparison.differences.iter().map(row))
                .into(),
        );
    }
    let remarks: Vec<Text> = comparison.remarks.iter().map(|it| Text::from(it.as_str())).collect();
    if !remarks.is_empty() {
        blocks.push(Block::Heading("Also changed".to_owned()));
        blocks.push(Block::List(remarks));
    }
    let lines = [then, now].map(|key| Text::from(key.line.as_str()));
    blocks.push(Block::Heading("Keys".to_owned()));
    blocks.push(Block::List(lines.into()));
    Page { blocks }
}
