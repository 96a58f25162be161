//! From each node with CPUs to each node with memory: numbers there, and a reason everywhere else.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Judge, everything};

pub(crate) fn judge(judge: &mut Judge<'_>) {
    judge.ends("numa-plan", &[0]);
    let nodes = judge.machine.nodes();
    let usable = judge.machine.online().without(&judge.machine.isolated());
    // With one node there is nothing to compare.
    if nodes.len() == 1 {
        judge.ends("numa", &[0, 3]);
        return;
    }
    judge.ends("numa", &[0]);
    let record = judge.noted_record("numa-record");
    let from = nodes.iter().map(|node| !node.cpus.and(&usable).is_empty());
    let from: Vec<usize> = numbers(from);
    let to = numbers(nodes.iter().map(|node| node.mib > 0));
    let expected: BTreeSet<(usize, usize)> =
        from.iter().flat_map(|&from| to.iter().map(move |&to| (from, to))).collect();
    for quantity in ["latency", "bandwidth"] {
        let said = measured(&record, quantity);
        let (expected, said) = (pairs(&expected), pairs(&said));
        judge.equal("numa", format!("pairs of nodes with a {quantity}"), &expected, &said);
    }
    let page = judge.reply("numa").map(|reply| everything(&reply)).unwrap_or_default();
    for (id, node) in nodes.iter().enumerate() {
        for (is_empty, what) in [(node.mib == 0, "memory"), (node.cpus.is_empty(), "CPUs")] {
            if is_empty {
                let line = page.lines().find(|line| names(line, id, what));
                let said = line.unwrap_or("nothing of it");
                let about = format!("why node {id} has no {what}");
                judge.holds(
                    "numa",
                    about,
                    format!("node {id} has no {what}"),
                    said,
                    line.is_some(),
                );
            }
        }
    }
}

/// Whether a line says that this node lacks it.
fn names(line: &str, id: usize, what: &str) -> bool {
    let digits =
        |text: &str| text.split(|c: char| !c.is_ascii_digit()).any(|part| part.parse() == Ok(id));
    [format!("without {what}"), format!("no {what}")].iter().any(|words| line.contains(words))
        && digits(line)
}

fn numbers(are: impl Iterator<Item = bool>) -> Vec<usize> {
    are.enumerate().filter_map(|(id, is)| is.then_some(id)).collect()
}

/// Pairs of nodes for which the record has a number above zero.
pub(crate) fn measured(record: &Value, quantity: &str) -> BTreeSet<(usize, usize)> {
    let node = |series: &Value, name: &str| -> Option<usize> {
        series["parameters"][name].as_str()?.parse().ok()
    };
    let series = record["series"].as_array().into_iter().flatten();
    series
        .filter(|series| series["quantity"] == quantity)
        .filter(|series| series["summary"]["median"].as_f64().is_some_and(|median| median > 0.0))
        .filter_map(|series| Some((node(series, "from_node")?, node(series, "to_node")?)))
        .collect()
}

pub(crate) fn pairs(pairs: &BTreeSet<(usize, usize)>) -> String {
    pairs.iter().map(|(from, to)| format!("{from}-{to}")).collect::<Vec<_>>().join(" ")
}
