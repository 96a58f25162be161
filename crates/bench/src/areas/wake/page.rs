//! The page of `cpudyno wake`, a pure function of the record (invariant I2).

use machine::pages::parts::{fact, value_text};
use model::Known;
use model::page::{Block, Page, Text};
use model::record::Record;

use super::shown;
use crate::sheet::parts;

/// What was asked of waking. A verbosity of 1 and more adds every fact, condition and instrument.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let mut blocks = vec![title(record), header(record), Block::Paragraph(parts::trust(record))];
    blocks.extend(shown::signals::blocks(record));
    blocks.extend(shown::idle::blocks(record));
    blocks.extend(shown::timer::blocks(record));
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
        Some(name) => format!("SIMULATED wake-ups: machine sim:{name}, nothing was measured"),
        None => "What waking a thread costs".to_owned(),
    };
    Block::Title { text, subtitle: parts::subtitle(record) }
}

/// What a reader of such numbers asks first.
fn header(record: &Record) -> Block {
    let known = |id: &str| {
        let fact = fact(record, id)?;
        match &fact.value {
            Known::Yes(_) => Some(value_text(&fact.value).text),
            Known::No { .. } => None,
        }
    };
    let lines = [
        ("CPU", known("cpu.brand")),
        ("Cores", known("cpu.cores")),
        ("Runs on", known("platform.virtualisation")),
        ("Idle driver", known("idle.driver")),
        ("Idle states", known("idle.states")),
        ("Other busy CPUs", known("busy.cpus")),
    ];
    let lines = lines.into_iter().filter_map(|(label, text)| Some((label, text?)));
    Block::Box(lines.map(|(label, text)| (label.to_owned(), Text::from(text))).collect())
}
