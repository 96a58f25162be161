//! Where results lie among earlier ones: the numbers of earlier records are a part of the record.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::Value;

use super::check::{Rule, table};
use super::page::Table;
use super::record::{Record, Series, items, number, text};
use super::stats::{bytes, median, si};

const AREA: &str = "reference";
const SECTION: &str = "Is this normal?";

pub(crate) static RULES: &[Rule] = &[
    Rule::Tables {
        area: AREA,
        section: SECTION,
        template: "among earlier records of machines like this one",
        want: places,
    },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "{} of {} results lie where {} earlier records of such machines do; {} outside",
        want: summary,
    },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "{} have fewer than {} earlier numbers, and no place",
        want: few,
    },
    Rule::Lines { area: AREA, section: SECTION, template: "{} left out: {}", want: left },
];

fn positions(record: &Record) -> &[Value] {
    items(&record.value["reference"]["positions"])
}

fn has_place(position: &Value) -> bool {
    position["place"]["quartiles"].is_array()
}

fn middle(position: &Value) -> f64 {
    number(&position["place"]["quartiles"][2])
}

fn is_outside(position: &Value) -> bool {
    has_place(position) && position["place"]["side"] != "inside"
}

/// The median over blocks, of each block that over CPUs: as the series have it.
fn here(record: &Record, position: &Value) -> f64 {
    let key = position;
    let parameters = key["parameters"].as_object();
    let is_it = |it: &&Series| {
        let mut asked = parameters.into_iter().flatten();
        it.area == text(&key["area"])
            && it.workload == text(&key["workload"])
            && it.quantity == text(&key["quantity"])
            && Some(it.cpus.len() as u64) == key["active"].as_u64()
            && key["cpus"].as_str().is_none_or(|cpus| cpus == it.active)
            && asked.all(|(name, value)| it.parameter(name) == value.as_str())
    };
    let all: Vec<&Series> = record.series.iter().filter(is_it).collect();
    let most = |class: &Option<String>| -> usize {
        all.iter().filter(|it| it.class == *class).map(|it| it.samples.len()).sum()
    };
    let class = all.iter().map(|it| &it.class).max_by_key(|class| most(class));
    let shown = all.iter().filter(|it| Some(&it.class) == class);
    let mut blocks: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (block, of) in shown.flat_map(|it| it.blocks.iter().copied()) {
        blocks.entry(block).or_default().push(of);
    }
    let blocks: Vec<f64> = blocks.values().filter_map(|of| median(of)).collect();
    median(&blocks).unwrap_or(f64::NAN)
}

/// What a result is called: what is as usual is not said.
fn name(key: &Value) -> String {
    let label = match (text(&key["area"]), text(&key["quantity"])) {
        ("turbo" | "pause", "clock") => "clock",
        ("turbo", "cycles_per_op") => "cycles per op",
        ("pause", "cycles_per_op") => "cycles per pause",
        ("wake", "time_per_signal") => "time per signal",
        ("wake", "round_trip") => "round trip",
        ("openmp", "loop_time") => "time per region of the loop",
        (_, quantity) => quantity,
    };
    let has = |name: &str| key["parameters"].get(name).is_some();
    let words = |(name, value): (&String, &Value)| {
        let value = text(value);
        let usual = ["thp", "random", "widest", "ordinary stores"];
        match name.as_str() {
            "question" if value == "loaded" && !has("beside") => {
                Some("with nothing beside".to_owned())
            }
            "question" => None,
            "elements" if has("footprint") => None,
            "chains" if value == "1" => None,
            "pause_us" if value == "0" => None,
            "pages" | "walk" | "choice" if usual.contains(&value) => None,
            "between" | "mix" | "pair" => Some(value.to_owned()),
            "footprint" => Some(bytes(value.parse().unwrap_or(f64::NAN))),
            "from_node" => Some(format!("from node {value}")),
            "to_node" => Some(format!("to node {value}")),
            "lines" => Some(format!("{value} lines")),
            "pause_us" => Some(format!("{value} us between accesses")),
            "rest_us" => Some(format!("after a rest of {value} us")),
            name => Some(format!("{name} {value}")),
        }
    };
    let parameters = key["parameters"].as_object().into_iter().flatten();
    let mut all = vec![text(&key["area"]).to_owned(), label.to_owned()];
    all.push(text(&key["workload"]).to_owned());
    let rested = has("rest_us");
    let parameters = parameters.filter(|(name, _)| !(rested && *name == "pair"));
    all.extend(parameters.filter_map(words));
    let word = if key["active"] == 1 { "CPU" } else { "CPUs" };
    all.extend(key["cpus"].as_str().map(|cpus| format!("{word} {cpus}")));
    all.join(", ")
}

