//! From each memory node to each.

use model::CpuSet;
use model::page::tally;
use model::page::{Block, HeatCell, HeatMap, HeatRow, Text};
use model::record::{Node, Record};

use super::super::CHASE;
use super::super::byte_accounting::Counting;
use super::super::read::{Cell, cells, in_order};
use super::{dash, modes, nanoseconds, note, placement, through};

/// Maps of latency, bandwidth and the firmware's distances; words where there is one node.
pub(in super::super) fn blocks(record: &Record) -> Vec<Block> {
    let cells = cells(record, "numa");
    if cells.is_empty() {
        return Vec::new();
    }
    let counting = Counting::of(record);
    let through = through(&counting.extents(&cells));
    let heading = Block::Heading(format!("From node to node{through}"));
    if let [node] = record.machine.topology.nodes.as_slice() {
        return vec![heading, Block::Paragraph(alone(counting, node.id, &cells))];
    }
    let latency = |cell: &Cell<'_>| {
        let seconds = cell.main_median("latency").filter(|_| cell.workload == CHASE)?;
        Some((seconds * 1e9, nanoseconds(seconds)))
    };
    let mut blocks = vec![heading];
    blocks.push(map(record, "Access latency, ns", "ns", |from, to| {
        between(&cells, from, to).find_map(latency)
    }));
    for kernel in kernels(&cells) {
        let bandwidth = |cell: &Cell<'_>| {
            let asked = cell.main_median("bandwidth").filter(|_| cell.workload == kernel)?;
            let moved = counting.headline(cell, asked)?;
            Some((counting.in_unit(moved), counting.text(moved)))
        };
        let unit = counting.unit();
        let of_kernel = cells.iter().filter(|cell| cell.workload == kernel);
        let words = counting.words(of_kernel);
        let caption = format!("Bandwidth of {kernel}, {unit} {words}");
        blocks.push(map(record, &caption, unit, |from, to| {
            between(&cells, from, to).find_map(bandwidth)
        }));
    }
    blocks.extend(movers(&cells));
    blocks.extend(counting.left_out(&cells, "bandwidth").map(note));
    blocks.extend(placement(&cells, "bandwidth"));
    blocks.extend(modes(&cells, "bandwidth", |asked| counting.words_of(asked)));
    blocks.extend(distances(record));
    blocks
}

/// The kernels, in the order of the record.
fn kernels<'a>(cells: &[Cell<'a>]) -> Vec<&'a str> {
    in_order(cells.iter().map(|cell| cell.workload).filter(|workload| *workload != CHASE))
}

