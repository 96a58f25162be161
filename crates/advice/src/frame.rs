//! How pages of commands that try something begin and end.

use model::page::Block;
use model::record::Record;
use report::parts;

/// The title, and under it who ran when; and for how long, where time passed.
pub(crate) fn title(record: &Record, text: String) -> Block {
    let (tool, run) = (&record.tool, &record.run);
    let took = if run.seconds > 0.0 { format!(", {:.1} s", run.seconds) } else { String::new() };
    let subtitle = format!("{} {}, {}{took}", tool.name, tool.version, run.started);
    Block::Title { text, subtitle }
}

/// Findings, where there are any; all details, where they are asked for.
pub(crate) fn ending(record: &Record, verbosity: u8) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !record.findings.is_empty() {
        blocks.push(Block::Heading("Findings".to_owned()));
        blocks.push(parts::findings(record));
    }
    if verbosity > 0 {
        blocks.extend(parts::details(record));
    }
    blocks
}
