//! The page of `cpudyno openmp`, a pure function of the record (invariant I2).

use model::page::{Block, Page};
use model::record::Record;

use super::read::teams;
use super::section;
use crate::parts::{self, Leaf, known};

/// What regions cost. A verbosity of 1 and more adds every fact, condition and instrument.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let mut blocks = Vec::new();
    let teams = teams(record);
    if !teams.is_empty() {
        blocks.push(Block::Heading("OpenMP regions".to_owned()));
        blocks.extend(section::runtimes(&teams));
        blocks.push(section::loops(&teams));
        blocks.extend(section::small(&teams));
        blocks.extend(section::bars(&teams));
        blocks.extend(section::constructs(&teams));
    }
    let plan = &record.run.plan;
    let word = if plan.cpus.len() == 1 { "CPU" } else { "CPUs" };
    let lines = vec![
        ("CPU", known(record, "cpu.brand")),
        ("Runs on", parts::runs_on(record)),
        ("Measured", Some(format!("{word} {}: {}", plan.cpus, plan.placement))),
        ("Other busy CPUs", known(record, "busy.cpus")),
    ];
    let title = "What OpenMP regions cost, by runtime and way of waiting";
    parts::leaf(
        record,
        verbosity,
        Leaf {
            answer: super::SECTION.sentences(record),
            title,
            simulated: "OpenMP regions",
            lines,
            blocks,
        },
    )
}
