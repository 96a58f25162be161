//! The tables in `data/`, beside those that they restate.
//!
//! The other tables are read where they lie, below `../shared/fixtures`, and are no part of this
//! repository. Where they are missing, the case is shown as ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};

/// Source, instruction, width and encoding; latency and reciprocal throughput.
type Figures = BTreeMap<[String; 4], [Option<f64>; 2]>;

pub(crate) fn trials() -> Vec<Trial> {
    let theirs = root().join("../shared/fixtures/facts/instruction-latency.csv");
    let trial = if theirs.is_file() {
        Trial::test("facts::instruction_latency", move || same(&ours()?, &restated(&theirs)?))
    } else {
        let title = "facts::instruction_latency (../shared/fixtures is not here)";
        Trial::test(title, || Ok(())).with_ignored_flag(true)
    };
    vec![trial]
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The figures of the repository, without those that cpudyno found itself.
fn ours() -> Result<Figures, Failed> {
    const KEYS: [&str; 5] = ["mnemonic", "bits", "encoding", "latency", "reciprocal"];
    let text = std::fs::read_to_string(root().join("data/instruction-latency.toml"))?;
    let table: toml::Table = text.parse()?;
    let mut figures = Figures::new();
    for set in table["set"].as_array().ok_or("`set` is no list")? {
        if set["source"].as_str() == Some("cpudyno") {
            continue;
        }
        let of = |key: &str| set[key].as_str().ok_or(format!("`{key}` is no text: {set:?}"));
        let source = [of("source")?, of("version")?, of("place")?].join(" ");
        for figure in set["figures"].as_array().ok_or("`figures` is no list")? {
            let figure = figure.as_table().ok_or("a figure is no table")?;
            if let Some(key) = figure.keys().find(|key| !KEYS.contains(&key.as_str())) {
                return Err(format!("nobody reads `{key}`: {figure:?}").into());
            }
            let word = |key: &str| {
                figure.get(key).map_or(String::new(), |value| match value {
                    toml::Value::String(text) => text.clone(),
                    toml::Value::Integer(number) => number.to_string(),
                    other => format!("{other:?}"),
                })
            };
            let number = |key: &str| figure.get(key).and_then(toml::Value::as_float);
            let key = [source.clone(), word("mnemonic"), word("bits"), word("encoding")];
            let numbers = [number("latency"), number("reciprocal")];
            if figures.insert(key.clone(), numbers).is_some() {
                return Err(format!("{key:?} is there twice").into());
            }
        }
    }
    Ok(figures)
}

/// The figures of the other table, keyed alike.
fn restated(path: &Path) -> Result<Figures, Failed> {
    let mut figures = Figures::new();
    for row in csv::Reader::from_path(path)?.deserialize() {
        let row: BTreeMap<String, String> = row?;
        let encoding = match row["encoding"].as_str() {
            "EVEX/VEX" => "any".to_owned(),
            one => one.to_lowercase(),
        };
        let number = |key: &str| match row[key].as_str() {
            "" => Ok(None),
            text => text.parse().map(Some),
        };
        let key = [
            source(&row["source"]),
            row["instruction"].to_lowercase(),
            row["operand_width_bits"].clone(),
            encoding,
        ];
        figures.insert(key, [number("latency_cycles")?, number("recip_throughput_cycles")?]);
    }
    Ok(figures)
}

/// Who, which version, where: of `owner/name@commit file (method)`, or of a release and a command.
fn source(text: &str) -> String {
    let text = text.split(" (").next().unwrap_or(text);
    match text.split_once('@') {
        Some((repository, rest)) => {
            let (_, name) = repository.split_once('/').unwrap_or(("", repository));
            format!("{name} {rest}")
        }
        None => text.to_owned(),
    }
}

fn same(ours: &Figures, theirs: &Figures) -> Result<(), Failed> {
    // The other table says nothing of some instructions.
    let restated: BTreeSet<_> = theirs.keys().map(|[_, instruction, ..]| instruction).collect();
    let here = ours.keys().filter(|[_, instruction, ..]| restated.contains(instruction));
    let keys: BTreeSet<_> = here.chain(theirs.keys()).collect();
    let differing = keys.into_iter().filter(|key| ours.get(*key) != theirs.get(*key));
    let lines: Vec<String> = differing
        .map(|key| format!("{key:?}: here {:?}, there {:?}", ours.get(key), theirs.get(key)))
        .collect();
    match (theirs.len(), lines.is_empty()) {
        (0, _) => Err("nothing was compared".into()),
        (_, true) => Ok(()),
        (_, false) => Err(lines.join("\n").into()),
    }
}
