//! The memory kernels with their variants.

use kernels::memory::{MemoryKernel, TABLE, Variant};
use machine::Machine;
use model::Unavailable;
use model::page::{Align, Block, Page, Table, Text, Tone};

use rig::streams;
use rig::traffic::Transfer;

/// The page of `cpudyno memory --list`: each kernel, and each way to run it, with what it needs.
pub fn list(machine: &Machine) -> Page {
    let mut blocks = vec![Block::Table(kernels())];
    blocks.extend(alike().iter().map(|kernels| Block::Table(variants(machine, kernels))));
    blocks.extend(
        TABLE
            .iter()
            .map(|kernel| Block::Paragraph(format!("{}: {}", kernel.id, kernel.doc).into())),
    );
    Page { blocks }
}

fn kernels() -> Table {
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
    Table {
        caption: "memory kernels, over arrays of 64-bit numbers".to_owned(),
        columns: columns(&[
            ("kernel", Align::Left),
            ("formula", Align::Left),
            ("arrays", Align::Right),
            ("bytes asked for each element", Align::Right),
            ("with write-allocate", Align::Right),
            ("flops", Align::Right),
        ]),
        rows: TABLE.iter().map(row).collect(),
        notes: vec![
            "with write-allocate: so many times as many bytes must be moved with ordinary stores, which \
             bring each line into the cache before they change it; once with non-temporal ones"
                .to_owned(),
        ],
    }
}

/// What ordinary stores move for what is asked.
fn write_allocate(kernel: &MemoryKernel) -> String {
    let asked = kernel.bytes_per_element();
    let moved = kernel.moved_bytes_per_element(kernels::memory::Stores::Ordinary);
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
    for &kernel in TABLE {
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
    let transfers = streams::transfers(machine, kernel, kernel.variants);
    let rows = kernel.variants.iter().zip(transfers).map(&mut row).collect();
    Table {
        caption: format!(
            "variants of {}",
            kernels.iter().map(|kernel| kernel.id).collect::<Vec<_>>().join(", ")
        ),
        columns: columns(&[
            ("variant", Align::Left),
            ("stores", Align::Left),
            ("needs", Align::Left),
            ("here", Align::Left),
            ("executes", Align::Left),
        ]),
        rows,
        notes: reasons.into_iter().map(|why| format!("no: {why}")).collect(),
    }
}

fn columns(columns: &[(&str, Align)]) -> Vec<(String, Align)> {
    columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect()
}
