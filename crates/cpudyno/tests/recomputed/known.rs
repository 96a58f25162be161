//! What others found of an instruction, by the table that is a part of the sources.

use super::check::Rule;
use super::record::{Record, text};
use super::stats::once;

pub(crate) static RULES: &[Rule] =
    &[Rule::Lines { area: "pause", section: "Pause", template: "known: {}", want: citations }];

/// A set of the table, as far as it is shown.
struct Set {
    /// What it says of `pause`, in cycles.
    pause: f64,
    citation: String,
}

/// The sets of this machine's microarchitecture that say something of `pause`.
fn sets(record: &Record) -> Vec<Set> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/instruction-latency.toml");
    let all = std::fs::read_to_string(file).expect("the table of known latencies");
    let core = record.fact("cpu.microarchitecture").map_or("", |fact| text(&fact["value"]));
    let set = |lines: &str| {
        let value = |key: &str| {
            let mut lines = lines.lines();
            lines.find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix("= "))
        };
        let quoted = |key: &str| value(key).map(|it| it.trim().trim_matches('"').to_owned());
        value("of")?.contains(&format!("\"{core}\"")).then_some(())?;
        let figure = lines.lines().find(|line| line.contains("mnemonic = \"pause\""))?;
        let (_, cycles) = figure.split_once("reciprocal = ")?;
        let end = cycles.find([' ', ',', '}']).unwrap_or(cycles.len());
        let how = match quoted("method")?.as_str() {
            "measured" => "measured",
            "model" => "a model, not measured",
            _ => "a database",
        };
        let more = ["cpu", "remark"].into_iter().filter_map(quoted);
        let more: Vec<String> = more.map(|it| format!(", {it}")).collect();
        let more = more.concat();
        let [source, version, place] = ["source", "version", "place"].map(quoted);
        let citation = format!("{} {}, {}: {how}{more}", source?, version?, place?);
        Some(Set { pause: cycles[..end].parse().ok()?, citation })
    };
    all.split("[[set]]").skip(1).filter_map(set).collect()
}

/// The known cycles of a pause.
pub(crate) fn pause(record: &Record) -> String {
    let known = once(sets(record).iter().map(|set| set.pause.to_string()));
    if known.is_empty() { "-".to_owned() } else { known.join(" / ") }
}

fn citations(record: &Record) -> Vec<String> {
    let is_there = record.of_quantity("pause", "time_per_op").any(super::record::Series::has);
    let lines = once(sets(record).into_iter().map(|set| format!("known: {}", set.citation)));
    if is_there { lines } else { Vec::new() }
}
