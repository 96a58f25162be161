//! From each memory node to each.

use model::page::{Block, HeatCell, HeatMap, HeatRow, Text};
use model::record::Record;

use super::super::CHASE;
use super::super::counting::Counting;
use super::super::read::{Cell, cells, in_order};
use super::{dash, nanoseconds};

/// Maps of latency, bandwidth and the firmware's distances; words where there is one node.
pub(in super::super) fn blocks(record: &Record) -> Vec<Block> {
    let cells = cells(record, "numa");
    if cells.is_empty() {
        return Vec::new();
    }
    let heading = Block::Heading("From node to node".to_owned());
    let counting = Counting::of(record);
    if let [node] = record.machine.topology.nodes.as_slice() {
        return vec![heading, Block::Paragraph(alone(counting, node.id, &cells))];
    }
    let latency = |cell: &Cell<'_>| {
        let seconds = cell.median("latency").filter(|_| cell.workload == CHASE)?;
        Some((seconds * 1e9, nanoseconds(seconds)))
    };
    let bandwidth = |cell: &Cell<'_>| {
        let asked = cell.median("bandwidth").filter(|_| cell.workload != CHASE)?;
        Some((counting.in_unit(asked), counting.text(asked)))
    };
    let unit = counting.unit();
    let mut blocks = vec![heading];
    blocks.push(map(record, "latency of one access, ns (lower is better)", "ns", |from, to| {
        between(&cells, from, to).find_map(latency)
    }));
    let caption = format!("bandwidth of loads of all CPUs of a node, {unit} (higher is better)");
    blocks.push(map(record, &caption, unit, |from, to| {
        between(&cells, from, to).find_map(bandwidth)
    }));
    blocks.extend(distances(record));
    blocks
}

/// The cells of a pair of nodes.
fn between<'a, 'b>(
    cells: &'a [Cell<'b>],
    from: u32,
    to: u32,
) -> impl Iterator<Item = &'a Cell<'b>> {
    let of = move |cell: &&Cell<'_>| {
        cell.number("from_node") == Some(from.into()) && cell.number("to_node") == Some(to.into())
    };
    cells.iter().filter(of)
}

/// Rows are nodes with CPUs, columns all nodes.
fn map(
    record: &Record,
    caption: &str,
    unit: &str,
    value: impl Fn(u32, u32) -> Option<(f64, String)>,
) -> Block {
    let nodes = &record.machine.topology.nodes;
    let cell = |from: u32, to: u32| match value(from, to) {
        Some((value, text)) => HeatCell::Value { value, text },
        None => HeatCell::Absent(dash()),
    };
    let row = |from: &model::record::Node| HeatRow {
        label: from.id.to_string(),
        cells: nodes.iter().map(|to| cell(from.id, to.id)).collect(),
    };
    let without: Vec<String> =
        nodes.iter().filter(|n| n.cpus.is_empty()).map(|n| n.id.to_string()).collect();
    let notes = if without.is_empty() {
        Vec::new()
    } else {
        vec![format!("memory without CPUs: node {}", without.join(", "))]
    };
    Block::HeatMap(HeatMap {
        caption: caption.to_owned(),
        unit: unit.to_owned(),
        row_title: "from node".to_owned(),
        column_title: "memory of node".to_owned(),
        columns: nodes.iter().map(|node| node.id.to_string()).collect(),
        groups: vec![nodes.iter().filter(|node| !node.cpus.is_empty()).map(row).collect()],
        notes,
    })
}

/// What the firmware says.
fn distances(record: &Record) -> Option<Block> {
    let nodes = &record.machine.topology.nodes;
    let known = nodes.iter().any(|node| !node.distances.is_empty());
    let caption = "distances as the firmware states them (10 is the node itself)";
    known.then(|| {
        map(record, caption, "as stated", |from, to| {
            let node = nodes.iter().find(|node| node.id == from)?;
            let distance = *node.distances.get(&to)?;
            Some((f64::from(distance), distance.to_string()))
        })
    })
}

/// The words for a machine with one node.
fn alone(counting: Counting, node: u32, cells: &[Cell<'_>]) -> Text {
    let mut latency = cells.iter().filter(|cell| cell.workload == CHASE);
    let latency = latency.find_map(|cell| cell.median("latency"));
    let mut moved = cells.iter().filter(|cell| cell.workload != CHASE);
    let moved = moved.find_map(|cell| cell.median("bandwidth"));
    let known: Vec<String> = in_order(
        [
            latency.map(|latency| format!("one access takes {} ns", nanoseconds(latency))),
            moved.map(|moved| {
                format!("loads of all CPUs get {} {}", counting.text(moved), counting.unit())
            }),
        ]
        .into_iter()
        .flatten(),
    );
    let known = if known.is_empty() { String::new() } else { format!(": {}", known.join(", ")) };
    format!("This machine has one memory node, {node}: there is no farther one{known}.").into()
}