fn places(record: &Record) -> Vec<Table> {
    let mut all: Vec<&Value> = positions(record).iter().collect();
    let excess = |it: &Value| {
        if has_place(it) { (here(record, it) / middle(it)).ln().abs() } else { 0.0 }
    };
    all.sort_by(|a, b| {
        is_outside(b)
            .cmp(&is_outside(a))
            .then(excess(b).partial_cmp(&excess(a)).unwrap_or(Ordering::Equal))
    });
    let placed = all.iter().filter(|it| has_place(it)).count();
    let outside = all.iter().filter(|it| is_outside(it)).count();
    let row = |it: &&Value| {
        let shown = |value: f64| si(value, text(&it["unit"]));
        let place = &it["place"];
        let [low, high] = [0, 1].map(|at| number(&place["limits"][at]));
        let value = here(record, it);
        let more = value > high;
        let word = match text(&it["better"]) {
            _ if (low..=high).contains(&value) || !is_outside(it) => "usual",
            "" => ["lower", "higher"][usize::from(more)],
            better if (better == "more") == more => "better",
            _ => "worse",
        };
        let head = [name(it), word.to_owned(), it["active"].to_string(), shown(value)];
        let tail = [
            shown(middle(it)),
            format!("{} to {}", shown(low), shown(high)),
            format!("{:.0} %", number(&place["below"]) * 100.0),
        ];
        head.into_iter().chain(tail).collect()
    };
    let listed = placed.min(outside.max(5));
    let rows: Vec<Vec<String>> = all[..listed].iter().map(row).collect();
    let columns = ["result", "is", "cores", "here", "median", "limits", "lower"];
    let caption = "among earlier records of machines like this one";
    if rows.is_empty() { Vec::new() } else { vec![table(caption, &columns, rows)] }
}

fn summary(record: &Record) -> Vec<String> {
    let all = positions(record);
    let inside = all.iter().filter(|it| has_place(it) && !is_outside(it)).count();
    let outside = all.iter().filter(|it| is_outside(it)).count();
    let records = &record.value["reference"]["records"];
    let line = format!(
        "{inside} of {} results lie where {records} earlier records of such machines do; {outside} outside",
        all.len()
    );
    if record.value["reference"].is_object() { vec![line] } else { Vec::new() }
}

fn few(record: &Record) -> Vec<String> {
    let few = positions(record).iter().filter(|it| !has_place(it)).count();
    let line = format!("{few} have fewer than 8 earlier numbers, and no place");
    if few > 0 { vec![line] } else { Vec::new() }
}

fn left(record: &Record) -> Vec<String> {
    let left = items(&record.value["reference"]["left_out"]).iter();
    let files =
        |count: u64| if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
    let count = |it: &serde_json::Value| files(it["count"].as_u64().unwrap_or(0));
    left.map(|it| format!("{} left out: {}", count(it), text(&it["why"]))).collect()
}

/// What findings say of those that are outside.
pub(crate) fn findings(record: &Record) -> Vec<String> {
    let said = |it: &Value| {
        let (value, middle) = (here(record, it), middle(it));
        let shown = |value: f64| si(value, text(&it["unit"]));
        let share = (value / middle - 1.0) * 100.0;
        let (side, at) = if share < 0.0 { ("below", 0) } else { ("above", 1) };
        let limit = number(&it["place"]["limits"][at]);
        format!(
            "{} is {:.1} % {side} the median {} of {} earlier records, and {side} the limit {}",
            shown(value),
            share.abs(),
            shown(middle),
            it["count"],
            shown(limit)
        )
    };
    let mut all: Vec<String> =
        positions(record).iter().filter(|it| is_outside(it)).map(said).collect();
    let records = &record.value["reference"]["records"];
    all.push(format!("{records} earlier records of such a machine are too few, 8 are needed"));
    all.push(format!(
        "of {} results of this run none is in 8 or more of {records} earlier records of such a machine",
        positions(record).len()
    ));
    all
}
