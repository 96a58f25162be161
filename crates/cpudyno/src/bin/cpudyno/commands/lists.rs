//! What can be measured: streams, memory kernels with their variants, and ways to signal.

use std::process::ExitCode;

use kernels::StreamRow;
use kernels::memory::{self, MemoryKernel, Variant};
use machine::Machine;
use model::Unavailable;
use model::page::{Block, Page, Table, Text, Tone};
use model::record::PageKind;
use rig::signals;
use rig::streams::transfers;
use rig::traffic::Transfer;

use super::{presentation, unrecorded};
use crate::args::PresentationArgs;
use crate::failure::Failure;
use crate::output;

/// Each stream of `turbo`, and what it executes.
pub(super) fn streams(look: &PresentationArgs) -> Result<ExitCode, Failure> {
    print("the list of streams", &stream_page(), look)
}

/// Each kernel of `memory`, and each way to run it, with what it needs.
pub(super) fn kernels(machine: &Machine, look: &PresentationArgs) -> Result<ExitCode, Failure> {
    print("the list of kernels", &kernel_page(machine), look)
}

/// Each way to signal of `wake`, and whether this machine has it.
pub(super) fn methods(machine: &Machine, look: &PresentationArgs) -> Result<ExitCode, Failure> {
    print("the list of methods", &method_page(machine), look)
}

fn print(what: &str, page: &Page, look: &PresentationArgs) -> Result<ExitCode, Failure> {
    let presentation = presentation(look, PageKind::Sheet);
    output::data(&unrecorded(what, page, look.format, presentation)?)?;
    Ok(ExitCode::SUCCESS)
}

fn stream_page() -> Page {
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
    let table = Table::of("Instruction streams")
        .left("stream")
        .left("executes")
        .left("needs")
        .left("kind")
        .right("ops/iteration")
        .rows(kernels::streams::TABLE.iter().map(row));
    let mut blocks = vec![Block::Table(table)];
    for row in kernels::streams::TABLE {
        let alias = row.alias.map_or(String::new(), |alias| format!(" (also `{alias}`)"));
        blocks.push(Block::Paragraph(format!("{}{alias}: {}", row.id, row.doc).into()));
    }
    Page { blocks }
}

fn kernel_page(machine: &Machine) -> Page {
    let mut blocks = vec![Block::Table(memory_kernels())];
    blocks.extend(alike().iter().map(|kernels| Block::Table(variants(machine, kernels))));
    blocks.extend(
        memory::TABLE
            .iter()
            .map(|kernel| Block::Paragraph(format!("{}: {}", kernel.id, kernel.doc).into())),
    );
    Page { blocks }
}

fn memory_kernels() -> Table {
    let row = |kernel: &&MemoryKernel| {
        vec![
            Text::from(kernel.id),
            kernel.formula.into(),
            kernel.arrays.to_string().into(),
            kernel.bytes_per_element().to_string().into(),
            write_allocate(kernel).into(),
            kernel.flops.to_string().into(),
        ]
    };
    Table::of("Memory kernels, over arrays of 64-bit numbers")
        .left("kernel")
        .left("formula")
        .right("arrays")
        .right("bytes asked for each element")
        .right("with write-allocate")
        .right("flops")
        .rows(memory::TABLE.iter().map(row))
        .notes([
            "with write-allocate: so many times as many bytes must be moved with ordinary stores, which \
             bring each line into the cache before they change it; once with non-temporal ones",
        ])
}

/// What ordinary stores move for what is asked.
fn write_allocate(kernel: &MemoryKernel) -> String {
    let asked = kernel.bytes_per_element();
    let moved = kernel.moved_bytes_per_element(memory::Stores::Ordinary);
    moved.map_or_else(
        || "-".to_owned(),
        |moved| {
            let factor = format!("{:.3}", moved as f64 / asked as f64);
            let factor = factor.trim_end_matches('0').trim_end_matches('.');
            format!("x {factor} ({moved})")
        },
    )
}

/// Kernels with the same variants, together.
fn alike() -> Vec<Vec<&'static MemoryKernel>> {
    let ids = |kernel: &MemoryKernel| kernel.variants.iter().map(|v| v.id).collect::<Vec<_>>();
    let mut groups: Vec<Vec<&'static MemoryKernel>> = Vec::new();
    for &kernel in memory::TABLE {
        match groups.iter_mut().find(|group| ids(group[0]) == ids(kernel)) {
            Some(group) => group.push(kernel),
            None => groups.push(vec![kernel]),
        }
    }
    groups
}

fn variants(machine: &Machine, kernels: &[&'static MemoryKernel]) -> Table {
    let kernel = kernels[0];
    let mut reasons: Vec<String> = Vec::new();
    let mut row = |(variant, transfer): (&'static Variant, Result<Transfer, Unavailable>)| {
        let needs: Vec<&str> = variant.needs.iter().map(|isa| isa.name()).collect();
        let runs = match transfer {
            Ok(_) => Text::toned("yes", Tone::Good),
            Err(reason) => {
                reasons.extend(Some(reason.why).filter(|why| !reasons.contains(why)));
                Text::toned("no", Tone::Faint)
            }
        };
        vec![
            Text::from(variant.id),
            variant.stores.word().into(),
            needs.join(" ").into(),
            runs,
            variant.doc.into(),
        ]
    };
    let transfers = transfers(machine, kernel, kernel.variants);
    let rows: Vec<Vec<Text>> = kernel.variants.iter().zip(transfers).map(&mut row).collect();
    let names: Vec<&str> = kernels.iter().map(|kernel| kernel.id).collect();
    Table::of(format!("Variants of {}", names.join(", ")))
        .left("variant")
        .left("stores")
        .left("needs")
        .left("here")
        .left("executes")
        .rows(rows)
        .legend(reasons.into_iter().map(|why| format!("no: {why}")))
}

fn method_page(machine: &Machine) -> Page {
    let row = |method: &&'static signals::Method| {
        let here = match method.missing(machine) {
            None => Text::from("yes"),
            Some(reason) => Text::toned(reason.why, Tone::Faint),
        };
        vec![Text::from(method.id), method.waits.word().into(), here, method.doc.into()]
    };
    let table = Table::of("Ways in which one thread signals another")
        .left("method")
        .left("until then it")
        .left("here")
        .left("what it is")
        .rows(signals::TABLE.iter().map(row));
    Page { blocks: vec![table.into()] }
}
