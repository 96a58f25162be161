//! What results are called in words.

use std::collections::BTreeMap;

use crate::Unit;
use crate::page::si;
use crate::record::ResultKey;

/// What was measured, in words.
pub fn result_name(what: &ResultKey) -> String {
    let quantity = super::quantity(&what.area, &what.quantity);
    let label = quantity.map_or(what.quantity.as_str(), |quantity| quantity.label);
    let apart = super::apart(&what.area, &what.parameters);
    let apart = apart.unwrap_or_else(|| words(&what.parameters));
    let word = if what.active == 1 { "CPU" } else { "CPUs" };
    let cpus = what.cpus.as_ref().map(|cpus| format!("{word} {cpus}"));
    let words = [Some(what.area.clone()), Some(label.to_owned()), Some(what.workload.clone())];
    let words = words.into_iter().chain([Some(apart), cpus]).flatten();
    words.filter(|words| !words.is_empty()).collect::<Vec<_>>().join(", ")
}

/// What parameters say, in words; those that are as usual say nothing.
fn words(parameters: &BTreeMap<String, String>) -> String {
    const USUAL: [(&str, &str); 6] = [
        ("chains", "1"),
        ("choice", "ordinary stores"),
        ("choice", "widest"),
        ("pages", "thp"),
        ("pause_us", "0"),
        ("walk", "random"),
    ];
    let has = |name: &str| parameters.contains_key(name);
    let word = |(name, value): (&String, &String)| match name.as_str() {
        "question" if value == "loaded" && !has("beside") => Some("with nothing beside".to_owned()),
        "question" => None,
        // The same once more, in bytes.
        "elements" if has("footprint") => None,
        name if USUAL.contains(&(name, value)) => None,
        "between" | "mix" => Some(value.clone()),
        "footprint" => {
            Some(value.parse().map_or_else(|_| value.clone(), |it| si::format(it, Unit::Byte)))
        }
        "from_node" => Some(format!("from node {value}")),
        "to_node" => Some(format!("to node {value}")),
        "lines" => Some(format!("{value} lines")),
        "pause_us" => Some(format!("{value} us between accesses")),
        name => Some(format!("{} {value}", name.replace('_', " "))),
    };
    parameters.iter().filter_map(word).collect::<Vec<_>>().join(", ")
}
