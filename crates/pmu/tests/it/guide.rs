//! The guide's page on counting from a program: its code is that of examples, which run here, and what
//! it shows of their output is what they say on a simulated machine.

use std::fs;
use std::path::Path;

use pmu::Machine;
use simulated::Model;

#[path = "../../examples/closure.rs"]
mod closure;
#[path = "../../examples/parts.rs"]
mod parts;

const PAGE: &str = include_str!("../../../../docs/guide/counting.md");

/// The blocks of that kind, line by line without indentation.
fn blocks(kind: &str) -> Vec<Vec<&'static str>> {
    let of_kind = |block: &'static str| block.strip_prefix(kind)?.strip_prefix('\n');
    let inside = PAGE.split("```").skip(1).step_by(2);
    inside.filter_map(of_kind).map(trimmed).collect()
}

fn trimmed(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).collect()
}

#[test]
fn code_of_the_page_is_that_of_the_examples() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let examples = ["closure", "parts"]
        .map(|name| fs::read_to_string(folder.join(name).with_extension("rs")).unwrap());
    let blocks = blocks("rust");
    assert!(blocks.len() >= 4, "{blocks:?}");
    for block in blocks {
        let is_in =
            |example: &String| trimmed(example).windows(block.len()).any(|window| window == block);
        assert!(examples.iter().any(is_in), "no example has:\n{}", block.join("\n"));
    }
}

/// Parts of a simulated program: 20 turns of a loop for each packet, and a checksum of 64 bytes.
fn served() -> pmu::CounterSet {
    let model = Model::named("4c").unwrap();
    let machine: Machine = model.clone().into();
    let parse = || model.execute("loop", 1, 2000).unwrap();
    let route = || model.execute("checksum_avx2", 100, 6400).unwrap();
    parts::serve(&machine, parse, route).unwrap()
}

#[test]
fn parts_print_what_the_page_shows() {
    let set = served();
    let table = parts::table(&set, "route").unwrap().to_string();
    let shown = blocks("text").into_iter().any(|block| block == trimmed(&table));
    assert!(shown, "the page does not show:\n{table}");
    // 12 instructions of a call, and 0.394 of a byte.
    assert!(table.contains("37.22"), "{table}");
}

#[test]
fn a_budget_of_parts_holds_until_one_costs_more() {
    let set = served();
    let file = parts::keep(&set).unwrap();
    assert_eq!(parts::drifts(&set, &file).unwrap(), []);
    let dearer = file.replace("37.22", "30.0");
    assert_ne!(dearer, file);
    let drifts = parts::drifts(&set, &dearer).unwrap();
    let [drift] = &drifts[..] else { panic!("{drifts:?}") };
    assert_eq!((&*drift.expected.part, &*drift.expected.event), ("route", "instructions"));
    assert_eq!(drift.found, Ok(37.22));
}

/// With what this machine has: numbers, or reasons.
#[test]
fn the_examples_run_here() {
    parts::main().unwrap();
    if let Err(reason) = closure::main() {
        assert!(!reason.why.is_empty(), "{reason:?}");
    }
}
