//! The page of `cpudyno cores`.

use model::page::Page;
use model::record::Record;

use super::show;
use crate::parts::{self, Leaf, known};

/// Who is how far from whom. A verbosity of 1 and more adds every fact, condition and instrument.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let told = show::told(record);
    let mut blocks = Vec::new();
    if !told.is_empty() {
        blocks.push(show::table(&told));
        blocks.extend(show::messages(&told).into_iter().filter_map(|id| show::map(&told, id)));
    }
    let plan = &record.run.plan;
    let lines = vec![
        ("CPU", known(record, "cpu.brand")),
        ("Caches", known(record, "cpu.caches")),
        ("CPUs", Some(format!("{}: {}", plan.cpus, plan.placement))),
        ("Pairs", Some(pairs(record, &told))),
        ("Other busy CPUs", known(record, "busy.cpus")),
    ];
    let (title, simulated) = ("Latency from core to core", "latency from core to core");
    parts::leaf(
        record,
        verbosity,
        Leaf { answer: super::SECTION.sentences(record), title, simulated, lines, blocks },
    )
}

fn pairs(record: &Record, told: &[show::PairResult<'_>]) -> String {
    let mut measured: Vec<_> = told.iter().map(|told| told.pair).collect();
    measured.sort_unstable();
    measured.dedup();
    let cpus = record.run.plan.cpus.len();
    let all = cpus * cpus.saturating_sub(1) / 2;
    let lines = told.first().and_then(|told| told.lines);
    let lines = |each| lines.map_or(String::new(), |lines| format!(", {lines} lines{each}"));
    match (measured.len(), all) {
        (0, _) => "none".to_owned(),
        (1, 1) => format!("the only one{}", lines("")),
        (measured, all) if measured >= all => format!("all {all}{}", lines(" each")),
        (measured, all) => format!(
            "{measured} of {all}{}: one of each kind, others at random; more time is more pairs",
            lines(" each")
        ),
    }
}