/// Which CPUs of each node move data.
fn movers(cells: &[Cell<'_>]) -> Option<Block> {
    let moving = cells.iter().filter(|cell| cell.workload != CHASE);
    let of = |cell: &Cell<'_>| Some((cell.number("from_node")?, cell.active.clone()));
    let word = |cpus: &CpuSet| if cpus.len() == 1 { "CPU" } else { "CPUs" };
    let mut moving = in_order(moving.filter_map(of));
    moving.sort_by_key(|(node, _)| *node);
    let lines: Vec<String> =
        moving.iter().map(|(node, cpus)| format!("{} {cpus} of node {node}", word(cpus))).collect();
    (!lines.is_empty()).then(|| note(format!("data is moved by {}", lines.join("; by "))))
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

/// Why rows and columns of the map are missing or empty, one note each.
fn absences(nodes: &[Node], is_told: impl Fn(u32, u32) -> bool) -> Vec<String> {
    let told_to = |to: &Node| nodes.iter().any(|from| is_told(from.id, to.id));
    let told_from = |from: &Node| nodes.iter().any(|to| is_told(from.id, to.id));
    let of = |what: &str, is: &dyn Fn(&Node) -> bool| {
        let ids: Vec<String> =
            nodes.iter().filter(|node| is(node)).map(|node| node.id.to_string()).collect();
        let word = if ids.len() == 1 { "node" } else { "nodes" };
        (!ids.is_empty()).then(|| format!("{what}: {word} {}", ids.join(", ")))
    };
    // Where nothing was, that is said elsewhere.
    let is_measured = nodes.iter().any(told_from);
    let is_empty = |node: &Node| node.memory_bytes == Some(0);
    let is_withheld = |node: &Node| node.usable == Some(false) && !is_empty(node);
    [
        of("memory without CPUs", &|node| node.cpus.is_empty() && node.not_shown.is_empty()),
        of("CPUs without memory", &|node| is_empty(node) && !told_to(node)),
        of("memory that the cpuset withholds from this process (`cpuset.mems`)", &|node| {
            is_withheld(node) && !told_to(node)
        }),
        of("CPUs of which none was measured", &|node| {
            is_measured && !node.cpus.is_empty() && !told_from(node)
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
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
    let legend = absences(nodes, |from, to| value(from, to).is_some());
    Block::HeatMap(HeatMap {
        caption: caption.to_owned(),
        unit: unit.to_owned(),
        row_title: "from node".to_owned(),
        column_title: "memory of node".to_owned(),
        columns: nodes.iter().map(|node| node.id.to_string()).collect(),
        groups: vec![nodes.iter().filter(|node| !node.cpus.is_empty()).map(row).collect()],
        legend,
        notes: Vec::new(),
        shaded_from: None,
        outline: None,
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
fn alone(counting: Counting<'_>, node: u32, cells: &[Cell<'_>]) -> Text {
    let mut latency = cells.iter().filter(|cell| cell.workload == CHASE);
    let latency = latency.find_map(|cell| cell.main_median("latency"));
    let of_kernel = |kernel: &str| {
        let cell = cells.iter().find(|cell| cell.workload == kernel)?;
        let moved = counting.headline(cell, cell.main_median("bandwidth")?)?;
        Some(format!(
            "{kernel} moves {} {} {} on {}",
            counting.text(moved),
            counting.unit(),
            counting.words([cell]),
            tally(cell.active.len(), "thread")
        ))
    };
    let latency = latency.map(|latency| format!("one access takes {} ns", nanoseconds(latency)));
    let moved = kernels(cells).into_iter().filter_map(of_kernel);
    let known: Vec<String> = latency.into_iter().chain(moved).collect();
    let known = if known.is_empty() { String::new() } else { format!(": {}", known.join(", ")) };
    format!("This machine has one memory node, {node}: there is no farther one{known}.").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, series};

    #[test]
    fn every_empty_row_and_column_has_its_reason() {
        let node = |id, cpus: &str, memory, usable| Node {
            id,
            cpus: cpus.parse().unwrap_or_default(),
            not_shown: CpuSet::default(),
            memory_bytes: Some(memory),
            usable,
            distances: std::collections::BTreeMap::new(),
        };
        let nodes = [
            node(0, "0-3", 1 << 30, Some(true)),
            node(1, "4-5", 1 << 30, Some(false)),
            node(2, "", 1 << 30, Some(true)),
            node(3, "6-7", 0, None),
        ];
        let measured = |from, to| from == 0 && [0, 2].contains(&to);
        assert_eq!(
            absences(&nodes, measured),
            [
                "memory without CPUs: node 2",
                "CPUs without memory: node 3",
                "memory that the cpuset withholds from this process (`cpuset.mems`): node 1",
                "CPUs of which none was measured: nodes 1, 3",
            ]
        );
        assert_eq!(absences(&nodes, |_, _| true), ["memory without CPUs: node 2"]);
    }

    #[test]
    fn maps_from_node_to_node_have_nanoseconds_and_bytes_with_write_allocate() {
        let node = |id: u32| Node {
            id,
            cpus: id.to_string().parse().unwrap(),
            not_shown: CpuSet::default(),
            memory_bytes: Some(1 << 30),
            usable: Some(true),
            distances: std::collections::BTreeMap::new(),
        };
        let mut record = blank();
        record.machine.topology.nodes = vec![node(0), node(1)];
        let mut put = |workload: &str, quantity: &str, ways: [&str; 2], value: f64| {
            let [from, to] = ways;
            let parameters = [
                ("question", "numa"),
                ("from_node", from),
                ("to_node", to),
                ("moved_per_asked", "3/2"),
            ];
            let of = ["memory", workload, quantity];
            record.series.push(series(of, from, &parameters, &[&[value]]));
        };
        put(CHASE, "latency", ["0", "0"], 80e-9);
        put(CHASE, "latency", ["0", "1"], 140e-9);
        put("copy", "bandwidth", ["1", "0"], 20e9);
        let values: Vec<Vec<Option<f64>>> = blocks(&record)
            .into_iter()
            .filter_map(|block| match block {
                Block::HeatMap(map) => Some(map),
                _ => None,
            })
            .map(|map| {
                let cells = map.groups.into_iter().flatten().flat_map(|row| row.cells);
                let value = |cell| match cell {
                    HeatCell::Value { value, .. } => Some((value * 1e3_f64).round() / 1e3),
                    HeatCell::Absent(_) => None,
                };
                cells.map(value).collect()
            })
            .collect();
        // Row by row: 80 and 140 ns from node 0; 20 x 3/2 GB/s from node 1 to node 0.
        let latencies = vec![Some(80.0), Some(140.0), None, None];
        assert_eq!(values, [latencies, vec![None, None, Some(30.0), None]]);
    }
}
