//! The page of `cpudyno openmp`, a pure function of the record (invariant I2).

use machine::pages::parts::{fact, value_text};
use model::Known;
use model::page::{Block, Page, Text};
use model::record::Record;

use super::read::teams;
use super::section;
use crate::sheet::parts;

/// What regions cost. A verbosity of 1 and more adds every fact, condition and instrument.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let mut blocks = vec![title(record), header(record), Block::Paragraph(parts::trust(record))];
    let teams = teams(record);
    if !teams.is_empty() {
        blocks.push(Block::Heading("OpenMP regions".to_owned()));
        blocks.extend(section::runtimes(&teams));
        blocks.push(section::loops(&teams));
        blocks.extend(section::small(&teams));
        blocks.extend(section::bars(&teams));
        blocks.extend(section::constructs(&teams));
    }
    blocks.push(Block::Heading("Findings".to_owned()));
    blocks.push(parts::findings(record));
    blocks.extend(parts::missing(record));
    if verbosity > 0 {
        blocks.extend(parts::how(record));
        blocks.extend(parts::details(record));
    }
    blocks.retain(|block| !matches!(block, Block::Table(table) if table.rows.is_empty()));
    Page { blocks }
}

fn title(record: &Record) -> Block {
    let text = match &record.run.simulated {
        Some(name) => format!("SIMULATED OpenMP regions: machine sim:{name}, nothing was measured"),
        None => "What OpenMP regions cost, by runtime and way of waiting".to_owned(),
    };
    Block::Title { text, subtitle: parts::subtitle(record) }
}

fn header(record: &Record) -> Block {
    let known = |id: &str| {
        let fact = fact(record, id)?;
        match &fact.value {
            Known::Yes(_) => Some(value_text(&fact.value).text),
            Known::No { .. } => None,
        }
    };
    let plan = &record.run.plan;
    let word = if plan.cpus.len() == 1 { "CPU" } else { "CPUs" };
    let lines = [
        ("CPU", known("cpu.brand")),
        ("Runs on", known("platform.virtualisation")),
        ("Measured", Some(format!("{word} {}: {}", plan.cpus, plan.placement))),
        ("Other busy CPUs", known("busy.cpus")),
    ];
    let lines = lines.into_iter().filter_map(|(label, text)| Some((label, text?)));
    Block::Box(lines.map(|(label, text)| (label.to_owned(), Text::from(text))).collect())
}
