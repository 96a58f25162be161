//! The original STREAM beside our own kernels: on the same CPUs, with arrays of the same length, both
//! counted as STREAM counts.

use machine::{Machine, facts};
use model::page::{Align, Block, Table, Text};
use model::record::{OriginalRate, OriginalRun, Record};
use model::{CpuId, CpuSet, Obstacle, Unavailable};

use super::counting::Counting;
use super::read::{Cell, cells};
use super::request::Options;
use super::size::{self, Length};
use crate::original::{Function, Original, Rate, Validation};
use crate::run::Error;

/// Arrays of STREAM.
const ARRAYS: u64 = 3;

/// Where the original runs, and how long its arrays are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// One thread is pinned to each.
    pub cpus: Vec<CpuId>,
    /// Elements of each array.
    pub elements: u64,
}

/// The CPUs and the length for the original: those of our own kernels, as far as there is room.
pub fn extent(machine: &Machine, options: &Options) -> Result<Extent, Error> {
    if machine.elsewhere.is_some() || machine.simulated.is_some() {
        let why = "a compiled program runs on the machine at hand alone";
        let reason = Unavailable::new(Obstacle::Hardware, "the original STREAM", why);
        return Err(reason.with_remedy("leave `--machine` out").into());
    }
    let description = facts::machine(machine);
    let placement = options.cpus.place(&description.topology)?;
    options.check(placement.cpus.len())?;
    let cpus = &placement.cpus[..options.threads.unwrap_or(placement.cpus.len())];
    let usual = || size::rule(&description.topology, cpus);
    let wanted = options.length.map_or_else(usual, Length::elements);
    let room = machine::memory::room(machine, model::Pages::Base)?;
    // Its arrays are gone when ours are made.
    let most = room.usable() / 8 / ARRAYS;
    if wanted > most && options.length.is_some() {
        let why = format!(
            "{ARRAYS} arrays of {wanted} elements do not fit into {} MiB ({})",
            room.usable() >> 20,
            room.limited_by
        );
        let reason = Unavailable::new(Obstacle::Measurement, "the original STREAM", why);
        return Err(Error::Asked(reason.with_remedy(format!("ask for less: --length {most}"))));
    }
    Ok(Extent { cpus: cpus.to_vec(), elements: wanted.min(most) })
}

/// What is kept of it.
pub fn kept(original: &Original, extent: &Extent) -> OriginalRun {
    let rate = |rate: &Rate| OriginalRate {
        workload: match rate.function {
            Function::Copy => "copy",
            Function::Scale => "scale",
            Function::Add => "add",
            Function::Triad => "triad",
        }
        .to_owned(),
        best_bytes_per_second: rate.best_bytes_per_second,
        average_seconds: rate.average.0,
        shortest_seconds: rate.shortest.0,
        longest_seconds: rate.longest.0,
    };
    OriginalRun {
        source_sha256: original.sha256.to_string(),
        revision: original.revision.clone(),
        compiler: original.compiler.clone(),
        flags: original.flags.clone(),
        cpus: extent.cpus.iter().copied().collect::<CpuSet>(),
        elements: original.report.array_elements.unwrap_or(extent.elements),
        validates: match original.report.validation {
            Validation::Validates => Some(true),
            Validation::Fails(_) => Some(false),
            Validation::Absent => None,
        },
        rates: original.report.rates.iter().map(rate).collect(),
        remarks: original.remarks.lines().to_vec(),
    }
}

/// Its numbers and ours, both without write-allocate.
pub(super) fn section(record: &Record) -> Vec<Block> {
    let Some(original) = &record.original else { return Vec::new() };
    let counting = Counting::of(record).as_asked();
    let cells = cells(record, "bandwidth");
    let number = |bytes: f64| Text::from(counting.text(bytes));
    let ours = |workload: &str, choice: &str| best(&cells, original, workload, choice);
    let row = |rate: &OriginalRate| {
        let theirs = rate.best_bytes_per_second;
        let [ordinary, best] =
            ["ordinary stores", "best"].map(|choice| ours(&rate.workload, choice));
        let shown = |value: Option<f64>| value.map_or_else(|| "unavailable".into(), number);
        let ratio = |value: Option<f64>| {
            value.map_or_else(|| Text::from("-"), |value| format!("{:.2}", value / theirs).into())
        };
        vec![
            Text::from(rate.workload.as_str()),
            number(theirs),
            shown(ordinary),
            ratio(ordinary),
            shown(best),
            ratio(best),
        ]
    };
    let columns = [
        ("kernel", Align::Left),
        ("original, best", Align::Right),
        ("ours, ordinary stores", Align::Right),
        ("ratio", Align::Right),
        ("ours, best variant", Align::Right),
        ("ratio", Align::Right),
    ];
    vec![
        Block::Heading("Original STREAM beside ours".to_owned()),
        Block::Table(Table {
            caption: format!(
                "best repetition in {}, bytes that the program asks for, no write-allocate; higher \
                 is better",
                counting.unit()
            ),
            columns: columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect(),
            rows: original.rates.iter().map(row).collect(),
            notes: notes(original),
        }),
    ]
}

fn notes(original: &OriginalRun) -> Vec<String> {
    let revision = original.revision.as_deref().unwrap_or("unknown");
    let validates = match original.validates {
        Some(true) => "it says that its solution validates",
        Some(false) => "it says that its solution is wrong",
        None => "it does not say whether its solution is right",
    };
    let mut notes = vec![
        format!("source: revision {revision}, SHA-256 {}", original.source_sha256),
        format!("compiled by {} with {}", original.compiler, original.flags.join(" ")),
        format!("arrays of {} elements on CPUs {}; {validates}", original.elements, original.cpus),
    ];
    notes.extend(original.remarks.iter().map(|line| format!("it wrote: {line}")));
    notes
}

/// Our best repetition on the same CPUs, of that choice of variants.
fn best(cells: &[Cell<'_>], original: &OriginalRun, workload: &str, choice: &str) -> Option<f64> {
    let wanted = |cell: &&Cell<'_>| {
        cell.workload == workload
            && *cell.active == original.cpus
            && cell.text("choice") == Some(choice)
    };
    let bests = cells.iter().filter(wanted).filter_map(|cell| Some(cell.numbers("bandwidth")?.max));
    bests.reduce(f64::max)
}
