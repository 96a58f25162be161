//! `cpudyno streams`, which is `cpudyno turbo --list`, too.

use std::process::ExitCode;

use kernels::{StreamRow, streams};
use model::page::{Block, Page, Table, Text};
use model::record::PageKind;

use super::{presentation, unrecorded};
use crate::args::PresentationArgs;
use crate::failure::Failure;
use crate::output;

pub(super) fn run(look: &PresentationArgs) -> Result<ExitCode, Failure> {
    let page = page();
    let presentation = presentation(look, PageKind::Sheet);
    output::data(&unrecorded("the list of streams", &page, look.format, presentation)?)?;
    Ok(ExitCode::SUCCESS)
}

fn page() -> Page {
    let row = |row: &&'static StreamRow| {
        let needs: Vec<&str> = row.needs.iter().map(|isa| isa.name()).collect();
        vec![
            Text::from(row.id),
            row.title.into(),
            needs.join(" ").into(),
            row.kind.word().into(),
            row.ops_per_iteration.to_string().into(),
        ]
    };
    let table = Table::of("instruction streams")
        .left("stream")
        .left("executes")
        .left("needs")
        .left("kind")
        .right("ops/iteration")
        .rows(streams::TABLE.iter().map(row));
    let mut blocks = vec![Block::Table(table)];
    for row in streams::TABLE {
        let alias = row.alias.map_or(String::new(), |alias| format!(" (also `{alias}`)"));
        blocks.push(Block::Paragraph(format!("{}{alias}: {}", row.id, row.doc).into()));
    }
    Page { blocks }
}
